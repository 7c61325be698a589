"""Times of day as files write them, in UTC: the zone is stated, never assumed."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

from planner.core import Text

FIRST: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""Earlier times are clocks that were never set, and numbers of another unit."""
AHEAD: Final = timedelta(minutes=5)
"""How far the clock of another machine may be ahead of this one."""
UNITS: Final = {"s": 1, "ms": 1_000, "us": 1_000_000}
"""Counts of a second, of numbers since 1970 in UTC."""
_OFFSET: Final = re.compile(r"([+-])(0\d|1[0-4]):([0-5]\d)", re.ASCII)
_NUMBER: Final = re.compile(r"\d{1,25}(?:\.\d{1,9})?", re.ASCII)
_DAY: Final = re.compile(r"\d{4}-?\d{2}-?\d{2}|\d{4}-?W\d{2}(?:-?\d)?", re.ASCII)
_WAYS: Final = "UTC, an offset such as +09:00, or s, ms or us since 1970"

Clock = Callable[[], datetime]


def _now() -> datetime:
    return datetime.now(UTC)


def way_problem(way: str) -> str | None:
    """Return why `way` is neither a time zone nor a unit; None where it is, or is empty."""
    if not way or way == "UTC" or way in UNITS or _OFFSET.fullmatch(way):
        return None
    return Text("is {way!r}; it must be {ways}.", way=way, ways=_WAYS)


def moment(text: str, way: str = "", now: Clock = _now) -> tuple[str | None, str | None]:
    """Return a time in UTC as ISO 8601, and the problem of a wrong one.

    Args:
        text: ISO 8601 with a time zone; without one where `way` is a zone; a number where a unit.
        way: "UTC", an offset as "+09:00", or a unit of numbers since 1970; "" for neither.
        now: the clock that the future begins at.
    """
    when = _counted(text, UNITS[way]) if way in UNITS else _written(text, way)
    if isinstance(when, str):
        return None, when
    if when < FIRST:
        problem = Text(
            "is {when}, before {first}. Correct its year or unit.",
            when=_shown(when),
            first=f"{FIRST:%Y}",
        )
        return None, problem
    if when > now() + AHEAD:
        problem = Text(
            "is {when}, in the future. Correct it, its unit or its time zone.", when=_shown(when)
        )
        return None, problem
    return when.isoformat(), None


def clocked(since_1970_s: float, now: Clock = _now) -> str | None:
    """Return the time of a clock in UTC as ISO 8601; None where it is no date.

    Clocks that were never set, and those that are ahead, date nothing.
    """
    try:
        when = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=since_1970_s)
    except (OverflowError, ValueError):
        return None
    return when.isoformat() if FIRST <= when <= now() + AHEAD else None


def _counted(text: str, per_s: int) -> datetime | str:
    if not _NUMBER.fullmatch(text):
        return Text("is {text!r}; it must be a number since 1970.", text=text)
    whole, _, part = text.partition(".")
    us = int(whole) * 1_000_000 // per_s + int(float(f"0.{part or 0}") * 1_000_000 / per_s)
    try:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=us)
    except OverflowError:
        return Text("is {text}, beyond every calendar. Correct its unit.", text=text)


def _written(text: str, zone: str) -> datetime | str:
    if _NUMBER.fullmatch(text) and not _DAY.fullmatch(text):
        return Text(
            "is the number {text}. State its unit: --option recorded_at=s, ms or us.", text=text
        )
    if _DAY.fullmatch(text):
        return Text("is {text!r}, a day. Write the time too, as 2026-03-01T12:00Z.", text=text)
    try:
        when = datetime.fromisoformat(text)
        if when.tzinfo is None:
            if not zone:
                return Text(
                    "is {text!r}, without a time zone. Write it, as 2026-03-01T12:00Z, or state "
                    "--option recorded_at=UTC or an offset such as +09:00.",
                    text=text,
                )
            when = when.replace(tzinfo=_zone(zone))
        return when.astimezone(UTC)
    except (ValueError, OverflowError):
        return Text("is {text!r}; it must be a time such as 2026-03-01T12:00Z.", text=text)


def _zone(name: str) -> timezone:
    match = _OFFSET.fullmatch(name)
    if not match:
        return UTC
    offset = timedelta(hours=int(match[2]), minutes=int(match[3]))
    return timezone(-offset if match[1] == "-" else offset)


def _shown(when: datetime) -> str:
    return f"{when:%Y-%m-%d %H:%M} UTC"
