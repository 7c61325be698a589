"""Why this file exists: two options are only ranked where their ratio says so.

The errors of two answers are taken as independent, so their half-widths add in quadrature (in the
logarithm). Answers about one workload share some of their errors and not others; measured, the
90 % interval of the ratio held 89 to 93 % (`planner.transfer`).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from planner.estimate import Basis, Estimate, Refusal
from planner.transfer.records import BASIS_OF, Decision, NextRun, Transferred

Side = Literal["low", "high"]


def decide(first: Transferred | Refusal, second: Transferred | Refusal) -> Decision:
    """Which of two options trains the workload faster, or which run would tell.

    Args:
        first: an answer of `transfer`.
        second: another, for the same workload on another card or in another precision.

    Returns:
        The faster one only where the interval of the ratio excludes 1; nothing is compared with
        itself.

    Raises:
        ValueError: the workloads or the levels differ, so there is no ratio.
    """
    if isinstance(first, Refusal) or isinstance(second, Refusal):
        refused = [one for one in (first, second) if isinstance(one, Refusal)]
        return _not_decided(
            None, " ".join(one.reason for one in refused), " ".join(o.measure_next for o in refused)
        )
    _check(first, second)
    if first.wanted == second.wanted:
        return _one_option(first)
    ratio, names = _ratio(first, second), _names(first, second)
    told = f"{names[0]} trains {_words(ratio)} as fast as {names[1]}"
    if float(ratio.low) > 1.0 or float(ratio.high) < 1.0:
        faster = names[0] if float(ratio.value) > 1.0 else names[1]
        return Decision(faster=faster, ratio=ratio, sentence=f"{told}.")
    return _not_decided(ratio, f"{told}, and that may be either way.", _next(first, second))


def _not_decided(ratio: Estimate | None, why: str, measure: str) -> Decision:
    sentence = f"Not decided: {why} {measure}"
    return Decision(faster=None, ratio=ratio, sentence=sentence, measure_next=measure)


def _one_option(of: Transferred) -> Decision:
    return Decision(
        faster=None,
        ratio=None,
        sentence=f"Both options are the same: {of.wanted}. There is nothing to decide.",
    )


def _ratio(first: Transferred, second: Transferred) -> Estimate:
    a, b = first.estimate, second.estimate
    ratio = float(a.value) / float(b.value)
    down, up = np.hypot(_log(a, "low"), _log(b, "high")), np.hypot(_log(a, "high"), _log(b, "low"))
    return Estimate(
        value=ratio,
        low=ratio * float(np.exp(-down)),
        high=ratio * float(np.exp(up)),
        level=a.level,
        basis=_weaker(a.basis, b.basis),
    )


def _log(estimate: Estimate, side: Side) -> float:
    """How far an end of the interval lies from the value, in the logarithm."""
    end = estimate.low if side == "low" else estimate.high
    return abs(float(np.log(float(end) / float(estimate.value))))


def _weaker(a: Basis, b: Basis) -> Basis:
    return max(a, b, key=[*BASIS_OF.values()].index)


def _next(first: Transferred, second: Transferred) -> str:
    """The run after which the ratio is expected to be known best, if that could settle it."""
    gap = abs(float(np.log(float(first.estimate.value) / float(second.estimate.value))))
    sides = [
        (float(np.hypot(np.log(run.factor), _log(other.estimate, "high"))), run)
        for one, other in ((first, second), (second, first))
        for run in one.next_runs
    ]
    if not sides:
        return "Measure both side by side, three times each; if that does not tell, they are equal."
    half_width, best = min(sides, key=lambda side: side[0])
    if half_width < gap or not (first.next_runs and second.next_runs):
        return f"Measure {best.run}."
    return f"Measure {_first(first.next_runs)} and {_first(second.next_runs)}."


def _first(runs: tuple[NextRun, ...]) -> str:
    return str(runs[0].run)


def _names(first: Transferred, second: Transferred) -> tuple[str, str]:
    """Cards where these tell the options apart, else precisions with them."""
    a, b = first.wanted, second.wanted
    if a.card != b.card:
        return a.card, b.card
    return f"{a.card} in {a.precision}", f"{b.card} in {b.precision}"


def _words(ratio: Estimate) -> str:
    low, high = float(ratio.low), float(ratio.high)
    return f"{float(ratio.value):.2f} times ({100.0 * ratio.level:.0f} %: {low:.2f} to {high:.2f})"


def _check(first: Transferred, second: Transferred) -> None:
    if first.wanted.workload != second.wanted.workload:
        raise ValueError(
            f"{first.wanted} and {second.wanted} are different workloads; their samples/s have no "
            "ratio. Compare one workload on two cards."
        )
    if first.estimate.level != second.estimate.level:
        raise ValueError(
            f"The levels are {first.estimate.level:g} and {second.estimate.level:g}. Intervals of "
            "two levels do not add. Ask for both at one level."
        )
