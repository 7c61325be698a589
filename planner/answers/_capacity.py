"""A month of jobs on a fleet, answered from the store and the catalogue.

Times and prices are those of Compare hardware: each job is a question of `COMPARE`, each machine
one of its options. A text of a fleet is the id of an option, or an own entry:

    own|a100-sxm-80gb|8   buy|h100-sxm|8|260000 total   rent|h100-sxm|8|20   spot|h100-sxm|8|11
    reserved-1|h100-sxm|8|15 (for 1 year; reserved-3 for 3 years)

`2 x` before it is the number of machines, `from 7` behind it the first month.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from types import MappingProxyType
from typing import Any, Final

from planner.answers import parameters, records
from planner.answers._asking import NO_RUN, compare_facts
from planner.answers.capacity_jobs import STOCK_LINE, job_text, jobs_of_texts, presets, stock_of
from planner.answers.comparison import JobFacts, compare_parameters, display_of
from planner.answers.comparison.question import Request, every_option, question_of
from planner.answers.records import CapacityPlan
from planner.capacity import (
    COMMON,
    MOST_MACHINES,
    CapacityAnswer,
    CostLines,
    Fleet,
    Horizon,
    JobRow,
    Machine,
    MonthlyJob,
    MonthRow,
    PlanProgress,
    RunTime,
    Simulation,
    Stock,
    StockRow,
    Tell,
    Term,
    Waiting,
    plan,
    silent,
)
from planner.catalog import Accelerator, Catalog, accelerator_named
from planner.compare import entry_id, entry_of, part_of, price_of_peak
from planner.compare.comparison import CompareQuestion
from planner.compare.evaluation import Worked, wall_draws, wall_time, worked
from planner.core import (
    Estimate,
    ParameterProblem,
    QueryTexts,
    Refusal,
    Text,
    or_refusal,
    plural,
    query_of,
    read,
    text_of,
)
from planner.core.parameters import missing
from planner.cost import DOLLARS, HOURS_PER_MONTH, Display, Rental, in_usd
from planner.job import OWN_ENTRY, Candidate, fit_of
from planner.store.reader import Store

_ENTRY: Final = re.compile(
    r"(own|buy|rent|spot|reserved-1|reserved-3)\|([^|]+)\|([^|]+)((?:\|.*)?)"
)
_FORM: Final = (
    "Write 1 x buy|h100-sxm|8|260000 total, 3 x rent|h100-sxm|8|20, 3 x spot|h100-sxm|8|11, or an "
    "id of --list options."
)
_TERMS: Final[Mapping[str, Term]] = MappingProxyType(
    {"own": "owned", "buy": "bought", "rent": "on demand", "spot": "spot",
     "reserved-1": "reserved", "reserved-3": "reserved"}
)  # fmt: skip
MOST_HARDWARE: Final = 6
"""Kinds of hardware that a fleet is chosen from, where the question names none."""
SERVER: Final = 8
"""Accelerators of a large machine."""
MOST_SERVERS: Final = 2
"""Large machines that are looked at too: the cheapest accelerators may all be single ones."""
VIEW_ONLY: Final = frozenset({"chart", "list", "scale", "saved", "tab", "tables", "view"})
"""Parameters of the page's link that only change the view."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityQuestion:
    """A parsed question; `assumed` are texts for Compare hardware that all jobs share."""

    jobs: tuple[MonthlyJob, ...]
    fleet: Fleet
    horizon: Horizon
    assumed: QueryTexts
    display: Display
    values: Mapping[str, Any]
    problems: tuple[ParameterProblem, ...] = ()

    @property
    def query(self) -> str:
        """The query string of the same question, its jobs written out."""
        jobs = tuple(job_text(j) for j in self.jobs)
        values = {**self.values, "jobs": jobs, "preset": None}
        return query_of(parameters.CAPACITY, values, ("find", "months", "probability"))


