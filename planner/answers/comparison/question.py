"""A question to the comparison, shared by page, command, link and HTTP interface.

`Request` is the user's choice, `JobFacts` the data on the job; `answered` combines both. So all of
them give the same numbers.
"""

import difflib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Final

from planner.answers.comparison._snapshot import made_note
from planner.catalog import Catalog, tariff_of
from planner.compare import (
    Assumptions,
    Electricity,
    Entry,
    Shop,
    best_runs,
    candidates_of,
    compare,
    each_notes,
    entry_id,
    entry_of,
    estimated_prices,
    left_out,
    problems_of,
    step_note,
    usual,
    with_electricity,
    with_tariff_uncertainty,
)
from planner.compare.comparison import CompareQuestion, Comparison, Limits
from planner.core import (
    Estimate,
    Refusal,
    Text,
    counted,
    large,
    looked_up,
    of_parameter,
    paragraph,
    plural,
)
from planner.cost import reference_rates
from planner.epochs import EPOCHS
from planner.job import (
    OWN_ENTRY,
    Candidate,
    Goal,
    Hardware,
    Job,
    OwnTarget,
    StatedTime,
    TimeSources,
    library_at,
    work_sentences,
)
from planner.runs import NO_OPTIMIZER
from planner.throughput import SystemCurve
from planner.time_to_target import OptimizerCurve, best_batch, minimum_time
from planner.transfer import Library

MOST_OPTIONS: Final = 12
ENOUGH: Final = 3
"""Rented machines with a stated time to a target, from which others are no default options."""
"""Parts of sentences about country, options and own entries, to find their parameter."""
WHERE_OPTIONS: Final = "`python -m planner compare --list options` and /api/v1/options list all"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFacts:
    """The data on a job, before a question.

    `job` is measured or described. `curves` are its step times against the batch, by system.
    `steps` is the law of steps to the requested target, None for a question about epochs. `stated`
    are the times to that target that published runs state, `target_standing` that of their set.
    """

    job: Job
    catalog: Catalog
    library: Library | None = None
    curves: Mapping[str, SystemCurve] = field(default_factory=dict)
    steps: OptimizerCurve | None = None
    target_words: str = ""
    stated: tuple[StatedTime, ...] = ()
    target_standing: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The user's choices; empty `options` are the defaults.

    `epochs` None means the target of the facts. `batch` [samples] is the batch of measured systems;
    None is the fastest of each. `entries` are options by hand, in the form of
    `planner.compare._candidates`. `country` (code or name) sets price and carbon of electricity;
    `tariff_typed`: the price was entered, so it counts even if equal to the default. `usd_per` are
    US dollars per unit of other currencies, for offers in them. `made` is the link's fingerprint
    of runs and prices (`planner.answers.comparison._snapshot`).
    """

    epochs: int | None = EPOCHS
    batch: float | None = None
    options: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    assumed: Assumptions = field(default_factory=Assumptions)
    country: str = ""
    tariff_typed: bool = False
    usd_per: tuple[tuple[str, float], ...] = ()
    made: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The comparison, all options, the chosen ids, and the problems of the question."""

    comparison: Comparison | None
    candidates: tuple[Candidate, ...]
    chosen: tuple[str, ...]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """All options, default ids, ids of own entries, and problems."""

    candidates: tuple[Candidate, ...]
    usual: tuple[str, ...]
    own: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def answered(
    request: Request, facts: JobFacts, today: date, shown: Offered | None = None
) -> Answered:
    """Return the answer to a question; unusable parts are left out and reported as problems."""
    shown = offered(request, facts, today) if shown is None else shown
    chosen, gone = _chosen(request, shown)
    candidates = [c for c in shown.candidates if c.id in chosen]
    problems = (*shown.problems, *gone)
    if not candidates:
        return Answered(
            comparison=None, candidates=shown.candidates, chosen=chosen, problems=problems
        )
    question = question_of(request, facts, today)
    comparison = compare(question, candidates)
    notes = (
        *estimated_prices(comparison),
        step_note(comparison),
        made_note(request.made, comparison, facts.job),
    )
    more = (*comparison.question.notes, *(note for note in notes if note))
    comparison = replace(comparison, question=replace(comparison.question, notes=more))
    return Answered(
        comparison=comparison, candidates=shown.candidates, chosen=chosen, problems=problems
    )


