"""What runs say of each other: by result set and system, never a run of itself."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from planner.answers.runs import with_priors
from planner.epochs import scatters
from planner.epochs.projection import together
from planner.runs import EPOCHS, Run
from planner.store import Store, queries
from planner.store.sealed.commit import commit_runs
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
    return _with_priors(opened(root))


def _with_priors(store: Store, without: Collection[str] = ()) -> list[Run]:
    plain = [
        r for w in queries.workloads(store) for r in queries.runs_of(store, w, _pattern(store))
    ]
    return with_priors(store, plain, without)


def _pattern(store: Store) -> str:
    return next(iter(queries.patterns(store, next(iter(queries.workloads(store))))))


def test_each_run_has_the_prior_of_the_others(tmp_path: Path) -> None:
    a_set(tmp_path, _noisy())
    runs = _runs(tmp_path)
    variation = np.array([r.later_epoch_sd_s for r in runs]) / 10.0 * np.sqrt(3 / 2)
    for i, run in enumerate(runs):
        assert run.epoch_prior == together(scatters([3, 3], np.delete(variation, i))).prior()
        assert run.epoch_prior.sd > EPOCHS.sd


def test_one_run_asked_for_by_its_id_has_the_same_prior(tmp_path: Path) -> None:
    a_set(tmp_path, _noisy())
    store = opened(tmp_path)
    for run in _runs(tmp_path):
        plain = queries.run(store, run.run_id)
        assert plain is not None
        assert with_priors(store, [plain]) == [run]


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
        [_timed(1.0, repeat=1, mode="inference")],
        [],
    ],
    ids=[
        "failed",
        "one later epoch",
        "scatter unknown",
        "no epochs",
        "inference",
        "alone",
    ],
)
def test_runs_that_tell_no_scatter_leave_the_usual_prior(
    tmp_path: Path, others: list[dict[str, Any]]
) -> None:
    a_set(tmp_path, [_timed(0.9), *others])
    assert all(r.epoch_prior is EPOCHS for r in _runs(tmp_path) if r.later_epoch_sd_s == 0.9)


def test_a_run_that_failed_has_no_part_taken_out_for_it(tmp_path: Path) -> None:
    a_set(tmp_path, [*_noisy(), _timed(3.0, repeat=9, status="crashed", status_reason="it broke")])
    failed = next(r for r in _runs(tmp_path) if r.status == "crashed")
    assert (
        failed.epoch_prior
        == together(scatters([3] * 3, np.array(SD_S) / 10.0 * np.sqrt(3 / 2))).prior()
    )


def test_runs_that_are_left_out_say_nothing_and_have_no_part_taken_out(tmp_path: Path) -> None:
    a_set(tmp_path, [*_noisy(), _timed(1.3, repeat=9)])
    store = opened(tmp_path)
    sick = next(r for r in _with_priors(store) if r.later_epoch_sd_s == 1.3)
    without = {r.run_id: r.epoch_prior for r in _with_priors(store, {sick.run_id})}
    variation = np.array(SD_S) / 10.0 * np.sqrt(3 / 2)
    assert without[sick.run_id] == together(scatters([3] * 3, variation)).prior()
    a_set(tmp_path / "alone", _noisy())
    alone = {r.later_epoch_sd_s: r.epoch_prior for r in _runs(tmp_path / "alone")}
    for run in _with_priors(store, {sick.run_id}):
        if run.run_id != sick.run_id:
            assert run.epoch_prior == alone[run.later_epoch_sd_s]


def test_a_run_that_comes_later_counts_from_the_next_look_on(tmp_path: Path) -> None:
    place = a_set(tmp_path, [_timed(0.9)])
    store = opened(tmp_path)
    assert [r.epoch_prior for r in _with_priors(store)] == [EPOCHS]
    commit_runs(place, [_timed(1.2, repeat=7)])
    store.refresh()
    assert all(r.epoch_prior.sd > EPOCHS.sd for r in _with_priors(store))
