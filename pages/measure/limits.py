"""Limits of a sweep on the Measure page: time, cost; price and power of this machine."""

from typing import Final

import streamlit as st

from pages.common.link import Link
from pages.measure.measuring import StartLimits
from planner.core import Parameter, Text

_NAMES: Final = ("max_hours", "max_cost", "price_per_hour", "watts")
_MOST: Final = 1e6
_LEAST: Final = 1e-3


def declare(link: Link) -> None:
    """Read the limits of the link."""
    for name in _NAMES:
        link.decimal(Parameter(name=name, words="", kind="number", least=_LEAST, most=_MOST))


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
    labels = {
        "max_hours": ("Stop after (h)", "Measuring stops then. Finished runs are kept."),
        "max_cost": (
            Text("Stop at cost ({currency})", currency=currency),
            "Needs a price. Finished runs are kept.",
        ),
        "price_per_hour": (
            Text("Machine price ({currency}/h)", currency=currency),
            "Price of this machine, if rented.",
        ),
        "watts": ("Machine power (W)", "Under load, for the energy where no meter is read."),
    }
    with st.grid(4, min_column_width=150):
        for name, (label, words) in labels.items():
            st.number_input(
                label, min_value=_LEAST, max_value=_MOST, value=None, key=link.key(name),
                help=words, placeholder="none", step=1.0, format="%.10g",
            )  # fmt: skip
