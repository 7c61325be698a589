"""The value of one cell of a catalogue table, or its problem and what to do."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import date
from types import MappingProxyType
from typing import Final

from planner.catalog._schema import LIMITS, CellKind, Column

Value = str | float | int | date | tuple[str, ...] | None
FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
"""How a text begins that a spreadsheet would run."""
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_WHOLE: Final = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_DATE: Final = re.compile(r"(\d{4})-(\d{2})(?:-(\d{2}))?", re.ASCII)
_LINK: Final = re.compile(r"https?://[^\s\"'<>\\]+")


class CellError(ValueError):
    """A cell that cannot be kept: the rest of a sentence that begins with the column's name."""


def cell_value(column: Column, text: str) -> Value:
    """Return the value of a cell; None (or no names) where it is empty.

    Raises:
        CellError: the text does not fit the column. It says what is there and what to do.
    """
    text = text.strip()
    if not text:
        return _empty(column)
    if len(text) > LIMITS["cell"].value:
        raise CellError(f"has {len(text)} characters; at most {LIMITS['cell'].value} are read.")
    if not text.isprintable():
        raise CellError("contains a line break or another unprintable character. "
                        "Look for a quote that is opened and never closed.")  # fmt: skip
    return _READ[column.kind](column, text)


def _empty(column: Column) -> Value:
    if column.required:
        raise CellError("is empty. Every row needs it.")
    return () if column.kind == "names" else None


def _text(column: Column, text: str) -> str:
    if text.startswith(FORMULA):
        raise CellError(f"is {_shown(text)}, which a spreadsheet would run as a formula. Begin it "
                        "with a letter or a digit.")  # fmt: skip
    if column.choices and text not in column.choices:
        raise CellError(f"is {_shown(text)}. Use one of: {', '.join(column.choices)}.")
    if column.pattern and not re.fullmatch(column.pattern, text):
        raise CellError(f"is {_shown(text)}. Write it like {column.example}.")
    return text


def _names(column: Column, text: str) -> tuple[str, ...]:
    return tuple(_text(column, part.strip()) for part in text.split(";") if part.strip())


def _number(column: Column, text: str) -> float:
    if not _NUMBER.fullmatch(text):
        raise CellError(f"is {_shown(text)}, not a number. Write digits with a decimal point, "
                        "like 2.49 or 8e10; leave it empty if it is unknown.")  # fmt: skip
    return _in_range(column, float(text), text)


def _whole(column: Column, text: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise CellError(f"is {_shown(text)}, not a whole number.")
    return int(_in_range(column, float(text), text))


def _in_range(column: Column, value: float, text: str) -> float:
    if not math.isfinite(value) or not column.low <= value <= column.high:
        raise CellError(f"is {_shown(text)}. It must be from {column.low:g} to {column.high:g} "
                        f"{column.unit}; look at the unit.")  # fmt: skip
    return value


def _date(_: Column, text: str) -> date:
    match = _DATE.fullmatch(text)
    try:
        if match:
            return date(int(match[1]), int(match[2]), int(match[3] or 1))
    except ValueError:
        pass
    raise CellError(f"is {_shown(text)}, not a date. Write YYYY-MM-DD or YYYY-MM.")


def _link(_: Column, text: str) -> str:
    if not _LINK.fullmatch(text):
        raise CellError(f"is {_shown(text)}, not an address. Begin it with https://.")
    return text


def _shown(text: str) -> str:
    """Return the text as a message quotes it; numbers bare, a long one shortened."""
    short = text if len(text) <= 60 else f"{text[:57]}..."
    return short if _NUMBER.fullmatch(short) else repr(short)


_READ: Final[Mapping[CellKind, Callable[[Column, str], Value]]] = MappingProxyType(
    {
        "text": _text,
        "names": _names,
        "number": _number,
        "whole": _whole,
        "date": _date,
        "link": _link,
    }
)
