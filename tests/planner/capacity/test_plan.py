"""Promises of a plan, and the golden case of docs/decisions/0052-capacity.md."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from planner.capacity import (
    Fleet,
    Horizon,
    Machine,
    MonthlyJob,
    PlanProgress,
    RunTime,
    Simulation,
    Stock,
    plan,
)
from planner.capacity._answer import _chips
from planner.capacity._lines import Course
from planner.capacity._months import Simulated, part_of, simulate
from planner.capacity._queue import NONE
from planner.capacity._search import (
    ChosenFleet,
    cheapest,
    compared_in,
    first_guess,
    keeps,
    late_shares,
)
from planner.capacity._spend import spend
from planner.core import Refusal
from planner.cost import DRAWS, Rental, quantiles
from tests.each import each
from tests.faults.outcomes import FULL
from tests.planner.capacity.made import (
    ALL,
    BOUGHT,
    HOUR_S,
    OWNED,
    RENTED,
    RESERVED,
    SPOT,
    case,
    dearer,
)

FIXED = MonthlyJob(name="Fixed", network="x", runs_a_month=20.0)
FLEXIBLE = MonthlyJob(
    name="Flexible", network="x", runs_a_month=90.0, within_h=24.0, interruptible=True
)
STRICT = MonthlyJob(name="Strict", network="x", runs_a_month=60.0, within_h=15.0)
MIXED = (Stock(machine="own"), Stock(machine="rent", count=2), Stock(machine="spot", count=2))


def _runs(simulated: Simulated) -> float:
    """Runs a month, counted."""
    return float(simulated.counted.sum(axis=0).mean())


def _cost(case_: Simulation, *stocks: Stock) -> float:
    return float(np.mean(spend(simulate(case_, stocks)).total))


# -- the golden case ------------------------------------------------------------------------------


def test_golden_an_owned_machine_costs_467_usd_a_month() -> None:
    simulated = simulate(case(FIXED, columns=2400), (Stock(machine="own"),))
    spent = spend(simulated)
    busy = spent.busy.mean()
    runs = _runs(simulated)
    assert busy == pytest.approx(10.0 * runs, rel=1e-9)
    cost = float(spent.total.mean())
    assert cost == pytest.approx(1.2 * busy + 0.24 * (730.0 - busy) + 100.0, rel=1e-9)
    # 20 runs a month, four standard errors of a Poisson mean
    tolerance = 4.0 * np.sqrt(20.0 / simulated.load.job.shape[1])
    assert runs == pytest.approx(20.0, abs=tolerance)
    assert cost == pytest.approx(467.2, abs=0.96 * 10.0 * tolerance)


def test_golden_a_bought_machine_costs_1875_usd_a_month_more() -> None:
    own, bought = (_cost(case(FIXED), Stock(machine=m)) for m in ("own", "buy"))
    assert bought - own == pytest.approx(1875.0, rel=1e-9)


def test_golden_a_reserved_machine_costs_7300_usd_a_month() -> None:
    assert _cost(case(FIXED), Stock(machine="reserved")) == pytest.approx(7300.0, rel=1e-9)


def test_golden_a_rented_run_costs_202_usd() -> None:
    case_ = case(FIXED)
    simulated = simulate(case_, (Stock(machine="rent", count=64),))
    each = float(spend(simulated).total.sum()) / float(simulated.counted.sum())
    assert each == pytest.approx(202.0, rel=1e-9)


# -- promises -------------------------------------------------------------------------------------


@each("seed", range(3))
def test_no_run_is_lost(seed: int) -> None:
    simulated = simulate(case(FIXED, FLEXIBLE, STRICT, seed=seed, variation=0.1), MIXED)
    served, real = simulated.served, simulated.load.real
    assert (served.machine[real] != NONE).all()
    assert np.isfinite(served.wait_h[real]).all()
    assert (served.wait_h[real] >= 0.0).all()
    by_job = simulated.by_job_and_month().sum(axis=0)
    assert by_job == pytest.approx(simulated.by_stock_and_month().sum(axis=0))
    assert by_job.sum() == simulated.counted.sum()


@each("seed", range(3))
def test_no_machine_works_on_two_runs_at_a_time(seed: int) -> None:
    simulated = simulate(case(FIXED, FLEXIBLE, STRICT, seed=seed, variation=0.1), MIXED)
    served, load = simulated.served, simulated.load
    start = load.arrival_h + np.where(load.real, served.wait_h, 0.0)
    for column in range(0, load.job.shape[1], 40):
        for machine in range(len(simulated.kind)):
            here = served.machine[:, column] == machine
            order = np.argsort(start[here, column])
            begins = start[here, column][order]
            ends = begins + served.hours[here, column][order]
            assert (begins[1:] >= ends[:-1] - 1e-9).all()


def test_without_a_run_only_standing_machines_cost() -> None:
    nothing = replace(STRICT, runs_a_month=0.0)
    assert _cost(case(nothing), *MIXED) == pytest.approx(730.0 * 0.24 + 100.0)
    assert _cost(case(nothing), Stock(machine="reserved")) == pytest.approx(7300.0)
    assert _cost(case(nothing), Stock(machine="rent", count=3), Stock(machine="spot")) == 0.0


@each("machine", ALL)
def test_a_higher_price_never_gives_a_lower_cost(machine: Machine) -> None:
    stocks = (*MIXED, Stock(machine="buy"), Stock(machine="reserved"))
    costs = []
    for factor in (1.0, 1.05, 1.5, 3.0):
        machines = tuple(dearer(m, factor) if m is machine else m for m in ALL)
        costs.append(_cost(case(FLEXIBLE, STRICT, machines=machines), *stocks))
    assert costs == sorted(costs)
    assert costs[-1] > costs[0]


@pytest.mark.parametrize("machine", [OWNED, BOUGHT, RESERVED, RENTED, SPOT], ids=lambda m: m.id)
def test_more_machines_of_one_kind_never_later(machine: Machine) -> None:
    alone = case(replace(FLEXIBLE, runs_a_month=120.0), machines=(machine,), variation=0.1)
    few, many = (simulate(alone, (Stock(machine=machine.id, count=n),)).served for n in (2, 3))
    real = ~np.isnan(few.wait_h)
    assert (many.wait_h[real] <= few.wait_h[real] + 1e-9).all()
    assert many.late.sum() <= few.late.sum()


def test_a_job_that_may_not_be_interrupted_never_runs_on_spot() -> None:
    simulated = simulate(case(FLEXIBLE, STRICT), MIXED)
    kinds = simulated.kind[np.maximum(simulated.served.machine, 0)]
    spot = (kinds == ALL.index(SPOT)) & (simulated.served.machine != NONE)
    assert spot[simulated.load.job == 0].any()
    assert not spot[simulated.load.job == 1].any()
    alone = simulate(case(STRICT), (Stock(machine="spot", count=9),))
    assert (alone.served.machine == NONE).all()
    assert alone.served.late[alone.load.real].all()


def test_equal_questions_have_equal_answers() -> None:
    one, two = (spend(simulate(case(FLEXIBLE, STRICT, variation=0.1), MIXED)) for _ in range(2))
    assert (one.total == two.total).all()


# -- the answer -----------------------------------------------------------------------------------


def test_an_empty_fleet_is_answered_and_every_deadline_is_missed() -> None:
    answer = plan(case(STRICT, machines=()), Fleet(find=False), Horizon(months=12))
    assert not answer.keeps
    assert answer.waiting[0].late == 1.0
    assert answer.sentence.startswith("No machine")
    assert answer.stocks == ()
    assert "100 % in a job's worst quarter" in [tile.note for tile in answer.tiles]


def test_a_fleet_of_own_machines_alone_has_no_line_of_renting() -> None:
    fleet = Fleet(stocks=(Stock(machine="own", count=3),), find=False)
    answer = plan(case(STRICT, machines=(OWNED,)), fleet, Horizon(months=12))
    assert answer.keeps
    assert answer.costs is not None
    assert [line.kind for line in answer.costs.lines] == ["fleet"]
    assert answer.chips == ()


def _course(*total: float) -> Course:
    spent = np.array([total])
    return Course(
        spent=spent, left=spent[0], total=spent[0], energy_kwh=0.0, co2_kg=None, keeps=True
    )


@each(
    ("fleet", "rent", "chips"),
    [
        ((5.0, 9.0, 16.0), (6.0, 10.0, 20.0), ("100 % likely", "expected cost 17 % below")),
        ((5.0, 9.0, 31.0), (6.0, 10.0, 20.0), ("too close to call", "expected cost 25 % above")),
        ((5.0, 9.0, 22.0), (6.0, 10.0, 20.0), ("too close to call", "about the expected cost of")),
        ((7.0, 12.0, 10.0), (6.0, 10.0, 20.0), ("too close to call", "expected cost 19 % below")),
        ((50.0, 90.0, 31.0), (6.0, 10.0, 0.0), ("0 % likely", "11 x the expected cost of")),
    ],
)
def test_a_fleet_is_compared_with_renting_by_expected_cost_and_the_chance_that_it_is_cheaper(
    fleet: tuple[float, ...], rent: tuple[float, ...], chips: tuple[str, ...]
) -> None:
    shown = _chips(_course(*fleet), _course(*rent))
    assert [chip.startswith(text) for chip, text in zip(shown, chips, strict=True)] == [True, True]
    assert all(chip.endswith("renting only") for chip in shown)


def test_the_machines_of_a_fleet_cost_what_the_fleet_costs() -> None:
    one = case(FLEXIBLE, machines=(RENTED,))
    work = 10.0 * HOUR_S * np.exp(0.6 * np.random.default_rng(1).standard_normal(DRAWS))
    times = {k: RunTime(time=quantiles(work), work_s=work, accelerators=8) for k in one.times}
    fleet = Fleet(stocks=(Stock(machine="rent", count=6),), find=False)
    answer = plan(replace(one, times=times), fleet, Horizon(months=12))
    [machine], [cost] = answer.stocks, [t.value for t in answer.tiles if t.title == "Cost a month"]
    assert machine.cost_a_month == pytest.approx(cost)
    assert machine.cost_a_month == pytest.approx(20.0 * machine.hours_a_month, rel=0.02)


def test_a_found_fleet_keeps_the_deadlines_and_costs_no_more_than_renting() -> None:
    horizon = Horizon(months=12)
    answer = plan(case(FLEXIBLE, STRICT), Fleet(rent_most=6), horizon)
    assert answer.keeps
    assert all(row.worst_late is None or row.worst_late <= 0.05 for row in answer.jobs)
    assert answer.costs is not None
    by_kind = {line.kind: line for line in answer.costs.lines}
    assert by_kind["fleet"].net <= by_kind["rent only"].net
    for line in answer.costs.lines:
        assert list(line.usd) == sorted(line.usd)


def test_renting_only_is_the_answer_where_the_search_found_a_dearer_fleet(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The search compares on few months, so its fleet may cost more than renting in all of them."""
    dear = case(FIXED, machines=(dearer(BOUGHT, 9.0), RENTED))
    found = ChosenFleet(stocks=(Stock(machine="buy", count=2),), keeps=True, compared=3)
    monkeypatch.setattr("planner.capacity._answer.cheapest", lambda *_: found)
    answer = plan(dear, Fleet(), Horizon(months=12))
    assert [s.machine.id for s in answer.stocks] == ["rent"]
    assert answer.fleet.startswith("Rent up to")
    assert answer.costs is not None
    assert answer.costs.lines[0].net == min(line.net for line in answer.costs.lines)
    assert answer.costs.lines[0].net == pytest.approx(12.0 * answer.stocks[0].cost_a_month)


