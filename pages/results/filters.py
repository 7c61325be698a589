"""The filters of the Results page: facets of runs, and suspect flags."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import streamlit as st

from pages.common import kept, run_filters, widgets
from pages.common.link import Link, as_text
from pages.common.run_filters import TITLES
from pages.results import table
from planner.store import Store
from planner.suspects import ANY, NONE, Flag, narrowed

_BOX: Final = "results.filters"
_CHIPS: Final = "results.active"
_COLUMNS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The filters: as the store's query, by facet as chosen, and the ids of suspect runs."""

    filters: dict[str, list[str]]
    by_facet: dict[str, list[str]]
    suspects: frozenset[str]


def draw(link: Link, shared: Store) -> Chosen:
    """Draw the filters in one line: a box to choose them, and a chip per active one."""
    flags = kept.suspects(shared).flags
    tables = run_filters.options(link, shared)
    link.ignore("limit", "cursor")  # paging of the HTTP interface
    chosen = {f: link.choices(f, t, []) for f, t in tables.items()}
    by_facet = {f: [tables[f][s] for s in picked] for f, picked in chosen.items()}
    others = {f: v for f, v in by_facet.items() if f != "suspect"}
    left_by_flags = narrowed(flags, by_facet["suspect"])
    flagged = kept.which(shared, others | {"only": sorted(flags)}) if flags else []
    left = {*flagged} & {*left_by_flags.get("only", flagged)} - {*left_by_flags.get("but", ())}
    offered = run_filters.useful(tables, chosen)

    def counts() -> Mapping[str, Mapping[str, int]]:
        of_suspects = _counted(flags, flagged, kept.count(shared, others))
        return kept.facets(shared, others | left_by_flags) | {"suspect": of_suspects}

    with st.container(horizontal=True, vertical_alignment="center"):
        _box(link, offered, chosen, counts)
        table.choose(link)
        _active(link, tables, chosen)
    return Chosen(filters=others | left_by_flags, by_facet=by_facet, suspects=frozenset(left))


def _box(
    link: Link,
    tables: Mapping[str, dict[str, str]],
    chosen: Mapping[str, Sequence[str]],
    counts: Callable[[], Mapping[str, Mapping[str, int]]],
) -> None:
    """Draw the popover with a list per facet; an option without runs is left out."""
    active = sum(map(len, chosen.values()))
    box = widgets.popover(f"Filters ({active})" if active else "Filters", "filter_list", _BOX)
    if not box.open:
        link.hold(*chosen)
        return
    link.hold(*(facet for facet in chosen if facet not in tables))
    of = counts()
    columns = box.columns(_COLUMNS)
    for place, (facet, names) in enumerate(tables.items()):
        with columns[place % _COLUMNS]:
            _facet(link, facet, names, of[facet], chosen[facet])


def _active(
    link: Link, tables: Mapping[str, dict[str, str]], chosen: Mapping[str, Sequence[str]]
) -> None:
    """Draw a chip per active filter; a click on it takes the filter out."""
    chips = {
        f"{facet}:{short}": f"{TITLES[facet]}: {tables[facet][short]}"
        for facet, picked in chosen.items()
        for short in picked
    }
    if not chips:
        return

    def taken_out() -> None:
        left = set(st.session_state[_CHIPS] or [])
        for facet, picked in chosen.items():
            link.put(facet, [short for short in picked if f"{facet}:{short}" in left])

    if st.session_state.get(_CHIPS) != list(chips):
        st.session_state[_CHIPS] = list(chips)
    st.pills(
        "Active filters", list(chips), key=_CHIPS, selection_mode="multi",
        format_func=lambda chip: f"{as_text(chips[chip])} :material/close:",
        label_visibility="collapsed", on_change=taken_out, wrap=True,
    )  # fmt: skip
    if len(chips) > 1:
        st.button(
            "Clear all", key="results.clear_all", type="tertiary",
            on_click=lambda: link.forget(*TITLES),
        )  # fmt: skip


def _counted(
    flags: Mapping[str, Sequence[Flag]], flagged: Sequence[str], runs: int
) -> dict[str, int]:
    by_name: Counter[str] = Counter()
    for run in flagged:
        by_name.update({flag.name for flag in flags[run]})
    return {ANY: len(flagged), NONE: runs - len(flagged), **by_name}


def _facet(
    link: Link,
    facet: str,
    names: dict[str, str],
    counts: Mapping[str, int],
    chosen: Sequence[str],
) -> None:
    labels = {short: f"{name} ({counts.get(name, 0):,})" for short, name in names.items()}
    with_runs = [short for short, name in names.items() if counts.get(name) or short in chosen]
    run_filters.field(link, facet, with_runs, labels.__getitem__)
