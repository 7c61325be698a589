"""Promises of the average: in logarithms, as sure as its pairs, covering what it promises."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from planner.core import Estimate, Refusal, t_quantile
from planner.effects._effect import FEW_PAIRS, NOT_COUNTED
from planner.epochs import SESSION_SD, UNDECIDED, session_half_width
from tests.planner.made_effects import effect, ends, pairs, per_image, run


def log_half_width(result: Estimate) -> float:
    return float(np.log(result.high / result.low)) / 2


def holds(result: Estimate, truth: float) -> bool:
    return bool(result.low <= truth <= result.high)


def test_the_effect_is_the_geometric_mean_of_the_pairs() -> None:
    result = effect(pairs(1.2, 1.5, 1.1, 1.3))
    assert result.pairs == 4
    assert_allclose(result.per_epoch.value, (1.2 * 1.5 * 1.1 * 1.3) ** 0.25)
    assert result.per_epoch.basis == "measured"


def test_the_interval_is_students_t_on_the_logarithms() -> None:
    ratios = np.array([1.2, 1.5, 1.1, 1.3])
    result = effect(pairs(*ratios)).per_epoch
    half = float(t_quantile(0.9, 3.0)) * np.log(ratios).std(ddof=1) / 2
    assert_allclose(log_half_width(result), half)
    value, low, high = ends(result)
    assert_allclose(low * high, value**2)


def test_one_pair_is_as_sure_as_two_sessions_are_alike() -> None:
    result = effect(pairs(1.2)).per_epoch
    assert_allclose(result.value, 1.2)
    assert_allclose(log_half_width(result), session_half_width(0.9))
    assert FEW_PAIRS in result.reasons


def test_two_pairs_that_agree_by_chance_are_not_taken_for_certain() -> None:
    result = effect(pairs(1.2, 1.2)).per_epoch
    expected = float(t_quantile(0.9, 6.0)) * np.sqrt(5 / 6 * 2 / 2) * SESSION_SD
    assert_allclose(log_half_width(result), expected)
    assert FEW_PAIRS in result.reasons
    apart = effect(pairs(1.0, 1.44)).per_epoch
    assert log_half_width(apart) > 3 * expected


def test_three_pairs_speak_for_themselves() -> None:
    assert effect(pairs(1.2, 1.3, 1.25)).per_epoch.reasons == ()


def test_an_effect_inside_its_uncertainty_is_not_decided() -> None:
    result = effect(pairs(0.9, 1.2, 1.05))
    assert UNDECIDED in result.per_epoch.reasons
    assert ", includes 1)" in result.sentence
    assert UNDECIDED not in effect(pairs(1.2, 1.3, 1.25)).per_epoch.reasons


@pytest.mark.parametrize("n", [3, 5, 10])
def test_pooled_intervals_hold_the_true_effect_in_87_to_93_percent(n: int) -> None:
    rng = np.random.default_rng(20261121)
    drawn = 1.2 * np.exp(0.05 * rng.standard_normal((500, n)))
    inside = [holds(effect(pairs(*ratios)).per_epoch, 1.2) for ratios in drawn]
    assert 0.87 <= np.mean(inside) <= 0.93


def test_one_pair_of_two_sessions_holds_it_in_as_many_as_promised_or_more() -> None:
    rng = np.random.default_rng(20261121)
    drawn = 1.2 * np.exp(np.sqrt(2) * SESSION_SD * rng.standard_normal(500))
    inside = [holds(effect(pairs(ratio)).per_epoch, 1.2) for ratio in drawn]
    assert 0.90 <= np.mean(inside) <= 0.98


def test_images_that_are_not_known_are_not_made_up() -> None:
    result = effect([run(False, 100.0, samples_per_epoch=None), run(True, 110.0)])
    assert isinstance(result.per_image, Refusal)
    assert "a processed image" not in result.sentence
    half_known = [run(False, 100.0), run(True, 110.0, validation_samples_per_epoch=None)]
    assert isinstance(effect(half_known).per_image, Refusal)


def test_where_no_side_knows_what_it_validated_only_trained_images_count() -> None:
    runs = [replace(r, validation_samples_per_epoch=None) for r in pairs(1.2)]
    assert NOT_COUNTED in per_image(effect(runs)).reasons
