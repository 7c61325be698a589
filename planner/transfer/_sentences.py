"""What a person should read beside a transferred throughput, in one voice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from planner.core import Refusal
from planner.transfer._benchmarks import tied
from planner.transfer._conformal import GROUPS, Calibration, rank_of
from planner.transfer._prediction import Known
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
"""So many names are listed one by one."""
OUTSIDE: Final = 1.1
"""A number of a data sheet beyond the library's by more than this factor is pointed out."""


def of_measurement(wanted: Cell, runs: int, half_width: float) -> tuple[str, ...]:
    """Beside a measurement: how often it was made, and how far another session may differ."""
    off = np.expm1(half_width)
    return (
        f"{counted(runs, 'run')} on {wanted.card}; another session or another card of this kind "
        f"may differ by {percent(off)}.",
    )


def of_rung(library: Library, answer: Answer) -> str:
    """How the answer was reached and what it rests on."""
    row, column = answer.cell
    card, sheet = library.cards[column], answer.rung == "data sheet of the card"
    used = answer.known.cards & (np.isfinite(library.sheets[row]).all(axis=-1) | (not sheet))
    if answer.rung == "benchmarks of the card":
        used = used & tied(library, answer.known)[row]
    own = listing([library.cards[i] for i in np.flatnonzero(used)])
    there = listing([_name(library.workloads[i]) for i in answer.known.benchmarks])
    if sheet:
        return (
            f"Nobody measured it on {card}: scaled from {own} by what the data sheets say of "
            f"{listing(SPECS, last=' and ')}, as throughput goes with them in the measurements at "
            "hand."
        )
    if answer.rung == "benchmarks of the card":
        return f"Scaled by what was measured on {card} ({there}), as it goes with that on {own}."
    return f"Scaled from {own} by the ratio to {card} of similar workloads ({there})."


def of_neighbours(neighbours: Sequence[Neighbour]) -> tuple[str, ...]:
    """The nearest library workloads with their ratios."""
    told = ", ".join(
        f"{named(n.workload, n.precision)} {n.ratio:.2f} times (weight {percent(n.share)})"
        for n in neighbours
    )
    return (f"Most similar, with how much faster this card trains them: {told}.",) if told else ()


def of_sheet_outside(library: Library, answer: Answer) -> tuple[str, ...]:
    """Numbers of the data sheet beyond those of every other card of the library."""
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
    return (
        (f"Outside the range of the cards that were measured: its {', its '.join(far)}.",)
        if far
        else ()
    )


def of_interval(answer: Answer, level: float) -> str:
    """Where the interval comes from, with the number of tries behind it."""
    learnt = answer.calibration
    n, groups = learnt.residuals, _groups(learnt)
    if not learnt.checked:
        known = f"only {counted(n, 'known case')} ({groups}) can" if n else "no known case can"
        return (
            f"How far off this way of reckoning is cannot be told: {known} be tried, and an "
            f"interval at {percent(level)} takes {_least(level)} of them, of {GROUPS} workloads "
            f"and {GROUPS} cards at least. A wide interval is assumed instead."
        )
    tried = f"Tried on {counted(n, 'known case')} ({groups}), each left out in turn,"
    held = rank_of(level, n)
    if answer.surer_than_measured:
        return (
            f"{tried} this way was off by less than two sessions differ in {held}: the interval "
            "is what sessions differ by."
        )
    return f"{tried} this way was off by no more than the interval in {held}."


def _groups(learnt: Calibration) -> str:
    return f"{counted(learnt.workloads, 'workload')}, {counted(learnt.cards, 'card')}"


def of_next_runs(runs: Sequence[NextRun]) -> tuple[str, ...]:
    """The run that would narrow it most, and the best of those that need not be it."""
    if not runs:
        return ()
    told = [f"What would narrow it most: measuring {_expected(runs[0])}."]
    other = next((run for run in runs if run.rung != runs[0].rung), None)
    if other is not None:
        told.append(f"Where that cannot be run: {_expected(other)}.")
    return tuple(told)


def refusal(wanted: Cell, known: Known, rung: Rung | None) -> Refusal:
    """Why no rung, or not this one, can answer."""
    name, card = _name((wanted.workload, wanted.precision)), wanted.card
    lacks = []
    if rung == "measured":
        lacks.append(f"{name} was not measured on {card}.")
    elif not known.cards.any():
        lacks.append(f"{name} was measured on no other card.")
    if rung not in ("measured", "data sheet of the card"):
        lacks.append(f"No workload ties {card} to a card where {name} was measured.")
    if rung in (None, "data sheet of the card"):
        lacks.append(
            f"{card}, or every card where {name} was measured, lacks a data sheet with "
            f"{wanted.precision} FLOP/s, bandwidth and memory."
        )
    return Refusal(
        reason=" ".join(lacks),
        measure_next=f"Measure {wanted}; or on {card} any workload that was measured elsewhere; or "
        "add the data sheets.",
    )


def percent(share: float) -> str:
    """A share in whole percent."""
    return f"{100.0 * share:.0f} %"


def counted(n: int, noun: str) -> str:
    """A number with its noun in the right form."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def listing(names: Sequence[str], last: str = ", ") -> str:
    """The names, or the first of them and how many more; `last` stands before the last one."""
    if len(names) <= NAMED:
        return last.join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
    return f"{', '.join(names[:NAMED])} and {len(names) - NAMED} more"


def _expected(run: NextRun) -> str:
    down, up = percent(1.0 - 1.0 / run.factor), percent(run.factor - 1.0)
    return f"{run.run} (then -{down} to +{up} or so)"


def _name(workload: tuple[str, str]) -> str:
    return named(*workload)


def _least(level: float) -> int:
    """How many errors an interval at that level needs: the smallest n with rank_of(n) <= n."""
    return math.ceil(round(level / (1.0 - level), 9))
