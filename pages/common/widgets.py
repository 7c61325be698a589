"""Elements that several pages draw: chart, table, share button, downloads, empty state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import pyarrow as pa
import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.elements.lib.mutable_expander_container import ExpanderContainer
from streamlit.elements.lib.mutable_popover_container import PopoverContainer

from pages.common.link import Link, as_text
from planner.core import sentence_case
from planner.figures import CONFIG, ChartSpec, UncheckedFigure
from planner.figures.frame import DARK_THEME, LIGHT_THEME, Theme
from planner.store import queries

Width = Literal["stretch", "content"]


def chart(spec: ChartSpec, key: str, alt: str) -> None:
    """Draw a chart in its own colours; `alt` describes it for screen readers."""
    st.plotly_chart(UncheckedFigure(spec), theme=None, key=key, config=CONFIG, alt=alt)


def table(
    rows: Sequence[Mapping[str, object]],
    key: str,
    alt: str,
    *,
    height: Literal["auto", "content"] = "auto",
    row_height: int | None = None,
    column_config: Mapping[str, Any] | None = None,
    column_order: Sequence[str] | None = None,
) -> None:
    """Draw rows as a table; unknown values are dashes, `alt` describes it for screen readers.

    The columns are Arrow arrays: Streamlit converts rows through pandas, which is slower.
    """
    st.dataframe(
        columns_of(rows),
        hide_index=True,
        placeholder="–",
        key=key,
        alt=alt,
        height=height,
        row_height=row_height,
        column_config=column_config,
        column_order=column_order,
    )


def columns_of(rows: Sequence[Mapping[str, object]]) -> pa.Table:
    """Return rows as Arrow columns, in order of first appearance; NaN becomes null.

    A column of mixed types becomes text.
    """
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table({name: _column([row.get(name) for row in rows]) for name in names})


def _column(values: list[object]) -> pa.Array:
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else str(value) for value in values])


CHART_OR_TABLE: Final = (":material/show_chart: Chart", ":material/table_rows: Table")


def chart_or_table() -> tuple[DeltaGenerator, DeltaGenerator]:
    """Return two tabs, the chart and the table of one answer."""
    first, second = st.tabs(CHART_OR_TABLE)
    return first, second


def scale(title: str, key: str) -> None:
    """Draw the title of a chart and the switch between log and linear axes."""
    with st.container(
        horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"
    ):
        st.markdown(f"**{title}**", width="content")
        st.segmented_control(
            "Scale",
            ["log", "linear"],
            default=st.session_state[key],
            key=key,
            required=True,
            format_func=sentence_case,
            label_visibility="collapsed",
        )


def answer_text(sentence: str) -> str:
    """Return a sentence as escaped Markdown; a number and its % sign stay on one line."""
    return as_text(sentence).replace(" %", "\u00a0%")


def share(link: Link, sentence: str, width: Width = "stretch") -> None:
    """Draw a button that shows the answer and the full address of this view, each to copy."""
    with st.popover("Share", icon=":material/link:", width=width):
        st.caption("The answer, to paste")
        st.code(sentence, language=None, wrap_lines=True)
        st.caption("This view, as a link")
        st.code(link.url(), language=None, wrap_lines=True)


_KINDS: Final = {
    "csv": ("text/csv", ":material/download:"),
    "html": ("text/html", ":material/description:"),
    "parquet": ("application/octet-stream", ":material/download:"),
}


def actions() -> DeltaGenerator:
    """Return a row for buttons below an answer; it wraps on a narrow page."""
    return st.container(horizontal=True, vertical_alignment="center")


def download(
    label: str,
    make: Callable[[], bytes | str],
    name: str,
    *,
    key: str,
    width: Width = "stretch",
) -> None:
    """Draw a download named `name`, whose bytes are made at the click."""
    mime, icon = _KINDS[name.rsplit(".", 1)[-1]]
    st.download_button(
        label,
        data=make,
        file_name=name,
        mime=mime,
        icon=icon,
        key=key,
        on_click="ignore",
        width=width,
    )


def cut_short(runs: Sequence[object]) -> None:
    """Draw a note where a list of runs is cut short."""
    if len(runs) >= queries.MOST_RUNS:
        st.caption(f"Only the first {queries.MOST_RUNS:,} runs of this input pattern are used.")


def folded(label: str, icon: str, key: str) -> ExpanderContainer:
    """Return a folded box; draw its content only if `.open`."""
    return st.expander(label, icon=f":material/{icon}:", key=key, on_change="rerun")


def popover(
    label: str,
    icon: str,
    key: str,
    *,
    place: DeltaGenerator | None = None,
    width: Width = "content",
) -> PopoverContainer:
    """Return a button that opens a box; draw its content only if `.open`."""
    where = st if place is None else place
    return where.popover(label, icon=f":material/{icon}:", key=key, width=width, on_change="rerun")


def details() -> DeltaGenerator:
    """Return a closed box for the lines that qualify an answer; they are always drawn."""
    return st.expander("Details", icon=":material/notes:")


def nothing(what: str, why: str, button: str, back: Callable[[], None], *, key: str) -> None:
    """Draw an empty state: what is missing, the cause, one button back."""
    with st.container(border=True):
        st.markdown(f"**{what}**")
        st.caption(why)
        st.button(button, on_click=back, key=key, icon=":material/undo:")


def no_run(page: str) -> None:
    """Draw the empty state of a page without runs."""
    nothing(
        "There is no run yet.",
        "No result folder holds a good run.",
        "Look again",
        lambda: None,
        key=f"{page}.again",
    )


@dataclass(frozen=True, slots=True)
class File:
    """A file that is made at the click: label, function that makes it, name, widget key."""

    label: str
    make: Callable[[], bytes | str]
    name: str
    key: str


def row(files: Sequence[File]) -> None:
    """Draw a button per file, in columns of equal width."""
    for place, file in zip(st.columns(len(files)), files, strict=True):
        with place:
            download(file.label, file.make, file.name, key=file.key)


def theme() -> Theme:
    """Return the dark theme where the browser shows it, else the light one."""
    return DARK_THEME if st.context.theme.type == "dark" else LIGHT_THEME
