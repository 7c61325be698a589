"""Limits of a sweep on the Measure page: time, cost; price and power of this machine."""

from typing import Final

import streamlit as st

from pages.common import fields
from pages.common.link import Link
from pages.measure.measuring import StartLimits
from planner.answers.parameters import MEASURE

_NAMES: Final = tuple(p.name for p in MEASURE)


def declare(link: Link) -> None:
    """Read the limits of the link."""
    for parameter in MEASURE:
        link.decimal(parameter)


def hold(link: Link) -> None:
    """Keep the limits where no field is drawn."""
    link.hold(*_NAMES)


def of(link: Link) -> StartLimits:
    """Return the limits as entered."""
    hours, cost, price, _ = (link.held(name) for name in _NAMES)
    return StartLimits(hours=hours, cost=cost, price_per_hour=price)


def watts(link: Link) -> float | None:
    """Return the power of this machine under load as entered [W]; None without one."""
    entered: float | None = link.held("watts")
    return entered


def draw(link: Link, currency: str) -> None:
    """Draw the fields."""
    money = {"max_cost": currency, "price_per_hour": f"{currency}/h"}
    with st.grid(4, min_column_width=150):
        for parameter in MEASURE:
            fields.number(link, parameter, empty="none", unit=money.get(parameter.name),
                          step=1.0, format="%.10g")  # fmt: skip