def test_every_run_of_a_job_without_a_deadline_has_a_machine() -> None:
    answer = plan(case(FIXED, machines=(BOUGHT, RENTED)), Fleet(), Horizon(months=12))
    assert answer.keeps
    assert answer.stocks
    assert all(np.isfinite(w.p95_s) for w in answer.waiting)
    assert "Without a deadline: Fixed." in " ".join(answer.notes)


def test_a_run_that_never_starts_is_late_without_a_deadline_too() -> None:
    late = Fleet(stocks=(Stock(machine="own", from_month=7),), find=False)
    answer = plan(case(FIXED), late, Horizon(months=12))
    assert not answer.keeps
    assert [m.late for m in answer.months] == [1.0] * 6 + [0.0] * 6


def test_a_quicker_rental_comes_before_a_purchase() -> None:
    """The cheap ones are in time in 93 % of the draws, but in 7 of 8 scenarios."""
    job = replace(STRICT, runs_a_month=5.0, within_h=11.0)
    cheap = tuple(replace(RENTED, id=f"cheap-{n}", rental=Rental(price_per_hour=5.0 + n))
                  for n in range(4))  # fmt: skip
    question = case(job, machines=(BOUGHT, RENTED, *cheap), hours=9.0)
    slow = np.full(DRAWS, 9.0 * HOUR_S)
    slow[: DRAWS // 14] = 12.0 * HOUR_S
    times = dict(question.times)
    for machine in cheap:
        times[job.name, machine.id] = replace(times[job.name, machine.id], work_s=slow)
    horizon = Horizon(months=12, probability=0.9)
    answer = plan(replace(question, times=times), Fleet(), horizon)
    assert answer.keeps
    assert all(row.machine.term == "on demand" for row in answer.stocks)


# -- the search, against every fleet --------------------------------------------------------------

SMALL = Rental(price_per_hour=4.0)
KINDS = (
    replace(BOUGHT, id="buy-8", label="8 x A (bought)"),
    replace(RENTED, id="rent-8", label="8 x A", rental=Rental(price_per_hour=20.0)),
    replace(RENTED, id="rent-1", label="1 x A", accelerators=1, rental=SMALL),
    replace(SPOT, id="spot-8", label="8 x A (spot)"),
    replace(RENTED, id="rent-b", label="8 x B", rental=Rental(price_per_hour=26.0)),
)


def _small_case(*jobs: MonthlyJob, one: float, whole: float, quick: float) -> Simulation:
    """Small runs use one accelerator, others eight; B is quicker."""
    times = {}
    for job in jobs:
        small = job.accelerators == 1
        for machine in KINDS:
            hours = one if small else whole
            if machine.id == "rent-b":
                hours *= quick
            if not small and machine.accelerators < 8:
                times[job.name, machine.id] = RunTime(
                    time=Refusal(reason="too small", measure_next="")
                )
                continue
            work = np.full(DRAWS, hours * HOUR_S)
            times[job.name, machine.id] = RunTime(
                time=quantiles(work), work_s=work, accelerators=1 if small else 8
            )
    return Simulation(jobs=jobs, machines=KINDS, months=12, seed=1, variation=0.03, times=times,
                      columns=240)  # fmt: skip


@each(
    ("small", "whole"),
    [(40.0, 10.0), (10.0, 80.0), (150.0, 0.0), *([(400.0, 20.0)] if FULL else [])],
)
def test_no_fleet_of_all_small_ones_is_in_time_and_much_cheaper(small: float, whole: float) -> None:
    jobs = (
        MonthlyJob(name="Small", network="x", runs_a_month=small, within_h=8.0, interruptible=True,
                   accelerators=1),
        MonthlyJob(name="Whole", network="x", runs_a_month=whole, within_h=30.0),
    )  # fmt: skip
    case_ = _small_case(*jobs, one=2.0, whole=8.0, quick=0.6)
    found = cheapest(case_, Fleet(rent_most=4), Horizon(months=12))
    assert found.keeps
    rentals = [m.id for m in KINDS if m.term != "bought"]
    best = np.inf
    for kinds in itertools.chain.from_iterable(
        itertools.combinations(rentals, n) for n in range(4)
    ):
        for bought in range(3):
            stocks = (*(Stock(machine=k, count=4) for k in kinds),
                      Stock(machine="buy-8", count=bought))  # fmt: skip
            simulated = simulate(case_, stocks)
            if keeps(simulated, 0.95):
                best = min(best, float(spend(simulated).total.mean()))
    assert _cost(case_, *found.stocks) <= 1.03 * best


# -- parts of a case, progress --------------------------------------------------------------------


def test_a_quarter_alone_is_simulated_as_in_the_whole() -> None:
    whole = case(replace(FLEXIBLE, growth=0.05), STRICT, variation=0.1)
    places = np.array([6, 7, 8])
    part = part_of(whole, places)
    every, some = simulate(whole, MIXED), simulate(part, MIXED)
    columns = np.isin(every.month, places)
    runs = len(some.load.job)
    assert (some.load.job == every.load.job[:runs, columns]).all()
    assert not every.load.real[runs:, columns].any()
    assert np.array_equal(some.served.wait_h, every.served.wait_h[:runs, columns], equal_nan=True)
    assert np.array_equal(some.served.late, every.served.late[:runs, columns])
    assert spend(some).total == pytest.approx(spend(every).total[places])


def test_the_late_share_of_all_runs_is_the_mean_of_the_jobs_by_their_runs() -> None:
    """Of months with many runs a part is simulated: where demand grows, an ever smaller one."""
    busy = replace(FLEXIBLE, runs_a_month=900.0, growth=0.1)
    simulated = simulate(case(busy, STRICT), (Stock(machine="own", count=30),))
    assert len(np.unique(simulated.scale)) > 6
    runs = simulated.by_job_and_month() * simulated.scale
    late = simulated.by_job_and_month(simulated.served.late) * simulated.scale
    whole, worst = late_shares(simulated)
    assert 0.05 < float(late.sum() / runs.sum()) < 0.95
    assert float((whole * runs.sum(axis=(1, 2))).sum()) == pytest.approx(float(late.sum()))
    assert (whole <= worst + 1e-12).all()


def test_a_search_says_what_it_does() -> None:
    heard: list[PlanProgress] = []
    answer = plan(case(FLEXIBLE, STRICT), Fleet(rent_most=6), Horizon(months=12), tell=heard.append)
    words = [step.words for step in heard]
    assert any(w.startswith("Compared ") and "USD a month" in w for w in words)
    assert f"Simulating {12 * 28:,} months of the chosen fleet" in words
    assert words[-1] == "Looking for what breaks first"
    shares = [step.share for step in heard]
    assert shares == sorted(shares)
    assert 0.0 <= shares[0] < shares[-1] <= 1.0
    assert plan(case(FLEXIBLE, STRICT), Fleet(rent_most=6), Horizon(months=12)) == answer


def test_a_first_answer_comes_before_any_fleet_is_compared() -> None:
    heard: list[PlanProgress] = []
    answer = plan(case(FLEXIBLE, STRICT), Fleet(rent_most=6), Horizon(months=12), tell=heard.append)
    with_first = [n for n, said in enumerate(heard) if said.first is not None]
    assert with_first == [0]
    first = heard[0].first
    assert first is not None
    assert first.fleet.split(" ")[0] in {"Use", "Buy", "Reserve", "Rent"}
    assert [t.title for t in first.tiles] == [t.title for t in answer.tiles]
    cost, final = (next(t for t in of if t.title == "Cost a month")
                   for of in (first.tiles, answer.tiles))  # fmt: skip
    assert cost.value is not None
    assert final.value is not None
    assert 0.3 < cost.value / final.value < 3.0


def test_the_first_estimate_has_more_machines_where_those_of_the_program_are_late() -> None:
    """The program knows no queue: one machine works 82 % of its hours, so many runs are late."""
    fast = compared_in(case(replace(STRICT, within_h=24.0), machines=(BOUGHT,)))
    guess = first_guess(fast, Fleet(), Horizon(months=12))
    one = (Stock(machine=BOUGHT.id),)
    alone, found = fast.look_at([one, guess], 0.05)
    assert alone[0] > 0.0
    assert found[0] == 0.0
    assert sum(s.count for s in guess) > 1


def test_the_fleet_of_the_answer_is_there_before_it_is_compared_with_others() -> None:
    heard: list[PlanProgress] = []
    answer = plan(case(FLEXIBLE, STRICT), Fleet(rent_most=6), Horizon(months=12), tell=heard.append)
    (found,) = [said.chosen for said in heard if said.chosen is not None]
    assert (found.fleet, found.tiles, found.keeps) == (answer.fleet, answer.tiles, answer.keeps)
    after = [said.words for said in heard[[said.chosen for said in heard].index(found) + 1 :]]
    assert "Comparing with buying only" in after


def test_a_fleet_late_without_any_queue_is_not_simulated_where_another_is_in_time() -> None:
    of = case(STRICT, machines=(RENTED, BOUGHT))
    work = np.full(DRAWS, 20.0 * HOUR_S)  # it must end within 15 h
    late = RunTime(time=quantiles(work), work_s=work, accelerators=8)
    of = replace(of, times={**of.times, (STRICT.name, BOUGHT.id): late})
    fast = compared_in(of)
    quick, slow = ((Stock(machine=m.id, count=4),) for m in (RENTED, BOUGHT))
    assert fast.best_of([slow, quick], 0.05)[1] == quick
    assert set(fast.results) == {quick}
    assert fast.compared == 2
    assert fast.best_of([slow], 0.05)[1] == slow  # the least late one counts where none is in time


def test_a_fleet_that_is_given_has_no_first_answer() -> None:
    heard: list[PlanProgress] = []
    fleet = Fleet(stocks=(Stock(machine=case(FLEXIBLE).machines[0].id),), find=False)
    plan(case(FLEXIBLE), fleet, Horizon(months=12), tell=heard.append)
    assert heard
    assert all(said.first is None for said in heard)


def test_a_demand_beyond_every_fleet_says_so() -> None:
    hopeless = replace(STRICT, within_h=1.0)  # a run takes ten hours
    answer = plan(case(hopeless), Fleet(), Horizon())
    assert not answer.keeps
    assert answer.fleet == "No fleet within these limits meets the deadlines"
    assert answer.sentence.startswith(f"{answer.fleet}. Strict is late in ")
    entered = plan(case(hopeless), Fleet(find=False), Horizon())
    assert entered.fleet == "No machine"


def test_a_found_fleet_that_only_rents_has_nothing_to_pay_off() -> None:
    few = replace(FLEXIBLE, runs_a_month=2.0)
    answer = plan(case(few, machines=(RENTED, BOUGHT)), Fleet(), Horizon(months=12))
    assert [s.machine for s in answer.stocks] == [RENTED]
    assert answer.costs is not None
    assert [line.kind for line in answer.costs.lines] == ["fleet", "buy only"]
    assert isinstance(answer.costs.break_even, Refusal)
    assert answer.costs.sentence == "The fleet rents all its machines."
