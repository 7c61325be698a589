"""Time and cost of each candidate, and the probability of their order.

Times and prices are drawn together, `planner.cost.DRAWS` times with one seed. An input that two
candidates share (an accelerator's time, a tariff) moves both and cancels. Every number of the
comparison comes from those draws: medians, 90 % intervals, and the probabilities of being the
cheapest, the fastest, or in time.

Without limits (a deadline, a budget, a cost limit), an option is better than another in the share
of the draws where it costs (takes) less. With limits, missing one counts as an infinite cost:

    better(a, b) = P(a costs less | a or b meets the limits)

Draws where both miss are left out. So of two offers of one machine the cheaper one is better,
whatever the deadline. For two options this is the ratio of their `Row.cheapest`. Where neither is
likely to meet the limits, they are compared without limits.

    rank       options above `LIKELY_IN_TIME` first, then those that cannot be checked, then the
               others; within each by the median, with a miss counted as infinite
    tied       no earlier option of the group is better in `DECIDED` of those draws, so the 90 %
               interval of their ratio includes 1; the first that is not tied begins a new group
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from planner.compare._assumptions import Assumptions, machine_of, years_committed
from planner.compare.comparison import (
    CompareQuestion,
    Comparison,
    Limits,
    Row,
    RowDraws,
)
from planner.core import LEVEL, Basis, Estimate, Floats, Refusal, Text, or_refusal
from planner.cost import (
    DRAWS,
    HOURS_PER_MONTH,
    HOURS_PER_YEAR,
    capex,
    co2_kg,
    draw_record,
    energy_kwh,
    energy_only_per_run,
    likely,
    own_per_run,
    probability_least,
    quantiles,
    rent_per_run,
    utilisation_of,
    wall_s,
)
from planner.epochs import START_NOT_INCLUDED, from_epoch_1, start_left_out
from planner.job import Candidate, MemoryFit, Order, Timed, parts_of, timed, work_draws

DECIDED: Final = 0.95
LIKELY_IN_TIME: Final = 0.5
Standing = Literal["keeps", "not known", "misses"]
STANDINGS: Final[tuple[Standing, ...]] = ("keeps", "not known", "misses")
"""Classes by the limits, best first; "keeps" without limits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    """A row with `kept` (DRAWS,), draws that meet the limits; None without limits or unknown."""

    row: Row
    kept: NDArray[np.bool_] | None
    in_time: float | None
    standing: Standing


def better(a: Row, b: Row, limits: Limits) -> float:
    """Return the probability that `a` is cheaper (faster) than `b` within the limits [0..1].

    See the module's text. Ties count half, so better(a, b) + better(b, a) = 1. An unknown value is
    never better.
    """
    return _better(_judged(a, limits), _judged(b, limits), limits)


def standing(row: Row, limits: Limits) -> Standing:
    """Return the class of an option by its probability of meeting the limits."""
    return _judged(row, limits).standing


def ranked(rows: Sequence[Row], limits: Limits) -> tuple[Row, ...]:
    """Return the rows, best first, with ranks, probabilities and frontier."""
    judged = _with_probabilities([_judged(r, limits) for r in rows], limits)
    valued = [j for j in judged if _value(j.row, limits.order) is not None]
    valued.sort(key=lambda j: _place(j, limits))
    rest = [j.row for j in judged if _value(j.row, limits.order) is None]
    rest.sort(key=lambda r: (isinstance(r.time, Refusal), r.candidate.id))
    ordered = [replace(j.row, rank=n) for j, n in zip(valued, _ranks(valued, limits), strict=True)]
    shared = {r.rank for r in ordered if sum(o.rank == r.rank for o in ordered) > 1}
    return tuple(replace(r, tied=r.rank in shared) for r in ordered) + tuple(rest)


def chance_to_meet(row: Row, limits: Limits) -> float | None:
    """Return the share of the draws that meet all limits [0..1].

    None without limits, or where they cannot be checked: a budget and an unknown cost.
    """
    kept = _kept(row, limits)
    return None if kept is None else float(np.count_nonzero(kept) / kept.size)


def _ranks(ordered: Sequence[_Judged], limits: Limits) -> list[int]:
    """Return the ranks of sorted options; a group ends where one of it is decidedly better."""
    ranks: list[int] = []
    group: list[_Judged] = []
    for place, option in enumerate(ordered, start=1):
        joins = bool(group) and option.standing == group[0].standing
        if joins and all(_better(before, option, limits) < DECIDED for before in group):
            group.append(option)
        else:
            group = [option]
        ranks.append(place - len(group) + 1)
    return ranks


