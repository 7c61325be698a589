"""Fitted curves on a chart, by the product's own laws.

Throughput and step time against batch size follow the throughput law, against device count the
scaling law. Steps and samples to a target against batch size follow the law of steps to a target,
where runs were measured: each batch counts with its best learning rate. One curve a case, fitted
to the points that are drawn. Nothing else has a law here.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from planner.convergence import best_learning_rates, fit_convergence
from planner.core import Estimate, Floats, Refusal, Text, or_refusal, plain
from planner.explore._columns import numbers_of
from planner.explore._points import (
    CASE,
    DEVICES,
    TARGET_CASE,
    TO_TARGET,
    ExploreQuestion,
    Indices,
    Points,
    case_of,
)
from planner.runs import Placement
from planner.scaling import SPLIT, Scaled, scaling_through
from planner.throughput import fit_throughput

BATCH: Final = "global_batch_size"
_SPEEDS: Final = frozenset({"samples_per_s", "throughput"})
_EACH: Final = "samples_per_s_per_device"
_STEPS: Final = frozenset({"step_time_s", "step_s"})
MEASURED: Final = "measured"
"""Basis of runs with evaluations: one that states its last step only has no law."""
MOST_CURVES: Final = 12
LEAST_PLACES: Final = 3
"""Batch sizes or device counts that a case needs for a curve."""
_GRID: Final = 61
_BEYOND: Final = 2.0
"""How far beyond the measured batches or counts a curve is drawn [factor]."""


Law = Literal["throughput", "scaling", "steps"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedCase:
    """A fitted curve with its 90 % band, over batch sizes or device counts `x`.

    `place` is one of its points, for colour and panel. `asymptotic_throughput` [samples/s] and
    `overhead_s` [s] are those of the law, over device counts of one device. Over device counts all
    have the same global batch or, with `per_device`, the same batch per device: `held` [samples],
    measured from `smallest` to `largest`. The law of steps to a target has `min_steps` [steps] and
    `critical_batch_size` [samples] instead.
    """

    label: str
    place: int
    x: Floats
    value: Floats
    low: Floats
    high: Floats
    smallest: float
    largest: float
    points: int
    asymptotic_throughput: Estimate | Refusal | None = None
    overhead_s: Estimate | Refusal | None = None
    min_steps: Estimate | None = None
    critical_batch_size: Estimate | None = None
    held: float | None = None
    per_device: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Fits:
    """The curves of a chart, and how many cases have too few places on x, or a refused fit."""

    law: Law
    curves: tuple[FittedCase, ...]
    few: int
    refused: int
    beyond: int


def law_of(question: ExploreQuestion) -> Law | None:
    """Return the law of the product that applies to these axes; None without one."""
    if question.x == DEVICES and question.y in _SPEEDS | _STEPS | {_EACH}:
        return "scaling"
    if question.x != BATCH:
        return None
    if question.y in TO_TARGET:
        return "steps"
    return "throughput" if question.y in _SPEEDS | _STEPS else None


def fits_of(runs: pa.Table, points: Points) -> Fits | None:
    """Return a curve for each case with enough places on x, those with most of them first.

    None where no law applies.
    """
    law = law_of(points.question)
    if law is None:
        return None
    ended = np.array([s == "ok" for s in runs["status"].take(points.rows).to_pylist()], dtype=bool)
    good = ended & (points.x > 0) & (points.y > 0)
    if law == "scaling":
        good &= _replicas(runs, points)
    elif law == "steps":
        good &= np.array(runs["basis"].take(points.rows).to_pylist(), dtype=object) == MEASURED
    groups = [np.flatnonzero(good & (points.case == case)) for case in np.unique(points.case[good])]
    sizes = [np.unique(points.x[group]).size for group in groups]
    enough = [g for g, n in zip(groups, sizes, strict=True) if n >= LEAST_PLACES]
    enough.sort(key=lambda group: -np.unique(points.x[group]).size)
    labels = _labels(runs, points, enough[:MOST_CURVES])
    fit = _FITS[law](runs, points)
    fits = [fit(group, label) for group, label in zip(enough[:MOST_CURVES], labels, strict=True)]
    curves = tuple(f for f in fits if isinstance(f, FittedCase))
    return Fits(
        law=law,
        curves=curves,
        few=len(groups) - len(enough),
        refused=len(fits) - len(curves),
        beyond=max(len(enough) - MOST_CURVES, 0),
    )


_Fit = Callable[[Indices, str], FittedCase | Refusal]


def _over_batches(_: pa.Table, points: Points) -> _Fit:
    """Return the fit of the throughput law to a case's points."""
    is_speed = points.question.y in _SPEEDS

    def fit(group: Indices, label: str) -> FittedCase | Refusal:
        batch, y = points.x[group], points.y[group]
        steps = batch / y if is_speed else y
        order = np.argsort(batch, kind="stable")
        curve = or_refusal(label, lambda: fit_throughput(batch[order], steps[order]))
        if isinstance(curve, Refusal):
            return curve
        smallest, largest = float(batch.min()), float(batch.max())
        end = min(float(curve.answers_up_to_batch), _BEYOND * largest)
        grid = np.unique(np.r_[np.geomspace(smallest / _BEYOND, end, _GRID), smallest, largest])
        answer = curve.throughput(grid) if is_speed else curve.step_time(grid)
        if not isinstance(answer, Estimate):
            return answer
        value, low, high = _ends(answer)
        return FittedCase(
            label=label, place=int(group[0]), x=grid, value=value, low=low, high=high,
            smallest=smallest, largest=largest, points=int(group.size),
            asymptotic_throughput=curve.asymptotic_throughput, overhead_s=curve.overhead_s,
        )  # fmt: skip

    return fit


