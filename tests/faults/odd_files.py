"""Odd things in a folder of results: pipes, links, strange names, bombs, and files that lie."""

from __future__ import annotations

import contextlib
import io
import json
import os
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from planner.runs import ARROW_SCHEMA, table_from_rows
from planner.runs._records import complete
from planner.store.sealed.seal import KEY, blank_seal, seal_bytes
from tests.store.build import ABOUT, row, rows, sealed_table, sealed_with

Plant = Callable[[Path, bytes], None]
"""Put the odd thing into a result set's folder; the bytes are a sound file of one run."""
MILLION: Final = 1_000_000
FOOTER: Final = 3_000_000_000
"""Length [bytes] that a footer pretends to have."""


def _socket(place: Path, _: bytes) -> None:
    here = os.open(place, os.O_RDONLY)
    try:
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as one:
            one.bind(f"/proc/self/fd/{here}/socket.parquet")  # a path of a socket is 107 bytes long
    finally:
        os.close(here)


def _loop(place: Path, _: bytes) -> None:
    (place / "a.parquet").symlink_to("b.parquet")
    (place / "b.parquet").symlink_to("a.parquet")


def _linked_set(place: Path, whole: bytes) -> None:
    elsewhere = place.parent.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "run.parquet").write_bytes(whole)
    (place.parent / "linked").symlink_to(elsewhere)


def _folders(place: Path, _: bytes) -> None:
    for n in range(50):
        (place / f"{n}.parquet").mkdir()
    (place.joinpath(*("deep" for _ in range(60)))).mkdir(parents=True)
    (place.parent / "set.parquet").mkdir()


def _names(place: Path, whole: bytes) -> None:
    for n, name in enumerate(
        ("a\nb", "a'b", 'a"b', "a;b", "a\\b", "\u202ea", "<b>", "x" * 240, " ", "-rf", "a\tb",
         "..", "~", "$HOME", "a?b=c#d", "日本", "%00", "a.parquet", "\x1b[31m")
    ):  # fmt: skip
        (place / f"{name} {n}.parquet").write_bytes(whole[: 100 + n])


def _not_utf8(place: Path, whole: bytes) -> None:
    folder = os.fsencode(place)
    for name in (b"\xff\xfe.parquet", b"caf\xe9.parquet", b"\xed\xa0\x80.parquet"):
        handle = os.open(folder + b"/" + name, os.O_WRONLY | os.O_CREAT)
        os.write(handle, whole)
        os.close(handle)
    other = os.fsencode(place.parent) + b"/set \xff"
    Path(os.fsdecode(other)).mkdir()
    handle = os.open(other + b"/run.parquet", os.O_WRONLY | os.O_CREAT)
    os.write(handle, whole)
    os.close(handle)


def _globs(place: Path, _: bytes) -> None:
    """A sealed file whose name means its unsealed neighbour too."""
    good = [row(result_set="odd", model="Odd net", repeat=n) for n in range(2)]
    evil = table_from_rows([row(result_set="odd", model="Evil net", repeat=n) for n in range(3)])
    for n, name in enumerate(("c*", "c?vil", "c[e]vil", "c{evil,x}", "**")):
        table = table_from_rows([one | {"repeat": 10 * n + i} for i, one in enumerate(good)])
        (place / f"{name}.parquet").write_bytes(sealed_table(table))
    pq.write_table(evil, place / "cevil.parquet")


