from __future__ import annotations

import numpy as np
import pytest

from planner.core import Estimate, t_quantile
from planner.cost import Uncertainty, draw_time, probability_least, quantiles
from tests.each import each
from tests.planner.cost.made import draw_times

LOPSIDED = Estimate(value=10.0, low=8.0, high=14.0)
NARROW = Estimate(value=10.0, low=9.0, high=10.0 / 0.9)
SD = float(np.log(10 / 9) / t_quantile(0.9, 1e9))


@each("dof", [2.0, 5.0, np.inf])
@each("level", [0.5, 0.9])
def test_median_and_interval_of_the_draws_are_those_of_the_estimate(
    dof: float, level: float
) -> None:
    time = Estimate(value=10.0, low=8.0, high=14.0, level=level)
    result = quantiles(draw_time(time, "a", Uncertainty(dof=dof)), level=level)
    ends = [float(end) for end in (result.value, result.low, result.high)]
    np.testing.assert_allclose(ends, [10, 8, 14], rtol=1e-3)


def test_fewer_degrees_of_freedom_have_longer_tails() -> None:
    normal, student = (draw_time(LOPSIDED, "a", Uncertainty(dof=dof)).max() for dof in (np.inf, 3))
    assert student > 2 * normal


def test_an_interval_of_no_width_is_one_time() -> None:
    exact = Estimate(value=7.0, low=7.0, high=7.0)
    drawn = draw_time(exact, "a", Uncertainty(shared_sd=0.02))
    np.testing.assert_allclose(drawn, np.full(4096, 7.0))


def test_where_nothing_is_known_above_half_of_the_draws_never_end() -> None:
    drawn = draw_time(Estimate(value=10.0, low=8.0, high=np.inf), "a", Uncertainty(shared_sd=0.1))
    assert np.isinf(drawn).mean() == 0.5
    result = quantiles(drawn)
    assert result.value == pytest.approx(10, rel=1e-3)
    assert result.high == np.inf
    assert result.low == pytest.approx(8, rel=2e-3)


def test_an_interval_that_reaches_0_is_mirrored_below() -> None:
    result = quantiles(draw_time(Estimate(value=10.0, low=-2.0, high=20.0), "a"))
    assert result.low == pytest.approx(5, rel=1e-3)


@pytest.mark.parametrize("dof", [4.0, np.inf])
def test_what_is_shared_leaves_each_interval_as_it_is(dof: float) -> None:
    result = quantiles(draw_time(LOPSIDED, "a", Uncertainty(dof=dof, shared_sd=0.1)))
    ends = [float(end) for end in (result.value, result.low, result.high)]
    np.testing.assert_allclose(ends, [10, 8, 14], rtol=0.02)


def test_options_that_share_all_their_uncertainty_are_decided_by_any_gap() -> None:
    slower = Estimate(value=10.1, low=9.09, high=10.1 / 0.9)
    times = {"a": NARROW, "b": slower}
    assert probability_least(draw_times(times, Uncertainty(shared_sd=1.0))).tolist() == [1.0, 0.0]
    assert 0.5 < probability_least(draw_times(times))[0] < 0.6


def test_shared_uncertainty_is_the_correlation_of_the_logarithms() -> None:
    drawn = np.log(draw_times({"a": NARROW, "b": NARROW}, Uncertainty(shared_sd=0.5**0.5 * SD)))
    assert np.corrcoef(drawn)[0, 1] == pytest.approx(0.5, abs=0.03)
    both = {n: Uncertainty(shared_sd=1.0, shared=n) for n in "ab"}
    apart = np.log(draw_times({"a": NARROW, "b": NARROW}, both))
    assert abs(np.corrcoef(apart)[0, 1]) < 0.05


def test_a_permutation_of_the_options_permutes_their_draws() -> None:
    times = {"a": LOPSIDED, "b": NARROW, "c": LOPSIDED}
    turned = {name: times[name] for name in ("c", "a", "b")}
    doubt = {"a": Uncertainty(), "b": Uncertainty(dof=3, shared_sd=0.01), "c": Uncertainty(dof=5)}
    assert (draw_times(turned, doubt) == draw_times(times, doubt)[[2, 0, 1]]).all()


@each(
    ("time", "result"),
    [
        (Estimate(value=0.0, low=0.0, high=1.0), "tpu takes 0 "),
        (Estimate(value=np.inf, low=1.0, high=np.inf), "tpu takes inf"),
        (Estimate(value=np.nan, low=1.0, high=2.0), "tpu takes nan"),
        (Estimate(value=3.0, low=1.0, high=2.0), r"tpu takes 3 \(1 to 2\)"),
        (Estimate(value=1.0, low=1.0, high=1.0, level=90), "tpu has level 90"),
        (Estimate(value=1.0, low=0.0, high=np.inf), "Tpu has an interval from 0 s to infinity"),
        (Estimate(value=np.ones(2), low=np.ones(2), high=np.ones(2)), "tpu has a time for every"),
    ],
)
def test_an_impossible_time_is_named(time: Estimate, result: str) -> None:
    with pytest.raises(ValueError, match=f"(?i){result}"):
        draw_time(time, "tpu")


def test_all_that_is_wrong_with_an_uncertainty_is_said_at_once() -> None:
    with pytest.raises(ValueError, match=r"(?is)dof is 0.*shared_sd is -1"):
        Uncertainty(dof=0, shared_sd=-1)