def _judged(row: Row, limits: Limits) -> _Judged:
    if not limits.limited:
        return _Judged(row=row, kept=None, in_time=None, standing="keeps")
    kept, share = _kept(row, limits), chance_to_meet(row, limits)
    if kept is None or share is None:
        return _Judged(row=row, kept=None, in_time=None, standing="not known")
    place: Standing = "keeps" if share >= LIKELY_IN_TIME else "misses"
    return _Judged(row=row, kept=kept, in_time=share, standing=place)


def _better(a: _Judged, b: _Judged, limits: Limits) -> float:
    limited = limits.limited and "keeps" in (a.standing, b.standing)
    first, second = (_within(j, limits) if limited else _draws(j.row, limits.order) for j in (a, b))
    if first is None or second is None:
        return 0.5 if first is second else float(second is None)
    less, more = np.count_nonzero(first < second), np.count_nonzero(first > second)
    equal = first == second
    ties = np.count_nonzero(equal & np.isfinite(first) if limited else equal)
    return float((less + 0.5 * ties) / (less + more + ties))


def _with_probabilities(every: Sequence[_Judged], limits: Limits) -> list[_Judged]:
    cheapest = _least(every, "cost", limits)
    fastest = _least(every, "time", limits)
    front = _frontier([j.row for j in every])
    return [replace(j, row=replace(
        j.row,
        cheapest=cheapest.get(j.row.candidate.id),
        fastest=fastest.get(j.row.candidate.id),
        in_time=j.in_time,
        on_frontier=j.row.candidate.id in front,
    )) for j in every]  # fmt: skip


def _least(every: Sequence[_Judged], order: Order, limits: Limits) -> dict[str, float]:
    """Return by id the probability of being the cheapest (fastest) that meets the limits."""
    by_order, draws_by_id = replace(limits, order=order), {}
    for option in every:
        draws = _within(option, by_order)
        if draws is not None and option.standing != "not known":
            draws_by_id[option.row.candidate.id] = draws
    if not draws_by_id:
        return {}
    table = np.stack(list(draws_by_id.values()))
    some = np.isfinite(table).any(axis=0)  # where none meets the limits, none is the cheapest
    if not some.any():
        return dict.fromkeys(draws_by_id, 0.0)
    shares = probability_least(table if some.all() else table[:, some]) * some.mean()
    return {name: float(p) for name, p in zip(draws_by_id, shares, strict=True)}


def _frontier(rows: Sequence[Row]) -> frozenset[str]:
    """Return ids of options that no other beats in both time and cost, by medians."""
    points = [
        (r.candidate.id, float(r.time.value), float(r.cost.value))
        for r in rows
        if isinstance(r.time, Estimate) and isinstance(r.cost, Estimate)
    ]
    return frozenset(
        name
        for name, time, cost in points
        if not any(t <= time and c <= cost and (t, c) != (time, cost) for _, t, c in points)
    )


def _kept(row: Row, limits: Limits) -> NDArray[np.bool_] | None:
    """Return which draws meet all limits, shape (DRAWS,); None as in `chance_to_meet`."""
    if not limits.limited or row.drawn is None:
        return None
    kept: NDArray[np.bool_] = np.ones(DRAWS, dtype=bool)
    if limits.deadline_s is not None:
        kept &= row.drawn.wall_s <= limits.deadline_s
    paid = ((row.drawn.to_pay, limits.budget_usd), (row.drawn.cost, limits.cost_limit_usd))
    for draws, most in paid:
        if most is None:
            continue
        if draws is None:
            return None
        kept &= draws <= most
    return kept


def _within(option: _Judged, limits: Limits) -> Floats | None:
    """Return draws of cost or time, infinite where limits are missed; None where unknown."""
    draws = _draws(option.row, limits.order)
    if draws is None or not limits.limited or option.in_time == 1.0:
        return draws
    return np.full(DRAWS, np.inf) if option.kept is None else np.where(option.kept, draws, np.inf)


def _place(option: _Judged, limits: Limits) -> tuple[int, float, str]:
    """Return the sort key: class, median, id; a miss of the limits counts as infinite."""
    place, name = STANDINGS.index(option.standing), option.row.candidate.id
    middle = _value(option.row, limits.order) or 0.0
    draws = _within(option, limits)
    if draws is not None and option.standing == "keeps" and option.in_time not in (None, 1.0):
        lower = (draws.size - 1) // 2
        middle = float(np.partition(draws, lower)[lower])
    return place, middle, name


