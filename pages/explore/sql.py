"""The SQL view of Explore: a read-only query over the runs, its rows, and a chart of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import streamlit as st

from pages.common import fields, hardware, narrow, widgets
from pages.common.link import Link, as_text
from pages.explore.state import SYSTEMS
from planner import figures
from planner.answers import RUN_COLUMNS, SqlAnswer, parameters, sql_answered, sql_records
from planner.core import Text, csv_text, sentence_case, several
from planner.figures import MOST_MARKS, MOST_SERIES, ColourSeries
from planner.store import Store
from planner.store.select import LONGEST, MOST_ROWS, SECONDS

PARAMETERS: Final = ("sql", "sql_form", "sql_x", "sql_y", "sql_colour", "sql_scale")
"""Parameters of the link that this view reads; other views keep them."""
_STATEMENT: Final = parameters.SQL[0]
_FORMS: Final = {
    "table": ":material/table_rows: Table",
    "points": ":material/scatter_plot: Points",
    "lines": ":material/show_chart: Lines",
    "bars": ":material/bar_chart: Bars",
}
_NONE: Final = "none"
_AXES: Final = ("sql_x", "sql_y", "sql_colour")
_SYSTEMS: Final = {*SYSTEMS, "accelerator_model_name", "system_name"}
EXAMPLES: Final[Mapping[str, str]] = {
    "Fastest systems": """\
SELECT system, max(samples_per_s) AS samples_per_s, count(*) AS runs
FROM runs
WHERE model = 'ResNet-50' AND suspect IS NULL AND status = 'ok' AND mode = 'training'
GROUP BY system
ORDER BY samples_per_s DESC
LIMIT 15""",
    "Memory against batch": """\
SELECT global_batch_size, peak_memory_bytes / 1e9 AS peak_memory_gb, model
FROM runs
WHERE peak_memory_bytes IS NOT NULL AND global_batch_size IS NOT NULL
ORDER BY model, global_batch_size""",
    "Runs by source": """\
SELECT result_set, basis, count(*) AS runs, count(DISTINCT workload) AS workloads,
  count(suspect) AS suspect, max(recorded_at) AS recorded
FROM runs
GROUP BY result_set, basis
ORDER BY runs DESC""",
    "Failures": """\
SELECT status, status_reason, count(*) AS runs
FROM runs
WHERE status <> 'ok'
GROUP BY status, status_reason
ORDER BY runs DESC""",
    "Speed per parameter": """\
