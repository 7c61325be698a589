"""The answer of the page Compare hardware in words, and what one does with it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import streamlit as st

from pages.parts import compare_charts, compare_report, compare_saved, widgets
from pages.parts.compare_deadline import in_words
from pages.parts.compare_state import Told
from pages.parts.links import Link, as_text
from planner.compare.electricity import electricity_lines
from planner.compare.keeping import keeping_sentence
from planner.compare.reckon import Comparison
from planner.compare.sentences import buying, sentence
from planner.compare.undecided import undecided
from planner.estimate import Estimate

_BASES: Final = {
    "measured": "measured there",
    "interpolated": "read between measurements there",
    "extrapolated": "measured there and projected",
    "similar workload": "scaled from similar workloads measured there",
    "data sheet": "estimated from data sheets: nobody measured it there",
    "published": "a published figure",
}


def draw(link: Link, told: Told, comparison: Comparison, begins: datetime) -> str:
    """The card; the sentence it shows."""
    first = sentence(comparison, told.display)
    pair = compare_charts.bought(told, comparison)
    bought = buying(pair) if pair else ""
    keeps = keeping_sentence(comparison, until(told, comparison, begins), told.display)
    open_question, measure = undecided(comparison)
    with st.container(border=True):
        st.markdown(f"#### {widgets.answer_text(first)}")
        if keeps:
            st.markdown(f":material/event_available: {widgets.answer_text(keeps)}")
        if bought:
            st.markdown(f":material/shopping_cart: {widgets.answer_text(bought)}")
        if open_question:
            st.markdown(f":orange[:material/help:] {widgets.answer_text(open_question)}")
            st.markdown(
                f":blue-badge[:material/speed: measure next] {widgets.answer_text(measure)}"
            )
        _small_print(comparison)
        with widgets.actions():
            said = [first, keeps, bought, open_question, measure]
            widgets.share(link, "\n".join(s for s in said if s), "content")
            compare_report.draw(link, told, comparison, begins)
            compare_saved.offer(link, told)
    return first


def until(told: Told, comparison: Comparison, begins: datetime) -> str:
    """The deadline as a date; "" where there is none, or none that a calendar knows."""
    if told.by is not None:
        return in_words(told.by, begins)
    seconds = comparison.question.wanted.deadline_s
    if seconds is None:
        return ""
    try:
        return f"{begins + timedelta(seconds=seconds):%a %-d %b %Y, %H:%M}"
    except OverflowError:
        return ""


def _small_print(comparison: Comparison) -> None:
    """What the first option's time rests on."""
    leader = comparison.leader
    if leader is not None and isinstance(leader.time, Estimate):
        known = _BASES.get(leader.time.basis, leader.time.basis)
        st.caption(f"The time of the first is {known}. Intervals: 90\u00a0%.")
    question = comparison.question
    for line in (*electricity_lines(question.assumed, question.electricity), *question.notes):
        st.caption(widgets.answer_text(line))


def how_sure(comparison: Comparison) -> None:
    """What every time rests on, option by option."""
    box = widgets.folded("How sure each time is, and why", "rule", "compare.sure")
    if box.open:
        with box:
            for row in comparison.rows:
                told = row.time
                if isinstance(told, Estimate):
                    said = " ".join(r if r.endswith(".") else f"{r}." for r in told.reasons)
                else:
                    said = f"{told.reason} {told.measure_next}"
                basis = told.basis if isinstance(told, Estimate) else "no answer"
                st.markdown(f"**{as_text(row.candidate.label)}** · {basis}")
                st.caption(widgets.answer_text(f"{said} {row.timed.fit.sentence}"))


def problems(told: Told) -> None:
    """What of the question could not be used."""
    if told.problems:
        lines = "\n".join(f"- {as_text(p)}" for p in dict.fromkeys(told.problems))
        st.warning(f"Part of the question could not be used:\n{lines}", icon=":material/rule:")
