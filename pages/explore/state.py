"""Answers and charts of Explore, kept until a run or a price changes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

import numpy as np
import pyarrow as pa
import streamlit as st
from numpy.typing import NDArray

from pages.common import hardware, widgets
from pages.common.link import Link
from planner import figures
from planner.answers import ExploreAnswer, explore_answered, explore_runs, facet_names
from planner.core import cut, plain
from planner.explore import (
    CATEGORIES,
    NOT_STATED,
    NUMBERS,
    PRESETS,
    ExploreQuestion,
    Points,
    category_of,
    is_grouped,
    marked,
    stated_counts,
)
from planner.explore import usual_workload as usual_workload_of
from planner.figures.frame import LIGHT, escape, slots
from planner.store import Store
from planner.store.kept import Kept

Made = TypeVar("Made")
_ANSWERS: Final = Kept(48)
"""Answers, charts and tables; each of 15,000 points has some megabytes."""
MOST_TEXT: Final = 60
"""Letters of a name on hover."""
SYSTEMS: Final = ("accelerator", "system")
"""Categories whose names are systems."""
MARKED: Final = ("brush", "brush_in", "hidden")
"""Parameters that say what is marked in the chart."""


def runs_of(shared: Store) -> pa.Table:
    """Return all runs with their derived columns, a sample of them where they are very many."""
    return explore_runs(shared, hardware.catalog().catalog)


def runs_key(shared: Store) -> Hashable:
    """Return what changes when a run, a peak or a price changes."""
    return shared.serial, shared.generation, hardware.stamps()


def usual_workload(shared: Store, preset: str) -> str:
    """Return the workload that shows most under a preset."""
    question = PRESETS[preset].question
    work = lambda: usual_workload_of(runs_of(shared), question)  # noqa: E731
    name: str = _ANSWERS.once(("usual workload", runs_key(shared), preset), work)
    return name


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer with the keys of what is drawn of it: `base` whatever area is marked, and `key`."""

    answer: ExploreAnswer
    key: Hashable
    base: Hashable


def reply(shared: Store, question: Mapping[str, Sequence[str]]) -> Reply:
    """Return the answer of the page's parameters."""
    texts = tuple(sorted((name, tuple(values)) for name, values in question.items()))
    key = (runs_key(shared), texts)
    catalog = hardware.catalog().catalog
    kept = _ANSWERS.once(key, lambda: explore_answered(shared, catalog, question))
    base = (key[0], tuple(t for t in texts if t[0] not in MARKED))
    return Reply(answer=kept, key=key, base=base)


def once(name: str, of: Reply, make: Callable[[], Made]) -> Made:
    """Return a part of the page, made once for an answer."""
    made: Made = _ANSWERS.once((name, of.key), make)
    return made


def counts(shared: Store) -> dict[str, int]:
    """Return how many runs state each number."""
    key = ("counts", runs_key(shared))
    by_column: dict[str, int] = _ANSWERS.once(key, lambda: stated_counts(runs_of(shared)))
    return by_column


def chart(of: Reply, marks: ExploreQuestion) -> tuple[figures.ChartSpec, figures.Markup]:
    """Return the chart of an answer, drawn with the marked area of `marks`, and its text."""
    theme = widgets.theme()
    key = ("chart", of.base, marks.brush, marks.brush_in, marks.hidden, theme.text)

    def made() -> tuple[figures.ChartSpec, figures.Markup]:
        spec = figures.explore(*cloud_of(of.answer, marks), theme)
        return spec, figures.chart_text(spec, of.answer.sentence)

    drawn: tuple[figures.ChartSpec, figures.Markup] = _ANSWERS.once(key, made)
    return drawn


