"""A file of every schema version is kept for ever, and must be read with its recorded values."""

from __future__ import annotations

import json
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from planner.records import run_id
from planner.schema import COLUMNS, NESTED, SCHEMA_VERSION
from planner.store import queries, sql
from planner.store.compact import compact_set
from planner.store.seal import check_seal
from planner.store.verify import verify_folder
from tests.store.build import (
    a_set,
    blank_hash,
    folder,
    ids,
    opened,
    reasons,
    row,
    sealed_with,
)

GOLDEN: Final = Path(__file__).parent / "golden"


def _recorded() -> dict[str, Any]:
    recorded: dict[str, Any] = json.loads((GOLDEN / "v1.json").read_text(encoding="utf-8"))
    recorded["recorded_at"] = datetime.fromisoformat(recorded["recorded_at"])
    return recorded


def _golden_set(root: Path) -> Path:
    place = a_set(root)
    shutil.copy(GOLDEN / "v1.parquet", place / "v1.parquet")
    return place


def test_there_is_a_golden_file_for_every_version() -> None:
    wanted = [f"v{n}.parquet" for n in range(1, SCHEMA_VERSION + 1)]
    assert sorted(p.name for p in GOLDEN.glob("*.parquet")) == wanted


def test_the_golden_file_fills_every_column_of_its_version() -> None:
    assert set(_recorded()) == {c.name for c in COLUMNS}
    assert None not in _recorded().values()


def test_version_1_is_read_with_exactly_the_recorded_values(tmp_path: Path) -> None:
    _golden_set(tmp_path)
    store = opened(tmp_path)
    kept = store.in_place(sql.WHOLE_ROW, _recorded()["run_id"], pa.Table.to_pylist)
    assert kept == [_recorded()]


def test_the_summary_of_version_1_is_the_recorded_one(tmp_path: Path) -> None:
    _golden_set(tmp_path)
    shown = queries.all_columns(opened(tmp_path), _recorded()["run_id"])
    naive = _recorded()["recorded_at"].replace(tzinfo=None)
    wanted = {k: v for k, v in _recorded().items() if k not in NESTED} | {"recorded_at": naive}
    assert {name: shown[name] for name in wanted} == wanted


def test_the_nested_records_of_version_1_are_the_recorded_ones(tmp_path: Path) -> None:
    _golden_set(tmp_path)
    store = opened(tmp_path)
    for name in NESTED:
        assert queries.nested(store, _recorded()["run_id"], name) == _recorded()[name]


def test_version_1_has_nothing_to_verify_away(tmp_path: Path) -> None:
    _golden_set(tmp_path)
    assert verify_folder(folder(tmp_path)).problems == ()


def test_version_1_survives_a_compaction_value_by_value(tmp_path: Path) -> None:
    place = _golden_set(tmp_path)
    a_set(tmp_path, [row()])
    compact_set(place)
    kept = opened(tmp_path).in_place(sql.WHOLE_ROW, _recorded()["run_id"], pa.Table.to_pylist)
    assert kept == [_recorded()]


def test_the_identity_of_version_1_still_makes_the_same_run_id() -> None:
    assert run_id(_recorded()) == _recorded()["run_id"] == "024533b627751e6505b3d111e5d94301"


def test_the_seal_of_version_1_covers_its_bytes() -> None:
    data = (GOLDEN / "v1.parquet").read_bytes()
    assert check_seal(GOLDEN / "v1.parquet").sha256.encode() in data
    assert len(blank_hash(data)) == len(data)


def test_a_newer_file_is_refused_with_both_versions(tmp_path: Path) -> None:
    place = a_set(tmp_path)
    (place / "new.parquet").write_bytes(sealed_with(row(), schema_version=SCHEMA_VERSION + 1))
    store = opened(tmp_path)
    assert ids(store) == []
    assert reasons(store)["new.parquet"] == (
        f"has schema version {SCHEMA_VERSION + 1}; this program knows up to {SCHEMA_VERSION}. "
        "Update Epochwise."
    )
