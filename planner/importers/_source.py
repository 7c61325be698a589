"""What a source of results is: what it reads, what it derives, what it refuses."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from planner.runs import BY_NAME, REAL, WHOLE

MOST_BYTES: Final = 5_000_000
"""Largest text file that is read."""
MOST_ROWS: Final = 100_000
MOST_COLUMNS: Final = 64
MOST_CHARACTERS: Final = 200
"""Longest cell."""
MOST_PROBLEMS: Final = 50

Row = Mapping[str, Any]


class SourceError(ValueError):
    """A file that is not taken; `problems` has all of them, each with where and what to do."""

    def __init__(self, path: Path, problems: Iterable[str]) -> None:
        self.problems = tuple(dict.fromkeys(problems))
        shown = "\n  ".join(self.problems[:MOST_PROBLEMS])
        more = len(self.problems) - MOST_PROBLEMS
        rest = f"\n  and {more} more" if more > 0 else ""
        super().__init__(f"{path.name} is not imported:\n  {shown}{rest}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """What a user says of a file: columns of its runs, and options of the source."""

    facts: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)


Read = Callable[[Path, Stated], Sequence[Row]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A format: `needs` are columns that its files lack, `options` names with their meaning."""

    name: str
    title: str
    files: str
    reads: str
    derives: str
    refuses: str
    read: Read
    needs: tuple[str, ...] = ("model", "system_name", "device_kind")
    options: Mapping[str, str] = field(default_factory=dict)
    basis: str = "measured"
    whole_folder: bool = False
    """Whether the path is a folder: such sources are for the command line only."""


def text_of(path: Path) -> str:
    """Return the text of a file up to `MOST_BYTES`; SourceError for others."""
    try:
        if not path.is_file():
            raise SourceError(path, ["there is no such file. Give the path of a file."])
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise SourceError(path, [f"it is larger than {MOST_BYTES:,} bytes. Split it."])
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SourceError(
            path, [f"byte {error.start:,} is not UTF-8. Save the file as UTF-8."]
        ) from error
    except OSError as error:
        raise SourceError(path, [f"it cannot be read: {error.strerror}."]) from error


def json_of(path: Path) -> Any:  # noqa: ANN401 - any JSON
    """Return the JSON value of a file; SourceError if it is none."""
    try:
        return json.loads(text_of(path), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        if isinstance(error, SourceError):
            raise
        raise SourceError(path, [f"it is not JSON: {error}."]) from error


def _no_constant(text: str) -> float:
    """Return NaN and infinities of Python's JSON as floats: a diverged loss is a fact."""
    return {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}[text]


def table_of(path: Path, delimiter: str = ",") -> list[dict[str, str]]:
    """Return the rows of a CSV or TSV file with a header; SourceError with all problems."""
    reader = csv.reader(io.StringIO(text_of(path)), delimiter=delimiter)
    try:
        header = [name.strip() for name in next(reader, [])]
        if problems := _header_problems(header):
            raise SourceError(path, problems)
        lines = [(reader.line_num, line) for line in itertools.islice(reader, MOST_ROWS + 1)]
    except csv.Error as error:
        raise SourceError(path, [f"line {reader.line_num}: {error}."]) from error
    lines = [(at, line) for at, line in lines if any(cell.strip() for cell in line)]
    if not lines:
        raise SourceError(path, ["it has a header and no row."])
    if len(lines) > MOST_ROWS:
        raise SourceError(path, [f"it has more than {MOST_ROWS:,} rows. Split it."])
    problems = [text for at, line in lines for text in _line_problems(at, line, header)]
    if problems:
        raise SourceError(path, problems)
    return [dict(zip(header, (c.strip() for c in line), strict=True)) for _, line in lines]


def _header_problems(header: Sequence[str]) -> list[str]:
    if not header:
        return ["it is empty. Give a file with a header and rows."]
    twice = sorted({name for name in header if header.count(name) > 1})
    problems = [f"columns occur twice: {', '.join(twice)}. Rename one."] if twice else []
    if len(header) > MOST_COLUMNS:
        problems.append(f"it has {len(header)} columns; at most {MOST_COLUMNS} are read.")
    return problems


def _line_problems(at: int, line: Sequence[str], header: Sequence[str]) -> list[str]:
    if len(line) != len(header):
        return [f"line {at}: has {len(line)} cells; the header has {len(header)}."]
    return [
        f"line {at}, {name}: has {len(cell)} characters; at most {MOST_CHARACTERS} are read."
        for name, cell in zip(header, line, strict=True)
        if len(cell) > MOST_CHARACTERS
    ]


def number(text: str | float | None) -> float | None:
    """Return a finite number; None if the cell is empty or none."""
    try:
        value = float(str(text))
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) else None


def typed(name: str, text: str) -> tuple[Any, str | None]:
    """Return the cell of column `name` as its type and the problem of a wrong one."""
    column = BY_NAME.get(name)
    if column is None:
        return None, f"{name}: is not a column of runs (docs/records.md)."
    if column.group == "nested" or name in {"run_id", "schema_version"}:
        return None, f"{name}: cannot be stated. It follows from the run."
    value: Any = text
    wanted = ""
    if column.type in (WHOLE, REAL):
        value, wanted = number(text), "a number"
        if column.type == WHOLE:
            wanted = "a whole number"
            value = int(value) if value is not None and value == int(value) else None
    elif str(column.type) == "bool":
        known = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        value, wanted = known.get(text.lower()), "true or false"
    return value, None if value is not None else f"{name}: is {text!r}; it must be {wanted}."


def later(epochs: Sequence[float]) -> dict[str, Any]:
    """Return the summary columns of timed epochs [s], the first one included."""
    if not epochs:
        return {}
    rest = epochs[1:]
    mean = math.fsum(rest) / len(rest) if rest else None
    spread = math.sqrt(math.fsum((e - mean) ** 2 for e in rest) / len(rest)) if mean else None
    return {
        "first_epoch_s": epochs[0],
        "later_epoch_mean_s": mean,
        "later_epoch_sd_s": spread,
        "epochs_measured": len(epochs),
    }
