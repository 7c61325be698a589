"""The fields of Explore: presets, columns or formulas for axes and looks, marks and scales."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import pyarrow as pa
import streamlit as st

from pages.common import fields, widgets
from pages.common.link import Link, Parameters
from pages.explore import state
from planner.answers.parameters import EXPLORE, NONE_CHOSEN
from planner.core import Parameter, Text, query_of, sentence_case
from planner.core.parameters import texts_of_link
from planner.explore import (
    CATEGORIES,
    GROUPED,
    MARKS,
    NUMBERS,
    PRESETS,
    ExploreQuestion,
    law_of,
)
from planner.store import Store

BY_NAME: Final[Mapping[str, Parameter]] = {p.name: p for p in EXPLORE}
LONGEST: Final = 200
"""Letters of a formula."""
FIRST: Final = "memory"
"""The preset that an empty address opens."""
MEASURED: Final = ("x", "y")
SCALES: Final = ("log_x", "log_y", "fit")
BOXED: Final = ("symbol", "size", "facet")
LOOKS: Final = ("colour", *BOXED)
CHART: Final = (
    "x", "y", *LOOKS, "marks", *SCALES, "brush", "brush_in", "hidden", "within",
    "hidden_symbols",
)  # fmt: skip
"""Parameters of the chart."""
_MARKS: Final = {"points": "Points", "lines": "Lines", "box": "Box", "strip": "Strip"}
_NONE: Final = "None"
_EMPTY: Final = "no runs"


def declare(link: Link) -> None:
    """Read the chart's parameters from the link."""
    for name in (*MEASURED, *LOOKS):
        link.words(BY_NAME[name], LONGEST)
    link.choice("marks", MARKS, MARKS[0])
    for name in SCALES:
        link.flag(BY_NAME[name])
    for name in ("brush", "brush_in", "within"):
        link.words(BY_NAME[name])
    for name in ("hidden", "hidden_symbols"):
        link.texts(name, BY_NAME[name].many)


def presets(link: Link, shared: Store) -> None:
    """Draw the presets; the one that is shown is lit."""
    key = "explore.preset"
    lit = _lit(link)
    if st.session_state.get(key) != lit:
        st.session_state[key] = lit

    def pick() -> None:
        if st.session_state[key]:
            link.adopt(preset(shared, st.session_state[key]))

    st.pills(
        "Presets",
        list(PRESETS),
        key=key,
        on_change=pick,
        format_func=lambda name: PRESETS[name].title,
        label_visibility="collapsed",
        wrap=True,
    )


def preset(shared: Store, name: str) -> Parameters:
    """Return the parameters of a preset, with the workload that shows most."""
    chosen = PRESETS[name]
    question = chosen.question
    values = {n: getattr(question, n) or NONE_CHOSEN for n in (*MEASURED, *LOOKS)}
    values |= {"marks": question.marks, "log_x": question.log_x, "log_y": question.log_y}
    parameters: Parameters = dict(texts_of_link(query_of(EXPLORE, values, MEASURED))[1])
    workload = state.usual_workload(shared, name) if chosen.one_workload else ""
    if workload:
        parameters["workload"] = [state.slug_of(shared, workload)]
    return parameters


def _lit(link: Link) -> str | None:
    """Return the preset whose columns and marks the chart has."""
    now = {name: st.session_state[link.key(name)] for name in (*MEASURED, *LOOKS, "marks")}
    for name, chosen in PRESETS.items():
        question = chosen.question
        if all((getattr(question, n) or NONE_CHOSEN) == value for n, value in now.items()):
            return name
    return None


def draw(link: Link, shared: Store) -> None:
    """Draw the fields that most charts use: the axes and the colour."""
    counts = state.counts(shared)
    unmark = lambda: _other_axes(link)  # noqa: E731
    with st.grid(3, min_column_width=132):
        if link.held("marks") in GROUPED:
            field(link, "x", list(CATEGORIES), {}, changed=unmark)
        else:
            field(link, "x", numbers(counts), counts, changed=unmark)
        field(link, "y", numbers(counts), counts, changed=unmark)
        field(link, "colour", [NONE_CHOSEN, *CATEGORIES, *_others(counts)], counts)


