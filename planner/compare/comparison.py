"""A question about hardware and its answer, as records; their labels and amounts in words."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from planner.compare._assumptions import Assumptions, Electricity
from planner.core import Estimate, Floats, Refusal, Text, listed_words, plain, plural, several
from planner.cost import DOLLARS, Display, price
from planner.epochs import basis_in_words
from planner.job import Candidate, Goal, Job, Order, Timed, TimeSources


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
NOTHING: Final = TimeSources()


@dataclass(frozen=True, slots=True, kw_only=True)
class RowDraws:
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
    drawn: RowDraws | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareQuestion:
    """A question: job, amount of training, measurements, assumptions and limits.

    `electricity` is the country's where one is chosen; `notes` are further sentences on
    assumptions and on options that are left out.
    """

    job: Job
    goal: Goal
    measurements: TimeSources = NOTHING
    assumed: Assumptions = USUAL
    limits: Limits = CHEAPEST
    electricity: Electricity | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All candidates, best first, those without an answer last."""

    question: CompareQuestion
    rows: tuple[Row, ...]

    @property
    def answered(self) -> tuple[Row, ...]:
        """Rows that have a rank."""
        return tuple(r for r in self.rows if r.rank is not None)

    @property
    def leader(self) -> Row | None:
        """The first in rank, whether decided or not."""
        return next(iter(self.answered), None)

    def runs_in(self, per: str) -> float:
        """Return the runs in a "run", a "month" or an "epoch"."""
        if per == "month":
            return self.question.assumed.runs_per_month
        return 1.0 / (self.question.goal.epochs or 1) if per == "epoch" else 1.0


def by_id(rows: Sequence[Row]) -> Mapping[str, Row]:
    """Return rows by candidate id."""
    return {r.candidate.id: r for r in rows}


SESSION: Final = (
    "Measured times include the variation between machines and sessions, about 3 % (SD). How long? "
    "adds it with “Another session or machine of the kind”."
)
"""Why an interval is wider here than the default of How long?, and how to see the same there."""
_COUNTED: Final = (
    "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
)  # fmt: skip


def counted(count: int) -> str:
    """Return a small count as a word: 'two', '12'."""
    return _COUNTED[count] if 0 <= count < len(_COUNTED) else f"{count:,}"


def number(count: float) -> str:
    """Return a number with at most three digits: 6.2, 4,370."""
    return plain(count, 2) if count < 99.5 else f"{float(f'{count:.3g}'):,.0f}"


def runs_a_month(runs: float) -> str:
    """Return runs a month in words: '1 run a month', '4 runs a month'."""
    return plural(runs, "{runs} run a month", "{runs} runs a month", runs=plain(runs))


def machines(count: int) -> str:
    """Return a machine count in words: 'two machines', '12 machines'."""
    return f"{counted(count)} machines"


def budget_words(budget_usd: float, display: Display = DOLLARS) -> str:
    """Return a budget in the currency that is shown: '500 EUR with tax'."""
    return f"{price(budget_usd, display)}{' with tax' if display.tax_share else ''}"


def probability_titles(comparison: Comparison) -> tuple[str, str]:
    """Return the titles of the probability columns: 'Cheapest of 6', 'Fastest of 6'."""
    every = len(comparison.answered)
    return Text("Cheapest of {every}", every=every), Text("Fastest of {every}", every=every)


def probability_help(comparison: Comparison) -> str:
    """Return the help text of the probability columns."""
    within = limits_phrase(comparison.question.limits)
    cheapest, fastest = probability_titles(comparison)
    if within:
        return Text(
            "{cheapest}, {fastest}: how likely it beats all others that finish {within} at once. "
            "The answer compares two options, so its probability is higher.",
            cheapest=cheapest,
            fastest=fastest,
            within=within,
        )
    return Text(
        "{cheapest}, {fastest}: how likely it beats all others at once. The "
        "answer compares two options, so its probability is higher.",
        cheapest=cheapest,
        fastest=fastest,
    )


def basis_words(row: Row, goal: Goal) -> str:
    """Return the basis of a time.

    For epochs measured there it is in the words of How long?, for a stated time it names the runs.
    """
    if row.candidate.run is not None and goal.epochs is not None:
        return basis_in_words(row.candidate.run, goal.epochs)
    if row.timed.stated_runs and not isinstance(row.time, Refusal):
        return _stated_words(row)
    return "" if isinstance(row.time, Refusal) else row.time.basis


def _stated_words(row: Row) -> str:
    """Return the basis of a stated time: 'published, median of 8 runs', 'scaled from 1 run'."""
    runs = row.timed.stated_runs
    if row.timed.scaling is not None:
        return Text("scaled from {runs}", runs=several(runs, "published run"))
    return plural(runs, "published, {count} run", "published, median of {count:,} runs")


def session_note(comparison: Comparison) -> str:
    """Return that measured times include variation between sessions; "" if none is measured."""
    measured = any(r.candidate.run and not isinstance(r.time, Refusal) for r in comparison.rows)
    return SESSION if measured and comparison.question.goal.epochs is not None else ""


def limits_phrase(limits: Limits) -> str:
    """Return the limits as an adverb: 'in time and within the budget'; "" without limits."""
    return listed_words([phrase for phrase, _ in _limits_words(limits)])


def limits_title(limits: Limits) -> str:
    """Return the limits as a title: 'In time and within the budget'; "" without limits."""
    words = _limits_words(limits)
    return listed_words([*(title for _, title in words[:1]), *(phrase for phrase, _ in words[1:])])


def _limits_words(limits: Limits) -> list[tuple[str, str]]:
    """Return the words of each limit: inside a sentence, and at its beginning."""
    words = [
        (limits.deadline_s, Text("in time"), Text("In time")),
        (limits.budget_usd, Text("within the budget"), Text("Within the budget")),
        (limits.cost_limit_usd, Text("below the cost limit"), Text("Below the cost limit")),
    ]
    return [(phrase, title) for limit, phrase, title in words if limit is not None]


def price_of_one(price: float, count: int, unit: str) -> str:
    """Return the price per accelerator: ' (3.99 USD/h each)'; "" for a single one."""
    digits = 0 if price >= 1_000.0 * count else 2
    return f" ({price / count:,.{digits}f} {unit})" if count > 1 else ""


def labels_with_price(every: Sequence[Candidate]) -> list[Candidate]:
    """Return the options; equal labels get their price."""
    shared = {label for label, n in Counter(c.label for c in every).items() if n > 1}
    return [
        replace(c, qualifiers=(*c.qualifiers, c.amount)) if c.label in shared else c for c in every
    ]
