"""Whether a simulated fleet keeps its deadlines."""

from __future__ import annotations

from typing import Final

import numpy as np

from planner.capacity._months import Simulated
from planner.core import Floats

QUARTER: Final = 3
"""Months whose runs are taken together to judge a deadline."""


def late_shares(simulated: Simulated, together: int = QUARTER) -> tuple[Floats, Floats]:
    """Return late share of each job over the horizon, and in its worst quarter, shape (jobs,).

    `together` are the months that make a quarter.
    """
    ones = np.ones(simulated.load.job.shape)
    runs = simulated.by_job_and_month(ones).sum(axis=2)
    late = simulated.by_job_and_month(simulated.served.late).sum(axis=2)
    # every scenario of a month has the same mean: a month counts with its runs
    whole = _share(late.sum(axis=1), runs.sum(axis=1))
    quarter = simulated.case.at // together
    parts = [
        _share(late[:, quarter == q].sum(axis=1), runs[:, quarter == q].sum(axis=1))
        for q in np.unique(quarter)
    ]
    return whole, np.max(parts, axis=0)


def _share(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.zeros(np.shape(whole)), where=whole > 0.0)


def keeps(simulated: Simulated, probability: float) -> bool:
    """Return whether every job with a deadline ends in time often enough in every quarter."""
    return bool((late_shares(simulated)[1] <= 1.0 - probability + 1e-12).all())
