"""Answers to links, commands and HTTP queries, from the store.

Every function takes the texts of the parameters and returns the answer with all problems. With
problems the answer covers the usable parts: a page shows it beside a warning, while commands and
the HTTP interface refuse. The numbers come from `planner.epochs.how_long`,
`planner.throughput.curves` and `planner.answers.comparison.question`.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial
from typing import Any, Final

from planner.answers import parameters
from planner.answers._tables import (
    answer_rows,
    answer_sentences,
    batch_rows,
    curve_sources,
    run_sources,
)
from planner.answers.comparison import (
    DESCRIBED,
    Answered,
    CompareParameters,
    JobFacts,
    Target,
    answered_whole,
    compare_parameters,
    epoch_size_of,
    facts_of,
    made_text,
    measured_job,
    moment_words,
    option_rows,
    own_trials,
    source_rows,
    stated_of,
    steps_of,
    trial_set_of,
)
from planner.answers.records import (
    Bar,
    BatchRow,
    BuyOrRent,
    CurveRow,
    Curves,
    ElectricityRow,
    HardwareComparison,
    OptionRow,
    PointRow,
    Projection,
    ProjectionRow,
    Tornado,
    rows_of,
)
from planner.answers.runs import NO_SUSPECTS, suspects_of, with_priors
from planner.catalog import Catalog
from planner.compare import (
    Electricity,
    RentOrBuy,
    assumed_lines,
    buying,
    limits_sentence,
    next_step,
    sentence,
    tornado,
    with_step,
)
from planner.compare.comparison import Comparison
from planner.compare.rent_or_buy import rent_or_buy
from planner.compare.undecided import undecided
from planner.convergence import goal_text, targets_of, usual_target
from planner.core import (
    Estimate,
    ParameterProblem,
    QueryTexts,
    Text,
    cell,
    estimate_cells,
    looked_up,
    no_match,
    paragraph,
    parameter_of,
    plural,
    query_of,
    read,
    shown,
)
from planner.core.slugs import slugs
from planner.cost import Display
from planner.cost import shown as amount
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
from planner.runs import Run, Trials, TrialSet
from planner.store import queries
from planner.store.reader import Store
from planner.store.sealed.result_set import ResultSet
from planner.throughput import (
    SystemCurve,
    TimedSteps,
    curve_rows,
    curves_of,
    point_rows,
    systems_of,
    usual_systems,
    with_step_times,
)

MOST_NAMED: Final = 6
"""Most workloads that a message names."""


def no_steps(store: Store, optimizer: str) -> list[ParameterProblem]:
    """Return why a workload without measured steps to a target is refused.

    Args:
        store: the results.
        optimizer: the requested optimiser; "" without one.
    """
    message = Text(
        "This workload has no measured steps to a target. {instead}", instead=_instead(store)
    )
    wrong = [ParameterProblem(parameter="goal", message=message)]
    if optimizer:
        hint = Text(
            "{optimizer} cannot be looked up without measured steps. Leave it out.",
            optimizer=shown(optimizer),
        )
        wrong.append(ParameterProblem(parameter="optimizer", message=hint))
    return wrong


def with_targets(store: Store) -> tuple[str, ...]:
    """Return slugs of the workloads with measured steps to a target."""
    trained, sets = queries.trained(store), queries.trial_sets(store)
    named = slugs(queries.workloads(store)).items()
    return tuple(s for s, name in named if name in trained and own_trials(sets, name))


def _instead(store: Store) -> str:
    slugs_with_steps = with_targets(store)
    if not slugs_with_steps:
        return "Choose epochs."
    end = ", ..." if len(slugs_with_steps) > MOST_NAMED else "."
    which = f"{', '.join(slugs_with_steps[:MOST_NAMED])}{end}"
    return Text("Choose epochs, or choose a workload with steps to a target: {which}", which=which)


NO_RUN: Final = ParameterProblem(
    parameter="",
    message="There is no run yet. Measure one, or name a folder of results in EPOCHWISE_RESULTS.",
)
ONLY_INFERENCE: Final = ParameterProblem(
    parameter="workload", message=paragraph(INFERENCE.reason, INFERENCE.measure_next)
)
NO_TRAINING: Final = ParameterProblem(
    parameter="workload",
    message="There is no training run, only inference. Measure one, or describe a workload.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HowLongAnswer:
    """Ranked totals; `result` is None where nothing can be ranked.

    `query` is the same question with its defaults written out, as in a shared link. `note` names
    the runs that state a time to a target, where no option has a total.
    """

    result: HowLong | None
    suspect: Mapping[str, str]
    query: str
    problems: tuple[ParameterProblem, ...]
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveAnswer:
    """The chosen curves, and the batches [samples] to answer at.

    `notes` state the epoch size behind step times, and why systems have no curve.
    """

    chosen: tuple[SystemCurve, ...]
    batches: tuple[float, ...]
    query: str
    problems: tuple[ParameterProblem, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareAnswer:
    """A comparison, the display of money, and the problems of the question.

    `by` is the deadline where it is a date.
    """

    answered: Answered
    display: Display
    query: str
    problems: tuple[ParameterProblem, ...]
    by: datetime | None = None


def how_long_answered(store: Store, question: QueryTexts, *, flagged: bool = True) -> HowLongAnswer:
    """Return the times of N epochs on each system, as on the page How long?.

    Without `flagged` the answer names no suspect runs, which depend on all runs of the store.
    """
    parsed = read(parameters.HOW_LONG, question, parameters.FOR_THE_EYE)
    values, problems = parsed.values, list(parsed.problems)
    by_flags, stated = flagged or values["without_suspects"], dict[str, Any]()
    suspect = suspects_of(store) if by_flags else NO_SUSPECTS
    place = _place(store, values, problems, stated)
    if place is None:
        query = query_of(parameters.HOW_LONG, values)
        return HowLongAnswer(result=None, suspect={}, query=query, problems=tuple(problems))
    without = suspect.left_out if values["without_suspects"] else frozenset[str]()
    runs = with_priors(store, queries.runs_of(store, *place), without)
    options = offered(runs, partial(queries.epochs_of, store))
    names = slugs([o.label for o in options])
    by_slug = dict(zip(names, options, strict=True))
    chosen = picked("systems", "system", values["systems"], names, problems)
    size = epoch_size_of(store, place[0], runs, values["samples_per_epoch"])
    usual = usual_options(by_slug, size)
    base = looked_up_slug("baseline", "system", values["baseline"], names, problems, usual=usual[0])
    chosen = (chosen or usual)[:MOST_CHOSEN]
    stated |= {"systems": tuple(chosen), "baseline": base}
    listed = list(dict.fromkeys([*chosen, base]))
    result = how_long(
        with_epochs([by_slug[s] for s in listed], partial(queries.epochs_of, store)),
        values["epochs"],
        by_slug[base].label,
        another_session=values["session"],
        rest_like_last=values["rest_like_last"],
        left_out=without,
        size=size,
    )
    return HowLongAnswer(
        result=result,
        suspect=suspect.names,
        query=query_of(parameters.HOW_LONG, {**values, **stated}, parameters.STATED),
        problems=tuple(problems),
        note=target_note(store, place[0], result),
    )


def target_note(store: Store, workload: str, result: HowLong) -> str:
    """Return how many runs state a time to a target; "" where a total is known, or none does."""
    if any(isinstance(a.total, Estimate) for a in result.answers):
        return ""
    of = trial_set_of(store, workload)
    if of is None or of.target is None:
        return ""
    rows = [r for r in queries.target_times(store, of) if r["target_value"] == of.target]
    if not rows:
        return ""
    return plural(
        len(rows),
        "{count} run states its time to {words}. Compare ranks hardware by it, with the target as "
        "goal.",
        "{count:,} runs state their time to {words}. Compare ranks hardware by it, with the target "
        "as goal.",
        words=goal_text(queries.trials(store, of), of.target),
    )


def curve_answered(store: Store, question: QueryTexts) -> CurveAnswer:
    """Return throughput curves of a workload's systems, as on the page Throughput."""
    parsed = read(parameters.CURVE, question, parameters.FOR_THE_EYE)
    values, problems = parsed.values, list(parsed.problems)
    without = suspects_of(store).left_out if values["without_suspects"] else frozenset[str]()
    names = slugs(queries.workloads(store))
    if not names:
        problems.append(NO_RUN)
        return CurveAnswer(chosen=(), batches=(), query="", problems=tuple(problems))
    short = looked_up_slug("workload", "workload", values["workload"], names, problems)
    workload = names[short]
    stated: dict[str, Any] = {"workload": short, "pattern": None}
    steps = _runs_of_curves(store, workload, values, problems, stated)
    beside = picked("beside", "workload", values["beside"], names, problems)
    further = [r for b in beside if names[b] != workload for r in _best_documented(store, names[b])]
    chosen = curves_of([*steps.runs, *further], without)[:MOST_LINES]
    return CurveAnswer(
        chosen=tuple(chosen),
        notes=tuple(t for t in (steps.note, *steps.missing) if t),
        batches=values["batch"],
        query=query_of(
            parameters.CURVE, {**values, **stated, "beside": tuple(beside)}, parameters.STATED
        ),
        problems=tuple(problems),
    )