def question_of(request: Request, facts: JobFacts, today: date) -> CompareQuestion:
    """Return the question that the options are compared for; arguments as `answered`."""
    assumed, electricity, _ = assumptions_of(request, facts.catalog, today)
    goal = goal_of(request, facts)
    library = library_at(facts.library, facts.job, goal.at_batch)
    entries, _ = _entries(request.entries, facts.catalog, dict(request.usd_per))
    return CompareQuestion(
        job=facts.job,
        goal=goal,
        measurements=TimeSources(
            library=library, own_targets=_own_targets(facts), stated=facts.stated
        ),
        assumed=assumed,
        limits=request.limits,
        electricity=electricity,
        notes=(
            *work_sentences(facts.job),
            *each_notes(entries),
            *left_out(facts.catalog, all_rates(request)),
        ),
    )


def offered(request: Request, facts: JobFacts, today: date) -> Offered:
    """Return all options and the defaults, independent of the chosen options.

    Arguments as `answered`.
    """
    assumed, _, problems = assumptions_of(request, facts.catalog, today)
    entries, wrong = _entries(request.entries, facts.catalog, dict(request.usd_per))
    goal = goal_of(request, facts)
    every = every_option(request, facts, today)
    answerable = _answerable(every, facts, goal)
    begin = usual(answerable, facts.job, goal=goal, limits=request.limits, assumed=assumed)
    return Offered(
        candidates=tuple(every),
        usual=tuple(begin),
        own=tuple(dict.fromkeys(map(entry_id, entries))),
        problems=(*problems, *wrong),
    )


def every_option(request: Request, facts: JobFacts, today: date) -> list[Candidate]:
    """Return all options with their prices; arguments as `answered`."""
    assumed, electricity, _ = assumptions_of(request, facts.catalog, today)
    entries, _ = _entries(request.entries, facts.catalog, dict(request.usd_per))
    shop = Shop(catalog=facts.catalog, assumed=assumed, today=today, usd_per=all_rates(request))
    every = candidates_of(facts.job, shop, entries, goal_of(request, facts))
    every = [replace(c, standing=_standing(c, facts)) for c in every]
    return with_tariff_uncertainty(every, assumed, electricity)


def _standing(candidate: Candidate, facts: JobFacts) -> str | None:
    """Return the standing of the runs that the time of an option rests on."""
    run = candidate.run
    return facts.target_standing or (facts.job.standing if run is None else run.run.standing)


def _answerable(every: Sequence[Candidate], facts: JobFacts, goal: Goal) -> Sequence[Candidate]:
    """Return the options with a stated time to the target, where no law gives it for others.

    Those with a stated time on their count come alone where they are `ENOUGH`, all alike whether
    one of their runs has a speed or not. Own entries stay.
    """
    if goal.epochs is not None or goal.samples is not None or not facts.stated:
        return every
    here = {(_card(t.hardware), t.hardware.count) for t in facts.stated}
    cards = {card for card, _ in here} - {""}
    mine = [c for c in every if c.source == OWN_ENTRY]
    exact = [c for c in every if c not in mine and (_card(c.hardware), c.hardware.count) in here]
    if len({c.hardware.label for c in exact if c.way == "rent"}) >= ENOUGH:
        return [*mine, *(replace(c, run=None) for c in exact)]
    return [*mine, *(c for c in every if c not in mine and _card(c.hardware) in cards)]


def _card(hardware: Hardware) -> str:
    """Return the accelerator's id; "" without one."""
    return hardware.accelerator.id if hardware.accelerator else ""


def offers_key(request: Request, facts: JobFacts) -> Hashable:
    """Return a key of the options: for one job, equal keys have equal `offered` options.

    The epoch count decides which run of each measured system is fastest. With a deadline or a
    budget it also decides which accelerators come first.
    """
    question = replace(request, options=())
    if request.epochs is None or request.limits.limited:
        return question
    best = best_runs(facts.job, goal_of(request, facts))
    return replace(question, epochs=1), tuple(option.run.run_id for _, option in best.values())


def all_rates(request: Request) -> dict[str, float]:
    """Return US dollars per unit of each currency: reference rates, and those of the question."""
    return reference_rates().usd_per | dict(request.usd_per)


