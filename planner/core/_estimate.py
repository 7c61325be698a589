"""A fitted value is never a bare float, and a refusal is an answer too."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from planner.core._text import Text

if TYPE_CHECKING:
    from planner.core.points import Floats

Basis = Literal[
    "measured",
    "interpolated",
    "extrapolated",
    "similar workload",
    "transferred from another GPU",
    "estimated from FLOPs",
    "published",
]

LEVEL = 0.9
"""Default nominal coverage of intervals [share, 0..1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A value with its interval [`low`, `high`], which covers it with probability `level`.

    `value`, `low` and `high` are floats, or arrays of one shape. `basis` is the source of the
    number, measured or estimated; `reasons` are sentences to show with it. Units are those of the
    estimated quantity.
    """

    value: float | Floats
    low: float | Floats
    high: float | Floats
    level: float = LEVEL
    basis: Basis = "measured"
    reasons: tuple[str, ...] = ()

    def scaled(self, factor: float) -> Estimate:
        """Return a single number and its ends times an exact factor."""
        value, low, high = (end * factor for end in self.ends)
        return replace(self, value=value, low=low, high=high)

    @property
    def ends(self) -> tuple[float, float, float]:
        """A single number and both ends of its interval."""
        return float(self.value), float(self.low), float(self.high)

    @property
    def arrays(self) -> tuple[Floats, Floats, Floats]:
        """Value and both ends as arrays."""
        import numpy as np  # here: recording in a training script needs none

        return np.asarray(self.value), np.asarray(self.low), np.asarray(self.high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A missing answer: its reason, and the measurement that would allow one."""

    reason: str
    measure_next: str


def t_quantile(level: float, dof: Floats | float) -> Floats:
    """Return half-width of a central Student t interval [standard deviations].

    Args:
        level: coverage of the interval [share, strictly between 0 and 1], scalar.
        dof: degrees of freedom, any shape; not necessarily whole numbers.

    Returns:
        The quantile at (1 + level)/2, in the shape of `dof`; NaN where `dof` is NaN.

    Raises:
        ValueError: `level` is not strictly between 0 and 1.
    """
    if not 0.0 < level < 1.0:
        raise ValueError(
            Text(
                "level is {level!r}. A level is a share above 0 and below 1. Use 0.9, not 90.",
                level=level,
            )
        )
    import numpy as np  # here: recording in a training script needs neither
    from scipy.special import stdtrit

    return np.asarray(stdtrit(dof, 0.5 * (1.0 + level)), dtype=np.float64)
