"""What would each candidate take and cost, and how sure is their order?

Times and prices are drawn together, `planner.cost.DRAWS` times with one seed, so that what two
candidates share (the same accelerator's time, one tariff) moves both and decides nothing. Every
number of the comparison is read off those draws: medians, 90 % intervals, and the probabilities
to be the cheapest, the fastest, or in time. Two candidates are ranked only where one is better in
`DECIDED` of the draws, which is where the 90 % interval of their ratio leaves 1 out.

    rent   wall time = start-up + work + interruptions; billed by the hour
    buy    a month of the machine's price, capital and upkeep, shared by the runs of a month, and
           electricity; so many machines as the runs of a month keep busy
    own    electricity
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from planner.compare.assumptions import Assumptions
from planner.compare.drawn_times import parts_of, work_draws
from planner.compare.electricity import Electricity
from planner.compare.priced import machine_of
from planner.compare.records import Candidate, Goal, Job, Order, Timed
from planner.compare.times import Known, timed
from planner.cost import (
    HOURS_PER_MONTH,
    co2_kg,
    draw_record,
    energy_kwh,
    energy_only_per_run,
    own_per_run,
    probability_before,
    probability_cheapest,
    quantiles,
    rent_per_run,
    utilisation_of,
    wall_s,
)
from planner.cost.draws import DRAWS
from planner.estimate import LEVEL, Basis, Estimate, Floats, Refusal

DECIDED: Final = 0.95
LIKELY_IN_TIME: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What an answer has to keep to, and what it is ranked by.

    `deadline_s` counts from the start of the work [s], `budget_usd` is for one run [USD].
    """

    order: Order = "cost"
    deadline_s: float | None = None
    budget_usd: float | None = None


CHEAPEST: Final = Wanted()
USUAL: Final = Assumptions()
NOTHING: Final = Known()


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """Draws of one candidate: work on the hardware [s], from start to end [s], cost of a run [USD].

    Shape (DRAWS,) each; `cost` is None where nobody knows it. `machines` are bought or used,
    `other_hours_per_month` is the other work of those that are bought [h].
    `parts` are the doubts of the work by name, see `planner.compare.drawn_times`.
    """

    work_s: Floats
    wall_s: Floats
    cost: Floats | None
    machines: int = 1
    other_hours_per_month: float = 0.0
    parts: Mapping[str, Floats] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What one candidate would take; `time` or `cost` is a refusal where it is not known.

    `time` [s] is from the first rented second to the last; `cost` and `cost_per_month` in USD;
    `rank` is shared by those whose order is not decided. Probabilities are shares [0..1], None
    where the question does not arise. `in_time` is for deadline and budget together; `cheapest`
    and `fastest` are among those that keep to them: the rest of 1 is that none does.
    """

    candidate: Candidate
    timed: Timed
    time: Estimate | Refusal
    cost: Estimate | Refusal
    cost_per_month: Estimate | None = None
    energy_kwh: Estimate | None = None
    co2_kg: Estimate | None = None
    cheapest: float | None = None
    fastest: float | None = None
    in_time: float | None = None
    rank: int | None = None
    tied: bool = False
    on_frontier: bool = False
    machines: int = 1
    drawn: Drawn | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked: which job, how much of it, what is known and assumed, what is wanted.

    `electricity` is the country's where one is chosen; `notes` are further sentences on what was
    assumed or left out.
    """

    job: Job
    goal: Goal
    known: Known = NOTHING
    assumed: Assumptions = USUAL
    wanted: Wanted = CHEAPEST
    electricity: Electricity | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All candidates, the best first, those without an answer last."""

    question: Question
    rows: tuple[Row, ...]

    @property
    def answered(self) -> tuple[Row, ...]:
        """Rows that have a rank."""
        return tuple(r for r in self.rows if r.rank is not None)

    @property
    def leader(self) -> Row | None:
        """The first in rank, whether decided or not."""
        return next(iter(self.answered), None)


def compare(question: Question, candidates: Sequence[Candidate]) -> Comparison:
    """Rank the candidates for a job.

    Raises:
        ValueError: there is no candidate.
    """
    if not candidates:
        raise ValueError("There is nothing to compare. Choose at least one option.")
    rows = [_row(question, c) for c in candidates]
    return Comparison(question=question, rows=_ranked(rows, question.wanted))


def cost_draws(
    candidate: Candidate, work_s: Floats, assumed: Assumptions, machines: int = 1
) -> Floats | None:
    """Draws of the cost of a run [USD]; None where it is not known.

    Args:
        candidate: with ranges for what is uncertain, or arrays of draws in their place.
        work_s: draws of the time on its hardware [s].
        assumed: how often such a run is wanted.
        machines: that share the work.
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