def _value(row: Row, order: Order) -> float | None:
    estimate = row.cost if order == "cost" else row.time
    return None if isinstance(estimate, Refusal) else float(estimate.value)


def _draws(row: Row, order: Order) -> Floats | None:
    if row.drawn is None:
        return None
    return row.drawn.cost if order == "cost" else row.drawn.wall_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Worked:
    """A job on hardware, however that is paid for.

    total: the time [s], a refusal where it is unknown or endless.
    work_s: draws of the uninterrupted time, shape (DRAWS,) [s]; `parts` those of its factors.
    """

    timed: Timed
    total: Estimate | Refusal
    work_s: Floats
    parts: dict[str, Floats]


def worked(question: CompareQuestion, candidate: Candidate) -> Worked:
    """Return the time of the job on the candidate's hardware: its price does not matter."""
    timing = timed(question.job, question.goal, candidate, question.measurements)
    total = timing.total
    if isinstance(total, Estimate) and not math.isfinite(float(total.high)):
        total = Refusal(reason="The time has no upper bound.", measure_next=timing.measure_next)
    if isinstance(total, Refusal):
        return Worked(timed=timing, total=total, work_s=np.zeros(0), parts={})
    parts = parts_of(question.job, candidate, timing, total)
    work = work_draws(total, parts, timing.least_s)
    return Worked(timed=timing, total=total, work_s=work, parts=parts)


def wall_draws(candidate: Candidate, work_s: Floats) -> Floats:
    """Return draws of the time from start to end [s], with a rental's start and interruptions."""
    if candidate.rental is None:
        return work_s
    return wall_s(draw_record(candidate.rental, candidate.id), work_s)


def wall_time(total: Estimate, wall: Floats) -> Estimate | Refusal:
    """Return the time from start to end [s]; a refusal where a run never ends."""
    time = quantiles(wall, level=LEVEL, basis=total.basis, reasons=total.reasons)
    if math.isfinite(float(time.value)):
        return time
    return Refusal(
        reason="At so many interruptions an hour a run never ends.",
        measure_next="Save checkpoints more often, or rent what is not interrupted.",
    )


def row_of(question: CompareQuestion, candidate: Candidate) -> Row:
    """Return time and cost of a candidate; a refusal where unknown or endless."""
    assumed = question.assumed
    done = worked(question, candidate)
    timing, total = done.timed, done.total
    if isinstance(total, Refusal):
        return Row(candidate=candidate, timed=timing, time=total, cost=total)
    drawn, basis = _drawn(candidate, done, assumed), total.basis
    time = wall_time(total, drawn.wall_s)
    if isinstance(time, Refusal):
        return Row(candidate=candidate, timed=timing, time=time, cost=time)
    machine = draw_record(machine_of(candidate.hardware, 0.0, assumed), candidate.id)
    powered = candidate.hardware.power_watts is not None
    carbon = powered and assumed.kg_co2_per_kwh is not None
    cost = _cost(candidate, drawn, basis)
    return Row(
        candidate=candidate,
        timed=timing,
        time=time,
        cost=cost,
        to_pay=None if drawn.to_pay is None else quantiles(drawn.to_pay, basis=basis),
        cost_per_month=None if isinstance(cost, Refusal) else cost.scaled(assumed.runs_per_month),
        energy_kwh=quantiles(energy_kwh(machine, drawn.wall_s), basis=basis) if powered else None,
        co2_kg=quantiles(co2_kg(machine, drawn.wall_s), basis=basis) if carbon else None,
        machines=drawn.machines,
        drawn=drawn,
    )


def cost_draws(
    candidate: Candidate, work_s: Floats, assumed: Assumptions, machines: int = 1
) -> Floats | None:
    """Return draws of the cost of a run [USD]; None where unknown.

    Args:
        candidate: with ranges of uncertain inputs, or arrays of draws in their place.
        work_s: draws of the time on its hardware [s].
        assumed: how often the run is repeated.
        machines: number that share the work.
    """
    if candidate.rental is not None:
        drawn = draw_record(candidate.rental, candidate.id)
        return rent_per_run(drawn, work_s, assumed.runs_per_month)
    if candidate.owned is None or (candidate.way == "own" and not candidate.hardware.power_watts):
        return None
    owned = draw_record(candidate.owned, candidate.id)
    if candidate.way == "own":
        return energy_only_per_run(owned, work_s)
    share = np.clip(busy_share(work_s, assumed) / machines, 0.0, 1.0)
    return own_per_run(owned, work_s, share)


