"""Answers to links, commands and HTTP queries, from the store.

Every question takes the parameters as they come and gives the answer with all problems. Where there
are problems the answer is that of the parts that could be used, which a page shows beside a warning
and a program must not take: so commands and the HTTP interface refuse. Nothing is reckoned here:
`planner.epochs.how_long`, `planner.throughput.curves` and `planner.answers.comparison.question`
answer pages and programs alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial
from typing import Any, Final

from planner.answers import asked
from planner.answers._no_steps import no_steps
from planner.answers.comparison import (
    DESCRIBED,
    Answered,
    CompareParameters,
    Facts,
    answered_whole,
    compare_parameters,
    epoch_size_of,
    facts_of,
    made_text,
    measured_job,
    problems_of,
    steps_of,
    trial_set_of,
)
from planner.answers.runs import suspects_of, with_priors
from planner.catalog import Catalog
from planner.compare import with_step
from planner.convergence import targets_of, usual_target
from planner.core import Given, Problem, looked_up, not_found, query_of, read
from planner.core.slugs import slugs
from planner.cost import Display
from planner.epochs import (
    INFERENCE,
    MOST_CHOSEN,
    MOST_LINES,
    HowLong,
    offered,
    usual_options,
    with_epochs,
)
from planner.epochs.how_long import how_long
from planner.job import Job, job_described
from planner.runs import Run, Trials
from planner.store import queries
from planner.store.reader import Store
from planner.throughput import (
    SystemCurve,
    TimedSteps,
    curves_of,
    systems_of,
    usual_systems,
    with_step_times,
)
from planner.time_to_target import OptimizerCurve

NO_RUN: Final = Problem(
    parameter="",
    message="There is no run yet. Measure one, or name a folder of results in EPOCHWISE_RESULTS.",
)
ONLY_INFERENCE: Final = Problem(
    parameter="workload", message=f"{INFERENCE.reason} {INFERENCE.measure_next}"
)
NO_TRAINING: Final = Problem(
    parameter="workload",
    message="No training run is known, only inference. Measure one, or describe a workload.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HowLongAnswer:
    """Ranked totals; None where nothing can be ranked.

    `query` asks the same again, defaults written out as in the link that a page shares.
    """

    result: HowLong | None
    suspect: Mapping[str, str]
    query: str
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveAnswer:
    """The chosen curves, and the batches [samples] they are asked at.

    `notes` say what an epoch is where step times follow from it, and why systems have no curve.
    """

    chosen: tuple[SystemCurve, ...]
    batches: tuple[float, ...]
    query: str
    problems: tuple[Problem, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareAnswer:
    """A comparison, how its money is shown, and what could not be used of the question.

    `by` is the deadline where it was asked for as a date.
    """

    answered: Answered
    display: Display
    query: str
    problems: tuple[Problem, ...]
    by: datetime | None = None


def how_long_answered(store: Store, given: Given) -> HowLongAnswer:
    """N epochs of a workload on each of its systems, as the page How long? answers."""
    found = read(asked.HOW_LONG, given, asked.FOR_THE_EYE)
    told, problems = found.values, list(found.problems)
    suspect, stated = suspects_of(store), dict[str, Any]()
    place = _place(store, told, problems, stated)
    if place is None:
        query = query_of(asked.HOW_LONG, told)
        return HowLongAnswer(result=None, suspect={}, query=query, problems=tuple(problems))
    without = suspect.left_out if told["without_suspects"] else frozenset[str]()
    runs = with_priors(store, queries.runs_of(store, *place), without)
    options = offered(runs, partial(queries.epochs_of, store))
    names = slugs([o.label for o in options])
    by_slug = dict(zip(names, options, strict=True))
    chosen = _picked("systems", "system", told["systems"], names, problems)
    base = _one("baseline", "system", told["baseline"], names, problems)
    size = epoch_size_of(store, place[0], runs, told["samples_per_epoch"])
    chosen = (chosen or usual_options(by_slug, size))[:MOST_CHOSEN]
    stated |= {"systems": tuple(chosen), "baseline": base}
    listed = list(dict.fromkeys([*chosen, base]))
    result = how_long(
        with_epochs([by_slug[s] for s in listed], partial(queries.epochs_of, store)),
        told["epochs"],
        by_slug[base].label,
        another_session=told["session"],
        rest_like_last=told["rest_like_last"],
        left_out=without,
        size=size,
    )
    return HowLongAnswer(
        result=result,
        suspect=suspect.names,
        query=query_of(asked.HOW_LONG, {**told, **stated}, asked.STATED),
        problems=tuple(problems),
    )


def curve_answered(store: Store, given: Given) -> CurveAnswer:
    """Throughput curves of a workload's systems, as the page Throughput answers."""
    found = read(asked.CURVE, given, asked.FOR_THE_EYE)
    told, problems = found.values, list(found.problems)
    without = suspects_of(store).left_out if told["without_suspects"] else frozenset[str]()
    names = slugs(queries.workloads(store))
    if not names:
        problems.append(NO_RUN)
        return CurveAnswer(chosen=(), batches=(), query="", problems=tuple(problems))
    short = _one("workload", "workload", told["workload"], names, problems)
    workload = names[short]
    stated: dict[str, Any] = {"workload": short, "pattern": None}
    steps = _runs_of_curves(store, workload, told, problems, stated)
    beside = _picked("beside", "workload", told["beside"], names, problems)
    further = [r for b in beside if names[b] != workload for r in _best_known(store, names[b])]
    chosen = curves_of([*steps.runs, *further], without)[:MOST_LINES]
    return CurveAnswer(
        chosen=tuple(chosen),
        notes=tuple(t for t in (steps.note, *steps.missing) if t),
        batches=told["batch"],
        query=query_of(asked.CURVE, {**told, **stated, "beside": tuple(beside)}, asked.STATED),
        problems=tuple(problems),
    )


