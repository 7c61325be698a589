"""What runs say of each other: by result set and system, never a run of itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from planner.epoch_scatter import pooled_prior
from planner.later_epochs import EPOCHS
from planner.runs import Run
from planner.store import Store, queries
from tests.store.build import a_set, opened, row

SD_S = (0.4, 0.9, 0.2)


def _timed(sd_s: float, **changes: object) -> dict[str, Any]:
    return row(
        pre_train_s=1.0, first_epoch_s=12.0, later_epoch_mean_s=10.0, later_epoch_sd_s=sd_s,
        epochs_measured=4, **changes,
    )  # fmt: skip


def _noisy(**changes: object) -> list[dict[str, Any]]:
    return [_timed(sd, repeat=i, **changes) for i, sd in enumerate(SD_S)]


def _runs(root: Path) -> list[Run]:
    store = opened(root)
    return [r for w in queries.workloads(store) for r in queries.runs_of(store, w, _pattern(store))]


def _pattern(store: Store) -> str:
    return next(iter(queries.patterns(store, next(iter(queries.workloads(store))))))


def test_each_run_has_the_prior_of_the_others(tmp_path: Path) -> None:
    a_set(tmp_path, _noisy())
    runs = _runs(tmp_path)
    variation = np.array([r.later_epoch_sd_s for r in runs]) / 10.0 * np.sqrt(3 / 2)
    for i, run in enumerate(runs):
        assert run.epoch_prior == pooled_prior([3, 3], np.delete(variation, i))
        assert run.epoch_prior.sd > EPOCHS.sd


def test_one_run_asked_for_by_its_id_has_the_same_prior(tmp_path: Path) -> None:
    a_set(tmp_path, _noisy())
    store = opened(tmp_path)
    for run in _runs(tmp_path):
        assert queries.run(store, run.run_id) == run


def test_other_workloads_of_the_set_count_and_other_systems_and_sets_do_not(
    tmp_path: Path,
) -> None:
    a_set(tmp_path, [_timed(0.01), *_noisy(model="Other")], slug="one")
    a_set(tmp_path, [_timed(0.01, system_name="A100"), *_noisy()], slug="two")
    found = {(r.set_folder, r.system, r.model): r.epoch_prior for r in _runs(tmp_path)
             if r.later_epoch_sd_s == 0.01}  # fmt: skip
    assert found["one", "T4", "ResNet-50"].sd > 0.015
    assert found["two", "A100", "ResNet-50"] is EPOCHS


@pytest.mark.parametrize(
    "others",
    [
        [_timed(3.0, repeat=1, status="crashed", status_reason="it broke")],
        [_timed(0.0, repeat=1) | {"epochs_measured": 2}],
        [_timed(3.0, repeat=1) | {"later_epoch_sd_s": None}],
        [row(repeat=1, step_s=0.1)],
        [],
    ],
    ids=["failed", "one later epoch", "scatter unknown", "no epochs", "alone"],
)
def test_runs_that_tell_no_scatter_leave_the_usual_prior(
    tmp_path: Path, others: list[dict[str, Any]]
) -> None:
    a_set(tmp_path, [_timed(0.9), *others])
    assert all(r.epoch_prior is EPOCHS for r in _runs(tmp_path) if r.later_epoch_sd_s == 0.9)


def test_a_run_that_failed_has_no_part_taken_out_for_it(tmp_path: Path) -> None:
    a_set(tmp_path, [*_noisy(), _timed(3.0, repeat=9, status="crashed", status_reason="it broke")])
    failed = next(r for r in _runs(tmp_path) if r.status == "crashed")
    assert failed.epoch_prior == pooled_prior([3] * 3, np.array(SD_S) / 10.0 * np.sqrt(3 / 2))
