"""Add results: files of other programs, all problems at once, a preview, and the set they go to."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import streamlit as st

from pages.add_results import access, question, sets, terms
from pages.add_results.question import PAGE
from pages.common import narrow, widgets
from pages.common.kept import store
from pages.common.link import Link, as_text
from pages.visitor.permission import Action, Permission, permission
from planner.core import Text, plural
from planner.figures import Card
from planner.importers import Preview

MOST_ROWS: Final = 50
"""Runs of a preview."""
_COLUMNS: Final = {
    "model": "Model",
    "dataset": "Data set",
    "system_name": "System",
    "accelerators_per_node": "Devices",
    "number_of_nodes": "Nodes",
    "precision": "Precision",
    "global_batch_size": "Batch size",
    "first_epoch_s": "Epoch 1 (s)",
    "later_epoch_mean_s": "Later epochs (s)",
    "epochs_measured": "Epochs",
    "step_s": "Step (s)",
    "throughput": "Samples/s",
    "total_s": "Total (s)",
    "final_metric": "Metric",
}
"""Columns of a preview that a run of the file has."""


def show() -> None:
    """Draw the page."""
    link = Link(PAGE)
    shared = store()
    link.write()
    st.title("Add results")
    link.warn()
    st.markdown("Import results of other programs. All rows are checked before any is stored.")
    may = permission(Action.ADD)
    sets.said()
    if not may.allowed:
        _off(may)
        return
    own = next(f.path for f in shared.folders if f.kind == "own")
    if reason := _read_only(own):
        st.warning(reason, icon=":material/lock:")
    added = question.draw()
    if added is not None:
        above = st.container()
        with st.container(border=True):
            target = terms.draw(shared, added)
            preview = question.previewed(shared, added, target)
            if not preview.problems:
                terms.add(own, added, target, preview)
        with above:
            (_problems if preview.problems else _preview)(preview)
    sets.draw(shared, own)
    access.draw(shared)


def _off(may: Permission) -> None:
    with st.container(border=True, key="add_results.off"):
        st.markdown("## Adding results is switched off here.")
        st.markdown(may.why)
        st.caption(
            "It is on where only this machine can reach the app, as with `make app`. "
            "In a terminal, `python -m planner import` always works."
        )


def _read_only(own: Path) -> str:
    place = next((p for p in (own, *own.parents) if p.exists()), own)
    if os.access(place, os.W_OK):
        return ""
    return (
        "The folder of your results is read-only. Set EPOCHWISE_RESULTS to a writable one, "
        "then start the app again."
    )


def _problems(preview: Preview) -> None:
    count = len(preview.problems)
    with st.container(border=True):
        widgets.heading(
            plural(
                count,
                "{count:,} problem: nothing is imported",
                "{count:,} problems: nothing is imported",
            )
        )
        st.caption("Correct the file or the fields above. All problems are listed.")
        narrow.table(
            [
                {
                    "Row": p.row or None,
                    "Column": p.column or None,
                    "Problem": p.rule,
                    "What to do": p.fix or None,
                }
                for p in preview.problems[: question.MOST_LISTED]
            ],
            key="add_results.problems",
            alt="Problems of the file",
        )


def _preview(preview: Preview) -> None:
    flags = preview.flags or {}
    already = f", {len(preview.duplicates):,} duplicates" if preview.duplicates else ""
    suspect = f", {len(flags):,} suspect" if flags else ""
    with st.container(border=True):
        widgets.heading(
            plural(
                preview.new,
                "{count:,} new run{stated}{suspect}",
                "{count:,} new runs{stated}{suspect}",
                stated=already,
                suspect=suspect,
            )
        )
        rows: list[dict[str, object]] = []
        shown = [n for n in _COLUMNS if any(r.get(n) is not None for r in preview.rows)]
        for at, run in enumerate(preview.rows[:MOST_ROWS]):
            state = "duplicate" if at in preview.duplicates else "new"
            row = {"Run": at + 1, "State": f"{state}, suspect" if at in flags else state}
            rows.append(row | {_COLUMNS[name]: run.get(name) for name in shown})
        narrow.table(rows, "add_results.preview", "Runs of the file", _cards(rows))
        if len(preview.rows) > MOST_ROWS:
            st.caption(
                Text(
                    "The first {most_rows} of {rows:,} runs.",
                    most_rows=MOST_ROWS,
                    rows=len(preview.rows),
                )
            )
        for at, evidence in list(flags.items())[:MOST_ROWS]:
            st.markdown(
                Text(":material/flag: Run {at}: {evidence}", at=at + 1, evidence=as_text(evidence))
            )


def _cards(rows: Sequence[Mapping[str, object]]) -> list[Card]:
    """Return the runs of a preview as cards: number and state above their values."""
    without = [{n: v for n, v in row.items() if n != "State"} for row in rows]
    return [
        replace(card, title=Text("Run {number}", number=card.title), end=str(row["State"]))
        for row, card in zip(rows, narrow.cards_of(without), strict=True)
    ]


if __name__ == "__main__":
    show()
