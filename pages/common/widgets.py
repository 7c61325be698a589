"""Elements that several pages draw: chart, table, share button, downloads, empty state."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar

import numpy as np
import pyarrow as pa
import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.elements.lib.mutable_expander_container import ExpanderContainer
from streamlit.elements.lib.mutable_popover_container import PopoverContainer
from streamlit.elements.lib.mutable_tab_container import TabContainer

from pages.common import markup, saving
from pages.common.addresses import ADDRESSES
from pages.common.kept import still_shown
from pages.common.link import Link, as_text, page_link
from planner.core import Text, sentence_case
from planner.figures import (
    CONFIG,
    ChartSpec,
    Markup,
    UncheckedFigure,
    cell_text,
    chart_text,
    table_text,
)
from planner.figures.as_text import MOST_ROWS
from planner.figures.frame import DARK_THEME, LIGHT_THEME, Theme
from planner.store import queries
from planner.store.kept import Kept

Width = Literal["stretch", "content"]
Made = TypeVar("Made")
_MADE: Final = Kept(96)


def made_of(whole: object, what: Hashable, make: Callable[[], Made]) -> Made:
    """Return what is made of a chart, an Arrow table or a tuple, once for all reruns.

    Only where the page keeps it: then it is one object in all of them. The value holds it, so that
    its id stays its own. A list may change, so that what is made of it is made anew.
    """
    if isinstance(whole, list):
        return make()
    return _MADE.once((id(whole), what), lambda: (whole, make()))[1]


def heading(text: str, width: Width = "stretch") -> None:
    """Draw the title of a card; `text` is Markdown, the answer of a page is larger."""
    st.header(text, anchor=False, width=width)


def spread() -> DeltaGenerator:
    """Return a row whose first part is at its left end and whose last part is at its right end."""
    return st.container(
        horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"
    )


def chart(spec: ChartSpec, key: str, alt: str) -> None:
    """Draw a chart in its own colours; screen readers get `alt` and its points as a table."""
    st.plotly_chart(UncheckedFigure(spec), theme=None, key=key, config=CONFIG, alt=alt)
    markup.draw(made_of(spec, alt, lambda: chart_text(spec, alt)))


def marked_chart(
    drawn: tuple[ChartSpec, Markup],
    key: str,
    alt: str,
    changed: Callable[[], None],
    config: Mapping[str, Any],
) -> None:
    """Draw a chart in which an area or a point can be marked; `changed` is called on each change.

    The marked area is in the session's state under `key`. `drawn` is the chart, and the same as
    text for screen readers.
    """
    spec, text = drawn
    st.plotly_chart(
        UncheckedFigure(spec), theme=None, key=key, config=dict(config), alt=alt,
        on_select=changed, selection_mode=("points", "box", "lasso"),
    )  # fmt: skip
    markup.draw(text)


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
    """Draw rows as a table; unknown values are dashes, screen readers get it as text under `alt`.

    The columns are Arrow arrays: Streamlit converts rows through pandas, which is slower.
    """
    columns = made_of(rows, "columns", lambda: columns_of(rows))
    large = made_of(columns, "large", lambda: tuple(large_columns(columns)))
    thousands = {n: st.column_config.NumberColumn(format="localized") for n in large}
    st.dataframe(
        columns,
        hide_index=True,
        placeholder="–",
        key=key,
        alt=alt,
        height=height,
        row_height=row_height,
        column_config={**thousands, **(column_config or {})},
        column_order=column_order,
    )
    as_text_table(columns, alt, column_config or {}, column_order)


def large_columns(columns: pa.Table) -> Iterator[str]:
    """Yield the columns of numbers that need separators of thousands, and no digit below 0.001."""
    for name, column in zip(columns.column_names, columns.columns, strict=True):
        if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
            sizes = np.abs(column.to_numpy().astype(np.float64))
            sizes = sizes[np.isfinite(sizes) & (sizes > 0.0)]
            if sizes.size and sizes.max() >= 1000.0 and sizes.min() >= 0.001:
                yield name


def as_text_table(
    columns: pa.Table,
    alt: str,
    column_config: Mapping[str, Any],
    column_order: Sequence[str] | None = None,
) -> None:
    """Draw the first rows of a table as text, for screen readers: a table is a canvas."""
    shown = [
        (name, *_head(name, column_config.get(name, name)))
        for name in column_order or columns.column_names
        if name in columns.column_names and column_config.get(name, name) is not None
    ]

    def made() -> Markup:
        rows = columns.select([name for name, _, _ in shown]).slice(0, MOST_ROWS).to_pylist()
        cells = [[cell_text(row[name], form) for name, _, form in shown] for row in rows]
        return table_text(alt, [label for _, label, _ in shown], cells, columns.num_rows)

    markup.draw(made_of(columns, (alt, *shown), made))


def titled(
    rows: Sequence[Mapping[str, object]],
    column_config: Mapping[str, Any],
    column_order: Sequence[str] | None = None,
) -> list[dict[str, str | None]]:
    """Return rows as text, with the titles and in the order of the shown columns."""
    shown = [
        (name, *_head(name, column_config.get(name, name)))
        for name in column_order or dict.fromkeys(name for row in rows for name in row)
        if column_config.get(name, name) is not None
    ]
    return [
        {
            title: None if row.get(name) is None else cell_text(row[name], form)
            for name, title, form in shown
        }
        for row in rows
    ]


def _head(name: str, config: str | Mapping[str, Any]) -> tuple[str, str]:
    """Return label and number format of a column."""
    if isinstance(config, str):
        return config, ""
    form = (config.get("type_config") or {}).get("format")
    return str(config.get("label") or name), form if isinstance(form, str) else ""


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


CHART_OR_TABLE: Final = {
    "chart": ":material/show_chart: Chart",
    "table": ":material/table_rows: Table",
}
"""The tabs of most answers, by their name in a link."""
TAB: Final = "tab"
"""Parameter of the open tab in a link."""
TABLES: Final = "tables"
"""Parameter of the further answers in a link that show their table instead of their chart."""
OPEN: Final = (TAB, TABLES)
"""Parameters of a link that say which tabs are open: no answer depends on them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tab:
    """The open tab: its name, and the place to draw its content; the others are empty."""

    name: str
    place: DeltaGenerator