def compare_answered(
    store: Store, catalog: Catalog, given: Given, today: date, begins: datetime | None = None
) -> CompareAnswer:
    """Which hardware, rented or bought, as the page Compare hardware answers.

    Work begins at `begins`, which has a zone, or now.
    """
    asking, wrong = compare_parameters(given, begins=begins)
    problems, stated = list(wrong), dict[str, Any]()
    facts = compare_facts(store, catalog, asking, problems, stated)
    if facts is None:
        nothing = Answered(comparison=None, candidates=(), chosen=())
        return CompareAnswer(answered=nothing, display=asking.display, query=asking.query,
                             problems=tuple(problems or [NO_RUN]))  # fmt: skip
    told = answered_whole(asking.asked, facts, today)
    problems += problems_of(told.problems, asking.asked, catalog)
    stated["options"] = told.chosen
    if told.comparison is not None:
        stated["made"] = made_text(told.comparison, facts.job, today)
    return CompareAnswer(
        answered=told,
        display=asking.display,
        query=asking.whole_query(stated),
        problems=tuple(problems),
        by=asking.by,
    )


def compare_facts(
    store: Store,
    catalog: Catalog,
    asking: CompareParameters,
    problems: list[Problem],
    stated: dict[str, Any] | None = None,
) -> Facts | None:
    """What is known about the job that is asked for; None where there is no such job.

    `problems` gets what cannot be looked up, `stated` what was looked up, by parameter.
    """
    stated = {} if stated is None else stated
    if asking.described is not None:
        stated["precision"] = asking.described.precision
        job, wrong = with_step(job_described(asking.described), asking.described.step, catalog)
        problems += [wrong] if wrong else []
        return facts_of(store, catalog, job)
    if asking.workload == DESCRIBED or any(not p.parameter for p in problems):
        return None
    workload = _trained(store, asking.workload, problems)
    own = not asking.workload or not any(p.parameter == "workload" for p in problems)
    place = {"workload": workload, "pattern": asking.pattern if own else ""}
    found = None if workload is None else _place(store, place, problems, stated)
    if found is None:
        return None
    workload, pattern = found
    job = measured_job(store, catalog, workload, pattern, asking.samples_per_epoch)
    return facts_of(store, catalog, job, pattern, _steps(store, job, asking, problems, stated))


def _steps(
    store: Store,
    job: Job,
    asking: CompareParameters,
    problems: list[Problem],
    stated: dict[str, Any],
) -> tuple[OptimizerCurve, str] | None:
    """The law of steps to the target that is asked for; None where epochs are."""
    if asking.asked.epochs is not None:
        return None
    of = trial_set_of(store, job.workload)
    trials = queries.trials(store, of) if of else None
    names = slugs([n for n in trials.optimizers if n]) if trials else {}
    steps = None
    if trials is not None and names:
        usual = next((s for s, n in names.items() if n == job.optimizer), next(iter(names)))
        chosen = _one("optimizer", "optimiser", asking.optimizer, names, problems, usual=usual)
        steps = steps_of(trials, _target(trials, asking.target), names[chosen])
        value = usual_target(trials) if asking.target is None else asking.target
        # Offered targets have six digits in every link.
        shown = value if asking.target is not None or value is None else float(f"{value:.6g}")
        stated |= {"optimizer": chosen, "target": shown}
    if steps is None:
        problems += no_steps(store, asking.optimizer)
    return steps


