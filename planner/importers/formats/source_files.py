"""The files of one import, in memory, and the limits under which their text is read.

A reader gets bytes and opens no file: it works in a process that may open none.
"""

import csv
import io
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final

from planner.core import Text, joined

MOST_BYTES: Final = 5_000_000
"""Largest text file that is read."""
MOST_ROWS: Final = 100_000
MOST_COLUMNS: Final = 64
MOST_CHARACTERS: Final = 200
"""Longest cell."""
MOST_DEPTH: Final = 20
"""Brackets within brackets of a JSON text."""
MOST_PROBLEMS: Final = 50
MOST_SENTENCE: Final = 1_000
"""Letters of a problem: what it repeats of a file is as long as the file makes it."""
_PACKED: Final = {
    b"PK\x03\x04": "zip", b"PK\x05\x06": "zip", b"\x1f\x8b": "gzip", b"BZh": "bzip2",
    b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd",
}  # fmt: skip
"""First bytes of archives: none is unpacked here, however large it would become."""
_TEXTS: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_OTHERS: Final = bytes(set(range(256)) - set(b"[]{}"))
"""Every byte but brackets."""


class SourceError(ValueError):
    """A file that is not taken; `problems` has all of them, each with where and what to do.

    `unknown` has the columns that could be mapped to others.
    """

    def __init__(self, name: str, problems: Iterable[str], unknown: Iterable[str] = ()) -> None:
        self.name, self.unknown = name, tuple(unknown)
        short = (p if len(p) <= MOST_SENTENCE else f"{p[:MOST_SENTENCE]} ..." for p in problems)
        self.problems = tuple(dict.fromkeys(short))
        more = len(self.problems) - MOST_PROBLEMS
        rest = Text("and {more} more", more=more) if more > 0 else ""
        heading = Text("{name} is not imported:", name=name)
        super().__init__(joined("\n  ", (heading, *self.problems[:MOST_PROBLEMS], rest)))


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFiles:
    """Bytes of files by their path within what a user named; `name` is the file or folder named."""

    name: str
    data: Mapping[str, bytes]

    @property
    def first(self) -> str:
        """The file named; in a folder, or of several, the first one."""
        return self.name if self.name in self.data else next(iter(sorted(self.data)), self.name)

    @property
    def suffix(self) -> str:
        """The ending of the first file, as `.csv`."""
        return PurePosixPath(self.first).suffix.lower()

    def ending(self, *suffixes: str) -> list[str]:
        """Return the files with these endings, sorted."""
        return sorted(n for n in self.data if n.lower().endswith(suffixes))

    def beside(self, name: str, suffix: str) -> str | None:
        """Return the file of the same name with another ending, if it is there."""
        other = str(PurePosixPath(name).with_suffix(suffix))
        return other if other in self.data else None


def text_of(files: SourceFiles, name: str | None = None) -> str:
    """Return the text of a file up to `MOST_BYTES`; SourceError for others."""
    name = name or files.first
    data = files.data.get(name)
    if data is None:
        raise SourceError(name, ["there is no such file. Give the path of a file."])
    if len(data) > MOST_BYTES:
        raise SourceError(
            name, [Text("it is larger than {most_bytes:,} bytes. Split it.", most_bytes=MOST_BYTES)]
        )
    refuse_packed(files, name)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SourceError(
            name, [Text("byte {start:,} is not UTF-8. Save the file as UTF-8.", start=error.start)]
        ) from error


def refuse_packed(files: SourceFiles, name: str) -> None:
    """Raise SourceError for an archive."""
    data = files.data[name]
    if packed := next((kind for start, kind in _PACKED.items() if data.startswith(start)), None):
        raise SourceError(
            name, [Text("it is packed as {packed}. Unpack it and give its files.", packed=packed)]
        )


def json_of(files: SourceFiles, name: str | None = None) -> Any:  # noqa: ANN401 - any JSON
    """Return the JSON value of a file; SourceError if it is none."""
    name = name or files.first
    text = text_of(files, name)
    if _is_deep(text):
        raise SourceError(
            name,
            [Text("it nests deeper than {most_depth} levels. Flatten it.", most_depth=MOST_DEPTH)],
        )
    try:
        return json_value(text)
    except (ValueError, RecursionError) as error:
        raise SourceError(
            name, [Text("it is not JSON: {error}. Export it again.", error=error)]
        ) from error


