"""Prediction for another device count: the fit over measured counts, and its field."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.common import kept, widgets
from pages.common.link import Link
from planner.core import Refusal
from planner.runs import Placement
from planner.scaling import Scaled, scaling_of
from planner.store import Store
from planner.store.queries import TimedSystem
from planner.time_to_target import PlacedTimes, refused_text

if TYPE_CHECKING:
    from pages.steps_to_target.step_times import StepTimes

MOST: Final = 99_999
"""Largest device count of the field."""


def offer(
    link: Link,
    shared: Store,
    times: StepTimes,
    *,
    alike: Sequence[TimedSystem],
    whose: Mapping[str, str],
    left_out: Collection[str],
) -> StepTimes:
    """Return the step times at the link's device count; without one, as measured."""
    count, nodes = _number(link, "count"), _number(link, "nodes")
    scaled = {
        o: _scaled(shared, [t for t in alike if t.workload == w], times, left_out)
        for o, w in whose.items()
        if o in times.placed
    }
    times = replace(times, scaled=scaled, count=count, nodes=nodes)
    if count is None:
        return times
    return replace(times, placed={o: _placed(times, o, count) for o in times.placed})


def draw(link: Link, times: StepTimes) -> None:
    """Draw the field for another device count, or why there is none and what to do."""
    fitted = [s for s in times.scaled.values() if isinstance(s, Scaled)]
    if fitted or times.count is not None:
        boxes = st.columns(2, vertical_alignment="bottom")
        label = "Predict for another device count"
        _box(boxes[0], link, "count", label, f"{times.devices_used}, as measured")
        if times.count is not None:
            _box(boxes[1], link, "nodes", "Over how many nodes", "as the measured ones")
    elif refused := next((s for s in times.scaled.values() if isinstance(s, Refusal)), None):
        st.caption(f"Other device counts: {widgets.answer_text(refused_text(refused))}")


def _number(link: Link, name: str) -> int | None:
    """Return a whole number of the link, or None; the field gets it as a number."""
    text = link.text(name, r"[1-9][0-9]{0,4}")
    if text is None:
        return None
    st.session_state[link.key(name)] = int(text)
    return int(text)


def _box(place: DeltaGenerator, link: Link, name: str, label: str, usual: str) -> None:
    place.number_input(
        label,
        min_value=1,
        max_value=MOST,
        value=None,
        step=1,
        key=link.key(name),
        placeholder=usual,
    )


def _scaled(
    shared: Store, rows: Sequence[TimedSystem], times: StepTimes, left_out: Collection[str]
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
    return scaling_of(runs, placements, like, left_out)


def _placed(times: StepTimes, optimizer: str, count: int) -> PlacedTimes:
    scaled, before = times.scaled[optimizer], times.placed[optimizer].place
    if isinstance(scaled, Refusal):
        return PlacedTimes(place=replace(before, system=_system(times, count, 1)), curve=scaled)
    nodes = scaled.nodes_for(count) if times.nodes is None else min(times.nodes, count)
    guess = scaled.is_guess(count, nodes)
    there = replace(before, system=_system(times, count, nodes), guess=guess)
    return PlacedTimes(place=there, curve=scaled.at(count, nodes))


def _system(times: StepTimes, devices: int, nodes: int) -> str:
    """Return the name of a system: '16 × T4 on 2 nodes'."""
    if devices == 1:
        return times.name
    over = f" on {nodes:,} nodes" if nodes > 1 else ""
    return f"{devices:,} × {times.name}{over}{'' if times.peer_to_peer else ' without P2P'}"
