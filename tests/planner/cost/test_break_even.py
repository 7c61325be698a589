from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from planner.core import Estimate, Refusal
from planner.cost import (
    Display,
    Owned,
    Range,
    break_even,
    break_even_utilisation,
    busy_energy_per_hour,
    cost_per_busy_hour,
)
from tests.planner.cost.made import WORKSTATION, amounts, machines, unhurried

OFF = replace(WORKSTATION, idle_watts=0)


def test_golden_renting_at_3_24_is_even_at_half_of_the_year() -> None:
    assert break_even_utilisation(WORKSTATION, 3.24) == pytest.approx(0.5)
    result = break_even(WORKSTATION, 3.24)
    assert isinstance(result, Estimate)
    assert result.value == pytest.approx(0.5)
    assert result.low == result.value == result.high
    assert result.reasons == ()


def test_golden_without_idle_power_it_is_the_usual_form() -> None:
    result = break_even_utilisation(OFF, [3.20, 2.50])
    np.testing.assert_allclose(result, [13_140 / (8760 * 3.0), 1.5 / 2.3])


def test_renting_for_less_than_the_electricity_is_never_worth_buying() -> None:
    assert break_even_utilisation(OFF, [0.1, 0.2]).tolist() == [np.inf, np.inf]
    result = break_even(OFF, 0.15)
    assert isinstance(result, Refusal)
    assert result.reason == (
        "An hour of the bought machine's work costs 0.15 USD rented, no more than its own "
        "electricity (0.20 USD). Buying does not pay off."
    )


def test_a_year_with_too_few_hours_is_refused_with_both_prices() -> None:
    result = break_even(OFF, 1.60)
    assert isinstance(result, Refusal)
    assert result.reason == (
        "An hour of the bought machine's work costs 1.60 USD rented and 1.70 USD owned, even if "
        "it is busy all year. Buying does not pay off."
    )
    assert "lower price" in result.measure_next


def test_sentences_are_in_the_currency_of_the_page() -> None:
    import datetime as dt

    euro = Display(currency="EUR", per_usd=0.5, as_of=dt.date(2026, 3, 1))
    result = break_even(OFF, 1.60, display=euro)
    assert isinstance(result, Refusal)
    assert "costs 0.80 EUR rented" in result.reason


def test_a_life_of_0_years_is_refused() -> None:
    worn = replace(OFF, life_years=0)
    assert break_even_utilisation(worn, 3) == np.inf
    result = break_even(worn, 3)
    assert isinstance(result, Refusal)
    assert "life of 0 years" in result.reason


def test_a_machine_for_nothing_on_free_electricity_pays_at_once() -> None:
    gift = replace(OFF, price_usd=0, upkeep_usd_per_year=0, tariff_usd_per_kwh=0)
    assert break_even_utilisation(gift, [0.0, 1.0]).tolist() == [np.inf, 0.0]


def test_uncertain_prices_make_an_interval_around_the_middle() -> None:
    result = break_even(OFF, Range(2.5, 3.2, 4.5))
    assert isinstance(result, Estimate)
    assert 0.35 < result.low < 0.45 < result.value < 0.5
    assert 0.55 < result.high < 1.5 / 2.3


def test_draws_in_which_it_never_pays_are_counted_and_said() -> None:
    result = break_even(OFF, Range(0.1, 2.5, 4.5))
    assert isinstance(result, Estimate)
    assert result.reasons == (
        "In 24 % of the draws buying never pays off, however busy the machine is.",
    )
    assert float(result.high) > 1.0


def test_a_refusal_by_the_middle_draw_still_says_how_likely_it_would_pay() -> None:
    result = break_even(OFF, Range(1.0, 1.2, 2.0))
    assert isinstance(result, Refusal)
    assert result.reason.endswith("year. Buying is unlikely to pay off (11 % chance).")


def test_a_chance_of_nearly_one_half_is_reported_as_open() -> None:
    rents = np.where(np.arange(4_096) < 0.497 * 4_096, 2.0, 1.0)
    result = break_even(OFF, rents)
    assert isinstance(result, Refusal)
    assert result.reason.endswith("Buying has an even chance of paying off (50 %).")


def test_medians_the_other_way_round_are_reported_as_medians() -> None:
    skewed = replace(OFF, price_usd=Range(2_440, 2_640, 15_800), upkeep_usd_per_year=2_040)
    result = break_even(skewed, Range(0.363, 1.053, 1.089))
    assert isinstance(result, Refusal)
    assert " and a median of 0.8" in result.reason
    assert "even where" not in result.reason
    assert result.reason.endswith("Buying has an even chance of paying off (47 %).")


def test_a_chance_of_next_to_nothing_is_reported_as_none() -> None:
    result = break_even(OFF, Range(1.0, 1.2, 1.705))
    assert isinstance(result, Refusal)
    assert result.reason.endswith("it is busy all year. Buying does not pay off.")


def test_one_bad_price_is_named() -> None:
    with pytest.raises(ValueError, match="rent_per_busy_hour: value 1 of 1 is -1"):
        break_even(OFF, -1.0)


@unhurried
@given(machines, amounts(0, 100))
def test_at_break_even_both_cost_the_same(owned: Owned, rent: float) -> None:
    share = float(break_even_utilisation(owned, rent))
    if 1e-6 < share <= 1.0:
        assert cost_per_busy_hour(owned, share) == pytest.approx(rent, rel=1e-6)
    elif share > 1.0:
        assert cost_per_busy_hour(owned, 1.0) >= rent * (1 - 1e-9)


@unhurried
@given(machines, amounts(0, 10), amounts(0, 10))
def test_dearer_renting_is_even_sooner(owned: Owned, rent: float, more: float) -> None:
    rent += float(busy_energy_per_hour(owned))
    sooner, later = break_even_utilisation(owned, [rent + more, rent])
    assert sooner <= later
