"""Two runs with the same measured numbers to the last digit: one of them is a copy.

Runs never share many digits by chance, whatever their factors are. How many are too many:

    same factors                      8 digits in all    two repeats share their first ones anyway
    other batch, system, pattern ...  12 digits in all   any two runs of a workload can be compared

so two means of `45.6` s are no copies, and two of `45.678912345678` are, the batch changed or not.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final

from planner.runs import CheckedRun, case_of, configuration_of, is_known
from planner.suspects._flags import Flag, flag

TIMES: Final = ("pre_train_s", "first_epoch_s", "until_first_epoch_end_s", "later_epoch_mean_s",
                "later_epoch_sd_s", "total_s")  # fmt: skip
"""Measured numbers that two runs never share by chance."""
RATES: Final = ("step_time_s", "samples_per_s")
"""What stands for them in runs that have none; often one is reckoned from the other."""
SAME_FACTORS: Final = 8
OTHER_FACTORS: Final = 12
"""Significant digits that runs of the same and of other factors share before one is a copy."""


def duplicate_flags(runs: Sequence[CheckedRun]) -> list[Flag]:
    """Runs of one workload with identical measured numbers: copies, not repeats."""
    first: dict[Hashable, CheckedRun] = {}
    same: dict[Hashable, CheckedRun] = {}
    found = []
    for run in runs:
        if not (numbers := _measured(run)):
            continue
        alike = same.setdefault((_factors(run), numbers), run)
        other = first.setdefault((run.workload, numbers), run)
        original, digits = (alike, SAME_FACTORS) if alike is not run else (other, OTHER_FACTORS)
        if original is not run and _digits(run, numbers) >= digits:
            found.append(_copy(run, original, len(numbers)))
    return found


def _copy(run: CheckedRun, original: CheckedRun, known: int) -> Flag:
    all_of = "its one number is that" if known == 1 else f"all {known} measured times are those"
    told = f"{all_of} of run {original.run_id} to the last digit. "
    if _factors(run) != _factors(original):
        told += f"That run is of {original.label}, {original.pattern}. "
    return flag("duplicate", run, f"{told}One is a copy.", known)


def _factors(run: CheckedRun) -> tuple[Hashable, ...]:
    return case_of(run), configuration_of(run)


def _measured(run: CheckedRun) -> tuple[tuple[str, float], ...]:
    """Times by name, or else the first rate; zeros are not measured."""
    known = [(n, v) for n in (*TIMES, *RATES) if is_known(v := getattr(run, n))]
    times = [number for number in known if number[0] in TIMES]
    return tuple(times or known[:1])


def _digits(run: CheckedRun, numbers: Sequence[tuple[str, float]]) -> int:
    """Significant digits of all numbers; of rates only those of the one that has fewer."""
    if numbers[0][0] in RATES:
        return min(_significant(v) for n in RATES if is_known(v := getattr(run, n)))
    return sum(_significant(value) for value in {value for _, value in numbers})


def _significant(value: float) -> int:
    """Digits of a number as it is written: 4 of 12.34, 0.001234 or 123400."""
    return len(repr(float(value)).split("e")[0].replace(".", "").strip("0"))
