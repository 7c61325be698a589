"""Promises of the checks of units: a slip is found in whichever number it is, and only there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from planner.suspects import suspects
from planner.suspects._checks import unit_flags
from tests.each import each
from tests.planner.made_suspects import BATCHES, found, only, run, slipped, sweep


@each("slip", [60.0, 1000.0, 3600.0])
@each("way", [1, -1])
@each("batch", [32, 128, 512])
def test_a_unit_slip_is_reported_by_the_neighbours(slip: float, way: int, batch: int) -> None:
    runs = [r for r in sweep() if r.run_id != f"plain {batch}"]
    flag = only(unit_flags([*runs, slipped(batch, slip**way)]))
    assert flag.run == f"plain {batch}"
    assert_allclose(flag.value, slip**way, rtol=0.1)
    assert f"near {slip:g}" in flag.evidence


@each("slip", [60.0, 1000.0, 3600.0])
@each("way", [1, -1])
@each("batch", [32, 128, 512])
def test_without_neighbours_the_other_batches_tell_it(slip: float, way: int, batch: int) -> None:
    runs = [slipped(b, slip**way) if b == batch else run(b) for b in BATCHES]
    flag = only(unit_flags(runs))
    assert flag.run == f"plain {batch}"
    assert "against other batches" in flag.evidence


@each(
    ("change", "result"),
    [
        ({"step_time_s": run(64).step_time_s or 0}, "an epoch against its steps"),
        ({"total_s": run(64).total_s or 0}, "total_s against the sum of its epochs"),
        ({"samples_per_s": run(64).samples_per_s or 0}, "an epoch against its samples/s"),
    ],
)
@each("slip", [60.0, 1e-3, 3600.0])
def test_a_run_that_contradicts_itself_by_a_unit_is_found_alone(
    change: dict[str, float], result: str, slip: float
) -> None:
    wrong: dict[str, object] = {name: value * slip for name, value in change.items()}
    flag = only(unit_flags([run(64, **wrong)]))  # type: ignore[arg-type]
    assert result in flag.evidence
    assert abs(np.log(flag.value)) == pytest.approx(abs(np.log(slip)), abs=0.1)


@each("slip", [60.0, 1000.0, 3600.0])
@each("way", [1, -1])
@each("batches", [BATCHES[:3], BATCHES[:4], BATCHES])
def test_any_one_run_in_another_unit_is_found_and_no_healthy_one_accused(
    slip: float, way: int, batches: tuple[int, ...]
) -> None:
    for odd in batches:
        runs = [slipped(b, slip**way) if b == odd else run(b) for b in batches]
        assert found(suspects(runs)) == [("unit slip", f"plain {odd}")]


def test_two_runs_of_five_in_another_unit_are_found_and_no_healthy_one_accused() -> None:
    runs = [slipped(b, 1000.0 if b in {64, 256} else 1.0) for b in BATCHES]
    assert found(suspects(runs)) == [("unit slip", "plain 64"), ("unit slip", "plain 256")]


def test_a_wide_step_between_batches_is_no_slip_of_a_unit() -> None:
    runs = [run(b, factor=1.0) for b in (1, 64, 65_536)]  # the largest step takes 572 times as long
    assert unit_flags(runs) == []


@each("slip", [60.0, 1000.0, 3600.0])
@each("name", ["pre_train_s", "first_epoch_s", "later_epoch_mean_s", "total_s"])
def test_one_time_too_large_by_a_unit_is_found_in_the_run_alone(name: str, slip: float) -> None:
    whole = run(64, later_epoch_sd_s=None, steps_per_epoch=None, samples_per_epoch=None)
    # a start long enough to be seen in the total
    whole = replace(whole, pre_train_s=600.0, total_s=(whole.total_s or 0.0) + 597.0)
    odd = replace(whole, **{name: slip * getattr(whole, name)})
    assert found(unit_flags([odd])) == [("unit slip", "plain 64")]


@each("slip", [60.0, 1000.0, 3600.0])
@each("name", ["first_epoch_s", "until_first_epoch_end_s"])
def test_a_first_epoch_too_short_by_a_unit_is_found_in_the_run_alone(
    name: str, slip: float
) -> None:
    mean = run(64).later_epoch_mean_s or 0.0
    short: dict[str, Any] = {name: 1.2 * mean / slip, "pre_train_s": None, "total_s": None}
    flag = only(unit_flags([run(64, **{"first_epoch_s": None, **short})]))
    assert f"{name} against a later epoch" in flag.evidence
    assert f"near {slip:g}" in flag.evidence


@pytest.mark.parametrize("slip", [60.0, 1000.0, 3600.0])
def test_a_start_too_short_by_a_unit_is_found_beside_three_others(slip: float) -> None:
    runs = [run(b, total_s=None) for b in BATCHES]
    short = replace(runs[2], pre_train_s=(runs[2].pre_train_s or 0.0) / slip)
    flag = only(unit_flags([*runs[:2], short, *runs[3:]]))
    assert (flag.run, f"near {slip:g}" in flag.evidence) == ("plain 128", True)
    assert unit_flags([short, *runs[3:]]) == []


def test_one_long_start_is_no_slip_of_a_unit() -> None:
    runs = [run(b, total_s=None) for b in BATCHES]
    assert unit_flags([*runs[:-1], replace(runs[-1], pre_train_s=200.0)]) == []


@pytest.mark.parametrize("slip", [1000.0, 3600.0])
def test_a_scatter_that_no_epochs_can_have_is_in_another_unit(slip: float) -> None:
    sd = slip * (run(64).later_epoch_sd_s or 0.0)
    flag = only(unit_flags([run(64, later_epoch_sd_s=sd)]))
    assert "times the mean, more than 3 epochs can scatter: another unit?" in flag.evidence


def test_a_run_six_times_too_slow_is_no_slip_of_a_unit() -> None:
    assert unit_flags([slipped(b, 6.0 if b == 128 else 1.0) for b in BATCHES]) == []


def test_a_slip_does_not_make_the_others_suspect() -> None:
    runs = [slipped(b, 1 / 60 if b == 32 else 1.0) for b in BATCHES]
    assert found(suspects(runs)) == [("unit slip", "plain 32")]
