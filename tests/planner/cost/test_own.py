from __future__ import annotations

from dataclasses import replace
from decimal import Decimal, getcontext

import numpy as np
import pytest
from hypothesis import example, given

from planner.core import Refusal
from planner.cost import (
    HOURS_PER_YEAR,
    Owned,
    capital_recovery,
    co2_kg,
    cost_per_busy_hour,
    energy_kwh,
    energy_only_per_run,
    energy_per_busy_hour,
    fixed_per_year,
    likely,
    own_per_run,
    refuse_owned,
    utilisation_of,
)
from tests.planner.cost.made import HOUR, WORKSTATION, amounts, machines, unhurried

FREE = replace(WORKSTATION, tariff_usd_per_kwh=0)


def test_golden_a_year_of_the_workstation_costs_13140() -> None:
    assert capital_recovery(0.1, 2) == pytest.approx(0.121 / 0.21)
    assert fixed_per_year(WORKSTATION) == pytest.approx(13_140, abs=1e-8)


def test_golden_an_hour_and_a_run_at_half_of_the_year() -> None:
    assert energy_per_busy_hour(WORKSTATION, 0.5) == pytest.approx(0.24)
    assert cost_per_busy_hour(WORKSTATION, 0.5) == pytest.approx(3.24)
    assert own_per_run(WORKSTATION, 10 * HOUR, 0.5) == pytest.approx(32.40, abs=1e-9)


def test_golden_energy_of_a_run() -> None:
    assert energy_kwh(WORKSTATION, 10 * HOUR) == pytest.approx(12.5)
    assert energy_kwh(WORKSTATION, 10 * HOUR, 0.5) == pytest.approx(15)
    assert co2_kg(WORKSTATION, 10 * HOUR) == pytest.approx(5)
    assert energy_only_per_run(WORKSTATION, 10 * HOUR) == pytest.approx(2.00)


def test_capital_recovery_of_textbooks() -> None:
    """(A/P, i, n) as printed in tables of compound interest."""
    result = capital_recovery([0.08, 0.10, 0.05], [5, 10, 30])
    np.testing.assert_allclose(result, [0.25046, 0.16275, 0.06505], atol=5e-6)


def test_capital_recovery_at_its_limits() -> None:
    result = capital_recovery([0, 1e-12, 0, 0.1, 0.1, 0], [4, 4, 0, 0, np.inf, np.inf])
    np.testing.assert_allclose(result, [0.25, 0.25, np.inf, np.inf, 0.1, 0], rtol=1e-11)


@given(amounts(0, 1), amounts(0.025, 40))
@example(5e-324, 1.5)
@example(5e-324, 0.5)
@example(1e-323, 3.7)
@example(1e-17, 4.0)
@example(1e-8, 1.0)
@unhurried
def test_capital_recovery_is_exact_at_any_rate(rate: float, years: float) -> None:
    """Against 60 decimal digits; a quotient of two numbers next to 0 was off by a quarter."""
    getcontext().prec = 60
    exact = Decimal(rate) / (1 - (-(1 + Decimal(rate)).ln() * Decimal(years)).exp()) if (
        rate > 1e-30
    ) else 1 / Decimal(years)  # fmt: skip
    assert float(Decimal(float(capital_recovery(rate, years))) / exact) == pytest.approx(
        1.0, rel=1e-14, abs=0.0
    )


def test_of_a_price_that_is_got_back_whole_only_interest_is_paid() -> None:
    whole = replace(WORKSTATION, residual_share=1, upkeep_usd_per_year=0)
    assert fixed_per_year(whole) == pytest.approx(2_100)
    assert fixed_per_year(replace(whole, rate_of_capital=0)) == 0


def test_the_written_form_is_the_usual_one_with_a_discounted_residual() -> None:
    usual = 21_000 * (1 - 0.1 / 1.1**2) * capital_recovery(0.1, 2) + 2_040
    assert fixed_per_year(WORKSTATION) == pytest.approx(usual)


