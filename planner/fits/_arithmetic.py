"""Two estimates that were measured apart: their product, their ratio, and wider intervals.

Their errors are independent, so half-widths of their logarithms add in quadrature, each end by
itself: an interval may reach farther up than down. At a border, where a logarithm has no width, the
ends of a product multiply. Every ratio of two estimates in the product is `ratio`.
"""

import math
from dataclasses import replace
from typing import Final

import numpy as np

from planner.core import Basis, Estimate, Floats, Refusal, Text
from planner.fits._curve import BASES, estimate_of

NAMES: Final = ("Step time", "Steps to target")
CURVES: Final = ("the curve of step time", "the curve of steps to target")
"""Whose reason it is, where two curves have an answer together."""


def product(
    first: Estimate | Refusal, second: Estimate | Refusal, names: tuple[str, str] = NAMES
) -> Estimate | Refusal:
    """Return the product of two independent estimates.

    Half-widths of the logarithms add in quadrature.

    Args:
        first: floats or arrays, at least 0; or a refusal.
        second: the same in a shape that broadcasts against it.
        names: whose reason is whose.

    Returns:
        The product with the weaker basis and both reasons; the first refusal where there is one.

    Raises:
        ValueError: the two have different levels.
    """
    if isinstance(first, Refusal):
        return first
    if isinstance(second, Refusal):
        return second
    level = one_level(first, second)
    value = np.asarray(first.value) * np.asarray(second.value)
    (down, up), (below, above) = _log_half_widths(first), _log_half_widths(second)
    with np.errstate(over="ignore", invalid="ignore"):  # 0*inf is replaced below
        low, high = value * np.exp(-np.hypot(down, below)), value * np.exp(np.hypot(up, above))
    # 0 has no logarithm: there the upper ends multiply.
    high = np.where(value == 0.0, np.asarray(first.high) * np.asarray(second.high), high)
    low = np.where(value == 0.0, 0.0, low)
    basis = weakest(first.basis, second.basis)
    return estimate_of((value, low, high), level, basis, named(first, second, names))


def ratio(above: Estimate, below: Estimate, *, half_width: float = 0.0) -> Estimate:
    """Return `above` over `below`, two independent floats.

    The low end combines the lower end of `above` with the upper end of `below`, the high end the
    other two.

    Args:
        above: at least 0.
        below: the same, above 0.
        half_width: of further variation, such as between two sessions [ln].

    Returns:
        The ratio with the weaker basis and without reasons. An end that is 0 makes the other
        infinite.

    Raises:
        ValueError: the two have different levels.
    """
    value = float(above.value) / float(below.value)
    (down, up), (below_down, below_up) = log_half_widths(above), log_half_widths(below)
    low, high = _around(
        value, math.hypot(down, below_up, half_width), math.hypot(up, below_down, half_width)
    )
    level, basis = one_level(above, below), weakest(above.basis, below.basis)
    return Estimate(value=value, low=low, high=high, level=level, basis=basis)


def widened(estimate: Estimate, down: float, up: float) -> Estimate:
    """Return the estimate with further half-widths in quadrature [ln]; narrower if negative.

    A negative half-width takes one out that is in it already; the interval never turns around.
    """
    value, (below, above) = float(estimate.value), log_half_widths(estimate)
    low, high = _around(value, _leg(below, down), _leg(above, up))
    return replace(estimate, low=low, high=high)


def log_half_widths(estimate: Estimate) -> tuple[float, float]:
    """Return the distances of both ends from the value [ln]; infinite at an end of 0."""
    low, value, high = float(estimate.low), float(estimate.value), float(estimate.high)
    if value <= 0.0:
        return math.inf, math.inf
    return (math.log(value / low) if low > 0.0 else math.inf), math.log(high / value)


def log_width(estimate: Estimate) -> float:
    """Return ln(high/low) of a float; infinite where the low end is 0."""
    return sum(log_half_widths(estimate))


def excludes_one(estimate: Estimate) -> bool:
    """Return whether a ratio is decided: its interval does not include 1."""
    return not float(estimate.low) <= 1.0 <= float(estimate.high)


def _around(value: float, down: float, up: float) -> tuple[float, float]:
    with np.errstate(over="ignore"):  # farther than floats reach is infinitely far
        return value * float(np.exp(-down)), value * float(np.exp(up))


def _leg(half: float, more: float) -> float:
    """Return the hypotenuse of both; the other leg for a negative `more`."""
    if more >= 0.0 or not math.isfinite(half):
        return math.hypot(half, more)
    return math.sqrt(max(half**2 - more**2, 0.0))


def root_of_product(first: Estimate, second: Estimate) -> tuple[float, float, float]:
    """Return sqrt(first*second) and its ends; NaN where one is 0 and the other infinite."""
    value, low, high = (
        float(np.sqrt(left)) * float(np.sqrt(right))
        for left, right in (
            (first.value, second.value),
            (first.low, second.low),
            (first.high, second.high),
        )
    )
    if not 0.0 < value < np.inf:  # at a border logarithms have no width: the ends multiply
        return value, low, high
    (down, up), (below, above) = _log_half_widths(first), _log_half_widths(second)
    q_low, q_high = 0.5 * np.hypot(down, below), 0.5 * np.hypot(up, above)
    return value, value * float(np.exp(-q_low)), value * float(np.exp(q_high))


def _log_half_widths(estimate: Estimate) -> tuple[Floats, Floats]:
    """Return the distances of both ends from the value in the logarithm; infinite at 0."""
    low, value, high = (np.asarray(v) for v in (estimate.low, estimate.value, estimate.high))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.asarray(np.log(value / low)), np.asarray(np.log(high / value))


def one_level(first: Estimate, second: Estimate) -> float:
    """Return the level that both have.

    Published values have none, `ValueError` where they differ.
    """
    if first.basis == "published":  # which has no interval
        return second.level
    if first.level != second.level:
        raise ValueError(
            Text(
                "The intervals have levels {level:g} and {other_level:g}. Fit both curves "
                "with one level.",
                level=first.level,
                other_level=second.level,
            )
        )
    return first.level


def weakest(*bases: Basis) -> Basis:
    """Return the weakest basis of several."""
    return max(bases, key=BASES.index)


def named(first: Estimate, second: Estimate, names: tuple[str, str]) -> tuple[str, ...]:
    """Return the reasons of both, each with whose it is."""
    pairs = zip(names, (first, second), strict=True)
    return tuple(f"{name}: {reason}" for name, estimate in pairs for reason in estimate.reasons)
