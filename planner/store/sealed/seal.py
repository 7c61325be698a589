"""The seal of a run file: its own hash, which shows damage.

The footer of every parquet file of ours holds one key, `epochwise.seal`, with a JSON object:
the sha256 of the file's bytes (taken with 64 zeros in the hash's own place), the schema version,
the number of rows and, for a file of one run, that run's summary columns once more. So a file is
verified before any parquet reader sees it, may be renamed or copied alone, needs no sidecar, and
ten thousand of them are listed without parsing ten thousand footers (docs/decisions/0003).
"""

import hashlib
import io
import json
import os
import stat
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO, Final

from planner.core import MAX_FILE_BYTES, MAX_FILE_RUNS, MAX_FOOTER_BYTES, Text
from planner.runs import COLUMNS, SCHEMA_VERSION, SUMMARY

KEY: Final = b"epochwise.seal"
ZEROS: Final = b"0" * 64
_HEAD: Final = b'{"sha256":"'
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_CHUNK: Final = 1 << 24
REQUIRED: Final = frozenset(c.name for c in COLUMNS if c.required)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seal:
    """What a verified file says of itself; `summary` only where it holds a single run."""

    sha256: str
    schema_version: int
    rows: int
    summary: dict[str, Any] | None


class SealError(ValueError):
    """The file is not whole, not ours or too new; the text says which and what to do."""


def blank_seal(rows: list[dict[str, Any]] | int) -> str:
    """The seal's JSON with zeros in place of the hash, for `rows` or that number of rows."""
    count = rows if isinstance(rows, int) else len(rows)
    body: dict[str, Any] = {"sha256": ZEROS.decode(), "schema_version": SCHEMA_VERSION}
    body["rows"] = count
    if not isinstance(rows, int) and count == 1:
        body["summary"] = {
            name: _to_json(rows[0][name]) for name in SUMMARY if rows[0].get(name) is not None
        }
    return json.dumps(body, separators=(",", ":"), ensure_ascii=True)


def fill_seal(path: Path) -> Seal:
    """Put the hash into a file written with `blank_seal`; the file's size does not change."""
    with path.open("r+b") as file:
        _fill(file)
    return check_seal(path)


def seal_bytes(data: bytes) -> bytes:
    """As `fill_seal`, for a file in memory."""
    file = io.BytesIO(data)
    _fill(file)
    return file.getvalue()


def check_seal(path: Path) -> Seal:
    """The seal of a whole file; SealError with the reason for any other."""
    with open_plain(path) as file:
        return check_sealed(file)


def stated_hash(path: Path) -> str:
    """Return the hash in the seal of a file, unchecked: the rest of the file is not read."""
    with open_plain(path) as file:
        _, text = _locate(file)
    return text[len(_HEAD) : len(_HEAD) + 64].decode("ascii", "replace")