def test_without_electricity_to_pay_only_the_year_is_left() -> None:
    assert energy_per_busy_hour(FREE, [0, 0.5, 1]).tolist() == [0, 0, 0]
    assert cost_per_busy_hour(FREE, 0.5) == pytest.approx(3.00)
    assert energy_only_per_run(FREE, HOUR) == 0


def test_endless_work_is_never_free() -> None:
    assert energy_only_per_run(FREE, np.inf) == np.inf
    assert own_per_run(replace(FREE, price_usd=0, upkeep_usd_per_year=0), np.inf, 1) == np.inf


def test_life_0_and_utilisation_0_have_no_hour_to_pay_for_them() -> None:
    worn = replace(WORKSTATION, life_years=0)
    assert fixed_per_year(worn) == np.inf
    assert cost_per_busy_hour(WORKSTATION, 0) == np.inf
    assert own_per_run(WORKSTATION, 0, 0) == 0
    result = refuse_owned(worn, 0.5), refuse_owned(WORKSTATION, 0), refuse_owned(WORKSTATION, 1.2)
    assert [r.reason for r in result if isinstance(r, Refusal)] == [
        "A machine with a life of 0 years has no hour that could carry its price.",
        "At a utilisation of 0 there is no hour of work to pay for the machine.",
        "A utilisation of 1.2 is more than a machine has hours: 2 of them would be needed.",
    ]
    assert all(r is not None and r.measure_next for r in result)
    assert refuse_owned(WORKSTATION, [0.1, 1.0]) is None


def test_a_utilisation_above_1_is_no_argument_of_a_formula() -> None:
    with pytest.raises(ValueError, match=r"utilisation: value 2 of 2 is 1\.2.*from 0 to 1"):
        cost_per_busy_hour(WORKSTATION, [1.0, 1.2])


def test_an_unknown_grid_has_unknown_carbon() -> None:
    assert np.isnan(co2_kg(replace(WORKSTATION, kg_co2_per_kwh=None), HOUR))


def test_half_of_the_hours_of_a_month_are_half_of_the_machine() -> None:
    assert utilisation_of(10 * HOUR, 36.5) == pytest.approx(0.5)
    assert utilisation_of(np.inf, 0) == 0


def test_hours_of_a_year_at_their_cost_are_the_year() -> None:
    year = own_per_run(WORKSTATION, 0.5 * HOURS_PER_YEAR * HOUR, 0.5)
    assert year == pytest.approx(13_140 + 4_380 * 0.20 + 4_380 * 0.04)


@unhurried
@given(machines, amounts(0, 1e6), amounts(0, 1e6), amounts(0.01, 1), amounts(1, 3))
def test_cost_never_falls_with_time_or_price(
    owned: Owned, work: float, more: float, share: float, factor: float
) -> None:
    cost = own_per_run(owned, work, share)
    for name in ("price_usd", "tariff_usd_per_kwh", "power_watts"):
        dearer = replace(owned, **{name: factor * likely(getattr(owned, name))})
        assert cost <= own_per_run(dearer, work, share) * (1 + 1e-12)
    assert cost <= own_per_run(owned, work + more, share)


@unhurried
@given(machines, amounts(0.01, 1), amounts(0.01, 1))
def test_an_hour_costs_less_the_busier_the_machine_is(
    owned: Owned, first: float, second: float
) -> None:
    rare, often = sorted([first, second])
    assert cost_per_busy_hour(owned, often) <= cost_per_busy_hour(owned, rare) * (1 + 1e-12)


@unhurried
@given(machines, amounts(0.01, 1), amounts(0.01, 100))
def test_another_currency_scales_the_cost(owned: Owned, share: float, rate: float) -> None:
    named = ("price_usd", "tariff_usd_per_kwh", "upkeep_usd_per_year")
    scaled = replace(owned, **{n: rate * likely(getattr(owned, n)) for n in named})
    np.testing.assert_allclose(
        cost_per_busy_hour(scaled, share), rate * cost_per_busy_hour(owned, share)
    )
