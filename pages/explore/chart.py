"""The chart of Explore: marked runs are listed below it, a click opens a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import streamlit as st
from numpy.typing import NDArray

from pages.common import narrow, widgets
from pages.common.kept import ROOT
from pages.common.link import Link, as_text, offer
from pages.explore import doors, fields, state
from planner import figures
from planner.answers import explored, plain
from planner.answers.parameters import MOST_CORNERS
from planner.core import Estimate, Refusal, Text, csv_text, paragraph, rounded, several, with_range
from planner.core import plain as plain_number
from planner.explore import (
    CATEGORIES,
    LEAST,
    MOST,
    NOT_STATED,
    NUMBERS,
    ExploreQuestion,
    Fits,
    Points,
)
from planner.figures import Card
from planner.store import Store, queries

KEY: Final = "explore.chart"
TABLE: Final = "explore.table"
Indices = NDArray[np.int64]
MOST_LISTED: Final = queries.MOST_ROWS
_RESULTS: Final = ROOT / "pages" / "results" / "page.py"
_OPENED: Final = "explore.opened"
_SHOWN: Final = {
    "workload": "Workload",
    "global_batch_size": "Batch",
    "samples_per_s": "Samples/s",
    "peak_memory_bytes": "Memory (GB)",
    "devices": "Devices",
    "published_on": "Published",
    "suspect": "Suspect",
    "standing": "Standing",
    "source_url": "Source",
}
"""Columns of the table besides the axes."""


def go_to_opened() -> None:
    """Open the run that was clicked in the last run of the page."""
    run = st.session_state.pop(_OPENED, None)
    if run is not None:
        offer("explore", {"run": [run]})
        st.switch_page(_RESULTS, query_params={"run": run})


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """The marked runs of an answer, or all of them: their table and where they open."""

    marked: Indices
    shown: pa.Table
    doors: Sequence[doors.Door]
    left_out: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudParts:
    """What the open tab shows: the chart with its text, and the runs where they are listed."""

    chart: tuple[figures.ChartSpec, figures.Markup] | None
    listed: Listed | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewParts:
    """The answer of a view, its filters with the chosen names, and its chart if it has one."""

    answer: state.Reply
    tables: dict[str, dict[str, str]]
    chosen: dict[str, list[str]]
    chart: CloudParts | None


def made(link: Link, shared: Store, answer: state.Reply) -> CloudParts | None:
    """Make what the open tab shows; None without a point.

    Runs are listed below the chart where an area is marked or drawn alone, else in a tab of their
    own: a table of hundreds of rows costs the browser as much as the chart.
    """
    points = answer.answer.points
    if points is None or not points.n:
        return None
    on_chart = link.held(widgets.TAB) == "chart"
    lists = points.question.brush or points.question.within or not on_chart
    return CloudParts(
        chart=state.chart(answer, _first_marks(link, answer)) if on_chart else None,
        listed=_listed(shared, answer, points) if lists else None,
    )


def _listed(shared: Store, answer: state.Reply, points: Points) -> Listed:
    runs = answer.answer.runs
    marked = np.flatnonzero(points.brushed | (not points.question.brush)).astype(np.int64)
    rows, listed = points.rows[marked], marked[:MOST_LISTED]
    opens = lambda: doors.doors_of(shared, _few(runs, rows))  # noqa: E731
    pages, left_out = state.once("doors", answer, opens)
    table = lambda: columns_of(runs, points.rows[listed], points, listed)  # noqa: E731
    return Listed(marked=marked, shown=state.once("table", answer, table), doors=pages,
                  left_out=left_out)  # fmt: skip


def draw(link: Link, answer: state.Reply, drawn: CloudParts | None) -> None:
    """Draw the chart with its notes, or the runs; those of a marked area are below the chart."""
    points = answer.answer.points
    if points is None:
        link.hold(*fields.SCALES)
        return
    with st.container(border=True):
        widgets.heading(f"{widgets.answer_text(answer.answer.sentence)}")
        if drawn is None:
            fields.scales(link)
            _symbols(link, points)
            _notes(answer)
            return
        tab = widgets.open_tab(link)
        with tab.place:
            if drawn.chart is not None:
                _chart(link, answer, points, drawn.chart)
            elif drawn.listed is not None:
                link.hold(*fields.SCALES)
                _table(link, answer, points, drawn.listed)
    if drawn.chart is not None and drawn.listed is not None:
        with st.container(border=True):
            _table(link, answer, points, drawn.listed)


def _chart(
    link: Link,
    answer: state.Reply,
    points: Points,
    drawn: tuple[figures.ChartSpec, figures.Markup],
) -> None:
    fields.scales(link)
    _symbols(link, points)
    widgets.marked_chart(
        drawn,
        KEY,
        answer.answer.sentence,
        lambda: _marked(link, answer.answer.runs, points),
        figures.EXPLORE_CONFIG,
    )
    _notes(
        answer,
        "Click a point to open its run. Mark an area with the box or the lasso beside the "
        "chart to list its runs.",
    )
    _fitted(answer)


def _notes(answer: state.Reply, *further: str) -> None:
    """Draw the notes of an answer, each on its own line of one element."""
    if notes := (*answer.answer.notes, *further):
        st.caption("  \n".join(map(as_text, notes)))


def _fitted(answer: state.Reply) -> None:
    """Draw, behind a closed box, the numbers of the fitted curves."""
    fits = answer.answer.fits
    if fits is None or not fits.curves:
        return
    box = widgets.folded("Fitted curves", "show_chart", "explore.fitted")
    if box.open:
        with box:
            narrow.table(curve_rows(fits), "explore.curves", "Fitted parameters of every curve")


def curve_rows(fits: Fits) -> list[dict[str, object]]:
    """Return each curve with the places it was measured at, and its two parameters."""
    unit = "devices" if fits.law == "scaling" else "samples"
    return [
        {
            "Curve": fit.label,
            "Points": fit.points,
            "Measured": Text("{smallest:,.0f} to {largest:,.0f} {unit}", smallest=fit.smallest,
                             largest=fit.largest, unit=unit),
        } | ({
            "Fewest steps": _with_range(fit.min_steps),
            "Critical batch size (samples)": _with_range(fit.critical_batch_size),
        } if fits.law == "steps" else {
            "Asymptotic throughput (samples/s)": _with_range(fit.asymptotic_throughput),
            "Overhead per step (s)": _with_range(fit.overhead_s),
        })
        for fit in fits.curves
    ]  # fmt: skip


def _with_range(estimate: Estimate | Refusal | None) -> str | None:
    if not isinstance(estimate, Estimate):
        return None
    return with_range(float(estimate.value), float(estimate.low), float(estimate.high))


def _symbols(link: Link, points: Points) -> None:
    """Draw the legend of the symbols: a click hides or shows the runs of one.

    The chart's own legend does so for colours. Where both name the same, that one is enough.
    """
    of, key = points.symbol, "explore.symbols"
    if of is None or (points.colour is not None and of.labels == points.colour.labels):
        return
    hidden = [str(name) for name in link.held("hidden_symbols")]
    without = NOT_STATED if NOT_STATED in hidden or (of.codes < 0).any() else ""
    names = [*of.labels, *([without] if without else [])]
    signs = dict(zip(names, figures.symbol_names(of.labels, without), strict=True))
    shown = [name for name in signs if name not in hidden]
    if st.session_state.get(key) != shown:
        st.session_state[key] = shown

    def changed() -> None:
        now = st.session_state[key] or []
        fields.unmark(link)
        link.put("hidden_symbols", [name for name in signs if name not in now])

    st.pills(
        "Symbols", list(signs), selection_mode="multi", key=key, on_change=changed,
        format_func=signs.__getitem__, wrap=True,
    )  # fmt: skip


def _first_marks(link: Link, answer: state.Reply) -> ExploreQuestion:
    """Return the question with the marked area that the chart is drawn with.

    The browser keeps an area that is marked there, so the chart is not sent again for it. It is
    drawn with the area of the link, and with the present one once anything else changes.
    """
    memory = state.session()
    question = answer.answer.question
    base = {n: v for n, v in link.parameters().items() if n not in state.MARKED}
    now = (base, widgets.theme().text)
    if memory.get("chart") != now:
        memory["chart"], memory["marks"] = now, question
    drawn: ExploreQuestion = memory["marks"]  # type: ignore[assignment]
    return drawn


def _marked(link: Link, runs: pa.Table, points: Points) -> None:
    """Take over what is marked in the chart: an area, or a point to open."""
    selection = st.session_state[KEY].selection
    area = next(iter([*selection.box, *selection.lasso]), None)
    if area is None:
        fields.unmark(link)
        if len(selection.points) == 1:
            _open(runs, points, selection.points[0])
        return
    link.put("brush", ",".join(f"{c:.6g}" for c in _corners(area)))
    link.put("brush_in", _panel(points, str(area.get("xref", "x"))))
    link.put("hidden", _hidden(link, points, selection.points))


def _hidden(link: Link, points: Points, seen: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the colours that the legend hides, from the points that the browser found.

    A colour without a point in the area stays as it was.
    """
    if points.colour is None:
        return []
    area = state.marked_now(link, points)[points.drawn]
    inside = set(points.colour.codes[points.drawn][area].tolist())
    places = [place for point in seen if (place := _place(points, point)) is not None]
    visible = set(points.colour.codes[places].tolist())
    before = {str(name) for name in link.held("hidden") or ()}
    names = [*enumerate(points.colour.labels), (-1, NOT_STATED)]
    return [
        name for code, name in names if code not in visible and (code in inside or name in before)
    ]