def busy_share(work_s: Floats, assumed: Assumptions) -> Floats:
    """Machines kept busy by the runs of a month and the other work [1]; above 1 it takes more."""
    other = assumed.other_hours_per_month / HOURS_PER_MONTH
    return np.asarray(utilisation_of(work_s, assumed.runs_per_month) + other)


def better(a: Row, b: Row, order: Order) -> float:
    """Probability that `a` is cheaper (faster) than `b` [0..1], ties shared."""
    first, second = _draws(a, order), _draws(b, order)
    if first is None or second is None:
        return 1.0 if second is None else 0.0
    return float(probability_cheapest(np.stack([first, second]))[0])


def _row(question: Question, candidate: Candidate) -> Row:
    found, assumed = timed(question.job, question.goal, candidate, question.known), question.assumed
    if isinstance(found.total, Refusal):
        return Row(candidate=candidate, timed=found, time=found.total, cost=found.total)
    if not math.isfinite(float(found.total.high)):
        refused = Refusal(
            reason="Nothing says how long it takes at most.", measure_next=found.measure_next
        )
        return Row(candidate=candidate, timed=found, time=refused, cost=refused)
    drawn = _drawn(question.job, candidate, found, found.total, assumed)
    basis, reasons = found.total.basis, found.total.reasons
    time = quantiles(drawn.wall_s, level=LEVEL, basis=basis, reasons=reasons)
    if not math.isfinite(float(time.value)):
        refused = Refusal(
            reason="At so many interruptions an hour a run never ends.",
            measure_next="Save checkpoints more often, or rent what is not interrupted.",
        )
        return Row(candidate=candidate, timed=found, time=refused, cost=refused)
    machine = draw_record(machine_of(candidate.hardware, 0.0, assumed), candidate.id)
    powered = candidate.hardware.power_watts is not None
    carbon = powered and assumed.kg_co2_per_kwh is not None
    return Row(
        candidate=candidate,
        timed=found,
        time=time,
        cost=_cost(candidate, drawn, basis),
        cost_per_month=_monthly(drawn, assumed, basis),
        energy_kwh=quantiles(energy_kwh(machine, drawn.wall_s), basis=basis) if powered else None,
        co2_kg=quantiles(co2_kg(machine, drawn.wall_s), basis=basis) if carbon else None,
        machines=drawn.machines,
        drawn=drawn,
    )


def _drawn(
    job: Job, candidate: Candidate, found: Timed, total: Estimate, assumed: Assumptions
) -> Drawn:
    """The same hardware takes the same time, whoever pays."""
    parts = parts_of(job, candidate, found, total)
    work = work_draws(total, parts)
    if candidate.rental is not None:
        wall = wall_s(draw_record(candidate.rental, candidate.id), work)
        cost = cost_draws(candidate, work, assumed)
        return Drawn(work_s=work, wall_s=wall, cost=cost, parts=parts)
    busy = float(np.median(busy_share(work, assumed)))
    machines = max(math.ceil(busy - 1e-9), 1) if candidate.way == "buy" else 1
    cost = cost_draws(candidate, work, assumed, machines)
    return Drawn(
        work_s=work,
        wall_s=work,
        cost=cost,
        machines=machines,
        other_hours_per_month=assumed.other_hours_per_month,
        parts=parts,
    )


def _cost(candidate: Candidate, drawn: Drawn, basis: Basis) -> Estimate | Refusal:
    if drawn.cost is None:
        return Refusal(
            reason=f"The power of {candidate.hardware.label} is not known, so neither is the "
            "electricity it takes.",
            measure_next="Measure its power at the plug, or add its data sheet.",
        )
    return quantiles(drawn.cost, basis=basis)


def _monthly(drawn: Drawn, assumed: Assumptions, basis: Basis) -> Estimate | None:
    if drawn.cost is None:
        return None
    return quantiles(drawn.cost * assumed.runs_per_month, basis=basis)


