"""Files of strangers: damaged ones, hostile names, pickles that are programs, formulas in cells."""

from __future__ import annotations

import csv
import io
import json
import os
import pickle
import re
import struct
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planner.core.slugs import folder_slug
from planner.importers import SourceError, SourceFiles, Stated, commit, preview, read, rows_of
from planner.importers.formats.logs.tensorboard_events import _checksum
from planner.runs import RecordError
from planner.store import CommitError
from planner.store.exchange import set_zip
from tests.faults.hostile import TEXTS
from tests.faults.mutants import unsealed
from tests.faults.outcomes import FULL, Outcome, drawn, finish
from tests.store.build import a_set, opened, row

pytestmark = pytest.mark.faults
MUTANTS: Final = 10_000 if FULL else 60
NAMES: Final = 500 if FULL else 12
GADGETS: Final = 200 if FULL else 10
FORMULAS: Final = 30
FACTS: Final[Mapping[str, Any]] = {
    "model": "M", "system_name": "S", "device_kind": "gpu", "global_batch_size": 64,
    "samples_per_epoch": 50_000,
}  # fmt: skip
SPEEDS: Final = (123.4375, 246.875, 493.75, 987.5)


def _csv() -> bytes:
    head = "model,system_name,device_kind,global_batch_size,throughput\n"
    return (head + "".join(f"A,H100,gpu,{2**i},{s}\n" for i, s in enumerate(SPEEDS, 5))).encode()


def _parquet() -> bytes:
    columns = {
        "model": ["A"] * 4, "system_name": ["H100"] * 4, "device_kind": ["gpu"] * 4,
        "global_batch_size": [32, 64, 128, 256], "throughput": list(SPEEDS),
    }  # fmt: skip
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink, write_page_checksum=True, use_dictionary=False)
    return sink.getvalue()


def _json() -> bytes:
    return json.dumps({"loss": [2.0, 1.5, 1.25], "seconds": [61.5, 50.25, 52.75]}).encode()


def _yaml() -> bytes:
    lines = (f"  - {{batch_size: {2**i}, cpu: 8, memory: 99 MiB, perf: {s}}}\n"
             for i, s in enumerate(SPEEDS, 5))  # fmt: skip
    return ("bert-fp16:\n  observations:\n" + "".join(lines)).encode()


def _events() -> bytes:
    def event(wall_s: float, step: int, tag: str) -> bytes:
        value = b"\x0a" + bytes([len(tag)]) + tag.encode() + b"\x15" + struct.pack("<f", 0.5)
        inner = b"\x0a" + bytes([len(value)]) + value
        body = b"\x09" + struct.pack("<d", wall_s) + b"\x10" + bytes([step])
        body += b"\x2a" + bytes([len(inner)]) + inner
        return struct.pack("<QI", len(body), 0) + body + struct.pack("<I", _checksum(body))

    later = (event(1_000.0 + 50.0 * i, i, "epoch_loss") for i in range(6))
    return event(940.0, 0, "other") + b"".join(later)


FILES: Final[Mapping[str, tuple[str, Callable[[], bytes], Mapping[str, str]]]] = {
    "a.csv": ("template", _csv, {}),
    "a.parquet": ("template", _parquet, {}),
    "a.json": ("keras-history", _json, {"time": "seconds:s"}),
    "a.yaml": ("milabench", _yaml, {"items": "samples"}),
    "events.out.tfevents.1": ("tensorboard", _events, {}),
}
"""A sound file of each format: source, bytes, options."""
_NUMBER: Final = re.compile(rb"[-+]?(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][-+]?\d+)?")
_MEASURED: Final = ("throughput", "first_epoch_s", "later_epoch_mean_s")


def _stated(options: Mapping[str, str], source: str) -> Stated:
    lacks = {"template": (), "milabench": ("system_name", "device_kind")}.get(source, tuple(FACTS))
    facts = {name: FACTS[name] for name in lacks}
    return Stated(facts=facts, options=dict(options))


def _numbers(rows: list[dict[str, Any]]) -> list[tuple[float, ...]]:
    return [tuple(r[n] for n in _MEASURED if r.get(n) is not None) for r in rows]


