"""Files of strangers are read in a process apart, under limits that hold while it reads."""

from __future__ import annotations

import functools
import gzip
import io
import json
import os
import re
import resource
import struct
import time
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planner.importers import SOURCES, SourceError, SourceFiles, Stated, read, rows_of
from planner.importers._apart import Reader
from planner.importers._child import SECONDS
from planner.importers.formats.logs import tensorboard_events
from tests.each import each
from tests.faults.outcomes import FULL, Outcome, finish

MB = 1_000_000
FACTS: dict[str, Any] = {
    "model": "M", "system_name": "S", "device_kind": "gpu", "global_batch_size": 64,
    "samples_per_epoch": 50_000,
}  # fmt: skip
SOON_S = 2.0
"""Longest time to the refusal of a bomb on a machine with a processor to spare [s]."""


def parquet(table: pa.Table, **how: Any) -> bytes:  # noqa: ANN401 - options of pyarrow
    sink = io.BytesIO()
    pq.write_table(table, sink, **how)
    return sink.getvalue()


def many_rows(at_once: int = 1_000_000, **how: Any) -> bytes:  # noqa: ANN401 - of pyarrow
    indices = pa.array(np.zeros(at_once, np.int8))
    table = pa.table({"model": pa.DictionaryArray.from_arrays(indices, ["a"])})
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, table.schema, compression="zstd", **how) as writer:
        for _ in range(100_000_000 // at_once):
            writer.write_table(table, row_group_size=at_once)
    return sink.getvalue()


def long_texts() -> bytes:
    text = "a" * 5_000_000
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 1_000_000, pa.int32()), [text])
    return parquet(pa.table({"model": column}), compression="zstd", store_schema=False)


def gzip_1000() -> bytes:
    return parquet(
        pa.table({"model": ["a" * 50_000_000] * 2}), compression="gzip", use_dictionary=False
    )


def _one_event(summary: bytes) -> bytes:
    """An event file with one event of this summary."""
    size, length = len(summary), b""
    while size > 127:
        length += bytes([size & 127 | 128])
        size >>= 7
    body = b"\x2a" + length + bytes([size]) + summary
    return struct.pack("<QI", len(body), 0) + body + bytes(4)


BOMBS: dict[str, tuple[str, str, Callable[[], bytes]]] = {
    "1e8 rows": ("template", "a.parquet", many_rows),
    "1e8 rows in 10 pages": (
        "template",
        "a.parquet",
        lambda: many_rows(10_000_000, max_rows_per_page=10**9, store_schema=False),
    ),
    "5 TB of texts": ("template", "a.parquet", long_texts),
    "gzip 1000:1": ("template", "a.parquet", gzip_1000),
    "deep JSON": ("keras-history", "a.json", lambda: b"[" * 2_000_000 + b"]" * 2_000_000),
    "long number": ("keras-history", "a.json", lambda: b'{"a":[' + b"9" * 4_000_000 + b"]}"),
    "wide CSV": ("template", "a.csv", lambda: b",".join(b"a%d" % i for i in range(600_000))),
    "rows of nothing": ("template", "a.csv", lambda: b"model\n" + b"a\n" * 2_400_000),
    "one cell": ("template", "a.csv", lambda: b"model\n" + b"a" * 4_900_000),
    "fields of nothing": ("tensorboard", "a", lambda: b"\xff\xff\x0f" + b"\0" * 49_000_000),
    "fields of zero": (
        "tensorboard",
        "a",
        lambda: struct.pack("<QI", 49_999_984, 0) + b"\x08\0" * 24_999_994,
    ),
    "values of nothing": ("tensorboard", "a", lambda: _one_event(b"\x0a\0" * 99_000) * 252),
    "events of nothing": ("tensorboard", "a", lambda: b"\0" * 49_999_984),
    "marks of nothing": ("mlperf", "result_0.txt", lambda: b":::MLLOG {" * 400_000),
    "columns of nothing": (
        "keras-history",
        "a.json",
        lambda: json.dumps({f"k{i}": [1] for i in range(300_000)}).encode(),
    ),
    "values of a point": (
        "mlperf-rcp",
        "rcps_a.json",
        lambda: b'{"p": {"BS": 8, "epochs to converge": [' + b"4," * 2_000_000 + b"4]}}",
    ),
    "cells of a table": (
        "lambda",
        "a.csv",
        lambda: (
            b",".join([b"name_gpu,num_gpu", *(b"m%d_fp16" % i for i in range(60))])
            + (b"\nA,1" + b",9" * 60) * 39_000
        ),
    ),
    "one name": (
        "dawnbench",
        "a.json",
        lambda: json.dumps({"model": "a" * 4_900_000, "hardware": "V100"}).encode(),
    ),
    "lines of nothing": ("template", "a.csv", lambda: b"model\n" + b"\n" * 4_900_000),
}

