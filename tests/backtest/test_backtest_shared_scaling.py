"""How much of an error in scaling is the workload's, and how much the cluster's."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Final

import pytest

from backtest.accuracy.public_data import public_tables
from backtest.questions.described import Together, together_sets
from backtest.questions.devices import shared_scaling
from planner.job.efficiency import NODE_SHARED, efficiency

DATA_SETS: Final = Path(__file__).parents[2].parent / "shared" / "datasets"
needs_data = pytest.mark.skipif(
    not DATA_SETS.is_dir(), reason="the public data sets are not in ../shared/datasets"
)


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
