from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from planner.core import Estimate, Floats, Refusal
from planner.cost import (
    DRAWS,
    Owned,
    Range,
    break_even_utilisation,
    cost_per_busy_hour,
    draw_record,
    in_months,
    machines_for,
    own_per_run,
    payback,
    utilisation_of,
)
from planner.cost.payback import _fleet, _months, _rent, _running
from tests.planner.cost.made import HOUR, WORKSTATION, amounts, machines, unhurried

CHEAP_MONEY: Final = replace(
    WORKSTATION, rate_of_capital=5e-324, residual_share=0.0, upkeep_usd_per_year=0.0, idle_watts=0.0
)


def payback_months(
    owned: Owned, rent: ArrayLike, work_s: ArrayLike, runs: ArrayLike, *,
    machines: ArrayLike = 1.0, other_hours: ArrayLike = 0.0,
) -> Floats:  # fmt: skip
    return _months(owned, _rent(rent, runs), _fleet(work_s, runs, machines, other_hours))


def running_per_month(runs: float, *, machines: float = 1.0, other_hours: float = 0.0) -> Floats:
    return _running(WORKSTATION, _fleet(10 * HOUR, runs, machines, other_hours))


def test_golden_half_a_year_of_use_pays_back_in_23_months() -> None:
    assert running_per_month(36.5) == pytest.approx(257.60)
    months = payback_months(WORKSTATION, 32.40, 10 * HOUR, 36.5)
    assert months == pytest.approx(21_000 / 925)
    result = payback(WORKSTATION, 32.40, 10 * HOUR, 36.5)
    assert isinstance(result, Estimate)
    assert result.low == result.value == result.high == pytest.approx(22.7027, abs=5e-5)
    assert result.reasons == ()


def test_a_payback_beyond_the_life_says_so() -> None:
    result = payback(WORKSTATION, 20.0, 10 * HOUR, 36.5)
    assert isinstance(result, Estimate)
    assert result.reasons == ("It is worn out sooner: after 24 months.",)


def test_where_nothing_is_saved_there_is_no_payback() -> None:
    result = payback(WORKSTATION, 2.0, 10 * HOUR, 36.5)
    assert isinstance(result, Refusal)
    assert result.reason == (
        "A month of these runs costs 73 USD rented, and 258 USD for electricity and upkeep of an "
        "own machine. There are no savings to pay it back."
    )
    assert isinstance(payback(WORKSTATION, 30.0, HOUR, 0), Refusal)


def test_golden_runs_for_which_a_month_is_too_short_take_two_machines() -> None:
    assert running_per_month(80, machines=2) == pytest.approx(526.40)
    months = payback_months(WORKSTATION, 32.40, 10 * HOUR, 80, machines=2)
    assert months == pytest.approx(42_000 / 2_065.60)
    result = payback(WORKSTATION, 32.40, 10 * HOUR, 80)
    assert isinstance(result, Estimate)
    assert result.value == pytest.approx(20.33, abs=5e-3)


def test_golden_what_it_is_sold_for_counts_at_the_end_of_its_life() -> None:
    months = payback_months(WORKSTATION, [30.0, 28.0], 10 * HOUR, 36.5)
    np.testing.assert_allclose(months, [24.0, 0.9 * 21_000 / 764.4])
    result = payback(WORKSTATION, 30.0, 10 * HOUR, 36.5)
    assert isinstance(result, Estimate)
    assert result.reasons == ()


def test_hours_that_the_machines_do_not_have_are_charged_as_further_machines() -> None:
    full = payback_months(WORKSTATION, 32.40, 10 * HOUR, 73)
    more = payback_months(WORKSTATION, 32.40, 10 * HOUR, [100, 1_000])
    np.testing.assert_allclose(more, full)