def looks(link: Link, shared: Store) -> None:
    """Draw the marks, and a box with symbol, size and panels.

    Each field costs the browser time at every click: a closed box draws none.
    """
    fields.segments(link, "marks", BY_NAME["marks"].title(), {m: _MARKS[m] for m in MARKS},
                    on_change=_marks_changed, args=(link,))  # fmt: skip
    used = sum(link.held(name) != NONE_CHOSEN for name in BOXED)
    label = Text("Symbol, size, panels ({used})", used=used) if used else "Symbol, size, panels"
    box = widgets.popover(label, "palette", "explore.looks")
    if not box.open:
        link.hold(*BOXED)
        return
    counts = state.counts(shared)
    with box:
        field(link, "symbol", [NONE_CHOSEN, *CATEGORIES], {},
              changed=lambda: link.put("hidden_symbols", []))  # fmt: skip
        field(link, "size", [NONE_CHOSEN, *numbers(counts)], counts)
        field(link, "facet", [NONE_CHOSEN, *CATEGORIES], {},
              changed=lambda: _other_axes(link))  # fmt: skip


def scales(link: Link) -> None:
    """Draw the switches of the scales and of the fitted curve, above the chart.

    The browser looks for the first field of an open tab whenever the chart in it changes: without
    one before the chart it looks at every point.
    """
    grouped = link.held("marks") in GROUPED
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        if grouped:
            link.hold("log_x")
        else:
            fields.flag(link, BY_NAME["log_x"])
        fields.flag(link, BY_NAME["log_y"])
        if law_of(ExploreQuestion(x=link.held("x"), y=link.held("y"))) and not grouped:
            fields.flag(link, BY_NAME["fit"])
        else:
            link.hold("fit")


def numbers(counts: Mapping[str, int]) -> list[str]:
    """Return the numbers, those that most runs state first."""
    return sorted(NUMBERS, key=lambda name: -counts[name])


def _others(counts: Mapping[str, int]) -> list[str]:
    return [name for name in numbers(counts) if name not in CATEGORIES]


def field(
    link: Link,
    name: str,
    options: Sequence[str],
    counts: Mapping[str, int],
    *,
    changed: Callable[[], None] | None = None,
) -> None:
    """Draw a field with columns; where formulas are allowed one can be typed."""
    held = str(link.held(name))
    fields.choice(
        link,
        BY_NAME[name],
        [*options, *([held] if held not in options else [])],
        format_func=lambda text: title(text, counts),
        accept_new_options=bool(counts),
        on_change=changed,
    )


def title(text: str, counts: Mapping[str, int]) -> str:
    """Return a column's title, with a note where no run states it; a formula as it is."""
    if text == NONE_CHOSEN:
        return _NONE
    column = CATEGORIES.get(text) if text not in counts else NUMBERS.get(text)
    column = column or CATEGORIES.get(text) or NUMBERS.get(text)
    if column is None:
        return text
    return column.title if counts.get(text, 1) else f"{column.title} ({_EMPTY})"


def _marks_changed(link: Link) -> None:
    """Give box and strip a group on x, and points and lines a number."""
    _other_axes(link)
    grouped, x = st.session_state[link.key("marks")] in GROUPED, st.session_state[link.key("x")]
    if grouped and x not in CATEGORIES:
        link.put("x", "accelerator")
    elif not grouped and x in CATEGORIES and x not in NUMBERS:
        link.put("x", str(BY_NAME["x"].default))


def unmark(link: Link) -> None:
    """Remove the marked area."""
    link.put("brush", "")
    link.put("brush_in", "")
    link.put("hidden", [])


def _other_axes(link: Link) -> None:
    """Remove the areas: they are in the units of the axes."""
    unmark(link)
    link.put("within", "")


def columns(shared: Store) -> None:
    """Draw the list of columns with their units, for formulas."""
    counts = state.counts(shared)
    rows = [
        {"Column": name, "Title": sentence_case(c.title), "Unit in formulas": c.stored_unit or "–",
         "Runs": counts[name], "Meaning": c.meaning}
        for name, c in sorted(NUMBERS.items(), key=lambda pair: -counts[pair[0]])
    ]  # fmt: skip
    table, alt = pa.Table.from_pylist(rows), "Columns for axes and formulas"
    st.dataframe(table, hide_index=True, key="explore.columns", alt=alt)
    widgets.as_text_table(table, alt, {})