SAMPLE = ("5 TB of texts", "deep JSON", "rows of nothing")
"""Bombs of each kind of file; `make faults` takes all."""


@pytest.mark.faults
def test_a_bomb_is_refused_soon_and_this_process_stays_small() -> None:
    outcome, most_mb = Outcome(name="bombs in uploads"), 0.0
    bombs = BOMBS if FULL else {name: BOMBS[name] for name in SAMPLE}
    files = {name: make() for name, (_, _, make) in bombs.items()}
    read_one(SourceFiles(name="a.csv", data={"a.csv": b"model,system_name\nB,C\n"}))  # warm
    for name, (source, file, _) in bombs.items():
        given = SourceFiles(name=file, data={file: files[name]})
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began_s = time.perf_counter()
        with outcome.case(name), pytest.raises(SourceError):
            read(source, given, Stated(), "mine")
        took_s = time.perf_counter() - began_s
        grown_mb = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1_024 / MB
        most_mb = max(most_mb, grown_mb)
        print(f"{name}: {len(files[name]):,} bytes, {took_s:.2f} s, {grown_mb:.0f} MB more")
        outcome.counts["refused"] += 1
        if grown_mb >= 50:
            outcome.broken(f"{name}: this process grew by {grown_mb:.0f} MB")
        if took_s >= SOON_S and os.getloadavg()[0] < (os.cpu_count() or 1):
            outcome.broken(f"{name}: refused after {took_s:.1f} s")
    outcome.counts["MB more in the server at most"] = round(most_mb)
    finish(outcome)


def test_the_fields_of_all_events_of_a_file_count_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tensorboard_events, "_MOST_FIELDS", 10)
    for events in (2, 3):
        data = _one_event(b"\x10\x01" * 4) * events
        given = SourceFiles(name="a", data={"a": data})
        if events == 2:
            opened, scalars = tensorboard_events._scalars(given, data)
            assert (opened.wall_s, scalars) == (0.0, [])
        else:
            with pytest.raises(ValueError, match="more than 10 fields"):
                tensorboard_events._scalars(given, data)


def read_one(given: SourceFiles) -> list[dict[str, Any]]:
    return read("template", given, Stated(facts={"device_kind": "gpu"}), "mine")


SMALL = (
    b"", b"\0", b"\xef\xbb\xbf", b"\xff\xfe\xfa", b"\n", b"\t\t\n\t\n", b'"', b"model\n",
    b"a,b\n1,2\n", b"{}", b"[]", b"null", b"1", b'"x"', b"NaN", b"9" * 5_000, b'{"a":"\\ud800"}',
    b'{"a":{"b":[{"c":null}]}}', b'{"accuracy":[1,2],"loss":{}}',
    b'{"log_history":[{"epoch":null},5,[]],"epoch":"x"}',
    b'{"train":null,"config":[],"scenario":{"x":1}}',
    b"a: &a [*a]\n", b"- !!python/object/apply:os.system ['x']\n",
    b":::MLLOG {}\n", b":::MLLOG 5\n", b':::MLLOG {"key":null,"time_ms":"x","metadata":1}\n',
)  # fmt: skip
NAMES = (
    "a.csv",
    "a.tsv",
    "a.json",
    "a.yaml",
    "a.parquet",
    "a.log",
    "events.out.tfevents.1",
    "a.dat",
)


@pytest.mark.parametrize("source", SOURCES)
def test_a_small_or_empty_file_is_refused_by_every_source_with_its_problems(source: str) -> None:
    stated = Stated(facts=FACTS)
    for name in NAMES:
        for data in SMALL:
            with pytest.raises(SourceError) as caught:
                rows_of(source, SourceFiles(name=name, data={name: data}), stated, "mine")
            assert all(problem.strip() for problem in caught.value.problems)


