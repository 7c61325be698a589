"""Whose step times, on which system: the choice behind every time to target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import streamlit as st

from pages.parts import asked
from pages.parts.links import Link, slugs
from planner.convergence_tables import Place
from planner.curves import SystemCurve, curves_of
from planner.store import Store
from planner.store.queries import TimedSystem
from planner.trials import TrialSet

_NOBODYS: Final = "not chosen"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTimes:
    """What one may choose, by the names in the link, and what is chosen.

    `own` are the workloads of the same network and data set as the trials. `curve` and `place`
    are None where no step times are chosen; `others` are curves of the same accelerator on other
    numbers of devices.
    """

    workloads: dict[str, str]
    own: tuple[str, ...]
    systems: dict[str, str]
    devices: dict[str, str]
    patterns: dict[str, str]
    curve: SystemCurve | None = None
    place: Place | None = None
    devices_used: int = 1
    others: tuple[tuple[TimedSystem, SystemCurve], ...] = ()


def offer(link: Link, shared: Store, of: TrialSet) -> StepTimes:
    """Read the choice from the link; the trials' own workload is the usual one, if it has times."""
    timed = asked.timed_systems(shared)
    names = list(dict.fromkeys(t.workload for t in timed))
    own = tuple(n for n in names if f"{n} · ".startswith(f"{of.subject} · "))
    workloads = slugs([_NOBODYS, *own, *(n for n in names if n not in own)])
    usual = list(workloads)[1 if own else 0]
    workload = workloads[link.one("times", list(workloads), usual)]
    of_workload = [t for t in timed if t.workload == workload]
    if workload == _NOBODYS or not of_workload:
        return StepTimes(workloads=workloads, own=own, systems={}, devices={}, patterns={})
    systems = slugs(dict.fromkeys(t.system_name for t in of_workload))
    name = systems[link.one("system", list(systems), next(iter(systems)))]
    of_system = [t for t in of_workload if t.system_name == name]
    devices = slugs(dict.fromkeys(t.system for t in of_system))
    system = devices[link.one("devices", list(devices), next(iter(devices)))]
    here = [t for t in of_system if t.system == system]
    patterns = slugs(_pattern(t) for t in here)
    pattern = link.one("pattern", list(patterns), next(iter(patterns)))
    chosen = here[list(patterns).index(pattern)]
    return StepTimes(
        workloads=workloads,
        own=own,
        systems=systems,
        devices=devices,
        patterns=patterns,
        curve=_curve(shared, chosen),
        place=Place(system=system, workload=workload, stand_in=workload not in own),
        devices_used=chosen.devices,
        others=_others(shared, of_system, chosen),
    )


def draw(link: Link, times: StepTimes) -> None:
    """The boxes to choose in; one with a single option is not drawn."""
    boxes = st.columns(2, vertical_alignment="bottom")
    boxes[0].selectbox(
        "Step times of",
        list(times.workloads),
        key=link.key("times"),
        format_func=lambda slug: _named(times, slug),
    )
    if times.place is None:
        return
    boxes[1].selectbox(
        "System", list(times.systems), key=link.key("system"), format_func=times.systems.__getitem__
    )
    if len(times.devices) > 1:
        st.selectbox(
            "Devices",
            list(times.devices),
            key=link.key("devices"),
            format_func=times.devices.__getitem__,
        )
    if len(times.patterns) > 1:
        st.selectbox(
            "Input pattern",
            list(times.patterns),
            key=link.key("pattern"),
            format_func=times.patterns.__getitem__,
        )


def _named(times: StepTimes, slug: str) -> str:
    name = times.workloads[slug]
    if name == _NOBODYS:
        return "Not chosen"
    return name if name in times.own else f"Another workload: {name}"


def _pattern(timed: TimedSystem) -> str:
    return f"{timed.pattern} · {timed.software}"


def _curve(shared: Store, timed: TimedSystem) -> SystemCurve | None:
    """The curve of step times, or None where its runs went this very moment."""
    runs = [
        r
        for r in asked.runs_of(shared, timed.workload, timed.pattern)
        if (r.system, r.software, r.mode) == (timed.system, timed.software, "training")
    ]
    return next(iter(curves_of(runs)), None)


def _others(
    shared: Store, of_system: list[TimedSystem], chosen: TimedSystem
) -> tuple[tuple[TimedSystem, SystemCurve], ...]:
    """Curves of every number of devices under the chosen pattern and software, fewest first."""
    alike = [t for t in of_system if _pattern(t) == _pattern(chosen)]
    if len(alike) < 2:
        return ()
    curves = ((t, _curve(shared, t)) for t in alike)
    return tuple((t, c) for t, c in curves if c is not None)