def _deep_seal(place: Path, _: bytes) -> None:
    """Seals with JSON that no parser should follow to its end."""
    body = json.loads(blank_seal([complete(row())]))
    for n, deep in enumerate(
        ("[" * 100_000 + "]" * 100_000, '{"a":' * 50_000 + "1" + "}" * 50_000)
    ):
        text = json.dumps(body, separators=(",", ":"))[:-1] + f',"deep":{deep}}}'
        (place / f"deep {n}.parquet").write_bytes(sealed_table(table_from_rows([row()]), text))
    for n, (name, value) in enumerate(
        [("extra", '{"a":' * 20_000 + "1" + "}" * 20_000), ("model", 7), ("repeat", 10**400),
         ("recorded_at", 10**30), ("run_id", None), ("epochs_measured", "many")]
    ):  # fmt: skip
        summary = body["summary"] | {name: value}
        data = sealed_with(row(), summary=summary)
        (place / f"summary {n}.parquet").write_bytes(data)


def _wide(place: Path, _: bytes) -> None:
    for n, name in enumerate(("c", "c" * 100)):
        table = pa.table({f"{name}{i}": pa.array([i], pa.int32()) for i in range(10_000)})
        (place / f"wide {n}.parquet").write_bytes(sealed_table(table, blank_seal(2)))
    known = {c: table_from_rows(rows(2))[c] for c in ARROW_SCHEMA.names}
    more = {f"more{i}": pa.array([i, i], pa.int32()) for i in range(5000)}
    (place / "wider.parquet").write_bytes(sealed_table(pa.table(known | more), blank_seal(2)))


def _many_rows(place: Path, _: bytes) -> None:
    """Two runs by their bytes, twenty million by the footer and the seal."""
    data = sealed_table(table_from_rows(rows(2)), blank_seal(20 * MILLION))
    length = int.from_bytes(data[-8:-4], "little")
    start = len(data) - 8 - length
    footer = data[start:-8]
    # Thrift's compact protocol: 0x16 an i64, 0x04 is 2 in zigzag, 0x19 the list of row groups.
    lying = footer.replace(b"\x16\x04\x19", b"\x16" + _varint(2 * 20 * MILLION) + b"\x19", 1)
    assert lying != footer
    tail = len(lying).to_bytes(4, "little") + b"PAR1"
    (place / "many.parquet").write_bytes(seal_bytes(data[:start] + lying + tail))
    (place / "seal.parquet").write_bytes(
        sealed_table(table_from_rows(rows(2)), blank_seal(20 * MILLION))
    )


def _varint(number: int) -> bytes:
    """A number as Thrift writes it, seven bits a byte."""
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def _really_many_rows(place: Path, _: bytes) -> None:
    """Twenty million rows of one run in 80 MB."""
    part = table_from_rows([row()]).take(pa.array(np.zeros(MILLION, np.int32)))
    buffer = io.BytesIO()
    with pq.ParquetWriter(buffer, part.schema, compression="zstd", store_schema=False) as writer:
        for _n in range(20):
            writer.write_table(part, row_group_size=MILLION)
        writer.add_key_value_metadata({KEY.decode(): blank_seal(20 * MILLION)})
    (place / "rows.parquet").write_bytes(seal_bytes(buffer.getvalue()))


def _row_groups(place: Path, _: bytes) -> None:
    """As many row groups as rows, most of them empty."""
    table = table_from_rows(rows(2))
    buffer = io.BytesIO()
    with pq.ParquetWriter(buffer, table.schema, store_schema=False) as writer:
        writer.write_table(table)
        for _n in range(5000):
            writer.write_table(table.slice(0, 0))
        writer.add_key_value_metadata({KEY.decode(): blank_seal(2)})
    # No seal: its footer of 38 MB is more than anybody seals, and it is refused for that.
    (place / "groups.parquet").write_bytes(buffer.getvalue())


