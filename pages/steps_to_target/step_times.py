"""The choice of step times for a time to target: workload, system, devices, pattern."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import streamlit as st

from pages.common import fields, kept, widgets
from pages.common.link import Link
from planner.answers.parameters import STEPS_TO_TARGET
from planner.core import Refusal, Text
from planner.core.slugs import slugs
from planner.runs import Placement, Run
from planner.scaling import Scaled, scaling_of
from planner.store import Store
from planner.store.kept import Kept
from planner.store.queries import TimedSystem
from planner.throughput import SystemCurve
from planner.time_to_target import PlacedTimes, ReferenceSystem, StandIn, refused_text

COUNT: Final = STEPS_TO_TARGET["count"]
NODES: Final = STEPS_TO_TARGET["nodes"]


def offer_device_count(
    link: Link,
    shared: Store,
    times: StepTimeChoice,
    *,
    alike: Sequence[TimedSystem],
    whose: Mapping[str, str],
    left_out: Collection[str],
) -> StepTimeChoice:
    """Return the step times at the link's device count; without one, as measured."""
    count, nodes = link.whole(COUNT), link.whole(NODES)
    scaled = {
        o: _scaled(shared, [t for t in alike if t.workload == w], times, left_out)
        for o, w in whose.items()
        if o in times.placed
    }
    times = replace(times, scaled=scaled, count=count, nodes=nodes)
    if count is None:
        return times
    return replace(times, placed={o: _placed(times, o, count) for o in times.placed})


def draw_device_count(link: Link, times: StepTimeChoice) -> None:
    """Draw the field for another device count, or why there is none and what to do."""
    fitted = [s for s in times.scaled.values() if isinstance(s, Scaled)]
    if fitted or times.count is not None:
        boxes = st.columns(2, vertical_alignment="bottom")
        usual = Text("{devices_used}, as measured", devices_used=times.devices_used)
        fields.number(link, COUNT, boxes[0], empty=usual, step=1)
        if times.count is not None:
            fields.number(link, NODES, boxes[1], empty="as the measured ones", step=1)
    elif refused := next((s for s in times.scaled.values() if isinstance(s, Refusal)), None):
        st.caption(
            Text(
                "Other device counts: {answer_text}",
                answer_text=widgets.answer_text(refused_text(refused)),
            )
        )


def _scaled(
    shared: Store, rows: Sequence[TimedSystem], times: StepTimeChoice, left_out: Collection[str]
) -> Scaled | Refusal:
    """Return the fit over all device counts of a workload under one pattern and software."""
    first = rows[0]
    systems = {t.system for t in rows}
    runs = [
        r
        for r in kept.runs_of(shared, first.workload, first.pattern)
        if r.system in systems and (r.software, r.mode) == (first.software, "training")
    ]
    placements = kept.placements(shared, first.workload, first.pattern)
    here = {r.run_id for c in times.curves.values() for r in c.runs}
    like = next(
        (placements[r.run_id] for r in runs if r.run_id in here and r.run_id in placements),
        Placement(devices=1, nodes=1, launch=None, peer_to_peer=None),
    )
    key = (first.workload, first.pattern, first.software, frozenset(systems), like)
    return kept.drawn(
        shared, "steps to target scaling", (*key, frozenset(left_out)),
        lambda: scaling_of(runs, placements, like, left_out),
    )  # fmt: skip


def _placed(times: StepTimeChoice, optimizer: str, count: int) -> PlacedTimes:
    scaled, before = times.scaled[optimizer], times.placed[optimizer].place
    if isinstance(scaled, Refusal):
        return PlacedTimes(place=replace(before, system=_system(times, count, 1)), curve=scaled)
    nodes = scaled.nodes_for(count) if times.nodes is None else min(times.nodes, count)
    guess = scaled.is_guess(count, nodes)
    there = replace(before, system=_system(times, count, nodes), guess=guess)
    return PlacedTimes(place=there, curve=scaled.at(count, nodes))