@dataclass(frozen=True, slots=True, kw_only=True)
class _PricedJob:
    """A job as a question to Compare hardware, with its options by id."""

    job: MonthlyJob
    request: Request
    facts: JobFacts
    question: CompareQuestion
    options: Mapping[str, Candidate]
    times: dict[str, RunTime]
    """Times that were estimated before, by id of the machine."""
    rooms: dict[str, bool]
    """Whether machines that were looked at before have room, by id of the option."""
    worked: dict[Hashable, Worked]
    """What was estimated before, by hardware: its prices do not matter."""


def capacity_prepared(store: Store, catalog: Catalog, question: QueryTexts, today: date) -> None:
    """Estimate the times and prices of a question, so that its answer comes sooner."""
    parameters = capacity_question(question, today)
    if parameters.jobs and not parameters.problems:
        of = (_with_catalogue(parameters.fleet, catalog), parameters.horizon, parameters.assumed)
        _case(_Shop(store, catalog, today), parameters.jobs, of, [])


def capacity_answered(
    store: Store, catalog: Catalog, question: QueryTexts, today: date, tell: Tell = silent
) -> CapacityAnswer:
    """Return the answer to texts by name, as the page, the command and the HTTP interface ask.

    `tell` takes what is being done, for those who wait.
    """
    parameters = capacity_question(question, today)
    if parameters.problems or not parameters.jobs:
        problems = parameters.problems or (ParameterProblem(parameter="jobs", message=_NO_JOB),)
        return CapacityAnswer(sentence="", keeps=False, problems=problems, query=parameters.query,
                              horizon=parameters.horizon)  # fmt: skip
    answer = capacity(
        store, catalog, parameters.jobs, parameters.fleet, parameters.horizon, today=today,
        assumed=parameters.assumed, display=parameters.display, tell=tell,
    )  # fmt: skip
    return replace(answer, query=parameters.query)


def capacity_question(question: QueryTexts, today: date) -> CapacityQuestion:
    """Return a question with its jobs, fleet and horizon, and all of its problems."""
    parsed = read(parameters.CAPACITY, question, VIEW_ONLY)
    values, problems = parsed.values, list(parsed.problems)
    jobs, wrong = jobs_of_texts(values["jobs"])
    problems += wrong
    if values["preset"] and not values["jobs"]:
        preset = presets().get(values["preset"])
        if preset is None:
            message = missing("preset", values["preset"], list(presets()))
            problems.append(ParameterProblem(parameter="preset", message=message))
        jobs = preset or ()
    display, strange = display_of(values, today)
    problems += strange
    stocks = [_owned_stock(text, problems) for text in values["owned"]]
    stocks += [_stock(text, problems) for text in values["fleet"]]
    limit = values["purchases"]
    fleet = Fleet(
        stocks=tuple(s for s in stocks if s is not None),
        find=values["find"],
        purchases_usd=None if limit is None else in_usd(limit, display) / (1.0 + display.tax_share),
        rent_most=values["rent_most"],
    )
    share = values["utilisation"]
    horizon = Horizon(
        months=values["months"],
        probability=values["probability"] / 100.0,
        years=values["years"],
        utilisation=None if share is None else share / 100.0,
        variation=values["variation"] / 100.0,
        seed=values["seed"],
    )
    return CapacityQuestion(
        jobs=jobs, fleet=fleet, horizon=horizon, assumed=_assumed(values), display=display,
        values=values, problems=tuple(problems),
    )  # fmt: skip


