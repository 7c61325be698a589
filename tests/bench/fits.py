"""A hundred thousand throughput laws: the one kernel beside a loop of scipy and one of lmfit.

Every group has 8 batch sizes and step times that scatter by 3 %; all minimise the same sum of
squared relative residuals. The loops fit a part of the groups, best of five as the kernel, and are
scaled; that is said.
"""

from __future__ import annotations

from typing import Final

import lmfit
import numpy as np
from scipy.optimize import curve_fit

from planner.core import Floats
from planner.fits import fit_lines
from tests.bench.figures import at_least, best_s, figure, heading

GROUPS: Final = 100_000
SCIPY_GROUPS: Final = 1_000
LMFIT_GROUPS: Final = 100
BATCHES: Final = 2.0 ** np.arange(3, 11)


def step_s(batch: Floats, overhead_s: float, per_sample_s: float) -> Floats:
    """The throughput law's step time."""
    return overhead_s + per_sample_s * batch


def data() -> Floats:
    """Step times of all groups, shape (GROUPS, 8) [s]."""
    draw = np.random.default_rng(20260301)
    overhead, v0 = draw.uniform(0.02, 0.2, GROUPS), draw.uniform(200, 5_000, GROUPS)
    exact = overhead[:, None] + BATCHES / v0[:, None]
    return np.asarray(exact * draw.lognormal(0.0, 0.03, exact.shape), dtype=np.float64)


def by_scipy(times: Floats) -> Floats:
    """Overhead and time per sample of each group, by curve_fit in a loop."""
    return np.array([curve_fit(step_s, BATCHES, t, p0=(0.1, 1e-3), sigma=t)[0] for t in times])


def by_lmfit(times: Floats) -> Floats:
    """The same by lmfit's Model in a loop."""
    model = lmfit.Model(step_s)
    found = []
    for t in times:
        done = model.fit(t, batch=BATCHES, overhead_s=0.1, per_sample_s=1e-3, weights=1 / t)
        found.append([done.best_values["overhead_s"], done.best_values["per_sample_s"]])
    return np.array(found)


def main() -> None:
    """Print the figures."""
    times = data()
    group = np.repeat(np.arange(GROUPS), BATCHES.size)
    batch = np.tile(BATCHES, GROUPS)
    lines = fit_lines(group, batch, times.ravel())
    kernel_s = best_s(lambda: fit_lines(group, batch, times.ravel()))
    scipy_s = best_s(lambda: by_scipy(times[:SCIPY_GROUPS])) * GROUPS / SCIPY_GROUPS
    lmfit_s = best_s(lambda: by_lmfit(times[:LMFIT_GROUPS])) * GROUPS / LMFIT_GROUPS
    scipy_found, lmfit_found = by_scipy(times[:SCIPY_GROUPS]), by_lmfit(times[:LMFIT_GROUPS])
    ours = np.column_stack([lines.intercept, lines.slope])
    heading(f"{GROUPS:,} throughput laws of {BATCHES.size} points")
    figure("kernel, best of 5", kernel_s, "s")
    figure(f"scipy curve_fit loop (from {SCIPY_GROUPS:,} groups)", scipy_s, "s")
    figure(f"lmfit loop (from {LMFIT_GROUPS:,} groups)", lmfit_s, "s")
    at_least("faster than scipy", scipy_s / kernel_s, "times", 400)
    at_least("faster than lmfit", lmfit_s / kernel_s, "times", 3_000)
    for name, found in (("scipy", scipy_found), ("lmfit", lmfit_found)):
        figure(f"largest difference from {name}", _apart(ours[: len(found)], found), "relative")


def _apart(ours: Floats, theirs: Floats) -> float:
    """Largest relative difference where no parameter stands at its border."""
    inside = (ours > 0).all(axis=1)
    return float(np.max(np.abs(theirs[inside] / ours[inside] - 1)))


if __name__ == "__main__":
    main()
