"""The report of a view of Explore: its chart, pivot table or runs side by side, for print."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from pages.common import handout, widgets
from pages.explore import chart, pivot, side, state
from planner import figures
from planner.answers import ExploreAnswer
from planner.core import Record, Text
from planner.explore import Fact
from planner.figures.frame import LIGHT_THEME
from planner.report import AnswerReport, Chart, Table
from planner.store import Store

MOST_RUNS: Final = 40
"""Runs in a report; the CSV has all."""
Sources = Mapping[tuple[str, str], Record]
"""Title, source and licence of result sets, by folder and slug."""


def of_answer(address: str, answer: ExploreAnswer, shared: Store) -> handout.Make | None:
    """Return a function that makes the report at the click; None for an answer without content."""
    if not ((answer.points is not None and answer.points.n) or answer.pivot or answer.facts):
        return None
    sets = {
        (s.folder, s.slug): {"Result set": s.title, "Source": s.citation or s.source,
                             "Licence": s.licence}
        for s in shared.sets
    }  # fmt: skip

    def content() -> AnswerReport:
        title, charts, tables = _content(answer)
        return AnswerReport(title=title, sentence=answer.sentence, notes=answer.notes,
                            charts=charts, tables=tables,
                            sources=_sources(answer, sets))  # fmt: skip

    return handout.of_content(address, content)


def _content(answer: ExploreAnswer) -> tuple[str, list[Chart], list[Table]]:
    """Return title, charts and tables of a view."""
    if answer.pivot is not None:
        rows = pivot.table_rows(answer.pivot)
        return answer.pivot.title, [], [Table(title=answer.pivot.title, rows=rows)]
    if answer.points is None:
        facts = (("What differs", answer.facts), ("Where they come from", answer.provenance))
        return "Runs side by side", [], [_facts(title, answer.names, of) for title, of in facts]
    return _chart_title(answer), _charts(answer), _chart_tables(answer)


def _facts(title: str, names: Sequence[str], facts: Sequence[Fact]) -> Table:
    return Table(title=title, rows=side.fact_rows(names, facts))


def _chart_title(answer: ExploreAnswer) -> str:
    points = answer.points
    return "" if points is None else Text("{y} against {x}", y=points.y_title, x=points.x_title)


def _charts(answer: ExploreAnswer) -> list[Chart]:
    """Return the picture of each panel; the first says what its signs mean."""
    cloud, curves, axes = state.cloud_of(answer, answer.question)
    signs = figures.symbol_names(cloud.symbols) if cloud.symbols != cloud.hues else []
    caption = "   ".join(signs)
    if cloud.shade is not None:
        caption = Text("Darker points: more {number}. {signs}", number=cloud.shade_title,
                       signs=caption)  # fmt: skip
    return [
        Chart(title=name or _chart_title(answer), spec=spec, alt=answer.sentence, caption=caption)
        for name, spec in figures.explore_pictures(cloud, curves, axes, LIGHT_THEME)
    ]


def _chart_tables(answer: ExploreAnswer) -> list[Table]:
    """Return the fitted curves, and the first of the marked runs or of all."""
    points, tables = answer.points, []
    if points is None:
        return []
    if answer.fits is not None and answer.fits.curves:
        tables.append(Table(title="Fitted curves", rows=chart.curve_rows(answer.fits)))
    marked = np.flatnonzero(points.brushed | (not points.question.brush)).astype(np.int64)
    first = marked[:MOST_RUNS]
    columns = chart.columns_of(answer.runs, points.rows[first], points, first)
    caption = (
        Text("The first {most} of {runs:,} runs.", most=MOST_RUNS, runs=marked.size)
        if marked.size > MOST_RUNS
        else ""
    )
    rows = widgets.titled(columns.to_pylist(), chart.column_config(points), columns.column_names)
    return [*tables, Table(title="Runs", rows=[dict(row) for row in rows], caption=caption)]


def _sources(answer: ExploreAnswer, sets: Sources) -> list[Record]:
    """Return the result sets of the drawn or counted runs, those of most runs first."""
    if answer.points is not None:
        rows = answer.points.rows
    elif answer.pivot is not None:
        rows = answer.pivot.table.places
    else:
        return []
    part = answer.runs.select(["folder", "result_set"]).take(rows)
    counts = Counter((row["folder"], row["result_set"]) for row in part.to_pylist())
    return [
        {**sets.get(key, {"Result set": key[1]}), "Runs": runs}
        for key, runs in counts.most_common()
    ]
