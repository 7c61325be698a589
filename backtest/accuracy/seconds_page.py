"""docs/accuracy-seconds.md: how long each method took, on one machine, once.

Seconds differ from run to run, so they stand in files of their own, which are not promised to be
the same twice; `backtest.accuracy.seconds_file` takes and keeps them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from backtest.questions.figure import Row
from backtest.questions.origin import Origin

PER: Final = 1000.0
"""Answers that the pages tell seconds of: one takes microseconds to milliseconds."""
INTRODUCTION: Final = (
    "How long fit and answers took in the run that made [accuracy.md](accuracy.md), of all points "
    "that were asked about, refused or not. Made by `python -m planner backtest {folder}`, with a "
    "monotonic clock. Unlike the other pages this one changes with every run and machine: read it "
    "for powers of ten. Methods over the batch answer many questions at once, the others one by "
    "one, which costs more for each."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """The seconds that a method took to fit and to answer `asked` points of a data set."""

    question: str
    task: str
    method: str
    data_set: str
    asked: int
    seconds: float


def per_thousand(timings: Sequence[Timing]) -> float:
    """Seconds of a thousand answers [s]; timings of no answers are refused.

    Raises:
        ValueError: nothing was asked.
    """
    asked = sum(t.asked for t in timings)
    if not asked:
        raise ValueError("Nothing was asked, so there are no seconds of an answer. Give timings.")
    return PER * sum(t.seconds for t in timings) / asked


def seconds_of(timings: Sequence[Timing], row: Row, means: Sequence[str]) -> float | None:
    """Seconds of a thousand answers of a row's method, None where it was not timed.

    A row of one of `means` is that of all data sets of its task together.
    """
    found = [
        t
        for t in timings
        if (t.question, t.task, t.method) == (row.question, row.task, row.method)
        and (row.data_set in means or t.data_set == row.data_set)
    ]
    return per_thousand(found) if found else None


def by_method(timings: Sequence[Timing]) -> Mapping[tuple[str, str], list[Timing]]:
    """The timings of every question and method, in their order."""
    found: dict[tuple[str, str], list[Timing]] = {}
    for timing in timings:
        found.setdefault((timing.question, timing.method), []).append(timing)
    return found


def seconds_page(timings: Sequence[Timing], origin: Origin) -> str:
    """The whole page: a line for every question and method."""
    told = textwrap.fill(INTRODUCTION.format(folder=origin.folder), 100)
    lines = [
        "# How long did it take?\n",
        told + "\n",
        "| question | method | answers | seconds | seconds of 1,000 answers |",
        "|---|---|---|---|---|",
        *(_line(*name, found) for name, found in by_method(timings).items()),
    ]
    return "\n".join(lines) + "\n"


def _line(question: str, method: str, timings: Sequence[Timing]) -> str:
    asked, seconds = sum(t.asked for t in timings), sum(t.seconds for t in timings)
    return f"| {question} | {method} | {asked:,} | {seconds:.2g} | {per_thousand(timings):.2g} |"