def _is_deep(text: str) -> bool:
    depth = 0
    for bracket in _TEXTS.sub(b"", text.encode("utf-8", "replace")).translate(None, _OTHERS):
        depth += 1 if bracket in b"[{" else -1
        if depth > MOST_DEPTH:
            return True
    return False


def json_value(text: str) -> Any:  # noqa: ANN401 - any JSON
    """Return the value of a JSON text; ValueError if it is none, or an object has a name twice."""
    return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_without_twins)


def part_of(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return an object inside a JSON object; an empty one where there is none."""
    part = body.get(name)
    return part if isinstance(part, dict) else {}


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    by_name = dict(pairs)
    if len(by_name) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise ValueError(Text("{name!r} occurs twice in an object", name=twice[:80]))
    return by_name


def _no_constant(text: str) -> float:
    """Return NaN and infinities of Python's JSON as floats: a diverged loss is a fact."""
    return {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}[text]


def table_of(
    files: SourceFiles,
    delimiter: str = ",",
    name: str | None = None,
    longest: int = MOST_CHARACTERS,
) -> list[dict[str, str]]:
    """Return the rows of a CSV or TSV file with a header; SourceError with all problems."""
    name = name or files.first
    reader = csv.reader(io.StringIO(text_of(files, name)), delimiter=delimiter)
    try:
        header = next(reader, [])
        if problems := _header_problems(header):
            raise SourceError(name, problems)
        header = [cell.strip() for cell in header]
        lines: list[tuple[int, list[str]]] = []
        for line in reader:
            if line and "".join(line).strip():
                lines.append((reader.line_num, line))
            if len(lines) > MOST_ROWS:
                break
    except csv.Error as error:
        raise SourceError(
            name,
            [
                Text(
                    "line {line_num}: {error}. Correct the line.",
                    line_num=reader.line_num,
                    error=error,
                )
            ],
        ) from error
    if not lines:
        raise SourceError(name, ["it has a header and no row. Give a file with rows."])
    if len(lines) > MOST_ROWS:
        raise SourceError(
            name, [Text("it has more than {most_rows:,} rows. Split it.", most_rows=MOST_ROWS)]
        )
    problems = [text for at, line in lines for text in _line_problems(at, line, header, longest)]
    if problems:
        raise SourceError(name, problems)
    return [dict(zip(header, (c.strip() for c in line), strict=True)) for _, line in lines]


def _header_problems(header: Sequence[str]) -> list[str]:
    if not header:
        return ["it is empty. Give a file with a header and rows."]
    if len(header) > MOST_COLUMNS:
        return [
            Text(
                "it has {header:,} columns; at most {most_columns} are read. Split it.",
                header=len(header),
                most_columns=MOST_COLUMNS,
            )
        ]
    header = [cell.strip() for cell in header]
    twice = sorted(name for name, times in Counter(header).items() if times > 1)
    problems: list[str] = (
        [Text("columns occur twice: {twice}. Rename one.", twice=", ".join(twice))] if twice else []
    )
    long = [name for name in header if len(name) > MOST_CHARACTERS]
    if long:
        text = Text(
            "a column has a name of {long} characters; at most {most_characters}.",
            long=len(long[0]),
            most_characters=MOST_CHARACTERS,
        )
        problems.append(Text("{text} Shorten it.", text=text))
    return problems


def _line_problems(at: int, line: Sequence[str], header: Sequence[str], longest: int) -> list[str]:
    if len(line) != len(header):
        return [
            Text(
                "line {at}: has {line} cells; the header has {header}. Correct it.",
                at=at,
                line=len(line),
                header=len(header),
            )
        ]
    return [
        Text(
            "line {at}, {name}: has {cell} characters; at most {longest} are read. Shorten it.",
            at=at,
            name=name,
            cell=len(cell),
            longest=longest,
        )
        for name, cell in zip(header, line, strict=True)
        if len(cell) > longest
    ]
