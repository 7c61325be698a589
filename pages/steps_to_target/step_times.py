"""Whose step times, on which system and how many devices: what every time to target needs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import streamlit as st

from pages.common import kept
from pages.common.link import Link, slugs
from pages.steps_to_target import device_count
from planner.core import Refusal
from planner.runs import Run
from planner.scaling import Scaled
from planner.store import Store
from planner.store.queries import TimedSystem
from planner.throughput import SystemCurve
from planner.time_to_target import Place, PlacedTimes, StandIn

_NOBODYS: Final = "not chosen"
_OWN: Final = "own"
NAMED: Final = {_NOBODYS: "Not chosen", _OWN: "This workload's own, each optimiser's"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What was trained, as workloads begin, its optimisers and its precision if one is known."""

    trained: str
    optimizers: tuple[str, ...]
    precision: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTimes:
    """What one may choose, by the names in the link, and what is chosen.

    `own` are the workloads of the same network and data set as the trials. By the optimiser's
    name: `placed` are the step times that count, `curves` what was measured on `devices_used`
    devices, `scaled` the fits over several numbers of devices or why there is none. `others` are
    all measured numbers of devices of the system called `name`, with their curves; `count` is the
    number of devices that is asked about where it is another, over `nodes` if that is told.
    """

    workloads: dict[str, str]
    own: tuple[str, ...]
    systems: dict[str, str] = field(default_factory=dict)
    devices: dict[str, str] = field(default_factory=dict)
    patterns: dict[str, str] = field(default_factory=dict)
    placed: Mapping[str, PlacedTimes] = field(default_factory=dict)
    curves: Mapping[str, SystemCurve] = field(default_factory=dict)
    scaled: Mapping[str, Scaled | Refusal] = field(default_factory=dict)
    others: tuple[tuple[str, int, Mapping[str, SystemCurve]], ...] = ()
    name: str = ""
    peer_to_peer: bool = True
    devices_used: int = 1
    count: int | None = None
    nodes: int | None = None

    @property
    def chosen(self) -> bool:
        """Whether anybody's step times are chosen."""
        return bool(self.placed)

    @property
    def runs(self) -> list[Run]:
        """The runs behind the chosen step times, those left out of the fits among them."""
        return [r for c in self.curves.values() for r in (*c.points, *c.left_out)]


def offer(link: Link, shared: Store, of: Subject, left_out: Collection[str]) -> StepTimes:
    """Read the choice from the link; each optimiser's own step times are the usual ones."""
    names = kept.timed_workloads(shared)
    own = tuple(n for n in names if f"{n} · ".startswith(f"{of.trained} · "))
    kinds = [_NOBODYS, *([_OWN] if own else [])]
    workloads = slugs([*kinds, *own, *(n for n in names if n not in own)])
    workload = workloads[link.one("times", workloads, list(workloads)[len(kinds) - 1])]
    nothing = StepTimes(workloads=workloads, own=own)
    whose = _whose(of, workload, own)
    if not whose:
        return nothing
    wanted = dict.fromkeys(whose.values())
    rows = [t for workload in wanted for t in kept.timed_systems(shared, workload)]
    systems = slugs(dict.fromkeys(t.system_name for t in rows))
    name = systems[link.one("system", systems, next(iter(systems)))]
    of_system = [t for t in rows if t.system_name == name]
    devices = slugs(dict.fromkeys(t.system for t in of_system))
    system = devices[link.one("devices", devices, next(iter(devices)))]
    patterns = slugs(dict.fromkeys(_pattern(t) for t in of_system if t.system == system))
    pattern = patterns[link.one("pattern", patterns, next(iter(patterns)))]
    alike = [t for t in of_system if _pattern(t) == pattern]
    found = _curves(shared, [t for t in alike if t.system == system], whose, left_out)
    chosen = replace(
        nothing,
        systems=systems,
        devices=devices,
        patterns=patterns,
        placed={o: PlacedTimes(place=_place(of, o, whose[o], own, system), curve=c.curve)
                for o, c in found.items()},
        curves=found,
        others=_others(shared, alike, whose, left_out),
        name=name,
        peer_to_peer=not system.endswith(" without P2P"),
        devices_used=next(t.devices for t in alike if t.system == system),
    )  # fmt: skip
    return device_count.offer(link, shared, chosen, alike=alike, whose=whose, left_out=left_out)


