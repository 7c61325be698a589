"""Tables of published measurements: every sound row is read, every bad one named."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Final

import pytest

from planner.published import (
    COLUMNS,
    PublishedRow,
    convolutions_of,
    group_of,
    read_rows,
    rows_of,
)
from tests.each import each

LIBRARY: Final = Path(__file__).resolve().parents[4] / "shared" / "library"
HEADER: Final = "\t".join(COLUMNS)


def line(**cells: str) -> str:
    whole = {"source_id": "s", "model": "Llama 3 8B", "accelerator": "H100"} | cells
    return "\t".join(whole.get(name, "") for name in COLUMNS)


def table(*lines: str, header: str = HEADER) -> str:
    return "\n".join([header, *lines, ""])


def read(*lines: str) -> tuple[list[PublishedRow], list[str]]:
    return rows_of(table(*lines), "t.tsv")


def test_a_row_is_typed_and_what_is_not_stated_is_none() -> None:
    [row], skipped = read(line(params="8e9", seq_len="4,096", mfu_stated="0.41", nodes=""))
    assert skipped == []
    assert (row.params, row.seq_len, row.mfu_stated) == (8_000_000_000, 4096, 0.41)
    assert (row.nodes, row.note, row.throughput_value) == (None, None, None)
    assert (row.file, row.line, row.place) == ("t.tsv", 2, "t.tsv, line 2")


def test_every_column_of_a_table_is_a_field_of_the_row() -> None:
    assert [f.name for f in fields(PublishedRow)][2:-1] == list(COLUMNS)
    assert len(COLUMNS) == 35


@each(
    ("cells", "column"),
    [
        ({"params": "abc"}, "params"),
        ({"throughput_value": "-3"}, "throughput_value"),
        ({"n_accelerators": "0"}, "n_accelerators"),
        ({"n_accelerators": "2.5"}, "n_accelerators"),
        ({"samples_per_s_total": "inf"}, "samples_per_s_total"),
        ({"samples_per_s_total": "1e999"}, "samples_per_s_total"),
        ({"step_time_s": "1e-30"}, "step_time_s"),
        ({"model": " "}, "model"),
        ({"note": "x" * 30_000}, "note"),
    ],
)
def test_a_bad_row_is_skipped_with_a_line_that_names_file_and_row(
    cells: dict[str, str], column: str
) -> None:
    rows, [result] = read(line(), line(**cells), line(model="second"))
    assert [row.model for row in rows] == ["Llama 3 8B", "second"]
    assert result.startswith("t.tsv, line 3: ")
    assert column in result
    assert len(result) < 300


@pytest.mark.parametrize("column", ["memory_gb", "device_hours", "accelerator_memory_gb"])
def test_an_odd_cell_that_one_task_needs_is_left_out_and_its_row_stays(column: str) -> None:
    [row], [result] = read(line(**{column: "12k"}))
    assert getattr(row, column) is None
    assert result.startswith(f"t.tsv, line 2: {column} is '12k', which is not a number. ")


@each("cell", ["", " ", "-", "n/a", "NaN", "160-192 progressive", "8 to 16"])
def test_a_blank_cell_and_a_range_state_no_number(cell: str) -> None:
    [row], skipped = read(line(image_px=cell))
    assert (row.image_px, skipped) == (None, [])


def test_further_and_missing_columns_and_any_line_end_are_read() -> None:
    text = "\ufeffmodel\tmine\taccelerator\tthroughput_value\r\nBERT\tx\tA100\t5\r\n\r\nT5\ty\tH100"
    rows, [missing] = rows_of(text, "t.tsv")
    assert [(r.model, r.throughput_value, r.line) for r in rows] == [
        ("BERT", 5.0, 2),
        ("T5", None, 4),
    ]
    assert missing.startswith("t.tsv: lacks the columns source_id")


def test_a_table_without_a_row_is_named() -> None:
    assert rows_of("", "t.tsv") == ([], ["t.tsv: is empty."])
    assert rows_of("model\taccelerator\n\n", "t.tsv")[1][-1] == (
        "t.tsv: has no row below its column names."
    )


def test_cells_beyond_the_header_are_a_bad_row() -> None:
    rows, [result] = read(line() + "\tmore", line() + "\t")
    assert len(rows) == 1
    assert result.startswith("t.tsv, line 2: has 36 cells below 35 column names.")


@each("cells", [1, 2, 6, 16])
def test_a_row_that_ends_before_its_accelerator_is_a_bad_row(cells: int) -> None:
    rows, [result] = read(line(), "\t".join(line().split("\t")[:cells]))
    assert len(rows) == 1
    of = "cell" if cells == 1 else "cells"
    assert result.startswith(f"t.tsv, line 3: has {cells} {of} below 35 column names.")


def test_blank_cells_at_the_end_of_a_row_may_be_missing() -> None:
    [row], skipped = read("\t".join(line().split("\t")[:19]))
    assert (row.accelerator, row.note, skipped) == ("H100", None, [])


def test_quoted_cells_are_unquoted_and_a_lone_quote_takes_no_other_row_along() -> None:
    rows, skipped = read(line(note='"a ""b"" c"'), line(note='"open'), line())
    assert [row.note for row in rows] == ['a "b" c', '"open', None]
    assert skipped == []


@pytest.mark.parametrize("content", [b"", b"\n\n", b"name\tvalue\n1\t2\n", b"\x00\xff" * 50])
def test_a_file_without_the_columns_is_no_table(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "odd.tsv").write_bytes(content)
    rows, skipped = read_rows(tmp_path)
    assert rows == []
    assert all(result.startswith("odd.tsv: ") for result in skipped)


def test_bytes_that_are_not_utf_8_spoil_only_their_cell(tmp_path: Path) -> None:
    body = table(line(note="caf\xe9"), line(model="two"))
    (tmp_path / "latin.tsv").write_bytes(body.encode("latin-1"))
    (tmp_path / "wide.TSV").write_bytes(body.encode("utf-16"))
    rows, skipped = read_rows(tmp_path)
    assert [row.model for row in rows] == ["Llama 3 8B", "two"] * 2
    assert skipped == []


def test_folders_below_are_read_and_what_is_no_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.tsv").write_text(table(line()), encoding="utf-8")
    (tmp_path / "b.tsv").mkdir()
    (tmp_path / "c.tsv").symlink_to(tmp_path / "gone")
    (tmp_path / ".hidden.tsv").write_text("x", encoding="utf-8")
    rows, skipped = read_rows(tmp_path)
    assert [row.file for row in rows] == ["deep/a.tsv"]
    assert [result.split(":")[0] for result in skipped] == ["b.tsv", "c.tsv"]


def test_a_folder_that_does_not_exist_has_no_rows(tmp_path: Path) -> None:
    rows, [result] = read_rows(tmp_path / "nowhere")
    assert rows == []
    assert result.startswith("nowhere: is not a folder")


@pytest.mark.skipif(not LIBRARY.is_dir(), reason="the library is not beside this checkout")
def test_every_row_of_the_library_is_read() -> None:
    rows, skipped = read_rows(LIBRARY)
    assert skipped == []
    assert len(rows) == 10_350


@each(
    ("network", "kind"),
    [
        ("resnet18", "dense"),
        ("resnet50", None),
        ("vgg16bn", "dense"),
        ("efficientnetb4", "depthwise"),
        ("efficientnetem", "dense"),
        ("convnextlarge", "depthwise"),
        ("seresnext10132x4d", "grouped"),
        ("", None),
    ],
)
def test_the_name_of_a_network_says_how_its_convolutions_multiply(
    network: str, kind: str | None
) -> None:
    assert convolutions_of(network) == kind


def test_weights_and_recipes_make_no_kind_of_their_own() -> None:
    assert {group_of(n) for n in ("sslresnet50", "gluonseresnet50d", "resnetrs50")} == {"resnet"}
    assert group_of("tresnetm") != "resnet"
