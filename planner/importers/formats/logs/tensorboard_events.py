"""TensorBoard event files: epoch times from wall times of a scalar that is written per epoch."""

import itertools
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from planner.core import Text
from planner.importers.formats.source import Row, Source, Stated
from planner.importers.formats.source_files import (
    MOST_CHARACTERS,
    MOST_ROWS,
    SourceError,
    SourceFiles,
)
from planner.importers.formats.times import clocked

MOST_BYTES: Final = 50_000_000
"""Largest event file: images and graphs in it are skipped, but lie in it."""
_MOST_RECORDS: Final = 2 * MOST_ROWS
_MOST_FIELDS: Final = 9 * MOST_ROWS
"""Fields of a file: TensorFlow writes about seven for a scalar."""
_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5


@dataclass(frozen=True, slots=True)
class _Scalar:
    tag: str
    step: int
    wall_s: float
    value: float | None
    whole: "_EventBytes"


@dataclass(frozen=True, slots=True)
class _EventBytes:
    """The bytes of an event, and the checksum that was written with them."""

    data: bytes
    checksum: int


def _read(files: SourceFiles, stated: Stated) -> Sequence[Row]:
    data = files.data[files.first]
    if len(data) > MOST_BYTES:
        raise SourceError(
            files.first,
            [Text("it is larger than {most_bytes:,} bytes. Split it.", most_bytes=MOST_BYTES)],
        )
    try:
        opened, scalars = _scalars(files, data)
    except (struct.error, IndexError, UnicodeDecodeError, ValueError) as error:
        if isinstance(error, SourceError):
            raise
        raise SourceError(
            files.first, [Text("it is no whole event file: {error}.", error=error)]
        ) from error
    tags = list(dict.fromkeys(s.tag for s in scalars))
    tag = stated.options.get("tag") or next((t for t in tags if t.startswith("epoch_")), None)
    if tag not in tags:
        named = Text("{tag!r} is not in it", tag=tag) if tag else "no scalar begins with epoch_"
        listed = ", ".join(tags[:20]) or "no scalar"
        text = Text(
            "{named}. Name a scalar that is written once an epoch, --option tag=... It "
            "has: {listed}.",
            named=named,
            listed=listed,
        )
        raise SourceError(files.first, [text])
    chosen = [s for s in scalars if s.tag == tag]
    damaged = [s.step for s in (opened, *chosen) if _checksum(s.whole.data) != s.whole.checksum]
    if damaged:
        text = Text(
            "step {damaged}: its checksum does not match. Copy the file again.", damaged=damaged[0]
        )
        raise SourceError(files.first, [text])
    steps = [s.step for s in chosen]
    if len(chosen) < 2 or any(b - a != 1 for a, b in itertools.pairwise(steps)):
        text = Text(
            "{tag} has the steps {steps} ...; epochs count up by 1. Name a scalar "
            "that is written once an epoch.",
            tag=tag,
            steps=", ".join(map(str, steps[:6])),
        )
        raise SourceError(files.first, [text])
    later_s = [b.wall_s - a.wall_s for a, b in itertools.pairwise(chosen)]
    start_s = chosen[0].wall_s - opened.wall_s
    if min(later_s) <= 0.0 or start_s <= 0.0:
        raise SourceError(
            files.first,
            [Text("the wall times of {tag} do not rise. The clock was set back.", tag=tag)],
        )
    mean = sum(later_s) / len(later_s)
    return [
        {
            "until_first_epoch_end_s": start_s,
            "later_epoch_mean_s": mean,
            "later_epoch_sd_s": (sum((t - mean) ** 2 for t in later_s) / len(later_s)) ** 0.5,
            "epochs_measured": len(chosen),
            "recorded_at": clocked(opened.wall_s),
            "note": "Epoch times are differences of the wall times of the event file, with "
            "everything that ran in between.",
        }
    ]


