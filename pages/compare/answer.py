"""The answer of the page Compare hardware in words, and the buttons below it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final

import streamlit as st

from pages.common import widgets
from pages.common.link import Link, as_text
from pages.compare import (
    charts,
    described,
    report,
    saved,
)
from pages.compare.deadline import after, in_words
from pages.compare.state import Reply
from planner.compare import (
    basis_words,
    buying,
    electricity_lines,
    electricity_pages,
    limits_sentence,
    sentences,
    session_note,
)
from planner.compare.evaluation import Comparison
from planner.compare.undecided import undecided
from planner.core import Estimate
from planner.store import Store

_BASES: Final = {
    "measured": "measured there",
    "interpolated": "read between measurements there",
    "extrapolated": "measured there and projected",
    "similar workload": "scaled from similar workloads measured there",
    "transferred from another GPU": "transferred from another GPU, unmeasured there",
    "estimated from FLOPs": "estimated from FLOPs, unmeasured there",
    "published": "a published figure",
}
_LIKELY: Final = (
    "“Likely” compares the two options that are named, in 4,096 draws of their times and prices. "
    "The columns “Cheapest of” and “Fastest of” compare each option with all others at once."
)
_MOST_NOT_FITTING: Final = 3
"""Most options without enough memory that are named one by one."""


def draw(link: Link, shared: Store, reply: Reply, comparison: Comparison, begins: datetime) -> str:
    """Draw the answer card and return its first sentence."""
    first, *others = sentences(comparison, reply.display)
    pair = charts.bought(reply, comparison)
    bought = buying(pair) if pair else ""
    keeps = limits_sentence(comparison, until(reply, comparison, begins), reply.display)
    open_question, measure = undecided(comparison)
    with st.container(border=True):
        st.markdown(f"#### {widgets.answer_text(first)}")
        if keeps:
            st.markdown(f":material/event_available: {widgets.answer_text(keeps)}")
        with widgets.actions():
            lines = [" ".join([first, *others]), keeps, bought, open_question, measure]
            widgets.share(link, "\n".join(line for line in lines if line), "content")
            report.draw(link, reply, comparison, begins)
            saved.offer(link, reply)
            described.draw_efficiency(link, shared, comparison)
        with widgets.details():
            for text in others:
                st.markdown(widgets.answer_text(text))
            if others:
                st.caption(_LIKELY)
            if bought:
                st.markdown(f":material/shopping_cart: {widgets.answer_text(bought)}")
            if open_question:
                st.markdown(f":orange[:material/help:] {widgets.answer_text(open_question)}")
                st.markdown(
                    f":blue-badge[:material/speed: measure next] {widgets.answer_text(measure)}"
                )
            _not_fitting(comparison, first)
            _small_print(comparison)
    return first


def until(reply: Reply, comparison: Comparison, begins: datetime) -> str:
    """Return the deadline as a date; "" without one, or beyond the calendar."""
    if reply.by is not None:
        return in_words(reply.by, begins)
    seconds = comparison.question.limits.deadline_s
    if seconds is None:
        return ""
    by = after(seconds, begins)
    return "" if by is None else in_words(by, begins)


def _not_fitting(comparison: Comparison, sentence: str) -> None:
    """Draw the options that do not fit into memory, and what to do."""
    rows = [r for r in comparison.rows if r.timed.fit.fits is False]
    for row in rows[:_MOST_NOT_FITTING]:
        fit = row.timed.fit
        why = "" if fit.sentence in sentence else fit.sentence
        text = f"{row.candidate.label}: {f'{why} {fit.way_out}'.strip()}"
        st.markdown(f":orange[:material/memory:] {widgets.answer_text(text)}")
    left = len(rows) - _MOST_NOT_FITTING
    if left > 0:
        count_text = "One more does" if left == 1 else f"{left} more do"
        st.caption(f"{count_text} not fit either. The table shows what to do.")


def _small_print(comparison: Comparison) -> None:
    """Draw the basis of the first option's time, and notes."""
    leader = comparison.leader
    if leader is not None and isinstance(leader.time, Estimate):
        words = basis_words(leader, comparison.question.goal)
        basis = (
            f"The time of the first is {_BASES[words]}" if words in _BASES else f"Basis: {words}"
        )
        st.caption(as_text(f"{basis}. Intervals: 90\u00a0%."))
    if note := session_note(comparison):
        st.caption(as_text(note))
    question = comparison.question
    for line in electricity_lines(question.assumed, question.electricity):
        st.caption(_with_links(line, electricity_pages(question.electricity)))
    for line in question.notes:
        st.caption(widgets.answer_text(line))


_PLAIN_PAGE: Final = re.compile(r"https://[A-Za-z0-9./_~%?=&#:+,;@-]+")


def _with_links(line: str, pages: Sequence[str]) -> str:
    """Return the line as escaped Markdown; addresses of the catalogue become links."""
    text = widgets.answer_text(line)
    for page in pages:
        if _PLAIN_PAGE.fullmatch(page):
            text = text.replace(
                as_text(page), f"[{as_text(page.removeprefix('https://'))}]({page})"
            )
    return text


def how_sure(comparison: Comparison) -> None:
    """Draw the basis and the fit of every option."""
    box = widgets.folded("How sure each time is, and why", "rule", "compare.sure")
    if box.open:
        with box:
            for row in comparison.rows:
                time = row.time
                if isinstance(time, Estimate):
                    explanation = " ".join(r if r.endswith(".") else f"{r}." for r in time.reasons)
                else:
                    explanation = f"{time.reason} {time.measure_next}"
                words = basis_words(row, comparison.question.goal)
                basis = words if isinstance(time, Estimate) else "no answer"
                st.markdown(f"**{as_text(row.candidate.label)}** · {as_text(basis)}")
                room = row.timed.fit.sentence
                text = explanation if room in explanation else f"{explanation} {room}"
                st.caption(widgets.answer_text(text))


def problems(reply: Reply) -> None:
    """Draw the parts of the question that could not be used."""
    if reply.problems:
        lines = "\n".join(f"- {as_text(p)}" for p in dict.fromkeys(reply.problems))
        st.warning(f"Part of the question could not be used:\n{lines}", icon=":material/rule:")