def test_other_work_carries_its_part() -> None:
    alone = payback_months(WORKSTATION, 32.40, 10 * HOUR, 36.5)
    shared = payback_months(WORKSTATION, 32.40, 10 * HOUR, 16.5, other_hours=200)
    assert shared == pytest.approx(alone)
    running = running_per_month(16.5, other_hours=200)
    assert running == pytest.approx(257.60 * 165 / 365)


def test_endless_work_never_pays_back() -> None:
    assert payback_months(WORKSTATION, 32.40, np.inf, 36.5) == np.inf


def test_work_that_fills_a_machine_takes_no_second_one() -> None:
    assert machines_for([0.0, 0.3, 1.0, 1.0 + 1e-12, 1.01, 2.0]).tolist() == [1, 1, 1, 1, 2, 2]


def test_months_are_counted_as_one_would_say_it() -> None:
    assert [in_months(x) for x in (0.0, 1.2, 1.6, 1_234.0)] == [
        "0 months", "1 month", "2 months", "1,234 months",
    ]  # fmt: skip


def test_where_some_draws_save_something_the_refusal_says_how_many_do_not() -> None:
    rents = np.where(np.arange(DRAWS) < 0.4 * DRAWS, 30.0, 2.0)
    result = payback(WORKSTATION, rents, 10 * HOUR, 36.5)
    assert isinstance(result, Refusal)
    assert result.reason.endswith(
        "an own machine. With 60 % probability there are no savings to pay it back."
    )


def test_several_machines_that_save_nothing_are_counted() -> None:
    result = payback(WORKSTATION, 2.0, 10 * HOUR, 365)
    assert isinstance(result, Refusal)
    assert "electricity and upkeep of 5 own machines" in result.reason


def test_a_middle_within_the_life_and_most_draws_beyond_theirs_is_no_contradiction() -> None:
    """Draws of the life decide, not its likely value."""
    unsure = replace(WORKSTATION, life_years=Range(0.5, 3.0, 3.1), residual_share=0)
    result = payback(unsure, 32.40, 10 * HOUR, 36.5)
    assert isinstance(result, Estimate)
    short = replace(unsure, life_years=Range(0.5, 2.0, 2.1))
    result = payback(short, 32.40, 10 * HOUR, 36.5)
    assert isinstance(result, Estimate)
    assert float(result.value) < 24.0
    assert result.reasons[0].startswith("It is worn out sooner with ")


def test_a_life_of_0_years_is_refused() -> None:
    assert isinstance(payback(replace(WORKSTATION, life_years=0), 30, HOUR, 50), Refusal)


def test_uncertain_prices_make_an_interval() -> None:
    unsure = replace(WORKSTATION, price_usd=Range(18_000, 20_000, 22_000))
    result = payback(unsure, 32.40, 10 * HOUR, 36.5)
    assert isinstance(result, Estimate)
    low, high = (float(end) for end in (result.low, result.high))
    assert low == pytest.approx(1.05 * (22_000 - 2_000 * (2 - np.sqrt(0.1))) / 925, rel=1e-3)
    assert low < result.value < high


@unhurried
@given(machines, amounts(0, 1e4), amounts(0, 1e4))
def test_dearer_renting_pays_back_no_later(owned: Owned, rent: float, more: float) -> None:
    sooner, later = payback_months(owned, [rent + more, rent], HOUR, 30)
    assert sooner <= later


@unhurried
@given(machines, amounts(0, 1e4), amounts(1, 1e6), amounts(0, 700), st.sampled_from([1, 2, 7]))
def test_more_runs_on_as_many_machines_pay_back_no_later(
    owned: Owned, rent: float, work_s: float, other: float, count: int
) -> None:
    runs = np.geomspace(0.01, 1e4, 60)
    months = payback_months(
        owned, rent, work_s, runs, machines=count, other_hours=other
    )  # fmt: skip
    finite = np.isfinite(months)
    assert (np.diff(finite.astype(int)) >= 0).all()
    later = months[finite]
    assert (later[1:] <= later[:-1] * (1.0 + 1e-9)).all()