def _assumed(values: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return what all jobs share as texts for Compare hardware: money and assumptions."""
    own = {p.name for p in parameters.JOB} | _NOT_SHARED
    shared = [p.name for p in parameters.CAPACITY if p.name not in own]
    return {n: [text_of(values[n])] for n in shared if values[n] is not None}


def _owned_stock(text: str, problems: list[ParameterProblem]) -> Stock | None:
    match = STOCK_LINE.fullmatch(text.strip())
    if match is None or match[2].count("|") > 1:
        message = Text("{text!r} is no machine. Write 2 x a100-sxm-80gb|8.", text=text[:60])
        problems.append(ParameterProblem(parameter="owned", message=message))
        return None
    count, machine, _ = match.groups()
    whole = machine if "|" in machine else f"{machine}|1"
    return Stock(machine=f"own|{whole}", count=min(int(count or 1), MOST_MACHINES))


def _stock(text: str, problems: list[ParameterProblem]) -> Stock | None:
    stock = stock_of(text)
    if "|" in stock.machine and not _ENTRY.fullmatch(stock.machine):
        problems.append(
            ParameterProblem(
                parameter="fleet",
                message=Text("{text!r} is no line. {form}", text=text[:60], form=_FORM),
            )
        )
        return None
    if stock.count > MOST_MACHINES:
        message = Text(
            "{text!r} has {count} machines. Give {most_machines} at most.",
            text=text[:60],
            count=stock.count,
            most_machines=MOST_MACHINES,
        )
        problems.append(ParameterProblem(parameter="fleet", message=message))
        return None
    return stock


def capacity(
    store: Store,
    catalog: Catalog,
    jobs: Sequence[MonthlyJob],
    fleet: Fleet,
    horizon: Horizon,
    *,
    today: date,
    assumed: QueryTexts | None = None,
    display: Display = DOLLARS,
    tell: Tell = silent,
) -> CapacityAnswer:
    """Return the answer for a month of jobs on a fleet.

    Args:
        store: the measured runs.
        catalog: accelerators and prices.
        jobs: with unique names.
        fleet: machines by option of Compare hardware, as an id or as the text of an own entry.
        horizon: months and probability.
        today: for the age of prices.
        assumed: parameters of Compare hardware that all jobs share: assumptions, country.
        display: currency and tax of the sentences and tiles.
        tell: takes what is being done, for those who wait.
    """
    problems: list[ParameterProblem] = []
    fleet = _with_catalogue(fleet, catalog)
    words = plural(len(jobs), "Estimating times and prices of {count} job",
                   "Estimating times and prices of {count} jobs")  # fmt: skip
    tell(PlanProgress(words=words, share=0.0))
    case = _case(_Shop(store, catalog, today), jobs, (fleet, horizon, assumed or {}), problems)
    if case is None:
        return CapacityAnswer(sentence="", keeps=False, problems=tuple(problems), horizon=horizon)
    return plan(case, fleet, horizon, display, tell)


def _with_catalogue(fleet: Fleet, catalog: Catalog) -> Fleet:
    """Return a fleet with accelerators by their ids, and purchases without a price by option."""
    return replace(fleet, stocks=tuple(
        replace(s, machine=_catalogued(s.machine, catalog)) for s in fleet.stocks
    ))  # fmt: skip


def _catalogued(text: str, catalog: Catalog) -> str:
    """Return the catalogue's option for a purchase without a price; others by the id of their card.

    Draws of a price are those of its text: two names of one card are the same machine.
    """
    match = _ENTRY.fullmatch(text)
    card = accelerator_named(catalog, match[2]) if match else None
    if match is None or not isinstance(card, Accelerator):
        return text
    way, count, price = match[1], match[3].strip(), match[4].strip()
    same = f"{way}|{card.id}|{count}{price}"
    if way != "buy" or price.strip("| "):
        return same
    server = card.server_price_usd is not None and count == str(card.server_accelerators)
    single = card.list_price_usd is not None and count == "1"
    return f"buy-{count}x-{card.id}" if server or single else same


def case_of(
    store: Store, catalog: Catalog, jobs: Sequence[MonthlyJob], stocks: Sequence[Stock], today: date
) -> Simulation:
    """Return jobs and machines as they are simulated.

    Raises:
        ValueError: a job or a machine has a problem.
    """
    problems: list[ParameterProblem] = []
    fleet = Fleet(stocks=tuple(stocks), find=False)
    case = _case(_Shop(store, catalog, today), jobs, (fleet, Horizon(), {}), problems)
    if case is None:
        raise ValueError("\n".join(map(str, problems)))
    return case


def _case(
    shop: _Shop,
    jobs: Sequence[MonthlyJob],
    of: tuple[Fleet, Horizon, QueryTexts],
    problems: list[ParameterProblem],
) -> Simulation | None:
    """Return what is simulated; None with a problem, which is added."""
    fleet, horizon, assumed = of
    texts = tuple(dict.fromkeys(s.machine for s in fleet.stocks))
    every = [_priced(shop, j, texts, assumed, problems) for j in jobs]
    priced = [a for a in every if a is not None]
    if problems or not priced:
        problems += [] if problems else [ParameterProblem(parameter="jobs", message=_NO_JOB)]
        return None
    if fleet.find and all(s.machine.startswith("own|") for s in fleet.stocks):
        texts = (*texts, *_choice(priced))
    machines = _machines(priced, texts, problems)
    if problems:
        return None
    return Simulation(
        jobs=tuple(jobs),
        machines=tuple(machines),
        times={(a.job.name, m.id): _time(a, m) for a in priced for m in machines},
        months=horizon.months,
        variation=horizon.variation,
        seed=horizon.seed,
    )


def capacity_plan(answer: CapacityAnswer) -> CapacityPlan:
    """Return an answer as a record, the same for command and HTTP interface."""
    breaks, waits = answer.breaks, {w.job: w for w in answer.waiting}
    return CapacityPlan(
        query=answer.query,
        sentence=answer.sentence,
        keeps_deadlines=answer.keeps,
        breaks_first=breaks.job or None if breaks else None,
        breaks_at_factor=breaks.factor if breaks else None,
        fix=breaks.fix or None if breaks else None,
        measure_next=answer.measure_next.sentence if answer.measure_next else None,
        fleets_compared=answer.compared,
        jobs=tuple(_job_record(row, waits.get(row.job)) for row in answer.jobs),
        machines=tuple(_machine_record(row) for row in answer.stocks),
        months=tuple(_month_record(row) for row in answer.months),
        costs=_lines_record(answer.costs),
        one_machine=_lines_record(answer.side_by_side),
        sensitivity=tuple(records.Bar(input=i.name, low=_finite(i.low), high=_finite(i.high))
                          for i in answer.sensitivity),
        notes=answer.notes,
        sources=answer.sources,
    )  # fmt: skip


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _job_record(row: JobRow, wait: Waiting | None) -> records.CapacityJob:
    time, hours = row.time, row.hours_a_month
    refused = time if isinstance(time, Refusal) else None
    ends: list[float | None] = [None] * 3
    if isinstance(time, Estimate):
        ends = [_finite(float(v)) for v in (time.value, time.low, time.high)]
    return records.CapacityJob(
        job=row.job, trains=row.words, standing=row.standing, machine=row.machine or None,
        accelerators=row.accelerators, runs_a_month=row.runs_a_month, within_h=row.within_h,
        interruptible=row.interruptible, growth=row.growth,
        time_s=ends[0], time_s_low=ends[1], time_s_high=ends[2],
        accelerator_hours_a_month=None if isinstance(hours, Refusal) else float(hours.value),
        late=row.late, late_in_worst_quarter=row.worst_late,
        at_once=None if wait is None else wait.at_once,
        median_wait_s=None if wait is None else _finite(wait.median_s),
        wait_s_95=None if wait is None else _finite(wait.p95_s),
        refused=None if refused is None else refused.reason,
        measure_next=None if refused is None else refused.measure_next or None,
    )  # fmt: skip


def _machine_record(row: StockRow) -> records.CapacityMachine:
    of = row.machine
    return records.CapacityMachine(
        machine=of.label, option=of.id, term=of.term, accelerators=of.accelerators,
        count=row.count, from_month=row.from_month, cost_usd_a_month=row.cost_a_month,
        hours_a_month=row.hours_a_month, utilisation=row.utilisation, price=of.price,
        price_is_stale=of.stale, source=of.source,
    )  # fmt: skip


def _month_record(row: MonthRow) -> records.CapacityMonth:
    value, low, high = row.cost.ends
    return records.CapacityMonth(
        month=row.month, cost_usd=value, cost_usd_low=low, cost_usd_high=high,
        utilisation=row.utilisation, late=row.late, hours=dict(row.hours),
    )  # fmt: skip


def _lines_record(lines: CostLines | None) -> records.CapacityLines | None:
    if lines is None:
        return None
    return records.CapacityLines(
        title=lines.title, sentence=lines.sentence, **_month(lines.break_even),
        pairs=tuple(
            records.CapacityPair(bought=p.bought, rented=p.rented, **_month(p.break_even))
            for p in lines.pairs
        ),
        lines=tuple(
            records.CapacityLine(
                name=x.name, kind=x.kind, usd=x.usd, usd_low=x.low, usd_high=x.high,
                resale_usd=x.resale, net_usd=x.net, energy_kwh=x.energy_kwh, co2_kg=x.co2_kg,
                problem=x.problem or None,
            )
            for x in lines.lines
        ),
    )  # fmt: skip


def _month(even: Estimate | Refusal) -> dict[str, float | None]:
    """Return a break-even month with its ends by field."""
    ends: list[float | None] = [None] * 3
    if isinstance(even, Estimate):
        ends = [_finite(v) for v in even.ends]
    names = ("break_even_month", "break_even_month_low", "break_even_month_high")
    return dict(zip(names, ends, strict=True))


def question_texts(job: MonthlyJob, assumed: QueryTexts) -> dict[str, list[str]]:
    """Return a job as a question to Compare hardware."""
    named = {
        "workload": job.workload, "network": job.network, "epochs": job.epochs,
        "total_tokens": job.total_tokens, "target": job.target,
    }  # fmt: skip
    texts = {k: [text_of(v)] for k, v in named.items() if v not in (None, "")}
    if job.target is not None:
        texts["goal"] = ["target"]
    return {**{k: list(v) for k, v in assumed.items()}, **texts, **{k: [v] for k, v in job.more}}


@dataclass(frozen=True, slots=True)
class _Shop:
    store: Store
    catalog: Catalog
    today: date


def _priced(
    shop: _Shop,
    job: MonthlyJob,
    texts: Sequence[str],
    assumed: QueryTexts,
    problems: list[ParameterProblem],
) -> _PricedJob | None:
    """Return a job as a question to Compare hardware; None with a problem, which is added.

    It is kept with its times, until a run or the catalogue changes: the options of a job and its
    times on them take longer than a simulation.
    """
    texts_of_job = question_texts(job, assumed)
    key = (
        "capacity", job.accelerators,
        tuple(sorted((n, tuple(v)) for n, v in texts_of_job.items())),
        tuple(t for t in texts if "|" in t),
    )  # fmt: skip
    priced, here, _ = shop.store.kept.once(
        key,
        lambda: (*_priced_anew(shop, job, texts, texts_of_job), shop.catalog),
        _version(shop),
    )
    problems += [ParameterProblem(parameter="jobs", message=f"{job.name}: {p}") for p in here]
    return None if priced is None else replace(priced, job=job)


def _priced_anew(
    shop: _Shop, job: MonthlyJob, texts: Sequence[str], question: QueryTexts
) -> tuple[_PricedJob | None, tuple[ParameterProblem, ...]]:
    asking, wrong = compare_parameters(question)
    here = list(wrong)
    facts = compare_facts(shop.store, shop.catalog, asking, here)
    if facts is None and not here:
        here.append(NO_RUN)
    if facts is None or here:
        return None, tuple(here)
    entries = [_entry_text(t) for t in texts if "|" in t]
    # more entries than a comparison shows: they are priced, not compared with one another
    request = asking.request
    options: dict[str, Candidate] = {}
    parts = [entries[k : k + 12] for k in range(0, len(entries), 12)] or [[]]
    for part in parts:
        request = replace(asking.request, entries=tuple(dict.fromkeys(part)))
        options |= {c.id: c for c in every_option(request, facts, shop.today)}
    done: dict[Hashable, Worked]
    done, _ = shop.store.kept.once(
        ("capacity work", _job_texts(question)), lambda: ({}, shop.catalog), _version(shop)
    )
    priced = _PricedJob(job=job, request=request, facts=facts, options=options, times={}, rooms={},
                        worked=done,
                        question=question_of(request, facts, shop.today))  # fmt: skip
    return priced, ()


def _version(shop: _Shop) -> Hashable:
    """Return the version of what a job is priced by; a catalogue beside an answer keeps its id."""
    return shop.store.generation, id(shop.catalog), shop.today


def _job_texts(question: QueryTexts) -> Hashable:
    """Return a key of a job's times: equal keys differ in prices and assumptions at most."""
    return tuple(sorted((n, tuple(v)) for n, v in question.items() if n not in COMMON))


def _entry_text(text: str) -> str:
    """Return the own entry of Compare hardware for the text of a machine."""
    match = _ENTRY.fullmatch(text)
    if match is None:
        return text
    way = match[1] if match[1] in ("own", "buy") else "rent"
    return f"{way}|{match[2]}|{match[3]}{match[4]}"


def _option_id(text: str, priced: _PricedJob) -> str:
    """Return the id of the option that a text of a fleet means; the text where it is one."""
    if "|" not in text:
        return text
    entry = entry_of(_entry_text(text), priced.facts.catalog, dict(priced.request.usd_per))
    return text if isinstance(entry, str) else entry_id(entry)


def _machines(
    priced: Sequence[_PricedJob], texts: Sequence[str], problems: list[ParameterProblem]
) -> list[Machine]:
    machines = []
    for text in texts:
        if "|" in text:
            parsed = entry_of(_entry_text(text), priced[0].facts.catalog,
                              dict(priced[0].request.usd_per))  # fmt: skip
            if isinstance(parsed, str):
                problems.append(ParameterProblem(parameter="fleet", message=parsed))
                continue
        name = _option_id(text, priced[0])
        option = next((a.options[name] for a in priced if name in a.options), None)
        if option is None:
            message = missing("option", text, list(priced[0].options))
            problems.append(ParameterProblem(parameter="fleet", message=message))
            continue
        machines.append(_machine(option, text, priced[0].question))
    return machines


def _choice(priced: Sequence[_PricedJob]) -> list[str]:
    """Return the options to choose a fleet from, by id.

    Of the `MOST_HARDWARE` accelerators with the cheapest peak whose machines have room for every
    job, and of the `MOST_SERVERS` cheapest with `SERVER` accelerators or more: a purchase, and the
    cheapest current offer of each term and size.
    """
    options = [c for c in priced[0].options.values() if _on_offer(c, priced)]
    precision = priced[0].question.job.precision

    def place(option: Candidate) -> tuple[bool, float]:
        return option.stale, price_of_peak(option, precision)

    rented = [c for c in options if c.offer is not None and c.offer.terms == "on demand"]
    names = list(dict.fromkeys(_hardware_name(c) for c in sorted(rented, key=place)))
    servers = [name for name in names if name[1] >= SERVER][:MOST_SERVERS]
    names = [*names[:MOST_HARDWARE], *servers]
    cards = {name[0] for name in names}
    bought = [_hardware_name(c) for c in options if c.way == "buy" and c.hardware.count > 1]
    names += [name for name in bought if name[0] in cards]
    chosen: dict[tuple[object, ...], Candidate] = {}
    for option in sorted(options, key=place):
        if _hardware_name(option) in names:
            terms = option.offer.terms if option.offer else option.way
            chosen.setdefault((*_hardware_name(option), terms), option)
    return [c.id for c in chosen.values()]


def _hardware_name(option: Candidate) -> tuple[str, int]:
    card = option.hardware.accelerator
    return ("" if card is None else card.id), option.hardware.count


def _on_offer(option: Candidate, priced: Sequence[_PricedJob]) -> bool:
    """Return whether an option is one whole machine, on the market, with room for every job."""
    card = option.hardware.accelerator
    if card is None or card.kind == "cpu" or option.way == "own" or option.hardware.nodes > 1:
        return False
    if option.source == OWN_ENTRY:
        return False
    return all(_has_room(option, a) for a in priced)


def _has_room(option: Candidate, priced: _PricedJob) -> bool:
    """Return whether a machine has room for a job, looked up once: `rooms` is kept with the job."""
    if option.id not in priced.rooms:
        priced.rooms[option.id] = _fits(option, priced)
    return priced.rooms[option.id]


def _fits(option: Candidate, priced: _PricedJob) -> bool:
    part = priced.job.accelerators
    if part is not None and part > option.hardware.count:
        return False
    whole = option if part is None else part_of(option, priced.question.job, part)
    return fit_of(priced.question.job, whole.hardware, priced.question.job.batch).fits is not False


def _machine(option: Candidate, text: str, question: CompareQuestion) -> Machine:
    offer, card, entry = option.offer, option.hardware.accelerator, _ENTRY.fullmatch(text)
    term: Term = _TERMS[entry[1] if entry else option.way]
    years, rental = 0, option.rental
    if offer is not None:
        years = offer.committed_years
        term = "spot" if offer.terms == "spot" else "reserved" if years else term
    elif entry is not None and rental is not None:
        years = int(entry[1][-1]) if term == "reserved" else 0
        rental = _on_terms(rental, term, question)
    return Machine(
        id=text, label=_label(option, term, years), term=term,
        hardware=option.hardware.label, accelerator="" if card is None else card.id,
        accelerators=option.hardware.count, owned=option.owned, rental=rental,
        committed_years=years, price=option.price, stale=option.stale, source=option.source,
    )  # fmt: skip


def _label(option: Candidate, term: Term, years: int) -> str:
    """Return '8 x H100 SXM5 80GB (bought)', or with the provider of an offer."""
    if option.offer is not None:
        return option.machine
    terms = plural(years, "reserved {count} year", "reserved {count} years") if years else term
    return f"{option.hardware.label} ({terms})"


def _on_terms(rental: Rental, term: Term, question: CompareQuestion) -> Rental:
    assumed = question.assumed
    if term == "spot":
        return replace(
            rental, interruptions_per_hour=assumed.interruptions_per_hour,
            lost_work_s=assumed.lost_work_s, restart_s=assumed.restart_s,
        )  # fmt: skip
    if term == "reserved":
        return replace(rental, committed_hours_per_month=HOURS_PER_MONTH)
    return rental


def _time(priced: _PricedJob, machine: Machine) -> RunTime:
    """Return a job's time on a machine, or on the part of it that a run uses; it is kept."""
    hours = priced.times.get(machine.id)
    if hours is None:
        hours = priced.times[machine.id] = _time_anew(priced, machine)
    return hours


def _time_anew(priced: _PricedJob, machine: Machine) -> RunTime:
    part = priced.job.accelerators
    name = _option_id(machine.id, priced)
    if part is not None and part > machine.accelerators:
        reason = Text(
            "It needs {part} accelerators; {machine} has {accelerators}.",
            part=part,
            machine=machine.label,
            accelerators=machine.accelerators,
        )
        return RunTime(time=Refusal(reason=reason, measure_next="Choose a larger machine."))
    option = priced.options.get(name)
    if option is not None and part is not None and part < machine.accelerators:
        option = part_of(option, priced.question.job, part, priced.question.goal)
    if option is None:
        reason = Text("{machine} is no option for it.", machine=machine.label)
        return RunTime(time=Refusal(reason=reason, measure_next="Choose another machine."))
    time = or_refusal(machine.label, lambda: _run_time(priced, option))
    return (
        RunTime(time=time)
        if isinstance(time, Refusal)
        else replace(time, accelerators=part or machine.accelerators)
    )


def _run_time(priced: _PricedJob, option: Candidate) -> RunTime:
    """Return the time on an option; the hardware's own is estimated once for all of its prices."""
    run = None if option.run is None else option.run.run.run_id
    key = _hardware_name(option), option.hardware.label, option.hardware.nodes, run
    done = priced.worked.get(key)
    if done is None:
        done = priced.worked[key] = worked(priced.question, option)
    if isinstance(done.total, Refusal):
        return RunTime(time=done.total)
    time = wall_time(done.total, wall_draws(option, done.work_s))
    if isinstance(time, Refusal):
        return RunTime(time=time)
    return RunTime(
        time=time,
        work_s=done.work_s,
        measure_next=done.timed.measure_next,
        standing=option.standing,
    )


_NO_JOB: Final = "There is no job. Add one, or choose a preset."
_NOT_SHARED: Final = frozenset({
    "jobs", "preset", "owned", "fleet", "find", "months", "probability", "purchases", "rent_most",
    "years", "utilisation", "variation", "seed",
})  # fmt: skip
"""Parameters of the plan, which no job has."""
