"""docs/accuracy-seconds.md: how long each method took, on one machine, once.

Seconds differ from run to run, so they are in separate files that change each time.
`backtest.accuracy.seconds_file` measures and stores them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from backtest.questions.figure import Row
from backtest.questions.origin import Origin

PER: Final = 1000.0
"""Answers per stated time: a single answer takes microseconds to milliseconds."""
INTRODUCTION: Final = (
    "Time of fits and answers in the run that made [accuracy.md](accuracy.md), for all points, "
    "refused or not. Made by `python -m planner backtest {folder}`, with a monotonic clock. Unlike "
    "the other pages this one changes with every run and machine: only the powers of ten matter. "
    "Methods over the batch answer many questions at once, the others one by one, which takes "
    "longer per answer."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Seconds that a method took to fit and predict `asked` points of a data set."""

    question: str
    task: str
    method: str
    data_set: str
    asked: int
    seconds: float


def per_thousand(timings: Sequence[Timing]) -> float:
    """Return the seconds per thousand answers [s].

    Raises:
        ValueError: the timings have no answers.
    """
    points = sum(t.asked for t in timings)
    if not points:
        raise ValueError("The timings have no answers. Give timings with answers.")
    return PER * sum(t.seconds for t in timings) / points


def seconds_of(timings: Sequence[Timing], row: Row, means: Sequence[str]) -> float | None:
    """Return the seconds per thousand answers of a row's method; None if not timed.

    A row of one of `means` covers all data sets of its task.
    """
    matching = [
        t
        for t in timings
        if (t.question, t.task, t.method) == (row.question, row.task, row.method)
        and (row.data_set in means or t.data_set == row.data_set)
    ]
    return per_thousand(matching) if matching else None


def by_method(timings: Sequence[Timing]) -> Mapping[tuple[str, str], list[Timing]]:
    """Return the timings by question and method, in their order."""
    grouped: dict[tuple[str, str], list[Timing]] = {}
    for timing in timings:
        grouped.setdefault((timing.question, timing.method), []).append(timing)
    return grouped


def seconds_page(timings: Sequence[Timing], origin: Origin) -> str:
    """Return the page: one line per question and method."""
    introduction = textwrap.fill(INTRODUCTION.format(folder=origin.folder), 100)
    lines = [
        "# How long did it take?\n",
        introduction + "\n",
        "| question | method | answers | seconds | seconds per 1,000 answers |",
        "|---|---|---|---|---|",
        *(_line(*name, group) for name, group in by_method(timings).items()),
    ]
    return "\n".join(lines) + "\n"


def _line(question: str, method: str, timings: Sequence[Timing]) -> str:
    points, seconds = sum(t.asked for t in timings), sum(t.seconds for t in timings)
    return f"| {question} | {method} | {points:,} | {seconds:.2g} | {per_thousand(timings):.2g} |"
