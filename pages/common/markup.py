"""The one module that writes HTML to a page; `planner.figures` makes it and escapes every text."""

import base64
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import streamlit as st

from planner.figures import Markup


@dataclass(frozen=True, slots=True)
class _Whole:
    """HTML to send as it is: of a plain text Streamlit looks for indents in each rerun."""

    piece: Markup

    def _repr_html_(self) -> Markup:
        return self.piece


_ICON: Final = Path(__file__).parent.parent / "icon.png"


@cache
def icon() -> str:
    """Return the tab icon as an address that holds it: a file would be read at every click."""
    return f"data:image/png;base64,{base64.b64encode(_ICON.read_bytes()).decode()}"


def draw(piece: Markup) -> None:
    """Draw a piece of HTML, or a style sheet, which takes no room."""
    st.html(_Whole(piece))
