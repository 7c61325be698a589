"""Promises of the search for copies: many equal digits are one, few are none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from planner.runs import CheckedRun
from planner.suspects._checks import duplicate_flags
from tests.planner.made_suspects import found, only, run


def test_a_copy_is_a_duplicate_and_a_repeat_is_not() -> None:
    copy, repeat = (replace(run(64), run_id=name) for name in ("copy", "repeat"))
    repeat = replace(repeat, first_epoch_s=(repeat.first_epoch_s or 0) + 1e-6)
    flag = only(duplicate_flags([run(64), run(128), copy, repeat]))
    assert (flag.run, flag.value) == ("copy", 5)
    assert "those of run plain 64 to the last digit" in flag.evidence


@pytest.mark.parametrize(
    "change",
    [{"global_batch_size": 128}, {"system_name": "TPU"}, {"pattern": "validated"}, {"devices": 2}],
)
def test_the_same_times_under_another_batch_system_or_pattern_are_a_copy(
    change: dict[str, Any],
) -> None:
    flag = only(duplicate_flags([run(64), replace(run(64), run_id="b", **change)]))
    assert (flag.run, flag.value) == ("b", 5)
    assert "That run is of GPU at batch 64, plain. One is a copy." in flag.evidence


def test_the_same_times_of_another_workload_are_another_matter() -> None:
    assert duplicate_flags([run(64), replace(run(64), run_id="b", workload="other")]) == []


def with_one(**number: float) -> list[CheckedRun]:
    """Two runs of which one number is known."""
    return [CheckedRun(run_id=i, label=i, workload="w", software="s", pattern="p",
                       system_name="GPU", **number) for i in "ab"]  # type: ignore[arg-type] # fmt: skip


@pytest.mark.parametrize("name", ["later_epoch_mean_s", "samples_per_s", "step_time_s"])
def test_one_number_of_many_digits_is_enough_whatever_the_factors(name: str) -> None:
    runs = with_one(**{name: 45.678912345678})
    flag = only(duplicate_flags(runs))
    assert flag.evidence == "b: its one number is that of run a to the last digit. One is a copy."
    assert found(duplicate_flags([runs[0], replace(runs[1], global_batch_size=8)])) == [
        ("duplicate", "b")
    ]


@pytest.mark.parametrize("name", ["later_epoch_mean_s", "samples_per_s", "step_time_s"])
def test_one_equal_number_of_few_digits_is_no_duplicate(name: str) -> None:
    assert duplicate_flags(with_one(**{name: 45.6})) == []
    first, second = with_one(**{name: 1234.56789})  # enough for a repeat, not among all runs
    assert duplicate_flags([first, replace(second, system_name="TPU")]) == []


def test_zeros_in_place_of_times_are_no_copies() -> None:
    assert duplicate_flags(with_one(first_epoch_s=0.0, total_s=0.0, later_epoch_mean_s=0.0)) == []


def test_a_rate_reckoned_from_few_digits_is_no_measured_number() -> None:
    assert duplicate_flags(with_one(step_time_s=0.3, samples_per_s=64 / 0.3)) == []
