"""The report of a plan of machines: its charts, the chosen one in the summary."""

from __future__ import annotations

import pytest

from planner.capacity import (
    CostLine,
    CostLines,
    Fleet,
    Horizon,
    MonthlyJob,
    RentOrBuyByUse,
    Stock,
    plan,
)
from planner.core import Estimate, Refusal
from planner.cost import Display
from planner.report import capacity as of_capacity
from planner.report import capacity_page
from tests.each import each
from tests.planner.capacity.made import BOUGHT, RENTED, case

JOB = MonthlyJob(name="Strict", network="x", runs_a_month=60.0, within_h=15.0)
TITLES = {
    "plan": "Cost over the plan",
    "use": "Rent or buy by utilisation",
    "matters": "What matters most",
}


@pytest.mark.parametrize("chart", TITLES)
def test_the_chosen_chart_is_in_the_summary_and_the_others_in_the_appendix(chart: str) -> None:
    fleet = Fleet(stocks=(Stock(machine="buy"), Stock(machine="rent", count=3)), find=False)
    answer = plan(case(JOB, machines=(BOUGHT, RENTED)), fleet, Horizon(months=12))
    page = capacity_page(answer, Display(), link="", made="today", chart=chart)
    summary, appendix = page.split(">Appendix<")
    assert f">{TITLES[chart]}<" in summary
    for other in {*TITLES} - {chart}:
        assert f">{TITLES[other]}<" in appendix


MONTHS = tuple(float(m) for m in range(13))
LINE = CostLine(name="Fleet", kind="fleet", months=MONTHS, usd=MONTHS, low=MONTHS, high=MONTHS,
                resale=0.0, net=12.0, energy_kwh=0.0, co2_kg=None, problem="")  # fmt: skip
NEVER = Refusal(reason="Said.", measure_next="")


def _even(value: float) -> Estimate:
    return Estimate(value=value, low=value, high=value)


@each(
    ("even", "words"),
    [(_even(6.0), ""), (_even(0.0), "Said."), (_even(12.0), "Said."), (NEVER, "Said.")],
)
def test_a_break_even_in_the_chart_is_not_said_below_it(
    even: Estimate | Refusal, words: str
) -> None:
    lines = CostLines(title="Cost", lines=(LINE,), break_even=even, sentence="Said.")
    assert of_capacity.without_break_even(lines) == words


@each(("even", "words"), [(_even(0.6), ""), (_even(1.4), "Said."), (NEVER, "Said.")])
def test_a_break_even_of_use_is_said_where_no_utilisation_reaches_it(
    even: Estimate | Refusal, words: str
) -> None:
    use = RentOrBuyByUse(hardware="x", utilisation=(), curves=(), break_even=even, now=None,
                         sentence="Said.")  # fmt: skip
    assert of_capacity.without_break_even(use) == words
