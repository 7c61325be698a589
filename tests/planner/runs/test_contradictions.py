"""Numbers of one run that cannot all be true are refused when it is added, all at once."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from planner.runs import RecordError, _records
from planner.runs._records import AHEAD, contradictions_in
from planner.store import commit_runs
from tests.each import each
from tests.shipped import ROOT
from tests.store.build import full_row, ids, opened, reasons, row

SOUND: dict[str, Any] = {
    "first_epoch_s": 12.0, "later_epoch_mean_s": 10.0, "later_epoch_sd_s": 0.1,
    "epochs_measured": 5,
    "samples_per_epoch": 6_400, "steps_per_epoch": 100, "global_batch_size": 64,
    "step_s": 0.09, "step_p10_s": 0.08, "step_p50_s": 0.09, "step_p90_s": 0.1,
    "throughput": 711.1, "validation": True, "validation_s": 1.0, "pre_train_s": 3.0,
    "total_s": 55.0,
}  # fmt: skip
_EPOCH: dict[str, Any] = {"epoch": 1, "epoch_s": 12.0}


def found(**changes: object) -> list[tuple[str, str]]:
    return contradictions_in(row(**{**SOUND, **changes}))


def test_a_sound_row_is_left_alone() -> None:
    assert found() == []
    assert contradictions_in(full_row()) == []


@each(
    ("changes", "column", "numbers"),
    [
        ({"validation_s": 12.0}, "validation_s", ("12.0", "10.0")),
        ({"validation_s": 14.0, "later_epoch_mean_s": None}, "validation_s", ("14.0", "12.0")),
        ({"step_s": 0.2}, "step_s", ("20", "10.0")),
        ({"step_p10_s": 0.3, "step_p50_s": None}, "step_p10_s", ("0.3", "0.1")),
        ({"step_p50_s": 0.2}, "step_p50_s", ("0.2", "0.1")),
        ({"throughput": 500.0}, "throughput", ("500.0", "640")),
        ({"throughput": 7_111.0}, "throughput", ("7111.0", "640")),
        ({"samples_per_epoch": 8_000, "throughput": None}, "samples_per_epoch", ("8000", "6400")),
        ({"samples_per_epoch": 3_200, "throughput": None}, "samples_per_epoch", ("3200", "6400")),
        ({"epochs": [{**_EPOCH, "samples": 640}]}, "epochs", ("640", "6400")),
        ({"epochs": [{**_EPOCH, "validation_s": 15.0}]}, "epochs", ("15.0", "12.0")),
        ({"total_s": 40.0}, "total_s", ("40.0", "55")),
        ({"startup_s": 900.0}, "total_s", ("55.0", "955")),
        ({"first_step_s": 30.0}, "first_step_s", ("30.0", "12.0")),
    ],
)
def test_a_contradiction_is_named_with_both_numbers(
    changes: dict[str, Any], column: str, numbers: tuple[str, str]
) -> None:
    [(name, text)] = found(**changes)
    assert name == column
    assert all(re.search(rf"(?<![\d.]){re.escape(n)}(?![\d])", text) for n in numbers), text


def test_a_tenth_is_rounding() -> None:
    assert found(validation_s=10.9, throughput=None, total_s=51.0, step_s=0.109) == []


def test_a_partial_last_batch_and_a_slow_start_of_each_epoch_are_no_contradiction() -> None:
    assert found(samples_per_epoch=6_337, throughput=1_200.0) == []
    assert found(steps_per_epoch=1, samples_per_epoch=1, step_s=9.0, throughput=None) == []
    assert found(validation=None, validation_s=None, throughput=7_111.0) == []


def test_commit_names_every_row_and_writes_nothing(tmp_path: Path) -> None:
    rows = [row(**SOUND), row(**{**SOUND, "repeat": 1, "validation_s": 12.0, "step_p10_s": 0.5}),
            row(**{**SOUND, "repeat": 2, "total_s": 40.0})]  # fmt: skip
    with pytest.raises(RecordError) as caught:
        commit_runs(tmp_path / "mine", rows)
    named = [(p.row, p.column) for p in caught.value.problems]
    assert named == [(1, "validation_s"), (1, "step_p10_s"), (2, "total_s")]
    assert "row 2, validation_s: is 12.0 s" in str(caught.value)
    assert not list(tmp_path.rglob("*.parquet"))


def test_no_shipped_run_contradicts_itself() -> None:
    files = sorted((ROOT / "data" / "results").rglob("*.parquet"))
    assert files
    for file in files:
        for one in pq.read_table(file).to_pylist():
            assert contradictions_in(one) == [], (file.parent.name, one["run_id"])


def test_a_run_from_the_future_is_refused_when_it_is_added(tmp_path: Path) -> None:
    ahead = datetime.now(UTC) + AHEAD + timedelta(minutes=1)
    place = tmp_path / "mine"
    with pytest.raises(RecordError) as caught:
        commit_runs(place, [row(), row(repeat=1, recorded_at=ahead)])
    [problem] = caught.value.problems
    assert (problem.row, problem.column) == (1, "recorded_at")
    assert f"is {ahead:%Y-%m-%d %H:%M} UTC, in the future: the clock here says" in problem.message
    assert not place.exists()
    tomorrow = ahead.astimezone(timezone(timedelta(hours=-11))) - timedelta(minutes=2)
    [done] = commit_runs(place, [row(recorded_at=tomorrow)])  # clocks and time zones differ
    assert done.new


def test_a_file_from_the_future_stays_readable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        before.setattr(_records, "AHEAD", timedelta(days=36_500))
        commit_runs(tmp_path / "mine", [row(recorded_at=datetime(2099, 1, 1, tzinfo=UTC))])
    store = opened(tmp_path)
    assert (len(ids(store)), set(reasons(store))) == (1, {"set.toml"})
