"""Time and cost of each candidate, and the probability of their order.

Times and prices are drawn together, `planner.cost.DRAWS` times with one seed. An input that two
candidates share (an accelerator's time, a tariff) moves both and cancels. Every number of the
comparison comes from those draws: medians, 90 % intervals, and the probabilities of being the
cheapest, the fastest, or in time.

    planner.compare.comparison   question and answer as records
    planner.compare.ranking      probabilities and ranks
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from planner.compare._assumptions import Assumptions, machine_of, years_committed
from planner.compare.comparison import (
    CHEAPEST,
    NOTHING,
    USUAL,
    Comparison,
    Drawn,
    Limits,
    Question,
    Row,
    by_id,
)
from planner.compare.ranking import DECIDED, LIKELY_IN_TIME, better, ranked, standing
from planner.core import LEVEL, Basis, Estimate, Floats, Refusal, Text, or_refusal
from planner.cost import (
    HOURS_PER_MONTH,
    HOURS_PER_YEAR,
    capex,
    co2_kg,
    draw_record,
    energy_kwh,
    energy_only_per_run,
    likely,
    own_per_run,
    quantiles,
    rent_per_run,
    utilisation_of,
    wall_s,
)
from planner.epochs import START_NOT_INCLUDED, from_epoch_1, start_left_out
from planner.job import Candidate, Fit, Job, Timed, parts_of, timed, work_draws


def row_of(question: Question, candidate: Candidate) -> Row:
    """Return time and cost of a candidate; a refusal where unknown or endless."""
    assumed = question.assumed
    timing = timed(question.job, question.goal, candidate, question.measurements)
    if isinstance(timing.total, Refusal):
        return Row(candidate=candidate, timed=timing, time=timing.total, cost=timing.total)
    if not math.isfinite(float(timing.total.high)):
        refused = Refusal(reason="The time has no upper bound.", measure_next=timing.measure_next)
        return Row(candidate=candidate, timed=timing, time=refused, cost=refused)
    drawn = _drawn(question.job, candidate, timing, timing.total, assumed)
    basis, reasons = timing.total.basis, timing.total.reasons
    time = quantiles(drawn.wall_s, level=LEVEL, basis=basis, reasons=reasons)
    if not math.isfinite(float(time.value)):
        refused = Refusal(
            reason="At so many interruptions an hour a run never ends.",
            measure_next="Save checkpoints more often, or rent what is not interrupted.",
        )
        return Row(candidate=candidate, timed=timing, time=refused, cost=refused)
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
        cost_per_month=_monthly(cost, assumed),
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


def _drawn(
    job: Job, candidate: Candidate, timing: Timed, total: Estimate, assumed: Assumptions
) -> Drawn:
    """Return draws of time, cost and money to be paid of one candidate."""
    parts = parts_of(job, candidate, timing, total)
    work = work_draws(total, parts, timing.least_s)
    if candidate.rental is not None:
        wall = wall_s(draw_record(candidate.rental, candidate.id), work)
        return Drawn(
            work_s=work,
            wall_s=wall,
            cost=cost_draws(candidate, work, assumed),
            to_pay=to_pay_draws(candidate, work, assumed),
            parts=parts,
        )
    busy = float(np.median(busy_share(work, assumed)))
    machines = max(math.ceil(busy - 1e-9), 1) if candidate.way == "buy" else 1
    cost = cost_draws(candidate, work, assumed, machines)
    return Drawn(
        work_s=work,
        wall_s=work,
        cost=cost,
        to_pay=to_pay_draws(candidate, work, assumed, machines),
        machines=machines,
        other_hours_per_month=assumed.other_hours_per_month,
        parts=parts,
    )


def _cost(candidate: Candidate, drawn: Drawn, basis: Basis) -> Estimate | Refusal:
    if drawn.cost is None:
        return Refusal(
            reason=Text(
                "The power of {hardware} is unknown, and so is its cost of electricity.",
                hardware=candidate.hardware.label,
            ),
            measure_next="Measure its power at the plug, or add its data sheet.",
        )
    return quantiles(drawn.cost, basis=basis)


def _monthly(cost: Estimate | Refusal, assumed: Assumptions) -> Estimate | None:
    """Return the cost of a month's runs [USD]; None where unknown."""
    if isinstance(cost, Refusal):
        return None
    value, low, high = (
        float(x) * assumed.runs_per_month for x in (cost.value, cost.low, cost.high)
    )
    return replace(cost, value=value, low=low, high=high)


__all__ = [
    "CHEAPEST",
    "DECIDED",
    "LIKELY_IN_TIME",
    "NOTHING",
    "USUAL",
    "Comparison",
    "Drawn",
    "Limits",
    "Question",
    "Row",
    "better",
    "busy_share",
    "by_id",
    "compare",
    "cost_draws",
    "standing",
]


def compare(question: Question, candidates: Sequence[Candidate]) -> Comparison:
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
    return without or (run is not None and not run.run.start_known)


def _row(question: Question, candidate: Candidate) -> Row:
    """Return time and cost of one candidate; bad numbers refuse this candidate alone."""
    row = or_refusal(candidate.label, lambda: row_of(question, candidate))
    if isinstance(row, Row):
        return row
    fit = Fit(fits=None, need_bytes=None, have_bytes=None, at_least=False, sentence="Unknown.")
    refused = Timed(total=row, batch=None, fit=fit)
    return Row(candidate=candidate, timed=refused, time=row, cost=row)