def _ranked(rows: Sequence[Row], wanted: Wanted) -> tuple[Row, ...]:
    """Best first with ranks, probabilities and frontier filled in."""
    told = _with_probabilities(rows, wanted)
    known = [r for r in told if _value(r, wanted.order) is not None]
    known.sort(key=lambda r: (_misses(r), _value(r, wanted.order) or 0.0, r.candidate.id))
    rest = [r for r in told if _value(r, wanted.order) is None]
    rest.sort(key=lambda r: (isinstance(r.time, Refusal), r.candidate.id))
    ranked, head, rank = [], None, 0
    for place, row in enumerate(known, start=1):
        apart = head is None or _misses(row) != _misses(head)
        if apart or better(head or row, row, wanted.order) >= DECIDED:
            head, rank = row, place
        ranked.append(replace(row, rank=rank))
    shared = {r.rank for r in ranked if sum(o.rank == r.rank for o in ranked) > 1}
    return tuple(replace(r, tied=r.rank in shared) for r in ranked) + tuple(rest)


def _with_probabilities(rows: Sequence[Row], wanted: Wanted) -> list[Row]:
    cheapest = _least(rows, "cost", wanted)
    fastest = _least(rows, "time", wanted)
    front = _frontier(rows)
    return [
        replace(
            row,
            cheapest=cheapest.get(row.candidate.id),
            fastest=fastest.get(row.candidate.id),
            in_time=_in_time(row, wanted),
            on_frontier=row.candidate.id in front,
        )
        for row in rows
    ]


def _least(rows: Sequence[Row], order: Order, wanted: Wanted) -> dict[str, float]:
    """Probability of each to be the cheapest (fastest) of those known to keep the limits."""
    limited = wanted.deadline_s is not None or wanted.budget_usd is not None
    known: dict[str, Floats] = {}
    for row in rows:
        draws, kept = _draws(row, order), _kept(row, wanted)
        if draws is not None and not (limited and kept is None):
            known[row.candidate.id] = draws if kept is None else np.where(kept, draws, np.inf)
    if not known:
        return {}
    every = np.stack(list(known.values()))
    some = np.isfinite(every).any(axis=0)  # where none keeps the limits, none is the cheapest
    if not some.any():
        return dict.fromkeys(known, 0.0)
    shares = probability_cheapest(every[:, some]) * some.mean()
    return {name: float(p) for name, p in zip(known, shares, strict=True)}


def _frontier(rows: Sequence[Row]) -> frozenset[str]:
    """Those that none beats in both time and cost, by their medians."""
    known = [
        (r.candidate.id, float(r.time.value), float(r.cost.value))
        for r in rows
        if isinstance(r.time, Estimate) and isinstance(r.cost, Estimate)
    ]
    return frozenset(
        name
        for name, time, cost in known
        if not any(t <= time and c <= cost and (t, c) != (time, cost) for _, t, c in known)
    )


def _in_time(row: Row, wanted: Wanted) -> float | None:
    """Probability to keep to deadline and budget; None where neither is asked for or known."""
    kept = _kept(row, wanted)
    return None if kept is None else float(probability_before(np.where(kept, 0.0, 1.0), 0.5))


def _kept(row: Row, wanted: Wanted) -> NDArray[np.bool_] | None:
    """Draws that keep to deadline and budget, shape (DRAWS,); None as in `_in_time`."""
    if (wanted.deadline_s is None and wanted.budget_usd is None) or row.drawn is None:
        return None
    kept: NDArray[np.bool_] = np.ones(DRAWS, dtype=bool)
    if wanted.deadline_s is not None:
        kept &= row.drawn.wall_s <= wanted.deadline_s
    if wanted.budget_usd is not None:
        if row.drawn.cost is None:
            return None
        kept &= row.drawn.cost <= wanted.budget_usd
    return kept


def _misses(row: Row) -> bool:
    """Whether it more likely misses the deadline or the budget than not."""
    return row.in_time is not None and row.in_time < LIKELY_IN_TIME


def _value(row: Row, order: Order) -> float | None:
    told = row.cost if order == "cost" else row.time
    return None if isinstance(told, Refusal) else float(told.value)


def _draws(row: Row, order: Order) -> Floats | None:
    if row.drawn is None:
        return None
    return row.drawn.cost if order == "cost" else row.drawn.wall_s


def by_id(rows: Sequence[Row]) -> Mapping[str, Row]:
    """Rows by their candidate's id."""
    return {r.candidate.id: r for r in rows}
