"""A question to the comparison, the same for a page, a command, a link and the HTTP interface.

`Asked` is what a person chose, `Facts` what is known, `answered` puts both together. So that all
of them give the same numbers, none of them computes anything itself.
"""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Final

from planner.answers.comparison._made import made_note
from planner.catalog import Catalog, tariff_of
from planner.compare import (
    Assumptions,
    Electricity,
    Entry,
    Shop,
    best_runs,
    candidates_of,
    compare,
    doubted,
    entry_id,
    entry_of,
    left_out,
    problems_of,
    usual,
    with_electricity,
    with_names,
)
from planner.compare.reckon import Comparison, Question, Wanted
from planner.core import Estimate, Refusal, counted, large, looked_up
from planner.cost import reference_rates
from planner.job import Candidate, Goal, Job, Known, OwnTarget, library_at
from planner.throughput import SystemCurve
from planner.time_to_target import OptimizerCurve, best_batch, minimum_time
from planner.transfer import Library

EPOCHS: Final = 2000
MOST_EPOCHS: Final = 1_000_000
MOST_OPTIONS: Final = 12
NO_TARIFF: Final = "No electricity of "
NO_OPTION: Final = "There is no option "
MANY_ENTRIES: Final = " own entries; the first "
MANY_OPTIONS: Final = " options, your own among them; at most "
"""How a sentence about the country, the options, the own entries begins or goes on."""
WHERE_OPTIONS: Final = "`python -m planner compare --list options` and /api/v1/options list all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known before anything is asked.

    `job` is measured or described. `curves` are its step times against the batch, one for each
    system; `steps` is the law of steps to the target in question with its words, None where no
    target is asked for.
    """

    job: Job
    catalog: Catalog
    library: Library | None = None
    curves: Mapping[str, SystemCurve] = field(default_factory=dict)
    steps: OptimizerCurve | None = None
    target_words: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a person chose; empty `options` are the usual ones.

    `epochs` None asks for the target of the facts. `batch` [samples] is the batch that measured
    systems are timed at; None takes the fastest of each. `entries` are hand-made options in the
    words of `planner.compare._entries`. `country` (code or name) sets the price and carbon of
    electricity; `tariff_typed` says that the assumed price was typed, so that it counts, be it the
    usual one. `usd_per` are US dollars for one unit of another currency, for offers in it. `made`
    says with which runs and prices the link was made (`planner.answers.comparison._made`).
    """

    epochs: int | None = EPOCHS
    batch: float | None = None
    options: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()
    wanted: Wanted = field(default_factory=Wanted)
    assumed: Assumptions = field(default_factory=Assumptions)
    country: str = ""
    tariff_typed: bool = False
    usd_per: tuple[tuple[str, float], ...] = ()
    made: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The comparison, all there was to choose from, and what was wrong with the question."""

    comparison: Comparison | None
    candidates: tuple[Candidate, ...]
    chosen: tuple[str, ...]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """All there is to choose from, ids to begin with and of one's own, and what was wrong."""

    candidates: tuple[Candidate, ...]
    usual: tuple[str, ...]
    own: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def answered(asked: Asked, facts: Facts, today: date, shown: Offered | None = None) -> Answered:
    """Ask the facts; what cannot be understood is left out and told.

    Args:
        asked: the question.
        facts: what is known.
        today: the day from which the age of a price is counted.
        shown: what there is to choose from, where that is known already.
    """
    assumed, electricity, _ = assumptions_of(asked, facts.catalog, today)
    shown = offered(asked, facts, today) if shown is None else shown
    chosen, gone = _chosen(asked, shown)
    found = [c for c in shown.candidates if c.id in chosen]
    told = (*shown.problems, *gone)
    if not found:
        return Answered(comparison=None, candidates=shown.candidates, chosen=chosen, problems=told)
    goal = goal_of(asked, facts)
    library = library_at(facts.library, facts.job, goal.at_batch)
    question = Question(
        job=facts.job,
        goal=goal,
        known=Known(library=library, own_targets=_own_targets(facts)),
        assumed=assumed,
        wanted=asked.wanted,
        electricity=electricity,
        notes=left_out(facts.catalog, all_rates(asked)),
    )
    comparison = compare(question, found)
    if note := made_note(asked.made, comparison, facts.job):
        answer = comparison.question
        comparison = replace(comparison, question=replace(answer, notes=(*answer.notes, note)))
    return Answered(
        comparison=with_names(comparison, facts.catalog),
        candidates=shown.candidates,
        chosen=chosen,
        problems=told,
    )


