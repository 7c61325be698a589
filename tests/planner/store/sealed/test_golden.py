"""A file of every schema version is kept for ever, and must be read with its recorded values."""

from __future__ import annotations

import io
import json
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
import pytest

from planner.runs import COLUMNS, NESTED, SCHEMA_VERSION, run_id, table_from_rows
from planner.store import queries
from planner.store._verify import verify_folder
from planner.store.sealed.compact import compact_set
from planner.store.sealed.seal import blank_seal, check_seal
from tests.store.build import (
    a_set,
    blank_hash,
    folder,
    ids,
    opened,
    reasons,
    row,
    rows,
    sealed_table,
    sealed_with,
)

GOLDEN: Final = Path(__file__).parent / "golden"


VERSIONS: Final = pytest.mark.parametrize("version", range(1, SCHEMA_VERSION + 1))


def _recorded(version: int) -> dict[str, Any]:
    recorded: dict[str, Any] = json.loads((GOLDEN / f"v{version}.json").read_text(encoding="utf-8"))
    recorded["recorded_at"] = datetime.fromisoformat(recorded["recorded_at"])
    return recorded


def _whole(version: int) -> dict[str, Any]:
    """What was recorded, and NULL in the columns that were added since."""
    return dict.fromkeys(c.name for c in COLUMNS) | _recorded(version)


def _golden_set(root: Path, version: int) -> Path:
    place = a_set(root)
    shutil.copy(GOLDEN / f"v{version}.parquet", place / f"v{version}.parquet")
    return place


def _shown(root: Path, version: int) -> list[dict[str, Any]]:
    """The run as it can be downloaded."""
    store = opened(root)
    data = queries.run_file(store, _recorded(version)["run_id"])
    return list(pq.read_table(io.BytesIO(data)).to_pylist())


def test_there_is_a_golden_file_for_every_version() -> None:
    wanted = [f"v{n}.parquet" for n in range(1, SCHEMA_VERSION + 1)]
    assert sorted(p.name for p in GOLDEN.glob("*.parquet")) == wanted


@VERSIONS
def test_the_golden_file_fills_every_column_of_its_version(version: int) -> None:
    assert set(_recorded(version)) == {c.name for c in COLUMNS if c.since <= version}
    assert None not in _recorded(version).values()


@VERSIONS
def test_every_version_is_read_with_exactly_the_recorded_values(
    tmp_path: Path, version: int
) -> None:
    _golden_set(tmp_path, version)
    assert _shown(tmp_path, version) == [_whole(version)]


@VERSIONS
def test_the_summary_of_every_version_is_the_recorded_one(tmp_path: Path, version: int) -> None:
    _golden_set(tmp_path, version)
    recorded = _recorded(version)
    shown = queries.all_columns(opened(tmp_path), recorded["run_id"])
    naive = recorded["recorded_at"].replace(tzinfo=None)
    wanted = {k: v for k, v in recorded.items() if k not in NESTED} | {"recorded_at": naive}
    assert {name: shown[name] for name in wanted} == wanted


@VERSIONS
def test_the_nested_records_of_every_version_are_the_recorded_ones(
    tmp_path: Path, version: int
) -> None:
    _golden_set(tmp_path, version)
    store = opened(tmp_path)
    for name in NESTED:
        kept = queries.nested(store, _recorded(version)["run_id"], name)
        assert kept == _recorded(version)[name]


@VERSIONS
def test_no_version_has_anything_to_verify_away(tmp_path: Path, version: int) -> None:
    _golden_set(tmp_path, version)
    assert verify_folder(folder(tmp_path)).problems == ()


@VERSIONS
def test_every_version_survives_a_compaction_value_by_value(tmp_path: Path, version: int) -> None:
    place = _golden_set(tmp_path, version)
    a_set(tmp_path, [row()])
    assert compact_set(place).merged
    assert _shown(tmp_path, version) == [_whole(version)]
    assert verify_folder(folder(tmp_path)).problems == ()


@VERSIONS
def test_a_merged_file_of_every_version_is_read(tmp_path: Path, version: int) -> None:
    """Files of many have the columns of their version, and no others."""
    place, now = a_set(tmp_path), table_from_rows(rows(3))
    old = now.select([c.name for c in COLUMNS if c.since <= version])
    seal = json.loads(blank_seal(3)) | {"schema_version": version}
    (place / "many.parquet").write_bytes(sealed_table(old, json.dumps(seal, separators=(",", ":"))))
    store = opened(tmp_path)
    assert (len(ids(store)), reasons(store)) == (3, {})
    for shown in ids(store):
        assert queries.run_file(store, shown)


def test_the_identity_of_every_version_still_makes_the_same_run_id() -> None:
    known = {
        1: "024533b627751e6505b3d111e5d94301",
        2: "1154d67b64d28cf6ed50aa0107b64314",
        3: "a8306f8b3e47789ba5fc6d37fd5aadfc",
    }
    for version, run in known.items():
        assert run_id(_recorded(version)) == _recorded(version)["run_id"] == run


@VERSIONS
def test_the_seal_of_every_version_covers_its_bytes(version: int) -> None:
    data = (GOLDEN / f"v{version}.parquet").read_bytes()
    assert check_seal(GOLDEN / f"v{version}.parquet").sha256.encode() in data
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