def cloud_of(
    answer: ExploreAnswer, marks: ExploreQuestion
) -> tuple[figures.Cloud, list[figures.CloudCurve], figures.CloudAxes]:
    """Return the points, curves and axes of an answer with the marked area of `marks`."""
    points, question, runs = answer.points, answer.question, answer.runs
    assert points is not None  # noqa: S101 - a chart is drawn of points only
    nowhere = np.full(points.n, -1, dtype=np.int64)
    hues = () if points.colour is None else points.colour.labels
    everything = _by_frequency(runs, question.colour) if question.colour in CATEGORIES else []
    panels = () if points.facet is None else points.facet.labels
    panel = nowhere if points.facet is None else points.facet.codes
    cloud = figures.Cloud(
        x=points.x,
        y=points.y,
        drawn=points.drawn,
        hover=_hover(runs, points),
        hover_axes=_hover_axes(points, question),
        hue=nowhere if points.colour is None else points.colour.codes,
        hues=hues,
        slots=_slots(hues, everything, of_systems=question.colour in SYSTEMS),
        symbol=nowhere if points.symbol is None else points.symbol.codes,
        symbols=() if points.symbol is None else points.symbol.labels,
        panel=panel,
        panels=panels,
        case=points.case,
        suspect=np.array([s is not None for s in runs["suspect"].take(points.rows).to_pylist()],
                         dtype=np.bool_),
        marked=marked(points, marks),
        shade=None if points.shade is None else points.shade.shown,
        shade_title="" if points.shade is None else points.shade.axis,
        size=None if points.size is None else points.size.shown,
        groups=points.groups,
        group=points.group,
        hidden=marks.hidden,
        without=NOT_STATED,
    )  # fmt: skip
    curves = [
        figures.CloudCurve(
            label=fit.label, hue=int(cloud.hue[fit.place]), panel=int(cloud.panel[fit.place]),
            x=fit.x, value=fit.value, low=fit.low, high=fit.high, smallest=fit.smallest,
            largest=fit.largest,
        )
        for fit in (answer.fits.curves if answer.fits else ())
    ]  # fmt: skip
    axes = figures.CloudAxes(
        x_title=points.x_title,
        y_title=points.y_title,
        log_x=question.log_x and not is_grouped(question),
        log_y=question.log_y,
        marks=question.marks,
        brush=marks.brush,
        brush_panel=panels.index(marks.brush_in) if marks.brush_in in panels else 0,
        within=question.within,
    )
    return cloud, curves, axes


def marked_now(link: Link, points: Points) -> NDArray[np.bool_]:
    """Return which points are in the area that has just been marked, hidden colours too."""
    corners = tuple(float(c) for c in str(link.held("brush")).split(","))
    area = replace(points.question, brush=corners, brush_in=str(link.held("brush_in")), hidden=())
    return marked(points, area)


def _by_frequency(runs: pa.Table, name: str) -> list[str]:
    """Return the names of a category, that of most runs first."""
    category = category_of(runs, name)
    counts = np.bincount(category.codes[category.codes >= 0], minlength=len(category.labels))
    return [category.labels[i] for i in np.argsort(-counts, kind="stable")]


def _slots(names: Sequence[str], everything: Sequence[str], *, of_systems: bool) -> tuple[int, ...]:
    """Return the colour of each name: its usual one, or the next free one; -1 for the rest.

    Systems have the colours of all pages, those of one accelerator in different shades.
    """
    if of_systems:
        own = figures.option_slots([(name, name) for name in names if name in everything])
        return tuple(own.get(name, -1) for name in names)
    usual, taken = slots(names, everything), set[int]()
    places = []
    for name in names:
        if name not in everything:
            places.append(-1)
            continue
        slot = usual[name]
        while slot in taken and len(taken) < len(LIGHT):
            slot = (slot + 1) % len(LIGHT)
        taken.add(slot)
        places.append(slot)
    return tuple(places)


def _hover_axes(points: Points, question: ExploreQuestion) -> dict[str, str]:
    """Return the names of the axes whose numbers are facts of a run, by axis."""
    names = {"y": _name(question.y, points.y_title)}
    if not is_grouped(question) and question.x != "global_batch_size":
        names = {"x": _name(question.x, points.x_title)} | names
    return names


def _hover(runs: pa.Table, points: Points) -> dict[int, str]:
    """Return the facts of each drawn run, as lines of HTML."""
    rows = points.rows[points.drawn]
    systems, workloads, suspects, standings, batches, dates = (
        runs[name].take(rows).to_pylist()
        for name in ("system", "workload", "suspect", "standing", "global_batch_size",
                     "published_on")
    )  # fmt: skip
    shown = [(escape(m.axis), m.shown) for m in (points.shade, points.size) if m is not None]
    names = {name: escape(cut(name, MOST_TEXT)) for name in {*systems, *workloads}}
    lines = {}
    for i, place in enumerate(points.drawn.tolist()):
        batch = "" if batches[i] is None else f" · batch {batches[i]:,}"
        facts = "".join(f"<br>{title}: {plain(float(v[place]), 4)}" for title, v in shown)
        published = f"<br>published {dates[i]}" if dates[i] else ""
        flag = f"<br>suspect: {escape(suspects[i])}" if suspects[i] else ""
        flag += f"<br>{escape(standings[i])}: not checked" if standings[i] else ""
        lines[place] = (
            f"<b>{names[systems[i]]}</b>{batch}<br>{names[workloads[i]]}{facts}{published}{flag}"
        )
    return lines


def _name(text: str, title: str) -> str:
    return escape(title if text in NUMBERS or text in CATEGORIES else text)


def slug_of(shared: Store, workload: str) -> str:
    """Return a workload's slug among all workloads of the runs."""
    names = facet_names(shared)["workload"]
    return next(short for short, name in names.items() if name == workload)


def clear() -> None:
    """Forget all answers; for tests that patch what answers are made of."""
    _ANSWERS.clear()


def session() -> dict[str, object]:
    """Return what this session remembers of the page between its runs."""
    memory: dict[str, object] = st.session_state.setdefault("explore.memory", {})
    return memory
