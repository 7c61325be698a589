"""Which numbers of an answer cannot be: not finite, negative, or outside their own interval."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Final

SLACK: Final = 1e-9
"""Relative room for the last digits of a bound."""
SIGNED: Final = ("matters_most", "headroom", "against_fit", "target")
"""Numbers that may be below 0: what is saved, what is missing, a residual, a metric."""
INTERVALS: Final = (
    ("low_s", "total_s", "high_s"),
    ("times_faster_low", "times_faster_than_baseline", "times_faster_high"),
)
"""Intervals whose ends are not named after their value."""


def body_of(content: bytes) -> Any:  # noqa: ANN401 - whatever JSON holds
    """The answer as plain data.

    Raises:
        ValueError: it is no JSON, or holds NaN or Infinity, which JSON does not have.
    """

    def no_constant(name: str) -> None:
        raise ValueError(f"{name} stands in JSON")

    return json.loads(content, parse_constant=no_constant)


def impossible(result: Any, place: str = "") -> Iterator[str]:  # noqa: ANN401 - plain data
    """What cannot be in an answer, each with where it stands."""
    if isinstance(result, Mapping):
        yield from _outside(result, place)
        for name, value in result.items():
            yield from impossible(value, f"{place}.{name}")
    elif isinstance(result, list):
        for number, value in enumerate(result):
            yield from impossible(value, f"{place}[{number}]")
    elif isinstance(result, float | int) and not isinstance(result, bool):
        below = result < 0 and not any(word in place for word in SIGNED)
        if below or not math.isfinite(result):
            yield f"{place} is {result}"


def _outside(result: Mapping[str, Any], place: str) -> Iterator[str]:
    named = [(f"{name}_low", name, f"{name}_high") for name in result]
    for names in (*named, *INTERVALS):
        ends = [result.get(name) for name in names]
        known = [float(e) for e in ends if isinstance(e, float | int)]
        room = SLACK * max((abs(k) for k in known), default=0.0)
        if any(after < before - room for before, after in pairwise(known)):
            yield f"{place}: {names} are {ends}, which is not in order"