def compare_answered(
    store: Store,
    catalog: Catalog,
    question: QueryTexts,
    today: date,
    begins: datetime | None = None,
) -> CompareAnswer:
    """Return the comparison of hardware, as on the page Compare hardware.

    Work starts at `begins` (with its zone), or now.
    """
    asking, wrong = compare_parameters(question, begins=begins)
    problems, stated = list(wrong), dict[str, Any]()
    facts = compare_facts(store, catalog, asking, problems, stated)
    if facts is None:
        nothing = Answered(comparison=None, candidates=(), chosen=())
        return CompareAnswer(answered=nothing, display=asking.display, query=asking.query,
                             problems=tuple(problems or [NO_RUN]))  # fmt: skip
    answer = answered_whole(asking.request, facts, today)
    problems += [ParameterProblem(parameter=parameter_of(t), message=t) for t in answer.problems]
    stated["options"] = answer.chosen
    if answer.comparison is not None:
        stated["made"] = made_text(answer.comparison, facts.job, today)
    return CompareAnswer(
        answered=answer,
        display=asking.display,
        query=asking.whole_query(stated),
        problems=tuple(problems),
        by=asking.by,
    )


def compare_facts(
    store: Store,
    catalog: Catalog,
    asking: CompareParameters,
    problems: list[ParameterProblem],
    stated: dict[str, Any] | None = None,
) -> JobFacts | None:
    """Return the facts of the requested job; None where there is no such job.

    Adds failed look-ups to `problems`, and the values found to `stated`, by parameter.
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
    names = None if workload is None else _place(store, place, problems, stated)
    if names is None:
        return None
    workload, pattern = names
    job = measured_job(store, catalog, workload, pattern, asking.samples_per_epoch)
    if asking.request.epochs is not None:
        return facts_of(store, catalog, job, pattern)
    target = _target_of(store, catalog, job, asking, problems=problems, stated=stated)
    return facts_of(store, catalog, job, pattern, target)


def _target_of(
    store: Store,
    catalog: Catalog,
    job: Job,
    asking: CompareParameters,
    *,
    problems: list[ParameterProblem],
    stated: dict[str, Any],
) -> Target | None:
    """Return the requested target with its law and stated times; None without any of both."""
    of = trial_set_of(store, job.workload)
    trials = queries.trials(store, of) if of else None
    names = slugs([n for n in trials.optimizers if n]) if trials else {}
    steps = None
    if trials is not None and names:
        usual = next((s for s, n in names.items() if n == job.optimizer), next(iter(names)))
        chosen = looked_up_slug(
            "optimizer", "optimiser", asking.optimizer, names, problems, usual=usual
        )
        steps = steps_of(trials, _target(trials, asking.target), names[chosen])
        value = usual_target(trials) if asking.target is None else asking.target
        # offered targets have six digits in every link
        shown = value if asking.target is not None or value is None else float(f"{value:.6g}")
        stated |= {"optimizer": chosen, "target": shown}
        if steps is not None and of is not None and value is not None:
            times = stated_of(store, catalog, of, value)
            return Target(steps=steps[0], words=steps[1], stated=times, standing=of.standing)
    if of is not None and trials is not None and (target := _only_stated(of, asking)) is not None:
        times = stated_of(store, catalog, of, target)
        if times:
            stated["target"] = float(f"{target:.6g}")
            words = goal_text(trials, target)
            return Target(words=words, stated=times, standing=of.standing)
    problems += no_steps(store, asking.optimizer)
    return None


def _only_stated(of: TrialSet, asking: CompareParameters) -> float | None:
    """Return the target that trials without evaluations state; None for another target."""
    if of.target is None or asking.optimizer:
        return None
    same = asking.target is None or math.isclose(asking.target, of.target, rel_tol=1e-5)
    return of.target if same else None


def _target(trials: Trials, value: float | None) -> float | None:
    """Return the offered target that a link writes this way, else the number itself."""
    if value is None:
        return None
    by_text = {f"{t:.6g}": t for t in targets_of(trials)}
    return by_text.get(f"{value:.6g}", value)


# -- look-up of names ----------------------------------------------------------------------------


def _place(
    store: Store,
    values: Mapping[str, Any],
    problems: list[ParameterProblem],
    stated: dict[str, Any],
) -> tuple[str, str] | None:
    """Return workload and pattern by name, slugs in `stated`; None without any run."""
    names = slugs(queries.workloads(store))
    if not names:
        problems.append(NO_RUN)
        return None
    short = looked_up_slug("workload", "workload", values["workload"], names, problems)
    workload = names[short]
    patterns = slugs(queries.patterns(store, workload))
    requested = values["workload"]
    valid = not requested or isinstance(
        looked_up(requested, names), str
    )  # else the pattern is of another workload
    requested = values["pattern"] if valid else None
    pattern = looked_up_slug("pattern", "pattern", requested, patterns, problems)
    stated |= {"workload": short, "pattern": pattern}
    return workload, patterns[pattern]


def _trained(store: Store, requested: str, problems: list[ParameterProblem]) -> str | None:
    """Return the slug of the requested or first trained workload; None without one."""
    names, trained = slugs(queries.workloads(store)), queries.trained(store)
    trainable = {short: name for short, name in names.items() if name in trained}
    meant = looked_up(requested, names)
    if isinstance(meant, str) and meant not in trainable:
        problems.append(ONLY_INFERENCE)
        return None
    if not trainable:
        problems.append(NO_TRAINING if names else NO_RUN)
        return None
    if requested and not isinstance(meant, str):  # it may match an untrained workload too
        problems.append(
            ParameterProblem(parameter="workload", message=no_match("workload", requested, names))
        )
        return next(iter(trainable))
    return meant if isinstance(meant, str) else next(iter(trainable))


def _runs_of_curves(
    store: Store,
    workload: str,
    values: Mapping[str, Any],
    problems: list[ParameterProblem],
    stated: dict[str, Any],
) -> TimedSteps:
    """Return step times of the requested patterns and systems, or of the defaults.

    Adds both as slugs to `stated`.
    """
    patterns = slugs(queries.patterns(store, workload))
    requested = [*values["patterns"], *([values["pattern"]] if values["pattern"] else [])]
    chosen = picked("patterns", "pattern", requested, patterns, problems) or list(patterns)[:1]
    every = queries.kinds_of_runs(store, workload, list(patterns.values()))
    size = epoch_size_of(store, workload, every, values["samples_per_epoch"])
    timed = with_step_times(every, size).runs
    systems, usual = slugs(systems_of(timed)), usual_systems(timed)
    named = picked("systems", "system", values["systems"], systems, problems)
    named = named or [s for s, name in systems.items() if name in usual]
    stated |= {"patterns": tuple(chosen), "systems": tuple(named)}
    kept = {systems[s] for s in named}
    names = [name for short, name in patterns.items() if short in chosen]
    runs = (r for name in names for r in queries.runs_of(store, workload, name))
    return with_step_times([r for r in runs if r.system in kept], size)


def _best_documented(store: Store, workload: str) -> list[Run]:
    patterns = queries.patterns(store, workload)
    return queries.runs_of(store, workload, next(iter(patterns))) if patterns else []


def looked_up_slug(
    parameter: str,
    kind: str,
    requested: str | None,
    names: Mapping[str, str],
    problems: list[ParameterProblem],
    *,
    usual: str = "",
) -> str:
    """Return the requested slug; the default or first one without a match."""
    meant = looked_up(requested, names) if requested else ()
    if isinstance(meant, str):
        return meant
    if requested:
        problems.append(
            ParameterProblem(parameter=parameter, message=no_match(kind, requested, names))
        )
    return usual or next(iter(names))


def picked(
    parameter: str,
    kind: str,
    requested: Iterable[str],
    names: Mapping[str, str],
    problems: list[ParameterProblem],
) -> list[str]:
    """Return the requested slugs that exist, in their order."""
    meant = [(w, looked_up(w, names)) for w in requested]
    problems += [
        ParameterProblem(parameter=parameter, message=no_match(kind, w, names))
        for w, m in meant
        if not isinstance(m, str)
    ]
    return list(dict.fromkeys(m for _, m in meant if isinstance(m, str)))


def projection(
    result: HowLong,
    suspect: Mapping[str, str],
    sets: Sequence[ResultSet],
    query: str,
    *,
    note: str = "",
) -> Projection:
    """Return the answer of How long?: times of N epochs on each system."""
    return Projection(
        query=query,
        epochs=result.epochs,
        samples_per_epoch=result.epoch_size.samples,
        epoch_size=result.epoch_size.sentence,
        start_up=result.start_sentence or None,
        baseline=result.baseline.label,
        sentence=result.sentence,
        undecided=result.undecided or None,
        note=note or None,
        rows=rows_of(ProjectionRow, answer_rows(result, suspect)),
        sources=tuple(run_sources([a.option for a in result.answers], sets)),
    )


def curves(
    chosen: Sequence[SystemCurve],
    batches: Sequence[float],
    sets: Sequence[ResultSet],
    query: str,
    notes: Sequence[str] = (),
) -> Curves:
    """Return throughput curves, their points, and their values at the requested batches."""
    return Curves(
        query=query,
        sentences=tuple(answer_sentences(chosen)),
        notes=tuple(notes),
        curves=rows_of(CurveRow, curve_rows(chosen)),
        at_batch=rows_of(BatchRow, batch_rows(chosen, batches)),
        points=rows_of(PointRow, point_rows(chosen)),
        sources=tuple(curve_sources(chosen, sets)),
    )


def hardware_comparison(
    comparison: Comparison, display: Display, query: str, by: datetime | None = None
) -> HardwareComparison:
    """Return the answer of Compare hardware.

    `by` is the deadline where it is a date. Money is in the currency of `display` with its tax;
    assumptions are in USD.
    """
    until = moment_words(by) if by else ""
    bought, (open_question, measure) = rent_or_buy(comparison, display), undecided(comparison)
    return HardwareComparison(
        query=query,
        workload=comparison.question.job.workload,
        goal=comparison.question.goal.words,
        samples_per_epoch=comparison.question.job.samples_per_epoch,
        sentence=sentence(comparison, display),
        undecided=open_question or None,
        measure_next=measure or None,
        timed_step=next_step(comparison) or None,
        money=display.note,
        rows=rows_of(OptionRow, option_rows(comparison, display)),
        rent_or_buy=None if bought is None else _bought(bought),
        matters_most=_matters(comparison, display),
        keeps=limits_sentence(comparison, until, display) or None,
        assumptions=comparison.question.assumed,
        electricity=_electricity(comparison.question.electricity),
        assumed=tuple(assumed_lines(comparison)),
        sources=tuple(source_rows(comparison)),
    )


def _bought(pair: RentOrBuy) -> BuyOrRent:
    return BuyOrRent(
        sentence=buying(pair),
        rent=pair.rent.candidate.id,
        buy=pair.buy.candidate.id,
        **estimate_cells("utilisation", pair.use),
        **estimate_cells("runs_per_month", pair.runs_per_month),
    )


def _electricity(used: Electricity | None) -> ElectricityRow | None:
    """Return the electricity: country, customer, dates and sources of price and carbon."""
    if used is None:
        return None
    row, priced, carbon = used.tariff, used.priced, used.carbon
    return ElectricityRow(
        country=row.country,
        customer=row.customer if priced else None,
        price_as_of=f"{row.price_as_of:%Y-%m-%d}" if priced and row.price_as_of else None,
        price_source=row.price_source_url or None if priced else None,
        price_is_stale=used.stale,
        carbon_as_of=f"{row.carbon_as_of:%Y-%m-%d}" if carbon and row.carbon_as_of else None,
        carbon_source=row.carbon_source_url or None if carbon else None,
        note=row.note or None if priced else None,
    )


def _matters(comparison: Comparison, display: Display) -> Tornado | None:
    influence = tornado(comparison)
    if influence is None:
        return None
    bars = tuple(
        Bar(input=i.name, low=cell(amount(i.low, display)), high=cell(amount(i.high, display)))
        for i in influence.influences
    )
    base = cell(amount(influence.base, display))
    return Tornado(title=influence.title, unit=display.currency, base=base, inputs=bars)
