"""A page on a telephone: the question is one line, the answer comes first, tables are cards.

The server does not know how wide a page is, so both forms are sent and a style sheet shows one: the
containers whose key begins with "narrow-" up to `WIDTH`, those with "wide-" above it. At a desk
nothing is folded.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.common import markup, widgets
from pages.common.link import Link, as_text
from planner.core import Text
from planner.figures import Card, ChartSpec, Markup, cards, cell_text, chart_rows

WIDTH: Final = 640
"""Width of a page up to which it is narrow [px]."""
MEDIUM, LAPTOP = 1200, 1500
"""Widths up to which columns wrap before their fields are cut, and margins are small [px]."""

MOST_CARDS: Final = 20
"""Rows of a table that are cards at first, unless a page makes its own."""
_MORE: Final = 5
"""Factor of the rows that each click on More rows shows."""
_LONG: Final = 24
"""Letters of a cell up to which it stands beside others."""
_NUMBER: Final = re.compile(r"[\d.,]+( %)?")
"""A cell that says nothing without the name of its column."""
_ADDRESS: Final = re.compile(r"https?://\S+")
"""A cell that is a web address and nothing else."""


def _places(start: str) -> str:
    """Return the selector of containers whose key begins so, with the gap around each."""
    keyed = f'[class*="st-key-{start}-"]'
    return f'{keyed}, [data-testid="stLayoutWrapper"]:has(> {keyed})'


STYLE: Final = Markup(
    "<style>"
    f"@media (min-width: {WIDTH + 1}px) {{ {_places('narrow')} {{ display: none; }} }} "
    f"@media (min-width: {WIDTH + 1}px) {{ "
    '[data-testid="stMainBlockContainer"] { padding-top: 3.75rem; } '
    '[data-testid="stMainBlockContainer"] h1 { padding-top: 0; } }'
    f"@media (max-width: {WIDTH}px) {{ {_places('wide')} {{ display: none; }} "
    '[data-testid="stMainBlockContainer"] { padding: 3.5rem 0.75rem 3rem; } '
    '[data-testid="stMainBlockContainer"] h1 { font-size: 1.75rem; padding: 0 0 0.5rem; } }'
    f"@media (min-width: {WIDTH + 1}px) and (max-width: {LAPTOP}px) {{ "
    '[data-testid="stMainBlockContainer"] { padding-left: 2rem; padding-right: 2rem; } '
    '[data-testid="stHorizontalBlock"] > [data-testid="stColumn"] { min-width: 7.75rem; } }'
    f"@media (min-width: {WIDTH + 1}px) and (max-width: {MEDIUM}px) {{ "
    '[data-testid="stHorizontalBlock"] > [data-testid="stColumn"] { min-width: 9.5rem; } }'
    '[data-testid="stButtonGroup"] > div { max-width: 100%; flex-wrap: wrap; }'
    '[role="option"] [data-item-hl] { white-space: normal; line-height: 1.15; max-height: 2.3em; } '
    '[data-testid="stSelectbox"] input { text-overflow: ellipsis; } '
    "[data-tag] { height: auto !important; max-width: calc(100% - 2.25rem); } "
    "[data-tag] > span { white-space: normal; max-width: none; line-height: 1.25; "
    "overflow-wrap: anywhere; padding: 2px 0; } "
    '[data-testid="stMultiSelect"] .react-aria-ComboBox, '
    '[data-testid="stMultiSelect"] .react-aria-ComboBox > div:has([data-tag]) '
    "{ height: auto; max-height: none; } "
    '[class*="st-key-one-line-"] { flex-wrap: nowrap !important; }'
    "</style>"
)
"""The style sheet of the whole app (`pages/shell.py`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionBox:
    """The question of a page: `inputs` holds its widgets, `line` its summary on a telephone."""

    page: str
    inputs: DeltaGenerator
    line: DeltaGenerator

    def summary(self, *parts: str) -> None:
        """Draw the question in one line, with a button that shows its widgets."""
        key = _key(self.page)
        text = " · ".join(part for part in parts if part)
        with (
            self.line,
            st.container(
                border=True,
                key=f"one-line-{self.page}",
                horizontal=True,
                horizontal_alignment="distribute",
                vertical_alignment="center",
            ),
        ):
            st.markdown(as_text(text))
            st.button(
                "Done" if st.session_state.get(key) else "Edit",
                key=f"{self.page}.edit",
                icon=":material/check:" if st.session_state.get(key) else ":material/edit:",
                on_click=lambda: _toggle(key),
            )


def question(page: str, *, folds: bool = True) -> QuestionBox:
    """Return the place of a page's question; draw its widgets into `inputs`.

    Args:
        page: name of the page, part of the keys.
        folds: whether there is a question to sum up; without data the page says so instead.
    """
    line = st.container(key=f"narrow-{page}-question")
    folded = folds and not st.session_state.get(_key(page))
    inputs = st.container(key=f"{'wide' if folded else 'open'}-{page}-question")
    return QuestionBox(page=page, inputs=inputs, line=line)


def _key(page: str) -> str:
    return f"{page}-question-open"


def _toggle(key: str) -> None:
    st.session_state[key] = not st.session_state.get(key)


def table(
    rows: Sequence[Mapping[str, object]],
    key: str,
    alt: str,
    made: Sequence[Card] | None = None,
    *,
    column_config: Mapping[str, Any] | None = None,
    column_order: Sequence[str] | None = None,
    **more: Any,  # noqa: ANN401 - of `widgets.table`
) -> None:
    """Draw rows as `widgets.table` does; on a narrow page they are cards.

    Without `made` cards they are `cards_of` the first rows, and a button shows more of them.
    """
    if made is None:
        first, config = first_cards(key, len(rows)), column_config or {}
        made = widgets.made_of(
            rows, (first, *config, *(column_order or ())),
            lambda: tuple(cards_of(widgets.titled(rows[:first], config, column_order))),
        )  # fmt: skip
    with beside_cards(key, made, len(rows)):
        widgets.table(
            rows, key, alt, column_config=column_config, column_order=column_order, **more
        )


def sources(rows: Callable[[], Sequence[Mapping[str, object]]], page: str, alt: str) -> None:
    """Draw where the numbers of a page come from, in a folded box; `rows` are made when open."""
    box = widgets.folded("Where these numbers come from", "source", f"{page}.origin")
    if box.open:
        with box:
            table(rows(), key=f"{page}.sources", alt=alt)


def beside_cards(key: str, made: Sequence[Card], of: int) -> DeltaGenerator:
    """Draw cards that only a narrow page shows; return the place of their table on a wide one.

    `of` is how many rows the table has.
    """
    draw_cards(key, made, of)
    return wide(key.replace(".", "-"))


def chart_and_table(
    spec: ChartSpec,
    key: str,
    alt: str,
    rows: Callable[[], Sequence[Mapping[str, object]]] | None = None,
    *,
    link: Link | None = None,
) -> bool:
    """Draw a chart and its numbers as two tabs; return whether the chart is open.

    Without `rows` the table has the points of the chart. With a link, it says which tab is open.
    """
    tab = widgets.chart_or_table(key, link=link)
    with tab.place:
        if tab.name == "chart":
            widgets.chart(spec, key, alt)
        else:
            table(chart_rows(spec) if rows is None else rows(), f"{key}-rows", alt)
    return tab.name == "chart"


def cards_of(rows: Sequence[Mapping[str, object]]) -> list[Card]:
    """Return rows as cards: the first stated column is the title, long texts have own lines.

    A number has its column's name in the title: "Devices: 2". Of two columns one called Value needs
    no name. A web address is a link with its column's name.
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    return [_card(row, names) for row in rows]


def _card(row: Mapping[str, object], names: Sequence[str]) -> Card:
    first, *stated = [n for n in names if row.get(n) not in (None, "")] or [*names, ""]
    title = cell_text(row.get(first))
    if _NUMBER.fullmatch(title):
        title = f"{first}: {title}"
    every = [(cell_text(row.get(n)), n) for n in stated]
    sources = [(n, text) for text, n in every if _ADDRESS.fullmatch(text)]
    cells = [(text, n) for text, n in every if not _ADDRESS.fullmatch(text)]
    alone = len(names) == 2
    return Card(
        title=title,
        values=[
            (text, "" if n == "Value" else n) for text, n in cells if alone or len(text) <= _LONG
        ],
        facts=[(n, text) for text, n in cells if not alone and len(text) > _LONG],
        sources=sources,
    )


def wide(name: str) -> DeltaGenerator:
    """Return a container that only a wide page shows, such as for a table."""
    return st.container(key=f"wide-{name}")


def first_cards(key: str, of: int) -> int:
    """Return how many of the rows are cards: the first ones, more after each click."""
    return min(of, int(st.session_state.get(_shown(key), MOST_CARDS)))


def draw_cards(key: str, made: Sequence[Card], of: int) -> None:
    """Draw cards that only a narrow page shows; of more rows a button shows the next.

    Args:
        key: name of the table, part of the keys.
        made: cards of the first rows.
        of: how many rows the table has.
    """
    with st.container(key=f"narrow-{key.replace('.', '-')}"):
        theme = widgets.theme()
        markup.draw(widgets.made_of(made, theme.text, lambda: cards(made, theme)))
        if of > len(made):
            with st.container(horizontal=True, vertical_alignment="center"):
                st.caption(
                    Text("The first {most:,} of {of:,} rows.", most=len(made), of=of),
                    width="content",
                )
                st.button(
                    "More rows",
                    key=f"{key}.more_cards",
                    icon=":material/expand_more:",
                    on_click=lambda: _show_more(key, len(made)),
                )


def _shown(key: str) -> str:
    return f"{key}.cards"


def _show_more(key: str, now: int) -> None:
    st.session_state[_shown(key)] = _MORE * now
