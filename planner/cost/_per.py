"""Cost per unit of work: an epoch, an hour.

The work of a run to a target is the time to the target, so its cost is the cost of the target.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from planner.core import Floats
from planner.cost._quantities import SECONDS_PER_HOUR, checked


def per_epoch(cost_of_run: ArrayLike, epochs: ArrayLike) -> Floats:
    """Return the cost of one epoch of a run [USD], its part of start-up and set-up included.

    Args:
        cost_of_run: at least 0 [USD], any shape.
        epochs: of that run, above 0, broadcast with the cost.

    Raises:
        ValueError: a cost is negative or not a number, or there are no epochs.
    """
    return _share(cost_of_run, "epochs", epochs)


def per_hour_of_work(cost_of_run: ArrayLike, work_s: ArrayLike) -> Floats:
    """Return the cost of an hour of undisturbed work [USD/h].

    Start-up, lost work and set-up are in it.

    Args:
        cost_of_run: at least 0 [USD], any shape.
        work_s: uninterrupted duration of the run [s], above 0.

    Raises:
        ValueError: a cost is negative or not a number, or there is no work.
    """
    return _share(cost_of_run, "work_s", work_s) * SECONDS_PER_HOUR


def _share(cost: ArrayLike, name: str, parts: ArrayLike) -> Floats:
    whole, by = checked("cost_of_run", cost), checked(name, parts)
    if not ((by > 0.0) & np.isfinite(by)).all():
        raise ValueError(f"{name} must be finite and above 0 to share a cost. Leave these out.")
    return np.asarray(whole / by)
