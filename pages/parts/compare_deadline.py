"""The deadline as a date: whoever has to be done by Friday 09:00 need not count hours."""

from __future__ import annotations

import math
from datetime import date, datetime, time, timedelta
from typing import Final

import streamlit as st

from pages.parts.compare_inputs import MOST_HOURS
from pages.parts.links import Link, as_text

_DAY: Final = "compare.by.day"
_TIME: Final = "compare.by.time"
_PROBLEM: Final = "compare.by.problem"


def draw(link: Link, begins: datetime) -> None:
    """A popover that turns a date into hours from now."""
    hours = st.session_state.get(link.key("deadline"))
    label = f"By {_words(hours, begins)}" if hours else "Finish by a date"
    with st.popover(label, icon=":material/event:", key="compare.by"):
        st.date_input("Day", value=None, min_value=begins.date(), key=_DAY)
        st.time_input("Time", value=time(9, 0), step=900, key=_TIME)
        st.caption(as_text(f"On the clock of {begins.tzname()}, if work begins now."))
        st.button(
            "Finish by then", key="compare.by.set", type="primary",
            on_click=lambda: _set(link, begins),
        )  # fmt: skip
        if problem := st.session_state.pop(_PROBLEM, ""):
            st.warning(problem)


def _set(link: Link, begins: datetime) -> None:
    day, clock = st.session_state.get(_DAY), st.session_state.get(_TIME) or time(9, 0)
    if day is None:
        st.session_state[_PROBLEM] = "Choose a day."
        return
    hours = hours_until(day, clock, begins)
    if hours <= 0.0 or hours > MOST_HOURS:
        st.session_state[_PROBLEM] = "That is not ahead. Choose a later time."
        return
    link.put("deadline", hours)


def hours_until(day: date, clock: time, begins: datetime) -> float:
    """Hours from `begins` to that time on the same clock, to the hundredth."""
    ahead = datetime.combine(day, clock, begins.tzinfo).timestamp() - begins.timestamp()
    return math.floor(ahead / 36.0) / 100.0


def _words(hours: float, begins: datetime) -> str:
    try:
        return f"{begins + timedelta(hours=hours):%a %-d %b, %H:%M}"
    except OverflowError:
        return "then"