def offered(asked: Asked, facts: Facts, today: date) -> Offered:
    """All there is to choose from, and what one begins with; what was chosen does not matter.

    Arguments as `answered`.
    """
    assumed, electricity, problems = assumptions_of(asked, facts.catalog, today)
    rates = dict(asked.usd_per)
    entries, wrong = _entries(asked.entries, facts.catalog, rates)
    shop = Shop(catalog=facts.catalog, assumed=assumed, today=today, usd_per=all_rates(asked))
    goal = goal_of(asked, facts)
    every = doubted(candidates_of(facts.job, shop, entries, goal), assumed, electricity)
    begin = usual(every, facts.job, goal=goal, wanted=asked.wanted, assumed=assumed)
    return Offered(
        candidates=tuple(every),
        usual=tuple(begin),
        own=tuple(dict.fromkeys(map(entry_id, entries))),
        problems=(*problems, *wrong),
    )


def offers_key(asked: Asked, facts: Facts) -> Hashable:
    """Return a key of the options: for one job, equal keys have equal `offered` options.

    The epoch count decides which run of each measured system is fastest. With a deadline or a
    budget it also decides which accelerators come first.
    """
    question = replace(asked, options=())
    if asked.epochs is None or asked.wanted.limited:
        return question
    best = best_runs(facts.job, goal_of(asked, facts))
    return replace(question, epochs=1), tuple(option.run.run_id for _, option in best.values())


def all_rates(asked: Asked) -> dict[str, float]:
    """Return US dollars per unit of each currency: reference rates, and those of the question."""
    return reference_rates().usd_per | dict(asked.usd_per)


