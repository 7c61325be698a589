"""The deadline as a date, converted to hours from now.

The link holds the date with its zone, and hours are derived from it. So tomorrow the same link has
the same deadline.
"""

from __future__ import annotations

from datetime import UTC, datetime, time
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st

from pages.common.link import Link, as_text
from planner.answers.comparison import HOUR_S, MOST_HOURS, end_of, moment_of, moment_text
from planner.core import Estimate

_DAY: Final = "compare.by.day"
_TIME: Final = "compare.by.time"
_PROBLEM: Final = "compare.by.problem"


def now() -> datetime:
    """Return the start of the work: now, on the clock of the browser."""
    try:
        zone: ZoneInfo | None = ZoneInfo(str(st.context.timezone)) if st.context.timezone else None
    except (ZoneInfoNotFoundError, ValueError, OSError):
        zone = None
    return datetime.now(UTC).astimezone(zone or UTC).replace(second=0, microsecond=0)


def date_in_link(link: Link) -> datetime | None:
    """Return the chosen date, even if it has passed; None without a date."""
    text = st.session_state.get(link.key("by"))
    return moment_of(str(text)) if text else None


def left(link: Link, begins: datetime) -> str:
    """Return the placeholder of the hours field: the time left until the date."""
    by = date_in_link(link)
    if by is None:
        return "none"
    hours = (by - begins).total_seconds() / HOUR_S
    return f"{hours:,.1f} left" if hours > 0.0 else "has passed"


def after(seconds: float, begins: datetime) -> datetime | None:
    """Return the moment so many seconds later on the same clock; None beyond the calendar."""
    return end_of(Estimate(value=seconds, low=seconds, high=seconds), begins)


def in_words(by: datetime, begins: datetime, *, year: bool = True) -> str:
    """Return the date on the clock of the browser: 'Fri 27 Nov 2026, 09:00'."""
    there = by.astimezone(begins.tzinfo)
    return f"{there:%a %-d %b %Y, %H:%M}" if year else f"{there:%a %-d %b, %H:%M}"


def draw(link: Link, begins: datetime) -> None:
    """Draw a popover that sets or removes the date."""
    by = date_in_link(link)
    with st.popover(_label(link, by, begins), icon=":material/event:", key="compare.by.box"):
        st.date_input("Day", value=None, min_value=begins.date(), key=_DAY)
        st.time_input("Time", value=time(9, 0), step=900, key=_TIME)
        st.caption(
            as_text(f"In the time zone {begins.tzname()}, if work begins now. The link holds it.")
        )
        st.button(
            "Finish by then", key="compare.by.set", type="primary",
            on_click=lambda: _set(link, begins),
        )  # fmt: skip
        if st.session_state.get(link.key("by")):
            st.button(
                "Without a date", key="compare.by.drop", icon=":material/close:",
                on_click=lambda: link.put("by", None),
            )  # fmt: skip
        if problem := st.session_state.pop(_PROBLEM, ""):
            st.warning(problem)


def _label(link: Link, by: datetime | None, begins: datetime) -> str:
    if by is not None:
        passed = "" if by > begins else " (has passed)"
        return f"By {in_words(by, begins, year=_another_year(by, begins))}{passed}"
    hours = st.session_state.get(link.key("deadline"))
    return f"By {_then(hours, begins)}" if hours else "Finish by a date"


def _set(link: Link, begins: datetime) -> None:
    day, clock = st.session_state.get(_DAY), st.session_state.get(_TIME) or time(9, 0)
    if day is None:
        st.session_state[_PROBLEM] = "Choose a day."
        return
    by = datetime.combine(day, clock, begins.tzinfo)
    hours = (by - begins).total_seconds() / HOUR_S
    if hours <= 0.0 or hours > MOST_HOURS:
        st.session_state[_PROBLEM] = "That time has passed or is too far ahead. Choose another."
        return
    link.put("by", moment_text(by))
    link.put("deadline", None)


def _then(hours: float, begins: datetime) -> str:
    by = after(hours * HOUR_S, begins)
    return "then" if by is None else in_words(by, begins, year=_another_year(by, begins))


def _another_year(by: datetime, begins: datetime) -> bool:
    return by.astimezone(begins.tzinfo).year != begins.year
