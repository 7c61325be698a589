"""Errors for a described workload, and for several devices from one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import pytest

from backtest.accuracy.public_data import public_tables
from backtest.questions.described import (
    DESCRIBED,
    FLOPS,
    NODES,
    SEVERAL,
    constants,
    described_rows,
    speed_sets,
    together_sets,
)
from backtest.questions.figure import MEAN
from planner.job import efficiency as spread
from planner.job import rates

DATA_SETS: Final = Path(__file__).parents[2].parent / "shared" / "datasets"
needs_data = pytest.mark.skipif(
    not DATA_SETS.is_dir(), reason="the public data sets are not in ../shared/datasets"
)

Rows = Sequence[Mapping[str, str]]
MADE: Mapping[str, Rows] = {
    "dlperf_v100/throughput.csv": [
        {"file": "f", "heading": "FP32", "batch_per_gpu": "64", "precision": "fp32", "xla": "0",
         "model": "resnet50v1.5", "n_gpus_total": n, "nodes": nodes, "throughput": speed}
        for n, nodes, speed in (("1", "1", "100"), ("8", "1", "640"), ("16", "2", "800"))
    ],
}  # fmt: skip


def _made(path: str) -> Rows:
    return MADE.get(path, [])


def test_operations_times_speed_over_peak_is_the_share_of_the_peak_that_was_used() -> None:
    [speed] = speed_sets(_made)["DLPerf V100"]
    assert speed.at_peak == pytest.approx(15.7e12 / FLOPS["resnet50v1.5"])
    used = constants(_made)["MFU"]
    assert used == pytest.approx(100 * FLOPS["resnet50v1.5"] / 15.7e12)


def test_each_count_is_paired_with_one_device_at_the_same_batch_on_each() -> None:
    eight, sixteen = together_sets(_made)["DLPerf V100"]
    assert (eight.devices, eight.alone, eight.measured) == (8, 100.0, 640.0)
    assert sixteen.nodes == 2
    result = constants(_made)
    assert result["NODE_LOSS"] == pytest.approx(-math.log(0.8) / 3)
    assert result["NODES_LOSS"] == pytest.approx(-math.log(0.5) / 5)


def test_without_data_there_are_no_figures() -> None:
    assert described_rows(lambda _: []) == []


@needs_data
def test_the_constants_are_those_the_public_data_tell() -> None:
    result = constants(public_tables(DATA_SETS))
    assert pytest.approx(result["MFU"], abs=0.01) == rates.MFU
    assert pytest.approx(result["MFU_SD"], abs=0.01) == rates.MFU_SD
    assert pytest.approx(result["NODE_LOSS"], abs=0.01) == spread.NODE_LOSS
    assert pytest.approx(result["NODE_SD"], abs=0.01) == spread.NODE_SD
    assert pytest.approx(result["NODES_LOSS"], abs=0.01) == spread.NODES_LOSS
    assert pytest.approx(result["NODES_SD"], abs=0.01) == spread.NODES_SD


@needs_data
@pytest.mark.parametrize("task", [DESCRIBED, SEVERAL, NODES])
def test_intervals_hold_and_ours_is_nearer_than_the_peak_or_perfect_speed_up(task: str) -> None:
    rows = [r for r in described_rows(public_tables(DATA_SETS)) if r.task == task]
    ours = next(r for r in rows if r.data_set == MEAN and r.method.startswith("ours: "))
    rivals = [r for r in rows if r.data_set == MEAN and not r.method.startswith("ours")]
    assert ours.coverage >= 0.85
    assert ours.mean_error < min(r.mean_error for r in rivals)
