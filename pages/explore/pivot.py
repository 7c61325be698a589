"""The pivot table of Explore."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import streamlit as st

from pages.common import narrow, widgets
from pages.common.fields import choice
from pages.common.link import Link, as_text
from pages.explore import fields, state
from planner import figures
from planner.answers import PivotAnswer
from planner.answers.parameters import NONE_CHOSEN
from planner.core import Record, cell, csv_text, plain
from planner.explore import CATEGORIES, COUNT, STATISTIC_WORDS, STATISTICS
from planner.store import Store

PARAMETERS: Final = ("rows", "columns", "measure", "statistic")
ALL: Final = "All"
DIGITS: Final = 3


def declare(link: Link) -> None:
    """Read the parameters of the pivot table from the link."""
    for name in PARAMETERS[:3]:
        link.words(fields.BY_NAME[name], fields.LONGEST)
    link.choice("statistic", list(STATISTICS), str(fields.BY_NAME["statistic"].default))


def draw_fields(link: Link, shared: Store) -> None:
    """Draw rows, columns, measure and statistic."""
    counts = state.counts(shared)
    with st.grid(4, min_column_width=180):
        fields.field(link, "rows", list(CATEGORIES), {})
        fields.field(link, "columns", [NONE_CHOSEN, *CATEGORIES], {})
        fields.field(link, "measure", fields.numbers(counts), counts)
        choice(link, fields.BY_NAME["statistic"], {s: STATISTIC_WORDS[s] for s in STATISTICS})


def draw(link: Link, answer: state.Reply) -> None:
    """Draw the table with heat colours, or its numbers with totals."""
    pivot = answer.answer.pivot
    if pivot is None:
        return
    with st.container(border=True):
        widgets.heading(f"{widgets.answer_text(answer.answer.sentence)}")
        for note in answer.answer.notes:
            st.caption(as_text(note))
        if not pivot.table.runs:
            return
        rows = table_rows(pivot)
        tab = widgets.open_tab(link)
        with tab.place:
            if tab.name == "chart":
                dark = st.context.theme.type == "dark"
                spec = figures.heat_table(_heat(pivot), widgets.theme(), dark=dark)
                widgets.chart(spec, "explore.pivot", answer.answer.sentence)
            else:
                narrow.table(rows, "explore.pivot.table", answer.answer.sentence)
        with widgets.actions():
            widgets.download(
                "CSV", lambda: csv_text(rows), "epochwise-pivot.csv",
                key="explore.pivot.csv", width="content",
            )  # fmt: skip


def _heat(pivot: PivotAnswer) -> figures.Heat:
    table, unit = pivot.table, pivot.measure.unit
    texts = [[_text(value) for value in row] for row in table.cells]
    hover = [
        [
            f"{figures.escape(row)}<br>{figures.escape(column)}<br>"
            f"{STATISTIC_WORDS[pivot.statistic]}: {texts[i][j]} "
            f"{'' if pivot.statistic == COUNT else unit}<br>runs: {table.counts[i, j]:,}"
            for j, column in enumerate(table.columns)
        ]
        for i, row in enumerate(table.rows)
    ]
    return figures.Heat(
        rows=table.rows, columns=table.columns, cells=table.cells, texts=texts, hover=hover,
        title=pivot.title,
    )  # fmt: skip


def _text(value: float) -> str:
    return plain(float(value), DIGITS) if np.isfinite(value) else ""


def table_rows(pivot: PivotAnswer) -> list[Record]:
    """Return the rows of the table, with the statistic over whole rows and columns."""
    table = pivot.table
    rows = [
        {pivot.rows: row, **_cells(table.columns, table.cells[i]), ALL: _number(table.of_rows[i])}
        for i, row in enumerate(table.rows)
    ]
    total: Mapping[str, float | str | None] = {
        pivot.rows: ALL, **_cells(table.columns, table.of_columns), ALL: _number(table.of_all)
    }  # fmt: skip
    return [*rows, total]


def _cells(names: tuple[str, ...], values: np.ndarray) -> dict[str, float | None]:
    return {name: _number(value) for name, value in zip(names, values, strict=True)}


def _number(value: float) -> float | None:
    return cell(value)