def declare_tab(
    link: Link, names: Mapping[str, str] = CHART_OR_TABLE, parameter: str = TAB
) -> None:
    """Declare the open tab of a page's answer as a part of its link, the first by default."""
    link.choice(parameter, list(names), next(iter(names)))


def open_tab(link: Link, names: Mapping[str, str] = CHART_OR_TABLE, parameter: str = TAB) -> Tab:
    """Draw the tabs of a page's answer; `declare_tab` comes first.

    Draw the content of the open one only: a click on another draws the page again. Fields of a
    closed tab lose their values unless `Link.hold` keeps them.
    """
    slug = link.key(parameter)

    def put(name: str) -> None:
        st.session_state[slug] = name

    return _linked_tabs(f"{slug}s", names, str(st.session_state[slug]), put)


def declare_tables(link: Link, cards: Sequence[str]) -> None:
    """Declare which further answers of a page show their table as a part of its link."""
    link.choices(TABLES, cards, [])


def chart_or_table(key: str, *, link: Link | None = None) -> Tab:
    """Draw tabs, the chart and the table of a further answer, where `key` is page.card.

    With a link the card is one of `declare_tables`, and the link says which tab is open.
    """
    names = CHART_OR_TABLE
    if link is None:
        return _opened(names, st.tabs(list(names.values()), key=f"{key}-tabs", on_change="rerun"))
    slug, card = link.key(TABLES), key.rpartition(".")[2]
    held = st.session_state[slug]

    def put(name: str) -> None:
        others = [c for c in held if c != card]
        st.session_state[slug] = [*others, card] if name == "table" else others

    return _linked_tabs(f"{key}-tabs", names, "table" if card in held else "chart", put)


