"""Trials whose evaluations were kept: names, targets on offer, what counts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from planner.convergence import (
    goal_text,
    is_stricter,
    set_labels,
    steps_of,
    target_text,
    targets_of,
    usual_target,
)
from planner.runs import NO_OPTIMIZER, Trials, no_trials
from tests.planner.made_trials import (
    BATCHES,
    BEST_RATE,
    FIRST,
    SMIN,
    TARGET,
    set_of,
    sweep,
    trial,
    trials,
)

SET = set_of(sweep())
ACCURACY = {"evaluation_metric": "accuracy", "evaluation_higher_is_better": True}


def _one(values: list[float | None], **changes: Any) -> Trials:  # noqa: ANN401 - any column
    """One trial with these values at steps 1, 2, 3 ..."""
    kept = [{"step": i, "value": v} for i, v in enumerate(values, start=1)]
    return trials([trial(64, 0.1, 0, **({"evaluations": kept} | changes))])


# -- names ---------------------------------------------------------------------------------------


def test_a_set_is_named_by_network_data_and_metric_where_that_is_enough() -> None:
    assert set_labels([SET]) == ["Net · Data · validation error"]
    assert SET.subject == "Net · Data"
    assert SET.set_folder == "mine"


def test_names_grow_only_where_two_would_be_equal() -> None:
    half = replace(SET, precision="bfloat16")
    again = replace(half, result_set="other")
    elsewhere = replace(again, folder="shipped")
    labels = set_labels([SET, half, again, elsewhere, replace(SET, metric="loss")])
    assert labels[0] == "Net · Data · validation error · float32"
    assert labels[1] == "Net · Data · validation error · bfloat16 · mine"
    assert labels[2] == "Net · Data · validation error · bfloat16 · other · yours"
    assert labels[3] == "Net · Data · validation error · bfloat16 · other · shipped"
    assert labels[4] == "Net · Data · loss"


def test_a_precision_all_have_is_not_named() -> None:
    labels = set_labels([SET, replace(SET, result_set="other")])
    assert labels == [
        "Net · Data · validation error · mine",
        "Net · Data · validation error · other",
    ]


def test_a_network_without_a_data_set_is_named_alone() -> None:
    assert set_labels([replace(SET, dataset=None)]) == ["Net · validation error"]


def test_a_trial_without_an_optimiser_is_named_so() -> None:
    assert trials([trial(64, 0.1, 0, optimizer=None)]).optimizers == [NO_OPTIMIZER]


def test_optimisers_come_with_most_trials_first_then_by_name() -> None:
    many = [*sweep(optimizer="b"), *sweep(optimizer="a"), *sweep((8,), optimizer="A few")]
    assert trials(many).optimizers == ["a", "b", "A few"]


# -- what counts ---------------------------------------------------------------------------------


def test_a_diverged_trial_never_reaches_the_target() -> None:
    known = trials(sweep())
    diverged = known.learning_rate > BEST_RATE
    found = steps_of(known, TARGET)
    assert np.isinf(found.steps[diverged]).all()
    assert known.counts.all()
    best = (known.batch == 2048) & (known.learning_rate == BEST_RATE)
    assert_allclose(np.median(found.steps[best]), SMIN * (1 + 64 / 2048), rtol=1e-3)


def test_a_trial_that_kept_nothing_and_did_not_diverge_does_not_count() -> None:
    known = trials([trial(64, 0.1, 0), trial(64, 0.1, 1, evaluations=None)])
    assert known.counts.tolist() == [True, False]


def test_without_a_stated_direction_that_of_the_trials_is_better() -> None:
    assert not _one([0.9, 0.1], evaluation_higher_is_better=None).higher_is_better
    assert _one([0.1, 0.9], evaluation_higher_is_better=None).higher_is_better


def test_a_value_that_is_no_number_is_neither_first_nor_best() -> None:
    known = _one([0.9, None, 0.2, None])
    assert (known.first[0], known.best[0]) == (0.9, 0.2)


def test_files_that_went_hold_no_trials() -> None:
    gone = no_trials(SET)
    assert gone.optimizers == []
    assert targets_of(gone) == []
    assert not gone.in_per_cent


# -- targets -------------------------------------------------------------------------------------


def test_targets_go_from_the_easiest_to_just_beyond_the_best_of_all() -> None:
    known = trials(sweep())
    offered = targets_of(known)
    assert offered == sorted(offered, reverse=True)
    assert TARGET in offered
    assert offered[0] < FIRST  # where all trials are before their first step
    assert offered[-1] < np.nanmin(known.best) <= offered[-2]


def test_an_accuracy_is_offered_by_the_error_that_remains() -> None:
    known = _one([0.1, 0.5, 0.934], target_value=0.9, **ACCURACY)
    offered = targets_of(known)
    assert offered == sorted(offered)
    assert offered[0] == 0.1
    assert offered[-1] == 0.935
    assert {0.9, 0.93, 0.75} <= set(offered)


def test_a_loss_that_falls_little_is_offered_in_small_steps() -> None:
    known = _one([3.52, 3.3, 3.21], evaluation_metric="loss", target_value=None)
    offered = targets_of(known)
    assert 20 <= len(offered) <= 80
    assert offered[0] <= 3.52
    assert offered[-1] < 3.21
    assert np.ptp(np.diff(offered)) < 1e-9


def test_no_share_beyond_0_or_1_is_offered() -> None:
    assert min(targets_of(_one([0.9, 0.0]))) == 0.0
    assert max(targets_of(_one([0.1, 1.0], **ACCURACY))) == 1.0


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=6))
def test_targets_are_never_many_and_the_strictest_is_never_easier_than_the_best(
    values: list[float],
) -> None:
    offered = targets_of(_one(list(values), evaluation_metric="loss", target_value=None))
    assert 0 < len(offered) < 700
    assert offered[-1] <= min(values) * (1 + 1e-5)


def test_the_usual_target_is_the_recorded_one_even_out_of_reach() -> None:
    assert usual_target(trials(sweep())) == TARGET
    known = _one([0.9, 0.5], target_value=0.001)
    assert usual_target(known) == 0.001
    assert 0.001 in targets_of(known)


def test_without_a_recorded_target_the_usual_one_is_what_half_of_the_trials_reached() -> None:
    known = trials(sweep(target_value=None))
    usual = usual_target(known)
    assert usual in targets_of(known)
    assert np.nanmean(known.best <= usual) >= 0.5


def test_without_any_evaluation_there_is_no_usual_target() -> None:
    assert usual_target(no_trials(replace(SET, target=None))) is None


# -- words ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "result"),
    [
        ("validation error", "2.5 % validation error"),
        ("top-5 error", "2.5 % top-5 error"),
        ("accuracy", "2.5 % accuracy"),
        ("mean squared error", "mean squared error 0.025"),
        ("loss", "loss 0.025"),
    ],
)
def test_shares_are_said_in_per_cent_and_other_values_as_they_are(metric: str, result: str) -> None:
    assert goal_text(_one([0.9, 0.02], evaluation_metric=metric), 0.025) == result


def test_an_error_above_1_is_no_share() -> None:
    assert goal_text(_one([90.0, 2.0]), 2.5) == "validation error 2.5"
    assert target_text(0.0095, in_per_cent=True) == "0.95 %"


def test_stricter_depends_on_what_is_better() -> None:
    assert is_stricter(trials(sweep()), 0.02)
    assert not is_stricter(trials(sweep()), TARGET)
    assert is_stricter(_one([0.1, 0.9], target_value=0.8, **ACCURACY), 0.9)
    assert not is_stricter(_one([0.9, 0.1], target_value=None), 0.0)


def test_batches_of_the_made_trials_are_all_there() -> None:
    assert set(trials(sweep()).batch) == set(BATCHES)
