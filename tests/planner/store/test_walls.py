"""What the DuckDB of the store may not do, even if somebody could hand it SQL."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import duckdb
import pandas as pd
import pytest

from planner.store import Store
from tests.faults.outcomes import Outcome, finish
from tests.store.build import a_set, opened, row

PROBES: Final = {
    "read a system file": "SELECT * FROM read_csv('/etc/passwd')",
    "read a system file as text": "SELECT * FROM read_text('/etc/passwd')",
    "read the environment": "SELECT * FROM read_blob('/proc/self/environ')",
    "list a system folder": "SELECT * FROM glob('/etc/*')",
    "step out by dots": "SELECT * FROM read_text('{inside}/../outside/secret.txt')",
    "step out by a link": "SELECT * FROM read_text('{inside}/mine/link.txt')",
    "read by a file URL": "SELECT * FROM read_text('file:///etc/passwd')",
    "attach a database": "ATTACH '{outside}/other.duckdb'",
    "install an extension": "INSTALL httpfs",
    "load an extension": "LOAD httpfs",
    "write elsewhere": "COPY runs TO '{outside}/stolen.parquet'",
    "dump everything": "EXPORT DATABASE '{outside}/dump'",
    "take in a dump": "IMPORT DATABASE '{outside}'",
    "switch files on": "SET enable_external_access = true",
    "unlock": "SET lock_configuration = false",
    "unlock by reset": "RESET lock_configuration",
    "allow more folders": "SET allowed_directories = ['/']",
    "take more memory": "SET memory_limit = '1TB'",
    "fetch by http": "SELECT * FROM read_parquet('https://example.org/x.parquet')",
    "fetch from a bucket": "SELECT * FROM read_parquet('s3://bucket/x.parquet')",
    "keep a secret": "CREATE SECRET (TYPE s3, KEY_ID 'a', SECRET 'b')",
    "read a frame of the program": "SELECT * FROM frame",
    "let frames in": "SET python_enable_replacements = true",
}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    place = a_set(tmp_path / "inside", [row()])
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("secret", encoding="utf-8")
    (place / "link.txt").symlink_to(tmp_path / "outside" / "secret.txt")
    return opened(tmp_path / "inside")


@pytest.mark.faults
def test_the_store_refuses_every_way_out(tmp_path: Path, store: Store) -> None:
    outcome, frame = Outcome(name="ways out of DuckDB"), pd.DataFrame({"a": [1]})
    for name, probe in PROBES.items():
        query = probe.format(inside=tmp_path / "inside", outside=tmp_path / "outside")
        with outcome.case(name), pytest.raises(duckdb.Error):
            store.rows(query)
        outcome.counts["refused"] += 1
        if [p.name for p in (tmp_path / "outside").iterdir()] != ["secret.txt"]:
            outcome.differs(f"{name}: something was written")
    assert (len(frame), outcome.cases) == (1, len(PROBES))
    finish(outcome)


def test_after_all_refusals_the_store_still_answers(tmp_path: Path, store: Store) -> None:
    for probe in PROBES.values():
        with pytest.raises(duckdb.Error):
            store.rows(probe.format(inside=tmp_path / "inside", outside=tmp_path / "outside"))
    assert store.rows("SELECT count(*) FROM runs") == [(1,)]


def test_no_folder_at_all_may_be_read_where_none_is_given(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("x", encoding="utf-8")
    store = Store([])
    store.refresh()
    with pytest.raises(duckdb.PermissionException):
        store.rows(f"SELECT * FROM read_text('{tmp_path}/x.txt')")  # noqa: S608 - a probe


def test_a_value_is_never_read_as_sql(tmp_path: Path) -> None:
    hostile = "x'; DROP TABLE runs; --"
    a_set(tmp_path, [row(model=hostile), row()])
    store = opened(tmp_path)
    assert store.rows("SELECT model FROM runs WHERE model = ?", [hostile]) == [(hostile,)]
    assert store.rows("SELECT count(*) FROM runs") == [(2,)]
