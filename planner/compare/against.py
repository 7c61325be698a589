"""Why this file exists: how many times faster or cheaper one option is than another, with doubt.

Ratios are taken draw by draw, so that what two options share (one accelerator's time, one tariff)
cancels: two providers of the same card differ by their prices alone.
"""

from __future__ import annotations

import numpy as np

from planner.compare.reckon import Row
from planner.compare.records import Order
from planner.cost import quantiles
from planner.estimate import Estimate


def times_better(row: Row, baseline: Row, order: Order) -> Estimate | None:
    """Baseline over option: above 1 the option is cheaper (faster); None where one is not known."""
    if row.drawn is None or baseline.drawn is None:
        return None
    if order == "time":
        above, below = baseline.drawn.wall_s, row.drawn.wall_s
    else:
        if row.drawn.cost is None or baseline.drawn.cost is None:
            return None
        above, below = baseline.drawn.cost, row.drawn.cost
    above, below = np.broadcast_arrays(above, below)
    if not (below > 0.0).all():
        return None
    return quantiles(above / below)
