"""`verify` looks at every byte and every cell, and finds what the reader does not look for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planner.runs import ARROW_SCHEMA, run_id, table_from_rows
from planner.runs._records import complete
from planner.store._verify import verify_folder
from planner.store.sealed.seal import blank_seal, seal_bytes
from tests.store.build import (
    EPOCHS,
    a_set,
    folder,
    full_row,
    row,
    rows,
    sealed_table,
    sealed_with,
    together,
)

LIE = "has a seal with other numbers than its columns."


def found(root: Path) -> dict[str, str]:
    return {Path(p.path).name: p.reason for p in verify_folder(folder(root)).problems}


def unchecked(*records: dict[str, Any]) -> pa.Table:
    """A run table that no check has seen."""
    return pa.Table.from_pylist([complete(r) for r in records], schema=ARROW_SCHEMA)


def test_a_good_folder_has_no_problems_and_is_counted(tmp_path: Path) -> None:
    together(a_set(tmp_path, [full_row(), *rows(3)]), rows(5, seed=1))
    report = verify_folder(folder(tmp_path))
    assert (report.files, report.runs, report.problems) == (5, 9, ())


def test_a_seal_that_reports_other_numbers_than_its_columns_is_found(tmp_path: Path) -> None:
    place = a_set(tmp_path)
    table = table_from_rows([row(step_s=1.0)])
    lie = blank_seal([complete(row(step_s=2.0))])
    (place / "lie.parquet").write_bytes(sealed_table(table, lie))
    assert found(tmp_path) == {"lie.parquet": "has a seal with other numbers than its columns."}


def test_a_seal_that_leaves_a_number_out_is_found(tmp_path: Path) -> None:
    place = a_set(tmp_path)
    table = table_from_rows([row(step_s=1.0)])
    (place / "lie.parquet").write_bytes(sealed_table(table, blank_seal([complete(row())])))
    assert found(tmp_path) == {"lie.parquet": "has a seal with other numbers than its columns."}


def test_a_seal_that_counts_wrong_is_found(tmp_path: Path) -> None:
    place = a_set(tmp_path)
    data = sealed_table(table_from_rows(rows(3)), blank_seal(4))
    (place / "short.parquet").write_bytes(data)
    assert found(tmp_path) == {
        "short.parquet": "says 4 runs but holds 3. Restore it from a copy or delete it."
    }


@pytest.mark.parametrize("column", ["model", "steps"])
def test_a_missing_column_is_found(tmp_path: Path, column: str) -> None:
    place = a_set(tmp_path)
    table = table_from_rows([row()]).drop_columns([column])
    (place / "less.parquet").write_bytes(sealed_table(table, blank_seal([complete(row())])))
    result = "does not have the columns of a run. Delete it and run it again."
    assert found(tmp_path) == {"less.parquet": result}


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (row(step_s=-1.0), "breaks the rules: row 1, step_s: is -1.0 s. It must be above 0;"),
        (row(status="odd"), "breaks the rules: row 1, status: is 'odd'; it must be one of ok,"),
        (
            row(epochs=[EPOCHS[1], EPOCHS[0]]),
            "breaks the rules: row 1, epochs: item 2: epoch is 1; it must grow from 1.",
        ),
    ],
)
def test_rows_that_break_the_rules_are_found(
    tmp_path: Path, record: dict[str, Any], reason: str
) -> None:
    place = a_set(tmp_path)
    (place / "bad.parquet").write_bytes(sealed_table(unchecked(record, row())))
    assert found(tmp_path)["bad.parquet"].startswith(reason)


@pytest.mark.parametrize("letters", [10_000, 10_001, 1_000_000])
def test_a_text_beyond_the_limit_is_found_before_the_rows_are_read(
    tmp_path: Path, letters: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 20 runs that point to one long text, the text is read and no run."""
    place = a_set(tmp_path)
    text = pa.DictionaryArray.from_arrays(pa.array([0] * 20, pa.int32()), pa.array(["x" * letters]))
    at = ARROW_SCHEMA.get_field_index("status_reason")
    table = unchecked(*rows(20)).set_column(at, "status_reason", text.cast(pa.string()))
    (place / "long.parquet").write_bytes(sealed_table(table))
    read: list[Path] = []
    whole = pq.read_table

    def watched(path: Path, **options: Any) -> pa.Table:  # noqa: ANN401 - passed on
        read.append(path)
        return whole(path, **options)

    monkeypatch.setattr(pq, "read_table", watched)
    result = f"breaks the rules: status_reason has {letters:,} characters; at most 10,000 are kept."
    assert found(tmp_path) == (
        {} if letters == 10_000 else {"long.parquet": f"{result} Shorten it."}
    )
    assert len(read) == (letters == 10_000)


def test_a_run_id_that_is_not_the_hash_of_its_identity_is_found(tmp_path: Path) -> None:
    place = a_set(tmp_path)
    table = table_from_rows(rows(2))
    renamed = table.set_column(0, ARROW_SCHEMA.field(0), pa.array(["0" * 32, "1" * 32]))
    (place / "renamed.parquet").write_bytes(sealed_table(renamed))
    result = f"holds run {'0' * 32}, whose id is not the hash of its identity."
    assert found(tmp_path) == {"renamed.parquet": result}


def test_bytes_that_are_no_parquet_under_a_good_seal_are_found(tmp_path: Path) -> None:
    place = a_set(tmp_path)
    data = bytearray(sealed_with(row()))
    data[4:600] = bytes(596)  # the pages are gone, and the seal is made again over what is left
    (place / "hollow.parquet").write_bytes(seal_bytes(bytes(data)))
    assert found(tmp_path)["hollow.parquet"].startswith("cannot be read (")


def test_what_the_reader_refuses_is_found_too(tmp_path: Path) -> None:
    place = a_set(tmp_path, [row()])
    (place / "empty.parquet").touch()
    (place / "folder.parquet").mkdir()
    (place / "set.toml").write_text("title =", encoding="utf-8")
    (place / f"{run_id(row())}.parquet").rename(tmp_path / "astray.parquet")
    names = ["astray.parquet", "empty.parquet", "folder.parquet", "set.toml"]
    assert sorted(found(tmp_path)) == names


def test_a_whole_learning_rate_verifies(tmp_path: Path) -> None:
    a_set(tmp_path, [row(learning_rate=1)])
    assert found(tmp_path) == {}


def test_a_missing_folder_has_nothing_to_verify(tmp_path: Path) -> None:
    report = verify_folder(folder(tmp_path / "nowhere"))
    assert (report.files, report.runs, report.problems) == (0, 0, ())
