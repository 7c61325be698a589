"""The answer of a page in five seconds: a heading, large values with range bars, one plain line.

    tiles.draw(
        "Rent 8 x MI300X",
        [
            figures.time_tile("Time of a run", time, limit_s=3600.0),
            figures.number_tile("Cost of a run", cost, "USD", limit=25.0),
            figures.share_tile("On time and in budget", 0.99),
        ],
        badge="57 % likely the cheapest",
        line="Too close to call with 8 x B200 and 8 x H100.",
    )

`planner.figures._tiles` makes the tiles; reports use the same piece. The long sentence of an answer
is for *Share*, reports and screen readers (`alt` of the chart).
"""

from collections.abc import Sequence

import streamlit as st

from pages.common import markup, widgets
from planner import figures


def draw(
    title: str,
    tiles: Sequence[figures.Tile],
    *,
    badge: str = "",
    line: str = "",
    tied: bool = True,
    line_first: bool = False,
) -> None:
    """Draw the answer: `title` with its `badge`, the tiles, and one plain `line`.

    Args:
        title: what the values are about, such as the best option; "" without a heading.
        tiles: up to four values, the most important first; they wrap on a narrow page.
        badge: a few words beside the title.
        line: one sentence of at most 15 words below the tiles.
        tied: whether the line says that the answer is too close to call.
        line_first: whether the line stands above the tiles.
    """
    icon = ":orange[:material/balance:]" if tied else ":material/info:"
    shown = f"{icon} {widgets.answer_text(line)}" if line else ""
    if shown and line_first:
        st.markdown(shown)
    markup.draw(figures.card(title, tiles, widgets.theme(), badge=badge))
    if shown and not line_first:
        st.markdown(shown)
