"""A straight line that bends where its own points say so: the line times a Gaussian process.

    T(b) = (t + b/v0) * exp(g(ln b))       g ~ Gaussian process, mean 0

t and v0 are those of `planner.lines`; g is what the logarithms of the residuals say about their
neighbourhood (simple kriging; Rasmussen & Williams 2006, chapter 2). Its constants are fixed:

    constant   value  unit                meaning
    AMPLITUDE  0.15   relative sd         how far times stray from the line
    LENGTH     2.77   ln(batch), ln 16    over which such a deviation persists (Matern-3/2)
    NUGGET     0.04   relative sd         scatter of a single measurement
    NU0        4      degrees of freedom  weight of the prior that the two sizes above are right
    LEAST      4      points              fewer get the plain line and its interval

All groups are fitted at once: one batched inverse of matrices as large as the longest group.

Where it wins (`python -m planner backtest`, docs/accuracy.md; error = median / mean over the points
that the product answers, mean of five data sets; "held" of a nominal 90 %):

    asked                               line           held   corrected      held
    one batch left out between others   3.7 /  5.1 %   91 %   3.0 /  4.5 %   90 %
    twice the largest                   9.4 / 10.8 %   89 %   7.4 /  8.4 %   96 %
    four times the largest             16.7 / 20.3 %   84 %  14.5 / 18.9 %   88 %

Never below 4 points, always from 4 on: of four rules (never; only above 3 or 5 % scatter; always)
this one was chosen whichever data set was left out (`python -m planner backtest --constants`). The
sizes above were found before the project on fuller copies of the same data. Line and process
fitted together (3.4 / 4.8 inside, 7.3 / 7.4 at twice) were looked at on the same data: no better
inside, better beyond, and t and v0 would no longer be those of the plain line.

The product does not use it yet: best batch, crossover and half-saturation batch are closed forms
of the line alone, and would disagree with a curve that bends. On the one quiet sweep (Colab TPU)
the plain line is better inside (2.5 against 3.9 %), and inside, straight pieces between neighbours
do as well (3.0 / 4.7 %). Where only a step time at one batch is asked for, this is the better one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from planner.estimate import LEVEL, Floats, t_quantile
from planner.lines import PARAMETERS, Lines, fit_lines, octaves_outside, predict_lines

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

AMPLITUDE: Final = 0.15
LENGTH: Final = float(np.log(16.0))
NUGGET: Final = 0.04
NU0: Final = 4.0
LEAST: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedLines:
    """Lines and what their residuals say, for g groups of at most n points.

    `known` (g, n) marks places that hold a point, the rest is padding; `log_x` (g, n) are the
    logarithms of the points. `inverse` (g, n, n) is that of their covariance, `weight` (g, n) its
    product with the logarithms of measured over line, and `scale` (g,) how much larger than
    expected these are (a variance; the prior says 1).
    """

    lines: Lines
    known: NDArray[np.bool_]
    log_x: Floats
    inverse: Floats
    weight: Floats
    scale: Floats

    @property
    def bends(self) -> NDArray[np.bool_]:
        """Which groups have enough points to be corrected, shape (groups,)."""
        return np.asarray((self.lines.n >= LEAST) & self.lines.determined)


def fit_corrected(group: ArrayLike, x: ArrayLike, y: ArrayLike) -> CorrectedLines:
    """Fit lines to all groups, and the process to the logarithms of their residuals.

    Args:
        group: which line a point belongs to, whole numbers from 0, shape (points,).
        x: where it was measured, above 0, shape (points,).
        y: what was measured, above 0, shape (points,).

    Returns:
        `CorrectedLines` of max(group)+1 groups.

    Raises:
        ValueError: as `planner.lines.fit_lines`.
    """
    lines = fit_lines(group, x, y)
    numbers = np.asarray(group, dtype=np.int64)
    xs, ys = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    residual = np.log(ys / (lines.intercept[numbers] + lines.slope[numbers] * xs))
    known, log_x, log_ratio = _padded(numbers, np.log(xs), np.nan_to_num(residual))
    covariance = _covariance(log_x[:, :, None] - log_x[:, None, :])
    covariance *= known[:, :, None] & known[:, None, :]
    covariance += np.eye(known.shape[1]) * np.where(known, NUGGET**2, 1.0)[:, None, :]
    inverse: Floats = np.asarray(np.linalg.inv(covariance), dtype=np.float64)
    weight = np.einsum("gij,gj->gi", inverse, log_ratio)
    misfit = np.einsum("gi,gi->g", weight, log_ratio)
    scale = (NU0 + misfit) / (NU0 + lines.n - PARAMETERS)
    return CorrectedLines(
        lines=lines, known=known, log_x=log_x, inverse=inverse, weight=weight, scale=scale
    )


def predict_corrected(
    fit: CorrectedLines, group: ArrayLike, x: ArrayLike, level: float = LEVEL
) -> tuple[Floats, Floats, Floats]:
    """What a new measurement at x would give in each group, with its predictive interval.

    The interval is mid*exp(-q) to mid*exp(+q), where q is Student's quantile times the root of
    scale * (what the process leaves open + NUGGET^2 + the line's own doubt) + (kappa*octaves)^2;
    kappa and octaves are those of `planner.lines.predict_lines`.

    Args:
        fit: what `fit_corrected` returned.
        group: whole numbers from 0, shape (asked,).
        x: where, above 0, shape (asked,).
        level: coverage [share].

    Returns:
        mid, low, high in units of y, shape (asked,); those of the plain line where a group has
        fewer than LEAST points, NaN where it has none.

    Raises:
        ValueError: x is not finite or not above 0, or level is no share.
    """
    numbers, xs = np.asarray(group, dtype=np.int64), np.asarray(x, dtype=np.float64)
    lines = fit.lines.of(numbers)
    plain = predict_lines(lines, xs, level)
    toward = _covariance(np.log(xs)[:, None] - fit.log_x[numbers]) * fit.known[numbers]
    mid = plain[0] * np.exp((toward * fit.weight[numbers]).sum(axis=1))
    explained = np.einsum("ai,aij,aj->a", toward, fit.inverse[numbers], toward)
    of_line = lines.var_intercept + xs * (2.0 * lines.cov + xs * lines.var_slope)
    unit = AMPLITUDE**2 - explained + NUGGET**2 * (1.0 + np.maximum(of_line, 0.0) / plain[0] ** 2)
    outside = lines.prior.sd_per_octave * octaves_outside(lines, xs)
    deviation = np.sqrt(fit.scale[numbers] * unit + outside**2)
    dof = np.asarray(NU0 + lines.n - PARAMETERS, dtype=np.float64)
    q = t_quantile(level, dof) * deviation
    bent = mid, mid * np.exp(-q), mid * np.exp(q)
    chosen = fit.bends[numbers]
    mid, low, high = (np.where(chosen, b, p) for b, p in zip(bent, plain, strict=True))
    return mid, low, high


def _covariance(distance: Floats) -> Floats:
    """Matern-3/2 over ln(x)."""
    far = np.sqrt(3.0) * np.abs(distance) / LENGTH
    return np.asarray(AMPLITUDE**2 * (1.0 + far) * np.exp(-far))


def _padded(group: NDArray[np.int64], *values: Floats) -> tuple[NDArray[np.bool_], Floats, Floats]:
    """Which places of a (groups, longest group) table hold a value, and two tables of values."""
    order = np.argsort(group, kind="stable")
    count = np.bincount(group)
    place = np.arange(group.size) - np.repeat(np.cumsum(count) - count, count)
    tables = [np.zeros((count.size, int(count.max()))) for _ in (None, *values)]
    for table, column in zip(tables, (np.ones(group.size), *values), strict=True):
        table[group[order], place] = column[order]
    return tables[0] > 0.0, tables[1], tables[2]