def to_pay_draws(
    candidate: Candidate, work_s: Floats, assumed: Assumptions, machines: int = 1
) -> Floats | None:
    """Return draws of the money to be paid for the job [USD]; None where unknown.

    Rented: the bill of the job; for a reservation, all its hours. Bought: the price of all
    machines with host and network, and the electricity of the job. Already owned: electricity.

    Arguments as `cost_draws`.
    """
    if candidate.rental is not None:
        drawn = draw_record(candidate.rental, candidate.id)
        hours = HOURS_PER_YEAR * years_committed(candidate.offer)
        once = rent_per_run(replace(drawn, committed_hours_per_month=0.0), work_s)
        around = likely(drawn.setup_usd) + likely(drawn.egress_usd)
        return np.asarray(np.maximum(once, likely(drawn.price_per_hour) * hours + around))
    if candidate.way == "own" or candidate.owned is None:
        return cost_draws(candidate, work_s, assumed)
    owned = draw_record(candidate.owned, candidate.id)
    return np.asarray(machines * capex(owned) + energy_only_per_run(owned, work_s))


def busy_share(work_s: Floats, assumed: Assumptions) -> Floats:
    """Return the number of machines that the runs of a month and other work keep busy."""
    other = assumed.other_hours_per_month / HOURS_PER_MONTH
    return np.asarray(utilisation_of(work_s, assumed.runs_per_month) + other)


def _drawn(candidate: Candidate, done: Worked, assumed: Assumptions) -> RowDraws:
    """Return draws of time, cost and money to be paid of one candidate."""
    parts, work = done.parts, done.work_s
    if candidate.rental is not None:
        return RowDraws(
            work_s=work,
            wall_s=wall_draws(candidate, work),
            cost=cost_draws(candidate, work, assumed),
            to_pay=to_pay_draws(candidate, work, assumed),
            parts=parts,
        )
    busy = float(np.median(busy_share(work, assumed)))
    machines = max(math.ceil(busy - 1e-9), 1) if candidate.way == "buy" else 1
    cost = cost_draws(candidate, work, assumed, machines)
    return RowDraws(
        work_s=work,
        wall_s=work,
        cost=cost,
        to_pay=to_pay_draws(candidate, work, assumed, machines),
        machines=machines,
        other_hours_per_month=assumed.other_hours_per_month,
        parts=parts,
    )


def _cost(candidate: Candidate, drawn: RowDraws, basis: Basis) -> Estimate | Refusal:
    if drawn.cost is None:
        return Refusal(
            reason=Text(
                "The power of {hardware} is unknown, and so is its cost of electricity.",
                hardware=candidate.hardware.label,
            ),
            measure_next="Measure its power at the plug, or add its data sheet.",
        )
    return quantiles(drawn.cost, basis=basis)


def compare(question: CompareQuestion, candidates: Sequence[Candidate]) -> Comparison:
    """Rank the candidates for a job.

    Raises:
        ValueError: there is no candidate.
    """
    if not candidates:
        raise ValueError("There is nothing to compare. Choose at least one option.")
    rows = [_row(question, c) for c in candidates]
    if no_start := _without_start(rows):
        question = replace(
            question,
            job=replace(question.job, pre_train_s=0.0),
            notes=(*question.notes, start_left_out(no_start)),
        )
        alike = [c if c.run is None else replace(c, run=from_epoch_1(c.run)) for c in candidates]
        rows = [_row(question, c) for c in alike]
    return Comparison(question=question, rows=ranked(rows, question.limits))


def _without_start(rows: Sequence[Row]) -> tuple[str, ...]:
    """Return labels of options without a start-up time; () where all or none state one."""
    answered = [r for r in rows if isinstance(r.timed.total, Estimate)]
    lacking = tuple(r.candidate.label for r in answered if _states_no_start(r))
    return lacking if len(lacking) < len(answered) else ()


def _states_no_start(row: Row) -> bool:
    total, run = row.timed.total, row.candidate.run
    without = isinstance(total, Estimate) and START_NOT_INCLUDED in total.reasons
    return without or (run is not None and not run.run.has_start)


def _row(question: CompareQuestion, candidate: Candidate) -> Row:
    """Return time and cost of one candidate; bad numbers refuse this candidate alone."""
    row = or_refusal(candidate.label, lambda: row_of(question, candidate))
    if isinstance(row, Row):
        return row
    fit = MemoryFit(
        fits=None, need_bytes=None, have_bytes=None, at_least=False, sentence="Unknown."
    )
    refused = Timed(total=row, batch=None, fit=fit)
    return Row(candidate=candidate, timed=refused, time=row, cost=row)
