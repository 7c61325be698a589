"""Compare hardware: which accelerator, rented or bought, for how long and for how much."""

from __future__ import annotations

from datetime import datetime

import streamlit as st

from pages.parts import (
    compare_answer,
    compare_assumed,
    compare_catalog,
    compare_charts,
    compare_deadline,
    compare_inputs,
    compare_next,
    compare_options,
    compare_saved,
    compare_state,
    compare_table,
    widgets,
)
from pages.parts.compare_state import Told
from pages.parts.links import Link
from pages.parts.state import store
from planner.compare.description import DESCRIBED, OPENING
from planner.compare.parameters import asks, described_given
from planner.compare.reckon import Comparison
from planner.store import Store


def show() -> None:
    """Draw the page."""
    link = Link("compare")
    shared = store()
    begins = compare_deadline.now()
    st.title("Compare hardware")
    compare_saved.begin(link)
    begun = link.key("workload") in st.session_state or "saved" in link.given
    if not begun and not asks(link.given):
        opening = {name: list(values) for name, values in OPENING.items()}
        link.adopt({**link.given, **opening})
    elif not begun and "workload" not in link.given and "workload" in described_given(link.given):
        link.adopt({**link.given, "workload": [DESCRIBED]})
    compare_assumed.declare(link)  # money is asked for in the currency it is shown in
    compare_inputs.draw(link, shared, begins)
    if not asks(link.parameters()):  # an empty address would ask the opening question
        link.pin("workload")
    chosen = compare_options.draw(link, shared, begins)
    with widgets.actions():
        compare_options.own_entry(link, shared, begins)
        compare_deadline.draw(link, begins)
        compare_saved.draw(link)
    compare_assumed.draw(link)
    compare_saved.made(link)
    told = _told(link, shared, chosen, begins)
    if told is None or told.answered.comparison is None:
        _empty(link, shared, told, chosen)
    else:
        _answered(link, shared, told, told.answered.comparison, begins)
    compare_catalog.draw(told)
    link.write()


def _told(link: Link, shared: Store, chosen: list[str] | None, begins: datetime) -> Told | None:
    """The answer; None where nobody can say what is asked, or nothing is chosen."""
    return compare_state.told(shared, link.parameters(), begins) if chosen else None


def _answered(
    link: Link, shared: Store, told: Told, comparison: Comparison, begins: datetime
) -> None:
    compare_charts.declare(link)
    compare_table.declare(link, comparison)
    link.tell()
    compare_answer.problems(told)
    compare_saved.since(link, told)
    compare_saved.state(link, told)
    sentence = compare_answer.draw(link, shared, told, comparison, begins)
    with st.grid(2, min_column_width=380):  # side by side where the names have room
        compare_charts.time_and_cost(told, comparison, sentence)
        compare_charts.rent_and_buy(link, told, comparison)
    compare_table.draw(link, told, comparison, begins)
    with st.grid(2, min_column_width=380):
        compare_charts.what_matters(told, comparison)
        compare_next.draw(comparison)
    compare_answer.how_sure(comparison)
    compare_table.sources(comparison)


def _empty(link: Link, shared: Store, told: Told | None, chosen: list[str] | None) -> None:
    """No answer: nothing is chosen, the description is not complete, or there is nothing at all."""
    link.keep("baseline", "view", "show", "chart")
    link.tell()
    if told is not None:
        compare_answer.problems(told)
    compare_next.nothing(link, shared, chosen)


if __name__ == "__main__":
    show()