def _over_devices(runs: pa.Table, points: Points) -> _Fit:
    """Return the fit of the scaling law to a case's points."""
    names = ("number_of_nodes", "launch", "peer_to_peer")
    nodes, launches, linked = (runs[name].take(points.rows).to_pylist() for name in names)
    batches = np.asarray(runs[BATCH].take(points.rows).to_numpy(), dtype=np.float64)
    places = [
        Placement(devices=int(n), nodes=nodes[i] or 1, launch=launches[i], peer_to_peer=linked[i])
        for i, n in enumerate(points.x)
    ]

    def fit(group: Indices, label: str) -> FittedCase | Refusal:
        stated = group[np.isfinite(batches[group])]
        devices, batch = points.x[stated], batches[stated]
        here = [places[i] for i in stated]
        steps = _steps(points.question.y, points.y[stated], batch, devices)
        scaled = (
            _NO_BATCH
            if not here
            else scaling_through(
                label, batch.tolist(), steps.tolist(), here, max(here, key=lambda p: p.devices)
            )
        )
        if isinstance(scaled, Refusal):
            return scaled
        held, per_device = _held(batch, devices)
        at = devices[(batch / devices if per_device else batch) == held]
        smallest, largest = float(at.min()), float(at.max())
        grid = np.unique(np.rint(np.r_[np.geomspace(smallest, _BEYOND * largest, _GRID), at]))
        grid = grid if per_device else grid[grid <= held]  # a device has at least one sample
        over = [_nodes(scaled, here, int(n)) for n in grid]
        each = np.full(grid.shape, held) if per_device else held / grid
        answer = scaled.curve.step_time(each, grid, over, scaled.launch)
        if not isinstance(answer, Estimate):
            return answer
        value, low, high = _ends(answer)
        if points.question.y not in _STEPS:
            share = each if points.question.y == _EACH else each * grid
            value, low, high = share / value, share / high, share / low
        return FittedCase(
            label=f"{label} · {_held_words(held, per_device=per_device)}", place=int(group[0]),
            x=grid, value=value, low=low, high=high, smallest=smallest, largest=largest,
            points=int(stated.size), held=held, per_device=per_device,
            asymptotic_throughput=scaled.curve.asymptotic_throughput,
            overhead_s=scaled.curve.overhead_s,
        )  # fmt: skip

    return fit


