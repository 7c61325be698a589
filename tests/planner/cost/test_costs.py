from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner.core import Estimate, Refusal
from planner.cost import (
    Range,
    cost_of_owning,
    cost_of_renting,
    draw_record,
    draw_time,
    rent_per_run,
)
from tests.planner.cost.made import CLOUD, HOUR, SPOT, WORKSTATION

TEN_HOURS = Estimate(
    value=10 * HOUR, low=10 * HOUR, high=10 * HOUR, basis="interpolated", reasons=("x",)
)
UNSURE = Estimate(value=10 * HOUR, low=8 * HOUR, high=14 * HOUR)
NO_TIME = Refusal(reason="It is not measured.", measure_next="A run.")


def ends(result: Estimate | Refusal) -> tuple[float, float, float]:
    assert isinstance(result, Estimate)
    return float(result.low), float(result.value), float(result.high)


def test_known_times_and_prices_have_one_cost_with_the_basis_of_the_time() -> None:
    result = cost_of_owning(WORKSTATION, TEN_HOURS, 0.5)
    assert isinstance(result, Estimate)
    assert ends(result) == pytest.approx((32.40, 32.40, 32.40))
    assert (result.basis, result.reasons, result.level) == ("interpolated", ("x",), 0.9)
    assert ends(cost_of_renting(CLOUD, TEN_HOURS))[1] == pytest.approx(605 / 60 * 2.49 + 1.45)


def test_the_interval_of_a_cost_by_the_hour_is_that_of_the_time() -> None:
    by_hour = replace(SPOT, interruptions_per_hour=0, billing_increment_s=0)
    low, value, high = ends(cost_of_renting(by_hour, UNSURE))
    np.testing.assert_allclose([low, value, high], [7.92, 9.90, 13.86], rtol=1e-3)


def test_uncertainty_of_time_and_price_add_in_logarithms() -> None:
    sure = ends(cost_of_owning(WORKSTATION, UNSURE, 0.5))
    both = ends(cost_of_owning(WORKSTATION, UNSURE, Range(0.3, 0.5, 0.8)))
    assert both[0] < sure[0] < sure[2] < both[2]


def test_the_costs_of_an_option_are_those_of_its_draws() -> None:
    unsure = replace(CLOUD, price_per_hour=Range(2, 2.49, 3))
    drawn = rent_per_run(draw_record(unsure, "h100"), draw_time(UNSURE, "h100"))
    low, value, high = np.quantile(drawn, [0.05, 0.5, 0.95], method="hazen")
    assert ends(cost_of_renting(unsure, UNSURE, key="h100")) == (low, value, high)


def test_a_commitment_is_shared_by_the_runs_of_a_month() -> None:
    committed = replace(CLOUD, committed_hours_per_month=100)
    few = ends(cost_of_renting(committed, TEN_HOURS, runs_per_month=2))[1]
    assert few == pytest.approx(50 * 2.49 + 1.45)


def test_what_has_no_time_has_no_cost() -> None:
    assert cost_of_renting(CLOUD, NO_TIME) is NO_TIME
    assert cost_of_owning(WORKSTATION, NO_TIME, 0.5) is NO_TIME


@pytest.mark.parametrize("share", [0.0, 1.2])
def test_a_machine_that_never_works_or_more_than_always_has_no_cost(share: float) -> None:
    assert isinstance(cost_of_owning(WORKSTATION, TEN_HOURS, share), Refusal)


def test_a_run_that_never_ends_is_refused_and_one_that_hardly_does_carries_a_reason() -> None:
    worse = replace(SPOT, interruptions_per_hour=1.2)
    result = cost_of_renting(worse, TEN_HOURS)
    assert isinstance(result, Estimate)
    assert result.reasons[1].startswith("Interruptions take 40 % of the rented time; above 20 %")
    assert isinstance(cost_of_renting(replace(worse, restart_s=HOUR), TEN_HOURS), Refusal)


def test_a_time_without_an_upper_end_has_a_cost_without_one() -> None:
    open_ended = Estimate(value=10 * HOUR, low=8 * HOUR, high=np.inf)
    low, value, high = ends(cost_of_renting(CLOUD, open_ended))
    assert low < value < high == np.inf
