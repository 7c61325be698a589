"""Assumed values: a field each, with its reason, and the currency."""

from __future__ import annotations

from dataclasses import fields
from datetime import date
from typing import Final

import streamlit as st

from pages.common import hardware, widgets
from pages.common.link import Link, as_text
from pages.compare.inputs import required, shown_otherwise
from planner.answers.comparison import BY_NAME, TARIFF
from planner.catalog import Tariff, tariff_of
from planner.compare import ASSUMPTION_TEXTS, Assumptions
from planner.core.parameters import limits
from planner.cost import SOURCE, reference_rates

_GROUPS: Final = {
    "Electricity": ("tariff_usd_per_kwh", "kg_co2_per_kwh", "pue", "host_watts_share"),
    "A machine that is bought": (
        "host_price_share", "life_years", "residual_share", "rate_of_capital", "upkeep_share",
        "other_hours_per_month", "idle_watts_share",
    ),
    "A machine that is rented": (
        "setup_usd", "startup_s", "minimum_s", "egress_usd", "interruptions_per_hour",
        "lost_work_s", "restart_s",
    ),
    "Uncertainties": ("price_doubt", "stale_price_doubt", "capital_doubt"),
}  # fmt: skip
"""All fields of `Assumptions` except the runs a month, which is drawn above."""


def declare(link: Link) -> None:
    """Declare the initial values of all fields, whether the box is open or not."""
    usual = Assumptions()
    for field in fields(Assumptions):
        assumption, default = ASSUMPTION_TEXTS[field.name], getattr(usual, field.name)
        if default is None or field.name == TARIFF:  # empty: the country's or the default
            link.decimal(field.name, assumption.least, assumption.most, None)
        elif field.name != "runs_per_month":
            required(link, field.name, assumption.least, assumption.most, default)
    catalog = hardware.catalog().catalog

    def code(text: str) -> str:
        tariff = tariff_of(catalog, text)
        return text if tariff is None else tariff.id

    link.translate("country", code)
    link.choice("country", ["", *(t.id for t in catalog.tariffs)], "")
    link.words("currency", "USD", 3)
    link.decimal("rate", *limits(BY_NAME["rate"]), None)
    link.day("rate_as_of")
    required(link, "tax", *limits(BY_NAME["tax"]), 0.0)


def draw(link: Link) -> None:
    """Draw the folded box of assumptions and currency."""
    declare(link)
    box = widgets.folded("What is assumed: electricity, machines, currency", "tune", "compare.box")
    if not box.open:
        return
    country = str(st.session_state[link.key("country")] or "")
    tariff = tariff_of(hardware.catalog().catalog, country) if country else None
    with box:
        _money(link)
        for title, names in _GROUPS.items():
            st.markdown(f"**{title}**")
            with st.grid(3, min_column_width=220):
                for name in names:
                    _field(link, name, tariff)
            if title == "Electricity":
                _whose(link, tariff)
        st.button(
            "Back to the defaults",
            key="compare.defaults",
            icon=":material/undo:",
            on_click=lambda: link.forget(*(n for names in _GROUPS.values() for n in names)),
        )


def _field(link: Link, name: str, tariff: Tariff | None) -> None:
    assumption, default = ASSUMPTION_TEXTS[name], getattr(Assumptions(), name)
    unit = "" if assumption.unit == "1" else f" ({assumption.unit})"
    of_country = {
        TARIFF: tariff.price_usd_per_kwh, "kg_co2_per_kwh": tariff.carbon_kg_per_kwh,
    }.get(name) if tariff else None  # fmt: skip
    empty = _usual(default) if of_country is None or tariff is None else (
        f"{of_country:.4g}, {tariff.country}"
    )  # fmt: skip
    st.number_input(
        f"{assumption.words}{unit}",
        assumption.least,
        assumption.most,
        value=None,
        format="%g",
        placeholder=empty,
        key=link.key(name),
        help=f"{assumption.why[:1].upper()}{assumption.why[1:]}. Default: {_usual(default)}.",
    )


def _whose(link: Link, tariff: Tariff | None) -> None:
    """Draw which price and carbon count: entered, else the country's, else the defaults."""
    typed = st.session_state[link.key(TARIFF)] is not None
    where = tariff.country if tariff else ""
    price = f"the price of {where}" if tariff and tariff.price_usd_per_kwh else "the default price"
    carbon = f"; carbon is that of {where}" if tariff and tariff.carbon_kg_per_kwh else ""
    if st.session_state[link.key("kg_co2_per_kwh")] is not None:
        carbon = "; carbon is your own value"
    whose = "your own price" if typed else f"{price}; enter your own to replace it"
    st.caption(as_text(f"Used here: {whose}{carbon}."))


def _usual(default: float | None) -> str:
    return "unknown" if default is None else f"{default:g}"


def _money(link: Link) -> None:
    """Draw country of electricity, currency, exchange rate and tax."""
    tariffs = {t.id: t.country for t in hardware.catalog().catalog.tariffs}

    def other() -> None:
        shown_otherwise(link)

    def named() -> None:
        link.put("rate", None)  # the rate is that of the previous currency
        link.put("rate_as_of", None)
        shown_otherwise(link)

    reference = reference_rates()
    currency = str(link.held("currency") or "USD")
    currencies = sorted({*reference.per_usd, currency})
    rate = reference.per_usd.get(currency.strip().upper())
    with st.grid(3, min_column_width=220):
        st.selectbox(
            "Electricity price of",
            ["", *tariffs],
            link.place("country", ["", *tariffs]),
            key=link.key("country"),
            format_func=lambda c: tariffs.get(c, "none: the price below"),
        )
        st.selectbox(
            "Currency", currencies, currencies.index(currency), key=link.key("currency"),
            accept_new_options=True, on_change=named,
        )  # fmt: skip
        st.number_input(
            "Exchange rate (per USD)", *limits(BY_NAME["rate"]), value=None, format="%g",
            placeholder="unknown" if rate is None else f"{rate:g}", key=link.key("rate"),
            on_change=other, help=f"Empty: the rate of the {SOURCE} of {reference.as_of}",
        )  # fmt: skip
        st.date_input(
            "Rate date", value=None, min_value=date.min, max_value=date.max,
            key=link.key("rate_as_of"), on_change=other,
        )  # fmt: skip
        st.number_input(
            "Tax added (%)", *limits(BY_NAME["tax"]), link.held("tax"), format="%g",
            key=link.key("tax"), on_change=other,
        )  # fmt: skip
    st.caption("Currency and tax change only how money is shown; estimates are in USD without tax.")
