"""The choice of curves of the Throughput page, and the answer that is made of them once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import streamlit as st

from pages.common import fields, kept, widgets, workload_choice
from pages.common.curve_lines import lines
from pages.common.link import Link
from planner import figures
from planner.answers import answer_sentences
from planner.answers.parameters import CURVE
from planner.core import Text, looked_up
from planner.core.slugs import slugs
from planner.epochs import MOST_LINES, SAMPLES_PER_EPOCH
from planner.runs import Run
from planner.store import Store
from planner.throughput import SystemCurve, TimedSteps, with_step_times

Made = TypeVar("Made")
_BY_NAME: Final = {p.name: p for p in CURVE}


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputChoice:
    """The workload's name, and the curves to show.

    `steps` are the runs of the chosen systems and patterns, None where none is chosen.
    """

    workload: str
    chosen: list[SystemCurve]
    steps: TimedSteps | None


def draw(link: Link, shared: Store, left_out: frozenset[str]) -> ThroughputChoice | None:
    """Draw the controls; return the choice, None without runs."""
    workloads = kept.workload_names(shared)
    if not workloads:
        widgets.no_run("throughput")
        return None
    short = link.choice("workload", workloads, kept.usual_workload(shared))
    workload = workloads[short]
    boxes = workload_choice.offer(link, shared, workloads)
    widths = [2.4, 8.5, 8.1] if boxes.is_by_kind else [1, 1]
    *kind, first, second = st.columns(widths)
    boxes.draw((kind or [first])[0], first)
    with second:
        patterns = _patterns(link, shared, workload)
    widgets.cut_short(kept.longest(shared, workload))
    entered = link.whole(SAMPLES_PER_EPOCH)
    timed_systems = kept.curve_systems(shared, workload, entered)
    systems = _systems(link, timed_systems.names, timed_systems.usual)
    runs = [r for p in patterns for r in kept.runs_of(shared, workload, p) if r.system in systems]
    others = {s: name for s, name in workloads.items() if s != short}
    link.drop("beside", lambda text: looked_up(text, workloads) == short)
    steps = with_step_times(runs, timed_systems.size) if runs else None
    timed = steps.runs if steps else ()
    chosen = kept.fitted_curves(shared, [*timed, *_beside(link, shared, others, boxes)], left_out)
    if entered is not None or (steps and steps.needs_samples):
        fields.number(link, SAMPLES_PER_EPOCH, empty="not stated", step=1000)
    if len(chosen) > MOST_LINES:
        st.caption(
            Text(
                "The first {most} of {chosen} curves; choose fewer above.",
                most=MOST_LINES,
                chosen=len(chosen),
            )
        )
    shown = chosen[:MOST_LINES]
    return ThroughputChoice(workload=workload, chosen=shown, steps=steps)


def _patterns(link: Link, shared: Store, workload: str) -> list[str]:
    """Return the input patterns to show, in the order of the choices."""
    patterns = slugs(kept.patterns(shared, workload))
    link.merge("pattern", "patterns")
    link.choices("patterns", patterns, list(patterns)[:1])
    shown = fields.several(link, _BY_NAME["patterns"], patterns)
    return [name for short, name in patterns.items() if short in shown]


def _systems(link: Link, names: Sequence[str], usual: Sequence[str]) -> set[str]:
    systems = slugs(names)
    begins = [s for s, name in systems.items() if name in usual]
    link.choices("systems", systems, begins, MOST_LINES)
    chosen = fields.several(link, _BY_NAME["systems"], systems)
    return {systems[s] for s in chosen}


def _beside(
    link: Link, shared: Store, others: Mapping[str, str], boxes: workload_choice.WorkloadOptions
) -> list[Run]:
    """Return runs of other workloads to compare with; the choices are of the same kind."""
    if not others:
        return []
    held = link.choices("beside", others, [], _BY_NAME["beside"].many)
    alike = boxes.alike(str(link.held("workload")), held)
    labels = {s: boxes.labels[s] for s in alike if s in others}
    beside = fields.several(link, _BY_NAME["beside"], labels, placeholder="None")
    return [run for name in beside for run in _best_documented(shared, others[name])]


def _best_documented(shared: Store, workload: str) -> list[Run]:
    """Return runs of another workload under its best documented input pattern."""
    patterns = kept.patterns(shared, workload)
    return kept.runs_of(shared, workload, next(iter(patterns))) if patterns else []


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenCurves:
    """The chosen curves of one question."""

    shared: Store
    key: Hashable
    chosen: list[SystemCurve]

    def once(self, what: str, make: Callable[[], Made], *more: Hashable) -> Made:
        """Return what `make` makes of this question and `more`, kept for all sessions."""
        return kept.drawn(self.shared, f"throughput {what}", (self.key, more), make)

    @property
    def lines(self) -> list[figures.ThroughputLine]:
        """The curves as the charts draw them."""
        suspect = kept.suspects(self.shared).names
        return self.once("lines", lambda: lines(self.chosen, suspect))

    @property
    def sentences(self) -> list[str]:
        """The answer in words."""
        return self.once("sentences", lambda: answer_sentences(self.chosen))
