"""MLPerf's reference points as workloads of the page Steps to target."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import streamlit as st

from pages.common import fields, narrow, widgets
from pages.common.link import Link, as_text
from pages.common.widgets import File
from planner.answers.parameters import STEPS_TO_TARGET
from planner.core import Record, Text, csv_text
from planner.throughput import count, size
from planner.time_to_target import (
    PACKAGE,
    Edition,
    ReferencePoints,
    editions_of,
    point_rows,
    read_points,
    summary_of,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class References:
    """The points of the package, and the editions of every benchmark by name."""

    read: ReferencePoints
    editions: Mapping[str, tuple[Edition, ...]]


@cache
def reference_points() -> References:
    """Return all reference points, read once."""
    read = read_points()
    return References(read=read, editions=editions_of(read.points))


@cache
def _all_lists() -> tuple[str, tuple[Record, ...]]:
    points = reference_points().read.points
    return summary_of(points), tuple(point_rows(points))


def choose(link: Link, editions: tuple[Edition, ...]) -> Edition:
    """Return the chosen round; the latest by default."""
    rounds = {e.rounds_text.replace(" ", "-"): e for e in editions}
    return rounds[link.choice("round", list(rounds), next(iter(rounds)))]


def draw(link: Link, editions: tuple[Edition, ...]) -> None:
    """Draw the choice of a round; a single one is shown, not chosen."""
    rounds = {e.rounds_text.replace(" ", "-"): e.rounds_text for e in editions}
    fields.choice(link, STEPS_TO_TARGET["round"], rounds, disabled=len(rounds) == 1)


def benchmark_words(chosen: Edition) -> str:
    """Return optimiser and target of the benchmark, in words."""
    benchmark = chosen.benchmark
    optimizer = benchmark.optimizer
    how = (
        Text("Optimiser: {optimizer}.", optimizer=optimizer)
        if optimizer
        else "The optimiser is not stated."
    )
    return Text(
        "{how} Target: {target}, as the benchmark sets it.", how=how, target=benchmark.target
    )


def sources(chosen: Edition) -> list[Record]:
    """Return the sources of the points, as rows of a table."""
    read = reference_points().read
    return [
        {
            "What": "steps to target",
            "Result set": Text(
                "MLPerf reference convergence points, round {rounds_text}, in {package} {version}",
                rounds_text=chosen.rounds_text,
                package=PACKAGE,
                version=read.version,
            ),
            "Folder": None,
            "Basis": "published",
            "Source": read.source,
            "Licence": read.licence,
        }
    ]


def every_list(first: str) -> None:
    """Draw all lists of the package, folded: used, repeated, corrected or left out, and why.

    Lists of the benchmark `first` come first.
    """
    box = widgets.folded(
        "All reference points: which are used, dropped and corrected", "fact_check",
        "steps-to-target.points",
    )  # fmt: skip
    if not box.open:
        return
    with box:
        summary, lists = _all_lists()
        rows = sorted(lists, key=lambda r: r["benchmark"] != first)
        st.caption(as_text(summary))
        for problem in reference_points().read.unreadable:
            st.caption(as_text(Text("Not read: {problem}", problem=problem)))
        narrow.table(
            [_shown(r) for r in rows],
            key="steps-to-target.points_table",
            alt="Every reference point: rounds, unit, median and what became of it",
        )
        widgets.row([
            File("Points as CSV", lambda: csv_text(rows), "epochwise-reference-points.csv",
                 "steps-to-target.points_csv"),
        ])  # fmt: skip


def _shown(row: Record) -> dict[str, object]:
    return {
        "Benchmark": row["benchmark"],
        "Batch": size(float(row["global_batch_size"] or 0)),
        "Rounds": row["rounds"],
        "Use": row["use"],
        "Median": count(float(row["median"] or 0)),
        "Unit": row["unit"],
        "Samples to target": None
        if row["samples_to_target"] is None
        else count(float(row["samples_to_target"])),
        "Seeds": row["seeds"],
        "Named": row["named"],
    }
