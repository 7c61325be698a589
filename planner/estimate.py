"""Why this file exists: a fitted value is never a bare float, and a refusal is an answer too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Basis = Literal[
    "measured", "interpolated", "extrapolated", "similar workload", "data sheet", "published"
]

LEVEL = 0.9
"""Nominal coverage of every interval unless the caller asks for another [share, 0..1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A number with its doubt: `value` lies in [`low`, `high`] with probability `level`.

    `value`, `low` and `high` are floats, or arrays of one shape where the question was asked for
    an array. `basis` says how the number is known; `reasons` are the sentences a person should
    read beside it. Units are those of the quantity the estimate stands for.
    """

    value: float | Floats
    low: float | Floats
    high: float | Floats
    level: float = LEVEL
    basis: Basis = "measured"
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """An answer withheld: why, and which measurement would allow it."""

    reason: str
    measure_next: str
