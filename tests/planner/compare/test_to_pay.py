"""A budget is money to be paid; the cost of a run is another number with its own limit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.answers.comparison import JobFacts, Request, compare_parameters, option_rows
from planner.answers.comparison.question import answered
from planner.compare import Assumptions, cost_bound, sentence
from planner.compare.comparison import Comparison, Limits, Row, by_id
from planner.core import Estimate
from planner.cost import Display
from tests.planner.compare.made import CATALOG, TODAY, job, offer

EXACT = Assumptions(
    startup_s=0.0, price_uncertainty=0.0, stale_price_uncertainty=0.0, capital_uncertainty=0.0,
    host_watts_share=0.0,
    host_price_share=0.25, pue=1.0, tariff_usd_per_kwh=0.1,
)  # fmt: skip
RUN_H = 36_100.0 / 3600.0
ENERGY = RUN_H * 0.4 * 0.1
"""Electricity of the job on one plain card [USD]: 400 W."""


def _told(*options: str, limits: Limits = Limits(), assumed: Assumptions = EXACT) -> Comparison:  # noqa: B008 - a frozen record
    catalog = replace(
        CATALOG, offers=(offer("plain", 1.0), offer("plain", 0.5, terms="reserved 3 years"))
    )
    entries = ("buy|plain|4|9000",) if any(o.startswith("mine") for o in options) else ()
    asked = Request(epochs=360, options=options, limits=limits, assumed=assumed, entries=entries)
    result = answered(asked, JobFacts(job=job(), catalog=catalog), TODAY).comparison
    assert result is not None
    return result


def _row(result: Comparison, name: str) -> Row:
    return by_id(result.rows)[name]


def _value(result: object) -> float:
    assert isinstance(result, Estimate)
    return float(result.value)


RENT, RESERVED, BUY, OWN = (
    "rent-cloud-eu-1x-plain-on-demand", "rent-cloud-eu-1x-plain-reserved-3-years", "buy-1x-plain",
    "own-plain",
)  # fmt: skip


def test_golden_what_has_to_be_paid_for_one_job() -> None:
    result = _told(RENT, RESERVED, BUY, OWN)
    assert _value(_row(result, RENT).to_pay) == pytest.approx(RUN_H, rel=1e-3)
    assert _value(_row(result, RESERVED).to_pay) == pytest.approx(3 * 8760 * 0.5)
    assert _value(_row(result, BUY).to_pay) == pytest.approx(10_000 * 1.25 + ENERGY)
    assert _value(_row(result, OWN).to_pay) == pytest.approx(ENERGY)


def test_a_purchase_is_paid_whole_and_its_cost_of_a_run_is_not_that() -> None:
    row = _row(_told(RENT, BUY), BUY)
    assert _value(row.cost) < 200.0
    assert _value(row.to_pay) > 12_500.0


def test_all_cards_and_all_machines_that_are_bought_are_paid() -> None:
    four = _row(_told(RENT, "mine-buy-plain-4-9000"), "mine-buy-plain-4-9000")
    assert _value(four.to_pay) == pytest.approx(4 * 9_000, rel=1e-4)  # its host is in the price
    often = replace(EXACT, runs_per_month=200.0)  # 200 runs of 10 h keep 2.75 machines busy
    row = _row(_told(RENT, BUY, assumed=often), BUY)
    assert row.machines == 3
    assert _value(row.to_pay) == pytest.approx(3 * 12_500 + ENERGY)


@pytest.mark.parametrize(("budget", "kept"), [(500.0, 0.0), (12_499.0, 0.0), (12_600.0, 1.0)])
def test_a_budget_is_met_by_a_purchase_only_where_it_pays_the_whole(
    budget: float, kept: float
) -> None:
    result = _told(RENT, BUY, limits=Limits(budget_usd=budget))
    assert _row(result, BUY).in_time == kept
    assert _row(result, RENT).in_time == 1.0
    assert (_row(result, BUY).cheapest or 0.0) <= kept


def test_a_reservation_meets_a_budget_only_where_it_pays_all_its_years() -> None:
    result = _told(RENT, RESERVED, limits=Limits(budget_usd=1_000.0))
    assert _row(result, RESERVED).in_time == 0.0
    result = _told(RENT, RESERVED, limits=Limits(budget_usd=14_000.0))
    assert _row(result, RESERVED).in_time == 1.0


def test_a_cost_limit_is_for_the_cost_of_a_run() -> None:
    result = _told(RENT, BUY, limits=Limits(cost_limit_usd=200.0))
    assert _row(result, BUY).in_time == 1.0
    result = _told(RENT, BUY, limits=Limits(cost_limit_usd=15.0))
    assert _row(result, BUY).in_time == 0.0
    assert _row(result, RENT).in_time == 1.0


@settings(max_examples=20, deadline=None)
@given(st.floats(1.0, 30_000.0), st.floats(0.0, 0.9))
def test_no_option_meets_a_budget_below_its_price(budget: float, doubt: float) -> None:
    """Whatever is assumed: where it meets the budget in a draw, that draw pays no more."""
    unsure = replace(EXACT, price_uncertainty=doubt, capital_uncertainty=doubt)
    result = _told(RENT, RESERVED, BUY, OWN, limits=Limits(budget_usd=budget), assumed=unsure)
    for row in result.rows:
        assert row.drawn is not None
        assert row.drawn.to_pay is not None
        assert row.in_time == np.count_nonzero(row.drawn.to_pay <= budget) / row.drawn.to_pay.size
        if row.candidate.way == "buy":
            assert row.drawn.to_pay.min() >= 12_500.0 * (1.0 - doubt)


def test_the_sentence_names_what_is_paid_first_for_a_purchase_and_a_reservation() -> None:
    result = sentence(_told(BUY))
    assert " a run, with 12,500 USD to be paid first" in result
    assert " a run, with 13,100 USD to be paid first" in sentence(_told(RESERVED))
    assert "to be paid first" not in sentence(_told(RENT))
    assert "to be paid first" not in sentence(_told(OWN))


def test_the_rows_hold_both_numbers_in_the_currency_that_is_shown() -> None:
    euro = Display(currency="EUR", per_usd=0.5, as_of=TODAY, tax_share=0.2)
    row = next(r for r in option_rows(_told(BUY), euro) if r["way"] == "buy")
    assert row["to_pay"] == pytest.approx((12_500 + ENERGY) * 0.6, rel=1e-5)
    assert isinstance(row["cost_per_run"], float)
    assert row["cost_per_run"] < 200.0


def test_a_chart_of_costs_shows_a_budget_only_where_costs_are_what_is_paid() -> None:
    budget = Limits(budget_usd=500.0)
    assert cost_bound(_told(RENT, limits=budget)) == 500.0
    assert cost_bound(_told(RENT, BUY, limits=budget)) is None
    assert cost_bound(_told(RENT, BUY, limits=replace(budget, cost_limit_usd=20.0))) == 20.0
    assert cost_bound(_told(RENT, limits=replace(budget, cost_limit_usd=20.0))) == 20.0


def test_both_limits_are_read_in_the_money_that_is_shown() -> None:
    asking, problems = compare_parameters(
        {"budget": ["600"], "cost_limit": ["60"], "currency": ["EUR"], "rate": ["0.5"],
         "rate_as_of": ["2026-11-21"], "tax": ["20"]}
    )  # fmt: skip
    assert problems == ()
    assert asking.request.limits.budget_usd == pytest.approx(1_000.0)
    assert asking.request.limits.cost_limit_usd == pytest.approx(100.0)
    assert "cost_limit=60" in asking.query
