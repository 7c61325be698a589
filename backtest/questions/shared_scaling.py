"""Does a workload that scales well on one cluster scale well on the next?

Of the error of our efficiency, e(n) of `planner.job.efficiency`, the same workload on as many
devices of two clusters has a part in common. Its share of the variance, over all pairs of clusters:

    share = mean(x*y) / mean((x^2 + y^2)/2),    x, y = ln(measured/told), a doubling on one node

1 where clusters are alike, 0 where nothing is shared, below 0 where one is good at what the other
is bad at. Workloads are paired by their names; every count of devices is a pair of its own.
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
"""One network under the names of two collections."""


def shared_scaling(sets: Mapping[str, Sequence[Together]], *, nodes: bool) -> tuple[float, int]:
    """The share [of the variance] and of how many pairs; NaN of none.

    Args:
        sets: runs of several devices by data set, `backtest.questions.described.together_sets`.
        nodes: on several nodes, or on one.
    """
    found: dict[tuple[str, int], list[float]] = defaultdict(list)
    for (_, workload, devices), errors in _errors(sets, nodes=nodes).items():
        found[workload, devices].append(float(np.mean(errors)))
    pairs = np.array([pair for told in found.values() for pair in combinations(told, 2)])
    if not pairs.size:
        return float("nan"), 0
    return float(pairs.prod(axis=1).mean() / (pairs**2).mean()), len(pairs)


def _errors(
    sets: Mapping[str, Sequence[Together]], *, nodes: bool
) -> dict[tuple[str, str, int], list[float]]:
    """Errors in the logarithm by cluster, workload and devices."""
    found: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    for cluster, runs in sets.items():
        for r in runs:
            if (r.nodes > 1) is nodes and (nodes or r.devices <= NODE_MOST):
                told = np.log(float(spread.efficiency(r.devices, r.nodes).value))
                error = np.log(r.measured / (r.alone * r.devices)) - told
                a_doubling = 1.0 if nodes else np.log2(r.devices)
                workload = SAME.get(r.workload, r.workload)
                found[cluster, workload, r.devices].append(float(error / a_doubling))
    return found
