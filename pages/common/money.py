"""Fields of country, currency, exchange rate and tax, the same on every page with money."""

from collections.abc import Callable, Mapping
from datetime import date
from typing import Final

import streamlit as st

from pages.common import fields, hardware
from pages.common.link import Link
from planner.answers.comparison import COUNTRY, DISPLAY
from planner.catalog import tariff_of
from planner.core import Parameter, Text
from planner.cost import SOURCE, reference_rates

NAMES: Final = ("country", "currency", "rate", "rate_as_of", "tax")
_BY_NAME: Final[Mapping[str, Parameter]] = {p.name: p for p in DISPLAY}


def declare(link: Link) -> None:
    """Declare all values but the tax, whose empty field each page reads in its own way."""
    catalog = hardware.catalog().catalog

    def code(text: str) -> str:
        tariff = tariff_of(catalog, text)
        return text if tariff is None else tariff.id

    link.translate("country", code)
    link.choice("country", ["", *(t.id for t in catalog.tariffs)], "")
    link.words(_BY_NAME["currency"], 3)
    link.decimal(_BY_NAME["rate"])
    link.day(_BY_NAME["rate_as_of"])


def draw(
    link: Link,
    tax: float | None = None,
    on_currency: Callable[[], None] | None = None,
    on_rate: Callable[[], None] | None = None,
) -> None:
    """Draw the fields; `declare` comes first.

    Args:
        link: the page's parameters.
        tax: initial value [%]; None is an empty field.
        on_currency: called after another currency.
        on_rate: called after another rate, its date or the tax.
    """
    tariffs = {t.id: t.country for t in hardware.catalog().catalog.tariffs}
    reference = reference_rates()
    currency = str(link.held("currency") or "USD")
    currencies = sorted({*reference.per_usd, currency})
    rate = reference.per_usd.get(currency.strip().upper())
    with st.grid(3, min_column_width=220):
        fields.choice(link, COUNTRY, {"": "none: the price below", **tariffs})
        fields.choice(
            link, _BY_NAME["currency"], currencies, accept_new_options=True, on_change=on_currency
        )
        fields.number(
            link, _BY_NAME["rate"], empty="unknown" if rate is None else f"{rate:g}",
            on_change=on_rate,
            help=Text("Empty: the rate of the {source} of {as_of}", source=SOURCE,
                      as_of=reference.as_of),
        )  # fmt: skip
        st.date_input(_BY_NAME["rate_as_of"].title(), value=None, min_value=date.min,
                      max_value=date.max, key=link.key("rate_as_of"),
                      on_change=on_rate)  # fmt: skip
        fields.number(link, _BY_NAME["tax"], empty="0" if tax is None else None, on_change=on_rate)
    if currency.strip().upper() != "USD" and rate is not None and not link.held("rate"):
        st.caption(
            Text("1 USD = {rate:g} {currency} as of {as_of}, {source}. Enter another rate above.",
                 rate=rate, currency=currency.strip().upper(), as_of=reference.as_of, source=SOURCE)
        )  # fmt: skip
