"""A question about hardware and its answer, as records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from planner.compare._assumptions import Assumptions, Electricity
from planner.core import Estimate, Floats, Refusal
from planner.job import Candidate, Goal, Job, Known, Order, Timed


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of an answer, and the order of its options.

    `deadline_s` counts from the start of the work [s]. `budget_usd` is the money to be paid so
    that the job is done [USD]: a purchase counts whole. `cost_limit_usd` is for the cost of one run
    [USD], of which a purchase pays only its share.
    """

    order: Order = "cost"
    deadline_s: float | None = None
    budget_usd: float | None = None
    cost_limit_usd: float | None = None

    @property
    def limited(self) -> bool:
        """Whether there is a deadline, a budget or a cost limit."""
        return self.deadline_s is not None or self.limits_money

    @property
    def limits_money(self) -> bool:
        """Whether there is a budget or a cost limit."""
        return self.budget_usd is not None or self.cost_limit_usd is not None


CHEAPEST: Final = Limits()
USUAL: Final = Assumptions()
NOTHING: Final = Known()


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """Draws of one candidate: work on the hardware [s], wall time [s], cost of a run [USD].

    Shape (DRAWS,) each. `to_pay` is the money to be paid for the job [USD], see `to_pay_draws` of
    `planner.compare.evaluation`; it and `cost` are None where unknown. `machines` is the number
    used or bought, `other_hours_per_month` the other work of bought ones [h]. `parts` are the
    uncertainties of the work by name, see `planner.job._times`.
    """

    work_s: Floats
    wall_s: Floats
    cost: Floats | None
    to_pay: Floats | None = None
    machines: int = 1
    other_hours_per_month: float = 0.0
    parts: Mapping[str, Floats] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Time, cost and rank of one candidate; `time` or `cost` is a refusal where unknown.

    `time` [s] is from the first rented second to the last; `cost` and `cost_per_month` in USD;
    `to_pay` [USD] is the money to be paid for the job, None where unknown; tied options share a
    `rank`. Probabilities are shares [0..1], None where they do not apply. `in_time` is for all
    limits together. `cheapest` and `fastest` are among the options that meet the limits; their
    sum is below 1 by the probability that none does.
    """

    candidate: Candidate
    timed: Timed
    time: Estimate | Refusal
    cost: Estimate | Refusal
    to_pay: Estimate | None = None
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
    """A question: job, amount of training, measurements, assumptions and limits.

    `electricity` is the country's where one is chosen; `notes` are further sentences on
    assumptions and on options that are left out.
    """

    job: Job
    goal: Goal
    measurements: Known = NOTHING
    assumed: Assumptions = USUAL
    limits: Limits = CHEAPEST
    electricity: Electricity | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All candidates, best first, those without an answer last."""

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


def by_id(rows: Sequence[Row]) -> Mapping[str, Row]:
    """Return rows by candidate id."""
    return {r.candidate.id: r for r in rows}