def with_own(
    options: Sequence[str], own: Sequence[str], most: int = MOST_OPTIONS
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The ids to compare, at most so many, and those left out for it: the last that are named.

    Args:
        options: ids that are named.
        own: ids of one's own options: those that are not named come first, none is left out
            before one that is not one's own.
        most: that are compared.
    """
    every = list(dict.fromkeys([*(o for o in own if o not in options), *options]))
    mine = [o for o in every if o in own]
    named = [o for o in every if o not in own]
    kept = {*mine[:most], *named[: max(most - len(mine), 0)]}
    return tuple(o for o in every if o in kept), tuple(o for o in every if o not in kept)


def too_many(left: Sequence[str], most: int = MOST_OPTIONS) -> str:
    """That these were left out, as `with_own` says, since more than `most` were chosen."""
    last = "the last named one is" if len(left) == 1 else f"the last {len(left)} named are"
    return (
        f"{most + len(left)}{MANY_OPTIONS}{most} are compared; {last} left out: {', '.join(left)}."
    )


def goal_of(asked: Asked, facts: Facts) -> Goal:
    """So many epochs, or the target: its samples at the best batch of the fastest own system.

    Of a described workload whose total tokens are given they are the goal, one pass over them.
    """
    if facts.job.total_tokens is not None:
        words = f"{large(facts.job.total_tokens, millions=True)} tokens"
        return Goal(words=words, epochs=1, at_batch=asked.batch)
    if asked.epochs is not None or facts.steps is None:
        epochs = EPOCHS if asked.epochs is None else asked.epochs
        words = "1 epoch" if epochs == 1 else f"{counted(epochs)} epochs"
        return Goal(words=words, epochs=epochs, at_batch=asked.batch)
    words, optimizer = facts.target_words, facts.steps.optimizer
    batch, law = _target_batch(facts), facts.steps.curve
    if isinstance(law, Refusal) or batch is None:
        return Goal(words=words, optimizer=optimizer)
    samples = law.samples(batch)
    known = samples if isinstance(samples, Estimate) else None
    return Goal(words=words, optimizer=optimizer, samples=known, batch=batch)


def assumptions_of(
    asked: Asked, catalog: Catalog, today: date
) -> tuple[Assumptions, Electricity | None, list[str]]:
    """The assumptions with the country's electricity; defaults where they are impossible."""
    problems = problems_of(asked.assumed)
    assumed = Assumptions() if problems else asked.assumed
    if not asked.country:
        return assumed, None, problems
    tariff = tariff_of(catalog, asked.country)
    if tariff is None:
        return assumed, None, [*problems, _no_tariff(asked.country, catalog)]
    used, electricity = with_electricity(assumed, tariff, today, typed=asked.tariff_typed)
    return used, electricity, problems


def _entries(
    texts: Sequence[str], catalog: Catalog, usd_per: Mapping[str, float]
) -> tuple[list[Entry], list[str]]:
    found = [entry_of(text, catalog, usd_per) for text in texts[:MOST_OPTIONS]]
    wrong = [e for e in found if isinstance(e, str)]
    if len(texts) > MOST_OPTIONS:
        wrong.append(f"{len(texts)}{MANY_ENTRIES}{MOST_OPTIONS} are used.")
    return [e for e in found if not isinstance(e, str)], wrong


def _chosen(asked: Asked, shown: Offered) -> tuple[tuple[str, ...], list[str]]:
    """Ids that exist and one's own, at most so many; the usual ones where none is chosen."""
    if not asked.options:
        return shown.usual, []
    named = {c.id: c.named for c in shown.candidates}
    known, meant = list(named), [(o, looked_up(o, named)) for o in asked.options]
    gone = [_no_option(o, known, m) for o, m in meant if not isinstance(m, str)]
    kept = [m for _, m in meant if isinstance(m, str)]
    chosen, left = with_own(kept, [o for o in shown.own if o in known])
    return chosen, [*gone, too_many(left)] if left else gone


def _no_option(name: str, known: Sequence[str], alike: Sequence[str] = ()) -> str:
    """That there is no such option, what there is like it, and where all are listed."""
    if alike:
        return f"{NO_OPTION}{name[:80]!r} alone: it may mean {' or '.join(alike[:6])}. Choose one."
    near = difflib.get_close_matches(name[:80], known, n=3, cutoff=0.5) or _sharing(name, known)
    ask = f"Choose one of {', '.join(near)}, ...: " if near else ""
    return f"{NO_OPTION}{name[:80]!r}. {ask}{WHERE_OPTIONS}."


def _sharing(name: str, known: Sequence[str]) -> list[str]:
    """Up to three ids with the most words of the name, its way aside, the shortest first."""
    words = {w for w in name[:80].lower().split("-") if w} - {"rent", "buy", "own", "mine"}
    shared = {k: len(words & set(k.split("-"))) for k in known}
    found = sorted((k for k in known if shared[k]), key=lambda k: (-shared[k], len(k)))
    return found[:3]


def _no_tariff(country: str, catalog: Catalog) -> str:
    """Say that its electricity is unknown, which country it may be, and what to do."""
    by_name = {n.casefold(): t.country for t in catalog.tariffs for n in (t.id, t.country)}
    near = difflib.get_close_matches(country[:60].strip().casefold(), by_name, n=3, cutoff=0.7)
    names = dict.fromkeys(by_name[n] for n in near)
    perhaps = f"Perhaps {' or '.join(names)}? " if names else ""
    example = catalog.tariffs[0] if catalog.tariffs else None
    ask = f"Write a country's code or name, as {example.id} or {example.country}" if example else ""
    price = "give tariff_usd_per_kwh"
    todo = f"{ask}, or {price}." if ask else f"{price.capitalize()}."
    return f"{NO_TARIFF}{country[:60]!r} is known. {perhaps}{todo}"


def _own_targets(facts: Facts) -> dict[str, OwnTarget]:
    """Time to the target on every system that has step times."""
    if facts.steps is None:
        return {}
    return {name: _own_target(curve, facts.steps) for name, curve in facts.curves.items()}


def _own_target(system: SystemCurve, steps: OptimizerCurve) -> OwnTarget:
    best = best_batch(system.curve, steps.curve)
    batch = None if isinstance(best, Refusal) else float(best.value)
    return OwnTarget(total=minimum_time(system.curve, steps.curve), batch=batch)


def _target_batch(facts: Facts) -> float | None:
    """The best batch of the own system that gets to the target soonest; None without any."""
    known = [
        (float(t.total.value), t.batch)
        for t in _own_targets(facts).values()
        if isinstance(t.total, Estimate) and t.batch is not None
    ]
    return min(known)[1] if known else _middle_batch(facts)


def _middle_batch(facts: Facts) -> float | None:
    """Without step times: the critical batch, where half of the samples are well spent."""
    law = None if facts.steps is None else facts.steps.curve
    if law is None or isinstance(law, Refusal):
        return None
    return float(min(max(law.critical_batch_size.value, law.batch[0]), law.batch[-1]))
