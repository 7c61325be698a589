"""Money over years, rent or buy, what breaks first: golden cases of decision 0052."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

import numpy as np
import pytest

from planner.capacity import CostLine, Fleet, Horizon, Machine, MonthlyJob, RunTime, Stock, plan
from planner.capacity._lines import SHARES, by_use, crossing, side_by_side
from planner.core import Estimate, Refusal
from planner.cost import DRAWS, Range, Rental, quantiles
from planner.report import capacity as drawn
from tests.each import each
from tests.planner.capacity.made import BOUGHT, HOUR_S, OWNED, RENTED, case

THREE_YEARS: Final = Horizon(years=3.0)
GREEN: Final = replace(BOUGHT, owned=replace(BOUGHT.owned, kg_co2_per_kwh=0.4))  # type: ignore[type-var]


def _lines(bought: Machine, rented: Machine) -> tuple[CostLine, CostLine, Estimate | Refusal]:
    found = side_by_side((bought, rented), THREE_YEARS, 0.6)
    assert found is not None
    own, rent = found.lines
    return own, rent, found.break_even


# -- one machine over three years at 60 % utilisation ----------------------------------------------


def test_golden_a_bought_machine_has_paid_off_after_12_4_months() -> None:
    own, rent, even = _lines(GREEN, RENTED)
    assert own.usd[0] == pytest.approx(100_000.0)
    assert own.usd[36] == pytest.approx(125_044.48)
    assert rent.usd[36] == pytest.approx(315_360.0)
    assert isinstance(even, Estimate)
    assert float(even.value) == pytest.approx(12.4003, abs=1e-4)


def test_golden_resale_value_electricity_and_carbon_dioxide_of_three_years() -> None:
    own, rent, _ = _lines(GREEN, RENTED)
    assert [own.resale, own.net] == pytest.approx([32_500.0, 92_544.48])
    assert own.energy_kwh == pytest.approx(107_222.4)
    assert own.co2_kg == pytest.approx(42_888.96)
    assert [rent.resale, rent.net] == pytest.approx([0.0, 315_360.0])


def test_golden_buying_is_cheaper_from_15_5_per_cent_utilisation() -> None:
    found = by_use((BOUGHT, RENTED), (0.0, 100.0), None)
    assert found is not None
    assert isinstance(found.break_even, Estimate)
    assert float(found.break_even.value) == pytest.approx(0.15470, abs=1e-5)
    own, rent = found.curves
    assert own.usd_per_hour[SHARES.index(0.5)] == pytest.approx(6.8510, abs=1e-4)
    assert set(rent.usd_per_hour) == {20.0}


def test_a_worn_out_machine_is_bought_again_less_its_residual_value() -> None:
    assert BOUGHT.owned is not None
    short = replace(BOUGHT, owned=replace(BOUGHT.owned, life_years=1.0))
    own, _, _ = _lines(short, RENTED)
    running = 695.68
    assert own.usd[12] == pytest.approx(100_000.0 + 12 * running)
    assert own.usd[13] == pytest.approx(190_000.0 + 13 * running)
    assert own.resale == pytest.approx(10_000.0)


def test_a_machine_of_certain_costs_and_an_uncertain_price_has_its_course() -> None:
    assert BOUGHT.owned is not None
    price = Range(90_000, 100_000, 110_000)
    uncertain = replace(BOUGHT, owned=replace(BOUGHT.owned, price_usd=price))
    own, _, _ = _lines(uncertain, RENTED)
    assert own.usd[0] == pytest.approx(100_000.0, rel=0.01)
    assert own.low[36] < own.usd[36] < own.high[36]


def test_a_rental_on_which_no_run_ends_has_no_line() -> None:
    endless = replace(RENTED, id="endless", label="8 x A (endless)", rental=Rental(
        price_per_hour=2.0, interruptions_per_hour=0.1, restart_s=24 * HOUR_S))  # fmt: skip
    lines = side_by_side([GREEN, RENTED, endless], THREE_YEARS, 0.6)
    assert lines is not None
    assert [line.name for line in lines.lines] == [GREEN.label, RENTED.label]
    found = by_use((BOUGHT, RENTED, endless), (0.0, 100.0, 0.0), None)
    assert found is not None
    assert len(found.curves) == 2


def test_each_bought_machine_has_a_month_beside_each_rented_one_like_it() -> None:
    cheap = replace(RENTED, id="cheap", label="8 x A (cheap)", rental=Rental(price_per_hour=2.0))
    lines = side_by_side([GREEN, RENTED, cheap], Horizon(years=3.0), 0.6)
    assert lines is not None
    assert lines.utilisation == 0.6
    first, second = lines.pairs
    assert (first.bought, first.rented, second.rented) == (GREEN.label, RENTED.label, cheap.label)
    assert isinstance(first.break_even, Estimate)
    assert float(first.break_even.value) == pytest.approx(12.4, abs=0.05)
    assert isinstance(second.break_even, Refusal)
    assert [row["Break-even month"] for row in drawn.pair_rows(lines)] == [
        "12", "not within 36 months"
    ]  # fmt: skip


@each(
    ("first", "other", "month"),
    [
        ([10.0, 11.0, 12.0, 13.0], [0.0, 5.0, 10.0, 15.0], 2.5),
        ([0.0, 1.0, 2.0, 3.0], [0.0, 5.0, 10.0, 15.0], 0.0),
        ([1.0, 2.0, 9.0, 9.0], [0.0, 3.0, 6.0, 9.0], 3.0),  # again above in month 2
        ([10.0, 20.0, 30.0, 40.0], [0.0, 5.0, 10.0, 15.0], None),
    ],
)
def test_lines_cross_where_the_first_stays_below(
    first: list[float], other: list[float], month: float | None
) -> None:
    found = crossing(np.array([first]).T, np.array([other]).T)
    value = None if isinstance(found, Refusal) else float(found.value)
    assert value == (None if month is None else pytest.approx(month))


# -- what breaks first -----------------------------------------------------------------------------


def test_golden_one_machine_at_20_per_cent_load_is_late_above_1_4_x_the_runs() -> None:
    """M/D/1, Erlang: P(wait <= t) = (1 - u) exp(u t/D) for t <= D; 5 % wait longer at u = 0.287."""
    assert (1.0 - 0.287) * math.exp(0.287) == pytest.approx(0.95, abs=1e-3)
    job = MonthlyJob(name="Hourly", network="x", runs_a_month=0.2 * 730.0, within_h=2.0)
    fleet = Fleet(stocks=(Stock(machine="own"),), find=False)
    answer = plan(case(job, machines=(OWNED, RENTED), hours=1.0), fleet, Horizon(months=12))
    assert answer.keeps
    assert answer.breaks is not None
    assert answer.breaks.job == "Hourly"
    assert answer.breaks.factor == pytest.approx(0.287 / 0.2, abs=0.15)


# -- what matters, what to measure -----------------------------------------------------------------


def test_a_fifth_more_or_less_runs_move_a_rented_fleet_by_a_fifth() -> None:
    """5 % and 95 % of a demand within 20 % are 18 % below and above."""
    job = MonthlyJob(name="Fixed", network="x", runs_a_month=20.0)
    fleet = Fleet(stocks=(Stock(machine="rent", count=9),), find=False)
    answer = plan(case(job, machines=(RENTED,)), fleet, Horizon(months=12))
    [runs] = answer.sensitivity
    assert runs.name == "Runs of all jobs (± 20 %)"
    assert runs.high / runs.low == pytest.approx(1.18 / 0.82, rel=1e-3)
    assert (runs.low + runs.high) / 2.0 == pytest.approx(20.0 * 202.0, rel=0.05)


def test_the_next_measurement_is_that_of_the_time_that_leaves_the_cost_most_open() -> None:
    sure, open_ = (
        MonthlyJob(name=name, network="x", runs_a_month=20.0) for name in ("Sure", "Open")
    )
    of = case(sure, open_, machines=(RENTED,), variation=0.05)
    draws = np.random.default_rng(1).standard_normal(DRAWS)
    times = {
        (name, RENTED.id): RunTime(time=quantiles(work), work_s=work, accelerators=8,
                                   measure_next=f"Time a step of {name}.")
        for name, spread in (("Sure", 0.05), ("Open", 0.5))
        for work in (10.0 * HOUR_S * np.exp(spread * draws),)
    }  # fmt: skip
    fleet = Fleet(stocks=(Stock(machine="rent", count=20),), find=False)
    answer = plan(replace(of, times=times), fleet, Horizon(months=12))
    assert answer.measure_next is not None
    assert answer.measure_next.job == "Open"
    assert answer.measure_next.sentence.startswith("Time a step of Open.")
    before, after = answer.measure_next.before, answer.measure_next.after
    [cost] = [tile for tile in answer.tiles if tile.title == "Cost a month"]
    assert (before.value, before.low, before.high) == (cost.value, cost.low, cost.high)
    assert after.high - after.low < 0.3 * (before.high - before.low)
    assert after.high / after.low > 1.05  # a measured time is not exact either
    open_time = next(i for i in answer.sensitivity if i.name == "Time of Open")
    assert open_time.low < float(before.value) < open_time.high
