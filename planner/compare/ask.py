"""One question, however it was asked: a page, a command, a link and the HTTP interface ask alike.

`Asked` is what a person chose, `Facts` what is known, `answered` puts both together. So that all
of them give the same numbers, none of them reckons anything itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from planner.catalog import Catalog, tariff_of
from planner.compare.assumptions import Assumptions, problems_of
from planner.compare.candidates import Shop, candidates_of, usual
from planner.compare.electricity import Electricity, doubted, with_electricity
from planner.compare.entries import Entry, entry_of
from planner.compare.left_out import left_out
from planner.compare.naming import with_names
from planner.compare.reckon import Comparison, Question, Wanted, compare
from planner.compare.records import Candidate, Goal, Job
from planner.compare.times import Known, OwnTarget
from planner.curves import SystemCurve
from planner.estimate import Estimate, Refusal
from planner.goodput import best_batch, minimum_time
from planner.optimizer_curves import OptimizerCurve
from planner.transfer import Library

EPOCHS: Final = 2000
MOST_EPOCHS: Final = 1_000_000
MOST_OPTIONS: Final = 12


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

    `epochs` None asks for the target of the facts. `entries` are hand-made options in the words of
    `planner.compare.entries`. `country` (code or name) sets the price and carbon of electricity;
    `tariff_typed` says that the assumed price was typed, so that it counts, be it the usual one.
    `usd_per` are US dollars for one unit of another currency, for offers in it.
    """

    epochs: int | None = EPOCHS
    options: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()
    wanted: Wanted = field(default_factory=Wanted)
    assumed: Assumptions = field(default_factory=Assumptions)
    country: str = ""
    tariff_typed: bool = False
    usd_per: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The comparison, all there was to choose from, and what was wrong with the question."""

    comparison: Comparison | None
    candidates: tuple[Candidate, ...]
    chosen: tuple[str, ...]
    problems: tuple[str, ...] = ()


def answered(asked: Asked, facts: Facts, today: date) -> Answered:
    """Ask the facts; what cannot be understood is left out and told.

    Args:
        asked: the question.
        facts: what is known.
        today: to tell old prices from fresh ones.
    """
    assumed, electricity, problems = assumptions_of(asked, facts.catalog, today)
    rates = dict(asked.usd_per)
    entries, wrong = _entries(asked.entries, facts.catalog, rates)
    shop = Shop(catalog=facts.catalog, assumed=assumed, today=today, usd_per=rates)
    every = doubted(candidates_of(facts.job, shop, entries), assumed, electricity)
    goal = goal_of(asked, facts)
    chosen, gone = _chosen(asked, every, facts.job, goal)
    found = [c for c in every if c.id in chosen]
    told = (*problems, *wrong, *gone)
    if not found:
        return Answered(
            comparison=None, candidates=tuple(every), chosen=tuple(chosen), problems=told
        )
    question = Question(
        job=facts.job,
        goal=goal,
        known=Known(library=facts.library, own_targets=_own_targets(facts)),
        assumed=assumed,
        wanted=asked.wanted,
        electricity=electricity,
        notes=left_out(facts.catalog, rates),
    )
    return Answered(
        comparison=with_names(compare(question, found), facts.catalog),
        candidates=tuple(every),
        chosen=tuple(chosen),
        problems=told,
    )


def goal_of(asked: Asked, facts: Facts) -> Goal:
    """So many epochs, or the target: its samples at the best batch of the fastest own system."""
    if asked.epochs is not None or facts.steps is None:
        epochs = EPOCHS if asked.epochs is None else asked.epochs
        return Goal(words="1 epoch" if epochs == 1 else f"{epochs} epochs", epochs=epochs)
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
        return assumed, None, [*problems, f"No electricity of {asked.country[:60]!r} is known."]
    used, electricity = with_electricity(assumed, tariff, today, typed=asked.tariff_typed)
    return used, electricity, problems


def _entries(
    texts: Sequence[str], catalog: Catalog, usd_per: Mapping[str, float]
) -> tuple[list[Entry], list[str]]:
    found = [entry_of(text, catalog, usd_per) for text in texts[:MOST_OPTIONS]]
    wrong = [e for e in found if isinstance(e, str)]
    if len(texts) > MOST_OPTIONS:
        wrong.append(f"{len(texts)} own entries; the first {MOST_OPTIONS} are used.")
    return [e for e in found if not isinstance(e, str)], wrong


def _chosen(
    asked: Asked, every: Sequence[Candidate], job: Job, goal: Goal
) -> tuple[list[str], list[str]]:
    """Ids that exist, at most so many; the usual ones where none is asked for."""
    options = asked.options
    if not options:
        return usual(every, job, goal=goal, wanted=asked.wanted), []
    known = {c.id for c in every}
    gone = [f"There is no option {o[:80]!r} (any more)." for o in options if o not in known]
    kept = [o for o in dict.fromkeys(options) if o in known]
    if len(kept) > MOST_OPTIONS:
        gone.append(f"{len(kept)} options; the first {MOST_OPTIONS} are compared.")
    return kept[:MOST_OPTIONS], gone


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
