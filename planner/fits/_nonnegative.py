"""Non-negative least squares for costs that add up, with covariance and undetermined directions.

    minimise sum((design @ value - target)^2)        value >= 0

is Lawson and Hanson's non-negative least squares (Solving Least Squares Problems, 1974, chapter
23), as in SciPy. It adds the covariance of the values, and which combinations of them the rows
determine. Two columns that always rise together determine their sum but not their split; a plain
solver does not report this.

The rows are first folded into a triangle (QR), so 100,000 of them cost one pass and everything
after it works on as many rows as there are values. Columns are brought to length 1 before, so
that units do not affect the result.

Evidence: docs/evidence.md#solver-of-costs-that-add-up.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.core import Floats, Text

ROUNDING: Final = 1e-9
"""Columns (of length 1) dependent on others up to this are not separated."""
VISIBLE: Final = 1e-6
"""A question that points into the unknown by more than this share of itself is not determined."""
DUST: Final = 1e-12
"""A value whose column makes less than this share of the target is rounding, not a value."""
STEPS: Final = 100
"""Steps a column may take to find its place; a few are enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NonNegativeFit:
    """Values that add up to the target, and undetermined directions.

    `value` has shape (columns,); those at the border 0, and those that are rounding errors of the
    target (`DUST`), are exactly 0. `rss` is the sum
    of squared residuals. `unit_covariance` (columns, columns) belongs to a scatter of 1 and to the
    fit before its values were cut at 0, since the border adds no information; undetermined
    directions are left out of it. `unknown` (columns,
    directions) spans those, in columns of length 1 whose lengths were `scale` (columns,).
    """

    value: Floats
    rss: float
    unit_covariance: Floats
    unknown: Floats
    scale: Floats

    def determined(self, questions: ArrayLike) -> NDArray[np.bool_]:
        """Return which combinations of the values are determined.

        Args:
            questions: shape (..., columns), the weight of each value in each combination.

        Returns:
            Shape (...).
        """
        scaled = np.asarray(questions, dtype=np.float64) / self.scale
        if not self.unknown.size:
            return np.ones(scaled.shape[:-1], dtype=np.bool_)
        open_to = np.linalg.norm(scaled @ self.unknown, axis=-1)
        return np.asarray(open_to <= VISIBLE * np.linalg.norm(scaled, axis=-1))

    def unit_variance(self, questions: ArrayLike) -> Floats:
        """Return the variance of combinations of the values for a scatter of 1.

        Shapes as `determined`.
        """
        rows = np.asarray(questions, dtype=np.float64)
        variance = ((rows @ self.unit_covariance) * rows).sum(axis=-1)
        return np.asarray(np.maximum(variance, 0.0))  # rounding can push a vanishing one below 0


def fit_nonnegative(design: ArrayLike, target: ArrayLike) -> NonNegativeFit:
    """Return the least-squares fit target = design @ value with every value at least 0.

    Args:
        design: shape (rows, columns), finite; no column of zeros only.
        target: shape (rows,), finite.

    Raises:
        ValueError: shapes do not fit, something is not finite, or a column holds only zeros (its
            value could be anything: leave it out).
    """
    from scipy.optimize import nnls

    rows, goal = _checked(design, target)
    columns = rows.shape[1]
    scale = np.linalg.norm(rows, axis=0)
    joined = np.column_stack([rows / scale, goal])
    triangle = np.asarray(np.linalg.qr(joined, mode="r"), dtype=np.float64)
    folded, aim = triangle[:, :columns], triangle[:, columns]
    value, rest = nnls(folded, aim, maxiter=STEPS * columns)
    value = np.where(value > DUST * np.linalg.norm(aim), value, 0.0)  # columns have length 1
    lengths, axes = np.linalg.svd(folded)[1:]
    rank = int((lengths > ROUNDING * lengths[0]).sum())
    inverse = axes[:rank].T / lengths[:rank]
    return NonNegativeFit(
        value=value / scale,
        rss=float(rest) ** 2,
        unit_covariance=(inverse @ inverse.T) / np.outer(scale, scale),
        unknown=axes[rank:].T,
        scale=scale,
    )


def _checked(design: ArrayLike, target: ArrayLike) -> tuple[Floats, Floats]:
    rows, goal = np.asarray(design, dtype=np.float64), np.asarray(target, dtype=np.float64)
    if rows.ndim != 2 or goal.shape != rows.shape[:1] or not rows.size:
        raise ValueError(
            Text(
                "design and target have shapes {design} and {target}. Each row needs "
                "one target. Give (rows, columns) and (rows,), at least one of each.",
                design=rows.shape,
                target=goal.shape,
            )
        )
    if not (np.isfinite(rows).all() and np.isfinite(goal).all()):
        raise ValueError("design or target is not finite everywhere. Leave those rows out.")
    empty = np.flatnonzero(~rows.any(axis=0))
    if empty.size:
        raise ValueError(
            Text(
                "design: column {empty} of {shape} has only zeros. Its value could be "
                "anything. Leave the column out.",
                empty=empty[0] + 1,
                shape=rows.shape[1],
            )
        )
    return rows, goal
