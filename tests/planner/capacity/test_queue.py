"""The simulated queue against formulas, with tolerances from the number of simulated runs."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

import numpy as np
import pytest
from scipy.special import gammainc

from planner.capacity._queue import JobWork, Load, Served, Yard, arrivals, serve
from planner.core import Floats
from tests.each import each

COLUMNS: Final = 400
FIRST, LAST = 250, 550
"""Counted runs of a column: those before fill the queue, those after may be padding."""
SERVICE_H: Final = 10.0


def _served(machines: int, load: float, *, exponential: bool, seed: int = 3) -> tuple[Load, Served]:
    """A queue with equal machines and a `load` of each."""
    rate = load * machines / SERVICE_H
    hours = np.full(COLUMNS, 700.0 / rate)
    runs = arrivals(np.full((1, COLUMNS), 700.0), hours, seed)
    if exponential:
        draws = np.random.default_rng(seed + 1)
        runs = replace(runs, scatter=draws.standard_exponential(runs.arrival_h.shape))
    return runs, serve(runs, _yard(machines), _work())


def _work(slots: int = 1) -> JobWork:
    """Runs of one job, each on one slot."""
    return JobWork(
        plan_h=np.full((1, 1, COLUMNS), SERVICE_H), slots=np.array([slots]),
        need=np.ones((1, 1), dtype=np.intp), rank=np.zeros((1, 1)), within_h=np.array([np.inf]),
        starts_h=np.zeros(1), interruptions_per_hour=np.zeros(1), lost_h=np.zeros(1),
    )  # fmt: skip


def _yard(machines: int) -> Yard:
    """Machines of one kind."""
    return Yard(kind=np.zeros((1, 1), dtype=np.intp), opens_h=np.zeros((machines, 1, COLUMNS)))


def _mean(of_columns: Floats) -> tuple[float, float]:
    """The mean of independent columns, and four of its standard errors."""
    return float(of_columns.mean()), 4.0 * float(of_columns.std(ddof=1)) / math.sqrt(COLUMNS)


def erlang_c(machines: int, load: float) -> float:
    """Share of runs that wait in M/M/c."""
    offered = machines * load
    busy = offered**machines / math.factorial(machines) / (1.0 - load)
    return busy / (sum(offered**k / math.factorial(k) for k in range(machines)) + busy)


def wait_of_equal_runs(machines: int, load: float) -> float:
    """Mean wait in M/D/c [h]: that of E_c/D/1, by Spitzer's identity."""
    rate = load * machines / SERVICE_H
    n = np.arange(1, 3000)
    arrived, due = n * machines, n * SERVICE_H
    late = due * gammainc(arrived, rate * due) - arrived / rate * gammainc(arrived + 1, rate * due)
    return float((late / n).sum())


@pytest.mark.parametrize(("machines", "load"), [(1, 0.5), (2, 0.7), (4, 0.8), (8, 0.6)])
def test_random_durations_wait_as_in_m_m_c(machines: int, load: float) -> None:
    wait = _served(machines, load, exponential=True)[1].wait_h[FIRST:LAST]
    result, tolerance = _mean(wait.mean(axis=0))
    waiting = erlang_c(machines, load)
    assert result == pytest.approx(waiting * SERVICE_H / (machines * (1.0 - load)), abs=tolerance)
    share, tolerance = _mean((wait > 0.0).mean(axis=0))
    assert share == pytest.approx(waiting, abs=tolerance)
    assert tolerance < 0.03, "few simulated runs prove nothing"


@pytest.mark.parametrize(("machines", "load"), [(1, 0.5), (2, 0.7), (4, 0.8), (8, 0.6)])
def test_equal_durations_wait_as_in_m_d_c(machines: int, load: float) -> None:
    wait = _served(machines, load, exponential=False)[1].wait_h[FIRST:LAST]
    result, tolerance = _mean(wait.mean(axis=0))
    assert result == pytest.approx(wait_of_equal_runs(machines, load), abs=tolerance)
    assert tolerance < 0.15 * result + 0.02, "few simulated runs prove nothing"


def test_the_formula_of_equal_runs_is_pollaczek_khinchine_for_one_machine() -> None:
    assert wait_of_equal_runs(1, 0.5) == pytest.approx(0.5 * SERVICE_H / (2.0 * 0.5), rel=1e-6)


@pytest.mark.parametrize("exponential", [True, False])
def test_waiting_runs_are_rate_times_wait_as_little_says(*, exponential: bool) -> None:
    machines, load = 3, 0.8
    runs, served = _served(machines, load, exponential=exponential)
    rate = load * machines / SERVICE_H
    begin, end = FIRST / rate, LAST / rate
    start = np.minimum(runs.arrival_h + served.wait_h, end)
    arrival = runs.arrival_h
    with np.errstate(invalid="ignore"):
        waited = np.where(runs.real, np.maximum(start - np.maximum(arrival, begin), 0.0), 0.0)
    number = waited.sum(axis=0) / (end - begin)
    here = runs.real & (arrival >= begin) & (arrival < end)
    by_rate = np.where(here, served.wait_h, 0.0).sum(axis=0) / (end - begin)
    difference, tolerance = _mean(number - by_rate)
    assert difference == pytest.approx(0.0, abs=tolerance)
    assert float(by_rate.mean()) == pytest.approx(float(number.mean()), rel=0.05)


def test_several_fleets_side_by_side_are_simulated_as_each_alone() -> None:
    load, few = _served(2, 0.8, exponential=True)
    opens = np.concatenate([_yard(3).opens_h, _yard(3).opens_h], axis=-1)
    opens[2, :, :COLUMNS] = np.inf  # the first fleet has two machines
    both = serve(load, Yard(kind=np.zeros((1, 2), dtype=np.intp), opens_h=opens), _work())
    many = serve(load, _yard(3), _work())
    for columns, alone in ((slice(COLUMNS), few), (slice(COLUMNS, None), many)):
        assert np.array_equal(both.wait_h[:, columns], alone.wait_h, equal_nan=True)
        assert np.array_equal(both.machine[:, columns], alone.machine)


@each("seed", range(4))
@each("exponential", [True, False])
def test_one_more_equal_machine_delays_no_run(*, exponential: bool, seed: int) -> None:
    for machines in (1, 2, 5):
        load, few = _served(machines, 0.8, exponential=exponential, seed=seed)
        many = serve(load, _yard(machines + 1), _work())
        assert (many.wait_h[load.real] <= few.wait_h[load.real] + 1e-9).all()


def test_parts_of_a_machine_wait_as_whole_machines_of_their_size() -> None:
    load, whole = _served(4, 0.8, exponential=True)
    parts = serve(load, _yard(1), _work(slots=4))
    assert parts.wait_h[load.real] == pytest.approx(whole.wait_h[load.real], abs=1e-9)
    used, hours = parts.used_h[load.real].sum(), parts.hours[load.real].sum()
    assert 0.25 * hours <= used <= hours
