"""The table of jobs: edited in place, pasted from a spreadsheet, loaded from a file, presets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import streamlit as st

from pages.capacity import state
from pages.common import kept, narrow, widgets
from pages.common.link import Link, Parameters, as_text
from pages.visitor.sending import accept_files
from planner.answers import parameters
from planner.answers.capacity_jobs import (
    TITLES,
    RowProblem,
    job_of_text,
    job_text,
    jobs_csv,
    jobs_of_texts,
    presets,
    read_jobs,
    text_cells,
)
from planner.capacity import MOST_JOBS
from planner.core import Parameter, Text, number_text, parsed, sentence_case, text_of
from planner.networks import networks

_ALT: Final = "Jobs: a row for each kind of run, edited in place"
_USUAL: Final = (
    "name", "network", "total_tokens", "epochs", "runs", "within", "accelerators", "interruptible",
    "growth", "training", "precision", "samples", "workload", "target",
)  # fmt: skip
"""Columns that are always there; others where a job uses them, and a measured workload in front."""
_WIDTHS: Final = {"name": 165, "network": 120, "runs": 108, "within": 92, "epochs": 82,
                  "total_tokens": 112, "samples": 92, "training": 96, "precision": 100,
                  "accelerators": 72, "interruptible": 80, "growth": 112,
                  "workload": 200, "target": 84}  # fmt: skip
_PRESETS: Final = "capacity.presets"
"""Session key of the box of presets."""
_PASTE: Final = "capacity.paste"
_FILE: Final = "capacity.csv"
_PROBLEMS: Final = "capacity.table-problems"
MOST_PROBLEMS: Final = 8
_BY_NAME: Final[Mapping[str, Parameter]] = {p.name: p for p in parameters.JOB}
_PRESET: Final = next(p for p in parameters.CAPACITY if p.name == "preset")


def draw(link: Link) -> list[str]:
    """Draw the card of the jobs; return the texts of finished ones."""
    texts = link.texts("jobs", MOST_JOBS)
    names = list(presets())
    link.choice("preset", names, str(_PRESET.default))
    if not texts:
        texts = [job_text(j) for j in presets()[str(link.held("preset"))]]
    with st.container(border=True):
        # on the left: the tool bar of the table covers what is above its right end
        with st.container(horizontal=True, vertical_alignment="center"):
            widgets.heading("Jobs", width="content")
            _buttons(link, names, texts)
        _editor(link, texts)
        wrong = _problems(texts)
    return [text for text in texts if text not in wrong]


def others(values: Parameters) -> list[Parameters]:
    """Return the questions of the presets while they are shown: a click asks one of them."""
    if not st.session_state.get(_PRESETS):
        return []
    return [{**values, "jobs": [job_text(j) for j in jobs]} for jobs in presets().values()]


def _buttons(link: Link, names: Sequence[str], texts: Sequence[str]) -> None:
    """Draw presets, the field to paste into, the file to load and the file to keep."""
    box = widgets.popover("Presets", "list_alt", _PRESETS)
    if box.open:
        with box:
            for name in names:
                jobs = presets()[name]
                st.button(
                    sentence_case(name.replace("-", " ")), key=f"capacity.preset.{name}",
                    help=", ".join(j.name for j in jobs), width="stretch",
                    on_click=lambda name=name: _preset(link, name),
                )  # fmt: skip
    box = widgets.popover("Paste", "content_paste", "capacity.paste-box")
    if box.open:
        with box:
            _paste(link)
    box = widgets.popover("CSV", "upload_file", "capacity.csv-box")
    if box.open:
        with box:
            accept_files()
            st.file_uploader(
                "A table of jobs (CSV)", type=["csv", "tsv", "txt"], key=_FILE,
                on_change=lambda: _load(link), max_upload_size=1,
            )  # fmt: skip
            _table_problems()
            # made at the click, where the session cannot be read
            widgets.download("Save these jobs", lambda: jobs_csv(list(jobs_of_texts(texts)[0])),
                             "epochwise-jobs.csv", key="capacity.jobs.csv")  # fmt: skip


def _paste(link: Link) -> None:
    st.text_area(
        "Cells of a spreadsheet, with a head", key=_PASTE, height=160,
        placeholder="name\tnetwork\ttotal_tokens\truns\twithin\nFine-tune\tllama-3-8b\t100M\t120\t4",
    )  # fmt: skip
    st.button("Use these jobs", key="capacity.paste.use", type="primary",
              on_click=lambda: _take(link, str(st.session_state.get(_PASTE) or "")))  # fmt: skip
    _table_problems()
    st.caption(
        Text(
            "Columns: {by_name}, network, workload, epochs, total_tokens, target, and "
            "every parameter of Compare hardware.",
            by_name=", ".join(list(_BY_NAME)[:6]),
        )
    )


def _load(link: Link) -> None:
    """Take the jobs of an uploaded file."""
    upload = st.session_state.get(_FILE)
    if upload is None:
        st.session_state.pop(_PROBLEMS, None)
        return
    try:
        text = upload.getvalue().decode("utf-8")
    except UnicodeDecodeError:
        text = upload.getvalue().decode("latin-1")
    _take(link, text)


def _take(link: Link, text: str) -> None:
    """Replace the jobs by those of a table; keep them where it has a problem."""
    table = read_jobs(text)
    st.session_state[_PROBLEMS] = table.problems
    if not table.problems:
        link.put("jobs", [job_text(j) for j in table.jobs])


def _table_problems() -> None:
    """Draw all problems of the table that was pasted or loaded last."""
    problems: tuple[RowProblem, ...] = st.session_state.get(_PROBLEMS, ())
    if problems:
        st.warning("The table was not imported. Correct these cells:")
        narrow.table(
            [{"Row": p.row or None, "Column": p.column, "Rule": p.rule, "Fix": p.fix}
             for p in problems],
            key="capacity.wrong-cells", alt="Problems of the table, with row, column, rule and fix",
        )  # fmt: skip


def _preset(link: Link, name: str) -> None:
    link.put("jobs", [])
    link.put("preset", name)
    st.session_state.pop(_PROBLEMS, None)


def _problems(texts: Sequence[str]) -> set[str]:
    """Draw what unfinished rows lack; return their texts."""
    by_text = {text: job_of_text(text, n).problems for n, text in enumerate(texts, start=1)}
    problems = [p for wrong in by_text.values() for p in wrong]
    if problems:
        lines = [f"- {as_text(str(p))}" for p in problems[:MOST_PROBLEMS]]
        left = len(problems) - MOST_PROBLEMS
        lines += [Text("- and {left} more", left=left)] if left > 0 else []
        st.warning("Rows left out:\n" + "\n".join(lines), icon=":material/edit:")
    return {text for text, wrong in by_text.items() if wrong}


# -- the table -----------------------------------------------------------------------------------


def _editor(link: Link, texts: Sequence[str]) -> None:
    """Draw the table. It keeps its own edits, and begins anew with jobs from elsewhere."""
    memory = state.session()
    begun = memory.get("jobs")
    if begun is None or begun["texts"] != list(texts):
        number = 0 if begun is None else begun["number"] + 1
        begun = memory["jobs"] = {
            "number": number, "rows": [_cells(t) for t in texts], "texts": list(texts),
            "first": tuple(texts),
        }  # fmt: skip
    rows: list[dict[str, str]] = begun["rows"]
    used = {name for row in rows for name in row}
    columns = list(_USUAL)
    if "workload" in used:
        columns.remove("workload")
        columns.insert(2, "workload")
    columns += [p.name for p in parameters.JOB if p.name in used and p.name not in columns]
    key = f"capacity.jobs.{begun['number']}"

    def edited() -> None:
        written = edited_rows(rows, st.session_state[key])
        now = [_text(cells) for cells in written if any(cells.values())]
        begun["texts"] = now
        link.put("jobs", now)

    def made() -> tuple[Any, dict[str, Any]]:
        cells = {n: _column(n, [row.get(n, "") for row in rows]) for n in columns}
        frame = pa.table(cells).to_pandas()  # the editor converts an Arrow table anew each time
        return frame, {n: _config(n, rows) for n in columns}

    def as_edited() -> pa.Table:
        return widgets.columns_of(
            [{TITLES[n]: row.get(n) for n in columns} for row in map(_cells, texts)]
        )

    frame, config = kept.drawn(kept.store(), "jobs", begun["first"], made)
    st.data_editor(
        frame, key=key, on_change=edited, num_rows="dynamic", hide_index=True, row_height=34,
        placeholder="", column_config=config, alt=_ALT,
    )  # fmt: skip
    widgets.as_text_table(
        kept.drawn(kept.store(), "jobs as text", tuple(texts), as_edited), _ALT, {}
    )


def _cells(text: str) -> dict[str, str]:
    """Return the cells of a job; large numbers are short, as 20M, and durations are hours."""
    cells = text_cells(text)
    for name, cell in cells.items():
        parameter = _BY_NAME.get(name)
        if parameter is None or parameter.kind != "number":
            continue
        value, wrong = parsed(parameter, cell)
        if not wrong:
            cells[name] = number_text(value) if parameter.short else text_of(value)
    return cells


def edited_rows(
    rows: Sequence[Mapping[str, str]], edits: Mapping[str, Any]
) -> list[dict[str, str]]:
    """Return the rows of a table after its edits, as texts by column.

    Args:
        rows: as the table began.
        edits: edited_rows, added_rows and deleted_rows, as `st.data_editor` keeps them.
    """
    edited = [dict(row) for row in rows]
    for place, cells in edits.get("edited_rows", {}).items():
        _set(edited[int(place)], cells)
    gone = {int(n) for n in edits.get("deleted_rows", [])}
    kept = [row for n, row in enumerate(edited) if n not in gone]
    for cells in edits.get("added_rows", []):
        row: dict[str, str] = {}
        _set(row, cells)
        kept.append(row)
    return kept


def _set(row: dict[str, str], cells: Mapping[str, Any]) -> None:
    for name, value in cells.items():
        if name not in _BY_NAME:
            continue
        empty = value is None or value == "" or (value is False)
        if empty:
            row.pop(name, None)
        else:
            row[name] = text_of(value)


def _text(cells: Mapping[str, str]) -> str:
    """Return a row as the text of a link."""
    return "; ".join(f"{k}={v.replace(';', ',')}" for k, v in cells.items() if v)


def _column(name: str, cells: Sequence[str]) -> pa.Array:
    kind = _BY_NAME[name].kind
    if kind == "flag":
        return pa.array([c in ("on", "yes", "true", "1") for c in cells], pa.bool_())
    if _is_number(name):
        return pa.array([_number(c) for c in cells], pa.float64())
    return pa.array([c or None for c in cells], pa.string())


def _is_number(name: str) -> bool:
    parameter = _BY_NAME[name]
    return parameter.kind in ("whole", "number") and not parameter.short


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _config(name: str, rows: Sequence[Mapping[str, str]]) -> Any:  # noqa: ANN401 - Streamlit's own type
    parameter, columns = _BY_NAME[name], st.column_config
    title, width = TITLES[name], _WIDTHS.get(name)
    common: dict[str, Any] = {
        "width": width,
        "help": Text("{words}.", words=sentence_case(parameter.words)),
    }
    held = [row[name] for row in rows if row.get(name)]
    if name == "network":
        every = list(dict.fromkeys([*networks(), *held]))
        return columns.SelectboxColumn(title, options=every, **common)
    if name == "workload":
        every = list(dict.fromkeys([*kept.workload_names(kept.store()), *held]))
        return columns.SelectboxColumn(title, options=every, **common)
    if parameter.kind == "flag":
        return columns.CheckboxColumn(title, **common)
    if parameter.kind == "choice":
        every = list(dict.fromkeys([*parameter.choices, *held]))
        return columns.SelectboxColumn(title, options=every, **common)
    if _is_number(name):
        whole = parameter.kind == "whole"
        return columns.NumberColumn(
            title, min_value=parameter.least, max_value=parameter.most, format="%d" if whole else
            "%g", step=1 if whole else None, **common,
        )  # fmt: skip
    return columns.TextColumn(title, max_chars=80, pinned=name == "name", **common)
