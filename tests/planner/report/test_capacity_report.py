"""The report of a plan of machines: its charts, the chosen one in the summary."""

from __future__ import annotations

import pytest

from planner.capacity import Fleet, Horizon, MonthlyJob, Stock, plan
from planner.cost import Display
from planner.report import capacity_page
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
