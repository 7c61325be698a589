"""Checks of runs against their curve: more samples/s at a larger batch, within limits.

A step of a larger batch takes at least as long, and at most in proportion to the batch. Where two
batches contradict that, one of them is wrong, and the few that take part in every contradiction are
flagged: one run that is too fast rather than many slow ones.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

import numpy as np
from numpy.typing import NDArray

from planner.core import Floats, Text, percent
from planner.runs import CheckedRun, case_of, grouped, is_positive
from planner.suspects._flags import Flag, flag
from planner.suspects.neighbours import FEWEST
from planner.throughput import FALL, count


def fewest_to_blame(conflicts: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return a small set that takes part in every conflict.

    The one with most conflicts is removed first, of equals the last one. This is minimal if one or
    a few odd ones contradict many, but not in every case.

    Args:
        conflicts: symmetric, shape (n, n); true where two contradict each other.

    Returns:
        True for those to blame, shape (n,).
    """
    left, blamed = conflicts.copy(), np.zeros(len(conflicts), dtype=bool)
    many = left.sum(axis=1)
    while many.any():
        worst = many.size - 1 - int(many[::-1].argmax())
        blamed[worst] = True
        many -= left[worst]
        left[worst] = left[:, worst] = False
        many[worst] = 0
    return blamed


