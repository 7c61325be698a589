"""Files made to harm: each costs its own place in the list, and nothing else."""

from __future__ import annotations

import errno
import io
import os
import random
from itertools import product
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planner.core import limits
from planner.runs import table_from_rows
from planner.store import commit_runs, queries, sql
from planner.store._verify import verify_folder
from planner.store.sealed.accept import accepted
from planner.store.sealed.compact import compact_set
from planner.store.sealed.seal import SealError, seal_bytes
from planner.store.summaries import summaries
from tests.faults.campaign import FULL
from tests.store.build import (
    EPOCHS,
    EVALUATIONS,
    a_set,
    folder,
    ids,
    opened,
    reasons,
    row,
    rows,
    sealed_table,
    together,
)

MUTANTS: Final = 3000 if FULL else 6
CODES: Final = (errno.EIO, errno.EACCES, errno.ESTALE, errno.ELOOP)
READS: Final = (0, 1, 2, 5)
FAILURES: Final = [*product(CODES, READS)] if FULL else [*zip(CODES, READS, strict=True)]
"""What a disk says, and after how many reads."""


def _footer_at(data: bytes) -> int:
    return len(data) - 8 - int.from_bytes(data[-8:-4], "little")


def _many(count: int = 5, **changes: object) -> bytes:
    return sealed_table(table_from_rows(rows(count, epochs=EPOCHS, **changes)))


def _mutant(data: bytes, draw: random.Random) -> bytes | None:
    """The bytes with a few changed, most of them in the footer, sealed again; None if torn."""
    start = _footer_at(data) if draw.random() < 0.8 else 4
    made = bytearray(data)
    for _ in range(draw.choice([1, 1, 2, 5])):
        made[draw.randrange(start, len(made) - 8)] = draw.choice(
            [0, 0x0F, 0xFF, draw.randrange(256)]
        )
    try:
        return seal_bytes(bytes(made))
    except (SealError, ValueError):
        return None


@pytest.mark.parametrize("many", [False, True], ids=["single file", "file of many"])
def test_no_mutant_that_is_sealed_again_stops_a_page_or_a_command(
    tmp_path: Path, *, many: bool
) -> None:
    place = a_set(tmp_path, rows(2, model="good"))
    good = ids(opened(tmp_path))
    whole = _many() if many else sealed_table_of_one()
    bad = place / "mutant.parquet"
    draw = random.Random(20265)  # files of both kinds are refused in it
    shown = refused = 0
    for _ in range(MUTANTS):
        made = _mutant(whole, draw)
        if made is None:
            continue
        bad.write_bytes(made)
        store = opened(tmp_path)
        assert set(good) <= set(ids(store))
        assert [queries.all_columns(store, g)["model"] for g in good] == ["good", "good"]
        verify_folder(folder(tmp_path))
        list(summaries(place))
        shown, refused = shown + (store.refused == ()), refused + bool(store.refused)
    print(f"\n{shown} mutants shown, {refused} refused, 0 stores lost")
    assert refused


def sealed_table_of_one() -> bytes:
    """A file of one run as it is committed."""
    from planner.store.sealed.seal import blank_seal

    table = table_from_rows([row(epochs=EPOCHS, evaluations=EVALUATIONS)])
    return sealed_table(table, blank_seal(table.to_pylist()))


def test_the_first_byte_of_a_footer_takes_no_page_down(tmp_path: Path) -> None:
    place = a_set(tmp_path, rows(2))
    data = bytearray(_many())
    data[_footer_at(bytes(data))] = 0x0F
    (place / "bad.parquet").write_bytes(seal_bytes(bytes(data)))
    store = opened(tmp_path)
    assert len(ids(store)) == 2
    assert reasons(store)["bad.parquet"].startswith("cannot be read (")
    assert [Path(p.path).name for p in verify_folder(folder(tmp_path)).problems] == ["bad.parquet"]
    done = compact_set(place)
    assert (done.runs, len(done.left)) == (2, 1)
    assert (place / "bad.parquet").exists()


@pytest.mark.parametrize(("code", "after"), FAILURES)
def test_a_disk_that_fails_at_any_read_costs_the_file_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, after: int
) -> None:
    place = a_set(tmp_path, rows(2))
    (place / "sick.parquet").write_bytes(_many(model="sick"))
    real = os.fdopen

    class _Sick(io.BufferedReader):
        left = after

        def read(self, size: int | None = -1, /) -> bytes:
            self.left -= 1
            if self.left < 0:
                raise OSError(code, os.strerror(code))
            return super().read(size)

    def fdopen(handle: int, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - as os
        if Path(f"/proc/self/fd/{handle}").readlink().name == "sick.parquet":
            return _Sick(io.FileIO(handle))
        return real(handle, *arguments, **options)

    monkeypatch.setattr(os, "fdopen", fdopen)
    store = opened(tmp_path)
    assert len(ids(store)) == 2
    assert reasons(store)["sick.parquet"].startswith("cannot be read")


# -- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["c*.parquet", "?.parquet", "[a-z]*.parquet", "**.parquet",
                                  "\\*.parquet", "c[!x]vil.parquet"])  # fmt: skip
def test_a_name_that_fits_other_names_loads_no_other_file(tmp_path: Path, name: str) -> None:
    place = a_set(tmp_path, rows(2))
    (place / name).write_bytes(_many(3))
    evil = rows(3, later_epoch_mean_s=5.0, epochs_measured=3, model="evil")
    pq.write_table(table_from_rows(evil),
                   place / "cevil.parquet")  # fmt: skip
    store = opened(tmp_path)
    assert store.rows("SELECT DISTINCT model FROM runs") == [("ResNet-50",)]
    assert set(reasons(store)) == {name, "cevil.parquet"}
    assert "Rename it." in reasons(store)[name]
    assert name in {Path(p.path).name for p in verify_folder(folder(tmp_path)).problems}


