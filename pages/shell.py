"""The frame of every page: tab icon, navigation, and the footer.

Every request, also a cold deep link, runs this script first (docs/decisions/0002).
"""

from __future__ import annotations

import streamlit as st

from pages.common import kept, markup, narrow
from pages.common.kept import ROOT, TURNS, at_one_moment, store

PAGES = ROOT / "pages"


def _pages() -> dict[str, list[st.Page]]:
    how_long = PAGES / "how_long" / "page.py"
    return {
        "Plan": [
            st.Page(
                how_long,
                title="How long?",
                icon=":material/timer:",
                url_path="plan",
                default=True,
                help="What N epochs take on each system",
            ),
            # The default page is at / only; links use its name as well.
            st.Page(
                PAGES / "how_long" / "link.py",
                title="How long?",
                icon=":material/timer:",
                url_path="how-long",
                visibility="hidden",
            ),
            st.Page(
                PAGES / "compare" / "page.py",
                title="Compare hardware",
                icon=":material/balance:",
                url_path="compare",
                help="Which accelerator, rented or bought: time, cost, how sure",
            ),
        ],
        "Understand": [
            st.Page(
                PAGES / "throughput" / "page.py",
                title="Throughput",
                icon=":material/show_chart:",
                url_path="throughput",
                help="Samples per second against batch size",
            ),
            st.Page(
                PAGES / "scaling_out" / "page.py",
                title="Scaling out",
                icon=":material/hub:",
                url_path="scaling-out",
                help="Whether more devices or workers pay, and from which batch on",
            ),
            st.Page(
                PAGES / "steps_to_target" / "page.py",
                title="Steps to target",
                icon=":material/flag:",
                url_path="steps-to-target",
                help="From which batch on larger batches give diminishing returns",
            ),
        ],
        "Data": [
            st.Page(
                PAGES / "results" / "page.py",
                title="Results",
                icon=":material/table_rows:",
                url_path="results",
                help="Every run, where it comes from, and what is refused",
            ),
            st.Page(
                PAGES / "measure" / "page.py",
                title="Measure",
                icon=":material/speed:",
                url_path="measure",
                help="What a sweep would cost; start, follow and stop it",
            ),
        ],
        "About": [
            st.Page(
                PAGES / "method" / "page.py",
                title="Method & accuracy",
                icon=":material/fact_check:",
                url_path="method",
                help="How wrong we were; the formulas, what is refused, sources",
            ),
        ],
    }


def _footer() -> None:
    """Draw the amount and date of the data: the same on every page."""
    shared = store()
    totals = kept.totals(shared)
    newest = f"last recorded {totals.newest:%-d %b %Y}" if totals.newest else "no data yet"
    refused = f" · {len(shared.refused)} refused" if shared.refused else ""
    with st.sidebar:
        st.caption(
            f"**Epochwise** · {_several(len(shared.sets), 'result set')} · "
            f"{_several(totals.runs, 'run')}{refused} · {newest}"
        )


def _several(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


st.set_page_config(page_icon=str(PAGES / "icon.png"), layout="wide")
page = st.navigation(_pages())
markup.draw(narrow.STYLE)
with TURNS.turn() as requested_s, at_one_moment(requested_s):
    page.run()
    _footer()
