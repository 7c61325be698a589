"""The targets that a page offers: the defaults, and the link's own."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.common.link import Link
from planner.answers.comparison import BY_NAME
from planner.core import text_of, value_of


def offered(link: Link, values: Sequence[float], workload: str) -> dict[str, float]:
    """Return targets by text, from easy to strict; the link's own target stays for its workload.

    Links of programs may hold any target.
    """
    values_by_text = {f"{t:.6g}": t for t in values}
    place = f"{link.page}.target-of-link"
    if link.key("target") not in st.session_state:
        st.session_state.pop(place, None)
        for text in link.initial.get("target", [])[:1]:
            value, wrong = value_of(BY_NAME["target"], text)
            if not wrong:
                short = f"{value:.6g}" if f"{value:.6g}" in values_by_text else text_of(value)
                link.translate("target", lambda _, short=short: short)  # type: ignore[misc]
                st.session_state[place] = workload, short
    of, own = st.session_state.get(place, ("", ""))
    if of != workload or own in values_by_text or not values_by_text:
        return values_by_text
    falling = len(values) > 1 and values[0] > values[-1]
    every = values_by_text | {own: float(own)}
    return dict(sorted(every.items(), key=lambda pair: pair[1], reverse=falling))
