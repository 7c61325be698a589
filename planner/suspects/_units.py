"""Times 60, 1000 or 3600 times off: minutes, milliseconds or hours entered as seconds.

What a number should be is asked in this order, the first that tells of a slip is told:

    neighbours       the epoch time against configuration and pattern
    (`planner.suspects.neighbours`)
    other batches    the step time against batches that agree (`planner.suspects._curves`)
    the run itself   numbers that say one thing twice: a total and its parts, an epoch and its
                     steps or samples/s; a first epoch that is far shorter than later ones
    its case         a start (`pre_train_s`) far shorter than the even ones of 3 or more other runs
    the scatter      a standard deviation that epochs of that mean cannot have

What may be true is left alone: a scatter 60 times too small, or a long start where nothing says
what the whole run took.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from planner.runs import CheckedRun, case_of, grouped, is_known
from planner.suspects._curves import NEAR, against_other_batches
from planner.suspects._flags import Flag, flag
from planner.suspects.neighbours import FEWEST, neighbours

SLIPS: Final = {60.0: "minutes for seconds", 1000.0: "milliseconds for seconds",
                3600.0: "hours for seconds"}  # fmt: skip
EVEN: Final = 3.0
"""Starts of a case are even where the longest is less than so many times the shortest."""
EXACT: Final = 1.1
"""A part of a sum slipped where the slip taken back makes the sum right within this factor."""


def unit_flags(runs: Sequence[CheckedRun]) -> list[Flag]:
    """Runs with a number about 60, 1000 or 3600 times what the rest says."""
    against, others, starts = neighbours(runs).ratio, against_other_batches(runs), _starts(runs)
    found = []
    for run, near in zip(runs, against, strict=True):
        said = (
            (float(near), "an epoch against what its neighbours say"),
            (others.get(run.run_id, math.nan), "a step against what other batches say"),
            *_computed(run),
            (starts.get(run.run_id, math.nan), "pre_train_s against others of its case"),
        )
        odd = next((_told(run, r, what) for r, what in said if _slip(r)), None)
        odd = odd or next(_too_scattered(run), None)
        found += [odd] if odd else []
    return found


def _computed(run: CheckedRun) -> tuple[tuple[float, str], ...]:
    """The ratios of a run; none where its numbers are beyond what a float can divide."""
    try:
        return tuple(_own_ratios(run))
    except (ArithmeticError, ValueError):
        return ()


def _told(run: CheckedRun, ratio: float, what: str) -> Flag:
    slip = _slip(ratio) or math.nan
    many = f"{ratio:,.0f} times" if ratio > 1.0 else f"1/{1.0 / ratio:,.0f}"
    told = f"{what} is {many} as much, near {slip:g}: {SLIPS[slip]}?"
    return flag("unit slip", run, told, ratio)


def _own_ratios(run: CheckedRun) -> Iterator[tuple[float, str]]:
    """Numbers of one run that say the same thing twice, as ratios, with their names."""
    mean, later = run.later_epoch_mean_s, (run.epochs_measured or 0) - 1
    start = {"pre_train_s": run.pre_train_s or 0.0, "first_epoch_s": run.first_epoch_s or 0.0}
    until = run.until_first_epoch_end_s
    if until and all(start.values()):
        yield _against_sum(until, start, "until_first_epoch_end_s", "its parts")
    parts = {"until_first_epoch_end_s": until} if until else start
    if run.total_s and mean and any(parts.values()) and later > 0:
        parts = {**parts, "later_epoch_mean_s": later * mean}
        yield _against_sum(run.total_s, parts, "total_s", "the sum of its epochs")
    if run.step_time_s and mean and run.steps_per_epoch:
        yield mean / (run.step_time_s * run.steps_per_epoch), "an epoch against its steps"
    if run.samples_per_s and mean and run.samples_per_epoch:
        yield run.samples_per_s * mean / run.samples_per_epoch, "an epoch against its samples/s"
    if run.first_epoch_s and mean and run.first_epoch_s < mean:
        yield run.first_epoch_s / mean, "first_epoch_s against a later epoch"
    if until and mean and until < mean:
        yield until / mean, "until_first_epoch_end_s against a later epoch"


def _against_sum(
    total: float, parts: Mapping[str, float], name: str, what: str
) -> tuple[float, str]:
    """Which number of a sum slipped: the whole against its parts, or one part that explains it.

    A sum within a factor of 2 has no slip that could be told from something that was not timed.
    """
    whole = total / sum(parts.values())
    if 1.0 / NEAR < whole < NEAR:
        return math.nan, ""
    said = [(_off(whole, _slip(whole) or 1.0), math.log(NEAR), whole, f"{name} against {what}")]
    for part, value in parts.items():
        for factor in (f**way for f in SLIPS for way in (1, -1)):
            mended = sum(parts.values()) + value * (1.0 / factor - 1.0)
            off = abs(math.log(total / mended))
            said.append((off, math.log(EXACT), factor, f"{part} against {name} and the rest"))
    off, allowed, ratio, told = min(said, key=lambda one: one[0])
    return (ratio, told) if off < allowed else (math.nan, "")


def _starts(runs: Sequence[CheckedRun]) -> dict[str, float]:
    """How much of the usual start of its case a run took, by run_id, where that is far less.

    The largest gap between starts parts them; those above it must be more, 3 or more, and even. A
    start that is far longer than others may have had a reason: data to fetch, code to compile.
    """
    found: dict[str, float] = {}
    for members in grouped(runs, lambda run: (case_of(run), run.devices)):
        started = [run for run in members if is_known(run.pre_train_s)]
        known = sorted((run.pre_train_s or 0.0, run.run_id) for run in started)
        if len(known) <= FEWEST:
            continue
        log = np.log([start for start, _ in known])
        first = int(np.diff(log).argmax()) + 1
        usual = log[first:]
        if usual.size > max(first, FEWEST - 1) and usual[-1] - usual[0] < math.log(EVEN):
            off = np.exp(log[:first] - np.median(usual))
            found |= {run: float(r) for (_, run), r in zip(known[:first], off, strict=True)}
    return found


def _too_scattered(run: CheckedRun) -> Iterator[Flag]:
    """A standard deviation that no epochs of that mean can have: at most sqrt(n - 1) times it."""
    mean, later, sd = run.later_epoch_mean_s, (run.epochs_measured or 1) - 1, run.later_epoch_sd_s
    if sd and mean and later > 1 and sd > math.sqrt(later) * mean:
        told = f"later_epoch_sd_s is {sd / mean:,.1f} times the mean, more than {later} epochs can "
        yield flag("unit slip", run, f"{told}scatter: another unit?", sd / mean)


def _slip(ratio: float) -> float | None:
    """The factor a ratio is near, either way round."""
    if not is_known(ratio):
        return None
    nearest = min(SLIPS, key=lambda factor: _off(ratio, factor))
    return nearest if _off(ratio, nearest) < math.log(NEAR) else None


def _off(ratio: float, factor: float) -> float:
    """How far a ratio is from a factor or its inverse, in logarithms."""
    return abs(abs(math.log(ratio)) - math.log(factor)) if is_known(ratio) else math.inf