def _to_target(runs: pa.Table, points: Points) -> _Fit:
    """Return the fit of the law of steps to a target to a case's points, and to those that missed.

    Each batch counts with the learning rate of the smallest median over its seeds. A run of the
    filters that diverged has missed the target.
    """
    workloads = np.array(runs["workload"].to_pylist(), dtype=object)
    targets = numbers_of(runs, "target_value")
    batches, rates = numbers_of(runs, BATCH), numbers_of(runs, "learning_rate")
    steps = numbers_of(runs, "steps_to_target")
    ended = pc.is_in(runs["status"], pa.array(["ok", "nan"]))
    missed = pc.and_(pc.and_(ended, pc.equal(runs["basis"], MEASURED)),
                     pc.invert(runs["target_reached"]))  # fmt: skip
    failed = np.flatnonzero(
        points.chosen & pc.fill_null(missed, fill_value=False).to_numpy() & (batches > 0)
    )

    def fit(group: Indices, label: str) -> FittedCase | Refusal:
        drawn = points.rows[group]
        same = (workloads == workloads[drawn[0]]) & (targets == targets[drawn[0]])
        also = failed[same[failed]]
        every = np.r_[drawn, also]
        needed = np.r_[steps[drawn], np.full(also.size, np.inf)]
        tried = np.where(rates[every] > 0, rates[every], 1.0)  # not stated: one rate
        best = best_learning_rates(batches[every], tried, np.arange(every.size), needed)
        curve = or_refusal(label, lambda: fit_convergence(best.batch, best.samples_to_target))
        if isinstance(curve, Refusal):
            return curve
        smallest, largest = float(curve.batch[0]), float(curve.batch[-1])
        ends = (max(curve.answers_from_batch, smallest / _BEYOND),
                min(curve.answers_up_to_batch, _BEYOND * largest))  # fmt: skip
        grid = np.unique(np.r_[np.geomspace(*ends, _GRID), smallest, largest])
        in_steps = points.question.y == "steps_to_target"
        answer = curve.steps(grid) if in_steps else curve.samples(grid)
        if not isinstance(answer, Estimate):
            return answer
        value, low, high = _ends(answer)
        return FittedCase(
            label=label, place=int(group[0]), x=grid, value=value, low=low, high=high,
            smallest=smallest, largest=largest, points=int(group.size),
            min_steps=curve.min_steps, critical_batch_size=curve.critical_batch_size,
        )  # fmt: skip

    return fit


_FITS: Final[Mapping[Law, Callable[[pa.Table, Points], _Fit]]] = {
    "throughput": _over_batches, "scaling": _over_devices, "steps": _to_target,
}  # fmt: skip
_NO_BATCH: Final = Refusal(
    reason="No run states a batch size.", measure_next="Measure a run with a stated batch size."
)


def _replicas(runs: pa.Table, points: Points) -> np.ndarray:
    """Return which points trained with a copy of the network on every device."""
    modes, patterns = (runs[n].take(points.rows).to_pylist() for n in ("mode", "pattern"))
    return np.array(
        [m == "training" and not SPLIT & set(p.split(", "))
         for m, p in zip(modes, patterns, strict=True)],
        dtype=bool,
    )  # fmt: skip


def _steps(y: str, values: Floats, batch: Floats, devices: Floats) -> Floats:
    """Return the step times [s] of points whose y is a speed or a step time."""
    if y in _STEPS:
        return values
    return batch / (values * devices if y == _EACH else values)


def _held(batch: Floats, devices: Floats) -> tuple[float, bool]:
    """Return the batch [samples] with most device counts, and whether it is per device.

    It is global where one was measured at the smallest and at the largest count, as on the page
    Scaling out.
    """
    ends = [set(batch[devices == n].tolist()) for n in (devices.min(), devices.max())]
    common = ends[0] & ends[1]
    sizes = batch if common else batch / devices
    pairs = set(zip(sizes.tolist(), devices.tolist(), strict=True))
    counts = Counter(size for size, _ in pairs if not common or size in common)
    return max(counts, key=lambda size: (counts[size], size)), not common


def _held_words(held: float, *, per_device: bool) -> str:
    """Return which batch a curve over device counts has."""
    size = f"{held:,.0f}" if held == round(held) else plain(held, 3)
    if per_device:
        return Text("batch {size} per device", size=size)
    return Text("batch {size}", size=size)


def _nodes(scaled: Scaled, places: Sequence[Placement], devices: int) -> int:
    """Return the nodes of a device count: the fewest measured, else as many as it fills."""
    measured = [p.nodes for p in places if p.devices == devices]
    return min(measured, default=scaled.nodes_for(devices))


def _ends(answer: Estimate) -> tuple[Floats, Floats, Floats]:
    value, low, high = (
        np.asarray(v, dtype=np.float64) for v in (answer.value, answer.low, answer.high)
    )
    return value, low, high


def _labels(runs: pa.Table, points: Points, groups: Sequence[np.ndarray]) -> list[str]:
    first = points.rows[[int(group[0]) for group in groups]] if groups else np.zeros(0, np.int64)
    parts = [runs[name].take(first).to_pylist() for name in case_of(points.question)]
    if case_of(points.question) == TARGET_CASE:
        parts[1] = [Text("target {value}", value=plain(v, 4)) if v is not None else "no target"
                    for v in parts[1]]  # fmt: skip
    usual = parts[:1] if case_of(points.question) == TARGET_CASE else parts[1:2]
    different = [part for part in parts if len(set(part)) > 1] or usual
    if case_of(points.question) != CASE and any(parts[-1]) and parts[-1] not in different:
        different = [*different, parts[-1]]
    return [
        " · ".join(str(name) for name in names if name is not None)
        for names in zip(*different, strict=True)
    ] if groups else []  # fmt: skip
