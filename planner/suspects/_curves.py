"""What one curve says about its runs: more samples/s at a larger batch, but not more than so.

A step of a larger batch takes at least as long, and at most in proportion to the batch. Where two
batches contradict that, one of them is wrong, and the few that take part in every contradiction are
blamed (`planner.suspects._blame`): one run that is too fast before many that were called slow.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

import numpy as np
from numpy.typing import NDArray

from planner.core import Floats
from planner.runs import CheckedRun, case_of, grouped, is_known
from planner.suspects._blame import fewest_to_blame
from planner.suspects._flags import Flag, flag
from planner.suspects.neighbours import FEWEST
from planner.throughput import FALL, count

TOO_FAST: Final = 1.15
"""Speed-up beyond this multiple of the ideal one is a fault of one of the two runs."""
NEAR: Final = 2.0
"""So many times more or less than a number is near it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Curve:
    """Runs that differ in batch only; batches ascend, `speed` is the median of their repeats."""

    runs: Sequence[CheckedRun]
    batch: Floats
    speed: Floats


def falling_flags(runs: Sequence[CheckedRun]) -> list[Flag]:
    """Runs more than 10 % slower in samples/s than a smaller batch of the same case.

    Where one run is above several larger batches that agree with all others, it is the one.
    """
    return [found for curve in _curves(runs) for found in _falls(curve)]


def _falls(curve: _Curve) -> list[Flag]:
    sound = ~fewest_to_blame(_falling(curve.batch, curve.speed))
    if sound.all() and len(curve.runs) == sound.size:
        return []
    batch, speed = curve.batch[sound], curve.speed[sound]
    usual = dict(zip(batch, speed, strict=True))
    told = (_fall(run, batch, speed) or _peak(run, batch, speed, usual) for run in curve.runs)
    return [found for found in told if found is not None]


def _falling(batch: Floats, speed: Floats) -> NDArray[np.bool_]:
    """Which batches contradict each other, shape (batches, batches)."""
    slower = (speed < (1.0 - FALL) * speed[:, None]) & (batch > batch[:, None])
    return slower | slower.T


def _fall(run: CheckedRun, batch: Floats, speed: Floats) -> Flag | None:
    """How a run is slower than smaller batches that are sound."""
    here = run.samples_per_s or math.nan
    most = float(speed[batch < (run.global_batch_size or 0)].max(initial=0.0))
    if not here < (1.0 - FALL) * most:
        return None
    told = f"{count(here)} samples/s, {1.0 - here / most:.0%} less than a smaller batch "
    told += f"reaches ({count(most)}). Something changed there."
    return flag("throughput falls", run, told, 1.0 - here / most)


def _peak(
    run: CheckedRun, batch: Floats, speed: Floats, usual: Mapping[float, float]
) -> Flag | None:
    """How a run is faster than larger batches that are sound, and than its own sound repeats."""
    here, size = run.samples_per_s or math.nan, run.global_batch_size or 0
    least = float(speed[batch > size].min(initial=math.inf))
    if not max(least, usual.get(size, 0.0)) < (1.0 - FALL) * here:
        return None
    lost = 1.0 - least / here
    told = f"{count(here)} samples/s, of which a larger batch loses {lost:.0%} "
    told += f"({count(least)}), and the other batches agree. Something was different here."
    return flag("throughput falls", run, told, lost)


def scaling_flags(runs: Sequence[CheckedRun]) -> list[Flag]:
    """Runs whose gain from devices is more than 1.15 times the ideal, against those with fewer.

    Compared at the same batch per device (weak scaling) or the same global batch (strong). One
    slow run with few devices is told as such, not the many that all seem too fast beside it.
    """
    groups = grouped(filter(_on_a_curve, runs), case_of)
    several = (members for members in groups if len({run.devices for run in members}) > 1)
    return [found for members in several for found in _scalings(members)]


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
    told = (_scaling(members[i], over_fewer[i], over_it[:, i]) for i in odd)
    return [found for found in told if found is not None]


