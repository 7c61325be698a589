"""A month of jobs on a fleet, answered from the store and the catalogue.

Times and prices are those of Compare hardware: each job is a question of `COMPARE`, each machine
one of its options.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Final

from planner.answers._asking import compare_facts
from planner.answers.comparison import Facts, compare_parameters
from planner.answers.comparison.question import Request, offered, question_of
from planner.capacity import (
    CapacityAnswer,
    Case,
    Fleet,
    Horizon,
    Job,
    Machine,
    RunTime,
    Stock,
    answer_of,
)
from planner.capacity.records import Term
from planner.catalog import Catalog
from planner.compare.comparison import Question, Row
from planner.compare.evaluation import row_of
from planner.core import Estimate, Given, Problem, Refusal, or_refusal, text_of
from planner.cost import DOLLARS, Display
from planner.job import Candidate
from planner.store.reader import Store

STOCK: Final = re.compile(r"(?:([0-9]{1,4}) ?x )?(.+?)(?: from ([0-9]{1,2}))?")
_WHOLE: Final = re.compile(r"([a-z]+)\|([^|]+)\|([0-9]+)(\|.*)?")
_TERM_OF: Final[Mapping[str, Term]] = {"own": "owned", "buy": "bought", "rent": "on demand"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A job as a question to Compare hardware, with its options by id."""

    job: Job
    request: Request
    facts: Facts
    question: Question
    options: Mapping[str, Candidate]


def capacity(
    store: Store,
    catalog: Catalog,
    jobs: Sequence[Job],
    fleet: Fleet,
    horizon: Horizon,
    *,
    today: date,
    assumed: Given | None = None,
    display: Display = DOLLARS,
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
    """
    texts = tuple(dict.fromkeys(s.machine for s in fleet.stocks))
    asked, problems = [], list[Problem]()
    for job in jobs:
        found = _asked(store, catalog, job, texts, assumed or {}, today, problems)
        asked += [found] if found else []
    if problems or not asked:
        first = str(problems[0]) if problems else "There is no job. Add one."
        return CapacityAnswer(sentence=first, keeps=False, problems=tuple(problems),
                              horizon=horizon)  # fmt: skip
    machines = _machines(asked, texts, problems)
    times = {(a.job.name, m.id): _time(a, m) for a in asked for m in machines}
    stocks = [s for s in fleet.stocks if s.machine in {m.id for m in machines}]
    case = Case(jobs=tuple(jobs), machines=tuple(machines), times=times, months=horizon.months)
    return replace(answer_of(case, stocks, horizon, display), problems=tuple(problems))


def question_texts(job: Job, assumed: Given) -> dict[str, list[str]]:
    """Return a job as a question to Compare hardware."""
    named = {
        "workload": job.workload, "network": job.network, "epochs": job.epochs,
        "total_tokens": job.total_tokens, "target": job.target,
    }  # fmt: skip
    given = {k: [text_of(v)] for k, v in named.items() if v not in (None, "")}
    if job.target is not None:
        given["goal"] = ["target"]
    return {**{k: list(v) for k, v in assumed.items()}, **given, **{k: [v] for k, v in job.more}}


def _asked(
    store: Store, catalog: Catalog, job: Job, texts: Sequence[str], assumed: Given, today: date,
    problems: list[Problem],
) -> _Asked | None:  # fmt: skip
    question = question_texts(job, assumed)
    parts = []
    if job.accelerators is not None:
        parts = [f"own|{m[2]}|{job.accelerators}" for t in texts if (m := _WHOLE.fullmatch(t))]
    entries = [t for t in texts if "|" in t]
    asking, wrong = compare_parameters(question)
    wrong_here = list(wrong)
    facts = compare_facts(store, catalog, asking, wrong_here)
    problems += [Problem(parameter=job.name, message=str(p)) for p in wrong_here]
    if facts is None or wrong_here:
        return None
    request = replace(asking.request, entries=tuple(dict.fromkeys([*entries, *parts])))
    shown = offered(request, facts, today)
    problems += [Problem(parameter=job.name, message=p) for p in shown.problems]
    by_id = {c.id: c for c in shown.candidates}
    return _Asked(job=job, request=request, facts=facts, options=by_id,
                  question=question_of(request, facts, today))  # fmt: skip


def _machines(
    asked: Sequence[_Asked], texts: Sequence[str], problems: list[Problem]
) -> list[Machine]:
    from planner.compare import entry_id, entry_of

    machines = []
    for text in texts:
        catalog, entry = asked[0].facts.catalog, None
        if "|" in text:
            entry = entry_of(text, catalog)
        name = entry_id(entry) if entry is not None and not isinstance(entry, str) else text
        option = next((a.options[name] for a in asked if name in a.options), None)
        if option is None:
            problems.append(Problem(parameter="fleet", message=f"There is no option {text!r}."))
            continue
        machines.append(_machine(option, text))
    return machines


def _machine(option: Candidate, text: str) -> Machine:
    offer, card = option.offer, option.hardware.accelerator
    term: Term = _TERM_OF[option.way]
    if offer is not None:
        term = "spot" if offer.terms == "spot" else "reserved" if offer.committed_years else term
    return Machine(
        id=text, label=option.what, term=term, accelerator="" if card is None else card.id,
        accelerators=option.hardware.count, owned=option.owned, rental=option.rental,
        committed_years=offer.committed_years if offer else 0, price=option.price,
        stale=option.stale, source=option.source,
    )  # fmt: skip


def _time(asked: _Asked, machine: Machine) -> RunTime:
    from planner.compare import entry_id, entry_of

    name = machine.id
    if "|" in name:
        entry = entry_of(name, asked.facts.catalog)
        name = name if isinstance(entry, str) else entry_id(entry)
    option = asked.options.get(name)
    if option is None:
        refused = Refusal(reason=f"{machine.label} is no option for it.", measure_next="")
        return RunTime(time=refused)
    part = asked.job.accelerators
    row = or_refusal(machine.label, lambda: row_of(asked.question, option))
    if isinstance(row, Refusal):
        return RunTime(time=row)
    return _run_time(row, part or machine.accelerators)


def _run_time(row: Row, accelerators: int) -> RunTime:
    if row.drawn is None or not isinstance(row.time, Estimate):
        return RunTime(time=row.time)
    return RunTime(time=row.time, work_s=row.drawn.work_s, accelerators=accelerators,
                   measure_next=row.timed.measure_next)  # fmt: skip


def stock_of(text: str) -> Stock:
    """Return a line of a fleet: '2 x own|a100-sxm-80gb|8', '1 x buy|h100-sxm|8 from 12'."""
    match = STOCK.fullmatch(text.strip())
    count, machine, start = match.groups() if match else (None, text, None)
    return Stock(machine=machine, count=int(count or 1), from_month=int(start or 1))
