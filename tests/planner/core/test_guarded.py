"""What is wrong with one row refuses that row and no other."""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np
import pytest

from planner.answers import ratio_rows
from planner.core import LONGEST_S, Estimate, Refusal, or_refusal, or_too_long
from planner.epochs import of_several_kinds, options_of
from planner.epochs.epoch_size import epoch_size
from planner.epochs.how_long import how_long
from planner.runs import Run
from tests.planner.epochs.test_how_long import FAST, RUN


def _boom() -> Estimate:
    raise ZeroDivisionError("secret path")


def test_an_exception_becomes_a_refusal_whose_text_is_in_the_log_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        result = or_refusal("the run on T4", _boom)
    assert isinstance(result, Refusal)
    assert "the run on T4" in result.reason
    assert "secret" not in result.reason + result.measure_next
    assert "secret path" in caplog.text


@pytest.mark.parametrize("value", [np.inf, np.nan, np.array([1.0, np.inf])])
def test_an_estimate_that_is_not_finite_is_none(value: float) -> None:
    result = or_refusal("it", lambda: Estimate(value=value, low=1.0, high=2.0))
    assert isinstance(result, Refusal)


@pytest.mark.parametrize(
    "bad",
    [
        {"first_epoch_s": -1.0},
        {"first_epoch_s": 1e308, "pre_train_s": 1e308},
        {"later_epoch_mean_s": 1e-320},
        {"later_epoch_sd_s": -0.1},
        {"pre_train_s": float("nan")},
    ],
)
def test_an_impossible_run_is_refused_and_the_others_are_ranked(bad: dict[str, float]) -> None:
    odd: Run = replace(RUN, run_id="c" * 32, system="ODD", **bad)  # type: ignore[arg-type]
    options = options_of([RUN, FAST, odd])
    for baseline in options:
        result = how_long(options, 100, baseline.label)
        good = [a.option.run.system for a in result.answers if isinstance(a.total, Estimate)]
        assert good[:2] == ["TPU", "GPU"] or {"TPU", "GPU"} < set(good)
    assert isinstance(ratio_rows(options, "ODD", "GPU", 100), list)
    assert ratio_rows(options, "TPU", "GPU", 100)


def test_single_epochs_that_are_impossible_are_of_no_kind() -> None:
    [option] = options_of([RUN], {RUN.run_id: (12.0, -1.0, 10.0)})
    assert of_several_kinds(option) is None


@pytest.mark.parametrize("seconds", [1.001 * LONGEST_S, 1e15, 1e300])
def test_a_total_beyond_the_longest_stored_time_is_refused_with_what_to_do(seconds: float) -> None:
    result = or_too_long(Estimate(value=seconds, low=0.9 * seconds, high=1.1 * seconds))
    assert isinstance(result, Refusal)
    assert "beyond the limit of 1e+12 s (31,700 years)" in result.reason
    assert "epochs" in result.measure_next


def test_totals_up_to_the_longest_stored_time_stay() -> None:
    longest = Estimate(value=LONGEST_S, low=1.0, high=2.0 * LONGEST_S)
    assert or_too_long(longest) is longest
    many = Estimate(value=np.array([1.0, 1e15]), low=np.zeros(2), high=np.full(2, 1e16))
    assert or_too_long(many) is many  # of a chart, which ends its line there


def test_only_the_options_that_take_too_long_are_refused() -> None:
    fast, slow = (
        replace(r, samples_per_epoch=n, steps_per_epoch=None, samples_per_s=None)
        for r, n in ((FAST, 10**6), (RUN, 10))
    )
    options = options_of([slow, fast])
    size = epoch_size([slow, fast], 1e9)
    result = how_long(options, 10_000, options[0].label, size=size)
    totals = {a.option.run.system: a.total for a in result.answers}
    assert isinstance(totals["TPU"], Estimate)
    assert isinstance(totals["GPU"], Refusal)
    assert "years" in totals["GPU"].reason