TOO_FAST: Final = 1.15
"""Speed-up beyond this multiple of the ideal one is a fault of one of the two runs."""
MOST: Final = 2_000
"""Batches of a curve, or runs of a case, that are compared with each other: n of them need n^2
numbers (2,000: 32 MB each). More are not checked."""
NEAR: Final = 2.0
"""A factor from a number within which another is near it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Curve:
    """Runs that differ in batch only; batches ascend, `speed` is the median of their repeats."""

    runs: Sequence[CheckedRun]
    batch: Floats
    speed: Floats


def falling_flags(runs: Sequence[CheckedRun]) -> list[Flag]:
    """Return runs more than 10 % slower in samples/s than a smaller batch of the same case.

    Where one run is above several larger batches that agree with all others, it is the one.
    """
    return [fall for curve in _curves(runs) for fall in _falls(curve)]


def _falls(curve: _Curve) -> list[Flag]:
    sound = ~fewest_to_blame(_falling(curve.batch, curve.speed))
    if sound.all() and len(curve.runs) == sound.size:
        return []
    batch, speed = curve.batch[sound], curve.speed[sound]
    usual = dict(zip(batch, speed, strict=True))
    falls = (_fall(run, batch, speed) or _peak(run, batch, speed, usual) for run in curve.runs)
    return [fall for fall in falls if fall is not None]


def _falling(batch: Floats, speed: Floats) -> NDArray[np.bool_]:
    """Return which batches contradict each other, shape (batches, batches)."""
    slower = (speed < (1.0 - FALL) * speed[:, None]) & (batch > batch[:, None])
    return slower | slower.T


def _fall(run: CheckedRun, batch: Floats, speed: Floats) -> Flag | None:
    """Return how a run is slower than smaller batches that are sound."""
    here = run.samples_per_s or math.nan
    most = float(speed[batch < (run.global_batch_size or 0)].max(initial=0.0))
    if not here < (1.0 - FALL) * most:
        return None
    evidence = Text(
        "{speed} samples/s, {here} less than a smaller batch reaches ({smaller}). Something "
        "changed there.",
        speed=count(here),
        here=percent(1.0 - here / most),
        smaller=count(most),
    )
    return flag("throughput falls", run, evidence, 1.0 - here / most)


def _peak(
    run: CheckedRun, batch: Floats, speed: Floats, usual: Mapping[float, float]
) -> Flag | None:
    """Return the evidence that a run is faster than sound larger batches and repeats."""
    here, size = run.samples_per_s or math.nan, run.global_batch_size or 0
    least = float(speed[batch > size].min(initial=math.inf))
    if not max(least, usual.get(size, 0.0)) < (1.0 - FALL) * here:
        return None
    lost = 1.0 - least / here
    evidence = Text(
        "{speed} samples/s, of which a larger batch loses {lost} ({smaller}), and the other "
        "batches agree. Something was different here.",
        speed=count(here),
        lost=percent(lost),
        smaller=count(least),
    )
    return flag("throughput falls", run, evidence, lost)


def scaling_flags(runs: Sequence[CheckedRun]) -> list[Flag]:
    """Return runs whose speed-up over fewer devices is more than 1.15 times the ideal.

    Compared at the same batch per device (weak scaling) or the same global batch (strong). One slow
    run with few devices is flagged itself, not the many that seem too fast against it.
    """
    groups = grouped(filter(_on_a_curve, runs), case_of)
    several = (
        members
        for members in groups
        if len(members) <= MOST and len({run.devices for run in members}) > 1
    )
    return [scaling for members in several for scaling in _scalings(members)]


def _scalings(members: Sequence[CheckedRun]) -> list[Flag]:
    members = sorted(members, key=lambda run: run.devices)
    devices = np.array([run.devices for run in members])
    batch = np.array([float(run.global_batch_size or 0) for run in members])
    each = np.array([run.samples_per_s or math.nan for run in members]) / devices
    alike = (batch == batch[:, None]) | (batch / devices == (batch / devices)[:, None])
    compared = alike & (devices[:, None] > devices)  # row: more devices, column: fewer
    gain = np.where(compared, each[:, None] / each, 0.0)
    blamed = fewest_to_blame((gain > TOO_FAST) | (gain.T > TOO_FAST))
    over_fewer, over_it = gain[:, ~blamed], gain[~blamed]
    odd = [int(i) for i in np.flatnonzero(blamed)]
    scalings = (_scaling(members[i], over_fewer[i], over_it[:, i]) for i in odd)
    return [scaling for scaling in scalings if scaling is not None]


def _scaling(run: CheckedRun, over_fewer: Floats, over_it: Floats) -> Flag | None:
    """Return how a run contradicts the sound ones.

    Its gain over fewer devices, or theirs over it.
    """
    ratio = _least(over_fewer)
    if ratio > TOO_FAST:
        evidence = Text(
            "{devices} devices reach {ratio:.2f} times perfect scaling from fewer; above "
            "{too_fast} one of the two runs is wrong.",
            devices=run.devices,
            ratio=ratio,
            too_fast=TOO_FAST,
        )
        return flag("impossible scaling", run, evidence, ratio)
    ratio = float(over_it.max(initial=0.0))
    evidence = Text(
        "more devices reach up to {ratio:.2f} times perfect scaling from this run, and agree "
        "among themselves. Above {too_fast} a run is wrong.",
        ratio=ratio,
        too_fast=TOO_FAST,
    )
    return flag("impossible scaling", run, evidence, ratio) if ratio > TOO_FAST else None


def _least(gains: Floats) -> float:
    """Return the gain over the fastest with fewer devices; 0 where there is none."""
    return float(gains[gains > 0.0].min(initial=math.inf)) if (gains > 0.0).any() else 0.0


def against_other_batches(runs: Sequence[CheckedRun]) -> dict[str, float]:
    """Return step time over that of the other batches, by run_id, of contradicting runs.

    The others do not contradict each other, and must be more than half. Their prediction is a power
    law with their median slope between 0 and 1, since a step grows at most in proportion to the
    batch; the median over them is used.
    """
    ratios: dict[str, float] = {}
    for curve in _curves(runs):
        ratios |= _predicted_by_others(curve) if curve.batch.size >= FEWEST else {}
    return ratios


def _predicted_by_others(curve: _Curve) -> dict[str, float]:
    batch, step = np.log(curve.batch), np.log(curve.batch / curve.speed)
    torn = _outside(batch[:, None], step[:, None], batch, step) > math.log(NEAR)
    sound = ~fewest_to_blame(torn | torn.T)
    if 2 * sound.sum() <= sound.size or (sound.all() and len(curve.runs) == sound.size):
        return {}
    batch, step = batch[sound], step[sound]
    slope, ratios = _slope(batch, step), {}
    for run in curve.runs:
        size, speed = run.global_batch_size or 1, run.samples_per_s or math.nan
        here, own = math.log(size), math.log(size / speed)
        if (_outside(here, own, batch, step) > math.log(NEAR)).any():
            others = batch != here
            predicted = step[others] + slope * (here - batch[others])
            ratios[run.run_id] = math.exp(own - float(np.median(predicted)))
    return ratios


def _slope(batch: Floats, step: Floats) -> float:
    first, second = np.triu_indices(batch.size, 1)
    slopes = (step[first] - step[second]) / (batch[first] - batch[second])
    return float(np.clip(np.median(slopes), 0.0, 1.0))


def _outside(batch: Floats | float, step: Floats | float, others: Floats, steps: Floats) -> Floats:
    """Return how far a step is outside the limits of another batch, in logarithms; 0 inside."""
    proportional = steps + (batch - others)
    above = step - np.maximum(steps, proportional)
    below = np.minimum(steps, proportional) - step
    outside: Floats = np.maximum(np.maximum(above, below), 0.0)
    return outside


def _curves(runs: Iterable[CheckedRun]) -> list[_Curve]:
    groups = grouped(filter(_on_a_curve, runs), lambda r: (case_of(r), r.devices))
    curves = map(_curve, groups)
    return [curve for curve in curves if curve.batch.size <= MOST]


def _curve(members: Sequence[CheckedRun]) -> _Curve:
    repeats = grouped(members, lambda r: r.global_batch_size)
    repeats.sort(key=lambda group: group[0].global_batch_size or 0)
    return _Curve(
        runs=members,
        batch=np.array([float(group[0].global_batch_size or 0) for group in repeats]),
        speed=np.array([median(r.samples_per_s or math.nan for r in group) for group in repeats]),
    )


def _on_a_curve(run: CheckedRun) -> bool:
    return is_positive(run.global_batch_size) and is_positive(run.samples_per_s)