def test_rows_behind_empty_lines_are_read_or_refused_with_the_others() -> None:
    """Empty lines are no rows, so the limit does not cut off what follows them."""
    head, empty = b"model,system_name\n", b"\n" * 99_999
    files = {"few": head + b"A,C\n" + empty + b"B,C\n", "many": head + empty + b"A,C\n" * 100_001}
    few, many = (SourceFiles(name="a.csv", data={"a.csv": files[name]}) for name in files)
    assert [row["model"] for row in read_one(few)] == ["A", "B"]
    with pytest.raises(SourceError, match="more than 100,000 rows"):
        read_one(many)


def test_a_reader_that_hangs_is_ended_and_the_next_file_is_read() -> None:
    reader = Reader()
    given = SourceFiles(name="a.csv", data={"a.csv": b"model,system_name\nB,C\n"})
    stated = Stated(facts={"device_kind": "gpu"})
    assert len(reader.read("template", given, stated, "mine")) == 1
    process = reader._process
    assert process is not None
    os.kill(process.pid, 9)
    process.wait()
    assert len(reader.read("template", given, stated, "mine")) == 1
    reader.end()
    assert SECONDS < 8


@each(
    "cell",
    ["9007199254740993.0", "1e30", "1_000", "0x10", "8.5", "99999999999999999999", "nan", "²"],
)
def test_a_whole_number_is_taken_to_its_last_digit_or_refused(cell: str) -> None:
    table = f"model,system_name,seed\nB,C,{cell}\n".encode()
    with pytest.raises(SourceError) as caught:
        read_one(SourceFiles(name="a.csv", data={"a.csv": table}))
    assert caught.value.problems == (f"line 2, seed: is {cell!r}; it must be a whole number.",)


@pytest.mark.parametrize(
    ("cell", "seed"),
    [("9007199254740993", 9007199254740993), ("1e3", 1000), ("8.0", 8), ("+8", 8), ("-0", 0)],
)
def test_a_whole_number_is_the_one_of_the_cell(cell: str, seed: int) -> None:
    table = f"model,system_name,seed\nB,C,{cell}\n".encode()
    [row] = read_one(SourceFiles(name="a.csv", data={"a.csv": table}))
    assert row["seed"] == seed
    column = parquet(pa.table({"model": ["B"], "system_name": ["C"], "seed": [seed]}))
    [row] = read_one(SourceFiles(name="a.parquet", data={"a.parquet": column}))
    assert row["seed"] == seed


@each("cell", ["1e-400", "0.0e0001e", "1_0.5", "-1E-999", "1e309", "1,5"])
def test_a_number_that_a_float_cannot_hold_is_refused(cell: str) -> None:
    table = f'model,system_name,first_epoch_s\nB,C,"{cell}"\n'.encode()
    with pytest.raises(SourceError) as caught:
        read_one(SourceFiles(name="a.csv", data={"a.csv": table}))
    assert caught.value.problems == (f"line 2, first_epoch_s: is {cell!r}; it must be a number.",)


def test_a_parquet_file_with_two_columns_of_a_name_says_so() -> None:
    table = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["model", "model"])
    with pytest.raises(SourceError) as caught:
        read_one(SourceFiles(name="a.parquet", data={"a.parquet": parquet(table)}))
    assert caught.value.problems == ("columns occur twice: model. Rename one.",)


def zipped(data: bytes) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a.csv", data)
    return sink.getvalue()


ARCHIVES: dict[str, Callable[[], bytes]] = {
    "zip bomb": lambda: zipped(b"model\n" + b"a" * 40 * MB),
    "zip, cut": lambda: zipped(b"model\na\n")[:60],
    "gzip bomb": lambda: gzip.compress(b"\0" * 40 * MB),
    "gzip, cut": lambda: gzip.compress(b"model\n")[:12],
}


@functools.cache
def archive(name: str) -> bytes:
    """Pack it where it is read: each worker would pack all as it collects the tests."""
    return ARCHIVES[name]()


@pytest.mark.parametrize("source", ["template", "keras-history", "step-log", "tf-benchmarks"])
@pytest.mark.parametrize("name", ARCHIVES)
def test_archives_whole_cut_or_bombs_are_named_and_never_unpacked(source: str, name: str) -> None:
    options = {"step-log": {"pattern": r"(?P<step_s>\d+)", "unit": "s"}}.get(source, {})
    given = SourceFiles(name="a.csv", data={"a.csv": archive(name)})
    with pytest.raises(SourceError) as caught:
        read(source, given, Stated(options=options), "mine")
    text = f"it is packed as {re.split('[ ,]', name)[0]}. Unpack it and give its files."
    assert text in " ".join(caught.value.problems)
