"""Tables of a sweep's file as records, read by msgspec; all problems of a table at once.

msgspec stops at the first problem, so each entry is converted by itself: the type of its field
states the allowed values, the description of its `Meta` says them in words. A field without a
description is not read from a file.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Annotated, Any, Final, get_args, get_type_hints

from msgspec import Meta, ValidationError, convert

MOST: Final = 10**12
"""Largest number in a sweep."""
_SHOWN: Final = 80
"""Characters of a wrong value that an error repeats."""

Table = Mapping[str, Any]
Text = Annotated[str, Meta(description="text")]
Title = Annotated[str, Meta(pattern=r"\S", description="a line that describes the sweep")]
Truth = Annotated[bool, Meta(description="true or false")]
Count = Annotated[int, Meta(ge=1, le=MOST, description="a whole number from 1 to 1e12")]
Natural = Annotated[int, Meta(ge=0, le=MOST, description="a whole number from 0 to 1e12")]
_POSITIVE: Final = Meta(gt=0, le=MOST)
Positive = Annotated[
    Annotated[int, _POSITIVE] | Annotated[float, _POSITIVE], Meta(description="a number above 0")
]
"""Whole numbers stay whole: digests of sweeps tell 15 from 15.0."""


def words(kind: Any) -> str:  # noqa: ANN401 - a type
    """Return the values of a type in words; empty for one without a description."""
    metas = (m.description for m in getattr(kind, "__metadata__", ()) if m.description)
    return next(metas, "") or next(filter(None, map(words, get_args(kind))), "")


def fits(value: Any, kind: Any) -> bool:  # noqa: ANN401 - any value, any type
    """Return whether a value is of a type, within its limits."""
    try:
        convert(value, kind)
    except ValidationError:
        return False
    return True


def wrong(where: str, value: Any, kind: Any) -> str:  # noqa: ANN401 - any value, any type
    """Return the error for a value that is not of a type; `where` names its entry."""
    return f"{where} is {shown(value)}; it must be {words(kind)}."


def problems(table: Any, record: type, where: str = "") -> list[str]:  # noqa: ANN401 - any value
    """Return the problems of a table that a record is to hold, and of the tables in it."""
    if not isinstance(table, Mapping):
        name = where.removesuffix(".")
        return [f"{name}: is {shown(table)}; it must be a table, as [{name}]."]
    hints = get_type_hints(record, include_extras=True)
    entries = {f.name: f for f in fields(record)
               if words(hints[f.name]) or is_dataclass(hints[f.name])}  # fmt: skip
    messages = [unknown(f"{where}{k}:", k, entries) for k in table if k not in entries]
    for name, entry in entries.items():
        kind = hints[name]
        if name not in table:
            if entry.default is MISSING and entry.default_factory is MISSING:
                messages.append(f"{where}{name}: is missing. It must be {words(kind)}.")
        elif is_dataclass(kind):
            messages += problems(table[name], kind, f"{where}{name}.")  # type: ignore[arg-type]
        elif (record := _record_in(kind)) and isinstance(table[name], Mapping) and table[name]:
            for key, value in table[name].items():
                messages += problems(value, record, f"{where}{name}.{key}.")
        elif not fits(table[name], kind):
            messages.append(wrong(f"{where}{name}:", table[name], kind))
    return messages


def _record_in(kind: Any) -> Any:  # noqa: ANN401 - a type
    """Return the record that a table of tables holds; None for another type."""
    if is_dataclass(kind):
        return kind
    return next(filter(None, map(_record_in, get_args(kind))), None)


def sound(table: Table, record: type) -> dict[str, Any]:
    """Return the entries of a table that fit the fields of a record."""
    hints = get_type_hints(record, include_extras=True)
    return {k: v for k, v in table.items() if k in hints and fits(v, hints[k])}


def shown(value: Any) -> str:  # noqa: ANN401 - any value
    """Return a wrong value for an error message, shortened if long."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def unknown(where: str, name: str, allowed: Iterable[str]) -> str:
    """Return the error for an unknown name, with the closest or all allowed names."""
    names = list(allowed)
    close = difflib.get_close_matches(name, names, 1)
    listed = f"Choose from: {', '.join(names)}." if names else "None are defined."
    return f"{where} is unknown. {f'Did you mean {close[0]}?' if close else listed}"
