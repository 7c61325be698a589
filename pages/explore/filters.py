"""The filters of Explore: workload and accelerator in sight, all others in a box."""

from __future__ import annotations

from typing import Final

import streamlit as st

from pages.common import run_filters, widgets
from pages.common.link import Link
from pages.common.run_filters import TITLES
from planner.core import Text
from planner.store import Store

FIRST: Final = ("workload", "accelerator_model_name")
NAMES: Final = tuple(TITLES)
"""Parameters of the link that are filters."""


def draw(link: Link, shared: Store) -> None:
    """Draw the fields of the filters."""
    tables = run_filters.options(link, shared)
    chosen = {name: link.choices(name, tables[name], []) for name in TITLES}
    active = sum(bool(chosen[name]) for name in TITLES if name not in FIRST)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for name in FIRST:
            run_filters.field(link, name, list(tables[name]), tables[name].__getitem__, width=320)
        label = Text("More filters ({active})", active=active) if active else "More filters"
        box = widgets.popover(label, "filter_alt", "explore.more")
        if any(chosen.values()):
            st.button(
                "Clear filters",
                icon=":material/filter_alt_off:",
                key="explore.clear",
                on_click=lambda: link.forget(*TITLES),
            )
    useful = run_filters.useful(tables, chosen)
    link.hold(
        *(name for name in TITLES if name not in FIRST and (not box.open or name not in useful))
    )
    if box.open:
        with box:
            for name in (n for n in TITLES if n in useful and n not in FIRST):
                run_filters.field(link, name, list(useful[name]), useful[name].__getitem__)
