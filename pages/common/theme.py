"""The theme of the browser, for the figures."""

from __future__ import annotations

import streamlit as st

from planner.figures.palette import DARK_THEME, LIGHT_THEME, Theme


def current() -> Theme:
    """Return the dark theme where the browser shows it, else the light one."""
    return DARK_THEME if st.context.theme.type == "dark" else LIGHT_THEME
