"""Probability that an option is cheaper, faster or in time, from shares of draws.

Costs or times of several options are drawn together (`planner.cost._draws`), so shared uncertainty
cancels. Ties are shared. With 4,096 draws a probability of 50 % has an error of at most 2 % (a
standard deviation of 0.8 % for independent draws).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from planner.core import LEVEL, Basis, Estimate, Floats


def probability_least(drawn: ArrayLike) -> Floats:
    """Return the probability of each option to have the least of all, shape (options,).

    They sum to 1.

    Args:
        drawn: costs or times, shape (options, draws), with at least one of each; infinite where an
            option never ends.

    Returns:
        Shares of the draws; k options that tie in a draw have 1/k of it.

    Raises:
        ValueError: another shape, or a draw is not a number.
    """
    table = _table(drawn)
    least = table == table.min(axis=0)
    return np.asarray((least / least.sum(axis=0)).mean(axis=1))


def probability_cheapest(costs: ArrayLike) -> Floats:
    """Return `probability_least` of costs of shape (options, draws)."""
    return probability_least(costs)


def probability_fastest(times_s: ArrayLike) -> Floats:
    """Return `probability_least` of times [s] of shape (options, draws)."""
    return probability_least(times_s)


def probability_cheaper(first: ArrayLike, second: ArrayLike) -> float:
    """Return the probability that the first costs less than the second, half of the ties counted.

    Args:
        first: draws of the cost of one option, shape (draws,).
        second: of the other.

    Raises:
        ValueError: the shapes differ, or a draw is not a number.
    """
    left, right = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if left.shape != right.shape or left.ndim != 1:
        raise ValueError(
            f"The draws have shapes {left.shape} and {right.shape}. Give two flat lists of one "
            "length, drawn with one seed."
        )
    return float(probability_least(np.stack([left, right]))[0])


def probability_before(times_s: ArrayLike, deadline_s: float) -> Floats:
    """Return the probability to finish within `deadline_s` [s], or within a budget.

    Args:
        times_s: draws, shape (..., draws); infinite where an option never ends.
        deadline_s: not below 0.

    Returns:
        Share of the draws, shape (...).

    Raises:
        ValueError: the deadline is below 0 or not a number.
    """
    if not deadline_s >= 0.0:
        raise ValueError(f"deadline_s is {deadline_s:g}. A deadline is at least 0 s.")
    within = np.asarray(times_s, dtype=np.float64) <= deadline_s
    return np.asarray(within.mean(axis=-1), dtype=np.float64)


def quantiles(
    drawn: ArrayLike,
    *,
    level: float = LEVEL,
    basis: Basis = "published",
    reasons: tuple[str, ...] = (),
) -> Estimate:
    """Return the median and central interval of draws as an `Estimate` of their unit.

    Args:
        drawn: shape (..., draws); infinite draws are allowed.
        level: coverage of the interval [share].
        basis: of its least certain part.
        reasons: of the estimate, as sentences.

    Returns:
        Floats for flat draws, else arrays of shape (...). Quantiles are at (k - 1/2)/draws, like
        the draws of `planner.cost._draws`; next to an infinite draw they are draws themselves.

    Raises:
        ValueError: the level is not within 0 and 1.
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"level is {level!r}. A level is above 0 and below 1. Use 0.9.")
    table = np.asarray(drawn, dtype=np.float64)
    shares = [0.5 - 0.5 * level, 0.5, 0.5 + 0.5 * level]
    low, value, high = quantile(table, shares)
    if table.ndim == 1:
        low, value, high = float(low), float(value), float(high)
    return Estimate(value=value, low=low, high=high, level=level, basis=basis, reasons=reasons)


def quantile(drawn: Floats, shares: ArrayLike) -> Floats:
    """Return quantiles along the last axis, shape (shares, ...).

    None lies between two infinite draws.

    Equal to numpy.quantile with method "hazen", or "inverted_cdf" next to an infinite draw. One
    sort is faster than numpy's partition.
    """
    ordered = np.sort(drawn, axis=-1)
    draws = ordered.shape[-1]
    levels = np.asarray(shares, dtype=np.float64)
    if not np.isfinite(ordered).all():
        places = np.clip(np.ceil(draws * levels - 1.0), 0, draws - 1).astype(np.intp)
        values = np.where(np.isnan(ordered[..., -1:]), np.nan, ordered[..., places])
        return np.moveaxis(values, -1, 0)
    place = np.clip(draws * levels + 0.5 - 1.0, 0.0, draws - 1.0)  # rounded as numpy rounds
    below = np.floor(place).astype(np.intp)
    low, high = ordered[..., below], ordered[..., np.minimum(below + 1, draws - 1)]
    part = place - below
    between = np.where(part < 0.5, low + (high - low) * part, high - (high - low) * (1.0 - part))
    return np.moveaxis(between, -1, 0)


def _table(drawn: ArrayLike) -> Floats:
    table = np.asarray(drawn, dtype=np.float64)
    if table.ndim != 2 or not table.size:
        raise ValueError(
            f"The draws have shape {table.shape}. Give one row of draws for each option."
        )
    if np.isnan(table).any():
        rows = np.flatnonzero(np.isnan(table).any(axis=1)) + 1
        raise ValueError(
            f"Option {', '.join(map(str, rows))} of {len(table)} has draws that are not numbers. "
            "Leave out options without an answer."
        )
    return table
