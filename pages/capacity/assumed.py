"""What a plan assumes: currency, electricity, machines, the horizon of one machine, the seed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Final

import streamlit as st

from pages.common import hardware, widgets
from pages.common.link import Link
from planner.answers import parameters
from planner.catalog import tariff_of
from planner.compare import ASSUMPTION_TEXTS
from planner.core import Parameter, Text, sentence_case
from planner.core.parameters import limits
from planner.cost import reference_rates

_BY_NAME: Final[Mapping[str, Parameter]] = {p.name: p for p in parameters.CAPACITY}
_ASSUMED: Final = tuple(p.name for p in parameters.CAPACITY if p.name in ASSUMPTION_TEXTS)
_OF_PLAN: Final = {"variation": "Scatter of equal runs (%)", "seed": "Seed of the simulation"}
_MONEY: Final = ("country", "currency", "rate", "rate_as_of", "tax")


def draw(link: Link) -> None:
    """Draw the folded box; its values count whether it is open or not."""
    _declare(link)
    box = widgets.folded("Assumed: electricity, machines, currency", "tune", "capacity.assumed")
    if not box.open:
        link.hold(*_ASSUMED, *_OF_PLAN, *_MONEY)
        return
    with box:
        _money(link)
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
        link.decimal(name, *limits(_BY_NAME[name]), None)
    catalog = hardware.catalog().catalog

    def code(text: str) -> str:
        tariff = tariff_of(catalog, text)
        return text if tariff is None else tariff.id

    link.translate("country", code)
    link.choice("country", ["", *(t.id for t in catalog.tariffs)], "")
    link.words("currency", "USD", 3)
    link.decimal("rate", *limits(_BY_NAME["rate"]), None)
    link.day("rate_as_of")
    link.decimal("tax", *limits(_BY_NAME["tax"]), None)


def _money(link: Link) -> None:
    """Draw country of electricity, currency, exchange rate and tax."""
    tariffs = {t.id: t.country for t in hardware.catalog().catalog.tariffs}
    rates = reference_rates().per_usd
    currency = str(link.held("currency") or "USD")
    currencies = sorted({*rates, currency})
    rate = rates.get(currency.strip().upper())
    with st.grid(3, min_column_width=220):
        st.selectbox(
            "Electricity price of", ["", *tariffs], link.place("country", ["", *tariffs]),
            key=link.key("country"), format_func=lambda c: tariffs.get(c, "none: the price below"),
        )  # fmt: skip
        st.selectbox(
            "Currency", currencies, currencies.index(currency), key=link.key("currency"),
            accept_new_options=True,
        )  # fmt: skip
        st.number_input(
            "Exchange rate (per USD)", *limits(_BY_NAME["rate"]), value=None, format="%g",
            placeholder="unknown" if rate is None else f"{rate:g}", key=link.key("rate"),
        )  # fmt: skip
        st.date_input("Rate date", value=None, min_value=date.min, max_value=date.max,
                      key=link.key("rate_as_of"))  # fmt: skip
        st.number_input("Tax added (%)", *limits(_BY_NAME["tax"]), value=None, format="%g",
                        placeholder="0", key=link.key("tax"))  # fmt: skip
