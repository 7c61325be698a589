"""MLPerf's reference points in sentences and rows: every list and its use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from planner.core import Record
from planner.time_to_target._reference_points import (
    Edition,
    Point,
    benchmark_for,
    editions_of,
    samples_of,
    split_errors,
)
from planner.time_to_target.sentences import Goal

UNKNOWN: Final = "unknown benchmark: unit and target are missing"


def goal_of_reference(edition: Edition) -> Goal:
    """Return model, data set and target of an edition, for sentences."""
    when = f"MLPerf reference points, round {edition.rounds_text}"
    return Goal(trained=edition.benchmark.trained, target=f"{edition.benchmark.target} ({when})")


def point_rows(points: Iterable[Point]) -> list[Record]:
    """Return every different list once: its rounds, unit, median and use."""
    points = tuple(points)
    latest = {
        (e[0].benchmark.key, float(b), s)
        for e in editions_of(points).values()
        for b, s in zip(e[0].batch, e[0].samples, strict=True)
    }
    return [_row(members, latest) for members in _different(points)]


def summary_of(points: Sequence[Point]) -> str:
    """Return how many lists there are, are repeats, corrected or left out, in words."""
    rows = point_rows(points)
    parts = [
        f"{len(points):,} lists are in the package's files; {len(points) - len(rows):,} repeat "
        f"another list of the same benchmark, so {len(rows):,} differ"
    ]
    for use, words in (
        ("in the latest round", "{} are in force in the latest round of their benchmark"),
        ("in earlier rounds", "{} were replaced or dropped later"),
        ("left out", "{} cannot be used"),
    ):
        parts.append(words.format(f"{sum(str(r['use']).startswith(use) for r in rows):,}"))
    slips = sum(len(split_errors(p[0].values)[1]) for p in _different(points))
    return f"{'; '.join(parts)}; {slips} value{' is' if slips == 1 else 's are'} corrected."


def _different(points: Iterable[Point]) -> list[list[Point]]:
    """Return points grouped by benchmark, batch and list."""
    groups: dict[tuple[object, ...], list[Point]] = {}
    for point in points:
        benchmark = benchmark_for(point)
        key = benchmark.key if benchmark else f"{point.suite} {point.benchmark}"
        unit = benchmark.unit if benchmark else ""
        groups.setdefault((key, point.batch, unit, point.values), []).append(point)
    return [sorted(g, key=lambda p: p.round) for g in groups.values()]


def _row(members: Sequence[Point], latest: set[tuple[str, float, tuple[float, ...]]]) -> Record:
    first, benchmark = members[0], benchmark_for(members[0])
    suite = "HPC " if first.suite == "hpc" else ""
    row: dict[str, str | float | int | bool | None] = {
        "benchmark": benchmark.trained if benchmark else first.benchmark,
        "named": ", ".join(dict.fromkeys(p.benchmark for p in members)),
        "rounds": f"{suite}{', '.join(f'{p.round[0]}.{p.round[1]}' for p in members)}",
        "global_batch_size": first.batch,
        "unit": ("samples" if first.in_samples else benchmark.unit) if benchmark else None,
        "seeds": len(first.values),
        "median": float(np.median(first.values)),
        "samples_to_target": None,
    }
    if benchmark is None or benchmark.left_out:
        return row | {"use": f"left out: {benchmark.left_out if benchmark else UNKNOWN}"}
    samples = samples_of(benchmark, first)
    row["samples_to_target"] = float(np.median(samples))
    now = (benchmark.key, float(first.batch), samples) in latest
    use = "in the latest round" if now else "in earlier rounds: replaced or dropped later"
    return row | {"use": f"{use}{_corrections(first)}"}


def _corrections(point: Point) -> str:
    slips = split_errors(point.values)[1]
    if not slips:
        return ""
    values = ", ".join(f"{v:,.0f}" for v in slips)
    times = slips[0] / float(np.median(point.values))
    return f"; corrected: {values} is {times:.2g} times the median of its list and left out"
