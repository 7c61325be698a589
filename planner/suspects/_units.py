"""Times 60, 1000 or 3600 times off: minutes, milliseconds or hours entered as seconds.

The expected value comes from these sources, in this order; the first wrong unit is reported:

    neighbours       the epoch time against configuration and pattern
                     (`planner.suspects.neighbours`)
    other batches    the step time against batches that agree (`planner.suspects._curves`)
    the run itself   numbers that say one thing twice: a total and its parts, an epoch and its
                     steps or samples/s; a first epoch that is far shorter than later ones
    its case         a start (`pre_train_s`) far shorter than the even ones of 3 or more other runs
    the scatter      a standard deviation that epochs of that mean cannot have

Possible values are not flagged: a scatter 60 times too small, or a long start without a total time.
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
"""Largest ratio of the starts of a case that counts as even."""
EXACT: Final = 1.1
"""Tolerance of a sum after its part with a wrong unit is corrected."""


def unit_flags(runs: Sequence[CheckedRun]) -> list[Flag]:
    """Return runs with a number about 60, 1000 or 3600 times the expected one."""
    against, others, starts = neighbours(runs).ratio, against_other_batches(runs), _starts(runs)
    flags = []
    for run, near in zip(runs, against, strict=True):
        comparisons = (
            (float(near), "an epoch against its neighbours"),
            (others.get(run.run_id, math.nan), "a step against other batches"),
            *_computed(run),
            (starts.get(run.run_id, math.nan), "pre_train_s against others of its case"),
        )
        odd = next((_evidence(run, r, what) for r, what in comparisons if _slip(r)), None)
        odd = odd or next(_too_scattered(run), None)
        flags += [odd] if odd else []
    return flags


def _computed(run: CheckedRun) -> tuple[tuple[float, str], ...]:
    """Return the ratios of a run; none where its numbers overflow a float."""
    try:
        return tuple(_own_ratios(run))
    except (ArithmeticError, ValueError):
        return ()


def _evidence(run: CheckedRun, ratio: float, what: str) -> Flag:
    slip = _slip(ratio) or math.nan
    many = f"{ratio:,.0f} times" if ratio > 1.0 else f"1/{1.0 / ratio:,.0f}"
    evidence = f"{what} is {many} as much, near {slip:g}: {SLIPS[slip]}?"
    return flag("unit slip", run, evidence, ratio)


def _own_ratios(run: CheckedRun) -> Iterator[tuple[float, str]]:
    """Return ratios of redundant numbers of one run, with their names."""
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
    """Return the number of a sum with a wrong unit: the whole, or the part that explains it.

    A sum within a factor of 2 may instead have a part that was not timed.
    """
    whole = total / sum(parts.values())
    if 1.0 / NEAR < whole < NEAR:
        return math.nan, ""
    candidates = [
        (_off(whole, _slip(whole) or 1.0), math.log(NEAR), whole, f"{name} against {what}")
    ]
    for part, value in parts.items():
        for factor in (f**way for f in SLIPS for way in (1, -1)):
            corrected_sum = sum(parts.values()) + value * (1.0 / factor - 1.0)
            off = abs(math.log(total / corrected_sum))
            candidates.append((off, math.log(EXACT), factor, f"{part} against {name} and the rest"))
    off, allowed, ratio, label = min(candidates, key=lambda candidate: candidate[0])
    return (ratio, label) if off < allowed else (math.nan, "")


def _starts(runs: Sequence[CheckedRun]) -> dict[str, float]:
    """Return how much of the usual start of its case a run took, by run_id, where that is far less.

    The largest gap between starts parts them; those above it must be more, 3 or more, and even. A
    start that is far longer than others may have had a reason: data to fetch, code to compile.
    """
    ratios: dict[str, float] = {}
    for members in grouped(runs, lambda run: (case_of(run), run.devices)):
        started = [run for run in members if is_known(run.pre_train_s)]
        starts = sorted((run.pre_train_s or 0.0, run.run_id) for run in started)
        if len(starts) <= FEWEST:
            continue
        log = np.log([start for start, _ in starts])
        first = int(np.diff(log).argmax()) + 1
        usual = log[first:]
        if usual.size > max(first, FEWEST - 1) and usual[-1] - usual[0] < math.log(EVEN):
            off = np.exp(log[:first] - np.median(usual))
            ratios |= {run: float(r) for (_, run), r in zip(starts[:first], off, strict=True)}
    return ratios


def _too_scattered(run: CheckedRun) -> Iterator[Flag]:
    """Yield a standard deviation that no epochs of that mean can have.

    At most sqrt(n - 1) times it.
    """
    mean, later, sd = run.later_epoch_mean_s, (run.epochs_measured or 1) - 1, run.later_epoch_sd_s
    if sd and mean and later > 1 and sd > math.sqrt(later) * mean:
        lead = f"later_epoch_sd_s is {sd / mean:,.1f} times the mean, more than {later} epochs can "
        yield flag("unit slip", run, f"{lead}scatter: another unit?", sd / mean)


def _slip(ratio: float) -> float | None:
    """Return the factor a ratio is near, either way round."""
    if not is_known(ratio):
        return None
    nearest = min(SLIPS, key=lambda factor: _off(ratio, factor))
    return nearest if _off(ratio, nearest) < math.log(NEAR) else None


def _off(ratio: float, factor: float) -> float:
    """Return how far a ratio is from a factor or its inverse, in logarithms."""
    return abs(abs(math.log(ratio)) - math.log(factor)) if is_known(ratio) else math.inf