def _sparse(size: int) -> Plant:
    def plant(place: Path, _: bytes) -> None:
        """A file of zeros that takes no room, with a tail that says how long its footer is."""
        with (place / "sparse.parquet").open("wb") as file:
            file.write(b"PAR1")
            file.truncate(size)
            file.seek(size)
            file.write(min(FOOTER, size // 2).to_bytes(4, "little") + b"PAR1")

    return plant


def _bomb(place: Path, _: bytes) -> None:
    """A few kilobytes that hold gigabytes of one letter."""
    text = pa.array(["a" * 10_000_000])
    made = table_from_rows([row()])
    at = made.column_names.index("status_reason")
    many = made.take(pa.array(np.zeros(100, np.int32))).set_column(
        at, "status_reason", pa.DictionaryArray.from_arrays(
            pa.array(np.zeros(100, np.int32)), text).cast(pa.string())
    )  # fmt: skip
    (place / "bomb.parquet").write_bytes(sealed_table(many, blank_seal(100)))


def _devices(place: Path, _: bytes) -> None:
    """Files that never end, where the system lets us make them; else a link to one."""
    try:
        os.mknod(place / "zero.parquet", 0o20666, os.makedev(1, 5))
    except OSError:
        (place / "zero.parquet").symlink_to("/dev/zero")


def _toml(content: bytes | Callable[[Path], Any]) -> Plant:
    """Another set.toml."""

    def plant(place: Path, _: bytes) -> None:
        path = place / "set.toml"
        path.unlink()
        if callable(content):
            content(path)
        else:
            path.write_bytes(content)

    return plant


def _about(**values: object) -> bytes:
    return ABOUT.encode() + "".join(f"{k} = {v}\n" for k, v in values.items()).encode()


KINDS: Final[Mapping[str, Plant]] = MappingProxyType(
    {
        "pipe": lambda place, _: os.mkfifo(place / "pipe.parquet"),
        "socket": _socket,
        "link to a file of the system": lambda p, _: (p / "a.parquet").symlink_to("/etc/passwd"),
        "links in a circle": _loop,
        "link to nothing": lambda p, _: (p / "a.parquet").symlink_to("nothing"),
        "link to a set elsewhere": _linked_set,
        "folders named as files": _folders,
        "device without end": _devices,
        "odd names": _names,
        "names that are not UTF-8": _not_utf8,
        "names that mean other files": _globs,
        "nested JSON in the seal": _deep_seal,
        "ten thousand columns": _wide,
        "more rows in the footer than in the file": _many_rows,
        "sparse file of 3 GB": _sparse(3 * 10**9),
        "sparse file of 20 GB": _sparse(20 * 10**9),
        "set.toml is a link": _toml(lambda path: path.symlink_to("/etc/passwd")),
        "set.toml is a pipe": _toml(os.mkfifo),
        "set.toml is a folder": _toml(Path.mkdir),
        "set.toml with NUL": _toml(ABOUT.encode() + b'about = "a\0b"\n'),
        "set.toml of other types": _toml(b"title = 1\nlicence = [1]\nsource = 2026-01-01\n"),
        "set.toml that is not UTF-8": _toml(b"\xff\xfe\x00title"),
        "set.toml of nested lists": _toml(_about(a="[" * 50_000 + "]" * 50_000)),
        "set.toml of dotted keys": _toml(".".join("a" * 20_000).encode() + b" = 1\n"),
        "set.toml of many dotted keys": _toml(b"".join(
            b"t%d.%s = 1\n" % (n, b".".join([b"a"] * 40)) for n in range(5000))),
        "set.toml of many keys": _toml(lambda path: path.write_bytes(
            ABOUT.encode() + b"".join(b"k%d = 1\n" % n for n in range(700_000)))),
        "set.toml of ten megabytes": _toml(_about(about=f'"{"a" * 10_000_000}"')),
    }
)  # fmt: skip
LONG: Final[Mapping[str, Plant]] = MappingProxyType(
    {
        "twenty million rows": _really_many_rows,
        "five thousand row groups": _row_groups,
        "texts of a gigabyte": _bomb,
        "set.toml of a gigabyte": _toml(lambda path: os.truncate(_made(path), 10**9)),
    }
)  # fmt: skip
"""Kinds that take long to make or to parse: in `make faults` only."""


def _made(path: Path) -> Path:
    path.touch()
    return path