def _corners(area: Mapping[str, Any]) -> list[float]:
    xs, ys = [float(v) for v in area["x"]], [float(v) for v in area["y"]]
    if len(xs) == 2:
        return [min(xs), min(ys), max(xs), max(ys)]
    every = max(1, -(-len(xs) // MOST_CORNERS))
    return [c for corner in zip(xs[::every], ys[::every], strict=True) for c in corner]


def _panel(points: Points, axis: str) -> str:
    """Return the title of the panel that an axis belongs to; "" without panels."""
    if points.facet is None:
        return ""
    place = int(axis[1:] or 1) - 1
    labels = points.facet.labels
    return labels[place] if place < len(labels) else ""


def _open(runs: pa.Table, points: Points, point: Mapping[str, Any]) -> None:
    place = _place(points, point)
    if place is not None:
        row = int(points.rows[place])
        st.session_state[_OPENED] = runs["run_id"][row].as_py()


def _place(points: Points, point: Mapping[str, Any]) -> int | None:
    """Return the place of a point that the browser reports; None for any other mark."""
    place = point.get("customdata")
    place = place[0] if isinstance(place, list) else place
    return int(place) if isinstance(place, int | float) and 0 <= place < points.n else None


def _table(link: Link, answer: state.Reply, points: Points, drawn: Listed) -> None:
    """Draw the marked runs, or all of the chart; ticked ones can be compared."""
    marked, rows = drawn.marked, points.rows[drawn.marked]
    counted = several(marked.size, "run")
    head = (
        Text("{runs} marked", runs=counted)
        if points.question.brush
        else Text("{runs} on the chart", runs=counted)
    )
    runs = answer.answer.runs
    with widgets.spread():
        widgets.heading(f"{head}", width="content")
        with st.container(horizontal=True, width="content", vertical_alignment="center"):
            _nearer(link, points)
            doors.draw(link, drawn.doors)
    if drawn.left_out:
        st.caption(as_text(drawn.left_out))
    if not rows.size:
        st.caption("No run is in the marked area. Mark another one, or double-click to clear.")
        return
    listed = rows[:MOST_LISTED]
    shown, config = drawn.shown, column_config(points)
    alt = Text("{head}: system, numbers of the axes, source", head=head)
    first = listed[: narrow.first_cards("explore.cards", listed.size)]
    ids = runs["run_id"].take(pa.array(first, pa.int64())).to_pylist()
    narrow.draw_cards("explore.cards", _cards(shown, ids), listed.size)
    with narrow.wide("explore-table"):
        st.dataframe(
            shown,
            hide_index=True,
            placeholder="–",
            key=TABLE,
            on_select="rerun",
            selection_mode="multi-row",
            alt=alt,
            column_config=config,
        )
        widgets.as_text_table(shown, alt, config)
    with widgets.spread():
        cut = Text("The first {most_listed:,} are listed.", most_listed=MOST_LISTED)
        tick = Text("Tick {least} to {most} runs to see them side by side.", least=LEAST, most=MOST)
        with narrow.wide("explore-tick"):
            st.caption(paragraph(cut if rows.size > MOST_LISTED else "", tick))
        with st.container(horizontal=True, width="content"):
            _side_by_side(link, runs, listed)
            widgets.download(
                "CSV",
                lambda: csv_text(_records(answer, marked)),
                "epochwise-explore.csv",
                key="explore.csv",
                width="content",
            )


def _cards(shown: pa.Table, ids: Sequence[str]) -> list[Card]:
    """Return the first runs as cards, whose titles open them: the axes, then the workload."""
    axes = shown.column_names[1:3]
    return [
        Card(
            title=row["System"] or NOT_STATED,
            values=tuple((_in_words(row[name]), name) for name in axes),
            end="suspect" if row.get("Suspect") else "",
            note=row.get("Workload") or "",
            link=f"results?run={run}",
        )
        for run, row in zip(ids, shown.slice(0, len(ids)).to_pylist(), strict=True)
    ]


def _in_words(value: object) -> str:
    return plain_number(value, 4) if isinstance(value, float) else str(value)


def _nearer(link: Link, points: Points) -> None:
    """Draw the buttons that draw the marked area alone, and all runs again."""
    brush = st.session_state[link.key("brush")]

    def nearer() -> None:
        fields.unmark(link)
        link.put("within", brush)

    def everything() -> None:
        fields.unmark(link)
        link.put("within", "")

    if points.question.within:
        st.button("Draw all", key="explore.all", icon=":material/zoom_out:", type="tertiary",
                  on_click=everything)  # fmt: skip
    if brush and points.brushed.any() and not points.groups:
        st.button("Draw only these", key="explore.nearer", icon=":material/zoom_in:",
                  type="tertiary", on_click=nearer)  # fmt: skip


def _few(runs: pa.Table, rows: Indices) -> list[dict[str, Any]]:
    """Return the columns that other pages need of the marked runs."""
    names = ("run_id", "workload", "system", "pattern", "accelerator", "status", "mode",
             "step_time_s", "later_epoch_mean_s")  # fmt: skip
    few: list[dict[str, Any]] = runs.select(names).take(pa.array(rows, pa.int64())).to_pylist()
    return few


def _records(answer: state.Reply, marked: Indices) -> list[dict[str, Any]]:
    record = explored(answer.answer)
    return [plain(record.points[int(i)]) for i in marked]


def _side_by_side(link: Link, runs: pa.Table, listed: Indices) -> None:
    """Draw the button that compares the ticked runs."""
    ticked = [r for r in st.session_state[TABLE].selection.rows if r < len(listed)]

    def compare() -> None:
        ids = runs["run_id"].take(pa.array([listed[r] for r in ticked], pa.int64())).to_pylist()
        link.put("run", ids)
        link.put("pair", [])
        link.put("view", "side")

    def open_run() -> None:
        st.session_state[_OPENED] = runs["run_id"][int(listed[ticked[0]])].as_py()

    if len(ticked) == 1:
        st.button("Open run", icon=":material/open_in_new:", key="explore.open", on_click=open_run)
    right = LEAST <= len(ticked) <= MOST
    st.button(
        Text("Side by side ({ticked})", ticked=len(ticked)) if ticked else "Side by side",
        icon=":material/compare:",
        key="explore.compare",
        disabled=not right,
        on_click=compare,
        type="primary" if right else "secondary",
    )


def columns_of(runs: pa.Table, rows: Indices, points: Points, marked: Indices) -> pa.Table:
    """Return the table: system, the axes, then the usual columns."""
    part = runs.take(pa.array(rows, pa.int64()))
    question = points.question
    columns: dict[str, pa.Array] = {"System": part["system"]}
    for text, values, title in ((question.x, points.x, points.x_title),
                                (question.y, points.y, points.y_title)):  # fmt: skip
        if _is_group(text):
            columns[title] = part[text]
        else:
            columns[title] = _shown(values[marked])
    for name, title in _SHOWN.items():
        if name in (question.x, question.y) or title in columns:
            continue
        values = part[name]
        if values.null_count == len(values):
            continue
        if name == "peak_memory_bytes":
            values = pa.array([None if v is None else v / 1e9 for v in values.to_pylist()])
        columns[title] = _shown(values) if pa.types.is_floating(values.type) else values
    return pa.table(columns)


def _is_group(text: str) -> bool:
    return text in CATEGORIES and text not in NUMBERS


def _shown(values: Iterable[Any]) -> pa.Array:
    """Return numbers with four significant digits; whole ones stay as they are."""
    numbers = [v.as_py() if isinstance(v, pa.Scalar) else float(v) for v in values]
    return pa.array([v if v is None or v.is_integer() else rounded(v, 4) for v in numbers])


def column_config(points: Points) -> dict[str, Any]:
    """Return titles and formats of the table's columns."""
    number = st.column_config.NumberColumn
    axes = ((points.question.x, points.x_title), (points.question.y, points.y_title))
    return {
        **{title: number(format="%,.4g") for name, title in axes if not _is_group(name)},
        "Batch": number(format="localized"),
        "System": st.column_config.TextColumn(pinned=True),
        "Samples/s": number(format="%,.3g"),
        "Memory (GB)": number(format="%,.3g"),
        "Source": st.column_config.LinkColumn(display_text="Open"),
        "Workload": st.column_config.TextColumn(width=260),
    }
