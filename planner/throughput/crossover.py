"""Batch at which two systems take the same time.

    b_x = (t2 - t1)/(1/v1 - 1/v2)          [samples]

Below it the system with the smaller overhead is faster, above it the one with the larger asymptotic
throughput. It is a number of the two straight lines, as v0 and t are; where points bend about their
lines (`planner.fits.corrected`), the times answered at b_x differ, and a reason says by how much.
"""

from typing import Final

import numpy as np

from planner.core import Estimate, Refusal, Text, t_quantile
from planner.fits import (
    BASES,
    NO_INTERVAL,
    ROUNDING,
    Lines,
    degrees_of_freedom,
    parameters,
    refusal_outside,
    scalar_estimate,
    scatter_variance,
)
from planner.throughput.fit import FAR, ThroughputCurve

VISIBLE: Final = 0.02
"""Two step times that differ by more than this share are drawn apart."""


def crossover_batch(
    curve_a: ThroughputCurve | Refusal,
    curve_b: ThroughputCurve | Refusal,
    names: tuple[str, str] = ("the first system", "the second system"),
) -> Estimate | Refusal:
    """Return the batch [samples] at which two systems take the same time: (t2 - t1)/(1/v1 - 1/v2).

    The interval is computed in the logarithm (delta method, independent errors, the smaller of the
    two degrees of freedom). It is very wide for similar curves, and then a reason says so.

    Args:
        curve_a: curve of one system, or why it has none.
        curve_b: curve of the other.
        names: of the two systems, for refusals.

    Returns:
        The batch, or a `Refusal`: no positive one exists (parameters that differ by rounding only
        are equal), one of the curves refuses it, or the one passed in.
    """
    if isinstance(curve_a, Refusal):
        return curve_a
    if isinstance(curve_b, Refusal):
        return curve_b
    (t1, c1), (t2, c2) = parameters(curve_a.lines), parameters(curve_b.lines)
    later, slower = _difference(t2, t1), _difference(c1, c2)
    if later == 0.0 or slower == 0.0 or (later > 0.0) != (slower > 0.0):
        return _refuse(later, slower, names)
    batch = later / slower
    for curve, name in zip((curve_a, curve_b), names, strict=True):
        if refusal := refusal_outside(curve, batch, name):
            return refusal
    variance = sum(difference_variance(c.lines, later, slower) for c in (curve_a, curve_b))
    dof = min(float(degrees_of_freedom(c.lines)[0]) for c in (curve_a, curve_b))
    q = float(t_quantile(curve_a.level, dof)) * float(np.sqrt(variance))
    with np.errstate(over="ignore"):  # nearly equal curves cross anywhere
        interval = batch * np.exp(-q), batch * np.exp(q)
    basis = max(curve_a.basis(batch), curve_b.basis(batch), key=BASES.index)
    reasons = _reasons(curve_a, curve_b, batch, q, names)
    return scalar_estimate(batch, interval, curve_a.level, basis, reasons)


def _difference(minuend: float, subtrahend: float) -> float:
    """Return the difference, 0 for rounding: parallel lines do not cross."""
    by = minuend - subtrahend
    return 0.0 if abs(by) <= ROUNDING * max(minuend, subtrahend) else by


def _refuse(later: float, slower: float, names: tuple[str, str]) -> Refusal:
    """Return the refusal for `later` = t2 - t1 and `slower` = 1/v1 - 1/v2 without a crossing."""
    if later == slower == 0.0:
        comparison = "the two are the same"
    else:
        faster = names[0] if later >= 0.0 and slower <= 0.0 else names[1]
        comparison = Text("{faster} is at least as fast at every batch", faster=faster)
    return Refusal(
        reason=Text(
            "The curves do not cross at a batch above 0: {comparison}.", comparison=comparison
        ),
        measure_next="Measure both at the batch you mean to use; that ratio is the answer.",
    )


def difference_variance(lines: Lines, later: float, slower: float) -> float:
    """Return share of one curve in the variance of log((t2 - t1)/(1/v1 - 1/v2)).

    The same for both.
    """
    unit = (
        lines.var_intercept / later**2
        + lines.var_slope / slower**2
        + 2.0 * lines.cov / (later * slower)
    )
    return float((scatter_variance(lines) * np.maximum(unit, 0.0))[0])


def _reasons(
    curve_a: ThroughputCurve,
    curve_b: ThroughputCurve,
    batch: float,
    q: float,
    names: tuple[str, str],
) -> tuple[str, ...]:
    reasons: tuple[str, ...] = ()
    if not (curve_a.n and curve_b.n):
        reasons += (NO_INTERVAL,)
    if "extrapolated" in (curve_a.basis(batch), curve_b.basis(batch)):
        reasons += ("That batch is outside the measured range of at least one system.",)
    if q > np.log(FAR):
        reasons += ("The curves are close together: the crossover has a wide interval.",)
    return reasons + _drawn_apart(curve_a.step_time(batch), curve_b.step_time(batch), names)


def _drawn_apart(
    a: Estimate | Refusal, b: Estimate | Refusal, names: tuple[str, str]
) -> tuple[str, ...]:
    """Return the difference of the predicted times at the crossover, if it is visible."""
    if isinstance(a, Refusal) or isinstance(b, Refusal):
        return ()
    slower = float(a.value) / float(b.value)
    faster = names[1] if slower > 1.0 else names[0]
    by = max(slower, 1.0 / slower) - 1.0
    if by <= VISIBLE:
        return ()
    return (
        Text(
            "It is that of the two laws. Measured points deviate from them: by these "
            "{faster} is {by:.0f} % faster there.",
            faster=faster,
            by=100.0 * by,
        ),
    )