def _system(times: StepTimeChoice, devices: int, nodes: int) -> str:
    """Return the name of a system: '16 × T4 on 2 nodes'."""
    if devices == 1:
        return times.name
    system: str = f"{devices:,} × {times.name}"
    if nodes > 1:
        system = Text("{system} on {nodes:,} nodes", system=system, nodes=nodes)
    return system if times.peer_to_peer else Text("{system} without P2P", system=system)


_NONE: Final = "not chosen"
_OWN: Final = "own"
NAMED: Final = {_NONE: "Not chosen", _OWN: "This workload's, by optimiser"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The trained network and data set, its optimisers, and its precision where known."""

    trained: str
    optimizers: tuple[str, ...]
    precision: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTimeChoice:
    """The choices by slug, and the chosen step times.

    `own` are workloads of the same network and data set as the trials. By optimiser: `placed` are
    the step times that count, `curves` those measured on `devices_used` devices, `scaled` the fits
    over device counts or the refusals. `others` are all measured device counts of the system
    `name`, with their curves. `count` is the requested device count where it differs, over `nodes`
    if given.
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
        """Whether step times are chosen."""
        return bool(self.placed)

    @property
    def runs(self) -> list[Run]:
        """The runs behind the chosen step times, including those left out of the fits."""
        return [r for c in self.curves.values() for r in (*c.points, *c.left_out)]


def offer(link: Link, shared: Store, of: Subject, left_out: Collection[str]) -> StepTimeChoice:
    """Return the choice of the link; each optimiser's own step times by default."""
    own, workloads = shared.once(("timed like", of.trained), lambda: _timed_like(shared, of))
    usual = list(workloads)[1 if own else 0]
    workload = workloads[link.choice("times", workloads, usual)]
    nothing = StepTimeChoice(workloads=workloads, own=own)
    whose = _whose(of, workload, own)
    if not whose:
        return nothing
    timed = dict.fromkeys(whose.values())
    rows = [t for workload in timed for t in kept.timed_systems(shared, workload)]
    systems = slugs(dict.fromkeys(t.system_name for t in rows))
    name = systems[link.choice("system", systems, _most_counts(rows, systems))]
    of_system = [t for t in rows if t.system_name == name]
    devices = slugs(dict.fromkeys(t.system for t in of_system))
    system = devices[link.choice("devices", devices, next(iter(devices)))]
    patterns = slugs(dict.fromkeys(_pattern(t) for t in of_system if t.system == system))
    pattern = patterns[link.choice("pattern", patterns, next(iter(patterns)))]
    alike = [t for t in of_system if _pattern(t) == pattern]
    curves = _curves(shared, [t for t in alike if t.system == system], whose, left_out)
    chosen = replace(
        nothing,
        systems=systems,
        devices=devices,
        patterns=patterns,
        placed={o: PlacedTimes(place=_place(of, o, whose[o], own, system), curve=c.curve)
                for o, c in curves.items()},
        curves=curves,
        others=_others(shared, alike, whose, left_out),
        name=name,
        peer_to_peer=not system.endswith(" without P2P"),
        devices_used=next(t.devices for t in alike if t.system == system),
    )  # fmt: skip
    return offer_device_count(link, shared, chosen, alike=alike, whose=whose, left_out=left_out)


def _timed_like(shared: Store, of: Subject) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the workloads of what was trained, and the choices of step times by slug."""
    names = kept.timed_workloads(shared)
    own = tuple(n for n in names if f"{n} · ".startswith(f"{of.trained} · "))
    kinds = [_NONE, *([_OWN] if own else [])]
    return own, slugs([*kinds, *own, *(n for n in names if n not in own)])


def _most_counts(rows: Sequence[TimedSystem], systems: Mapping[str, str]) -> str:
    """Return the slug of the system measured at the most device counts, which show its scaling."""
    counts = Counter(name for name, _ in {(t.system_name, t.devices) for t in rows})
    return max(systems, key=lambda slug: counts[systems[slug]])


def draw(link: Link, times: StepTimeChoice) -> None:
    """Draw the choices; one with a single option is not drawn."""
    boxes = st.columns(2, vertical_alignment="bottom")
    fields.choice(link, STEPS_TO_TARGET["times"], _labels(times), boxes[0])
    if not times.systems:
        return
    fields.choice(link, STEPS_TO_TARGET["system"], times.systems, boxes[1])
    for name, options in (("devices", times.devices), ("pattern", times.patterns)):
        if len(options) > 1:
            fields.choice(link, STEPS_TO_TARGET[name], options)
    draw_device_count(link, times)


_LABELS: Final = Kept(64)


def _labels(times: StepTimeChoice) -> Mapping[str, str]:
    """Return the workloads of the step times in words, by slug; a thousand, so they are kept."""
    every = times.workloads
    question = (tuple(every.values()), times.own)  # slugs follow from the names
    return _LABELS.once(question, lambda: {s: _named(times, n) for s, n in every.items()})


def _named(times: StepTimeChoice, name: str) -> str:
    plain = NAMED.get(name, name)
    return plain if name in (*NAMED, *times.own) else Text("Another workload: {name}", name=name)


def _whose(of: Subject, workload: str, own: Sequence[str]) -> dict[str, str]:
    """Return the workload of each optimiser's step times."""
    if workload == _NONE:
        return {}
    return {o: _own(of, o, own) if workload == _OWN else workload for o in of.optimizers}


def _own(of: Subject, optimizer: str, own: Sequence[str]) -> str:
    """Return the optimiser's own workload, in the trials' precision if possible."""
    exact = " · ".join(p for p in (of.trained, optimizer, of.precision) if p)
    without = " · ".join(p for p in (of.trained, of.precision) if p)
    begins = f"{of.trained} · {optimizer} · "
    near = (n for n in own if n in {without, of.trained})
    return next((n for n in own if n == exact), None) or next(
        (n for n in own if f"{n} · ".startswith(begins)), next(near, own[0])
    )


def _place(
    of: Subject, optimizer: str, workload: str, own: Sequence[str], system: str
) -> ReferenceSystem:
    stand_in: StandIn = ""
    if workload not in own:
        stand_in = "another workload"
    elif workload != _own(of, optimizer, own) or _is_of_another(of, optimizer, workload):
        stand_in = "another optimiser"
    return ReferenceSystem(system=system, workload=workload, stand_in=stand_in)


def _is_of_another(of: Subject, optimizer: str, workload: str) -> bool:
    """Return whether a workload of the same network and data names another optimiser."""
    named = f"{workload} · ".removeprefix(f"{of.trained} · ")
    ours = f"{optimizer} · "
    return not (named.startswith(ours) or named in {"", f"{of.precision} · "})


def _pattern(timed: TimedSystem) -> str:
    return f"{timed.pattern} · {timed.software}"


def _curves(
    shared: Store, rows: Sequence[TimedSystem], whose: Mapping[str, str], left_out: Collection[str]
) -> dict[str, SystemCurve]:
    """Return the curve of each optimiser on one system; untimed optimisers have none."""
    by_workload = {t.workload: _curve(shared, t, left_out) for t in rows}
    curves = {o: by_workload.get(w) for o, w in whose.items()}
    return {o: c for o, c in curves.items() if c is not None}


def _curve(shared: Store, timed: TimedSystem, left_out: Collection[str]) -> SystemCurve | None:
    """Return the curve of step times; None if its runs were removed meanwhile."""
    runs = [
        r
        for r in kept.runs_of(shared, timed.workload, timed.pattern)
        if (r.system, r.software, r.mode) == (timed.system, timed.software, "training")
    ]
    return next(iter(kept.fitted_curves(shared, runs, left_out)), None)


def _others(
    shared: Store, alike: Sequence[TimedSystem], whose: Mapping[str, str], left_out: Collection[str]
) -> tuple[tuple[str, int, Mapping[str, SystemCurve]], ...]:
    """Return curves at every measured device count, ascending; () where there is only one."""
    systems = dict.fromkeys((t.system, t.devices) for t in alike)
    if len(systems) < 2:
        return ()
    return tuple(
        (system, count, _curves(shared, [t for t in alike if t.system == system], whose, left_out))
        for system, count in systems
    )
