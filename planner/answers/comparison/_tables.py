"""Rows of a comparison, for page, CSV, parquet, report, command and API; options to choose from.

A row to choose from is one option with maker, memory, count, terms, provider and price. Prices are
those of the whole machine and of one accelerator.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Final, Literal

from planner.compare import THERE, basis_words, chance_to_meet, may_fit
from planner.compare.comparison import Comparison, Row
from planner.core import Basis, Estimate, Record, Refusal, Text, cell, estimate_cells, hms, several
from planner.cost import DOLLARS, Display, likely, shown
from planner.job import OWN_ENTRY, Candidate, Job, gigabytes


def option_rows(
    comparison: Comparison, display: Display = DOLLARS, begins: datetime | None = None
) -> list[Record]:
    """Return a row per option, best first: every number with its interval, basis and source.

    Args:
        comparison: the ranked options.
        display: currency and tax of the money columns; `currency` names it.
        begins: start of the work, with the zone of `finishes` (ISO 8601: 2026-11-22T07:43Z,
            2026-11-22T08:43+01:00); None leaves it out.
    """
    return [_row(row, comparison, display, begins) for row in comparison.rows]


def _row(row: Row, comparison: Comparison, display: Display, begins: datetime | None) -> Record:
    option, fit, time = row.candidate, row.timed.fit, row.time
    refused = time if isinstance(time, Refusal) else None
    unpriced = row.cost if isinstance(row.cost, Refusal) and refused is None else None
    why = refused or unpriced
    return {
        "option_id": option.id,
        "option": option.label,
        "way": option.way,
        "system": option.hardware.label,
        "accelerator": option.hardware.accelerator.name if option.hardware.accelerator else None,
        "accelerators": option.hardware.count,
        "machines": row.machines,
        "rank": row.rank,
        "tied": row.tied,
        "workload": comparison.question.job.workload,
        "goal": comparison.question.goal.words,
        "global_batch_size": row.timed.batch,
        **estimate_cells("time_s", time),
        "time_hms": None if isinstance(time, Refusal) else hms(float(time.value)),
        "finishes": _finish(time, begins),
        **estimate_cells("samples_per_s", None if refused else samples_per_s_of(row)),
        "startup_s": None if refused else cell(startup_s_of(row, comparison.question.job)),
        "currency": display.currency,
        **_money_cells("cost_per_run", row.cost, display),
        **_money_cells("to_pay", row.to_pay, display),
        **_money_cells("cost_per_month", row.cost_per_month, display),
        **estimate_cells("energy_kwh", row.energy_kwh),
        "co2_kg": None if row.co2_kg is None else cell(float(row.co2_kg.value)),
        "probability_cheapest": _share(row.cheapest),
        "probability_fastest": _share(row.fastest),
        "probability_in_time": _share(_probability(row, comparison, "time")),
        "probability_in_budget": _share(_probability(row, comparison, "money")),
        "probability_meets_limits": _share(row.in_time),
        "on_frontier": row.on_frontier,
        "memory": fit.sentence,
        "memory_headroom": _share(fit.headroom),
        "memory_needed": None if fit.need_bytes is None else gigabytes(fit.need_bytes),
        "way_out": fit.way_out or None,
        "basis": None if refused else basis_words(row, comparison.question.goal),
        "notes": None if isinstance(time, Refusal) else " ".join(time.reasons) or None,
        "price": option.price,
        "price_is_stale": option.stale,
        "refused": why.reason if why else None,
        "measure_next": why.measure_next if why else row.timed.measure_next or None,
        "run_id": option.run.run.run_id if option.run else None,
        "standing": option.standing,
        "price_source": option.source or None,
    }


def _probability(row: Row, comparison: Comparison, of: Literal["time", "money"]) -> float | None:
    """Return the share of draws that meet the deadline, or the money limits; None without."""
    limits = comparison.question.limits
    if of == "time":
        limits = replace(limits, budget_usd=None, cost_limit_usd=None)
    else:
        limits = replace(limits, deadline_s=None)
    return chance_to_meet(row, limits)


def samples_per_s_of(row: Row) -> Estimate | None:
    """Return the training throughput of an option [samples/s]; None where unknown.

    For a measured system it is that of the run, without an interval.
    """
    if row.timed.rate is not None:
        return row.timed.rate
    run = None if row.candidate.run is None else row.candidate.run.run
    if run is None or not run.samples_per_s or isinstance(row.time, Refusal):
        return None
    speed = float(run.samples_per_s)
    basis: Basis = "published" if run.basis == "published" else "measured"
    return Estimate(value=speed, low=speed, high=speed, basis=basis)


def startup_s_of(row: Row, job: Job) -> float:
    """Return the start-up time [s]: of the machine and of the program."""
    run = None if row.candidate.run is None else row.candidate.run.run
    program = job.pre_train_s if run is None or run.pre_train_s is None else run.pre_train_s
    rental = row.candidate.rental
    return float(program + (0.0 if rental is None else likely(rental.startup_s)))


def end_of(time: Estimate | Refusal, begins: datetime | None) -> datetime | None:
    """Return the end of work that starts at `begins`, in its zone; None where unknown."""
    if begins is None or isinstance(time, Refusal):
        return None
    return after(float(time.value), begins)


def after(seconds: float, begins: datetime) -> datetime | None:
    """Return the moment so many seconds later, in the same zone; None beyond the calendar.

    Computed in UTC: after a change of clocks it is in the new time.
    """
    try:
        return (begins.astimezone(UTC) + timedelta(seconds=seconds)).astimezone(begins.tzinfo)
    except (OverflowError, ValueError):  # beyond the calendar, or never
        return None


def source_rows(comparison: Comparison) -> list[Record]:
    """Return the sources of times, prices and data sheets of the options, with dates."""
    return [_source(row) for row in comparison.rows]


def _source(row: Row) -> Record:
    option = row.candidate
    sheet, run = option.hardware.accelerator, option.run.run if option.run else None
    return {
        "Option": option.label,
        "Time from": _time_from(row),
        "Run": run.source or run.result_set if run else None,
        "Licence": run.licence if run else None,
        "Price": option.price,
        "Price from": None if option.source in ("", THERE) else option.source,
        "Price as of": f"{option.offer.as_of:%Y-%m-%d}" if option.offer else None,
        "Data sheet": sheet.source_url if sheet else None,
        "Data sheet as of": f"{sheet.as_of:%Y-%m-%d}" if sheet else None,
    }


def _time_from(row: Row) -> str:
    if (runs := row.timed.stated_runs) and not isinstance(row.time, Refusal):
        counted = several(runs, "published run")
        return (
            Text("times to the target stated by {runs}", runs=counted)
            if row.timed.scaling is None
            else Text("times to the target stated by {runs} on another count", runs=counted)
        )
    if row.candidate.run is not None:
        basis = row.candidate.run.run.basis
        return "a published figure of that system" if basis == "published" else f"{basis} there"
    return "unknown" if isinstance(row.time, Refusal) else row.time.basis


def _money_cells(
    name: str, answer: Estimate | Refusal | None, display: Display
) -> Mapping[str, float | None]:
    """Return money in the currency shown, with its tax."""
    cells = estimate_cells(name, answer)
    return {key: None if x is None else cell(shown(x, display)) for key, x in cells.items()}


def _finish(time: Estimate | Refusal, begins: datetime | None) -> str | None:
    end = end_of(time, begins)
    return None if end is None else end.isoformat(timespec="minutes").replace("+00:00", "Z")


def _share(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


BUY: Final = "Buy"
OWN: Final = "Already owned"
TERMS: Final = ("Rent", "Spot", "Reserved", BUY, OWN)
"""How an option is paid for, in the order of the filter."""
_OFFERED: Final = {
    "on demand": "Rent", "spot": "Spot", "reserved 1 year": "Reserved",
    "reserved 3 years": "Reserved",
}  # fmt: skip
_WORD: Final = re.compile(r"[^\s,;()]+")
_TIMES: Final = re.compile(r"\b(\d+)[x×](?=[a-z\d])")
"""A count written as 8xH100."""
_BEFORE: Final = date(1970, 1, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedOption:
    """One option as a row: id, label, hardware, terms and prices.

    `memory_bytes` is that of one accelerator, None where unpublished. `per_hour` and `to_buy` are
    for the whole machine, `per_hour_each` and `to_buy_each` for one accelerator, in the currency
    and with the tax shown; None where there is no such price. `as_of` is the date of the price.
    `fits` is whether the job fits into memory, or its memory is unknown.
    """

    id: str
    label: str
    accelerator: str
    maker: str
    memory_bytes: float | None
    count: int
    terms: str
    provider: str
    region: str
    per_hour: float | None
    per_hour_each: float | None
    to_buy: float | None
    to_buy_each: float | None
    as_of: date | None
    stale: bool
    fits: bool
    words: str

    @property
    def memory_of_all_bytes(self) -> float | None:
        """The memory of all its accelerators [bytes]; None where unpublished."""
        return None if self.memory_bytes is None else self.memory_bytes * self.count


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceFilter:
    """What a row must have; an empty field is no condition.

    `words` must all occur, in any order. `memory_bytes` is the least memory of one accelerator.
    """

    words: str = ""
    makers: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    counts: tuple[int, ...] = ()
    memory_bytes: float = 0.0
    fits: bool = False


def choices_of(
    candidates: Iterable[Candidate], job: Job, display: Display = DOLLARS
) -> tuple[OfferedOption, ...]:
    """Return options as rows: own first, then the newest accelerators, small and cheap first."""
    ordered = sorted(candidates, key=_place)
    return tuple(_choice(candidate, job, display) for candidate in ordered)


def narrowed_choices(
    choices: Sequence[OfferedOption], conditions: ChoiceFilter
) -> list[OfferedOption]:
    """Return the rows that meet all conditions, in their order."""
    words = _WORD.findall(_TIMES.sub(r"\1 x ", conditions.words.casefold()))
    return [c for c in choices if _meets(c, conditions) and all(_has(c, word) for word in words)]


def _meets(choice: OfferedOption, conditions: ChoiceFilter) -> bool:
    return (
        (not conditions.makers or choice.maker in conditions.makers)
        and (not conditions.terms or choice.terms in conditions.terms)
        and (not conditions.providers or choice.provider in conditions.providers)
        and (not conditions.counts or choice.count in conditions.counts)
        and (choice.memory_bytes or 0.0) >= conditions.memory_bytes
        and (choice.fits or not conditions.fits)
    )


def _has(choice: OfferedOption, word: str) -> bool:
    """Return whether a word of the search occurs; 8 is neither in 80GB nor in SXM8."""
    if word.isdigit():
        return re.search(rf"(?<![\w.]){word}(?![\d.])", choice.words) is not None
    return word in choice.words


def _place(candidate: Candidate) -> tuple[int, bool, int, str, int, float]:
    """Return the sort key: own options, then accelerators by launch, then count and price."""
    card = candidate.hardware.accelerator
    mine = 0 if candidate.source == OWN_ENTRY or candidate.way == "own" else 1
    launched = (card.launched if card else None) or _BEFORE
    price = _per_hour(candidate) or _to_buy(candidate) or 0.0
    return (
        mine, card is None or card.kind == "cpu", -launched.toordinal(),
        card.name if card else candidate.label, candidate.hardware.count, price,
    )  # fmt: skip


def _choice(candidate: Candidate, job: Job, display: Display) -> OfferedOption:
    hardware, offer = candidate.hardware, candidate.offer
    card, count = hardware.accelerator, hardware.count
    per_hour, to_buy = (
        None if usd is None else shown(usd, display)
        for usd in (_per_hour(candidate), _to_buy(candidate))
    )
    as_of = offer.as_of if offer else None
    if offer is None and card is not None and candidate.way == "buy":
        as_of = card.list_price_as_of if count == 1 else card.server_price_as_of
    terms = terms_of(candidate)
    maker = card.maker if card else ""
    place = (offer.provider, offer.region, offer.instance) if offer else ("", "", "")
    return OfferedOption(
        id=candidate.id,
        label=candidate.label,
        accelerator=card.name if card else hardware.label,
        maker=maker,
        memory_bytes=card.memory_bytes if card else None,
        count=count,
        terms=terms,
        provider=place[0],
        region=place[1],
        per_hour=per_hour,
        per_hour_each=None if per_hour is None else per_hour / count,
        to_buy=to_buy,
        to_buy_each=None if to_buy is None else to_buy / count,
        as_of=None if candidate.source == OWN_ENTRY else as_of,
        stale=candidate.stale,
        fits=may_fit(candidate, job),
        words=" ".join([candidate.label, terms, maker, *place]).casefold(),
    )


def terms_of(candidate: Candidate) -> str:
    """Return how an option is paid for, one of `TERMS`."""
    if candidate.way == "rent":
        return _OFFERED[candidate.offer.terms] if candidate.offer else "Rent"
    return BUY if candidate.way == "buy" else OWN


def _per_hour(candidate: Candidate) -> float | None:
    """Return the rent of an hour of the whole machine [USD]."""
    return float(likely(candidate.rental.price_per_hour)) if candidate.rental else None


def _to_buy(candidate: Candidate) -> float | None:
    """Return the price of the whole machine [USD]."""
    if candidate.way != "buy" or candidate.owned is None:
        return None
    return float(likely(candidate.owned.price_usd))
