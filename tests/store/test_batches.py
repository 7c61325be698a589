"""Which batch Compare times a system at: the fastest measured one, or the one in the question."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from planner.compare.reckon import Row
from planner.estimate import Refusal
from planner.store import Store
from planner.store.asking import CompareAnswer, compare_answered, how_long_answered
from planner.store.catalog import read_catalog
from tests.shipped import ROOT
from tests.store.build import a_set, opened, row

CATALOG = read_catalog(ROOT / "data" / "catalog").catalog
EPOCH_S = {64: 30.6, 128: 24.0, 256: 18.2, 512: 16.0, 1024: 14.7}


def _run(batch: int, later_s: float, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - any column
    """A row as the README writes it: no samples per epoch, no steps."""
    return row(
        **{
            "dataset": "CIFAR-10", "system_name": "RTX 4090", "global_batch_size": batch,
            "pre_train_s": 4.1, "first_epoch_s": later_s + 3.7, "later_epoch_mean_s": later_s,
            "later_epoch_sd_s": 0.1, "epochs_measured": 5,
        } | changes
    )  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Store:
    a_set(tmp_path, [_run(b, s) for b, s in EPOCH_S.items()])
    return opened(tmp_path)


def _compared(store: Store, **given: str) -> CompareAnswer:
    told = {n: [v] for n, v in given.items()}
    return compare_answered(store, CATALOG, told, date(2026, 11, 22))


def _measured(told: CompareAnswer) -> list[Row]:
    assert told.answered.comparison is not None
    found = [r for r in told.answered.comparison.rows if r.candidate.run is not None]
    assert found
    return found


def test_without_samples_per_epoch_too_the_fastest_batch_is_taken(store: Store) -> None:
    fastest = how_long_answered(store, {}).result
    assert fastest is not None
    best = fastest.answers[0].option.run
    assert best.global_batch_size == 1024
    for one in _measured(_compared(store)):
        assert one.timed.batch == 1024.0
        assert one.candidate.run is not None
        assert one.candidate.run.run.run_id == best.run_id


def test_a_batch_in_the_question_is_the_one_that_is_answered(store: Store) -> None:
    told = _compared(store, batch="256", options="own-rtx-4090")
    assert told.problems == ()
    assert "batch=256" in told.query
    [one] = _measured(told)
    assert one.timed.batch == 256.0
    assert not isinstance(one.timed.total, Refusal)
    assert one.timed.total.value == pytest.approx(4.1 + 21.9 + 1999 * 18.2)


def test_a_batch_that_was_not_measured_is_refused_with_those_that_were(store: Store) -> None:
    [one] = _measured(_compared(store, batch="100", options="own-rtx-4090"))
    assert isinstance(one.time, Refusal)
    assert "not measured at batch 100" in one.time.reason
    assert "64, 128, 256, 512, 1,024" in one.time.measure_next


def test_the_fastest_batch_that_can_be_projected_is_taken(tmp_path: Path) -> None:
    unsteady = [{"epoch": n, "epoch_s": s} for n, s in enumerate([12.0, *[5.0] * 6, *[9.0] * 6], 1)]
    jumpy = _run(2048, 7.0, first_epoch_s=None, later_epoch_mean_s=None, later_epoch_sd_s=None,
                 epochs=unsteady, epochs_measured=13)  # fmt: skip
    a_set(tmp_path, [_run(1024, 14.7), jumpy])
    for one in _measured(_compared(opened(tmp_path))):
        assert one.timed.batch == 1024.0
