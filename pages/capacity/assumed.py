"""What a plan assumes: currency, electricity, machines, the horizon of one machine, the seed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import streamlit as st

from pages.common import money, widgets
from pages.common.link import Link
from planner.answers import parameters
from planner.compare import ASSUMPTION_TEXTS
from planner.core import Parameter, Text, sentence_case
from planner.core.parameters import limits

_BY_NAME: Final[Mapping[str, Parameter]] = {p.name: p for p in parameters.CAPACITY}
_ASSUMED: Final = tuple(p.name for p in parameters.CAPACITY if p.name in ASSUMPTION_TEXTS)
_OF_PLAN: Final = {"variation": "Scatter of equal runs (%)", "seed": "Seed of the simulation"}


def draw(link: Link) -> None:
    """Draw the folded box; its values count whether it is open or not."""
    _declare(link)
    box = widgets.folded("Assumed: electricity, machines, currency", "tune", "capacity.assumed")
    if not box.open:
        link.hold(*_ASSUMED, *_OF_PLAN, *money.NAMES)
        return
    with box:
        money.draw(link)
        with st.grid(3, min_column_width=220):
            for name in _ASSUMED:
                text = ASSUMPTION_TEXTS[name]
                unit = "" if text.unit == "1" else f" ({text.unit})"
                usual = _BY_NAME[name].default
                st.number_input(
                    f"{text.words}{unit}",
                    float(text.least),
                    float(text.most),
                    value=None,
                    format="%g",
                    placeholder="of the country" if usual is None else f"{usual:g}",
                    key=link.key(name),
                    help=Text("{words}.", words=sentence_case(text.why)),
                )
            for name, label in _OF_PLAN.items():
                low, high = map(float, limits(_BY_NAME[name]))
                step = 1.0 if name == "seed" else None
                st.number_input(
                    label,
                    low,
                    high,
                    value=None,
                    step=step,
                    format="%g",
                    key=link.key(name),
                    placeholder=f"{_BY_NAME[name].default:g}",
                    help=Text("{words}.", words=_BY_NAME[name].words),
                )
        st.button(
            "Back to the defaults", key="capacity.defaults", icon=":material/undo:",
            on_click=lambda: link.forget(*_ASSUMED, *_OF_PLAN),
        )  # fmt: skip


def _declare(link: Link) -> None:
    """Declare all values; an empty field is the default."""
    for name in (*_ASSUMED, *_OF_PLAN):
        link.decimal(_BY_NAME[name])
    money.declare(link)
    link.decimal(_BY_NAME["tax"])
