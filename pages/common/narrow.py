"""A page on a telephone: the question is one line, the answer comes first, tables are cards.

The server does not know how wide a page is, so both forms are sent and a style sheet shows one: the
containers whose key begins with "narrow-" up to `WIDTH`, those with "wide-" above it. At a desk
nothing is folded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.common import markup, widgets
from pages.common.link import as_text
from planner.figures import Card, Markup, cards

WIDTH: Final = 640
"""Width of a page up to which it is narrow [px]."""
MEDIUM, LAPTOP = 1200, 1400
"""Widths up to which columns wrap before their fields are cut, and margins are small [px]."""


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
    '[class*="st-key-one-line-"] { flex-wrap: nowrap !important; }'
    "</style>"
)
"""The style sheet of the whole app (`pages/shell.py`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
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


def question(page: str, *, folds: bool = True) -> Question:
    """Return the place of a page's question; draw its widgets into `inputs`.

    Args:
        page: name of the page, part of the keys.
        folds: whether there is a question to sum up; without data the page says so instead.
    """
    line = st.container(key=f"narrow-{page}-question")
    folded = folds and not st.session_state.get(_key(page))
    inputs = st.container(key=f"{'wide' if folded else 'open'}-{page}-question")
    return Question(page=page, inputs=inputs, line=line)


def _key(page: str) -> str:
    return f"{page}-question-open"


def _toggle(key: str) -> None:
    st.session_state[key] = not st.session_state.get(key)


def wide(name: str) -> DeltaGenerator:
    """Return a container that only a wide page shows, such as for a table."""
    return st.container(key=f"wide-{name}")


def draw_cards(name: str, rows: Sequence[Card]) -> None:
    """Draw rows as cards that only a narrow page shows."""
    with st.container(key=f"narrow-{name}"):
        markup.draw(cards(rows, widgets.theme()))
