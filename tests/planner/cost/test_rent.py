from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from planner.cost import (
    Range,
    Rental,
    billed_s,
    likely,
    lost_share,
    per_hour_of_work,
    rent_per_month,
    rent_per_run,
    wall_s,
)
from tests.planner.cost.made import CLOUD, HOUR, SPOT, amounts, rentals, unhurried

times = amounts(0, 1e6)
ENDLESS = replace(SPOT, interruptions_per_hour=3.0)


def test_golden_whole_minutes_start_up_set_up_and_egress() -> None:
    assert wall_s(CLOUD, 49_830) == 50_130
    assert billed_s(CLOUD, 50_130) == 836 * 60
    assert rent_per_run(CLOUD, 49_830) == pytest.approx(36.144, abs=1e-9)


def test_golden_spot_loses_one_part_in_thirty() -> None:
    assert lost_share(SPOT) == pytest.approx(1 / 30)
    assert wall_s(SPOT, 29 * HOUR) == pytest.approx(30 * HOUR)
    assert rent_per_run(SPOT, 29 * HOUR) == pytest.approx(29.70, abs=1e-9)


def test_golden_a_commitment_is_shared_by_the_runs_of_a_month() -> None:
    committed = Rental(price_per_hour=2, committed_hours_per_month=100)
    assert rent_per_month(committed, 10 * HOUR, [0, 5, 20]).tolist() == [200, 200, 400]
    assert rent_per_run(committed, 10 * HOUR, [5, 20]).tolist() == [40, 20]


def test_golden_per_hour_of_work() -> None:
    assert per_hour_of_work(36.144, 49_830) == pytest.approx(2.6112, abs=5e-5)


@pytest.mark.parametrize(
    ("restarts", "result"),
    [(0.0, (1.000, 1.001, 1.004, 1.017, 1.164)), (1.0, (1.000, 1.001, 1.005, 1.023, 1.207))],
)
def test_wall_time_beside_the_exact_law_of_daly(restarts: float, result: tuple[float, ...]) -> None:
    share = np.array([0.01, 0.05, 0.1, 0.2, 0.5])
    tau = share / (0.5 + restarts)  # hours between checkpoints, in hours between interruptions
    exact = np.exp(restarts * tau) * np.expm1(tau) / tau
    rental = Rental(
        price_per_hour=1,
        interruptions_per_hour=1,
        lost_work_s=HOUR * tau / 2,
        restart_s=HOUR * restarts * tau,
    )
    np.testing.assert_allclose(wall_s(rental, 1.0) / exact, result, atol=6e-4)


def test_an_increment_is_not_begun_by_rounding_errors() -> None:
    hourly = Rental(price_per_hour=1, billing_increment_s=HOUR)
    assert billed_s(hourly, [0, 1, 3600, 3600.0000001, 3601]).tolist() == [
        0, 3600, 3600, 3600, 7200
    ]  # fmt: skip


def test_an_increment_of_0_bills_what_was_used_and_a_minimum_holds() -> None:
    exact = Rental(price_per_hour=1, billing_increment_s=0, minimum_s=60)
    assert billed_s(exact, [0, 59.5, 61.25]).tolist() == [60, 60, 61.25]


def test_a_run_that_never_ends_costs_no_end_even_for_nothing() -> None:
    assert wall_s(ENDLESS, HOUR) == np.inf
    assert rent_per_run(replace(ENDLESS, price_per_hour=0), HOUR) == np.inf
    assert rent_per_month(ENDLESS, HOUR, 0) == 0


def test_price_0_and_no_work_cost_nothing_but_what_is_around_a_run() -> None:
    assert rent_per_run(replace(CLOUD, price_per_hour=0), HOUR) == 1.45
    assert rent_per_run(Rental(price_per_hour=3), 0) == 0


def test_no_runs_have_no_cost_of_one() -> None:
    with pytest.raises(ValueError, match="Without a run there is no cost per run"):
        rent_per_run(CLOUD, HOUR, 0)


@pytest.mark.parametrize("bad", [-1.0, np.nan])
def test_a_bad_time_is_named_with_its_place(bad: float) -> None:
    with pytest.raises(ValueError, match=rf"work_s: value 2 of 2 is {bad:g}"):
        rent_per_run(CLOUD, [1.0, bad])


def test_a_range_is_taken_at_its_likely_value() -> None:
    unsure = replace(CLOUD, price_per_hour=Range(1, 2.49, 9))
    assert rent_per_run(unsure, HOUR) == rent_per_run(CLOUD, HOUR)


def test_a_cost_without_parts_cannot_be_shared() -> None:
    with pytest.raises(ValueError, match="work_s must be finite and above 0"):
        per_hour_of_work(1.0, 0)


@unhurried
@given(rentals, times, times, amounts(1, 3))
def test_cost_never_falls_with_time_or_price(
    rental: Rental, work: float, more: float, factor: float
) -> None:
    cost = rent_per_run(rental, work, 5)
    dearer = replace(rental, price_per_hour=factor * likely(rental.price_per_hour))
    assert cost <= rent_per_run(rental, work + more, 5)
    assert cost <= rent_per_run(dearer, work, 5)


@unhurried
@given(rentals, times, amounts(0.01, 100))
def test_another_currency_scales_the_cost(rental: Rental, work: float, rate: float) -> None:
    named = ("price_per_hour", "setup_usd", "egress_usd")
    scaled = replace(rental, **{n: rate * likely(getattr(rental, n)) for n in named})
    np.testing.assert_allclose(rent_per_run(scaled, work), rate * rent_per_run(rental, work))


@unhurried
@given(rentals, times, amounts(0.1, 50))
def test_a_month_is_its_runs(rental: Rental, work: float, runs: float) -> None:
    month = rent_per_month(rental, work, runs)
    np.testing.assert_allclose(runs * rent_per_run(rental, work, runs), month)