def draw(link: Link, times: StepTimes) -> None:
    """The boxes to choose in; one with a single option is not drawn."""
    boxes = st.columns(2, vertical_alignment="bottom")
    boxes[0].selectbox(
        "Step times of",
        list(times.workloads),
        link.place("times", list(times.workloads)),
        key=link.key("times"),
        format_func=lambda slug: _named(times, slug),
    )
    if not times.systems:
        return
    boxes[1].selectbox(
        "System", list(times.systems), link.place("system", list(times.systems)),
        key=link.key("system"), format_func=times.systems.__getitem__,
    )  # fmt: skip
    if len(times.devices) > 1:
        st.selectbox(
            "Measured on",
            list(times.devices),
            link.place("devices", list(times.devices)),
            key=link.key("devices"),
            format_func=times.devices.__getitem__,
        )
    if len(times.patterns) > 1:
        st.selectbox(
            "Input pattern",
            list(times.patterns),
            link.place("pattern", list(times.patterns)),
            key=link.key("pattern"),
            format_func=times.patterns.__getitem__,
        )
    device_count.draw(link, times)


def _named(times: StepTimes, slug: str) -> str:
    name = times.workloads[slug]
    plain = NAMED.get(name, name)
    return plain if name in (*NAMED, *times.own) else f"Another workload: {name}"


def _whose(of: Subject, workload: str, own: Sequence[str]) -> dict[str, str]:
    """The workload whose step times each optimiser is timed with."""
    if workload == _NOBODYS:
        return {}
    return {o: _own(of, o, own) if workload == _OWN else workload for o in of.optimizers}


def _own(of: Subject, optimizer: str, own: Sequence[str]) -> str:
    """The optimiser's own workload, in the trials' precision if it can be; else a near one."""
    exact = " · ".join(p for p in (of.trained, optimizer, of.precision) if p)
    without = " · ".join(p for p in (of.trained, of.precision) if p)
    begins = f"{of.trained} · {optimizer} · "
    near = (n for n in own if n in {without, of.trained})
    return next((n for n in own if n == exact), None) or next(
        (n for n in own if f"{n} · ".startswith(begins)), next(near, own[0])
    )


def _place(of: Subject, optimizer: str, workload: str, own: Sequence[str], system: str) -> Place:
    stand_in: StandIn = ""
    if workload not in own:
        stand_in = "another workload"
    elif workload != _own(of, optimizer, own) or _is_of_another(of, optimizer, workload):
        stand_in = "another optimiser"
    return Place(system=system, workload=workload, stand_in=stand_in)


def _is_of_another(of: Subject, optimizer: str, workload: str) -> bool:
    """Whether a workload of the same network and data names another optimiser."""
    named = f"{workload} · ".removeprefix(f"{of.trained} · ")
    ours = f"{optimizer} · "
    return not (named.startswith(ours) or named in {"", f"{of.precision} · "})


def _pattern(timed: TimedSystem) -> str:
    return f"{timed.pattern} · {timed.software}"


def _curves(
    shared: Store, rows: Sequence[TimedSystem], whose: Mapping[str, str], left_out: Collection[str]
) -> dict[str, SystemCurve]:
    """The curve of each optimiser among rows of one system; one that was not timed has none."""
    by_workload = {t.workload: _curve(shared, t, left_out) for t in rows}
    found = {o: by_workload.get(w) for o, w in whose.items()}
    return {o: c for o, c in found.items() if c is not None}


def _curve(shared: Store, timed: TimedSystem, left_out: Collection[str]) -> SystemCurve | None:
    """The curve of step times, or None where its runs went this very moment."""
    runs = [
        r
        for r in kept.runs_of(shared, timed.workload, timed.pattern)
        if (r.system, r.software, r.mode) == (timed.system, timed.software, "training")
    ]
    return next(iter(kept.fitted_curves(shared, runs, left_out)), None)


def _others(
    shared: Store, alike: Sequence[TimedSystem], whose: Mapping[str, str], left_out: Collection[str]
) -> tuple[tuple[str, int, Mapping[str, SystemCurve]], ...]:
    """Curves on every measured number of devices, fewest first; none where there is only one."""
    systems = dict.fromkeys((t.system, t.devices) for t in alike)
    if len(systems) < 2:
        return ()
    return tuple(
        (system, count, _curves(shared, [t for t in alike if t.system == system], whose, left_out))
        for system, count in systems
    )