def _scalars(files: SourceFiles, data: bytes) -> tuple[_Scalar, list[_Scalar]]:
    """Return the first event, which may have no scalar, and all scalars."""
    opened: _Scalar | None = None
    scalars: list[_Scalar] = []
    counted = itertools.count(1)
    for record in _records(data):
        wall_s, step, summary = 0.0, 0, b""
        for field, value in _fields(record.data, counted):
            if field == 1 and isinstance(value, bytes):
                [wall_s] = struct.unpack("<d", value)
            elif field == 2 and isinstance(value, int):
                step = value
            elif field == 5 and isinstance(value, bytes):
                summary = value
        opened = opened or _Scalar("", step, wall_s, None, record)
        for field, value in _fields(summary, counted):
            if (
                field == 1
                and isinstance(value, bytes)
                and (scalar := _scalar(value, counted, step, wall_s, record))
            ):
                scalars.append(scalar)
        if len(scalars) > MOST_ROWS:
            raise SourceError(
                files.first, [Text("it has more than {most_rows:,} scalars.", most_rows=MOST_ROWS)]
            )
    if opened is None:
        raise SourceError(files.first, ["it is empty."])
    return opened, scalars


def _scalar(
    value: bytes, counted: Iterator[int], step: int, wall_s: float, whole: _EventBytes
) -> _Scalar | None:
    """Return the scalar of a summary value; TensorFlow 2 writes scalars as tensors."""
    tag, number, is_tensor = "", None, False
    for field, part in _fields(value, counted):
        if field == 1 and isinstance(part, bytes):
            tag = part[:MOST_CHARACTERS].decode("utf-8", "replace")
        elif field == 2 and isinstance(part, bytes) and len(part) == 4:
            [number] = struct.unpack("<f", part)
        elif field == 8:
            is_tensor = True
    return (
        _Scalar(tag, step, wall_s, number, whole)
        if tag and (number is not None or is_tensor)
        else None
    )


def _records(data: bytes) -> Iterator[_EventBytes]:
    """Yield the records of a TFRecord file; a torn last one is left out, as TensorBoard does."""
    at = records = 0
    while at + 12 <= len(data):
        records += 1
        if records > _MOST_RECORDS:
            raise ValueError(Text("more than {most:,} events", most=_MOST_RECORDS))
        [length] = struct.unpack_from("<Q", data, at)
        if at + 16 + length > len(data):
            return
        [checksum] = struct.unpack_from("<I", data, at + 12 + length)
        yield _EventBytes(data[at + 12 : at + 12 + length], checksum)
        at += 16 + length


def _checksum(data: bytes) -> int:
    """Return the masked CRC-32C of a record, as TFRecord files have it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC[(crc ^ byte) & 255] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        table.append(crc)
    return tuple(table)


_CRC: Final = _table()


def _fields(data: bytes, counted: Iterator[int]) -> Iterator[tuple[int, int | bytes]]:
    """Yield number and content of each field of a protobuf message.

    `counted` counts the fields of the whole file, at most `_MOST_FIELDS`.
    """
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if next(counted) > _MOST_FIELDS:
            raise ValueError(Text("more than {most:,} fields", most=_MOST_FIELDS))
        if not key >> 3:
            raise ValueError("a field without a number")
        if kind == _VARINT:
            value, at = _varint(data, at)
            yield key >> 3, value
            continue
        if kind == _BYTES:
            size, at = _varint(data, at)
        elif kind in (_EIGHT, _FOUR):
            size = 8 if kind == _EIGHT else 4
        else:
            raise ValueError(Text("a field of kind {kind}", kind=kind))
        if at + size > len(data):
            raise ValueError("a field longer than its record")
        yield key >> 3, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("a number of more than 64 bits")


SOURCE: Final = Source(
    name="tensorboard",
    title="TensorBoard event file",
    files="events.out.tfevents.*",
    reads="wall times of one scalar that is written once an epoch",
    derives="an epoch's time from two wall times; the first one, with the time before it, from the "
    "opening of the file; the time of the run from that opening",
    refuses="scalars that are written per step, clocks that were set back",
    named=r".*tfevents.*",
    read=_read,
    needs=("model", "system_name", "device_kind", "global_batch_size", "samples_per_epoch"),
    most_bytes=MOST_BYTES,
    options={"tag": "the scalar (default: the first one that begins with epoch_)"},
)
