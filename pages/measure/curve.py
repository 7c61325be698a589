"""Throughput against batch size of a sweep's runs, as they arrive."""

from __future__ import annotations

from typing import Final

import streamlit as st

from pages.common import kept, narrow, widgets
from pages.common.curve_lines import lines
from planner import figures
from planner.core import Text
from planner.store import Store
from planner.throughput import curve_sentence

MOST: Final = 10
"""Most curves of the chart: it has as many colours."""


def draw(shared: Store, result_set: str) -> None:
    """Draw the curves of a result set; nothing without a timed run."""
    everything = kept.curves_of_set(shared, result_set)
    if not everything:
        return
    chosen, systems = everything[:MOST], [curve.runs[0].system for curve in everything]
    widgets.heading("Samples per second against batch size")
    narrow.chart_and_table(
        figures.throughput(lines(chosen, systems, {}), widgets.theme(), log=True),
        f"measure.curve.{result_set}",
        " ".join(curve_sentence(curve) for curve in chosen),
    )
    if len(everything) > MOST:
        st.caption(
            Text(
                "{most} of {everything} curves. Throughput shows the others.",
                most=MOST,
                everything=len(everything),
            )
        )
