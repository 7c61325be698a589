"""Promises of comparisons between runs and between systems."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.testing import assert_allclose

from planner.core import Refusal
from planner.epochs import SESSION_SD, SpeedUp
from tests.planner.epochs.timed import TimedRun, ratio_report, systems_report


def run(label: str, batch: int, epoch_s: float, *, first_s: float = 100.0) -> TimedRun:
    return TimedRun(
        label=label,
        batch=batch,
        pre_train_s=1.0,
        first_epoch_s=first_s,
        later_epoch_mean_s=epoch_s,
        later_epoch_sd_s=0.005 * epoch_s,
        later_epochs=19,
    )


def answer(result: SpeedUp | Refusal) -> SpeedUp:
    assert isinstance(result, SpeedUp)
    return result


FAST, SLOW = run("new", 256, 10.0), run("old", 256, 40.0)
ONE_EPOCH = TimedRun(
    label="new", batch=64, later_epochs=0, later_epoch_mean_s=None, until_first_epoch_end_s=50.0
)
A = [run("new", 64, 30.0), run("new", 256, 20.0), run("new", 1024, 10.0)]
B = [run("old", 64, 80.0), run("old", 128, 70.0), run("old", 256, 60.0)]


def test_the_ratio_is_the_slower_time_over_the_faster() -> None:
    report = ratio_report(FAST, SLOW, 20)
    assert_allclose(answer(report.asymptotic).factor.value, 4.0)
    assert_allclose(answer(report.over_epochs).factor.value, (101 + 19 * 40) / (101 + 19 * 10))


def test_many_epochs_approach_the_asymptotic_ratio() -> None:
    report = ratio_report(FAST, SLOW, 10**7)
    assert_allclose(answer(report.over_epochs).factor.value, 4.0, rtol=1e-5)


def test_swapping_the_runs_inverts_value_and_interval() -> None:
    there, back = (
        answer(r.over_epochs).factor
        for r in (ratio_report(FAST, SLOW, 20), ratio_report(SLOW, FAST, 20))
    )
    assert_allclose(
        [1 / np.float64(there.value), 1 / np.float64(there.high)],
        np.array([back.value, back.low], dtype=float),
    )


def test_a_clear_gap_is_decided() -> None:
    assert answer(ratio_report(FAST, SLOW, 20).asymptotic).decided
    assert answer(ratio_report(SLOW, FAST, 20).asymptotic).decided


def test_a_gap_inside_the_uncertainty_is_not_decided_and_says_what_to_measure() -> None:
    speed_up = answer(ratio_report(FAST, run("old", 256, 10.3), 20).asymptotic)
    assert not speed_up.decided
    assert "Measure both again" in speed_up.factor.reasons[-1]


def test_runs_of_one_session_are_distinguished_more_finely() -> None:
    close = run("old", 256, 10.3)
    assert answer(ratio_report(FAST, close, 20, session_sd=0.0).asymptotic).decided
    assert SESSION_SD == 0.021


def test_even_one_epoch_is_compared_with_the_uncertainty_between_sessions() -> None:
    factor = answer(ratio_report(FAST, SLOW, 1).over_epochs).factor
    assert_allclose(factor.value, 1.0)
    assert factor.low < 0.95


def test_projected_ratios_are_extrapolated_and_measured_ones_measured() -> None:
    assert answer(ratio_report(FAST, SLOW, 20).over_epochs).factor.basis == "measured"
    assert answer(ratio_report(FAST, SLOW, 2000).over_epochs).factor.basis == "extrapolated"


def test_a_run_that_cannot_be_projected_is_refused_by_name() -> None:
    refused = ratio_report(ONE_EPOCH, SLOW, 20).over_epochs
    assert isinstance(refused, Refusal)
    assert refused.reason.startswith("new at batch 64: Only the first epoch")
    assert isinstance(ratio_report(SLOW, ONE_EPOCH, 20).asymptotic, Refusal)


def test_every_common_batch_is_compared_in_rising_order() -> None:
    report = systems_report(A, B, 20)
    pairs = [answer(r.asymptotic) for r in report.same_batch]
    assert [(p.a.batch, p.b.batch) for p in pairs] == [(64, 64), (256, 256)]
    assert_allclose([float(p.factor.value) for p in pairs], [80 / 30, 3.0])


def test_best_against_best_takes_the_fastest_of_each() -> None:
    best = answer(systems_report(A, B, 20).best_against_best.asymptotic)
    assert (best.a.batch, best.b.batch) == (1024, 256)
    assert_allclose(best.factor.value, 6.0)


def test_the_largest_speed_up_takes_the_slowest_of_the_other() -> None:
    widest = answer(systems_report(A, B, 20).largest_speed_up.asymptotic)
    assert (widest.a.batch, widest.b.batch) == (1024, 64)
    assert_allclose(widest.factor.value, 8.0)


def test_the_smallest_speed_up_is_the_widest_from_the_other_side() -> None:
    narrow = answer(systems_report(A, B, 20).smallest_speed_up.asymptotic)
    wide = answer(systems_report(B, A, 20).largest_speed_up.asymptotic)
    assert_allclose(narrow.factor.value, 2.0)
    assert_allclose(float(narrow.factor.value) * float(wide.factor.value), 1.0)


def test_the_best_run_may_change_with_the_number_of_epochs() -> None:
    slow_start = run("new", 4096, 9.0, first_s=900.0)
    report = systems_report([*A, slow_start], B, 20).best_against_best
    assert answer(report.over_epochs).a.batch == 1024
    assert answer(report.asymptotic).a.batch == 4096


def test_runs_too_short_or_unsteady_are_left_out_and_named() -> None:
    unsteady = replace(A[2], batch=8192, later_epoch_mean_s=1.0, later_epoch_sd_s=0.5)
    report = systems_report([*A, ONE_EPOCH, unsteady], B, 20)
    assert answer(report.best_against_best.asymptotic).a.batch == 1024
    assert [text.split(":")[0] for text in report.left_out] == [
        "new at batch 64",
        "new at batch 8,192",
    ]


def test_systems_without_a_common_batch_still_have_a_best() -> None:
    report = systems_report(A[2:], B, 20)
    assert report.same_batch == ()
    assert answer(report.best_against_best.over_epochs).decided
