"""MLPerf's reference points as workloads of the page Steps to target: the round, the view, rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import streamlit as st

from pages.common import downloads, widgets
from pages.common.downloads import File
from pages.common.link import Link, as_text
from planner.core import Record, csv_text
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
class Known:
    """What the package holds, and the editions of every benchmark by its name."""

    read: ReferencePoints
    editions: Mapping[str, tuple[Edition, ...]]


@cache
def known() -> Known:
    """All reference points: a package does not change while the program runs."""
    read = read_points()
    return Known(read=read, editions=editions_of(read.points))


@cache
def _all_lists() -> tuple[str, tuple[Record, ...]]:
    """How many lists there are, and every one."""
    points = known().read.points
    return summary_of(points), tuple(point_rows(points))


def choose(link: Link, editions: tuple[Edition, ...]) -> Edition:
    """The round whose points count, the latest unless another is asked for."""
    rounds = {e.rounds_text.replace(" ", "-"): e for e in editions}
    return rounds[link.one("round", list(rounds), next(iter(rounds)))]


def draw(link: Link, editions: tuple[Edition, ...]) -> None:
    """The box of rounds; one alone is not to be chosen, but shown."""
    rounds = {e.rounds_text.replace(" ", "-"): e.rounds_text for e in editions}
    st.selectbox(
        "Round of MLPerf",
        list(rounds),
        link.place("round", list(rounds)),
        key=link.key("round"),
        format_func=rounds.__getitem__,
        disabled=len(rounds) == 1,
    )


def told(chosen: Edition) -> str:
    """Optimiser and target, which are the benchmark's own."""
    one = chosen.benchmark
    how = f"Optimiser: {one.optimizer}." if one.optimizer else "The optimiser is not stated."
    return f"{how} Target: {one.target}, as the benchmark sets it."


def sources(chosen: Edition) -> list[Record]:
    """Where the points come from, as tables of sources have it."""
    read = known().read
    return [
        {
            "What": "steps to target",
            "Result set": f"MLPerf reference convergence points, round {chosen.rounds_text}, in "
            f"{PACKAGE} {read.version}",
            "Folder": None,
            "Basis": "published",
            "Source": read.source,
            "Licence": read.licence,
        }
    ]


def every_list(first: str) -> None:
    """All lists of the package, folded: which are used, repeated, mended or left out, and why.

    Those of what was trained `first` stand first.
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
        for problem in known().read.unreadable:
            st.caption(as_text(f"Not read: {problem}"))
        widgets.table(
            [_shown(r) for r in rows],
            key="steps-to-target.points_table",
            alt="Every reference point: rounds, unit, median and what became of it",
        )
        downloads.row([
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
