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

A machine with several accelerators may work on several runs; `JobWork.slots` are its equal parts.

Several fleets are simulated side by side, each in columns of its own. What a run takes on each kind
of machine is computed once for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
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
    """The machines of one fleet, or of several whose columns are side by side.

    A block is machines of one kind. All blocks have the same size; machines that a fleet lacks
    never open.

    kind: of each block in each fleet, shape (blocks, fleets).
    opens_h: when each machine becomes available, shape (size, blocks, columns); infinite where it
        never does [h].
    """

    kind: Ints
    opens_h: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class JobWork:
    """What each job takes on each kind of machine.

    plan_h: usual duration, shape (kinds, jobs, scenarios); infinite where a job may not run [h].
        The columns of a load have the scenarios in turn.
    slots: equal parts of a machine that runs may take, shape (kinds,).
    need: slots that a run takes, shape (kinds, jobs).
    rank: place of a kind in the order of cost for a job, from 0, shape (kinds, jobs).
    within_h: longest time from arrival to end, shape (jobs,); infinite without a deadline [h].
    starts_h: part of the duration before work begins, shape (kinds,) [h].
    interruptions_per_hour, lost_h: of each kind; lost time of one interruption [h].
    """

    plan_h: Floats
    slots: Ints
    need: Ints
    rank: Floats
    within_h: Floats
    starts_h: Floats
    interruptions_per_hour: Floats
    lost_h: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What became of every run, each of shape (runs, columns of all fleets).

    wait_h: from arrival to start; infinite without a machine, NaN where padded [h].
    hours: from start to end, 0 without a machine [h].
    used_h: hours that the machine is in use for this run and for no earlier one [h].
    machine: its number, of the first machine of each block, then of the second of each; `NONE`
        without one.
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
    """Return start, duration and machine of every run.

    `load` has the columns of all fleets, or of one where all fleets have the same runs.
    """
    beside = yard.opens_h.shape[-1] // max(load.job.shape[1], 1)
    arrival_h, job, real = (_beside(of, beside) for of in (load.arrival_h, load.job, load.real))
    if not yard.opens_h.size:
        wait = np.where(real, np.inf, np.nan)
        return Served(wait_h=wait, hours=np.zeros(wait.shape), used_h=np.zeros(wait.shape),
                      machine=np.full(wait.shape, NONE, dtype=np.intp), late=real)  # fmt: skip
    start, hours, busy_until = (np.empty(job.shape) for _ in range(3))
    machine = np.empty(job.shape, dtype=np.intp)
    with np.errstate(invalid="ignore"):  # padding waits from infinity to infinity
        _in_order(load, yard, work, (start, hours, busy_until, machine))
        here = real & np.isfinite(hours) & np.isfinite(start)
        used = hours
        if int(work.slots.max()) > 1:
            used = np.maximum(start + hours - np.maximum(start, busy_until), 0.0)
        wait = start - arrival_h
        in_time = here & (wait + hours <= work.within_h[job] * _ROUNDING)
    return Served(
        wait_h=np.where(here, wait, np.where(real, np.inf, np.nan)),
        hours=np.where(here, hours, 0.0), used_h=np.where(here, used, 0.0),
        machine=np.where(here, machine, NONE), late=real & ~in_time,
    )  # fmt: skip


def _beside(of_load: NDArray[Any], fleets: int) -> NDArray[Any]:
    """Return an array of all fleets, from that of the runs they share."""
    return of_load if fleets == 1 else np.tile(of_load, (1, fleets))


