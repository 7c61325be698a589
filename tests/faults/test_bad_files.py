"""One bad file among many good ones costs its own row, and no other."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planner.runs import table_from_rows
from planner.store import commit_runs
from tests.faults.campaign import DRAW
from tests.faults.outcomes import FULL, Outcome, finish
from tests.faults.writer import case
from tests.store.build import a_set, ids, opened, row, rows, sealed_table, sealed_with

pytestmark = pytest.mark.faults
GOOD: Final = 1000 if FULL else 60
Plant = Callable[[Path, bytes], object]


def _torn(path: Path, whole: bytes) -> None:
    path.write_bytes(whole[: DRAW.randrange(1, len(whole))])


def _flipped(path: Path, whole: bytes) -> None:
    data = bytearray(whole)
    data[DRAW.randrange(len(data))] ^= 1 << DRAW.randrange(8)
    path.write_bytes(data)


def _foreign(path: Path, _: bytes) -> None:
    pq.write_table(pa.table({"epoch": [1, 2]}), path)


def _wrong_columns(path: Path, _: bytes) -> None:
    table = table_from_rows(rows(2))
    renamed = ["network" if c == "model" else c for c in table.column_names]
    path.write_bytes(sealed_table(table.rename_columns(renamed)))


KINDS: Final[dict[str, Plant]] = {
    "torn": _torn,
    "bit flipped": _flipped,
    "empty": lambda path, _: path.touch(),
    "zeros": lambda path, whole: path.write_bytes(bytes(len(whole))),
    "noise": lambda path, whole: path.write_bytes(DRAW.randbytes(len(whole))),
    "foreign parquet": _foreign,
    "wrong columns": _wrong_columns,
    "newer": lambda path, _: path.write_bytes(sealed_with(row(), schema_version=99)),
    "folder": lambda path, _: path.mkdir(),
    "link": lambda path, _: path.symlink_to("/etc/hostname"),
    "pipe": lambda path, _: os.mkfifo(path),
    "link to nothing": lambda path, _: path.symlink_to("nothing"),
    "sealed nonsense": lambda path, _: path.write_bytes(sealed_with(row(), summary={"a": 1})),
}


def test_of_many_good_files_among_fifty_bad_ones_all_are_shown_and_reported(tmp_path: Path) -> None:
    place = a_set(tmp_path)
    done = commit_runs(place, [case("good", n) for n in range(GOOD)])
    whole = done[0].path.read_bytes()
    names = list(KINDS)
    for n in range(50):
        KINDS[names[n % len(names)]](place / f"{DRAW.randrange(16):x} bad {n}.parquet", whole)
    outcome = Outcome(name=f"bad files among {GOOD:,} good ones", cases=50)
    with outcome.step("the first look"):
        store = opened(tmp_path)
    result = store.refused
    outcome.counts |= {"listed with a reason": len(result), "good runs shown": len(ids(store))}
    finish(outcome)
    assert ids(store) == sorted(d.run_id for d in done)
    assert len(result) == 50
    assert all(" bad " in r.path and len(r.reason) > 10 for r in result)
