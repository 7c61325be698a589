"""Which curves the Throughput page shows: workload, patterns, systems, others beside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import streamlit as st

from pages.parts import asked, widgets
from pages.parts.links import Link, slugs
from planner import curves
from planner.curves import SystemCurve
from planner.runs import Run
from planner.slugs import looked_up
from planner.store import Store

MOST_CURVES: Final = 12
MOST_BESIDE: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The workload by name, every curve of it, and the curves to show."""

    workload: str
    everything: Sequence[SystemCurve]
    chosen: list[SystemCurve]


def draw(link: Link, shared: Store, left_out: frozenset[str]) -> Choice | None:
    """The controls; None where there is nothing to choose from."""
    workloads = slugs(asked.workloads(shared))
    if not workloads:
        widgets.no_run("throughput")
        return None
    short = link.one("workload", workloads, next(iter(workloads)))
    workload = workloads[short]
    first, second = st.columns(2, vertical_alignment="bottom")
    first.selectbox(
        "Workload", list(workloads), link.place("workload", list(workloads)),
        format_func=workloads.__getitem__, key=link.key("workload"),
    )  # fmt: skip
    with second:
        patterns = _patterns(link, shared, workload)
    found = (asked.runs_of(shared, workload, p) for p in asked.patterns(shared, workload))
    widgets.cut_short(max(found, key=len, default=()))
    everything = asked.curves(shared, workload)
    systems = _systems(link, everything)
    runs = [r for p in patterns for r in asked.runs_of(shared, workload, p) if r.system in systems]
    others = {name: label for name, label in workloads.items() if name != short}
    link.drop("beside", lambda text: looked_up(text, workloads) == short)
    link.keep("batch")  # asked of the curves by programs; the chart shows every batch
    chosen = curves.curves_of([*runs, *_beside(link, shared, others)], left_out)
    if len(chosen) > MOST_CURVES:
        st.caption(f"The first {MOST_CURVES} of {len(chosen)} curves; choose fewer above.")
    return Choice(workload=workload, everything=everything, chosen=chosen[:MOST_CURVES])


def _patterns(link: Link, shared: Store, workload: str) -> list[str]:
    """Input patterns to show, in the order they are offered."""
    patterns = slugs(asked.patterns(shared, workload))
    link.merge("pattern", "patterns")
    link.many("patterns", patterns, list(patterns)[:1])
    shown = st.multiselect(
        "Input patterns", list(patterns), key=link.key("patterns"), format_func=patterns.__getitem__
    )
    return [name for short, name in patterns.items() if short in shown]


def _systems(link: Link, everything: Sequence[SystemCurve]) -> set[str]:
    systems = slugs(dict.fromkeys(c.runs[0].system for c in everything))
    link.many("systems", systems, list(systems)[:MOST_CURVES], MOST_CURVES)
    wanted = st.multiselect(
        "Systems",
        list(systems),
        key=link.key("systems"),
        format_func=systems.__getitem__,
        max_selections=MOST_CURVES,
    )
    return {systems[s] for s in wanted}


def _beside(link: Link, shared: Store, others: dict[str, str]) -> list[Run]:
    """Runs of other workloads to show beside."""
    if not others:
        return []
    link.many("beside", others, [], MOST_BESIDE)
    beside = st.multiselect(
        "Curves of other workloads beside",
        list(others),
        key=link.key("beside"),
        format_func=others.__getitem__,
        max_selections=MOST_BESIDE,
        placeholder="None",
    )
    return [run for name in beside for run in _best_known(shared, others[name])]


def _best_known(shared: Store, workload: str) -> list[Run]:
    """Runs of another workload under its best documented input pattern."""
    patterns = asked.patterns(shared, workload)
    return asked.runs_of(shared, workload, next(iter(patterns))) if patterns else []