def _in_order(
    load: Load, yard: Yard, work: JobWork, out: tuple[Floats, Floats, Floats, Ints]
) -> None:
    """Serve all runs; `out` gets start, duration, last busy time before of the machine, machine.

    A run takes the cheapest kind of machine in time, else the first to end. Machines of one kind
    differ in their start only, so kinds are compared by their earliest one.

    The slots of a machine are kept in rising order of the time at which they are free, so that the
    n-th is the first time with n free slots. With `need` slots taken until `ended`, which is later
    than their free times, the rising order is

        new[i] = max(old[i], min(ended, old[i + need]))

    A slab of `free` has the n-th slot of all machines; that of 0 slots is never read to choose.
    """
    start, hours, busy_until, machine = out
    size, blocks, columns = yard.opens_h.shape
    column, block, slab = np.arange(columns), blocks * columns, yard.opens_h.size
    kind = np.repeat(yard.kind, columns // yard.kind.shape[1], axis=1)
    source = kind * load.job.shape[1] + column % load.job.shape[1]
    # one fleet with its kinds in their order
    as_it_is = (
        np.array_equal(source.ravel(), np.arange(source.size)) and columns == load.job.shape[1]
    )
    slots = work.slots[kind]
    most = int(slots.max())
    free = np.empty((most + 1, size, blocks, columns))
    free[:] = yard.opens_h
    free[np.broadcast_to(np.arange(most + 1)[:, None, None, None] > slots, free.shape)] = np.inf
    flat = free.reshape(-1)
    last = (slots * slab + np.arange(slab).reshape(yard.opens_h.shape)).reshape(-1)
    rows, slabs = np.arange(size)[:, None] * block, np.arange(1, most + 1)[:, None] * slab
    padded = np.full((2 * most, columns), np.inf)
    beside = np.arange(most)[:, None] * columns + column
    usual, *others = (int(n) for n in np.unique(np.clip(work.need, 1, most)))
    first, end, key = (np.empty((blocks, columns)) for _ in range(3))
    for begin in range(0, len(load.job), _CHUNK):
        runs = _durations(load, work, slice(begin, begin + _CHUNK))
        expected, place, need = (
            of if as_it_is else of.reshape(len(of), -1).take(source, axis=1)
            for of in (runs.expected_h, runs.place_h, runs.need)
        )
        arrival, due = (_beside(of, columns // load.job.shape[1])
                        for of in (load.arrival_h[begin : begin + _CHUNK], runs.due_h))  # fmt: skip
        needs = [(n, need == n) for n in others]
        hours_of, need_of = (of.reshape(len(need), -1) for of in (runs.hours, runs.need))
        for k in range(len(need)):
            n = begin + k
            np.minimum.reduce(free[usual], axis=0, out=first)
            for number, here in needs:
                np.copyto(first, np.minimum.reduce(free[number], axis=0, out=end), where=here[k])
            np.maximum(first, arrival[k], out=first)
            np.add(first, expected[k], out=end)
            np.add(first, place[k], out=key)
            np.copyto(key, end + _LATE, where=end > due[k])
            chosen = key.argmin(axis=0)
            chosen *= columns
            chosen += column
            of_run = source.take(chosen)
            began = first.take(chosen, out=start[n], mode="clip")
            ended = began + hours_of[k].take(of_run, out=hours[n], mode="clip")
            taken = need_of[k].take(of_run)
            at = (flat.take(rows + (taken * slab + chosen)) <= began).argmax(axis=0)
            at *= block
            at += chosen
            machine[n] = at
            flat.take(last.take(at), out=busy_until[n], mode="clip")
            where = slabs + at
            flat.take(where, out=padded[:most], mode="clip")
            after = padded.take(beside + taken * columns)
            np.minimum(after, ended, out=after)
            np.maximum(after, padded[:most], out=after)
            flat[where] = after
    machine //= columns


@dataclass(frozen=True, slots=True, kw_only=True)
class _Durations:
    """What some runs take on every kind of machine, each of shape (runs, kinds, columns).

    expected_h, hours: duration as planned, and as it will be; infinite where it may not run [h].
    place_h: place in the order of cost, times `_RANK` [h].
    need: slots, 0 where it may not run.
    due_h: end in time, shape (runs, columns) [h].
    """

    expected_h: Floats
    hours: Floats
    place_h: Floats
    need: Ints
    due_h: Floats


def _durations(load: Load, work: JobWork, part: slice) -> _Durations:
    """Return what runs take: each has its own scatter and its own interruptions."""
    job = np.maximum(load.job[part], 0)
    kinds, _, scenarios = work.plan_h.shape
    at = job * scenarios + np.arange(job.shape[1]) % scenarios
    shape = (len(job), kinds, job.shape[1])
    expected, hours, place = (np.empty(shape) for _ in range(3))
    need = np.empty(shape, dtype=np.intp)
    for k in range(kinds):
        expected[:, k], place[:, k] = work.plan_h[k].take(at), (work.rank[k] * _RANK).take(job)
        need[:, k] = np.maximum(work.need[k], 1).take(job)
        starts, often, lost = work.starts_h[k], work.interruptions_per_hour[k], work.lost_h[k]
        undisturbed = expected[:, k] - starts
        if not often:
            hours[:, k] = undisturbed * load.scatter[part] + starts
            continue
        # the expected duration has the mean loss: rate x time without the start-up
        number = often * np.where(np.isfinite(undisturbed), undisturbed, 0.0)
        happened = _poisson(load.luck[part], number)
        hours[:, k] = (undisturbed - number * lost) * load.scatter[part] + happened * lost + starts
    need[np.isinf(expected)] = 0
    due = load.arrival_h[part] + work.within_h[job] * _ROUNDING
    return _Durations(expected_h=expected, hours=hours, place_h=place, need=need, due_h=due)


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
