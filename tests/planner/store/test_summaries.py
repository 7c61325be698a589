"""Summaries without DuckDB: every whole run once, damaged files nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from planner.runs import SUMMARY
from planner.store import commit_runs
from planner.store.sealed.compact import compact_set
from planner.store.summaries import summaries
from tests.store.build import EPOCHS, a_set, row, rows

ROOT = Path(__file__).resolve().parents[3]


def test_a_summary_is_the_row_without_what_is_nested(tmp_path: Path) -> None:
    result = row(epochs=EPOCHS, epochs_measured=2, first_epoch_s=12.5, later_epoch_mean_s=10.1)
    place = a_set(tmp_path, [result])
    [found] = summaries(place)
    assert found.keys() <= set(SUMMARY)
    assert {n: found[n] for n in result if n in SUMMARY and n != "recorded_at"} == {
        n: v for n, v in result.items() if n in SUMMARY and n != "recorded_at"
    }
    assert "epochs" not in found


def test_a_compaction_changes_no_summary(tmp_path: Path) -> None:
    place = a_set(tmp_path, rows(5, extra='{"case_id": "x"}'))
    key = "run_id"
    before = sorted((r[key], r["repeat"], r["extra"]) for r in summaries(place))
    assert compact_set(place).runs == 5
    assert sorted((r[key], r["repeat"], r["extra"]) for r in summaries(place)) == before
    commit_runs(place, [row(repeat=9)])
    assert len(list(summaries(place))) == 6


@pytest.mark.parametrize("cut", [0, 1, 8, 100, -1, -9])
def test_a_damaged_file_holds_nothing_and_hides_nothing(tmp_path: Path, cut: int) -> None:
    place = a_set(tmp_path, rows(3))
    bad = sorted(place.glob("*.parquet"))[1]
    data = bad.read_bytes()
    bad.unlink()
    bad.write_bytes(data[:cut])
    found = [r["run_id"] for r in summaries(place)]
    assert len(found) == 2
    assert bad.stem not in found


def test_what_is_no_run_is_passed_over(tmp_path: Path) -> None:
    place = a_set(tmp_path, rows(1))
    (place / ".half.1.tmp").write_bytes(b"x")
    (place / ".hidden.parquet").write_bytes(b"x")
    (place / "folder.parquet").mkdir()
    (place / "notes.txt").write_text("x", encoding="utf-8")
    (place / "nowhere.parquet").symlink_to("nothing")
    assert len(list(summaries(place))) == 1
    assert list(summaries(tmp_path / "not there")) == []


def test_no_duckdb_is_needed() -> None:
    program = "import sys; import planner.store.summaries; print('duckdb' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr
