"""The faster of two options, where the interval of their ratio excludes 1.

The errors of two answers are taken as independent, so their half-widths add in quadrature (in the
logarithm). Answers about one workload share some errors.

Evidence: docs/evidence.md#speed-on-another-card.
"""

from __future__ import annotations

import math

from planner.core import Estimate, Refusal, Text
from planner.fits import excludes_one, log_half_widths, ratio
from planner.transfer._records import Decision, NextRun, Transferred


def decide(first: Transferred | Refusal, second: Transferred | Refusal) -> Decision:
    """Return which of two options trains the workload faster, or the next measurement.

    Args:
        first: an answer of `transfer`.
        second: another, for the same workload on another card or in another precision.

    Returns:
        The faster one only where the interval of the ratio excludes 1; equal options have no ratio.

    Raises:
        ValueError: the workloads or the levels differ, so there is no ratio.
    """
    if isinstance(first, Refusal) or isinstance(second, Refusal):
        refused = [refusal for refusal in (first, second) if isinstance(refusal, Refusal)]
        return _not_decided(
            None,
            " ".join(refusal.reason for refusal in refused),
            " ".join(o.measure_next for o in refused),
        )
    _check(first, second)
    if first.cell == second.cell:
        return _one_option(first)
    speeds, names = ratio(first.estimate, second.estimate), _names(first, second)
    words = Text(
        "{first} trains {words} as fast as {second}",
        first=names[0],
        words=_words(speeds),
        second=names[1],
    )
    if excludes_one(speeds):
        faster = names[0] if float(speeds.value) > 1.0 else names[1]
        return Decision(faster=faster, ratio=speeds, sentence=Text("{words}.", words=words))
    return _not_decided(
        speeds, Text("{words}; the interval includes 1.", words=words), _next(first, second)
    )


def _not_decided(ratio: Estimate | None, why: str, measure: str) -> Decision:
    sentence = f"Tied: {why} {measure}"
    return Decision(faster=None, ratio=ratio, sentence=sentence, measure_next=measure)


def _one_option(of: Transferred) -> Decision:
    return Decision(
        faster=None,
        ratio=None,
        sentence=Text("Both options are the same: {cell}.", cell=of.cell),
    )


def _next(first: Transferred, second: Transferred) -> str:
    """Return the run that narrows the ratio most, if it could exclude 1."""
    gap = abs(math.log(float(first.estimate.value) / float(second.estimate.value)))
    sides = [
        (math.hypot(math.log(run.factor), log_half_widths(other.estimate)[1]), run)
        for option, other in ((first, second), (second, first))
        for run in option.next_runs
    ]
    if not sides:
        return "Measure both side by side, three times each; if still tied, they are equally fast."
    half_width, best = min(sides, key=lambda side: side[0])
    if half_width < gap or not (first.next_runs and second.next_runs):
        return Text("Measure {run}.", run=best.run)
    return Text(
        "Measure {first} and {second}.",
        first=_first(first.next_runs),
        second=_first(second.next_runs),
    )


def _first(runs: tuple[NextRun, ...]) -> str:
    return str(runs[0].run)


def _names(first: Transferred, second: Transferred) -> tuple[str, str]:
    """Return the cards, with their precisions where the card is the same."""
    a, b = first.cell, second.cell
    if a.card != b.card:
        return a.card, b.card
    return f"{a.card} in {a.precision}", f"{b.card} in {b.precision}"


def _words(ratio: Estimate) -> str:
    low, high = float(ratio.low), float(ratio.high)
    return Text(
        "{ratio:.2f} times ({level:.0f} %: {low:.2f} to {high:.2f})",
        ratio=float(ratio.value),
        level=100.0 * ratio.level,
        low=low,
        high=high,
    )


def _check(first: Transferred, second: Transferred) -> None:
    if first.cell.workload != second.cell.workload:
        raise ValueError(
            Text(
                "{first} and {second} are different workloads; their samples/s have no "
                "ratio. Compare one workload on two cards.",
                first=first.cell,
                second=second.cell,
            )
        )
    if first.estimate.level != second.estimate.level:
        raise ValueError(
            Text(
                "The levels are {first:g} and {second:g}. Intervals of two levels do "
                "not add. Compute both at one level.",
                first=first.estimate.level,
                second=second.estimate.level,
            )
        )
