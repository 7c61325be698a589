"""The filters of Explore: workload and accelerator in sight, all others in a box."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import streamlit as st

from pages.common import kept, widgets
from pages.common.link import Link, slugs
from planner.answers.parameters import FACETS
from planner.store import Store
from planner.suspects import ANY, NAMES, NONE

FIRST: Final = {"workload": "Workload", "accelerator_model_name": "Accelerator"}
TITLES: Final = {
    "task": "Task",
    "family": "Family",
    "system": "System",
    "global_batch_size": "Batch size",
    "pattern": "Input pattern",
    "mode": "Mode",
    "software": "Software",
    "status": "Status",
    "basis": "Basis",
    "repository": "Published in",
    "result_set": "Result set",
    "folder": "Folder",
    "suspect": "Suspect",
}
NAMES_OF_FILTERS: Final = (*FACETS, "suspect")
"""Parameters of the link that are filters."""


def draw(link: Link, shared: Store) -> None:
    """Draw the fields of the filters."""
    tables = dict(kept.facet_names(shared))
    flags = kept.suspects(shared).flags
    tables["suspect"] = slugs([ANY, NONE, *NAMES]) if flags or "suspect" in link.initial else {}
    chosen = {name: link.choices(name, tables[name], []) for name in NAMES_OF_FILTERS}
    active = sum(bool(chosen[name]) for name in TITLES)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for name, title in FIRST.items():
            _field(link, name, title, tables[name], width=320)
        label = f"More filters ({active})" if active else "More filters"
        box = widgets.popover(label, "filter_alt", "explore.more")
        if any(chosen.values()):
            st.button(
                "Clear filters",
                icon=":material/filter_alt_off:",
                key="explore.clear",
                on_click=_clear,
                args=(link,),
            )
    further = {
        name: title for name, title in TITLES.items() if len(tables[name]) > 1 or chosen[name]
    }
    if not box.open:
        link.hold(*further)
        return
    with box:
        for name, title in further.items():
            _field(link, name, title, tables[name], width="stretch")


def _clear(link: Link) -> None:
    for name in NAMES_OF_FILTERS:
        link.put(name, [])


def _field(
    link: Link, name: str, title: str, names: Mapping[str, str], width: int | Literal["stretch"]
) -> None:
    st.multiselect(
        title,
        list(names),
        key=link.key(name),
        placeholder="All",
        format_func=names.__getitem__,
        width=width,
    )
