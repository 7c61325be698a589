"""How tests of the planner ask: what kind of answer came, and its three numbers."""

from __future__ import annotations

import numpy as np

from planner.core import Estimate, Floats, Refusal


def answer(result: object) -> Estimate:
    """The estimate; anything else fails the test."""
    assert isinstance(result, Estimate)
    return result


def refusal(result: object) -> Refusal:
    """The refusal; anything else fails the test."""
    assert isinstance(result, Refusal)
    return result


def ends(estimate: Estimate) -> Floats:
    """Value, low and high, shape (3, ...)."""
    return np.array([estimate.value, estimate.low, estimate.high], dtype=float)
