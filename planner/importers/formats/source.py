"""What a source of results is: what it reads, what it derives, what it refuses."""

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeGuard

from planner.core import Text
from planner.importers.formats.source_files import MOST_BYTES, SourceFiles
from planner.importers.formats.times import moment
from planner.runs import BY_NAME, REAL, TIME, WHOLE

Row = Mapping[str, Any]
_INTEGER: Final = re.compile(r"[+-]?\d{1,19}")
_EXACT: Final = 2**53
"""Floats below it are the whole numbers they look like."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """What a user says of a file: columns of its runs, and options of the source."""

    facts: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)


Read = Callable[[SourceFiles, Stated], Sequence[Row]]


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
    url: str = ""
    """Address of the published data that its files always are; "" for anybody's files."""
    citation: str = ""
    """How these data are cited where the user gives no citation."""
    endings: tuple[str, ...] = ()
    """Files that are read of a folder; without any it reads single files only."""
    beside: tuple[str, ...] = ()
    """Endings of the files that belong to a single one."""
    most_bytes: int = MOST_BYTES
    """Largest file that is read [bytes]."""
    named: str = ""
    """Names of its files, as a regular expression; a page chooses the source by it."""
    on_page: bool = True
    """Whether files of strangers are read: otherwise it is for the command line only."""


def number(text: object) -> float | None:
    """Return a finite number; None if the cell is empty or none, or rounds to 0 without being 0."""
    written = str(text)
    try:
        value = float(written)
    except (TypeError, ValueError):
        return None
    lost = value == 0.0 and any(c.isdigit() and int(c) for c in written.lower().partition("e")[0])
    return value if math.isfinite(value) and not lost and "_" not in written else None


_MISSING: Final = frozenset({"", "na", "none", "null"})
_NOT_FINITE: Final = frozenset({"nan", "inf", "infinity"})


def cell(written: object, where: str, problems: list[str]) -> float | None:
    """Return the number of a cell: None where it is empty, NaN where it is NaN or infinite.

    Another text is added to `problems`: left out in silence, it would change what a file says.
    """
    text = "" if written is None else str(written).strip().lower()
    if text in _MISSING:
        return None
    if text.lstrip("+-") in _NOT_FINITE:
        return math.nan
    value = number(text)
    if value is None:
        shown = str(written)[:40]
        problems.append(
            Text("{where}: is {shown!r}; it must be a number.", where=where, shown=shown)
        )
    return value


def finite(value: float | None) -> TypeGuard[float]:
    """Return whether there is a value, and it is finite."""
    return value is not None and math.isfinite(value)


def whole(text: object) -> int | None:
    """Return a whole number above 0; None for anything else."""
    value = _integer(text)
    return value if value is not None and value >= 1 else None


def _integer(text: object) -> int | None:
    """Return a whole number, to its last digit; None for others, and for rounded ones."""
    written = str(text).strip()
    if _INTEGER.fullmatch(written):
        return int(written)
    value = number(written)
    exact = value is not None and value == int(value) and abs(value) < _EXACT
    return int(value) if value is not None and exact else None


def rises(evaluations: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the steps of evaluations rise, as those of one training do."""
    return all(b["step"] > a["step"] for a, b in itertools.pairwise(evaluations))


def typed(name: str, text: str, time_way: str = "") -> tuple[Any, str | None]:
    """Return the cell of column `name` as its type and the problem of a wrong one.

    Times are ISO 8601 in UTC; `time_way` is the zone or unit of those that state none.
    """
    column = BY_NAME.get(name)
    if column is None:
        return None, Text("{name}: is not a column of runs (docs/records.md).", name=name)
    if column.group == "nested" or name in {"run_id", "schema_version"}:
        return None, Text("{name}: cannot be stated. It follows from the run.", name=name)
    if column.type == TIME:
        when, wrong = moment(text, time_way)
        return when, None if wrong is None else Text("{name}: {wrong}", name=name, wrong=wrong)
    value: Any = text
    expected = ""
    if column.type in (WHOLE, REAL):
        value, expected = number(text), "a number"
        if column.type == WHOLE:
            value, expected = _integer(text), "a whole number"
    elif str(column.type) == "bool":
        words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        value, expected = words.get(text.lower()), "true or false"
    return value, None if value is not None else Text(
        "{name}: is {text!r}; it must be {target}.", name=name, text=text, target=expected
    )


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