def with_own(
    options: Sequence[str], own: Sequence[str], most: int = MOST_OPTIONS
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the ids to compare, and the ids left out beyond `most`: the last named ones.

    Args:
        options: the named ids.
        own: ids of own entries. Unnamed ones come first; own entries are left out last.
        most: largest number of options.
    """
    every = list(dict.fromkeys([*(o for o in own if o not in options), *options]))
    mine = [o for o in every if o in own]
    named = [o for o in every if o not in own]
    kept = {*mine[:most], *named[: max(most - len(mine), 0)]}
    return tuple(o for o in every if o in kept), tuple(o for o in every if o not in kept)


def too_many(left: Sequence[str], most: int = MOST_OPTIONS) -> str:
    """Return a sentence on the options left out beyond `most`."""
    sentence = plural(
        len(left),
        "{options} options, your own among them; at most {most} are compared; the last named one "
        "is left out: {names}.",
        "{options} options, your own among them; at most {most} are compared; the last {count} "
        "named are left out: {names}.",
        options=most + len(left),
        most=most,
        names=", ".join(left),
    )
    return of_parameter("options", sentence)


def goal_of(request: Request, facts: JobFacts) -> Goal:
    """Return the goal: epochs, or a target with its samples at the best batch.

    The best batch is that of the fastest own system. With total tokens the goal is one pass over
    them.
    """
    if facts.job.total_tokens is not None:
        words = f"{large(facts.job.total_tokens, millions=True)} tokens"
        return Goal(words=words, epochs=1, at_batch=request.batch)
    if request.epochs is not None or (facts.steps is None and not facts.stated):
        epochs = EPOCHS if request.epochs is None else request.epochs
        words = "1 epoch" if epochs == 1 else f"{counted(epochs)} epochs"
        return Goal(words=words, epochs=epochs, at_batch=request.batch)
    if facts.steps is None:
        return Goal(words=facts.target_words)
    words, named = facts.target_words, facts.steps.optimizer
    optimizer = "" if named == NO_OPTIMIZER else named
    batch, law = _target_batch(facts), facts.steps.curve
    if isinstance(law, Refusal) or batch is None:
        return Goal(words=words, optimizer=optimizer)
    samples = law.samples(batch)
    estimate = samples if isinstance(samples, Estimate) else None
    return Goal(words=words, optimizer=optimizer, samples=estimate, batch=batch)


def assumptions_of(
    request: Request, catalog: Catalog, today: date
) -> tuple[Assumptions, Electricity | None, list[str]]:
    """Return the assumptions with the country's electricity; defaults where invalid."""
    problems = problems_of(request.assumed)
    assumed = Assumptions() if problems else request.assumed
    if not request.country:
        return assumed, None, problems
    tariff = tariff_of(catalog, request.country)
    if tariff is None:
        return assumed, None, [*problems, _no_tariff(request.country, catalog)]
    used, electricity = with_electricity(assumed, tariff, today, typed=request.tariff_typed)
    return used, electricity, problems


def _entries(
    texts: Sequence[str], catalog: Catalog, usd_per: Mapping[str, float]
) -> tuple[list[Entry], list[str]]:
    parsed = [entry_of(text, catalog, usd_per) for text in texts[:MOST_OPTIONS]]
    wrong: list[str] = [of_parameter("own", e) for e in parsed if isinstance(e, str)]
    if len(texts) > MOST_OPTIONS:
        many = Text(
            "{entries} own entries; the first {most} are used.",
            entries=len(texts),
            most=MOST_OPTIONS,
        )
        wrong.append(of_parameter("own", many))
    return [e for e in parsed if not isinstance(e, str)], wrong


def _chosen(request: Request, shown: Offered) -> tuple[tuple[str, ...], list[str]]:
    """Return existing and own ids up to the limit; the defaults where none is chosen."""
    if not request.options:
        return shown.usual, []
    named = {c.id: c.named for c in shown.candidates}
    ids, meant = list(named), [(o, looked_up(o, named)) for o in request.options]
    gone = [_no_option(o, ids, m) for o, m in meant if not isinstance(m, str)]
    kept = [m for _, m in meant if isinstance(m, str)]
    chosen, left = with_own(kept, [o for o in shown.own if o in ids])
    return chosen, [*gone, too_many(left)] if left else gone


def _no_option(name: str, ids: Sequence[str], alike: Sequence[str] = ()) -> str:
    """Return that there is no such option, with similar ids, and where all are listed."""
    return of_parameter("options", _not_offered(name, ids, alike))


def _not_offered(name: str, ids: Sequence[str], alike: Sequence[str]) -> Text:
    option = name[:80]
    if alike:
        return Text(
            "There is no option {option!r} alone: it may mean {options}. Choose one.",
            option=option,
            options=" or ".join(alike[:6]),
        )
    near = difflib.get_close_matches(option, ids, n=3, cutoff=0.5) or _sharing(name, ids)
    if not near:
        return Text("There is no option {option!r}. {where}.", option=option, where=WHERE_OPTIONS)
    return Text(
        "There is no option {option!r}. Choose one of {options}, ...: {where}.",
        option=option,
        options=", ".join(near),
        where=WHERE_OPTIONS,
    )


def _sharing(name: str, ids: Sequence[str]) -> list[str]:
    """Return up to three ids that share most words with the name, the shortest first."""
    words = {w for w in name[:80].lower().split("-") if w} - {"rent", "buy", "own", "mine"}
    shared = {k: len(words & set(k.split("-"))) for k in ids}
    ranked = sorted((k for k in ids if shared[k]), key=lambda k: (-shared[k], len(k)))
    return ranked[:3]


def _no_tariff(country: str, catalog: Catalog) -> str:
    """Return that the country is unknown, with similar names, and what to do."""
    by_name = {n.casefold(): t.country for t in catalog.tariffs for n in (t.id, t.country)}
    near = difflib.get_close_matches(country[:60].strip().casefold(), by_name, n=3, cutoff=0.7)
    names = dict.fromkeys(by_name[n] for n in near)
    example = catalog.tariffs[0] if catalog.tariffs else None
    sentence = paragraph(
        Text("No electricity of {country!r} is known.", country=country[:60]),
        Text("Perhaps {countries}?", countries=" or ".join(names)) if names else None,
        Text(
            "Write a country's code or name, as {code} or {name}, or give tariff_usd_per_kwh.",
            code=example.id,
            name=example.country,
        )
        if example
        else Text("Give tariff_usd_per_kwh."),
    )
    return of_parameter("country", sentence)


def _own_targets(facts: JobFacts) -> dict[str, OwnTarget]:
    """Return the time to the target on every system with step times."""
    if facts.steps is None:
        return {}
    return {name: _own_target(curve, facts.steps) for name, curve in facts.curves.items()}


def _own_target(system: SystemCurve, steps: OptimizerCurve) -> OwnTarget:
    best = best_batch(system.curve, steps.curve)
    batch = None if isinstance(best, Refusal) else float(best.value)
    return OwnTarget(total=minimum_time(system.curve, steps.curve), batch=batch)


def _target_batch(facts: JobFacts) -> float | None:
    """Return the best batch of the fastest own system; without one, a middle batch."""
    times = [
        (float(t.total.value), t.batch)
        for t in _own_targets(facts).values()
        if isinstance(t.total, Estimate) and t.batch is not None
    ]
    return min(times)[1] if times else _middle_batch(facts)


def _middle_batch(facts: JobFacts) -> float | None:
    """Return the critical batch size, within the measured batches; None without a law."""
    law = None if facts.steps is None else facts.steps.curve
    if law is None or isinstance(law, Refusal):
        return None
    return float(min(max(law.critical_batch_size.value, law.batch[0]), law.batch[-1]))


def answered_whole(
    request: Request, facts: JobFacts, today: date, shown: Offered | None = None
) -> Answered:
    """Return `answered`, without notes on offers left out where the user chose the options."""
    shown = offered(request, facts, today) if shown is None else shown
    answer = answered(request, facts, today, shown)
    # A shared link names the default options; they are no choice of the user either.
    if not request.options or answer.comparison is None or answer.chosen == shown.usual:
        return answer
    question = answer.comparison.question
    omitted = left_out(facts.catalog, all_rates(request))
    notes = tuple(n for n in question.notes if n not in omitted)
    comparison = replace(answer.comparison, question=replace(question, notes=notes))
    return replace(answer, comparison=comparison)
