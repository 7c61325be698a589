"""How much of an error in scaling is the workload's, and how much the cluster's.

The error is that of our efficiency, e(n) of `planner.job.efficiency`, for the same workload on as
many devices of two clusters. Its shared part of the variance, over all pairs of clusters:

    share = mean(x*y) / mean((x^2 + y^2)/2),   x, y = ln(measured/estimated), per doubling

Doublings are on one node. The share is 1 for equal clusters, 0 if nothing is shared, below 0 if
errors are opposite. Workloads are paired by name; every device count is a separate pair.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from backtest.accuracy.public_data import public_tables
from backtest.questions.described import NODE_MOST, Together, together_sets
from planner.job.efficiency import NODE_SHARED, efficiency

DATA_SETS: Final = Path(__file__).parents[2].parent / "shared" / "datasets"
needs_data = pytest.mark.skipif(
    not DATA_SETS.is_dir(), reason="the public data sets are not in ../shared/datasets"
)


SAME: Final[Mapping[str, str]] = {"resnet50v1.5": "ResNet-50", "RN50v1.5": "ResNet-50"}
"""Names of one network in two collections."""


def shared_scaling(sets: Mapping[str, Sequence[Together]], *, nodes: bool) -> tuple[float, int]:
    """The share [of the variance] and the number of pairs, on one node or on several."""
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
    """Errors in the logarithm by cluster, workload and devices."""
    errors: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    for cluster, runs in sets.items():
        for r in runs:
            if (r.nodes > 1) is nodes and (nodes or r.devices <= NODE_MOST):
                predicted = np.log(float(efficiency(r.devices, r.nodes).value))
                error = np.log(r.measured / (r.alone * r.devices)) - predicted
                a_doubling = 1.0 if nodes else np.log2(r.devices)
                workload = SAME.get(r.workload, r.workload)
                errors[cluster, workload, r.devices].append(float(error / a_doubling))
    return errors


def _run(error: float, workload: str = "net", devices: int = 4) -> Together:
    result = float(efficiency(devices, 1).value)
    return Together(workload, devices, 1, math.exp(error) * result * devices, 1.0)


def test_clusters_that_are_alike_share_all_of_it() -> None:
    share, pairs = shared_scaling({"a": [_run(0.2)], "b": [_run(0.2)]}, nodes=False)
    assert share == pytest.approx(1.0)
    assert pairs == 1


def test_where_one_is_good_and_the_other_bad_nothing_is_shared() -> None:
    share, _ = shared_scaling({"a": [_run(0.2)], "b": [_run(-0.2)]}, nodes=False)
    assert share == pytest.approx(-1.0)


def test_other_workloads_and_other_counts_are_no_pair() -> None:
    sets = {"a": [_run(0.2)], "b": [_run(0.2, "other"), _run(0.2, devices=8)]}
    assert shared_scaling(sets, nodes=False)[1] == 0


@needs_data
def test_on_one_node_a_tenth_is_the_workloads_and_on_several_nothing() -> None:
    sets = together_sets(public_tables(DATA_SETS))
    one, several = (shared_scaling(sets, nodes=nodes) for nodes in (False, True))
    assert one[1] > 100
    assert several[1] > 100
    assert one[0] == pytest.approx(NODE_SHARED, abs=0.05)
    assert several[0] < 0.0
