"""One .duckdb file that anybody's DuckDB opens, with every run once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb
import pytest

from planner.runs import run_id
from planner.store.export import export_duckdb
from planner.store.reader import Store
from planner.store.sealed.compact import compact_set
from tests.store.build import (
    EPOCHS,
    EVALUATIONS,
    STEPS,
    a_set,
    ids,
    listed,
    opened,
    row,
    rows,
    together,
)

NESTED = {"epochs": EPOCHS, "evaluations": EVALUATIONS, "steps": STEPS}


def asked(path: Path, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(path), read_only=True) as plain:
        return plain.execute(query).fetchall()


def counts(path: Path) -> dict[str, int]:
    tables = ("runs", "epochs", "evaluations", "steps")
    return {t: asked(path, f"SELECT count(*) FROM {t}")[0][0] for t in tables}  # noqa: S608 - names


def test_runs_and_their_nested_records_are_tables(tmp_path: Path) -> None:
    a_set(tmp_path / "in", [row(**NESTED), *rows(3)])
    assert export_duckdb(opened(tmp_path / "in"), tmp_path / "out.duckdb") == 4
    assert counts(tmp_path / "out.duckdb") == {
        "runs": 4, "epochs": 2, "evaluations": 3, "steps": 2,
    }  # fmt: skip


def test_the_values_are_those_of_the_store(tmp_path: Path) -> None:
    a_set(tmp_path / "in", [row(**NESTED), *rows(3)])
    out = tmp_path / "out.duckdb"
    store = opened(tmp_path / "in")
    export_duckdb(store, out)
    assert [r[0] for r in asked(out, "SELECT run_id FROM runs")] == ids(store)
    result = asked(out, "SELECT run_id, epoch, epoch_s, loss FROM epochs ORDER BY epoch")
    assert result == [(run_id(row()), e["epoch"], e["epoch_s"], e["loss"]) for e in EPOCHS]
    found = asked(out, "SELECT step, value FROM evaluations ORDER BY step")
    assert found == [(e["step"], e["value"]) for e in EVALUATIONS]


def test_a_run_that_lies_in_several_files_is_written_once(tmp_path: Path) -> None:
    both = [row(**NESTED), row(seed=1, **NESTED)]
    for name in ("a", "b"):
        together(a_set(tmp_path / name, both), both)
    store = opened(tmp_path / "a", tmp_path / "b")
    assert export_duckdb(store, tmp_path / "out.duckdb") == 2
    assert counts(tmp_path / "out.duckdb") == {
        "runs": 2, "epochs": 4, "evaluations": 6, "steps": 4,
    }  # fmt: skip


def test_a_folder_name_changes_no_value(tmp_path: Path) -> None:
    a_set(tmp_path / "step=9", [row(**NESTED)], slug="epoch=7")
    export_duckdb(opened(tmp_path / "step=9"), tmp_path / "out.duckdb")
    assert asked(tmp_path / "out.duckdb", "SELECT step FROM steps ORDER BY step") == [(1,), (2,)]


def test_an_empty_store_makes_an_empty_table(tmp_path: Path) -> None:
    assert export_duckdb(opened(tmp_path), tmp_path / "out.duckdb") == 0
    assert asked(tmp_path / "out.duckdb", "SELECT count(*) FROM runs") == [(0,)]


def test_a_file_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    out = tmp_path / "out.duckdb"
    out.write_text("mine", encoding="utf-8")
    with pytest.raises(FileExistsError, match="Name another file or remove it first"):
        export_duckdb(opened(tmp_path / "in"), out)
    assert out.read_text(encoding="utf-8") == "mine"


def test_an_export_that_fails_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def torn(store: Store) -> object:
        raise OSError(28, "No space left on device")

    a_set(tmp_path / "in", [row()])
    store = opened(tmp_path / "in")
    (tmp_path / "out").mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(Store, "cursor", torn)
        with pytest.raises(OSError, match="No space left"):
            export_duckdb(store, tmp_path / "out" / "x.duckdb")
    assert listed(tmp_path / "out") == []


def test_a_compaction_in_the_middle_of_an_export_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = a_set(tmp_path / "in", [row(**NESTED), *rows(3)])
    store = opened(tmp_path / "in")
    real, opened_at = Store.cursor, list[int]()

    def moved(store: Store) -> object:
        opened_at.append(len(list(place.glob("*.parquet"))))
        if len(opened_at) == 2:  # the names of the files are read, the files are not
            compact_set(place)
        return real(store)

    monkeypatch.setattr(Store, "cursor", moved)
    assert export_duckdb(store, tmp_path / "out.duckdb") == 4
    assert counts(tmp_path / "out.duckdb")["epochs"] == 2
    assert opened_at[:3] == [4, 4, 1]


def test_the_words_of_the_tables_are_those_of_the_schema(tmp_path: Path) -> None:
    a_set(tmp_path / "in", [row(**NESTED)])
    export_duckdb(opened(tmp_path / "in"), tmp_path / "out.duckdb")
    columns = [r[0] for r in asked(tmp_path / "out.duckdb", "DESCRIBE steps")]
    assert columns == ["run_id", "step", "step_s"]
    assert all(re.fullmatch("[a-z0-9_]+", c) for c in columns)
