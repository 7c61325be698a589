"""Explore: any numeric column of the runs against any other."""

from __future__ import annotations

from typing import Final

import streamlit as st

from pages.common.kept import store
from pages.common.link import Link
from pages.explore import sql, views
from planner.store import Store

CHART: Final = "chart"
VIEWS: Final = {
    CHART: "Chart",
    "pivot": "Pivot",
    "side": "Side by side",
    "sql": "SQL",
    "saved": "Saved views",
}


def show() -> None:
    """Draw the page."""
    link = Link("explore")
    shared = store()
    st.title("Explore")
    view = link.choice("view", VIEWS, CHART)
    st.segmented_control(
        "View",
        list(VIEWS),
        default=view,
        key=link.key("view"),
        required=True,
        format_func=VIEWS.__getitem__,
        label_visibility="collapsed",
    )
    if view == "sql":
        link.keep(*views.PARAMETERS)
        sql.show(link, shared)
    elif view == "saved":
        link.keep(*sql.PARAMETERS)
        views.show(link, shared)
    else:
        link.keep(*sql.PARAMETERS, *views.PARAMETERS)
        _frame(link, shared)


def _frame(link: Link, shared: Store) -> None:
    del shared
    link.write()
    link.warn()


if __name__ == "__main__":
    show()