def _target(trials: Trials, value: float | None) -> float | None:
    """The offered target that a link writes so, else the number itself."""
    if value is None:
        return None
    offered_ones = {f"{t:.6g}": t for t in targets_of(trials)}
    return offered_ones.get(f"{value:.6g}", value)


# -- looking names up ----------------------------------------------------------------------------


def _place(
    store: Store, told: Mapping[str, Any], problems: list[Problem], stated: dict[str, Any]
) -> tuple[str, str] | None:
    """Workload and pattern by name, their slugs in `stated`; None where there is no run at all."""
    names = slugs(queries.workloads(store))
    if not names:
        problems.append(NO_RUN)
        return None
    short = _one("workload", "workload", told["workload"], names, problems)
    workload = names[short]
    patterns = slugs(queries.patterns(store, workload))
    wanted = told["workload"]
    known = not wanted or isinstance(looked_up(wanted, names), str)  # else patterns of another
    wanted = told["pattern"] if known else None
    pattern = _one("pattern", "pattern", wanted, patterns, problems)
    stated |= {"workload": short, "pattern": pattern}
    return workload, patterns[pattern]


def _trained(store: Store, wanted: str, problems: list[Problem]) -> str | None:
    """The slug of a workload that was trained: the requested or the first one; None without it."""
    names, trained = slugs(queries.workloads(store)), queries.trained(store)
    known = {short: name for short, name in names.items() if name in trained}
    meant = looked_up(wanted, names)
    if isinstance(meant, str) and meant not in known:
        problems.append(ONLY_INFERENCE)
        return None
    if not known:
        problems.append(NO_TRAINING if names else NO_RUN)
        return None
    if wanted and not isinstance(meant, str):  # what was not trained may be meant as well
        problems.append(Problem(parameter="workload", message=not_found("workload", wanted, names)))
        return next(iter(known))
    return meant if isinstance(meant, str) else next(iter(known))


def _runs_of_curves(
    store: Store,
    workload: str,
    told: Mapping[str, Any],
    problems: list[Problem],
    stated: dict[str, Any],
) -> TimedSteps:
    """Runs of the patterns and systems in question, the usual ones without a choice.

    `stated` gets both as slugs.
    """
    patterns = slugs(queries.patterns(store, workload))
    wanted = [*told["patterns"], *([told["pattern"]] if told["pattern"] else [])]
    chosen = _picked("patterns", "pattern", wanted, patterns, problems) or list(patterns)[:1]
    every = [r for p in patterns.values() for r in queries.runs_of(store, workload, p)]
    size = epoch_size_of(store, workload, every, told["samples_per_epoch"])
    timed = with_step_times(every, size).runs
    systems, usual = slugs(systems_of(timed)), usual_systems(timed)
    picked = _picked("systems", "system", told["systems"], systems, problems)
    picked = picked or [s for s, name in systems.items() if name in usual]
    stated |= {"patterns": tuple(chosen), "systems": tuple(picked)}
    kept = {systems[s] for s in picked}
    names = [name for short, name in patterns.items() if short in chosen]
    found = (r for name in names for r in queries.runs_of(store, workload, name))
    return with_step_times([r for r in found if r.system in kept], size)


def _best_known(store: Store, workload: str) -> list[Run]:
    patterns = queries.patterns(store, workload)
    return queries.runs_of(store, workload, next(iter(patterns))) if patterns else []


def _one(
    parameter: str,
    kind: str,
    wanted: str | None,
    known: Mapping[str, str],
    problems: list[Problem],
    *,
    usual: str = "",
) -> str:
    """The slug that is meant, the usual or first one where none is given or there is no such."""
    meant = looked_up(wanted, known) if wanted else ()
    if isinstance(meant, str):
        return meant
    if wanted:
        problems.append(Problem(parameter=parameter, message=not_found(kind, wanted, known)))
    return usual or next(iter(known))


def _picked(
    parameter: str,
    kind: str,
    wanted: Iterable[str],
    known: Mapping[str, str],
    problems: list[Problem],
) -> list[str]:
    """The slugs that are meant and exist, in the order they are given."""
    meant = [(w, looked_up(w, known)) for w in wanted]
    problems += [
        Problem(parameter=parameter, message=not_found(kind, w, known))
        for w, m in meant
        if not isinstance(m, str)
    ]
    return list(dict.fromkeys(m for _, m in meant if isinstance(m, str)))
