"""What is not a whole run file is never shown, and always listed with its reason."""

from __future__ import annotations

import io
import os
import random
import socket
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planner.runs import table_from_rows
from planner.store import sql
from planner.store.sealed.compact import compact_set
from planner.store.sealed.seal import SealError, check_seal
from tests.store.build import (
    ABOUT,
    EPOCHS,
    a_set,
    full_row,
    ids,
    opened,
    reasons,
    row,
    rows,
    sealed_table,
    sealed_with,
    together,
)

TORN = ("is empty", "is not a whole parquet file", "has no Epochwise seal", "has a damaged seal")


def _whole(root: Path, *, many: bool) -> bytes:
    place = a_set(root / "good", [full_row(), *rows(2, epochs=EPOCHS)] if many else [full_row()])
    if many:
        compact_set(place)
    return next(place.glob("*.parquet")).read_bytes()


def _renamed(name: str, to: str) -> pa.Table:
    table = table_from_rows(rows(2))
    return table.rename_columns([to if c == name else c for c in table.column_names])


def _with(name: str, values: pa.Array) -> pa.Table:
    table = table_from_rows(rows(2))
    return table.set_column(table.column_names.index(name), name, values)


# -- torn and flipped --------------------------------------------------------------------------


@pytest.mark.parametrize("many", [False, True], ids=["one run", "many runs"])
def test_a_file_torn_anywhere_is_refused(tmp_path: Path, *, many: bool) -> None:
    whole = _whole(tmp_path, many=many)
    place = a_set(tmp_path / "torn")
    cuts = {*range(0, len(whole), len(whole) // 300), *range(len(whole) - 100, len(whole))}
    for cut in cuts:
        (place / f"{cut}.parquet").write_bytes(whole[:cut])
    store = opened(tmp_path / "torn")
    assert ids(store) == []
    assert len(reasons(store)) == len(cuts)
    assert all(result.startswith(TORN) for result in reasons(store).values())


@pytest.mark.parametrize("many", [False, True], ids=["one run", "many runs"])
def test_a_file_with_one_bit_flipped_anywhere_is_refused(tmp_path: Path, *, many: bool) -> None:
    whole = _whole(tmp_path, many=many)
    place = a_set(tmp_path / "flipped")
    draw = random.Random(20260301)
    for n in range(300):
        data = bytearray(whole)
        data[draw.randrange(len(whole))] ^= 1 << draw.randrange(8)
        (place / f"{n}.parquet").write_bytes(data)
    store = opened(tmp_path / "flipped")
    assert ids(store) == []
    assert len(reasons(store)) == 300


def test_a_file_with_bytes_added_is_refused(tmp_path: Path) -> None:
    whole = _whole(tmp_path, many=False)
    place = a_set(tmp_path / "longer")
    (place / "after.parquet").write_bytes(whole + b"PAR1")
    (place / "before.parquet").write_bytes(b"x" + whole)
    assert set(reasons(opened(tmp_path / "longer"))) == {"after.parquet", "before.parquet"}


def test_noise_is_refused_whatever_its_footer_says(tmp_path: Path) -> None:
    draw = random.Random(1)
    place = a_set(tmp_path)
    for n in range(200):
        noise = draw.randbytes(draw.randrange(2_000))
        tail = draw.choice([0, n, len(noise), 2**32 - 1]).to_bytes(4, "little") + b"PAR1"
        key = b"epochwise.seal\x18" + b"\xff" * (n % 7) if n % 2 else b""
        (place / f"{n}.parquet").write_bytes(noise + key + tail)
    store = opened(tmp_path)
    assert (ids(store), len(reasons(store))) == ([], 200)


# -- every kind with its reason ----------------------------------------------------------------


def _foreign() -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"epoch": [1, 2], "seconds": [10.0, 9.0]}), buffer)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "is empty (0 bytes): its writer was cut off. Delete it."),
        (b"PAR1", "is not a whole parquet file (torn or cut). Delete it and resume the run."),
        (b"a text", "is not a whole parquet file (torn or cut). Delete it and resume the run."),
        (_foreign(), "has no Epochwise seal: it was not written by `planner.store`."),
        (sealed_with(row(), schema_version=7), "has schema version 7; this program knows up to 3."),
        (sealed_with(row(), schema_version=[]), "has a damaged seal."),
        (sealed_with(row(), schema_version="new"), "has a damaged seal."),
        (sealed_with(row(), rows=None), "has a damaged seal."),
        (sealed_with(row(), summary=[]), "has a damaged seal."),
        (sealed_with(row(), summary={}), "has a damaged seal."),
        (sealed_with(row(), summary="text"), "has a damaged seal."),
        (
            sealed_table(_renamed("model", "network")),
            "does not have the columns of a run (model is missing).",
        ),
        (
            sealed_table(_renamed("evaluations", "tests")),
            "does not have the columns of a run (evaluations is missing).",
        ),
        (
            sealed_table(_with("step_s", pa.array(["1", "2"]))),
            "does not have the columns of a run (step_s is string).",
        ),
        (
            sealed_table(_with("run_id", pa.array([None, "b"], pa.string()))),
            "does not have the columns of a run (Constraint Error",
        ),
    ],
)
def test_a_bad_file_is_reported_its_reason_and_the_good_one_is_shown(
    tmp_path: Path, data: bytes, reason: str
) -> None:
    place = a_set(tmp_path, [row(seed=1)])
    (place / "bad.parquet").write_bytes(data)
    store = opened(tmp_path)
    assert len(ids(store)) == 1
    assert set(reasons(store)) == {"bad.parquet"}
    assert reasons(store)["bad.parquet"].startswith(reason)


