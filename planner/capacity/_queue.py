"""Runs that arrive, wait and work: a queue with several kinds of machines, simulated in columns.

Each column is one simulated month, with its own arrivals and its own draw of every duration. All
columns advance together, run by run in order of arrival:

    start  = max(arrival, earliest time at which a machine has enough free accelerators)
    finish = start + duration on that machine
    choice = the cheapest machine that is expected to finish in time; else the earliest to finish

A run keeps its machine until its end; none overtakes an earlier one on the same machine. With
machines of one kind this is the queue G/G/c in order of arrival (Kiefer & Wolfowitz 1955, Trans.
AMS 78:1), where one more machine delays no run. With several kinds, single runs may be later
(Graham 1969, SIAM J. Appl. Math. 17:416).

A machine with several accelerators may work on several runs; `Yard.slots` are its equal parts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from planner.core import Floats

Ints = NDArray[np.intp]
Flags = NDArray[np.bool_]
NONE: Final = -1
"""Job number of a column's padding, and machine number of a run without a machine."""
_LATE: Final = 1e12
"""Added to the key of a machine that would be late: it comes after all that are in time."""
_RANK: Final = 1e6
"""Hours between two places in the order of cost: longer than any simulated time."""
NO_RUNS: Final = 1e-9
"""Mean runs of a month below which none is drawn."""
_CHUNK: Final = 64
_FEW: Final = 30.0
"""Mean from which a Poisson number is drawn as a rounded normal one."""
_ROUNDING: Final = 1.0 + 1e-12
"""A run that ends at its deadline is in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Runs of all columns by arrival, padded at the end of shorter columns.

    arrival_h: shape (runs, columns), rising; infinite where padded [h].
    job: numbers of the jobs, `NONE` where padded.
    scatter: factor of each run's own duration, around 1.
    luck: uniform numbers that decide about interruptions.
    """

    arrival_h: Floats
    job: Ints
    scatter: Floats
    luck: Floats

    @property
    def real(self) -> Flags:
        """Runs that are no padding."""
        return np.asarray(self.job != NONE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Yard:
    """Machines, as numbers of their kinds.

    kind: of each machine, shape (machines,).
    slots: equal parts of each machine that runs may take; also of shape (machines, columns).
    opens_h: when it becomes available, shape (machines, columns); infinite where it never does [h].
    """

    kind: Ints
    slots: Ints
    opens_h: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class JobWork:
    """What each job takes on each kind of machine.

    A kind may differ by column: `need`, `rank` and the numbers of each kind may have columns as
    their last axis.

    plan_h: usual duration, shape (kinds, jobs, columns); infinite where a job may not run [h].
    need: slots that a run takes, shape (kinds, jobs).
    rank: place of a kind in the order of cost for a job, from 0, shape (kinds, jobs).
    within_h: longest time from arrival to end, shape (jobs,); infinite without a deadline [h].
    starts_h: part of the duration before work begins, shape (kinds,) [h].
    interruptions_per_hour, lost_h: of each kind; lost time of one interruption [h].
    """

    plan_h: Floats
    need: Ints
    rank: Floats
    within_h: Floats
    starts_h: Floats
    interruptions_per_hour: Floats
    lost_h: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What became of every run, each of shape (runs, columns).

    wait_h: from arrival to start; infinite without a machine, NaN where padded [h].
    hours: from start to end, 0 without a machine [h].
    used_h: hours that the machine is in use for this run and for no earlier one [h].
    machine: its number, `NONE` without one.
    late: whether it ends too late, or never starts.
    """

    wait_h: Floats
    hours: Floats
    used_h: Floats
    machine: Ints
    late: Flags


def arrivals(runs: Floats, hours: Floats, seed: int, variation: float = 0.0) -> Load:
    """Return runs that arrive at random: a Poisson process, split among the jobs by their rates.

    Args:
        runs: mean number of each job in that time, shape (jobs, columns).
        hours: simulated time of each column, shape (columns,) [h].
        seed: of the draws; equal seeds and `runs` give equal arrivals.
        variation: standard deviation of ln of a run's own duration.
    """
    draws = np.random.Generator(np.random.Philox(key=seed))
    total = runs.sum(axis=0)
    most = float(total.max(initial=0.0))
    shape = (int(most + 8.0 * np.sqrt(most) + 8.0), len(total))
    gaps = draws.standard_exponential(shape)
    mean_gap = np.divide(hours, total, out=np.full(len(total), np.inf), where=total > NO_RUNS)
    arrival = np.cumsum(gaps, axis=0) * mean_gap
    real = arrival <= hours
    longest = max(int(real.any(axis=1).sum()), 1)
    arrival, real = arrival[:longest], real[:longest]
    limits = np.cumsum(runs, axis=0) / np.where(total > 0.0, total, 1.0)
    which = draws.random(arrival.shape)
    job = np.zeros(arrival.shape, dtype=np.intp)
    for limit in limits[:-1]:
        job += which >= limit
    scatter = np.ones(arrival.shape)
    if variation > 0.0:
        scatter = np.exp(variation * draws.standard_normal(arrival.shape))
    return Load(
        arrival_h=np.where(real, arrival, np.inf),
        job=np.where(real, job, NONE),
        scatter=scatter,
        luck=draws.random(arrival.shape),
    )


def serve(load: Load, yard: Yard, work: JobWork) -> Served:
    """Return start, duration and machine of every run."""
    shape = load.arrival_h.shape
    if not yard.kind.size:
        wait = np.where(load.real, np.inf, np.nan)
        return Served(wait_h=wait, hours=np.zeros(shape), used_h=np.zeros(shape),
                      machine=np.full(shape, NONE, dtype=np.intp), late=load.real)  # fmt: skip
    served = Served(
        wait_h=np.empty(shape), hours=np.empty(shape), used_h=np.empty(shape),
        machine=np.empty(shape, dtype=np.intp), late=np.empty(shape, dtype=np.bool_),
    )  # fmt: skip
    work, yard = _by_column(work, yard)
    run_all = _whole_machines if int(yard.slots.max()) == 1 else _parts_of_machines
    with np.errstate(invalid="ignore"):  # padding waits from infinity to infinity
        run_all(load, yard, work, served)
        here = load.real & np.isfinite(served.hours) & np.isfinite(served.wait_h)
        np.subtract(served.wait_h, load.arrival_h, out=served.wait_h)
        served.late[:] = load.real & ~(
            served.wait_h + served.hours <= work.within_h[load.job] * _ROUNDING
        )
    served.late[:] |= load.real & ~here
    served.wait_h[:] = np.where(here, served.wait_h, np.where(load.real, np.inf, np.nan))
    for of_run, nothing in ((served.hours, 0.0), (served.used_h, 0.0), (served.machine, NONE)):
        of_run[~here] = nothing
    return served


def _by_column(work: JobWork, yard: Yard) -> tuple[JobWork, Yard]:
    """Return work and machines with columns as the last axis of every array of a kind."""
    kinds, _, columns = work.plan_h.shape

    def filled(part: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        whole = part if part.ndim == len(shape) else part[..., None]
        return np.ascontiguousarray(np.broadcast_to(whole, shape))

    return replace(
        work,
        need=filled(work.need, work.plan_h.shape), rank=filled(work.rank, work.plan_h.shape),
        starts_h=filled(work.starts_h, (kinds, columns)),
        interruptions_per_hour=filled(work.interruptions_per_hour, (kinds, columns)),
        lost_h=filled(work.lost_h, (kinds, columns)),
    ), replace(yard, slots=filled(yard.slots, yard.opens_h.shape))  # fmt: skip


def _whole_machines(load: Load, yard: Yard, work: JobWork, served: Served) -> None:
    """Serve runs that take a whole machine each; `wait_h` gets their starts."""
    columns = load.arrival_h.shape[1]
    rows, free = np.arange(columns), yard.opens_h.copy()
    flat, start, choice = free.reshape(-1), np.empty(free.shape), _Choice(yard.kind, columns)
    for first in range(0, len(load.arrival_h), _CHUNK):
        part = slice(first, first + _CHUNK)
        expected, hours, place, due, _ = _durations(load, work, part)
        for k in range(len(due)):
            n = first + k
            np.maximum(free, load.arrival_h[n], out=start)
            chosen = choice.of(start, expected[k], place[k], due[k])
            at = chosen * columns + rows
            began = start.reshape(-1)[at]
            takes = hours[k].reshape(-1)[yard.kind[chosen] * columns + rows]
            served.wait_h[n], served.machine[n], served.hours[n] = began, chosen, takes
            flat[at] = np.where(np.isfinite(takes), began + takes, flat[at])
    served.used_h[:] = served.hours


def _parts_of_machines(load: Load, yard: Yard, work: JobWork, served: Served) -> None:
    """Serve runs that take one or more slots of a machine; `wait_h` gets their starts.

    The slots of a machine are kept in rising order of the time at which they are free, so that the
    n-th is the first time with n free slots. With `need` slots taken until `ended`, which is later
    than their free times, the rising order is

        new[i] = max(old[i], min(ended, old[i + need]))

    Most numbers of slots are asked for by many runs: `_Slots.free` keeps their times at hand.
    """
    columns = yard.opens_h.shape[1]
    rows = np.arange(columns)
    slots = _Slots(yard, np.unique(np.maximum(work.need, 1)))
    start, choice = np.empty(yard.opens_h.shape), _Choice(yard.kind, columns)
    flat_start = start.reshape(-1)
    for first in range(0, len(load.arrival_h), _CHUNK):
        part = slice(first, first + _CHUNK)
        expected, hours, place, due, needs = _durations(load, work, part)
        for k in range(len(due)):
            n = first + k
            slots.first(needs[k], yard.kind, out=start)
            np.maximum(start, load.arrival_h[n], out=start)
            chosen = choice.of(start, expected[k], place[k], due[k])
            began = flat_start.take(chosen * columns + rows)
            of_kind = yard.kind.take(chosen) * columns + rows
            takes = hours[k].reshape(-1).take(of_kind)
            ended = began + takes
            served.wait_h[n], served.machine[n], served.hours[n] = began, chosen, takes
            need = needs[k].reshape(-1).take(of_kind)
            busy_until = slots.take(chosen, np.where(np.isfinite(takes), need, 0), ended)
            served.used_h[n] = np.maximum(ended - np.maximum(began, busy_until), 0.0)


class _Choice:
    """The machine of a run in each column: the cheapest in time, else the first to end.

    Machines of one kind differ in their start only, so kinds are compared by their earliest one.
    A block is a row of machines of one kind.
    """

    def __init__(self, kind: Ints, columns: int) -> None:
        begins = np.flatnonzero(np.diff(kind, prepend=NONE))
        ends = [*begins[1:], len(kind)]
        self.kinds = kind[begins]
        self.blocks = [slice(int(b), int(e)) for b, e in zip(begins, ends, strict=True)]
        self.numbers = np.arange(len(begins))[:, None]
        self.first, self.end, self.key = (np.empty((len(begins), columns)) for _ in range(3))
        self.mask = np.empty((len(kind), columns), dtype=np.bool_)

    def of(self, start: Floats, expected: Floats, place: Floats, due: Floats) -> Ints:
        """Return the number of a machine for each column.

        Args:
            start: earliest one on each machine, shape (machines, columns) [h].
            expected: duration, shape (kinds, columns) [h].
            place: in the order of cost, times `_RANK`, shape (kinds, columns) [h].
            due: shape (columns,) [h].
        """
        first, end, key = self.first, self.end, self.key
        for n, block in enumerate(self.blocks):
            np.minimum.reduce(start[block], axis=0, out=first[n])
        np.add(first, expected.take(self.kinds, axis=0), out=end)
        np.add(first, place.take(self.kinds, axis=0), out=key)
        np.copyto(key, end + _LATE, where=end > due)
        # no time is negative: only machines of the chosen block are at its first start
        np.copyto(first, -1.0, where=self.numbers != key.argmin(axis=0))
        for n, block in enumerate(self.blocks):
            np.equal(start[block], first[n], out=self.mask[block])
        return np.asarray(self.mask.argmax(axis=0))


class _Slots:
    """Times at which the slots of machines are free, in rising order [h].

    Args:
        yard: the machines.
        needs: numbers of slots that runs ask for, rising.
    """

    def __init__(self, yard: Yard, needs: Ints) -> None:
        machines, self.columns = yard.opens_h.shape
        self.most = int(yard.slots.max())
        self.rows = np.arange(self.columns)
        times = np.repeat(yard.opens_h[:, None, :], self.most, axis=1)
        times[np.arange(self.most)[:, None] >= yard.slots[:, None, :]] = np.inf
        self.times = times
        self.needs = [int(n) for n in needs if n <= self.most]
        self.free = [np.ascontiguousarray(times[:, n - 1]) for n in self.needs]
        self.last = np.maximum(yard.slots - 1, 0).reshape(-1) * self.columns
        self.size = self.most * self.columns
        self.place = np.arange(self.most)[:, None] * self.columns + self.rows
        self.padded = np.full((2 * self.most, self.columns), np.inf)
        self.mask = np.empty((machines, self.columns), dtype=np.bool_)

    def first(self, need: Ints, kind: Ints, out: Floats) -> None:
        """Write the first time with so many free slots, shape (machines, columns).

        `need` is by kind, shape (kinds, columns); `kind` is that of each machine.
        """
        np.copyto(out, self.free[0])
        for n, free in zip(self.needs[1:], self.free[1:], strict=True):
            (need == n).take(kind, axis=0, out=self.mask, mode="clip")
            np.copyto(out, free, where=self.mask)

    def take(self, machine: Ints, need: Ints, ended: Floats) -> Floats:
        """Take slots of one machine per column until `ended`; return its last busy time before."""
        at = machine * self.size + self.place
        flat, padded = self.times.reshape(-1), self.padded
        flat.take(at, out=padded[: self.most], mode="clip")
        where = machine * self.columns + self.rows
        busy_until = padded.reshape(-1).take(self.last.take(where) + self.rows)
        after = padded.reshape(-1).take(self.place + need * self.columns)
        np.minimum(after, ended, out=after)
        np.maximum(after, padded[: self.most], out=after)
        np.copyto(after, padded[: self.most], where=need == 0)
        flat[at] = after
        for n, free in zip(self.needs, self.free, strict=True):
            free.reshape(-1)[where] = after[n - 1]
        return np.asarray(busy_until)


def _durations(
    load: Load, work: JobWork, part: slice
) -> tuple[Floats, Floats, Floats, Floats, Ints]:
    """Return expected and true duration, place in the order of cost, due time and need of runs.

    Each run has its own scatter and its own interruptions. Shapes (runs, kinds, columns) and, of
    the due time, (runs, columns).
    """
    job = np.maximum(load.job[part], 0)
    kinds, _, columns = work.plan_h.shape
    at = job * columns + np.arange(columns)

    def of_runs(table: NDArray[Any]) -> NDArray[Any]:
        return np.stack([table[k].reshape(-1).take(at) for k in range(kinds)], axis=1)

    expected, place, need = of_runs(work.plan_h), of_runs(work.rank * _RANK), of_runs(work.need)
    due = load.arrival_h[part] + work.within_h[job] * _ROUNDING
    scatter, starts = load.scatter[part, None, :], work.starts_h
    undisturbed = expected - starts
    often = work.interruptions_per_hour
    if not often.any():
        hours = undisturbed * scatter + starts
        return expected, hours, place, due, np.maximum(need, 1)
    # the expected duration has the mean loss: rate x time without the start-up
    number = often * np.where(np.isfinite(undisturbed), undisturbed, 0.0)
    happened = np.zeros(number.shape)
    for kind in np.flatnonzero(often.any(axis=1)):
        happened[:, kind] = _poisson(load.luck[part], number[:, kind])
    hours = (undisturbed - number * work.lost_h) * scatter + happened * work.lost_h + starts
    return expected, hours, place, due, np.maximum(need, 1)


def _poisson(share: Floats, mean: Floats) -> Floats:
    """Return the Poisson quantiles at `share`; rounded normal ones for large means."""
    few = np.minimum(mean, _FEW)
    probability = np.exp(-few)
    total, number = probability.copy(), np.zeros(mean.shape)
    for k in range(1, 100):
        more = (share > total) & (mean <= _FEW)
        if not more.any():
            break
        number[more] = k
        probability *= few / k
        total += probability
    many = mean > _FEW
    number[many] = np.maximum(np.round(mean[many] + np.sqrt(mean[many]) * ndtri(share[many])), 0.0)
    return number