def _in_text(rows: list[dict[str, Any]], data: bytes) -> bool:
    """Whether every speed and first epoch stands in the file as it is written there."""
    there = {float(n) for n in _NUMBER.findall(data) if n.count(b"_") == 0}
    stated = [r.get(n) for r in rows for n in ("throughput", "first_epoch_s")]
    return all(value in there for value in stated if value is not None)


def test_a_damaged_file_is_refused_or_read_as_it_stands(tmp_path: Path) -> None:
    outcome = Outcome(name="damaged uploads")
    sound = {}
    for name, (source, make, options) in FILES.items():
        given = SourceFiles(name=name, data={name: make()})
        sound[name] = _numbers(read(source, given, _stated(options, source), "mine"))
        assert sound[name], name
    folder = tmp_path / "mine"
    for number in range(MUTANTS):
        draw = drawn(outcome.name, number)
        name = draw.choice(tuple(FILES))
        source, make, options = FILES[name]
        kind, data = unsealed(draw, make())
        given = SourceFiles(name=name, data={name: data})
        with outcome.case(f"{name} {number} {kind}"):
            try:
                rows = read(source, given, _stated(options, source), "mine")
            except SourceError as error:
                said = bool(error.problems)
                outcome.counts["refused" if said else "refused without a word"] += 1
                continue
            same = _numbers(rows) == sound[name]
            outcome.counts["read with its numbers" if same else "read as it stands"] += 1
            is_text = name.endswith((".csv", ".json", ".yaml"))
            stands = _in_text(rows, data) if is_text else _is_part(rows, sound, name)
            if not same and not stands:
                outcome.differs(f"{name} {number} {kind}: {_numbers(rows)}")
            if number % (200 if FULL else 20) == 0:
                _whole_or_nothing(outcome, folder, rows)
    finish(outcome)


def _is_part(rows: list[dict[str, Any]], sound: Mapping[str, Any], name: str) -> bool:
    """Whether a binary file lost rows only: no number is another one."""
    if name.startswith("events"):
        return all(r["later_epoch_mean_s"] == 50.0 for r in rows)
    return all(numbers in [*sound[name], ()] for numbers in _numbers(rows))


def _whole_or_nothing(outcome: Outcome, folder: Path, rows: list[dict[str, Any]]) -> None:
    """Commit, and see all rows or none."""
    before = {p.name for p in folder.glob("*")}
    rows = [r | {"licence": "CC0"} for r in rows]
    shown = preview(folder, rows)
    try:
        done = commit(folder, rows, {"title": "Mine", "licence": "CC0", "source": "a test"})
    except (RecordError, CommitError, SourceError):
        if {p.name for p in folder.glob("*")} != before or not shown.problems:
            outcome.differs("a refused file left something, or was previewed as sound")
        return
    if shown.problems or (shown.new, len(shown.duplicates)) != (done.new, done.duplicates):
        outcome.differs(f"the preview says {shown.new}, the commit {done.new}")


# -- names ----------------------------------------------------------------------------------------


def _name(draw: Random) -> str:
    parts = (
        "../", "..\\", "/", "%2e%2e/", "#", "\0", "\\\\host\\share\\", "\u202e", "a" * 300, "CON",
        ".", "..", "~", "$HOME", "`id`", ";", "\n", "é", "猫", "set.toml", ".parquet", " ", "*",
    )  # fmt: skip
    made = "".join(draw.choice(parts) for _ in range(draw.choice((1, 2, 4, 14))))
    return draw.choice((made, draw.choice(TEXTS), made + "x" * 4_000))


def test_no_name_leads_outside_the_folder_of_results(tmp_path: Path) -> None:
    outcome = Outcome(name="hostile names of files and sets")
    own = tmp_path / "deep" / "er" / "results"
    for number in range(NAMES):
        draw = drawn(outcome.name, number)
        file, named = _name(draw), _name(draw)
        with outcome.case(f"{file[:60]!r} {named[:60]!r}"):
            given = SourceFiles(name=file, data={file: _csv()})
            try:
                rows = read("template", given, Stated(), named)
                folder = own / folder_slug(named)
                commit(folder, rows, {"title": named, "licence": "CC0", "source": file})
            except (SourceError, RecordError, CommitError):
                outcome.counts["refused"] += 1
                continue
            outcome.counts["kept inside"] += 1
    strays = [
        p for p in tmp_path.rglob("*")
        if p.is_file() and (own not in p.parents or len(p.relative_to(own).parts) != 2)
    ]  # fmt: skip
    if strays:
        outcome.differs(f"written outside: {strays[:3]}", len(strays))
    finish(outcome)


