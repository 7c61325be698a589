"""The deadline as a date, converted to hours from now.

The date itself stands in the link, with its zone; hours are only ever read off it, so tomorrow the
same link promises the same Friday.
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


def asked_by(link: Link) -> datetime | None:
    """Return the chosen date, also one that has passed; None where hours or nothing is given."""
    text = st.session_state.get(link.key("by"))
    return moment_of(str(text)) if text else None


def left(link: Link, begins: datetime) -> str:
    """What the field for hours says where it is empty: how much is left until the date."""
    by = asked_by(link)
    if by is None:
        return "none"
    hours = (by - begins).total_seconds() / HOUR_S
    return f"{hours:,.1f} left" if hours > 0.0 else "has passed"


def after(seconds: float, begins: datetime) -> datetime | None:
    """So much later on the same clock, changed meanwhile or not; None beyond the calendar."""
    return end_of(Estimate(value=seconds, low=seconds, high=seconds), begins)


def in_words(by: datetime, begins: datetime, *, year: bool = True) -> str:
    """The date on the clock of the browser: 'Fri 27 Nov 2026, 09:00'."""
    there = by.astimezone(begins.tzinfo)
    return f"{there:%a %-d %b %Y, %H:%M}" if year else f"{there:%a %-d %b, %H:%M}"


def draw(link: Link, begins: datetime) -> None:
    """A popover that sets the date, or takes it away."""
    by = asked_by(link)
    with st.popover(_label(link, by, begins), icon=":material/event:", key="compare.by.box"):
        st.date_input("Day", value=None, min_value=begins.date(), key=_DAY)
        st.time_input("Time", value=time(9, 0), step=900, key=_TIME)
        st.caption(
            as_text(f"On the clock of {begins.tzname()}, if work begins now. The link keeps it.")
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
        st.session_state[_PROBLEM] = "That is not ahead. Choose a later time."
        return
    link.put("by", moment_text(by))
    link.put("deadline", None)


def _then(hours: float, begins: datetime) -> str:
    by = after(hours * HOUR_S, begins)
    return "then" if by is None else in_words(by, begins, year=_another_year(by, begins))


def _another_year(by: datetime, begins: datetime) -> bool:
    return by.astimezone(begins.tzinfo).year != begins.year
