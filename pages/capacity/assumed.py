"""What a plan assumes: currency, electricity, machines, the horizon of one machine, the seed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import streamlit as st

from pages.common import fields, money, widgets
from pages.common.link import Link
from planner.answers import parameters
from planner.compare import ASSUMPTION_TEXTS
from planner.core import Parameter

_BY_NAME: Final[Mapping[str, Parameter]] = {p.name: p for p in parameters.CAPACITY}
_ASSUMED: Final = tuple(p.name for p in parameters.CAPACITY if p.name in ASSUMPTION_TEXTS)
_OF_PLAN: Final = ("variation", "seed")


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
            for parameter in (_BY_NAME[name] for name in (*_ASSUMED, *_OF_PLAN)):
                usual = parameter.default
                fields.number(
                    link, parameter, empty="of the country" if usual is None else f"{usual:g}"
                )
        st.button(
            "Back to the defaults", key="capacity.defaults", icon=":material/undo:",
            on_click=lambda: link.forget(*_ASSUMED, *_OF_PLAN),
        )  # fmt: skip


def _declare(link: Link) -> None:
    """Declare all values; an empty field is the default."""
    for name in (*_ASSUMED, *_OF_PLAN):
        (link.whole if _BY_NAME[name].kind == "whole" else link.decimal)(_BY_NAME[name])
    money.declare(link)
    link.decimal(_BY_NAME["tax"])