# -- pickles --------------------------------------------------------------------------------------


class _Gadget:
    """Pickled as a call of any function."""

    def __init__(self, function: object, arguments: tuple[object, ...]) -> None:
        self._call = function, arguments

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        """Return what a reader would call."""
        return self._call


def _named(module: str, name: str, argument: str) -> bytes:
    """A pickle of protocol 0 that calls a function by its name."""
    return f"c{module}\n{name}\n(S{argument!r}\ntR.".encode()


def _gadget(draw: Random, mark: Path) -> bytes:
    touch = f"open({str(mark)!r}, 'w')"
    calls = (
        ("os", "system", f"touch {mark}"), ("posix", "system", f"touch {mark}"),
        ("nt", "system", f"echo > {mark}"), ("subprocess", "getoutput", f"touch {mark}"),
        ("subprocess", "check_output", f"touch {mark}"), ("builtins", "eval", touch),
        ("builtins", "exec", touch), ("__builtin__", "eval", touch),
        ("builtins", "open", str(mark)),
        ("io", "open", str(mark)), ("pathlib", "Path.touch", str(mark)), ("os", "mkdir", str(mark)),
        ("runpy", "run_path", str(mark)), ("webbrowser", "open", "http://127.0.0.1:1/"),
        ("numpy", "load", str(mark)), ("numpy.core.multiarray", "fromfile", str(mark)),
        ("numpy", "dtype.__init__", touch), ("numpy.core.multiarray", "scalar.__class__", touch),
        ("timeit", "timeit", touch), ("pickle", "loads", touch), ("codecs", "encode", touch),
        ("planner.store.sealed.result_set", "withdraw", str(mark)),
    )  # fmt: skip
    data = _named(*draw.choice(calls))
    match draw.randrange(5):
        case 0:  # inside a list of trials
            return b"(lp0\n" + data[:-1] + b"a."
        case 1:  # a later protocol
            return pickle.dumps([_Gadget(os.system, (f"touch {mark}",))], draw.choice((2, 3, 4, 5)))
        case 2:  # by the stack: a name that is put together
            module, name, argument = draw.choice(calls)
            texts = b"".join(b"\x8c" + bytes([len(t)]) + t.encode() for t in (module, name))
            return b"\x80\x04" + texts + b"\x93" + f"(S{argument!r}\ntR.".encode()
        case 3:  # build, with a state of strings
            return data[:-1] + b"}S'__setstate__'\nS'x'\nsb."
        case _:
            return data


def test_no_pickle_runs_anything(tmp_path: Path) -> None:
    outcome = Outcome(name="pickles that are programs")
    for number in range(GADGETS):
        draw = drawn(outcome.name, number)
        mark = tmp_path / f"mark-{number}"
        given = SourceFiles(name="a.dat", data={"a.dat": _gadget(draw, mark)})
        with outcome.case(f"gadget {number}"):
            for reading in (rows_of, read):  # without and with the limits of the system
                with pytest.raises(SourceError):
                    reading("koshian2", given, Stated(), "mine")
            outcome.counts["refused"] += 1
        if mark.exists():
            outcome.differs(f"gadget {number} ran")
    finish(outcome)


# -- formulas -------------------------------------------------------------------------------------


def test_no_exported_cell_is_a_formula(tmp_path: Path) -> None:
    outcome = Outcome(name="formulas in exported cells")
    starts = ("=", "+", "-", "@", "\t=", "\r=", "=\n")
    payloads = [f"{start}cmd|' /C calc'!A{i}" for i in range(5) for start in starts][:FORMULAS]
    a_set(tmp_path, [row(note=text, repeat=i) for i, text in enumerate(payloads)])
    store = opened(tmp_path)
    with zipfile.ZipFile(io.BytesIO(set_zip(store, store.sets[0]))) as archive:
        text = archive.read("mine/runs.csv").decode()
    for line in csv.DictReader(io.StringIO(text, newline="")):
        with outcome.case(line["note"][:20]):
            outcome.counts["escaped"] += 1
            if line["note"].startswith(("=", "+", "-", "@", "\t", "\r")):
                outcome.differs(line["note"])
    assert outcome.cases == FORMULAS
    finish(outcome)
