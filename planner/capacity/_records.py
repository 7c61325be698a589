"""A month of jobs, the machines that do it, and the answer, as frozen records.

Money is in US dollars without tax, times in seconds unless a name says hours, shares from 0 to 1.
`Estimate`s of money are expected values, others medians, with 90 % intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal

from planner.core import Estimate, ParameterProblem, Refusal, Text, paragraph, speak_once
from planner.cost import Influence, Owned, Rental

Term = Literal["owned", "bought", "reserved", "on demand", "spot"]
"""How a machine is paid for: already there, a purchase, rented for years, by the hour, at will."""
TERMS: Final[tuple[Term, ...]] = ("owned", "bought", "reserved", "on demand", "spot")
STANDING: Final[frozenset[Term]] = frozenset({"owned", "bought", "reserved"})
"""Terms that cost money whether the machine works or not."""
Line = Literal["fleet", "buy only", "rent only"]
PLAN_MONTHS: Final = (12, 36)
"""Fewest and most months of a plan."""
MOST_JOBS: Final = 24
MOST_STOCKS: Final = 24
"""Lines of a fleet."""
MOST_MACHINES: Final = 64
"""Of one line."""
MOST_ACCELERATORS: Final = 1024
COMMON: Final = frozenset({
    "tariff_usd_per_kwh", "kg_co2_per_kwh", "pue", "host_watts_share", "idle_watts_share",
    "host_price_share", "life_years", "residual_share", "rate_of_capital", "upkeep_share",
    "setup_usd", "minimum_s", "startup_s", "egress_usd", "interruptions_per_hour", "lost_work_s",
    "restart_s", "price_uncertainty", "stale_price_uncertainty", "capital_uncertainty",
})  # fmt: skip
"""Assumptions of Compare hardware that all jobs share; a job has its own runs a month."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthlyJob:
    """One kind of training run, repeated every month.

    name: unique label.
    workload: slug of a measured workload; "" for a described one.
    network: a named network, as "llama-3-8b"; "" for a measured workload.
    epochs, total_tokens, target: how much training; None where another one says it.
    more: further parameters of Compare hardware by name, as ("precision", "bfloat16").
    accelerators: that a run uses; None uses the whole machine.
    runs_a_month: mean number of runs that arrive in the first month.
    within_h: longest time from a run's arrival to its end [h]; None without a deadline.
    interruptible: it may run on spot machines.
    growth: of the runs, per month [share].

    Raises:
        ValueError: names all problems.
    """

    name: str
    workload: str = ""
    network: str = ""
    epochs: int | None = None
    total_tokens: float | None = None
    target: float | None = None
    more: tuple[tuple[str, str], ...] = ()
    accelerators: int | None = None
    runs_a_month: float = 4.0
    within_h: float | None = None
    interruptible: bool = False
    growth: float = 0.0

    def __post_init__(self) -> None:
        problems = []
        if not self.name.strip():
            problems.append("A job has no name. Give it one.")
        if self.runs_a_month < 0.0 or self.runs_a_month != self.runs_a_month:
            problems.append(
                Text(
                    "{name}: {runs_a_month:g} runs a month. Give 0 or more.",
                    name=self.name,
                    runs_a_month=self.runs_a_month,
                )
            )
        if self.within_h is not None and not self.within_h > 0.0:
            problems.append(
                Text(
                    "{name}: within {within_h:g} h. Give more than 0.",
                    name=self.name,
                    within_h=self.within_h,
                )
            )
        if not self.growth > -1.0:
            problems.append(
                Text(
                    "{name}: growth {growth:g}. Give 0.05 for 5 % a month.",
                    name=self.name,
                    growth=self.growth,
                )
            )
        speak_once(problems)


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A kind of machine with its price.

    id: of its option on Compare hardware, or the text of an own entry.
    hardware: the label without provider and terms.
    accelerators: on one machine; a run may use a part of them.
    owned: costs of an owned or bought machine; None for a rented one.
    rental: costs of a rented machine; None for the others.
    committed_years: that a reservation is paid for, 0 for other terms.
    price: in words, with its date; `source` is its address.
    """

    id: str
    label: str
    term: Term
    hardware: str = ""
    accelerator: str = ""
    accelerators: int = 1
    owned: Owned | None = None
    rental: Rental | None = None
    committed_years: int = 0
    price: str = ""
    stale: bool = False
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stock:
    """Machines of one kind in a fleet.

    count: machines; of rented ones the most at the same time.
    from_month: first month with them, from 1.
    """

    machine: str
    count: int = 1
    from_month: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """The machines of a question.

    stocks: what is there, bought or may be rented, by id or text of an option.
    find: look for the cheapest fleet; `stocks` with terms owned then stay, others are limits.
    purchases_usd: most that purchases may cost [USD]; None without a limit.
    rent_most: rented machines of one kind at the same time, where find chooses the kinds.
    """

    stocks: tuple[Stock, ...] = ()
    find: bool = True
    purchases_usd: float | None = None
    rent_most: int = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Horizon:
    """What is planned for.

    months: of the plan, 12 to 36.
    probability: of each job to end in time [share].
    years: of the cost lines of one machine.
    utilisation: busy share of that machine; None takes that of the fleet.
    variation: standard deviation of ln of the time of equal runs.
    seed: of the simulation.
    """

    months: int = 36
    probability: float = 0.95
    years: float = 3.0
    utilisation: float | None = None
    variation: float = 0.0
    seed: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityTile:
    """A large value with its interval: `low`, `high` and `limit` are in the unit of `value`."""

    title: str
    text: str
    unit: str
    note: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    limit: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstAnswer:
    """A fleet with its cost and lateness as tiles, before the rest of the answer."""

    fleet: str
    tiles: tuple[CapacityTile, ...]
    keeps: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanProgress:
    """What a plan is doing: in words, and the share of its steps that are done.

    first: the fleet before any other is compared with it, simulated on few months with few
        scenarios.
    chosen: the fleet of the answer, simulated in full.
    """

    words: str
    share: float
    first: FirstAnswer | None = None
    chosen: FirstAnswer | None = None


Tell = Callable[[PlanProgress], None]
"""Takes the progress of a plan."""


def silent(_: PlanProgress) -> None:
    """Take the progress of a plan and do nothing with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    """A job with its time and work.

    time: of a run on the machine that does most of them, as Compare hardware gives it [s].
    machine: label of that machine; "" where none can run it.
    accelerators: that a run uses there.
    hours_a_month: accelerator-hours of the first month.
    late: share of its runs that end too late over the horizon; None without a deadline.
    worst_late: the same in its worst quarter.
    """

    job: str
    words: str
    standing: str | None
    time: Estimate | Refusal
    machine: str
    accelerators: int
    hours_a_month: Estimate | Refusal
    late: float | None
    worst_late: float | None
    runs_a_month: float
    within_h: float | None
    interruptible: bool
    growth: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StockRow:
    """Machines of the answer.

    count: machines, or the most rented at the same time; `used` is the most that were busy.
    cost_a_month, hours_a_month: expected; costs add up to that of the fleet [USD/month, h/month].
    utilisation: busy share of its hours; None of machines rented by the hour.
    """

    machine: Machine
    count: int
    used: int
    from_month: int
    cost_a_month: float
    hours_a_month: float
    utilisation: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Distribution of the waiting time of a job's runs, from arrival to start.

    edges_s: of logarithmic bins [s]; `shares` has the share of runs in each bin.
    at_once: share of runs that start without waiting; they are not in `shares`.
    median_s, p95_s: of all runs [s].
    allowed_s: longest wait of a median run that still ends in time [s]; None without a deadline.
    runs: simulated.
    """

    job: str
    edges_s: tuple[float, ...]
    shares: tuple[float, ...]
    at_once: float
    median_s: float
    p95_s: float
    allowed_s: float | None
    late: float | None
    runs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthRow:
    """One month: busy machine-hours by machine, cost, late share.

    busy: share of the hours of all standing machines that each machine works, by label; rented
        machines are counted in the same unit, so the sum may exceed 1. Without a standing machine
        the unit is one machine-month.
    hours: machine-hours by label.
    """

    month: int
    busy: Mapping[str, float]
    hours: Mapping[str, float]
    utilisation: float | None
    late: float | None
    cost: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Breaks:
    """What breaks first when demand grows.

    factor: of the planned runs of all jobs, at which `job` exceeds its limit first; None where
        nothing breaks up to the largest factor tried.
    fix: what keeps the deadlines there, in one sentence; "" where nothing was found.
    """

    sentence: str
    job: str
    factor: float | None
    fix: str

    @property
    def words(self) -> str:
        """The job, what breaks, and what keeps the deadlines there."""
        named = Text("{job}: {sentence}", job=self.job, sentence=self.sentence)
        return paragraph(named if self.job else self.sentence, self.fix)


@dataclass(frozen=True, slots=True, kw_only=True)
class HourCurve:
    """Cost of an hour of work of one machine against its utilisation [USD/h]."""

    machine: str
    term: Term
    usd_per_hour: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RentOrBuyByUse:
    """Rent or buy over utilisation, for the hardware that does most of the work.

    utilisation: points of the curves [share].
    curves: standing machines fall with use, rented ones are flat.
    break_even: utilisation above which buying is cheaper; a refusal where it never is.
    now: utilisation of the standing machines of the fleet; None without any.
    """

    hardware: str
    utilisation: tuple[float, ...]
    curves: tuple[HourCurve, ...]
    break_even: Estimate | Refusal
    now: float | None
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CostLine:
    """Expected money spent until the end of each month, from 0 to the horizon [USD].

    resale: value of what is bought, at the end [USD]; it is not in the line.
    net: the cost of the plan: spent with interest, less that value [USD].
    energy_kwh, co2_kg: of own machines over the horizon; CO2 None where the grid is unknown.
    problem: why this line is not an answer, as "above the purchase limit"; "" otherwise.
    """

    name: str
    kind: Line | Literal["machine"]
    months: tuple[float, ...]
    usd: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    resale: float
    net: float
    energy_kwh: float | None
    co2_kg: float | None
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachinePair:
    """A bought machine beside a rented one like it: the month from which it has cost less."""

    bought: str
    rented: str
    break_even: Estimate | Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class CostLines:
    """Lines side by side, with the month from which the first one is cheaper than renting.

    break_even: months with interval; a refusal where it is not within the horizon.
    named: names of the lines in the sentence.
    pairs: of one machine over years, each bought one beside each rented one like it.
    utilisation: of one machine over years [share].
    """

    title: str
    lines: tuple[CostLine, ...]
    break_even: Estimate | Refusal
    sentence: str
    named: tuple[str, ...] = ()
    pairs: tuple[MachinePair, ...] = ()
    utilisation: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobToMeasure:
    """The measurement that narrows the cost most: the cost of a month before and after it."""

    sentence: str
    job: str
    before: Estimate
    after: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityAnswer:
    """The answer, or why there is none.

    Without an answer `sentence` says why, and every other part is empty. `sentence` says which
    machines (`fleet`), their cost, and what misses the deadlines (`late`; "" where all are kept).
    `query` is the same question with its defaults written out.
    """

    sentence: str
    keeps: bool
    fleet: str = ""
    late: str = ""
    tiles: tuple[CapacityTile, ...] = ()
    chips: tuple[str, ...] = ()
    jobs: tuple[JobRow, ...] = ()
    stocks: tuple[StockRow, ...] = ()
    months: tuple[MonthRow, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    breaks: Breaks | None = None
    rent_or_buy: RentOrBuyByUse | None = None
    costs: CostLines | None = None
    side_by_side: CostLines | None = None
    sensitivity: tuple[Influence, ...] = ()
    measure_next: JobToMeasure | None = None
    compared: int = 0
    notes: tuple[str, ...] = ()
    problems: tuple[ParameterProblem, ...] = ()
    query: str = ""
    sources: tuple[Mapping[str, str | None], ...] = field(default_factory=tuple)
    horizon: Horizon = field(default_factory=Horizon)
    texts: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def base_usd(self) -> float:
        """Cost of a month with every input in its middle: the middle of the shortest bar [USD]."""
        if not self.sensitivity:
            return 0.0
        least = self.sensitivity[-1]
        return 0.5 * (least.low + least.high)
