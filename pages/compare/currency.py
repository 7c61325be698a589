"""The currency of all amounts, in one click."""

from typing import Final

import streamlit as st

from pages.common.link import Link
from pages.compare.inputs import shown_otherwise
from planner.core import Text
from planner.cost import SOURCE, reference_rates

_OFFERED: Final = ("USD", "EUR", "GBP", "JPY", "CHF")
"""The others are under the assumptions."""
_KEY: Final = "compare.money"


def draw(link: Link) -> None:
    """Draw the switch; its rates are those of the bank, with their date."""
    reference = reference_rates()
    now = str(link.held("currency") or "USD").strip().upper()
    offered = list(dict.fromkeys([*_OFFERED, now]))
    if st.session_state.get(_KEY) != now:
        st.session_state[_KEY] = now
    rate = reference.per_usd.get(now)
    used = "" if rate is None or now == "USD" else f" 1 USD = {rate:g} {now}."
    st.segmented_control(
        "Currency",
        offered,
        key=_KEY,
        required=True,
        label_visibility="collapsed",
        width="content",
        on_change=lambda: _change(link),
        help=Text(
            "Rates of the {source} of {as_of}.{used} Others: under “What is assumed”.",
            source=SOURCE,
            as_of=reference.as_of,
            used=used,
        ),
    )


def _change(link: Link) -> None:
    """Show all amounts in the chosen currency, at the bank's rate."""
    link.put("currency", str(st.session_state[_KEY]))
    link.put("rate", None)  # the rate is that of the previous currency
    link.put("rate_as_of", None)
    shown_otherwise(link)
