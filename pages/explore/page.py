"""Explore: any numeric column of the runs against any other."""

from __future__ import annotations

from typing import Final

import streamlit as st

from pages.common import handout, narrow, run_filters, widgets
from pages.common.fields import segments
from pages.common.kept import store
from pages.common.link import Link, as_text
from pages.common.run_filters import TITLES
from pages.explore import chart, fields, pivot, report, side, sql, state, views
from planner.answers import ExploreAnswer
from planner.answers.parameters import NONE_CHOSEN
from planner.core import Text
from planner.store import Store

CHART: Final = "chart"
PIVOT: Final = "pivot"
SIDE: Final = "side"
VIEWS: Final = {
    CHART: "Chart",
    PIVOT: "Pivot",
    SIDE: "Side by side",
    "sql": "SQL",
    "saved": "Saved views",
}
_OWN: Final = {
    CHART: (*fields.CHART, *TITLES, widgets.TAB),
    PIVOT: (*pivot.PARAMETERS, *TITLES, widgets.TAB),
    SIDE: side.PARAMETERS,
    "sql": sql.PARAMETERS,
    "saved": views.PARAMETERS,
}
"""Parameters of each view; the others keep them in the link."""


def show() -> None:
    """Draw the page."""
    link = Link("explore")
    shared = store()
    chart.go_to_opened()
    if not link.initial and link.key("view") not in st.session_state:
        link.adopt(fields.preset(shared, fields.FIRST))
    view = link.choice("view", VIEWS, CHART)
    others = {name for names in _OWN.values() for name in names}
    link.keep(*sorted(others - set(_OWN[view])))
    if view in (CHART, PIVOT):
        widgets.declare_tab(link)
    asks = view in (CHART, PIVOT, SIDE) and bool(len(state.runs_of(shared)))
    made = _made(link, shared, view) if asks else None
    st.title("Explore")
    label = fields.BY_NAME["view"].title()
    segments(link, "view", label, VIEWS, on_change=lambda: _opened(link, shared))
    if view == "sql":
        sql.show(link, shared)
    elif view == "saved":
        views.show(link, shared)
    elif made is not None:
        _answered(link, shared, view, made)
    else:
        link.keep(*_OWN[view])
        link.write()
        link.warn()
        widgets.no_run("explore")


def _opened(link: Link, shared: Store) -> None:
    """Give a pivot table that a click opens a measure that the filtered runs state."""
    if st.session_state[link.key("view")] != PIVOT:
        return
    now = {n: v for n, v in link.parameters().items() if n in (*pivot.PARAMETERS, *TITLES, "y")}
    pinned = {"measure": now.pop("y", [str(fields.BY_NAME["y"].default)])}
    for changed in ({}, pinned, pinned | {"columns": [NONE_CHOSEN]}):
        made = state.reply(shared, now | changed | {"view": [PIVOT]}).answer.pivot
        if made is not None and made.table.runs:
            for name, [value] in changed.items():
                link.put(name, value)
            return
    link.forget(*TITLES)


def _made(link: Link, shared: Store, view: str) -> chart.ViewParts:
    """Read the question and make what the page shows, before it draws anything.

    A browser paints a page anew for each part that comes: so all parts come together.
    """
    tables: dict[str, dict[str, str]] = {}
    if view == SIDE:
        side.declare(link)
    else:
        (fields if view == CHART else pivot).declare(link)
        tables = run_filters.options(link, shared)
    chosen = {name: link.choices(name, tables[name], []) for name in TITLES if tables}
    answer = state.reply(shared, _question(link, view))
    drawn = chart.made(link, shared, answer) if view == CHART else None
    return chart.ViewParts(answer=answer, tables=tables, chosen=chosen, chart=drawn)


def _answered(link: Link, shared: Store, view: str, made: chart.ViewParts) -> None:
    """Draw a view that asks about the runs."""
    values = None if view == SIDE else narrow.question(link.page)
    if values is not None:
        with values.inputs:
            _fields(link, shared, view, made)
    link.write()
    link.warn()
    answer = made.answer
    if values is not None:
        values.summary(_summary(answer.answer))
    for problem in answer.answer.problems:
        st.warning(as_text(str(problem)), icon=":material/error:")
    if view == CHART:
        chart.draw(link, answer, made.chart)
    elif view == PIVOT:
        pivot.draw(link, answer)
    else:
        side.draw(link, shared, answer)
    with widgets.actions():
        widgets.share(link, answer.answer.sentence or VIEWS[view], "content")
        if make := report.of_answer(link.url(), answer.answer, shared):
            handout.draw("explore", make)
        if view != SIDE:
            box = widgets.popover("Columns", "view_column", "explore.columns_box")
            if box.open:
                with box:
                    fields.columns(shared)


def _fields(link: Link, shared: Store, view: str, made: chart.ViewParts) -> None:
    """Draw the fields of the chart or of the pivot table, and the filters of both."""
    if view == CHART:
        link.pin(*fields.MEASURED)
    with st.container(border=True):
        if view == CHART:
            fields.presets(link, shared)
            fields.draw(link, shared)
        else:
            pivot.draw_fields(link, shared)
        with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
            if view == CHART:
                fields.looks(link, shared)
            _filters(link, made.tables, made.chosen)
        if any(made.chosen.values()):
            st.caption(as_text(_chosen_names(made)))


def _filters(link: Link, tables: dict[str, dict[str, str]], chosen: dict[str, list[str]]) -> None:
    """Draw the filters in a box: a closed one draws none, so that a click is answered at once."""
    active = sum(bool(values) for values in chosen.values())
    label = Text("Filters ({active})", active=active) if active else "Filters"
    box = widgets.popover(label, "filter_alt", "explore.more")
    if active:
        st.button(
            "Clear filters",
            icon=":material/filter_alt_off:",
            key="explore.clear",
            on_click=lambda: link.forget(*TITLES),
        )
    useful = run_filters.useful(tables, chosen) if box.open else {}
    link.hold(*(name for name in TITLES if name not in useful))
    if box.open:
        with box:
            for name in (n for n in TITLES if n in useful):
                run_filters.field(link, name, list(useful[name]), useful[name].__getitem__)


def _chosen_names(made: chart.ViewParts) -> str:
    """Return what the filters let through, such as 'Workload: BERT · Batch size: 64, 128'."""
    return " · ".join(
        f"{TITLES[name]}: {', '.join(made.tables[name][v] for v in values)}"
        for name, values in made.chosen.items()
        if values
    )


def _summary(answer: ExploreAnswer) -> str:
    """Return what is drawn in one line, for a telephone."""
    if answer.points is not None:
        return f"{answer.points.y_title} · {answer.points.x_title}"
    return "The fields" if answer.pivot is None else answer.pivot.title


def _question(link: Link, view: str) -> dict[str, list[str]]:
    """Return the parameters that the view's answer depends on."""
    own = {*_OWN[view], "view"} - {"only_differences", widgets.TAB}
    return {name: texts for name, texts in link.parameters().items() if name in own}


if __name__ == "__main__":
    show()
