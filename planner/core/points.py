"""Checks of points before a fit.

One error names every bad value with its place before anything is computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from planner.core._text import Text

Floats = NDArray[np.float64]
SMALLEST: Final = 1e-100
LARGEST: Final = 1e100
"""Values within these bounds, and ratios of them, can be squared without overflow."""
SHOWN: Final = 5
"""Bad values of a kind that are listed one by one."""


def numbers(name: str, values: object, what: str) -> Floats:
    """Return the values of a column as floats, in their shape; None becomes NaN.

    Args:
        name: of the column, for errors.
        values: numbers, in any shape.
        what: description of the values, with their unit.

    Raises:
        ValueError: a value is not a number, or rows differ in length; it names the column.
    """
    try:
        array = np.asarray(values)
        if array.dtype.kind in "biufO" and not _a_text(array):
            return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(_no_numbers(name, values, what)) from None
    raise ValueError(_no_numbers(name, values, what))


def check_flat(columns: Mapping[str, NDArray[np.generic]]) -> None:
    """Every point needs one value of each column: flat arrays of one length, at least 1.

    Raises:
        ValueError: names the columns and the shapes they have.
    """
    shapes = [values.shape for values in columns.values()]
    if len(shapes[0]) == 1 and len(set(shapes)) == 1 and shapes[0][0]:
        return
    raise ValueError(
        Text(
            "{names} have shapes {shapes}. Each point needs one of each. Give flat lists "
            "of one length, at least 1.",
            names=_and(list(columns)),
            shapes=_and([str(s) for s in shapes]),
        )
    )


def check_pairs(first: Floats, second: Floats, names: tuple[str, str]) -> None:
    """Raise for bad points of two positive quantities whose ratio will be squared.

    Args:
        first: shape (n,).
        second: shape (n,).
        names: of the two, for errors.

    Raises:
        ValueError: shapes differ, there are no points, or a value or a ratio is not finite and
            within `SMALLEST` and `LARGEST`; it names every such value.
    """
    check_flat(dict(zip(names, (first, second), strict=True)))
    good = [(v >= SMALLEST) & (v <= LARGEST) for v in (first, second)]
    problems = [
        f"{name}: {listed(values, fine)}"
        for name, values, fine in zip(names, (first, second), good, strict=True)
        if not fine.all()
    ]
    finite = good[0] & good[1]
    ratio = np.divide(first, second, out=np.ones(first.shape), where=finite)
    fine = (ratio >= SMALLEST) & (ratio <= LARGEST)
    if not fine.all():
        problems.append(f"{'/'.join(names)}: {listed(ratio, fine)}")
    if problems:
        raise ValueError(
            Text(
                "{problems}. Each must be finite and above 0, from {smallest:g} to "
                "{largest:g}. Leave these points out or mark their runs failed.",
                problems="; ".join(problems),
                smallest=SMALLEST,
                largest=LARGEST,
            )
        )


def positive(name: str, values: NDArray[np.generic]) -> Floats:
    """Return the values as floats, which must be finite and above 0.

    Raises:
        ValueError: names the first value that is not.
    """
    floats = values.astype(np.float64, copy=False)
    good = np.isfinite(floats) & (floats > 0.0)
    if not good.all():
        where = int(np.argmin(good))  # the first bad one, in reading order
        raise ValueError(
            Text(
                "{name}: value {where} of {size} is {flat}. It must be finite and above "
                "0. Leave the point out or mark its run failed.",
                name=name,
                where=where + 1,
                size=good.size,
                flat=floats.flat[where],
            )
        )
    return floats


def bad_seconds(name: str, seconds: float | None, *, zero: bool = False) -> list[str]:
    """Return the problems of a duration [s], as sentences.

    It must be finite and above (or at) 0.
    """
    if seconds is not None and np.isfinite(seconds) and (seconds > 0.0 or (zero and seconds == 0)):
        return []
    took = "has no time" if seconds is None else f"took {seconds:g} s"
    limit = "at least 0" if zero else "above 0"
    return [
        Text(
            "{name} {took}. A time must be {limit}. Fix the row or mark it failed.",
            name=name,
            took=took,
            limit=limit,
        )
    ]


def speak_once(problems: Sequence[str]) -> None:
    """Raise one `ValueError` with all that is wrong, so that it can be fixed in one go."""
    if problems:
        raise ValueError("\n".join(problems))


def listed(values: Floats, good: NDArray[np.bool_]) -> str:
    """Return the values that are not good, with their places in reading order."""
    where = np.flatnonzero(~good)
    lines = [
        Text(
            "value {index} of {size} is {flat:g}", index=i + 1, size=good.size, flat=values.flat[i]
        )
        for i in where[:SHOWN]
    ]
    more = [Text("and {size:,} more", size=where.size - SHOWN)] if where.size > SHOWN else []
    return ", ".join(lines + more)


def _a_text(array: NDArray[np.generic]) -> bool:
    return array.dtype.kind == "O" and any(isinstance(v, str | bytes) for v in array.flat)


def _no_numbers(name: str, values: object, what: str) -> str:
    """Return the problem of a column without numbers, with the first such value if any."""
    flat = values if isinstance(values, list | tuple) else np.ravel(np.asarray(values, dtype="O"))
    first = next((v for v in flat if not _is_number(v)), None)
    problem = (
        "cannot be read as numbers"
        if first is None
        else Text("holds {first!r:.40}, not a number", first=first)
    )
    return Text("{name} {problem}. Give {what}.", name=name, problem=problem, what=what)


def _is_number(value: object) -> bool:
    try:
        float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return value is None
    return not isinstance(value, str | bytes)


def _and(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]])
