"""The one module that writes HTML to a page; `planner.figures` makes it and escapes every text."""

from __future__ import annotations

import streamlit as st

from planner.figures import Markup


def draw(piece: Markup) -> None:
    """Draw a piece of HTML, or a style sheet, which takes no room."""
    st.html(piece)