@pytest.mark.parametrize("odd", ["s*", "[st]et", "a[1]*?", "**"])
def test_a_folder_whose_name_fits_others_shows_its_own_runs_only(tmp_path: Path, odd: str) -> None:
    root = tmp_path / f"root {odd}"
    for slug, model in ((odd, "mine"), ("set", "other"), ("sxx", "other"), ("a1xx", "other")):
        place = a_set(root, slug=slug)
        together(place, rows(2, model=model, result_set=slug, evaluations=EVALUATIONS))
    other = tmp_path / "root sxx"
    together(a_set(other, slug=odd), rows(2, model="beyond", evaluations=EVALUATIONS))
    store = opened(root)
    assert (len(ids(store)), store.refused) == (8, ())
    for shown in ids(store):
        [kept] = store.in_place(sql.WHOLE_ROW, shown, pa.Table.to_pylist)
        assert kept["run_id"] == shown
        assert kept["evaluations"] == EVALUATIONS
        assert kept["model"] != "beyond"


# -- sizes ---------------------------------------------------------------------------------------


def test_a_sparse_giant_is_refused_by_its_size_without_being_read(tmp_path: Path) -> None:
    place = a_set(tmp_path, rows(2))
    whole = _many()
    with (place / "giant.parquet").open("wb") as file:
        file.truncate(limits.MAX_FILE_BYTES + 1 - len(whole))
        file.seek(0, os.SEEK_END)
        file.write(whole)
    assert (place / "giant.parquet").stat().st_blocks < 10_000
    store = opened(tmp_path)
    assert len(ids(store)) == 2
    assert f"a file may have {limits.MAX_FILE_BYTES:,}" in reasons(store)["giant.parquet"]


def test_a_footer_that_says_it_is_huge_is_refused_unread(tmp_path: Path) -> None:
    place = a_set(tmp_path, rows(2))
    with (place / "footer.parquet").open("wb") as file:
        file.write(b"PAR1")
        file.truncate(limits.MAX_FOOTER_BYTES + 1024)
        file.seek(0, os.SEEK_END)
        file.write((limits.MAX_FOOTER_BYTES + 1).to_bytes(4, "little") + b"PAR1")
    result = reasons(opened(tmp_path))["footer.parquet"]
    assert f"at most {limits.MAX_FOOTER_BYTES:,} are read" in result


@pytest.mark.parametrize("count", [4, limits.MAX_FILE_RUNS + 1])
def test_rows_are_counted_before_they_are_loaded(tmp_path: Path, count: int) -> None:
    from planner.store.sealed.seal import blank_seal

    place = a_set(tmp_path, rows(2))
    bad = place / "rows.parquet"
    bad.write_bytes(sealed_table(table_from_rows(rows(3, seed=1)), blank_seal(count)))
    assert isinstance(accepted(str(bad)), str)
    assert len(ids(opened(tmp_path))) == 2


def test_a_file_of_more_rows_than_its_seal_says_is_not_loaded(tmp_path: Path) -> None:
    from planner.store.sealed.seal import blank_seal

    place = a_set(tmp_path, rows(2))
    nulls = {f.name: pa.nulls(200_000, f.type) for f in table_from_rows([row()]).schema}
    (place / "many.parquet").write_bytes(sealed_table(pa.table(nulls), blank_seal(3)))
    result = reasons(opened(tmp_path))["many.parquet"]
    assert result.startswith("says 3 runs but holds 200,000")


def test_thousands_of_empty_row_groups_are_refused(tmp_path: Path) -> None:
    from planner.store.sealed.seal import KEY, blank_seal

    place = a_set(tmp_path, rows(2))
    table, sink = pa.table({"run_id": ["x"]}), io.BytesIO()
    with pq.ParquetWriter(sink, table.schema) as writer:
        for _ in range(limits.MAX_ROW_GROUPS + 1):
            writer.write_table(table.slice(0, 0), row_group_size=1)
        writer.add_key_value_metadata({KEY.decode(): blank_seal(3)})
    (place / "groups.parquet").write_bytes(seal_bytes(sink.getvalue()))
    assert "row groups" in reasons(opened(tmp_path))["groups.parquet"]


def test_a_long_reason_is_cut(tmp_path: Path) -> None:
    place = a_set(tmp_path, rows(2))
    table = table_from_rows(rows(3)).rename_columns(
        [n if n != "model" else "x" * 60_000 for n in table_from_rows([row()]).column_names]
    )
    (place / "wide.parquet").write_bytes(sealed_table(table))
    assert len(reasons(opened(tmp_path))["wide.parquet"]) <= limits.MAX_REASON


def test_a_file_that_became_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.parquet")
    (tmp_path / "link.parquet").symlink_to("/etc/hostname")
    assert accepted(str(tmp_path / "pipe.parquet")) == "is not a plain file. Remove it."
    assert str(accepted(str(tmp_path / "link.parquet"))).startswith("cannot be read")


def test_of_two_sets_a_bad_file_costs_neither(tmp_path: Path) -> None:
    for slug in ("a", "b"):
        commit_runs(a_set(tmp_path, slug=slug), rows(2, result_set=slug))
    (tmp_path / "a" / "x.parquet").write_bytes(b"PAR1" + bytes(100) + b"PAR1")
    assert len(ids(opened(tmp_path))) == 4