def _scaling(run: CheckedRun, over_fewer: Floats, over_it: Floats) -> Flag | None:
    """How a run contradicts the sound ones: its gain over fewer devices, or theirs over it."""
    ratio = _least(over_fewer)
    if ratio > TOO_FAST:
        told = f"{run.devices} devices do {ratio:.2f} times what perfect scaling from fewer would "
        told += f"give; above {TOO_FAST} one of the two runs is wrong."
        return flag("impossible scaling", run, told, ratio)
    ratio = float(over_it.max(initial=0.0))
    told = (
        f"more devices do up to {ratio:.2f} times what perfect scaling from this run would give, "
    )
    told += f"and agree among themselves; above {TOO_FAST} a run is wrong."
    return flag("impossible scaling", run, told, ratio) if ratio > TOO_FAST else None


def _least(gains: Floats) -> float:
    """The gain over the fastest with fewer devices; 0 where there is none."""
    return float(gains[gains > 0.0].min(initial=math.inf)) if (gains > 0.0).any() else 0.0


def against_other_batches(runs: Sequence[CheckedRun]) -> dict[str, float]:
    """Step time over what the other batches say, by run_id, of runs that contradict them.

    The others are those that do not contradict each other, and must be more than half. A power law
    with their median slope between 0 and 1, because a step of a larger batch takes longer, but
    never more than in proportion; the median of what each of them says.
    """
    found: dict[str, float] = {}
    for curve in _curves(runs):
        found |= _said_by_others(curve) if curve.batch.size >= FEWEST else {}
    return found


def _said_by_others(curve: _Curve) -> dict[str, float]:
    batch, step = np.log(curve.batch), np.log(curve.batch / curve.speed)
    torn = _outside(batch[:, None], step[:, None], batch, step) > math.log(NEAR)
    sound = ~fewest_to_blame(torn | torn.T)
    if 2 * sound.sum() <= sound.size or (sound.all() and len(curve.runs) == sound.size):
        return {}
    batch, step = batch[sound], step[sound]
    slope, found = _slope(batch, step), {}
    for run in curve.runs:
        size, speed = run.global_batch_size or 1, run.samples_per_s or math.nan
        here, own = math.log(size), math.log(size / speed)
        if (_outside(here, own, batch, step) > math.log(NEAR)).any():
            others = batch != here
            said = step[others] + slope * (here - batch[others])
            found[run.run_id] = math.exp(own - float(np.median(said)))
    return found


def _slope(batch: Floats, step: Floats) -> float:
    first, second = np.triu_indices(batch.size, 1)
    slopes = (step[first] - step[second]) / (batch[first] - batch[second])
    return float(np.clip(np.median(slopes), 0.0, 1.0))


def _outside(batch: Floats | float, step: Floats | float, others: Floats, steps: Floats) -> Floats:
    """How far a step is outside what another batch allows, all in logarithms; 0 is inside."""
    proportional = steps + (batch - others)
    above = step - np.maximum(steps, proportional)
    below = np.minimum(steps, proportional) - step
    outside: Floats = np.maximum(np.maximum(above, below), 0.0)
    return outside


def _curves(runs: Iterable[CheckedRun]) -> list[_Curve]:
    groups = grouped(filter(_on_a_curve, runs), lambda r: (case_of(r), r.devices))
    return [_curve(members) for members in groups]


def _curve(members: Sequence[CheckedRun]) -> _Curve:
    repeats = grouped(members, lambda r: r.global_batch_size)
    repeats.sort(key=lambda group: group[0].global_batch_size or 0)
    return _Curve(
        runs=members,
        batch=np.array([float(group[0].global_batch_size or 0) for group in repeats]),
        speed=np.array([median(r.samples_per_s or math.nan for r in group) for group in repeats]),
    )


def _on_a_curve(run: CheckedRun) -> bool:
    return is_known(run.global_batch_size) and is_known(run.samples_per_s)
