"""Compare hardware: time and cost of accelerators, rented or bought."""

from datetime import datetime

import streamlit as st

from pages.common import narrow, widgets
from pages.common.kept import store
from pages.common.link import Link
from pages.compare import (
    answer,
    catalog,
    charts,
    inputs,
    options,
    owning,
    saved,
    state,
    table,
    tiles,
)
from pages.compare.state import CompareReply
from planner.answers.comparison import asks, compare_parameters, misfits, with_job
from planner.compare.comparison import Comparison
from planner.store import Store


def show() -> None:
    """Draw the page."""
    link = Link("compare")
    shared = store()
    begins = inputs.now()
    st.title("Compare hardware")
    saved.begin(link)
    if link.key("workload") not in st.session_state:
        _begin(link)
    values = narrow.question(link.page)
    with values.inputs:
        inputs.declare(link)  # money is entered in the currency shown
        places = inputs.draw(link, shared, begins)
        if not asks(link.parameters()):  # an empty address means the opening question
            link.pin("workload")
        with places.options:
            chosen = options.draw(link, shared, begins)
        with places.actions:
            if chosen is not None:
                options.all_button()
            options.own_entry(link, shared, begins)
            inputs.draw_deadline(link, begins)
            saved.draw(link)
            inputs.draw_in_short(link)
    saved.made(link)
    reply = _reply(link, shared, chosen, begins)
    values.summary(*tiles.summary(reply))
    if reply is None or reply.answered.comparison is None or reply.wrong_step:
        _empty(link, shared, reply, chosen)
    else:
        _answered(link, shared, reply, reply.answered.comparison, begins)
    inputs.draw_assumptions(link)
    catalog.draw(reply)
    link.write()


def _begin(link: Link) -> None:
    """Complete a question without a job, and note the values that its job has no use for."""
    question = with_job(link.initial)
    if question != link.initial and "saved" not in link.initial:
        link.adopt({name: list(texts) for name, texts in question.items()})
    link.refuse(misfits(compare_parameters(link.initial)[0].values))


def _reply(
    link: Link, shared: Store, chosen: list[str] | None, begins: datetime
) -> CompareReply | None:
    """Return the answer; None where no option is chosen."""
    return state.reply(shared, link.parameters(), begins) if chosen else None


def _answered(
    link: Link, shared: Store, reply: CompareReply, comparison: Comparison, begins: datetime
) -> None:
    charts.declare(link)
    table.declare(link, comparison)
    link.warn()
    widgets.problems(reply.problems)
    saved.since(link, reply)
    saved.state(link, reply)
    sentence = answer.draw(link, shared, reply, comparison, begins)
    with st.container(border=True):
        tab = widgets.open_tab(link, charts.TABS)
        with tab.place:
            if tab.name == "chart":
                charts.time_and_cost(reply, comparison, sentence)
            elif tab.name == "table":
                table.draw(link, reply, comparison, begins)
            else:
                charts.rent_and_buy(link, reply, comparison)
        charts.hold(link, tab.name)
    answer.details(reply, comparison, begins)
    owning.draw(link, reply, comparison)
    answer.draw_next_run(reply, comparison)
    charts.what_matters(link, reply, comparison)
    answer.how_sure(comparison)
    table.sources(comparison)


def _empty(link: Link, shared: Store, reply: CompareReply | None, chosen: list[str] | None) -> None:
    """Draw the page without an answer: no options, or an incomplete or wrong description."""
    link.keep("baseline", "view", "show", "chart", *widgets.OPEN)
    link.warn()
    if reply is not None:
        widgets.problems(reply.problems)
    answer.draw_currency(link)
    if reply is not None and reply.wrong_step:
        answer.wrong_step(link)
        return
    answer.nothing(link, shared, chosen)


if __name__ == "__main__":
    show()
