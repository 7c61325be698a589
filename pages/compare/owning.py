"""Total costs of renting and owning over years, at a utilisation that one enters."""

from typing import Final

import streamlit as st

from pages.common import widgets
from pages.common.link import Link
from pages.compare import charts, state
from pages.compare.state import CompareReply
from planner.answers.parameters import UTILISATION
from planner.compare import (
    ASSUMPTION_TEXTS,
    RentOrBuy,
    ownership,
    ownership_sentences,
    runs_at,
    utilisation_at,
)
from planner.compare.comparison import Comparison, Row
from planner.core import Text
from planner.core.parameters import limits

_USE: Final = "compare.owning.use"
_YEARS: Final = "compare.owning.years"


def draw(link: Link, reply: CompareReply, comparison: Comparison) -> None:
    """Draw both fields and the totals; nothing without a rental and a purchase."""
    pair = charts.bought(reply, comparison)
    if pair is None:
        return
    with st.container(border=True):
        widgets.heading("Renting and owning over years")
        with st.container(horizontal=True, vertical_alignment="bottom"):
            _use(link, reply, pair)
            _years(link)
        said = state.drawn(reply, "ownership", "", lambda: _sentences(pair, reply))
        if not said:
            st.caption("The total is unknown: one of its costs is missing.")
            return
        first, second, third = said
        st.markdown(f"{widgets.answer_text(first)}  \n{widgets.answer_text(second)}")
        st.caption(
            widgets.answer_text(
                Text(
                    "{third} The two are the best rental and the best purchase among the options.",
                    third=third,
                )
            )
        )


def _sentences(pair: RentOrBuy, reply: CompareReply) -> tuple[str, ...]:
    totals = ownership(pair)
    return () if totals is None else ownership_sentences(pair, totals, reply.display)


def _use(link: Link, reply: CompareReply, pair: RentOrBuy) -> None:
    """Draw the utilisation of the bought machine: another form of the runs a month."""
    runs = float(link.held("runs_per_month"))
    now = 100.0 * state.drawn(reply, "use", runs, lambda: utilisation_at(pair.buy, runs))
    held = st.session_state.get(_USE)
    if held is None or abs(held - now) > 0.005 * max(now, 1.0):
        st.session_state[_USE] = min(float(f"{now:.2g}"), limits(UTILISATION)[1])
    st.number_input(
        UTILISATION.title(), *limits(UTILISATION), step=5.0, format="%g", key=_USE, width=180,
        help="Share of the time that the bought machine works. It sets the runs a month.",
        on_change=lambda: _used(link, pair.buy),
    )  # fmt: skip


def _used(link: Link, machine: Row) -> None:
    allowed = ASSUMPTION_TEXTS["runs_per_month"]
    runs = runs_at(machine, float(st.session_state[_USE] or 0.0) / 100.0)
    link.put("runs_per_month", float(f"{min(max(runs, allowed.least), allowed.most):.6g}"))


def _years(link: Link) -> None:
    """Draw the years of use: the life of a bought machine."""
    allowed, now = ASSUMPTION_TEXTS["life_years"], float(link.held("life_years"))
    if st.session_state.get(_YEARS) != now:
        st.session_state[_YEARS] = now
    st.number_input(
        "Years", allowed.least, allowed.most, step=1.0, format="%g", key=_YEARS, width=140,
        help="Years of use. The machine is then sold for its residual value.",
        on_change=lambda: link.put("life_years", st.session_state[_YEARS]),
    )  # fmt: skip
