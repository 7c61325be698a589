"""Which of the two themes the person sees, as the figures need it."""

from __future__ import annotations

import streamlit as st

from planner.figures.palette import DARK_THEME, LIGHT_THEME, Theme


def current() -> Theme:
    """Dark where the browser shows the dark theme, else light."""
    return DARK_THEME if st.context.theme.type == "dark" else LIGHT_THEME