SELECT params, samples_per_s, device_kind
FROM runs
WHERE params > 0 AND samples_per_s > 0 AND mode = 'training' AND suspect IS NULL""",
}
"""Statements to begin with; the first one is the default."""
_FIRST: Final = next(iter(EXAMPLES.values()))


def show(link: Link, shared: Store) -> None:
    """Draw the view."""
    statement = link.lines(_STATEMENT, _FIRST)
    form = link.choice("sql_form", list(_FORMS), "table")
    _question(link)
    answer = sql_answered(shared, hardware.catalog().catalog, {"sql": [statement]})
    if answer.rows is None:
        link.keep(*_AXES, "sql_scale")
        link.write()
        link.warn()
        st.warning("\n".join(as_text(p.message) for p in answer.problems), icon=":material/block:")
        return
    axes = _axes(link, answer)
    link.choice("sql_scale", ["linear", "log"], "linear")
    link.write()
    link.warn()
    _result(link, answer, form, axes)


def _question(link: Link) -> None:
    """Draw the field of the statement, examples, and the list of columns."""
    key = link.key("sql")
    st.text_area(
        parameters.SQL[0].title(), key=key, height=176, max_chars=LONGEST,
        on_change=lambda: link.forget(*_AXES),
    )  # fmt: skip
    with widgets.actions():
        st.button("Run", key="explore.sql.run", type="primary", icon=":material/play_arrow:")
        for name, text in EXAMPLES.items():
            st.button(
                name, key=f"explore.sql.{name}", type="tertiary",
                on_click=lambda text=text: _take(link, text),
            )  # fmt: skip
        box = widgets.popover("Columns", "view_column", "explore.sql.columns")
        if box.open:
            with box:
                _columns()


def _take(link: Link, text: str) -> None:
    link.forget(*_AXES)
    link.put("sql", text)


def _columns() -> None:
    rows = [
        {"column": c.name, "unit": c.unit or None, "kind": c.kind, "meaning": c.meaning}
        for c in RUN_COLUMNS
    ]
    narrow.table(rows, key="explore.sql.list", alt="Columns of the table runs, with units")
    st.caption(
        Text(
            "Read-only, at most {seconds:g} s and {most_rows:,} rows. Functions of "
            "numbers, texts and times, aggregates, windows, joins and WITH are allowed.",
            seconds=SECONDS,
            most_rows=MOST_ROWS,
        )
    )


def _axes(link: Link, answer: SqlAnswer) -> dict[str, str]:
    """Return the columns on x, y and colour; "" where the result has none that fits."""
    names = [c.name for c in answer.columns]
    numbers = [c.name for c in answer.columns if c.kind == "number"]
    x = link.choice("sql_x", names, names[0])
    others = [n for n in numbers if n != x] or numbers
    y = link.choice("sql_y", numbers, others[0]) if numbers else ""
    texts = [c.name for c in answer.columns if c.kind in {"text", "flag"} and c.name != x]
    usual = next((n for n in texts if _few(answer, n)), _NONE)
    colour = link.choice("sql_colour", [_NONE, *names], usual)
    return {"x": x, "y": y, "colour": "" if colour == _NONE else colour}


def _few(answer: SqlAnswer, name: str) -> bool:
    """Return whether a column has so few values that each gets a colour."""
    table = answer.rows.table if answer.rows else pa.table({})
    return bool(1 < len(pc.unique(table[name])) <= MOST_SERIES < table.num_rows)


def _result(link: Link, answer: SqlAnswer, form: str, axes: dict[str, str]) -> None:
    """Draw the rows as a table or a chart, with downloads."""
    rows = answer.rows
    if rows is None:
        return
    with st.container(border=True):
        with widgets.spread():
            fields.segments(link, "sql_form", "Result", _FORMS)
            with st.container(horizontal=True, width="content", vertical_alignment="center"):
                widgets.heading(several(rows.table.num_rows, "row"), width="content")
                widgets.share(link, answer.statement, "content")
                widgets.download(
                    "CSV", lambda: csv_text(sql_records(answer)), "epochwise-query.csv",
                    key="explore.sql.csv", width="content",
                )  # fmt: skip
        if rows.cut:
            st.caption(
                Text(
                    "Only the first {most_rows:,} rows. Add LIMIT or aggregate.",
                    most_rows=MOST_ROWS,
                )
            )
        if not rows.table.num_rows:
            st.caption("No run matches.")
        elif form == "table":
            _table(answer)
        elif axes["y"]:
            _chart(link, answer, form, axes)
        else:
            st.caption("A chart needs a column of numbers. Select one, such as samples_per_s.")


def _table(answer: SqlAnswer) -> None:
    config: dict[str, Any] = {}
    for column in answer.columns:
        title = _title(answer, column.name)
        real = answer.rows is not None and pa.types.is_floating(
            answer.rows.table.schema.field(column.name).type
        )
        config[column.name] = (
            st.column_config.NumberColumn(title, format="%,.6g")
            if real
            else st.column_config.Column(title)
        )
    if answer.rows is None:
        return
    table, alt = answer.rows.table, Text("Rows of: {statement}", statement=answer.statement)
    titled = table.slice(0, narrow.first_cards("explore.sql.table", table.num_rows)).rename_columns(
        [_title(answer, name) for name in table.column_names]
    )
    with narrow.beside_cards("explore.sql.table", narrow.cards_of(titled.to_pylist()),
                             table.num_rows):  # fmt: skip
        st.dataframe(
            table,
            hide_index=True,
            placeholder="–",
            key="explore.sql.table",
            alt=alt,
            height=430 if table.num_rows > 10 else "content",
            column_config=config,
        )
        widgets.as_text_table(table, alt, config)


def _chart(link: Link, answer: SqlAnswer, form: str, axes: dict[str, str]) -> None:
    names = [c.name for c in answer.columns]
    numbers = [c.name for c in answer.columns if c.kind == "number"]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for label, name, options in (
            ("x", "sql_x", names),
            ("y", "sql_y", numbers),
            ("Colour", "sql_colour", [_NONE, *names]),
        ):
            st.selectbox(
                label, options, index=link.place(name, options), key=link.key(name), width=220
            )
        fields.segments(link, "sql_scale", "Axes", ["linear", "log"], format_func=sentence_case,
                        label_visibility="visible")  # fmt: skip
    series, left_out, every = _series(answer, axes, form)
    if not series:
        st.caption(Text("No row states {year}. Choose another column.", year=as_text(axes["y"])))
        return
    titles = _title(answer, axes["x"]), _title(answer, axes["y"])
    log = st.session_state[link.key("sql_scale")] == "log"
    spec = figures.selected(series, form, titles, widgets.theme(), log=log)  # type: ignore[arg-type]
    widgets.chart(spec, "explore.sql.chart", f"{titles[1]} against {titles[0]}")
    if left_out:
        st.caption(
            Text(
                "{left_out:,} further values of {colour} are not drawn.",
                left_out=left_out,
                colour=as_text(axes["colour"]),
            )
        )
    if every > 1:
        st.caption(Text("One of every {every} rows is drawn.", every=every))


def _series(
    answer: SqlAnswer, axes: dict[str, str], form: str
) -> tuple[list[ColourSeries], int, int]:
    """Return the rows by colour, most first, the number of colours left out, and the thinning."""
    table = answer.rows.table if answer.rows else pa.table({})
    table = table.filter(pc.is_valid(table[axes["y"]]))
    every = 1 if form == "bars" else max(1, -(-table.num_rows // MOST_MARKS))
    table = table.take(np.arange(0, table.num_rows, every))
    y = table[axes["y"]].to_numpy().astype(float)
    x: Any = table[axes["x"]]
    kind = next(c.kind for c in answer.columns if c.name == axes["x"])
    x = x.to_numpy().astype(float) if kind == "number" else np.array(_texts(x), dtype=object)
    groups = np.array(_texts(table[axes["colour"]]) if axes["colour"] else [""] * y.size, object)
    labels, counts = np.unique(groups, return_counts=True)
    order = [labels[k] for k in np.argsort(-counts, kind="stable")]
    series, drawn = [], [str(label) for label in order[:MOST_SERIES]]
    systems = figures.option_slots([(name, name) for name in drawn])
    for place, label in enumerate(drawn):
        slot = systems[label] if axes["colour"] in _SYSTEMS else place
        mine = groups == label
        xs = x[mine] if kind == "number" else list(x[mine])
        series.append(ColourSeries(label=label, slot=slot, x=xs, y=y[mine]))
    return series, max(0, len(order) - MOST_SERIES), every


def _texts(column: pa.ChunkedArray) -> list[str]:
    return ["–" if v is None else str(v) for v in column.to_pylist()]


def _title(answer: SqlAnswer, name: str) -> str:
    unit = next((c.unit for c in answer.columns if c.name == name), None)
    return f"{name} ({unit})" if unit else name
