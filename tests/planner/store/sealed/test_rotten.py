"""Whatever somebody drops into a folder, the other runs are shown and the reason is told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from planner.store.sealed.commit import CommitError, commit_runs, compact_name
from planner.store.sealed.compact import compact_set
from planner.store.sealed.seal import check_sealed
from tests.store.build import a_set, ids, opened, reasons, row, rows, sealed_with, together


def _summary() -> dict[str, object]:
    import io

    summary = check_sealed(io.BytesIO(sealed_with(row()))).summary
    assert summary is not None
    return summary | {"recorded_at": 0}


@pytest.mark.parametrize("text", ["a = " + "[" * 5000, "a = " + "9" * 6000, 'title = ""'])
def test_a_set_toml_that_cannot_be_read_is_reported(tmp_path: Path, text: str) -> None:
    place = a_set(tmp_path, rows(2))
    (place / "set.toml").write_text(text)
    store = opened(tmp_path)
    assert len(ids(store)) == 2
    assert "set.toml" in reasons(store)


def test_a_name_that_is_no_text_is_reported(tmp_path: Path) -> None:
    place = a_set(tmp_path, rows(2))
    Path(os.fsdecode(bytes(place) + b"/bad\xff.parquet")).write_bytes(b"x")
    folder = Path(os.fsdecode(bytes(tmp_path) + b"/bad\xff"))
    folder.mkdir()
    (folder / "set.toml").write_text("")
    store = opened(tmp_path)
    assert len(ids(store)) == 2
    assert sum("not UTF-8" in r.reason for r in store.refused) == 2
    assert all(r.path.encode() and r.reason.encode() for r in store.refused)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("later_epoch_mean_s", -5.0),
        ("later_epoch_mean_s", 0.0),
        ("later_epoch_sd_s", -1.0),
        ("epochs_measured", -3),
        ("global_batch_size", 0),
        ("device_kind", "zebra"),
        ("status", "weird"),
        ("model", "\ud800"),
        ("model", "x" * 3_000_000),
        ("run_id", "ffffffffffffffffffffffffffffffff"),
    ],
)
def test_a_sealed_row_that_breaks_the_rules_is_refused(
    tmp_path: Path, name: str, value: object
) -> None:
    place = a_set(tmp_path, rows(2))
    data = sealed_with(row(), summary=_summary() | {name: value})
    (place / "odd.parquet").write_bytes(data)
    store = opened(tmp_path)
    assert len(ids(store)) == 2
    assert reasons(store)["odd.parquet"]


def test_a_merged_file_with_a_broken_rule_is_refused_with_its_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = a_set(tmp_path, rows(2))
    monkeypatch.setattr("planner.runs._records.check_rows", lambda _rows: [])
    bad = together(place, [row(repeat=7), row(repeat=8, later_epoch_mean_s=-1.0)])
    monkeypatch.undo()
    store = opened(tmp_path)
    assert len(ids(store)) == 2
    assert "later_epoch_mean_s" in reasons(store)[bad.name]


def test_a_damaged_file_in_the_place_of_the_merged_one_is_reported_and_nothing_is_lost(
    tmp_path: Path,
) -> None:
    place = tmp_path / "mine"
    made = commit_runs(place, rows(3))
    (place / compact_name([m.run_id for m in made])).write_bytes(b"PAR1 damaged PAR1")
    with pytest.raises(CommitError, match="in the way"):
        compact_set(place)
    assert len(ids(opened(tmp_path))) == 3
