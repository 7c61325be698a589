"""The charts of the page Compare hardware."""

from typing import Final

import streamlit as st

from pages.common import fields, narrow, widgets
from pages.common.link import Link, as_text
from pages.compare import state
from pages.compare.state import CompareReply
from planner import figures
from planner.compare import Influences, RentOrBuy, tornado
from planner.compare.comparison import Comparison
from planner.compare.rent_or_buy import rent_or_buy
from planner.report import comparison_charts as charts

_USES: Final = {"runs": "Runs a month", "use": "Utilisation"}
_NO_MARKS: Final = "No chart: no option has both a time and a cost. The table shows why."


TABS: Final = {**widgets.CHART_OR_TABLE, "use": ":material/balance: Rent or buy"}
_FIELDS: Final = {"table": ("baseline", "view", "show"), "use": ("chart",)}
"""Fields of each tab."""


def declare(link: Link) -> None:
    """Declare the open tab, and the initial value of the switch."""
    widgets.declare_tab(link, TABS)
    widgets.declare_tables(link, ["tornado"])
    link.choice("chart", list(_USES), "runs")


def hold(link: Link, opened: str) -> None:
    """Keep the values of the fields in the closed tabs."""
    link.hold(*(name for tab, names in _FIELDS.items() if tab != opened for name in names))


def time_and_cost(reply: CompareReply, comparison: Comparison, alt: str) -> None:
    """Draw cost against time, with intervals, best trade-offs and limits."""
    theme = widgets.theme()
    figure = state.drawn(
        reply,
        "time and cost",
        theme,
        lambda: charts.time_cost(comparison, reply.display, theme),
    )
    if figure is None:
        st.caption(_NO_MARKS)
    else:
        widgets.chart(figure, "compare.time_cost", alt)


# -- rent or buy -----------------------------------------------------------------------------------


def rent_and_buy(link: Link, reply: CompareReply, comparison: Comparison) -> None:
    """Draw cost against runs a month, or against utilisation of the machine."""
    over = st.session_state[link.key("chart")]
    with st.container():
        with widgets.spread():
            widgets.heading("Cost against use", width="content")
            fields.segments(link, "chart", "Over", _USES)
        rows = charts.compared(comparison)
        if not rows:
            st.caption(_NO_MARKS)
            return
        pair, theme = bought(reply, comparison), widgets.theme()
        slots = charts.colours([r.candidate for r in comparison.rows])
        figure, alt = state.drawn(
            reply,
            "rent or buy",
            (theme, tuple(slots.items()), over),
            lambda: charts.use(comparison, pair, reply.display, theme, by_use=over == "use"),
        )
        widgets.chart(figure, "compare.rent_or_buy", alt)
        if text := charts.use_caption(pair, rows, by_use=over == "use"):
            st.caption(text)


def bought(reply: CompareReply, comparison: Comparison) -> RentOrBuy | None:
    """Return `planner.compare.rent_or_buy.rent_or_buy`, cached per answer."""
    key = ("rent or buy", reply.key, reply.display)
    return state.once(key, lambda: rent_or_buy(comparison, reply.display))


# -- what matters ----------------------------------------------------------------------------------


def what_matters(link: Link, reply: CompareReply, comparison: Comparison) -> None:
    """Draw which uncertain inputs move the answer most."""
    influence: Influences | None = state.once(("tornado", reply.key), lambda: tornado(comparison))
    with st.container(border=True):
        widgets.heading("What matters most")
        if influence is None or not influence.influences:
            st.caption("Nothing about the cost of these options is uncertain.")
            return
        st.caption(as_text(influence.title))
        theme = widgets.theme()
        alt = f"{influence.title}: {_widest(influence)}"
        tab = widgets.chart_or_table("compare.tornado", link=link)
        with tab.place:
            if tab.name == "table":
                bars = charts.influence_bars(influence.influences, reply.display)
                rows = figures.bar_rows(bars, reply.display.currency)
                narrow.table(rows, "compare.tornado-rows", alt)
                return
            figure = state.drawn(
                reply, "tornado", theme, lambda: charts.matters(influence, reply.display, theme)
            )
            widgets.chart(figure, "compare.tornado", alt)


def _widest(influence: Influences) -> str:
    return ", ".join(i.name for i in influence.influences[:3])