def test_a_folder_named_like_a_file_is_refused(tmp_path: Path) -> None:
    (a_set(tmp_path) / "x.parquet").mkdir()
    result = {"x.parquet": "is a folder, not a file. Move it out of the result set."}
    assert reasons(opened(tmp_path)) == result


def test_a_link_to_a_file_is_refused(tmp_path: Path) -> None:
    good = a_set(tmp_path / "a", [row()])
    (a_set(tmp_path / "b") / "x.parquet").symlink_to(next(good.glob("*.parquet")))
    store = opened(tmp_path / "b")
    assert ids(store) == []
    assert reasons(store)["x.parquet"].startswith("is a symbolic link; only plain files")


def test_a_link_to_a_set_is_refused(tmp_path: Path) -> None:
    good = a_set(tmp_path / "a", [row()])
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "linked").symlink_to(good)
    store = opened(tmp_path / "b")
    assert (ids(store), store.sets) == ([], ())
    assert reasons(store)["linked"].endswith("in EPOCHWISE_FURTHER_RESULTS.")


def test_a_results_folder_may_itself_be_a_link(tmp_path: Path) -> None:
    together(a_set(tmp_path / "real", rows(2)), rows(3, seed=1))
    (tmp_path / "link").symlink_to(tmp_path / "real")
    store = opened(tmp_path / "link")
    assert (len(ids(store)), reasons(store)) == (5, {})
    assert all(store.in_place(sql.WHOLE_ROW, shown, len) == 1 for shown in ids(store))


def test_a_pipe_and_a_socket_are_refused_without_a_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = a_set(tmp_path)
    os.mkfifo(place / "pipe.parquet")
    monkeypatch.chdir(place)  # the name of a socket may not be long
    with socket.socket(socket.AF_UNIX) as plug:
        plug.bind("plug.parquet")
        result = "is not a plain file. Remove it."
        assert reasons(opened(tmp_path)) == {"pipe.parquet": result, "plug.parquet": result}


def test_a_file_outside_a_set_is_refused(tmp_path: Path) -> None:
    place = a_set(tmp_path, [row()])
    path = next(place.glob("*.parquet"))
    path.rename(tmp_path / path.name)
    result = "lies outside a result set. Move it into a folder of its own beside set.toml."
    assert reasons(opened(tmp_path)) == {path.name: result}


def test_a_file_that_may_not_be_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_set(tmp_path, [row()])
    real = os.open

    def denied(path: str | Path, flags: int, *more: int, **options: int) -> int:
        if str(path).endswith(".parquet"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, flags, *more, **options)

    monkeypatch.setattr(os, "open", denied)
    [result] = reasons(opened(tmp_path)).values()
    assert result.startswith("cannot be read ([Errno 13] Permission denied")


