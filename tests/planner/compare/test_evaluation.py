"""What each option takes and costs, and how sure their order is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.compare import Assumptions, Entry, Shop, candidates_of, compare, monthly_cost
from planner.compare.comparison import CompareQuestion, Comparison, Limits, Row, by_id
from planner.compare.evaluation import better
from planner.compare.rent_or_buy import rent_or_buy
from planner.core import Estimate, Refusal
from planner.job import Candidate, Goal, TimeSources, library_of
from tests.planner.compare.made import CATALOG, RUN, TODAY, job, other, row

EXACT = Assumptions(
    runs_per_month=10.0, startup_s=0.0, price_uncertainty=0.0,
    stale_price_uncertainty=0.0, capital_uncertainty=0.0,
    host_watts_share=0.0, idle_watts_share=0.0, host_price_share=0.0, pue=1.0,
    tariff_usd_per_kwh=0.1, upkeep_share=0.0,
    residual_share=0.0, rate_of_capital=0.0, life_years=4.0, kg_co2_per_kwh=0.5,
)  # fmt: skip
EPOCHS = 360  # 100 + 100 + 359*100 = 36,100 s there
RENT, BUY, OWN = "rent-cloud-eu-1x-plain-on-demand", "buy-1x-plain", "own-plain"
KNOWN = TimeSources(library=library_of(CATALOG, [row(RUN)]))


def _every(assumed: Assumptions = EXACT, entries: tuple[Entry, ...] = ()) -> list[Candidate]:
    return candidates_of(job(), Shop(catalog=CATALOG, assumed=assumed, today=TODAY), entries)


def _ask(
    assumed: Assumptions = EXACT,
    limits: Limits | None = None,
    only: tuple[str, ...] = (),
    epochs: int = EPOCHS,
) -> Comparison:
    question = CompareQuestion(
        job=job(), goal=Goal(words=f"{epochs} epochs", epochs=epochs), measurements=KNOWN,
        assumed=assumed, limits=limits or Limits(),
    )  # fmt: skip
    return compare(question, [c for c in _every(assumed) if not only or c.id in only])


def _value(result: Estimate | Refusal | None) -> float:
    assert isinstance(result, Estimate)
    return float(result.value)


def test_a_measured_system_takes_what_was_measured_whoever_pays() -> None:
    rows = by_id(_ask().rows)
    assert _value(rows[RENT].time) == pytest.approx(36_100.0, rel=1e-3)
    assert _value(rows[BUY].time) == _value(rows[OWN].time) == _value(rows[RENT].time)


def test_renting_costs_hours_times_price() -> None:
    assert _value(by_id(_ask().rows)[RENT].cost) == pytest.approx(36_100 / 3600 * 1.0, rel=1e-3)


def test_owning_costs_the_energy_of_the_board() -> None:
    row_ = by_id(_ask().rows)[OWN]
    assert _value(row_.energy_kwh) == pytest.approx(0.4 * 36_100 / 3600, rel=1e-3)
    assert _value(row_.cost) == pytest.approx(0.1 * 0.4 * 36_100 / 3600, rel=1e-3)
    assert _value(row_.co2_kg) == pytest.approx(0.5 * 0.4 * 36_100 / 3600, rel=1e-3)


def test_buying_shares_the_price_among_the_runs_of_its_life_and_adds_energy() -> None:
    expected = 10_000.0 / (4 * 12 * 10) + 0.1 * 0.4 * 36_100 / 3600
    assert _value(by_id(_ask().rows)[BUY].cost) == pytest.approx(expected, rel=1e-3)


def test_more_runs_than_a_month_has_hours_take_more_machines() -> None:
    busy = replace(EXACT, runs_per_month=100.0)  # 100 runs of 10 h a month of 730 h
    row_ = by_id(_ask(busy).rows)[BUY]
    assert row_.machines == 2
    assert _value(row_.cost_per_month) == pytest.approx(
        2 * 10_000.0 / 48 + 100 * 0.1 * 0.4 * 36_100 / 3600, rel=1e-2
    )


def test_a_month_of_runs_costs_so_many_runs() -> None:
    row_ = by_id(_ask().rows)[RENT]
    assert _value(row_.cost_per_month) == pytest.approx(10 * _value(row_.cost), rel=1e-9)


def test_probabilities_to_be_cheapest_and_fastest_sum_to_one() -> None:
    rows = _ask().rows
    assert sum(r.cheapest or 0.0 for r in rows) == pytest.approx(1.0)
    assert sum(r.fastest or 0.0 for r in rows) == pytest.approx(1.0)


def test_the_same_hardware_takes_the_same_time_so_price_alone_decides() -> None:
    result = _ask(only=(RENT, OWN))
    first, second = result.answered
    assert first.candidate.id == OWN
    assert better(first, second, Limits()) == 1.0
    assert not first.tied


def test_data_sheets_do_not_decide_between_prices_that_are_near() -> None:
    near = ("rent-cloud-eu-1x-twice-on-demand", RENT)  # twice as fast at three times the price
    result = _ask(only=near)
    assert {r.rank for r in result.answered} == {1}
    assert all(r.tied for r in result.answered)


def test_what_misses_the_deadline_comes_after_what_keeps_it() -> None:
    result = _ask(
        limits=Limits(deadline_s=20_000.0), only=(RENT, "rent-cloud-eu-8x-plain-on-demand")
    )
    assert result.answered[0].candidate.hardware.count == 8
    assert (result.answered[0].in_time or 0.0) > 0.9
    assert result.answered[1].in_time == 0.0


def test_a_budget_is_kept_to_as_a_deadline_is() -> None:
    rows = by_id(_ask(limits=Limits(budget_usd=5.0)).rows)
    assert rows[OWN].in_time == 1.0
    assert rows[RENT].in_time == 0.0


def test_by_time_the_fastest_comes_first() -> None:
    result = _ask(limits=Limits(order="time"))
    assert result.answered[0].candidate.hardware.label == "1 x Huge"


def test_a_system_of_unknown_power_has_a_time_and_no_cost() -> None:
    unknown = other("GPU", later_epoch_mean_s=50.0)
    measured = job(RUN, unknown)
    shop = Shop(catalog=CATALOG, assumed=EXACT, today=TODAY)
    there = [c for c in candidates_of(measured, shop) if c.id == "own-gpu"]
    question = CompareQuestion(job=measured, goal=Goal(words="2 epochs", epochs=2), assumed=EXACT)
    [row_] = compare(question, there).rows
    assert isinstance(row_.time, Estimate)
    assert isinstance(row_.cost, Refusal)
    assert row_.rank is None


def test_the_frontier_holds_what_nothing_beats_in_both() -> None:
    rows = [r for r in _ask().rows if isinstance(r.cost, Estimate)]
    for r in rows:
        beaten = any(
            _value(o.time) <= _value(r.time) and _value(o.cost) <= _value(r.cost)
            and (_value(o.time), _value(o.cost)) != (_value(r.time), _value(r.cost))
            for o in rows
        )  # fmt: skip
        assert r.on_frontier is not beaten


@settings(max_examples=10, deadline=None)
@given(st.randoms(use_true_random=False))
def test_the_order_of_the_options_changes_nothing(random: object) -> None:
    every = _every()
    shuffled = list(every)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    question = CompareQuestion(job=job(), goal=Goal(words="9 epochs", epochs=9), measurements=KNOWN)
    first, second = compare(question, every), compare(question, shuffled)
    assert [_told(r) for r in first.rows] == [_told(r) for r in second.rows]


def _told(r: Row) -> tuple[object, ...]:
    return (r.candidate.id, r.rank, r.tied, r.time, r.cost, r.cheapest, r.fastest)


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 5000), st.integers(1, 5000))
def test_more_epochs_never_cost_less(a: int, b: int) -> None:
    fewer, more = sorted((a, b))
    less = by_id(_ask(epochs=fewer).rows)
    for name, r in by_id(_ask(epochs=more).rows).items():
        if isinstance(r.cost, Estimate):
            assert _value(r.cost) >= _value(less[name].cost)


def test_nothing_to_compare_is_refused() -> None:
    with pytest.raises(ValueError, match="Choose at least one option"):
        compare(CompareQuestion(job=job(), goal=Goal(words="1 epoch", epochs=1)), [])


def test_break_even_is_where_a_month_of_both_costs_the_same() -> None:
    found = rent_or_buy(_ask(only=(RENT, BUY)))
    assert found is not None
    assert isinstance(found.use, Estimate)
    runs = _value(found.runs_per_month)
    rent, buy = (monthly_cost(r, [runs]) for r in (found.rent, found.buy))
    assert rent is not None
    assert buy is not None
    assert np.asarray(rent.value)[0] == pytest.approx(np.asarray(buy.value)[0], rel=0.02)
    hours = runs * 36_100 / 3600
    assert _value(found.use) == pytest.approx(hours / 730, rel=0.02)


def test_where_renting_is_cheaper_than_electricity_buying_never_pays_off() -> None:
    dear = replace(EXACT, tariff_usd_per_kwh=5.0)  # 2 USD/h of electricity against 1 USD/h of rent
    found = rent_or_buy(_ask(dear, only=(RENT, BUY)))
    assert found is not None
    assert isinstance(found.use, Refusal)


def test_the_same_question_gives_the_same_numbers() -> None:
    assert [_told(r) for r in _ask().rows] == [_told(r) for r in _ask().rows]


def test_cheapest_is_reported_among_those_that_keep_the_deadline() -> None:
    eight = "rent-cloud-eu-8x-plain-on-demand"  # the only one in time, and the dearer one
    result = by_id(_ask(limits=Limits(deadline_s=20_000.0), only=(RENT, eight)).rows)
    assert result[RENT].cheapest == result[RENT].fastest == 0.0
    assert result[eight].cheapest == pytest.approx(result[eight].in_time or 0.0)


def test_where_nothing_keeps_the_limits_nothing_is_the_cheapest() -> None:
    result = _ask(limits=Limits(deadline_s=1.0), only=(RENT, OWN))
    assert [r.cheapest for r in result.rows] == [0.0, 0.0]


def test_of_unknown_cost_nothing_keeps_a_budget() -> None:
    unknown = other("GPU", later_epoch_mean_s=50.0)
    measured = job(RUN, unknown)
    shop = Shop(catalog=CATALOG, assumed=EXACT, today=TODAY)
    options = [c for c in candidates_of(measured, shop) if c.id in ("own-gpu", OWN)]
    limits = Limits(order="time", budget_usd=1e6)
    question = CompareQuestion(job=measured, goal=Goal(words="9 epochs", epochs=9), limits=limits)
    result = by_id(compare(question, options).rows)
    assert result["own-gpu"].fastest is None
    assert result[OWN].fastest == 1.0


def test_the_batch_is_reported_where_it_is_a_choice_and_whole() -> None:
    rows = by_id(_ask().rows)
    assert rows[RENT].timed.batch == 100.0
    assert rows["rent-cloud-eu-8x-plain-on-demand"].timed.batch == 100.0
    samples = Estimate(value=1e6, low=9e5, high=1.1e6)
    goal = Goal(words="2 %", samples=samples, batch=300.784100676122)
    question = CompareQuestion(job=job(), goal=goal, measurements=KNOWN)
    far = [c for c in _every() if c.id == "rent-cloud-eu-8x-plain-on-demand"]
    assert compare(question, far).rows[0].timed.batch == 301.0