@unhurried
@given(machines, amounts(0.01, 100), amounts(0.01, 3.0), st.sampled_from([1, 2, 7]))
@example(replace(CHEAP_MONEY, life_years=1.5), 0.01, 0.5, 1)
@example(replace(CHEAP_MONEY, life_years=5.5, rate_of_capital=1e-323), 0.01, 0.5, 1)
@example(replace(CHEAP_MONEY, rate_of_capital=1e-17), 0.01, 1.0, 2)
@example(replace(CHEAP_MONEY, tariff_usd_per_kwh=5e-324, price_usd=1.0), 0.01, 1.0, 1)
@example(replace(CHEAP_MONEY, life_years=0.5, residual_share=1.0), 0.01, 3.0, 7)
def test_what_is_cheaper_over_its_life_is_paid_within_it(
    owned: Owned, rent: float, share: float, count: int
) -> None:
    """Rents around what owning costs; `share` of the hours of the machines."""
    runs, each_h = 730.0 * count * share / 5.0, 5.0
    own = 5.0 * float(cost_per_busy_hour(owned, min(share, 1.0)))
    hired = own * (1.0 + 1e-6 + rent * 0.01)
    months = payback_months(owned, hired, each_h * HOUR, runs, machines=count)
    assert months <= 12.0 * float(owned.life_years) * (1.0 + 1e-9)  # type: ignore[arg-type]


@unhurried
@given(machines, amounts(0, 100))
def test_at_the_break_even_the_payback_is_the_life(owned: Owned, rent: float) -> None:
    plain = replace(owned, residual_share=0, rate_of_capital=0)
    share = float(break_even_utilisation(plain, rent / 5.0))
    runs = 146.0 * share  # a month has 730 hours
    if runs > 1e-6 and share <= 1.0:
        months = float(payback_months(plain, rent, 5.0 * HOUR, runs))
        assert months == pytest.approx(12.0 * float(plain.life_years), rel=1e-4)  # type: ignore[arg-type]


def _spread(middle: float, doubt: float, seed: int) -> Floats:
    return np.asarray(middle * np.exp(doubt * np.random.default_rng(seed).standard_normal(DRAWS)))


@unhurried
@given(amounts(0, 1.5), amounts(0, 0.8), amounts(1, 300), amounts(0.5, 4.0), amounts(0, 1))
def test_where_buying_is_likely_cheaper_the_payback_is_neither_never_nor_too_late(
    doubt: float, life_uncertainty: float, runs: float, dearer: float, residual: float
) -> None:
    life = Range(2.0 * (1.0 - life_uncertainty), 2.0, 2.0 * (1.0 + life_uncertainty))
    owned = replace(WORKSTATION, life_years=life, residual_share=residual)
    work_s, rent = _spread(10 * HOUR, doubt, 1), _spread(20.0 * dearer, 0.5 * doubt, 2)
    busy = utilisation_of(work_s, runs)
    count = machines_for(np.median(busy))
    bought = own_per_run(draw_record(owned, "own"), work_s, np.minimum(busy / count, 1.0))
    if (bought < rent).mean() >= 0.5:
        result = payback(owned, rent, work_s, runs)
        assert isinstance(result, Estimate)
        assert not any("sooner" in reason for reason in result.reasons)


def test_a_payback_as_long_as_the_life_is_not_called_too_late_by_the_same_number() -> None:
    """48.2 months against 48 would read: paid back after 48 months, worn out after 48 months."""
    owned = replace(WORKSTATION, life_years=2.0)
    runs = 10.0
    rents = np.linspace(5.0, 60.0, 400)
    result = [payback(owned, rent, 10 * HOUR, runs) for rent in rents]
    paid = [t for t in result if isinstance(t, Estimate) and t.reasons]
    assert paid
    for one in paid:
        assert ("about that long" in one.reasons[0]) == (round(float(one.value)) == 24)
