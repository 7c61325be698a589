"""The inputs of the page Steps to target, and the view that they make."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.common import fields, hardware, kept, widgets, workload_choice
from pages.common.link import Link, as_text
from pages.steps_to_target import (
    families,
    reference_choice,
    rows,
    step_times,
)
from pages.steps_to_target.lines import TargetView
from pages.steps_to_target.step_times import StepTimeChoice, Subject
from planner.answers.comparison import BY_NAME
from planner.answers.parameters import STEPS_TO_TARGET
from planner.convergence import target_text
from planner.core import Record, Text, looked_up, several
from planner.core.slugs import slugs
from planner.job import StatedTime
from planner.runs import Trials, TrialSet
from planner.store import Store
from planner.store.kept import Kept
from planner.store.queries import MOST_TRIALS
from planner.time_to_target import (
    CAUTION,
    BatchTiming,
    Edition,
    Families,
    OptimizerComparison,
    TargetWords,
    caution_of,
    comparison_of,
    goal_of,
    goal_of_reference,
    timings_of,
)

_WORDS: Final = re.compile(r"[A-Za-z0-9]+([ -][A-Za-z0-9]+)*")
"""Names without characters of Markdown."""
NO_TRIALS: Final = "There is no evaluation curve yet."
HOW_TO_MAKE: Final = (
    "No result folder holds a training run with a batch size and an evaluation metric. "
    "The sweep digits-steps-quick makes some in minutes: python -m runners converge "
    "digits-steps-quick."
)


def has_choice(shared: Store) -> bool:
    """Return whether there is a workload to choose."""
    return bool(kept.trial_sets(shared) or reference_choice.reference_points().editions)


def view_of(link: Link, shared: Store, left_out: frozenset[str]) -> TargetView | None:
    """Return the view of the chosen workload; None without any workload."""
    sets, editions = kept.trial_sets(shared), reference_choice.reference_points().editions
    labels = slugs([*kept.set_names(shared), *editions])
    if not labels:
        return None
    if not sets:
        st.caption(
            widgets.answer_text(
                Text(
                    "{no_trials} {how_to_make} Until then: reference points.",
                    no_trials=NO_TRIALS,
                    how_to_make=HOW_TO_MAKE,
                )
            )
        )
    link.translate("workload", lambda text: _as_trials(text, shared, sets, labels))
    workload = link.choice("workload", labels, next(iter(labels)))
    place = list(labels).index(workload)
    boxes = workload_choice.by_name(link, labels)
    widths = [2.4, 8.5, 8.1] if boxes.is_by_kind else [1, 1]
    *kind, first, second = st.columns(widths, vertical_alignment="bottom")
    boxes.draw((kind or [first])[0], first)
    if place < len(sets):
        return _measured(link, shared, sets[place], left_out, second)
    return _reference(link, shared, editions[labels[workload]], left_out, second)


def _as_trials(
    text: str, shared: Store, sets: Sequence[TrialSet], labels: Mapping[str, str]
) -> str:
    """Return the trials of a workload that other pages name: its set of the most batch sizes."""
    names = kept.workload_names(shared)
    meant = looked_up(text, names)
    if isinstance(looked_up(text, labels), str) or not isinstance(meant, str):
        return text
    own = kept.trial_sets_of(shared, names[meant])
    return list(labels)[sets.index(own[0])] if own else text


def _measured(
    link: Link,
    shared: Store,
    of: TrialSet,
    left_out: frozenset[str],
    place: DeltaGenerator,
) -> TargetView:
    trials = kept.trials(shared, of)
    by_slug = slugs(trials.optimizers)
    most = STEPS_TO_TARGET["optimizers"].many
    chosen = link.choices("optimizers", by_slug, list(by_slug)[:most], most)
    fields.several(link, STEPS_TO_TARGET["optimizers"], by_slug, place)
    target = _target(link, trials, kept.targets(shared, of))
    names = [by_slug[c] for c in chosen]
    subject = Subject(trained=of.subject, optimizers=tuple(names), precision=of.precision)
    times = step_times.offer(link, shared, subject, left_out)
    aimed = of.target if target is None else target
    goal = goal_of(of, trials, np.nan if aimed is None else aimed)
    comparison = OptimizerComparison(target=np.nan if target is None else target, curves=())
    if names and target is not None:
        comparison = kept.optimizer_comparison(shared, of, target, tuple(names))
    return _view(
        goal,
        comparison,
        times,
        optimizers=trials.optimizers,
        remarks=_about_trials(of, trials, comparison, goal),
        sources=rows.set_sources(of, shared),
        empty=_empty(of, trials, target),
        reached=tuple(rows.reached(r) for r in kept.target_times(shared, of)),
        stated=() if aimed is None else hardware.stated(shared, of, aimed),
        compared=None if target is None else families.offer(link, shared, of, target, goal),
    )


def _reference(
    link: Link,
    shared: Store,
    editions: tuple[Edition, ...],
    left_out: frozenset[str],
    place: DeltaGenerator,
) -> TargetView:
    chosen = reference_choice.choose(link, editions)
    with place:
        reference_choice.draw(link, editions)
    st.caption(widgets.answer_text(reference_choice.benchmark_words(chosen)))
    comparison = comparison_of(chosen)
    benchmark, names = chosen.benchmark, tuple(c.optimizer for c in comparison.curves)
    trained = " · ".join(p for p in (benchmark.model, benchmark.dataset) if p)
    subject = Subject(trained=trained, optimizers=names)
    return _view(
        goal_of_reference(chosen),
        comparison,
        step_times.offer(link, shared, subject, left_out),
        optimizers=list(names),
        remarks=[comparison.reached, CAUTION],
        sources=reference_choice.sources(chosen),
        is_reference=True,
    )


def _view(
    goal: TargetWords,
    comparison: OptimizerComparison,
    times: StepTimeChoice,
    *,
    optimizers: list[str],
    remarks: list[str],
    sources: list[Record],
    empty: tuple[str, str] = ("", ""),
    is_reference: bool = False,
    reached: tuple[Record, ...] = (),
    stated: tuple[StatedTime, ...] = (),
    compared: Families | None = None,
) -> TargetView:
    return TargetView(
        goal=goal,
        comparison=comparison,
        times=times,
        timings=_timings(comparison, times),
        optimizers=optimizers,
        remarks=[r for r in remarks if r],
        sources=sources,
        empty=empty,
        is_reference=is_reference,
        reached=reached,
        stated=stated,
        families=compared,
    )


_TIMINGS: Final = Kept(64)


def _timings(comparison: OptimizerComparison, times: StepTimeChoice) -> dict[str, BatchTiming]:
    """Return `timings_of` these curves, kept while the same objects are compared."""
    of = (id(comparison), *((name, id(p.curve)) for name, p in times.placed.items()))
    made = lambda: (comparison, times.placed, timings_of(comparison, times.placed))  # noqa: E731
    return _TIMINGS.once(of, made)[2]  # the first two keep their ids


def _target(link: Link, trials: Trials, values: tuple[list[float], float | None]) -> float | None:
    """Return the chosen target, from easy to strict; None without curves."""
    targets, usual = values
    if usual is None or not targets:
        return None
    offered = workload_choice.offered_targets(link, targets, str(link.held("workload")))
    chosen = link.choice("target", list(offered), f"{usual:.6g}")
    shares = trials.in_per_cent
    texts = {k: target_text(t, in_per_cent=shares) for k, t in offered.items()}
    if len(offered) > 1:
        st.select_slider(
            BY_NAME["target"].title(_in_label(trials.metric)),
            list(offered),
            chosen,
            key=link.key("target"),
            format_func=texts.__getitem__,
            help=BY_NAME["target"].hint,
        )
    return offered[chosen]


def _in_label(name: str) -> str:
    """Return a name as part of a label; screen readers read the label as written here.

    Plain words stay as they are; other names are escaped.
    """
    return name if _WORDS.fullmatch(name) else as_text(name)


def _about_trials(
    of: TrialSet, trials: Trials, comparison: OptimizerComparison, goal: TargetWords
) -> list[str]:
    left_out, most = int((~trials.counts).sum()), f"{MOST_TRIALS:,}"
    remarks = [caution_of(comparison, goal), comparison.reached]
    if left_out:
        remarks.append(
            Text("{several} without evaluations left out.", several=several(left_out, "trial"))
        )
    if of.trials > MOST_TRIALS:
        remarks.append(
            Text(
                "Only the first {most} of {trials:,} trials are used.", most=most, trials=of.trials
            )
        )
    return remarks


def _empty(of: TrialSet, trials: Trials, target: float | None) -> tuple[str, str]:
    """Return title and reason of the empty state: no optimiser chosen, or no evaluations."""
    if trials.optimizers and target is not None:
        return "No optimiser is chosen.", "No optimiser is left above."
    return (
        "These trials have no evaluations.",
        Text(
            "{several} of this workload name a metric, but none holds its evaluations. "
            "A target needs them.",
            several=several(of.trials, "run"),
        ),
    )
