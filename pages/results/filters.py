"""The filters of the Results page: facets of runs, and suspect flags."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import streamlit as st

from pages.common import kept
from pages.common.link import Link, slug, slugs
from planner.store import Store
from planner.suspects import ANY, NAMES, NONE, Flag, narrowed

TITLES: Final = {
    "task": "Task",
    "workload": "Workload",
    "family": "Family",
    "accelerator_model_name": "Accelerator",
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The filters: as the store's query, by facet as chosen, and the number of suspect runs."""

    filters: dict[str, list[str]]
    by_facet: dict[str, list[str]]
    suspects: int


def draw(link: Link, shared: Store) -> Chosen:
    """Draw a multiselect per facet with counts beside the options; return the filters."""
    flags = kept.suspects(shared).flags
    tables = dict(kept.facet_names(shared))
    link.ignore("limit", "cursor")  # paging of the HTTP interface
    requested = {text for text in link.initial.get("suspect", []) if text}
    named = [n for n in NAMES if slug(n) in requested or n in _names(flags.values())]
    tables["suspect"] = slugs([ANY, NONE, *named]) if flags or requested else {}
    chosen = {f: link.choices(f, t, []) for f, t in tables.items()}
    by_facet = {f: [tables[f][s] for s in picked] for f, picked in chosen.items()}
    others = {f: v for f, v in by_facet.items() if f != "suspect"}
    left_by_flags = narrowed(flags, by_facet["suspect"])
    flagged = kept.which(shared, others | {"only": sorted(flags)}) if flags else []
    of_suspects = _counted(flags, flagged, kept.count(shared, others))
    counts = kept.facets(shared, others | left_by_flags) | {"suspect": of_suspects}
    _draw({f: t for f, t in tables.items() if len(t) > 1 or chosen[f]}, counts, link)
    left = {*flagged} & {*left_by_flags.get("only", flagged)} - {*left_by_flags.get("but", ())}
    return Chosen(filters=others | left_by_flags, by_facet=by_facet, suspects=len(left))


def _draw(
    tables: Mapping[str, dict[str, str]], counts: Mapping[str, dict[str, int]], link: Link
) -> None:
    with st.container(border=True), st.grid(4, min_column_width=220):
        for facet, names in tables.items():
            _facet(link, facet, names, counts[facet])


def _names(flags: Iterable[Sequence[Flag]]) -> list[str]:
    """Return the names of the flags that occur, in their usual order."""
    names = {flag.name for own in flags for flag in own}
    return [name for name in NAMES if name in names]


def _counted(
    flags: Mapping[str, Sequence[Flag]], flagged: Sequence[str], runs: int
) -> dict[str, int]:
    """Return run counts by flag, for `runs` runs of which `flagged` have a flag."""
    by_name: Counter[str] = Counter()
    for run in flagged:
        by_name.update({flag.name for flag in flags[run]})
    return {ANY: len(flagged), NONE: runs - len(flagged), **by_name}


def _facet(link: Link, facet: str, names: dict[str, str], counts: dict[str, int]) -> None:
    labels = {short: f"{name} ({counts.get(name, 0):,})" for short, name in names.items()}
    st.multiselect(
        TITLES[facet],
        list(names),
        key=link.key(facet),
        placeholder="All runs" if facet == "suspect" else "Any",
        format_func=labels.__getitem__,
    )
