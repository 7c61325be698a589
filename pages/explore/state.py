"""Answers and charts of Explore, kept until a run or a price changes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import streamlit as st

from pages.common import hardware, kept, widgets
from planner import figures
from planner.answers import ExploreAnswer, explore_answered, explore_runs
from planner.core import plain
from planner.explore import CATEGORIES, NUMBERS, Points, category_of, is_grouped, stated_counts
from planner.figures.frame import LIGHT, escape, slots
from planner.store import Store
from planner.store.kept import Kept

_ANSWERS: Final = Kept(24)
"""Answers and charts; each of 15,000 points has some megabytes."""
MOST_TEXT: Final = 60
"""Letters of a name on hover."""


def runs_of(shared: Store) -> pa.Table:
    """Return all runs with their derived columns."""
    return explore_runs(shared, hardware.catalog().catalog)


def runs_key(shared: Store) -> Hashable:
    """Return what changes when a run, a peak or a price changes."""
    return shared.serial, shared.generation, hardware.stamps()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer with the key under which its charts are kept."""

    answer: ExploreAnswer
    key: Hashable


def reply(shared: Store, question: Mapping[str, Sequence[str]]) -> Reply:
    """Return the answer of the page's parameters."""
    texts = tuple(sorted((name, tuple(values)) for name, values in question.items()))
    key = (runs_key(shared), texts)
    catalog = hardware.catalog().catalog
    found = _ANSWERS.once(key, lambda: explore_answered(shared, catalog, question))
    return Reply(answer=found, key=key)


def counts(shared: Store) -> dict[str, int]:
    """Return how many runs state each number."""
    key = ("counts", runs_key(shared))
    found: dict[str, int] = _ANSWERS.once(key, lambda: stated_counts(runs_of(shared)))
    return found


def chart(shared: Store, of: Reply, brush: tuple[float, ...]) -> figures.ChartSpec:
    """Return the chart of an answer; `brush` is the marked area that it is drawn with."""
    theme = widgets.theme()
    key = ("chart", of.key, brush, theme.text)
    spec: figures.ChartSpec = _ANSWERS.once(
        key, lambda: figures.explore(*_drawn(shared, of.answer, brush), theme)
    )
    return spec


def _drawn(
    shared: Store, answer: ExploreAnswer, brush: tuple[float, ...]
) -> tuple[figures.Cloud, list[figures.CloudCurve], figures.CloudAxes]:
    points, asked, runs = answer.points, answer.question, runs_of(shared)
    assert points is not None  # noqa: S101 - a chart is drawn of points only
    nowhere = np.full(points.n, -1, dtype=np.int64)
    hues = () if points.colour is None else points.colour.labels
    everything = _by_frequency(runs, asked.colour) if asked.colour in CATEGORIES else []
    panels = () if points.facet is None else points.facet.labels
    panel = nowhere if points.facet is None else points.facet.codes
    cloud = figures.Cloud(
        x=points.x,
        y=points.y,
        hover=_hover(runs, points, answer),
        hue=nowhere if points.colour is None else points.colour.codes,
        hues=hues,
        slots=_slots(hues, everything),
        symbol=nowhere if points.symbol is None else points.symbol.codes,
        symbols=() if points.symbol is None else points.symbol.labels,
        panel=panel,
        panels=panels,
        case=points.case,
        suspect=np.array([s is not None for s in runs["suspect"].take(points.rows).to_pylist()],
                         dtype=np.bool_),
        marked=points.brushed if brush else np.zeros(points.n, dtype=np.bool_),
        shade=None if points.shade is None else points.shade.shown,
        shade_title="" if points.shade is None else points.shade.axis,
        size=None if points.size is None else points.size.shown,
        groups=points.groups,
        group=points.group,
    )  # fmt: skip
    curves = [
        figures.CloudCurve(
            label=fit.label, hue=int(cloud.hue[fit.place]), panel=int(cloud.panel[fit.place]),
            batch=fit.batch, value=fit.value, low=fit.low, high=fit.high, smallest=fit.smallest,
            largest=fit.largest,
        )
        for fit in (answer.fits.curves if answer.fits else ())
    ]  # fmt: skip
    axes = figures.CloudAxes(
        x_title=points.x_title,
        y_title=points.y_title,
        log_x=asked.log_x and not is_grouped(asked),
        log_y=asked.log_y,
        marks=asked.marks,
        brush=brush,
        brush_panel=panels.index(asked.brush_in) if asked.brush_in in panels else 0,
    )
    return cloud, curves, axes


def _by_frequency(runs: pa.Table, name: str) -> list[str]:
    """Return the names of a category, that of most runs first."""
    category = category_of(runs, name)
    counts = np.bincount(category.codes[category.codes >= 0], minlength=len(category.labels))
    return [category.labels[i] for i in np.argsort(-counts, kind="stable")]


def _slots(names: Sequence[str], everything: Sequence[str]) -> tuple[int, ...]:
    """Return the colour of each name: its usual one, or the next free one; -1 for the rest."""
    usual, taken = slots(names, everything), set[int]()
    found = []
    for name in names:
        if name not in everything:
            found.append(-1)
            continue
        slot = usual[name]
        while slot in taken and len(taken) < len(LIGHT):
            slot = (slot + 1) % len(LIGHT)
        taken.add(slot)
        found.append(slot)
    return tuple(found)


def _hover(runs: pa.Table, points: Points, answer: ExploreAnswer) -> list[str]:
    """Return the facts of each run, as lines of HTML."""
    asked = answer.question
    systems, workloads, suspects, batches, dates = (
        runs[name].take(points.rows).to_pylist()
        for name in ("system", "workload", "suspect", "global_batch_size", "published_on")
    )
    shown = [(_name(asked.y, points.y_title), points.y)]
    if not is_grouped(asked) and asked.x != "global_batch_size":
        shown.insert(0, (_name(asked.x, points.x_title), points.x))
    shown += [(escape(m.axis), m.shown) for m in (points.shade, points.size) if m is not None]
    lines = []
    for i in range(points.n):
        batch = "" if batches[i] is None else f" · batch {batches[i]:,}"
        facts = "".join(f"<br>{title}: {plain(float(v[i]), 4)}" for title, v in shown)
        published = f"<br>published {dates[i]}" if dates[i] else ""
        flag = f"<br>suspect: {escape(suspects[i])}" if suspects[i] else ""
        lines.append(
            f"<b>{escape(_short(systems[i]))}</b>{batch}<br>{escape(_short(workloads[i]))}"
            f"{facts}{published}{flag}"
        )
    return lines


def _name(text: str, title: str) -> str:
    return escape(title if text in NUMBERS or text in CATEGORIES else text)


def _short(name: str) -> str:
    return name if len(name) <= MOST_TEXT else f"{name[: MOST_TEXT - 1]}…"


def slug_of(shared: Store, workload: str) -> str:
    """Return a workload's slug among all workloads of the runs."""
    names = kept.facet_names(shared)["workload"]
    return next(short for short, name in names.items() if name == workload)


def clear() -> None:
    """Forget all answers; for tests that patch what answers are made of."""
    _ANSWERS.clear()


def session() -> dict[str, object]:
    """Return what this session remembers of the page between its runs."""
    memory: dict[str, object] = st.session_state.setdefault("explore.memory", {})
    return memory
