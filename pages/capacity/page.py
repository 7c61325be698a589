"""Capacity: which machines for a month of jobs, what they cost, how long runs wait."""

from __future__ import annotations

import streamlit as st

from pages.capacity import answer, fleet, jobs, state, tables
from pages.common import narrow, widgets
from pages.common.kept import store
from pages.common.link import Link, as_text
from planner.answers import CapacityQuestion
from planner.capacity import CapacityAnswer
from planner.core import Text, plain, plural


def show() -> None:
    """Draw the page."""
    link = Link("capacity")
    shared = store()
    link.state("preset", "months", "probability")
    st.title("Capacity")
    folded = narrow.question(link.page)
    with folded.inputs:
        texts = jobs.draw(link)
        fleet.draw(link)
        fleet.draw_assumed(link)
    answer.declare(link)
    link.write()
    link.warn()
    of_link = link.parameters() | {"jobs": texts}
    of_link = {name: list(values) for name, values in of_link.items() if name not in _VIEW}
    if not texts:
        widgets.nothing("There is no job.", "Add a row, paste a table, or take a preset.",
                        "Take the first preset", lambda: link.forget("jobs", "preset"),
                        key="capacity.none")  # fmt: skip
        return
    question = state.question_of(of_link)
    folded.summary(*_summary(question))
    if question.problems:
        _problems(CapacityAnswer(sentence="", keeps=False, problems=question.problems))
        return
    reply = state.reply(shared, of_link, question)
    if presets := jobs.others(of_link):
        state.prepare(shared, presets)
    if reply.answer.problems:
        _problems(reply.answer)
        return
    answer.draw(link, reply)


_VIEW = frozenset({"chart", "preset", tables.LIST, *widgets.OPEN})
"""Parameters of the link that the answer does not depend on: the jobs of a preset are written."""


def _summary(question: CapacityQuestion) -> tuple[str, ...]:
    """Return the question in a few words: jobs, runs, months, and own machines."""
    runs = sum(job.runs_a_month for job in question.jobs)
    own = sum(stock.count for stock in question.fleet.stocks)
    return (
        plural(len(question.jobs), "{count} job", "{count} jobs"),
        Text("{runs} runs a month", runs=plain(runs, 3)),
        Text("{months} months", months=question.horizon.months),
        *(() if question.fleet.find else (Text("fleet of {own}", own=own),)),
    )


def _problems(of: CapacityAnswer) -> None:
    """Draw all problems of a question."""
    lines = "\n".join(f"- {as_text(str(p))}" for p in of.problems)
    st.warning(
        Text("This question has no answer yet:\n{lines}", lines=lines), icon=":material/error:"
    )


if __name__ == "__main__":
    show()
