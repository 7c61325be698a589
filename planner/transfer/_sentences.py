"""Sentences about a transferred throughput."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from planner.core import Refusal
from planner.transfer._benchmarks import tied
from planner.transfer._conformal import GROUPS, Calibration, rank_of
from planner.transfer._prediction import Evidence
from planner.transfer._records import (
    SPECS,
    Cell,
    Library,
    Neighbour,
    NextRun,
    Rung,
    named,
)
from planner.transfer._rungs import Answer

NAMED: Final = 3
"""Names that are listed one by one."""
OUTSIDE: Final = 1.1
"""A data-sheet number beyond the library's range by more than this factor is reported."""


def of_measurement(cell: Cell, runs: int, half_width: float) -> tuple[str, ...]:
    """Return the number of runs, and by how much another session may differ."""
    off = np.expm1(half_width)
    return (
        f"{counted(runs, 'run')} on {cell.card}; another session or another card of this kind "
        f"may differ by {percent(off)}.",
    )


def of_rung(library: Library, answer: Answer) -> str:
    """Return the method of the answer and its sources."""
    row, column = answer.cell
    card, sheet = library.cards[column], answer.rung == "data sheet of the card"
    used = answer.evidence.cards & (np.isfinite(library.sheets[row]).all(axis=-1) | (not sheet))
    if answer.rung == "benchmarks of the card":
        used = used & tied(library, answer.evidence)[row]
    own = listing([library.cards[i] for i in np.flatnonzero(used)])
    there = listing([_name(library.workloads[i]) for i in answer.evidence.benchmarks])
    if sheet:
        return (
            f"Not measured on {card}: scaled from {own} by the data sheets' "
            f"{listing(SPECS, last=' and ')}, as throughput depends on them in the measurements."
        )
    if answer.rung == "benchmarks of the card":
        return f"Scaled by the workloads measured on {card} ({there}), by their relation on {own}."
    return f"Scaled from {own} by the ratio to {card} of similar workloads ({there})."


def of_neighbours(neighbours: Sequence[Neighbour]) -> tuple[str, ...]:
    """Return the nearest library workloads with their ratios."""
    names = ", ".join(
        f"{named(n.workload, n.precision)} {n.ratio:.2f} times (weight {percent(n.share)})"
        for n in neighbours
    )
    return (f"Most similar, with their speed-up on this card: {names}.",) if names else ()


def of_sheet_outside(library: Library, answer: Answer) -> tuple[str, ...]:
    """Return the data-sheet numbers outside the range of the library's other cards."""
    if answer.rung != "data sheet of the card":
        return ()
    row, column = answer.cell
    sheets = np.delete(library.sheets[row], column, axis=0)
    sheets = sheets[np.delete(library.measured.any(axis=0), column)]
    own = library.sheets[answer.cell]
    with_largest = zip(SPECS, np.exp(own - np.nanmax(sheets, axis=0)), strict=True)
    with_smallest = zip(SPECS, np.exp(own - np.nanmin(sheets, axis=0)), strict=True)
    far = [f"{name} is {x:.1f} times the largest" for name, x in with_largest if x > OUTSIDE]
    far += [
        f"{name} is {percent(x)} of the smallest" for name, x in with_smallest if x < 1 / OUTSIDE
    ]
    return (f"Outside the range of the measured cards: its {', its '.join(far)}.",) if far else ()


def of_interval(answer: Answer, level: float) -> str:
    """Return the source of the interval, with its number of cases."""
    learnt = answer.calibration
    n, groups = learnt.residuals, _groups(learnt)
    if not learnt.checked:
        cases = f"only {counted(n, 'measured case')} ({groups})" if n else "no measured cases"
        return (
            f"The error of this method cannot be measured: there are {cases}, and an interval at "
            f"{percent(level)} needs {_least(level)}, of at least {GROUPS} workloads and {GROUPS} "
            "cards. A wide interval is assumed instead."
        )
    tried = f"Tested on {counted(n, 'measured case')} ({groups}), each left out in turn,"
    held = rank_of(level, n)
    if answer.surer_than_measured:
        return (
            f"{tried} this method was off by less than two sessions differ in {held}: the interval "
            "is the variation between sessions."
        )
    return f"{tried} this method was off by no more than the interval in {held}."


def _groups(learnt: Calibration) -> str:
    return f"{counted(learnt.workloads, 'workload')}, {counted(learnt.cards, 'card')}"


def of_next_runs(runs: Sequence[NextRun]) -> tuple[str, ...]:
    """Return the run that would narrow the interval most, and the best one of another kind."""
    if not runs:
        return ()
    sentences = [f"Next measurement: {_expected(runs[0])}."]
    other = next((run for run in runs if run.rung != runs[0].rung), None)
    if other is not None:
        sentences.append(f"If that cannot be run: {_expected(other)}.")
    return tuple(sentences)


def refusal(cell: Cell, evidence: Evidence, rung: Rung | None) -> Refusal:
    """Return why no rung, or not this one, has an answer."""
    name, card = _name((cell.workload, cell.precision)), cell.card
    lacks = []
    if rung == "measured":
        lacks.append(f"{name} was not measured on {card}.")
    elif not evidence.cards.any():
        lacks.append(f"{name} was measured on no other card.")
    if rung not in ("measured", "data sheet of the card"):
        lacks.append(f"No workload was measured both on {card} and on a card with {name}.")
    if rung in (None, "data sheet of the card"):
        lacks.append(
            f"{card}, or every card where {name} was measured, lacks a data sheet with "
            f"{cell.precision} FLOP/s, bandwidth and memory."
        )
    return Refusal(
        reason=" ".join(lacks),
        measure_next=f"Measure {cell}; or on {card} any workload that was measured elsewhere; or "
        "add the data sheets.",
    )


def percent(share: float) -> str:
    """Return a share in whole percent."""
    return f"{100.0 * share:.0f} %"


def counted(n: int, noun: str) -> str:
    """Return a number with its noun in singular or plural."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def listing(names: Sequence[str], last: str = ", ") -> str:
    """Return the names joined, `last` before the last one, or the first and how many more."""
    if len(names) <= NAMED:
        return last.join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
    return f"{', '.join(names[:NAMED])} and {len(names) - NAMED} more"


def _expected(run: NextRun) -> str:
    down, up = percent(1.0 - 1.0 / run.factor), percent(run.factor - 1.0)
    return f"{run.run} (then -{down} to +{up} or so)"


def _name(workload: tuple[str, str]) -> str:
    return named(*workload)


def _least(level: float) -> int:
    """Return how many errors an interval needs: the smallest n with rank_of(n) <= n."""
    return math.ceil(round(level / (1.0 - level), 9))