@pytest.mark.parametrize("root", [False, True])
def test_a_folder_that_may_not_be_listed_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, root: bool
) -> None:
    closed = tmp_path if root else a_set(tmp_path, [row()])
    real = os.scandir

    def denied(path: str | Path) -> object:
        if str(path) == str(closed):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", denied)
    store = opened(tmp_path)
    why = "cannot be listed (Permission denied), so none of its runs is shown. Allow reading it."
    assert reasons(store)[closed.name] == why
    monkeypatch.undo()
    store.refresh()
    assert reasons(store) == {}


# -- set.toml ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"title = ", "cannot be read ("),
        (b"\xff\xfe", "cannot be read ("),
        (b'title = "x"', "does not say licence, source. Add it."),
        (ABOUT.encode() + b"year = 2026", "has unknown or non-text fields: year. Use title, about"),
        (ABOUT.encode() + b"author = 3", "has unknown or non-text fields: author. Use title,"),
    ],
)
def test_a_bad_set_toml_is_reported_and_the_runs_are_shown(
    tmp_path: Path, text: bytes, reason: str
) -> None:
    place = a_set(tmp_path, [row()])
    (place / "set.toml").write_bytes(text)
    store = opened(tmp_path)
    assert len(ids(store)) == len(store.sets) == 1
    assert reasons(store)["set.toml"].startswith(reason)


def test_a_missing_set_toml_is_reported_and_the_folder_names_the_set(tmp_path: Path) -> None:
    (a_set(tmp_path, [row()], slug="nameless") / "set.toml").unlink()
    store = opened(tmp_path)
    assert [s.title for s in store.sets] == ["nameless"]
    result = "is missing: title, licence and source are not known. Write one."
    assert reasons(store) == {"set.toml": result}


def test_a_pipe_in_place_of_set_toml_costs_no_wait(tmp_path: Path) -> None:
    place = a_set(tmp_path, [row()])
    (place / "set.toml").unlink()
    os.mkfifo(place / "set.toml")
    assert reasons(opened(tmp_path)) == {"set.toml": "is not a plain file. Write one."}


def test_a_mended_set_toml_is_no_longer_refused(tmp_path: Path) -> None:
    place = a_set(tmp_path, [row()])
    (place / "set.toml").write_text("title =", encoding="utf-8")
    store = opened(tmp_path)
    (place / "set.toml").write_text(ABOUT, encoding="utf-8")
    store.refresh()
    assert reasons(store) == {}


# -- the seal ----------------------------------------------------------------------------------


def test_text_that_looks_like_a_seal_is_no_seal(tmp_path: Path) -> None:
    pretender = 'epochwise.seal\x18\x7f{"sha256":"' + "0" * 64
    a_set(tmp_path, [row(note=pretender, model=pretender)])
    store = opened(tmp_path)
    assert (len(ids(store)), reasons(store)) == (1, {})


def test_a_seal_may_not_be_moved_to_another_file(tmp_path: Path) -> None:
    place = a_set(tmp_path, [row()])
    path = next(place.glob("*.parquet"))
    data = path.read_bytes()
    other = sealed_with(row(seed=1))
    mine = data[data.rindex(b'{"sha256":"') :][:75]
    theirs = other[other.rindex(b'{"sha256":"') :][:75]
    path.write_bytes(data.replace(mine, theirs))
    with pytest.raises(SealError, match="its sha256 does not match"):
        check_seal(path)


def test_a_file_that_ends_in_capital_letters_is_listed_with_what_to_do(tmp_path: Path) -> None:
    place = a_set(tmp_path, rows(2))
    one = next(place.glob("*.parquet"))
    one.rename(one.with_suffix(".PARQUET"))
    store = opened(tmp_path)
    assert len(ids(store)) == 1
    [refused] = store.refused
    assert refused.path.endswith(".PARQUET")
    assert refused.reason == "ends in capital letters. Rename it to end in .parquet."
