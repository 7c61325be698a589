"""A published fit is only to be compared with one of the same error.

`planner.throughput.fit` minimises relative errors of the time; a plain curve fit of a published
throughput table minimises absolute errors of the throughput, and so does NIST.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.core import Floats, check_pairs
from planner.fits import fit_lines, parameters

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def fit_in_throughput_space(batch: ArrayLike, throughput: ArrayLike) -> tuple[float, float]:
    """Return v0 [samples/s] and t [s] that minimise sum((v(b) - measured)^2).

    Unlike in `fit_throughput`, large throughputs count more. It is the error of a plain curve fit
    of a published throughput table. It solves NIST's certified problem Misra1d (v0 = b1, t =
    1/(b1*b2)) to at least 8 digits. It starts from the closed form and is solved by
    Levenberg-Marquardt in log v0 and log t: both stay positive.

    Args:
        batch: above 0, shape (n,), at least two different.
        throughput: samples/s, above 0, shape (n,).

    Raises:
        ValueError: bad values as in `fit_throughput`, or points without a bend: a v0 or t that
            the closed form puts at its border cannot be refined.
    """
    from scipy.optimize import least_squares

    b, v = np.asarray(batch, dtype=np.float64), np.asarray(throughput, dtype=np.float64)
    check_pairs(b, v, ("batch", "throughput"))
    t, c = parameters(fit_lines(np.zeros(b.shape, dtype=np.int64), b, b / v))
    if not (t > 0.0 and c > 0.0):
        raise ValueError(
            f"The {b.size} points show no bend (overhead {t:g} s, slope {c:g} s per sample). Both "
            "must be above 0 to be refined. Measure a smaller and a larger batch."
        )

    def errors(log: Floats) -> Floats:
        return np.asarray(b / (b * c * np.exp(log[0]) + t * np.exp(log[1])) - v)

    fit = least_squares(errors, np.zeros(2), method="lm", xtol=1e-15, ftol=1e-15, gtol=1e-15)
    return float(np.exp(-fit.x[0]) / c), float(t * np.exp(fit.x[1]))
