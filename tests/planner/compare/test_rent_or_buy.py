"""Renting against buying: commitments, other work of the machine, idle power, payback."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.catalog import Catalog
from planner.compare import (
    Assumptions,
    RentOrBuy,
    Shop,
    buying,
    candidates_of,
    compare,
    monthly_cost,
    ownership,
    ownership_sentences,
    runs_at,
    utilisation_at,
)
from planner.compare.comparison import CompareQuestion, Comparison, Limits
from planner.compare.rent_or_buy import pays_back, rent_or_buy
from planner.core import Estimate, Refusal
from planner.cost import DOLLARS
from planner.figures.frame import LIGHT_THEME
from planner.job import Goal
from planner.report import comparison_charts
from tests.each import each
from tests.planner.compare.made import CATALOG, TODAY, job, offer

EXACT = Assumptions(
    runs_per_month=10.0, startup_s=0.0, price_uncertainty=0.0,
    stale_price_uncertainty=0.0, capital_uncertainty=0.0,
    host_watts_share=0.0, idle_watts_share=0.5, host_price_share=0.0, pue=1.0,
    tariff_usd_per_kwh=0.1, upkeep_share=0.0, residual_share=0.0, rate_of_capital=0.0,
    life_years=4.0,
)  # fmt: skip
RUN_H = 36_100.0 / 3600.0
MACHINE = 10_000.0 / 48.0
"""What the bought machine costs a month without electricity [USD]."""
BUSY, IDLE = 0.04, 0.02
"""Electricity of an hour [USD]: 400 W at work, half of that waiting."""


def _told(
    assumed: Assumptions,
    terms: str = "on demand",
    price: float = 1.0,
    limits: Limits = Limits(),  # noqa: B008 - a frozen record
) -> Comparison:
    """The plain card rented under these terms, and bought."""
    catalog: Catalog = replace(CATALOG, offers=(offer("plain", price, terms=terms),))
    shop = Shop(catalog=catalog, assumed=assumed, today=TODAY)
    chosen = [c for c in candidates_of(job(), shop) if c.way == "rent" or c.id == "buy-1x-plain"]
    goal = Goal(words="360 epochs", epochs=360)
    return compare(CompareQuestion(job=job(), goal=goal, assumed=assumed, limits=limits), chosen)


def _found(assumed: Assumptions, terms: str = "on demand", price: float = 1.0) -> RentOrBuy:
    found = rent_or_buy(_told(assumed, terms, price))
    assert found is not None
    return found


def _value(result: Estimate | Refusal | None) -> float:
    assert isinstance(result, Estimate)
    return float(result.value)


def _at(found: RentOrBuy, runs: float) -> tuple[float, float]:
    """Costs of a month of both [USD]."""
    both = [monthly_cost(r, [runs]) for r in (found.rent, found.buy)]
    rent, buy = (float(np.asarray(c.value)[0]) for c in both if c is not None)
    return rent, buy


def test_what_is_reserved_is_paid_for_all_hours_of_the_month() -> None:
    found = _found(EXACT, "reserved 3 years", 0.5)
    assert _value(found.rent.cost) == pytest.approx(0.5 * 730.0 / 10.0, rel=1e-6)
    assert "paid all month for 3 years" in found.rent.candidate.price


@each("terms", ["on demand", "reserved 3 years"])
@each("other", [0.0, 100.0, 500.0, 730.0])
def test_the_chart_and_the_table_tell_the_same_month(terms: str, other: float) -> None:
    result = _told(replace(EXACT, other_hours_per_month=other), terms)
    for row in result.answered:
        month = monthly_cost(row, [10.0])
        assert month is not None
        assert np.asarray(month.value)[0] == pytest.approx(_value(row.cost_per_month), rel=1e-9)


def test_a_bought_machine_draws_power_while_it_waits() -> None:
    hours = 10.0 * RUN_H
    expected = MACHINE + BUSY * hours + IDLE * (730.0 - hours)
    assert _at(_found(EXACT), 10.0)[1] == pytest.approx(expected, rel=1e-3)


def test_other_work_carries_its_part_of_the_machine() -> None:
    hours, other = 10.0 * RUN_H, 300.0
    standing = MACHINE + IDLE * (730.0 - hours - other)
    expected = standing * hours / (hours + other) + BUSY * hours
    found = _found(replace(EXACT, other_hours_per_month=other))
    assert _at(found, 10.0)[1] == pytest.approx(expected, rel=1e-3)


def test_other_work_lowers_the_runs_from_which_on_buying_pays() -> None:
    alone, shared = _found(EXACT), _found(replace(EXACT, other_hours_per_month=100.0))
    fewer = _value(alone.runs_per_month) - 100.0 / RUN_H
    assert _value(shared.runs_per_month) == pytest.approx(fewer, rel=1e-2)
    assert isinstance(alone.use, Estimate)
    assert isinstance(shared.use, Estimate)
    assert _value(shared.use) == pytest.approx(_value(alone.use))


@each("other", [0.0, 100.0])
def test_the_lines_over_utilisation_cross_where_the_chart_says_that_buying_pays_off(
    other: float,
) -> None:
    result = _told(replace(EXACT, other_hours_per_month=other))
    found = rent_or_buy(result)
    assert found is not None
    chart, _ = comparison_charts.use(result, found, DOLLARS, LIGHT_THEME, by_use=True)
    lines = {t["name"]: t for t in chart["data"] if len(t.get("x", ())) > 2 and "name" in t}
    rent, buy = (lines[r.candidate.label] for r in (found.rent, found.buy))
    assert rent["x"][0] > other / 730.0
    assert rent["x"][-1] == pytest.approx(1.0)
    crossed = np.flatnonzero(np.diff(np.sign(np.subtract(rent["y"], buy["y"]))))
    (at,) = crossed
    assert rent["x"][at] <= _value(found.use) <= rent["x"][at + 1]


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(["on demand", "reserved 1 year"]), st.floats(0.05, 3.0), st.floats(0.0, 600.0)
)
def test_a_month_of_both_costs_the_same_at_the_break_even(
    terms: str, price: float, other: float
) -> None:
    found = _found(replace(EXACT, other_hours_per_month=other), terms, price)
    full = (730.0 - other) / RUN_H  # beyond it a second machine waits most of the time
    if isinstance(found.runs_per_month, Refusal):
        rent, buy = _at(found, 0.999 * full)
        assert buy >= 0.99 * rent
        return
    runs = _value(found.runs_per_month)
    if runs > 0.01:
        rent, buy = _at(found, runs)
        assert rent == pytest.approx(buy, rel=0.02)
    rent, buy = _at(found, max(min(1.05 * runs + 0.01, 0.999 * full), runs))
    assert buy <= 1.001 * rent


def test_against_a_dear_commitment_buying_pays_from_the_first_run_on() -> None:
    found = _found(EXACT, "reserved 1 year", 1.0)  # 730 USD a month against 208 and electricity
    assert _value(found.runs_per_month) == 0.0
    assert isinstance(found.use, Estimate)


def test_a_commitment_that_no_machine_can_beat_is_refused() -> None:
    found = _found(EXACT, "reserved 1 year", 0.2)  # 146 USD a month
    assert isinstance(found.runs_per_month, Refusal)


def test_set_up_and_minimum_are_paid_by_every_run() -> None:
    assumed = replace(EXACT, setup_usd=3.0, minimum_s=100.0 * 3600.0)
    assert _value(_found(assumed).rent.cost) == pytest.approx(100.0 + 3.0, rel=1e-6)


def test_the_machine_is_paid_back_by_the_rent_that_is_saved() -> None:
    hours = 50.0 * RUN_H
    found = _found(replace(EXACT, runs_per_month=50.0))
    running = BUSY * hours + IDLE * (730.0 - hours)
    months = 10_000.0 / (hours - running)
    assert _value(found.payback) == pytest.approx(months, rel=1e-2)
    assert f"after {months:.0f} months" in pays_back(found)


def test_other_work_pays_its_part_of_the_machine_back() -> None:
    other = 20.0 * RUN_H
    shared = _found(replace(EXACT, runs_per_month=30.0, other_hours_per_month=other))
    alone = _found(replace(EXACT, runs_per_month=50.0))
    assert _value(shared.payback) == pytest.approx(_value(alone.payback), rel=1e-2)


def test_a_machine_that_saves_nothing_never_pays_for_itself() -> None:
    found = _found(replace(EXACT, runs_per_month=0.1))  # 1 USD of rent, 15 USD of waiting
    assert isinstance(found.payback, Refusal)
    assert pays_back(found) == (
        "At 0.1 runs a month it never pays for itself. A month of these runs costs 1 USD rented, "
        "and 15 USD for electricity and upkeep of an own machine. There are no savings to pay it "
        "back."
    )


def test_a_machine_worn_out_before_it_is_paid_says_so() -> None:
    assert "worn out sooner" in pays_back(_found(EXACT))


@pytest.mark.parametrize("other", [0.0, 100.0])
def test_the_payback_at_the_break_even_is_the_life(other: float) -> None:
    """Without interest and residual value."""
    assumed = replace(EXACT, other_hours_per_month=other)
    runs = _value(_found(assumed).runs_per_month)
    at = _found(replace(assumed, runs_per_month=runs))
    assert _value(at.payback) == pytest.approx(48.0, rel=1e-2)


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (Limits(budget_usd=100.0), "It is unlikely to finish within the budget, so"),
        (Limits(budget_usd=9_999.0), "It is unlikely to finish within the budget, so"),
        (Limits(budget_usd=10_100.0), "pays off above"),
        (Limits(cost_limit_usd=0.5), "It is unlikely to finish below the cost limit, so"),
        (Limits(cost_limit_usd=100.0), "pays off above"),
    ],
)
def test_a_purchase_that_misses_the_limits_is_not_advised(limits: Limits, said: str) -> None:
    """The machine costs 10,000 USD, a run on it about 21."""
    found = rent_or_buy(_told(EXACT, limits=limits))
    assert found is not None
    assert said in buying(found)
    assert isinstance(found.use, Refusal) == ("unlikely to finish" in said)
    assert isinstance(found.payback, Refusal) == ("unlikely to finish" in said)


def test_one_month_is_singular() -> None:
    found = _found(replace(EXACT, runs_per_month=50.0))
    result = Estimate(value=1.2, low=0.9, high=2.4, level=0.9)
    said = pays_back(replace(found, payback=result))
    assert said == "At 50 runs a month it has paid for itself after 1 month (90 %: 1 to 2)."
    said = pays_back(replace(found, payback=replace(result, high=np.inf)))
    assert said.endswith("after 1 month (90 %: 1 month, or never).")


@settings(max_examples=40, deadline=None)
@given(st.floats(0.1, 300.0), st.floats(0.1, 3.0), st.floats(0.0, 600.0), st.floats(0.0, 0.9))
def test_no_sentence_contradicts_that_buying_is_likely_cheaper(
    runs: float, price: float, other: float, doubt: float
) -> None:
    doubted = Assumptions(
        runs_per_month=runs,
        other_hours_per_month=other,
        price_uncertainty=doubt,
        capital_uncertainty=doubt,
    )
    found = _found(doubted, price=price)
    rent, buy = (row.drawn.cost for row in (found.rent, found.buy) if row.drawn is not None)
    assert rent is not None
    assert buy is not None
    if (buy < rent).mean() >= 0.5:
        assert "never pays" not in pays_back(found)
        assert "worn out sooner" not in pays_back(found)


# -- over years ----------------------------------------------------------------------------------


def test_totals_over_years_are_the_months_of_both() -> None:
    found = _found(EXACT)
    totals = ownership(found)
    assert totals is not None
    rent, buy = _at(found, 10.0)
    assert _value(totals.rent) == pytest.approx(48.0 * rent, rel=1e-3)
    assert _value(totals.buy) == pytest.approx(48.0 * buy, rel=1e-3)
    assert totals.years == 4.0
    assert totals.buying_cheaper == float(buy < rent)


def test_fewer_years_leave_less_time_to_write_the_machine_off() -> None:
    two = ownership(_found(replace(EXACT, life_years=2.0)))
    assert two is not None
    hours = 10.0 * RUN_H
    month = 10_000.0 / 24.0 + BUSY * hours + IDLE * (730.0 - hours)
    assert _value(two.buy) == pytest.approx(24.0 * month, rel=1e-3)


def test_utilisation_and_runs_a_month_are_two_forms_of_one_number() -> None:
    found = _found(replace(EXACT, other_hours_per_month=73.0))
    runs = runs_at(found.buy, 0.6)
    assert utilisation_at(found.buy, runs) == pytest.approx(0.6)
    assert runs == pytest.approx((0.6 * 730.0 - 73.0) / RUN_H)
    assert runs_at(found.buy, 0.05) == 0.0  # the other work takes more


def test_the_totals_are_said_with_years_use_and_probability() -> None:
    found = _found(EXACT)
    totals = ownership(found)
    assert totals is not None
    first, second, third = ownership_sentences(found, totals, DOLLARS)
    assert first.startswith("4 years at 14 % utilisation: renting 1 x Plain (Cloud) costs ")
    assert second.startswith("Buying 1 x Plain costs ")
    assert third == "Buying is cheaper with < 1 % probability."
