"""Checks for measured runs that need a second look.

Every check is a pure function of flat records and returns named flags. A flag states the anomaly
with its numbers; the run is kept until the user decides.

    flag                       value of the flag                 flagged where
    unlike its neighbours      robust z [1]                      |z| > 10
    unsteady epochs            variation of later epochs [share] > 0.20
    throughput falls           share lost between two batches    > 0.10
    impossible scaling         speed-up / ideal speed-up [1]     > 1.15
    duplicate                  numbers that are identical [1]    all of them, 8 or 12 digits
    zero for missing           0                                 a number that cannot be 0 is 0
    unit slip                  factor against the expected one   half to twice 60, 1000 or 3600
    above the peak             1                                 a published speed is impossible

Where runs contradict each other, the few that take part in every contradiction are flagged
(`planner.suspects._curves`). The neighbours are those of `planner.suspects.neighbours`. A run's own
scatter does not show such a fault: in the one known faulty run it is 5 %, as in good ones, but its
neighbours take a third less time.

All but unsteady epochs make a run a candidate to leave out of a fit (`LEFT_OUT`): its mean may be
wrong. Varying epochs make a mean less precise, not wrong, and are frequent on shared machines.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields
from typing import Final

from planner.core import LARGEST, SMALLEST, in_words
from planner.epochs import MAX_CV
from planner.runs import CheckedRun, is_known
from planner.suspects._copies import duplicate_flags
from planner.suspects._curves import falling_flags, scaling_flags
from planner.suspects._flags import (
    LEFT_OUT,
    NAMES,
    Flag,
    FlagName,
    by_run,
    flag,
    left_out,
    named,
)
from planner.suspects._units import unit_flags
from planner.suspects.neighbours import neighbours

__all__ = [
    "LEFT_OUT",
    "NAMES",
    "UNLIKE",
    "Flag",
    "FlagName",
    "by_run",
    "duplicate_flags",
    "epoch_flags",
    "falling_flags",
    "left_out",
    "named",
    "neighbour_flags",
    "peak_flags",
    "scaling_flags",
    "suspects",
    "unit_flags",
    "zero_flags",
]

UNLIKE: Final = 10.0
"""Robust z above which a run is unlike its neighbours."""
_TEXTS: Final = frozenset({
    "run_id", "label", "workload", "software", "pattern", "system_name", "suspect_reason",
})  # fmt: skip
_NUMBERS: Final = tuple(f.name for f in fields(CheckedRun) if f.name not in _TEXTS)
NEVER_ZERO: Final = (
    "pre_train_s", "first_epoch_s", "until_first_epoch_end_s", "later_epoch_mean_s", "total_s",
    "step_time_s", "samples_per_s", "steps_per_epoch", "samples_per_epoch", "global_batch_size",
)  # fmt: skip


def suspects(runs: Sequence[CheckedRun]) -> tuple[Flag, ...]:
    """Return all flags of all checks; one run may have several.

    Runs with a wrong unit are excluded from the checks that compare runs.
    """
    whole = [run for run in runs if _comparable(run)]
    slips = unit_flags(whole)
    slipped = {flag.run for flag in slips}
    sound = [run for run in whole if run.run_id not in slipped]
    return (
        *neighbour_flags(sound),
        *epoch_flags(whole),
        *falling_flags(sound),
        *scaling_flags(sound),
        *duplicate_flags(runs),
        *zero_flags(runs),
        *slips,
        *peak_flags(runs),
    )


def _comparable(run: CheckedRun) -> bool:
    """Return whether ratios of all its numbers can be squared; the store accepts no others."""
    numbers = (getattr(run, name) for name in _NUMBERS)
    return all(SMALLEST <= abs(number) <= LARGEST for number in numbers if number)


def neighbour_flags(runs: Sequence[CheckedRun]) -> list[Flag]:
    """Return runs whose epoch time differs from that of their neighbours."""
    compared = neighbours(runs)
    flags = []
    for run, ratio, z in zip(runs, compared.ratio, compared.z, strict=True):
        if abs(z) > UNLIKE:
            epoch = in_words(run.later_epoch_mean_s or math.nan)
            evidence = f"{epoch} an epoch, {ratio:.2f} times that of "
            evidence += f"its neighbours in batch and pattern; robust z is {z:.1f}, at most "
            evidence += f"{UNLIKE:g} is scatter."
            flags.append(flag("unlike its neighbours", run, evidence, z))
    return flags


def epoch_flags(runs: Sequence[CheckedRun]) -> list[Flag]:
    """Return runs whose later epochs vary by more than 20 % (ddof = 1)."""
    flags = []
    for run in runs:
        later, sd = (run.epochs_measured or 1) - 1, run.later_epoch_sd_s
        if later < 2 or sd is None or not is_known(run.later_epoch_mean_s):
            continue
        variation = math.sqrt(later / (later - 1)) * sd / (run.later_epoch_mean_s or math.nan)
        if variation > MAX_CV:
            evidence = f"its {later} later epochs vary by {variation:.1%} (standard deviation over "
            evidence += "mean); above 20 % they are not of one kind."
            flags.append(flag("unsteady epochs", run, evidence, variation))
    return flags


def peak_flags(runs: Sequence[CheckedRun]) -> list[Flag]:
    """Return published runs whose speed exceeds the peak on the data sheet."""
    reasons = ((run, run.suspect_reason) for run in runs)
    return [flag("above the peak", run, reason, 1.0) for run, reason in reasons if reason]


def zero_flags(runs: Sequence[CheckedRun]) -> list[Flag]:
    """Return runs with a 0 where only a missing value can be.

    Times, counts, the scatter of 3 epochs.
    """
    flags = []
    for run in runs:
        zeros = [name for name in NEVER_ZERO if getattr(run, name) == 0]
        if run.later_epoch_sd_s == 0 and (run.epochs_measured or 0) > 2:
            zeros.append("later_epoch_sd_s")
        if zeros:
            evidence = (
                f"{', '.join(zeros)} is 0, which cannot be a measurement. Leave out unknown values."
            )
            flags.append(flag("zero for missing", run, evidence, 0.0))
    return flags
