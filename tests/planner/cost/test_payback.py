from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from planner.cost import Owned, Range, payback, payback_months, running_per_month
from planner.estimate import Estimate, Refusal
from tests.planner.cost.made import HOUR, WORKSTATION, amounts, machines, unhurried


def test_golden_half_a_year_of_use_pays_back_in_23_months() -> None:
    assert running_per_month(WORKSTATION, 10 * HOUR, 36.5) == pytest.approx(257.60)
    months = payback_months(WORKSTATION, 32.40, 10 * HOUR, 36.5)
    assert months == pytest.approx(21_000 / 925)
    told = payback(WORKSTATION, 32.40, 10 * HOUR, 36.5)
    assert isinstance(told, Estimate)
    assert told.low == told.value == told.high == pytest.approx(22.7027, abs=5e-5)
    assert told.reasons == ()


def test_a_payback_beyond_the_life_says_so() -> None:
    told = payback(WORKSTATION, 20.0, 10 * HOUR, 36.5)
    assert isinstance(told, Estimate)
    assert told.reasons == ("It is worn out sooner: after 24 months.",)


def test_where_nothing_is_saved_there_is_no_payback() -> None:
    told = payback(WORKSTATION, 2.0, 10 * HOUR, 36.5)
    assert isinstance(told, Refusal)
    assert told.reason == (
        "A month of these runs costs 73 USD rented, and 258 USD for electricity and upkeep of an "
        "own machine: nothing is saved that could pay for it."
    )
    assert isinstance(payback(WORKSTATION, 30.0, HOUR, 0), Refusal)


def test_runs_for_which_a_month_is_too_short_are_refused() -> None:
    assert payback_months(WORKSTATION, 30, 10 * HOUR, 80) == np.inf
    told = payback(WORKSTATION, 30, 10 * HOUR, 80)
    assert isinstance(told, Refusal)
    assert "2 of them would be needed" in told.reason


def test_a_life_of_0_years_is_refused() -> None:
    assert isinstance(payback(replace(WORKSTATION, life_years=0), 30, HOUR, 50), Refusal)


def test_uncertain_prices_make_an_interval() -> None:
    unsure = replace(WORKSTATION, price_usd=Range(18_000, 20_000, 22_000))
    told = payback(unsure, 32.40, 10 * HOUR, 36.5)
    assert isinstance(told, Estimate)
    low, high = (float(end) for end in (told.low, told.high))
    assert low == pytest.approx(1.05 * (22_000 - 2_000 * (2 - np.sqrt(0.1))) / 925, rel=1e-3)
    assert low < told.value < high


@unhurried
@given(machines, amounts(0, 1e4), amounts(0, 1e4))
def test_dearer_renting_pays_back_no_later(owned: Owned, rent: float, more: float) -> None:
    sooner, later = payback_months(owned, [rent + more, rent], HOUR, 30)
    assert sooner <= later
