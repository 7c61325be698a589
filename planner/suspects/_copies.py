"""Two runs with the same measured numbers to the last digit: one of them is a copy.

Runs do not share many digits by chance, whatever their factors. The limits are:

    same factors                      8 digits in all    two repeats share their first ones anyway
    other batch, system, pattern ...  12 digits in all   any two runs of a workload can be compared

so two means of `45.6` s are not copies, and two of `45.678912345678` are, at any batch.
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
"""Used for runs without times; often one is computed from the other."""
SAME_FACTORS: Final = 8
OTHER_FACTORS: Final = 12
"""Significant digits that runs of the same and of other factors share before one is a copy."""


def duplicate_flags(runs: Sequence[CheckedRun]) -> list[Flag]:
    """Return runs of one workload with identical measured numbers: copies, not repeats."""
    first: dict[Hashable, CheckedRun] = {}
    same: dict[Hashable, CheckedRun] = {}
    flags = []
    for run in runs:
        if not (numbers := _measured(run)):
            continue
        alike = same.setdefault((_factors(run), numbers), run)
        other = first.setdefault((run.workload, numbers), run)
        original, digits = (alike, SAME_FACTORS) if alike is not run else (other, OTHER_FACTORS)
        if original is not run and _digits(run, numbers) >= digits:
            flags.append(_copy(run, original, len(numbers)))
    return flags


def _copy(run: CheckedRun, original: CheckedRun, count: int) -> Flag:
    all_of = "its one number is that" if count == 1 else f"all {count} measured times are those"
    evidence = f"{all_of} of run {original.run_id} to the last digit. "
    if _factors(run) != _factors(original):
        evidence += f"That run is of {original.label}, {original.pattern}. "
    return flag("duplicate", run, f"{evidence}One is a copy.", count)


def _factors(run: CheckedRun) -> tuple[Hashable, ...]:
    return case_of(run), configuration_of(run)


def _measured(run: CheckedRun) -> tuple[tuple[str, float], ...]:
    """Return the times by name, or else the first rate; zeros are not measured."""
    present = [(n, v) for n in (*TIMES, *RATES) if is_known(v := getattr(run, n))]
    times = [number for number in present if number[0] in TIMES]
    return tuple(times or present[:1])


def _digits(run: CheckedRun, numbers: Sequence[tuple[str, float]]) -> int:
    """Return the significant digits of all numbers; of rates those of the shorter one."""
    if numbers[0][0] in RATES:
        return min(_significant(v) for n in RATES if is_known(v := getattr(run, n)))
    return sum(_significant(value) for value in {value for _, value in numbers})


def _significant(value: float) -> int:
    """Return the significant digits of a number: 4 of 12.34, 0.001234 or 123400."""
    return len(repr(float(value)).split("e")[0].replace(".", "").strip("0"))