def open_plain(path: Path) -> BinaryIO:
    """A plain file to be read; SealError for anything else that has its name by now.

    A link is not followed and a pipe is not waited for.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise SealError("is not a plain file. Remove it.")
    return os.fdopen(handle, "rb")


def check_sealed(file: BinaryIO) -> Seal:
    """As `check_seal`, for an open file or bytes in memory.

    Reads, never maps: a file that is cut while it is mapped would kill the process.
    """
    start, text = _locate(file)
    digest = _hash_without(file, start + len(_HEAD))
    if text[: len(_HEAD)] != _HEAD or digest.encode() != text[len(_HEAD) : len(_HEAD) + 64]:
        raise SealError(
            "has changed since it was written: its sha256 does not match. "
            "Restore it from a copy or delete it."
        )
    try:
        body = json.loads(text)
        version = int(body["schema_version"])
        if version > SCHEMA_VERSION:
            raise _newer(version)
        rows, summary = int(body["rows"]), _summary(body.get("summary"))
    except SealError:
        raise
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise _damaged() from error  # sealed, but not by us
    if rows < 0 or (summary is not None and rows != 1):
        raise _damaged()
    if rows > MAX_FILE_RUNS:
        raise SealError(
            Text(
                "holds {rows:,} runs; a file may hold {max_file_runs:,}. Split it into "
                "several files.",
                rows=rows,
                max_file_runs=MAX_FILE_RUNS,
            )
        )
    return Seal(sha256=body["sha256"], schema_version=version, rows=rows, summary=summary)


def _newer(version: int) -> SealError:
    return SealError(
        Text(
            "has schema version {version}; this program knows up to {schema_version}. "
            "Update Epochwise.",
            version=version,
            schema_version=SCHEMA_VERSION,
        )
    )


def _damaged() -> SealError:
    return SealError("has a damaged seal. Restore it from a copy or delete it.")


def _fill(file: BinaryIO) -> None:
    start, _ = _locate(file)
    digest = _hash_without(file, start + len(_HEAD))
    file.seek(start + len(_HEAD))
    file.write(digest.encode())


def _locate(file: BinaryIO) -> tuple[int, bytes]:
    """Where the seal's JSON starts, and the JSON.

    Thrift writes the key, 0x18, the length as a varint, then the text. JSON escapes 0x18, so no
    text inside the seal can pretend to be another seal.
    """
    footer_at, footer = _footer(file)
    key = footer.rfind(KEY + b"\x18")
    if key < 0:
        raise SealError(
            "has no Epochwise seal: it was not written by `planner.store`. "
            "Hand its numbers in as rows instead of copying the file."
        )
    at, length = _varint(footer, key + len(KEY) + 1)
    if at + length > len(footer):
        raise _damaged()
    return footer_at + at, footer[at : at + length]


def _footer(file: BinaryIO) -> tuple[int, bytes]:
    size = file.seek(0, os.SEEK_END)
    if size == 0:
        raise SealError("is empty (0 bytes): its writer was cut off. Delete it.")
    if size > MAX_FILE_BYTES:
        raise SealError(
            Text(
                "has {size:,} bytes; a file may have {max_file_bytes:,}. Split it into "
                "several files.",
                size=size,
                max_file_bytes=MAX_FILE_BYTES,
            )
        )
    file.seek(max(size - 8, 0))
    tail = file.read(8)
    length = int.from_bytes(tail[:4], "little")
    start = size - 8 - length
    if tail[4:] != b"PAR1" or start < 4:
        raise SealError("is not a whole parquet file (torn or cut). Delete it and resume the run.")
    if length > MAX_FOOTER_BYTES:
        raise SealError(
            Text(
                "has a footer of {length:,} bytes; at most {max_footer_bytes:,} are "
                "read. Delete it.",
                length=length,
                max_footer_bytes=MAX_FOOTER_BYTES,
            )
        )
    file.seek(start)
    return start, file.read(length)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Position after the varint at `at`, and its value (7 bits a byte, lowest first)."""
    value = shift = 0
    while at < len(data) and shift <= 28:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return at, value
    raise _damaged()


def _hash_without(file: BinaryIO, at: int) -> str:
    """sha256 of the file with 64 zeros at `at`, in chunks (a file may be larger than memory)."""
    digest = hashlib.sha256()
    file.seek(0)
    left = at
    while left > 0 and (chunk := file.read(min(left, _CHUNK))):
        digest.update(chunk)
        left -= len(chunk)
    digest.update(ZEROS)
    file.seek(at + 64)
    while chunk := file.read(_CHUNK):
        digest.update(chunk)
    return digest.hexdigest()


def _to_json(value: Any) -> Any:  # noqa: ANN401 - any cell
    if isinstance(value, datetime):
        return (value - _EPOCH) // timedelta(microseconds=1)
    return value


def _summary(body: Any) -> dict[str, Any] | None:  # noqa: ANN401 - whatever the JSON held
    if body is None:
        return None
    if not isinstance(body, dict) or not body.keys() >= REQUIRED or len(body) > 2 * len(SUMMARY):
        raise _damaged()
    body["recorded_at"] = _EPOCH + timedelta(microseconds=body["recorded_at"])
    return body
