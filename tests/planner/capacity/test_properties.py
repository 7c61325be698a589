"""Promises of a plan, for any jobs and any fleet."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.capacity import STANDING, Machine, MonthlyJob, RunTime, Simulation, Stock
from planner.capacity._months import Simulated, simulate
from planner.capacity._queue import NONE
from planner.capacity._search import held_cost
from planner.capacity._spend import spend
from planner.core import Floats, Refusal
from planner.cost import DRAWS, quantiles
from tests.planner.capacity.made import ALL, HOUR_S, SPOT, dearer

FEW = settings(max_examples=25, deadline=None)


@st.composite
def jobs(draw: st.DrawFn) -> tuple[MonthlyJob, ...]:
    """Jobs with any number of runs, deadlines, growth and interruptions."""
    return tuple(
        MonthlyJob(
                   name=f"Job {n}", network="x",
                   runs_a_month=draw(st.floats(0.0, 60.0)),
                   within_h=draw(st.none() | st.floats(1.0, 200.0)),
                   interruptible=draw(st.booleans()),
                   growth=draw(st.sampled_from([0.0, 0.05, -0.03])),
                   accelerators=draw(st.sampled_from([1, 2, 8])),
        )
        for n in range(draw(st.integers(1, 3)))
    )  # fmt: skip


@st.composite
def cases(draw: st.DrawFn) -> Simulation:
    """Jobs with their own time on every kind of machine, and few simulated months."""
    asked = draw(jobs())
    times = {}
    for job in asked:
        for machine in ALL:
            work = np.full(DRAWS, draw(st.floats(0.2, 40.0)) * HOUR_S)
            times[job.name, machine.id] = RunTime(time=quantiles(work), work_s=work,
                                                  accelerators=job.accelerators or 8)  # fmt: skip
    return Simulation(jobs=asked, machines=ALL, times=times, months=12,
                      seed=draw(st.integers(1, 99)), columns=1, least_scenarios=2,
                      variation=draw(st.sampled_from([0.0, 0.2])))  # fmt: skip


FLEETS = st.lists(
    st.builds(Stock, machine=st.sampled_from([m.id for m in ALL]), count=st.integers(1, 3)),
    min_size=1, max_size=4, unique_by=lambda s: s.machine,
).map(tuple)  # fmt: skip


def _standing(case: Simulation, stocks: tuple[Stock, ...]) -> float:
    """What the standing machines of a fleet cost in a month, without any run."""
    machines = {m.id: m for m in case.machines}
    return sum(s.count * held_cost(machines[s.machine], case.months) / case.months for s in stocks
               if machines[s.machine].term in STANDING)  # fmt: skip


@FEW
@given(case=cases(), stocks=FLEETS)
def test_no_run_is_lost(case: Simulation, stocks: tuple[Stock, ...]) -> None:
    simulated = simulate(case, stocks)
    served, load = simulated.served, simulated.load
    assert simulated.by_job_and_month().sum() == simulated.counted.sum()
    without = load.real & (served.machine == NONE)
    # only a run that no machine of the fleet may do has none
    only_spot = {s.machine for s in stocks} == {SPOT.id}
    strict = np.array([not job.interruptible for job in case.jobs])
    assert (without == (load.real & only_spot & strict[load.job])).all()
    done = load.real & ~without
    assert np.isfinite(served.wait_h[done]).all()
    assert (served.wait_h[done] >= 0.0).all()
    assert (served.hours[done] > 0.0).all()
    assert served.late[without & np.isfinite(_within(simulated))].all()


def _within(simulated: Simulated) -> Floats:
    limits = [np.inf if j.within_h is None else j.within_h for j in simulated.case.jobs]
    return np.asarray(np.array(limits)[simulated.load.job])


@FEW
@given(case=cases(), machine=st.sampled_from(ALL), count=st.integers(1, 3))
def test_one_more_machine_of_the_kind_makes_no_run_later(
    case: Simulation, machine: Machine, count: int
) -> None:
    """Of runs that take whole machines: smaller ones may block one another."""
    whole = tuple(replace(job, accelerators=8, interruptible=True) for job in case.jobs)
    times = {k: replace(t, accelerators=8) for k, t in case.times.items()}
    case = replace(case, jobs=whole, times=times)
    few, many = (simulate(case, (Stock(machine=machine.id, count=n),)).served
                 for n in (count, count + 1))  # fmt: skip
    real = ~np.isnan(few.wait_h)
    assert (many.wait_h[real] <= few.wait_h[real] + 1e-9).all()
    assert many.late.sum() <= few.late.sum()


@FEW
@given(case=cases(), stocks=FLEETS, factor=st.floats(1.0, 5.0), which=st.sampled_from(ALL))
def test_a_higher_price_is_never_cheaper(
    case: Simulation, stocks: tuple[Stock, ...], factor: float, which: Machine
) -> None:
    """With the same machine for each run: a dearer one is not taken first."""
    higher = tuple(dearer(m, factor) if m.id == which.id else m for m in case.machines)
    now = simulate(case, stocks)
    then = replace(now, case=replace(case, machines=higher))
    cost, more = float(spend(now).total.mean()), float(spend(then).total.mean())
    assert more >= cost - 1e-9 * abs(cost)


@FEW
@given(case=cases(), stocks=FLEETS)
def test_no_jobs_cost_only_the_standing_machines(
    case: Simulation, stocks: tuple[Stock, ...]
) -> None:
    idle = replace(case, jobs=tuple(replace(job, runs_a_month=0.0) for job in case.jobs))
    total = spend(simulate(idle, stocks)).total
    assert total == pytest.approx(np.full(total.shape, _standing(idle, stocks)), rel=1e-9)
    busy = spend(simulate(case, stocks)).total
    assert (busy >= total[:, : busy.shape[1]] - 1e-6).all()


def test_a_job_without_a_time_there_is_refused_and_not_lost() -> None:
    job = MonthlyJob(name="A", network="x", runs_a_month=10.0, within_h=5.0)
    none = RunTime(time=Refusal(reason="too large", measure_next=""))
    case = Simulation(jobs=(job,), machines=ALL, times={("A", m.id): none for m in ALL}, months=12)
    simulated = simulate(case, (Stock(machine="own"),))
    assert simulated.counted.sum() > 0
    assert simulated.served.late[simulated.counted].all()
