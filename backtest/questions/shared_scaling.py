"""Share of the scaling error that a workload has in common between clusters.

The error is that of our efficiency, e(n) of `planner.job.efficiency`, for the same workload on as
many devices of two clusters. Its shared part of the variance, over all pairs of clusters:

    share = mean(x*y) / mean((x^2 + y^2)/2),   x, y = ln(measured/estimated), per doubling

Doublings are on one node. The share is 1 for equal clusters, 0 if nothing is shared, below 0 if
errors are opposite. Workloads are paired
by name; every device count is a separate pair.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Final

import numpy as np

from backtest.questions.described import NODE_MOST, Together
from planner.job import efficiency as spread

SAME: Final[Mapping[str, str]] = {"resnet50v1.5": "ResNet-50", "RN50v1.5": "ResNet-50"}
"""Names of one network in two collections."""


def shared_scaling(sets: Mapping[str, Sequence[Together]], *, nodes: bool) -> tuple[float, int]:
    """Return the share [of the variance] and the number of pairs; NaN without pairs.

    Args:
        sets: runs of several devices by data set, `backtest.questions.described.together_sets`.
        nodes: on several nodes, or on one.
    """
    by_workload: dict[tuple[str, int], list[float]] = defaultdict(list)
    for (_, workload, devices), errors in _errors(sets, nodes=nodes).items():
        by_workload[workload, devices].append(float(np.mean(errors)))
    pairs = np.array([pair for values in by_workload.values() for pair in combinations(values, 2)])
    if not pairs.size:
        return float("nan"), 0
    return float(pairs.prod(axis=1).mean() / (pairs**2).mean()), len(pairs)


def _errors(
    sets: Mapping[str, Sequence[Together]], *, nodes: bool
) -> dict[tuple[str, str, int], list[float]]:
    """Return the errors in the logarithm by cluster, workload and devices."""
    errors: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    for cluster, runs in sets.items():
        for r in runs:
            if (r.nodes > 1) is nodes and (nodes or r.devices <= NODE_MOST):
                predicted = np.log(float(spread.efficiency(r.devices, r.nodes).value))
                error = np.log(r.measured / (r.alone * r.devices)) - predicted
                a_doubling = 1.0 if nodes else np.log2(r.devices)
                workload = SAME.get(r.workload, r.workload)
                errors[cluster, workload, r.devices].append(float(error / a_doubling))
    return errors