def _linked_tabs(key: str, names: Mapping[str, str], name: str, put: Callable[[str], None]) -> Tab:
    """Draw tabs of which a parameter of the link says which is open; `put` sets it at a click."""
    if st.session_state.get(key) != names[name]:
        st.session_state[key] = names[name]
    by_label = {label: name for name, label in names.items()}

    def opened() -> None:
        put(by_label[str(st.session_state[key])])

    return _opened(names, st.tabs(list(names.values()), key=key, on_change=opened))


def _opened(names: Mapping[str, str], tabs: Sequence[TabContainer]) -> Tab:
    both = zip(names, tabs, strict=True)
    name, place = next(((n, tab) for n, tab in both if tab.open), (next(iter(names)), tabs[0]))
    return Tab(name=name, place=place)


def scale(title: str, key: str) -> None:
    """Draw the title of a chart and the switch between log and linear axes."""
    with spread():
        heading(title, width="content")
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


def share(link: Link, sentence: str, width: Width = "stretch", *, saves_views: bool = True) -> None:
    """Draw a button that shows the answer and the address of this view, and one that saves it."""
    with st.popover("Share", icon=":material/link:", width=width):
        st.caption("The answer, to paste")
        st.code(sentence, language=None, wrap_lines=True)
        st.caption("This view, as a link")
        st.code(link.url(), language=None, wrap_lines=True)
    if saves_views:
        saving.offer(link)


_KINDS: Final = {
    "csv": ("text/csv", ":material/download:"),
    "html": ("text/html", ":material/description:"),
    "json": ("application/json", ":material/download:"),
    "zip": ("application/zip", ":material/folder_zip:"),
    "parquet": ("application/octet-stream", ":material/download:"),
}


def actions() -> DeltaGenerator:
    """Return a row for buttons below an answer; it wraps on a narrow page."""
    return st.container(horizontal=True, vertical_alignment="center")


def download(
    label: str, make: Callable[[], bytes | str], name: str, *, key: str, width: Width = "stretch"
) -> None:
    """Draw a download named `name`, whose bytes are made at the click, if it still may be."""
    mime, icon = _KINDS[name.rsplit(".", 1)[-1]]
    still = still_shown()

    def made() -> bytes | str:
        if not still():
            raise PermissionError("Results of this page are not shown to this visitor any more.")
        return make()

    st.download_button(
        label,
        data=made,
        file_name=name,
        mime=mime,
        icon=icon,
        key=key,
        on_click="ignore",
        width=width,
    )


def cut_short(runs: int) -> None:
    """Draw a note where a pattern has more runs than are used."""
    if runs >= queries.MOST_RUNS:
        st.caption(
            Text(
                "Only the first {most_runs:,} runs of this input pattern are used.",
                most_runs=queries.MOST_RUNS,
            )
        )


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
        heading(what)
        st.caption(why)
        st.button(button, on_click=back, key=key, icon=":material/undo:")


def problems(messages: Sequence[str]) -> None:
    """Draw the parts of a question that could not be used, each once."""
    if messages:
        lines = "\n".join(f"- {as_text(message)}" for message in dict.fromkeys(messages))
        st.warning(
            Text("Part of the question could not be used:\n{lines}", lines=lines),
            icon=":material/rule:",
        )


GET_RUNS: Final = "Add results of other programs, or measure this machine."
SOURCES: Final = ("add-results", "measure")
"""Addresses of the pages where runs come from."""


def no_run(page: str) -> None:
    """Draw the empty state of a page without runs: the two ways to get some."""
    with st.container(border=True):
        heading("No runs yet.")
        st.caption(GET_RUNS)
        with st.container(horizontal=True, vertical_alignment="center"):
            for address in (ADDRESSES[path] for path in SOURCES):
                page_link(page, address.script, address.title, address.symbol, {})
            st.button("Look again", key=f"{page}.again", icon=":material/undo:")


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
