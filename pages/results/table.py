"""The table of runs on the Results page: its columns, which of them are shown, and its clicks."""

import math
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import streamlit as st

from pages.common import markup, narrow, widgets
from pages.common.link import Link
from planner import figures
from planner.core import Floats, Text, plain
from planner.store.kept import Kept

FLAG: Final = "flag"
FIXED: Final = (FLAG, "system", "global_batch_size", "workload")
"""Columns that are always shown, first."""
MEASURED: Final = {
    "later_epoch_mean_s": "Later epochs (s)",
    "samples_per_s": "Samples/s",
    "peak_memory_bytes": "Memory (GB)",
    "mfu": "MFU (%)",
    "pre_train_s": "Pre-train (s)",
    "first_epoch_s": "Epoch 1 (s)",
    "later_epoch_sd_s": "sd (s)",
    "total_s": "Total (s)",
    "step_time_s": "Step (s)",
    "energy_kwh": "Energy (kWh)",
}
"""Columns shown with three significant digits; the downloads have all digits."""
TITLES: Final[Mapping[str, str]] = {
    **MEASURED,
    "precision": "Precision",
    "suspect": "Suspect",
    "pattern": "Input pattern",
    "status": "Status",
    "basis": "Basis",
    "epochs_measured": "Epochs",
    "samples_per_epoch": "Samples per epoch",
    "software": "Software",
    "recorded_at": "Recorded",
    "published_on": "Published",
    "licence": "Licence",
    "source_url": "Source",
    "result_set": "Result set",
    "folder": "Folder",
}
"""Columns to choose from, in their order."""
USUAL: Final = tuple(name for name in TITLES if name not in ("step_time_s", "folder"))
"""Columns that are shown where a run on the page has a value."""
HELP: Final = {
    "pre_train_s": "Process start to the first step of epoch 1",
    "peak_memory_bytes": "Largest memory in use on one device",
    "mfu": "As the source states it; else the network's operations over the data sheet's peak",
    "energy_kwh": "Energy of the run, where it was metered",
    "later_epoch_sd_s": "Standard deviation of epochs 2 and later",
}
SCALE: Final = {"peak_memory_bytes": 1e-9, "mfu": 100.0}
"""Factors from a column's unit to the one shown."""
DIGITS: Final = "%,.3g"
"""Format of measured numbers: three digits, thousands apart."""
_KEY: Final = "results.table"
_MEMORY: Final = "results.table.memory"
_MARK, _NO_MARK = "!", " "
_ON_CARDS: Final = {
    "later_epoch_mean_s": "s an epoch", "samples_per_s": "samples/s", "peak_memory_bytes": "GB",
}  # fmt: skip
_ROW_PX: Final = 66
"""Height of a row: Streamlit breaks long texts into lines from 65 pixels on."""
_HEADER_PX: Final = 38
_ABOVE_PX: Final = 398
"""Height of what is above and below the table."""
_LEAST_PX: Final = 420
_PAUSE_S: Final = 1.0
"""Longest time from the end of a run of the page to moves of the keyboard that waited for it."""
_DRAWN: Final = Kept(32)


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnTable:
    """A page of the table as the browser gets it: values, columns with values."""

    ids: tuple[str, ...]
    values: pa.Table
    filled: frozenset[str]


def choose(link: Link) -> None:
    """Draw the popover that chooses the columns."""
    shown = link.choices("columns", list(TITLES), list(USUAL))
    box = widgets.popover(
        "Columns" if {*shown} == {*USUAL} else f"Columns ({len(shown)})",
        "view_column",
        "results.columns_box",
    )
    if not box.open:
        link.hold("columns")
        return
    with box:
        st.pills(
            "Columns", list(TITLES), key=link.key("columns"), format_func=TITLES.__getitem__,
            selection_mode="multi", default=link.held("columns"), wrap=True, width=420,
        )  # fmt: skip
        st.button(
            "Back to the usual ones", key="results.columns_usual", icon=":material/undo:",
            on_click=lambda: link.put("columns", list(USUAL)),
        )  # fmt: skip


def draw(link: Link, table: pa.Table, key: Hashable) -> None:
    """Draw a page of runs; a click anywhere on a row opens its run.

    Args:
        link: the run to open, and the chosen columns.
        table: the runs.
        key: changes with the runs.
    """
    drawn = _DRAWN.once(key, lambda: _drawn(table))
    chosen = list(st.session_state[link.key("columns")])
    picked = chosen if {*chosen} != {*USUAL} else [n for n in USUAL if n in drawn.filled]
    alt, config = "Runs under the chosen filters; Shift and Space opens the row", _config()
    order = [*FIXED, *(name for name in TITLES if name in picked)]
    narrow.draw_cards("results.cards", _cards(drawn, link), len(drawn.ids))
    markup.draw(_full_height(len(drawn.ids)))
    with narrow.wide("results-table"):
        st.caption("Click a row to open its run; by keyboard: Shift and Space.")
        st.dataframe(
            drawn.values,
            hide_index=True,
            placeholder="–",
            key=_KEY,
            height="stretch",
            row_height=_ROW_PX,
            on_select=lambda: _clicked(lambda row: link.put("run", drawn.ids[row])),
            selection_mode=["single-row", "single-cell"],
            alt=alt,
            column_config=config,
            column_order=order,
        )
        widgets.as_text_table(drawn.values, alt, config, order)


def _title(row: Mapping[str, Any]) -> str:
    """Return the system of a run, with its batch where one is stated."""
    if row["global_batch_size"] is None:
        return str(row["system"])
    return Text("{system} · batch {batch}", system=row["system"],
                batch=_plain(row["global_batch_size"]))  # fmt: skip


def _cards(drawn: DrawnTable, link: Link) -> list[figures.Card]:
    """Return the first runs of the page as cards, whose titles open them."""
    first = narrow.first_cards("results.cards", len(drawn.ids))
    return [
        figures.Card(
            title=_title(row),
            values=tuple((_plain(row[name]), words) for name, words in _ON_CARDS.items()),
            end="suspect" if row[FLAG] == _MARK else "",
            note=row["workload"] or "",
            link=link.address("run", run),
        )
        for run, row in zip(drawn.ids, drawn.values.slice(0, first).to_pylist(), strict=False)
    ]  # fmt: skip


def _plain(value: float | None) -> str:
    return "" if value is None or math.isnan(value) else plain(value)


def _full_height(rows: int) -> figures.Markup:
    """Return the style of a table that is as high as the window, or as its rows where fewer.

    Streamlit's own height is a number of pixels, whatever the window.
    """
    every = f"{_HEADER_PX + _ROW_PX * rows}px"
    return figures.Markup(
        f"<style>.st-key-{_KEY.replace('.', '-')} {{ height: min({every}, "
        f"max({_LEAST_PX}px, calc(100vh - {_ABOVE_PX}px))); }}</style>"
    )


@dataclass(slots=True)
class _Memory:
    """The cell that the keyboard is at, and when the last run of the page ended [s]."""

    at: tuple[int, str] | None = None
    ended_s: float = 0.0


@contextmanager
def watched() -> Iterator[None]:
    """Note the end of a run of the page, also of one that the next click interrupts."""
    memory: _Memory = st.session_state.setdefault(_MEMORY, _Memory())
    try:
        yield
    finally:
        memory.ended_s = time.monotonic()


def left() -> None:
    """Forget the place in the table, once another view is drawn."""
    st.session_state.pop(_MEMORY, None)


def _clicked(opened: Callable[[int], None]) -> None:
    """Open the run of a clicked cell or of a chosen row; arrow keys read without opening one."""
    selection = st.session_state[_KEY].selection
    memory: _Memory = st.session_state.setdefault(_MEMORY, _Memory())
    if selection.rows:
        opened(selection.rows[0])
    elif selection.cells:
        row, column = selection.cells[0]
        if is_click(memory.at, (row, column), time.monotonic() - memory.ended_s):
            opened(row)
        else:
            memory.at = (row, column)


def is_click(before: tuple[int, str] | None, cell: tuple[int, str], quiet_s: float) -> bool:
    """Return whether a cell was clicked, and not reached by arrow keys.

    The keyboard enters the table in its first column, which opens nothing. It then moves along a
    row or a column. Moves made while the page is drawn wait for its end and arrive as one, which
    may change both; a click comes after a pause.

    Args:
        before: the cell that the keyboard was at; None before it entered the table.
        cell: row and column.
        quiet_s: time since the last run of the page ended [s].
    """
    row, column = cell
    if before is None:
        return column != FLAG
    return row != before[0] and column != before[1] and quiet_s > _PAUSE_S


def _drawn(table: pa.Table) -> DrawnTable:
    """Return a page of the table with rounded numbers and links."""
    rows = table.num_rows
    flags = pc.if_else(pc.is_valid(table["suspect"]), _MARK, _NO_MARK)
    columns: dict[str, Any] = {FLAG: flags}
    for name in (*FIXED[1:], *TITLES):
        column = table[name]
        if name in MEASURED:
            values = column.to_numpy(zero_copy_only=False).astype(float) * SCALE.get(name, 1.0)
            column = pa.array(three_digits(values), from_pandas=True)
        columns[name] = column
    links = columns["source_url"]
    is_link = pc.starts_with(links, "https://")
    columns["source_url"] = pc.if_else(is_link, links, pa.scalar(None, links.type))
    columns["recorded_at"] = pc.cast(columns["recorded_at"], pa.date32())
    values_of = pa.table(columns)
    return DrawnTable(
        ids=tuple(table["run_id"].to_pylist()),
        values=values_of,
        filled=frozenset(n for n in values_of.column_names if values_of[n].null_count < rows),
    )


def three_digits(values: Floats) -> Floats:
    """Return values of any shape rounded to three significant digits; 0 and NaN are unchanged."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # subnormal ones stay
        places = 2.0 - np.floor(np.log10(np.abs(values)))
        rounded = np.round(values * 10.0**places) / 10.0**places
    return np.where(np.isfinite(rounded), rounded, values)


def _config() -> dict[str, Any]:
    number, text = st.column_config.NumberColumn, st.column_config.TextColumn
    whole = {"epochs_measured": 76, "samples_per_epoch": 130}
    return {
        FLAG: text("", pinned=True, width=30, help="Suspect runs have a mark"),
        "system": text("System", pinned=True, width=216),
        "global_batch_size": number("Batch", format="localized", pinned=True, width=64),
        "workload": text("Workload", width=224),
        **{
            name: number(title, format=DIGITS, help=HELP.get(name))
            for name, title in MEASURED.items()
        },
        **{name: number(TITLES[name], format="localized", width=px) for name, px in whole.items()},
        **{name: TITLES[name] for name in TITLES if name not in MEASURED and name not in whole},
        "pattern": text("Input pattern", width=220),
        "suspect": text("Suspect", width=120),
        "recorded_at": st.column_config.DateColumn("Recorded", format="YYYY-MM-DD"),
        "source_url": st.column_config.LinkColumn("Source", display_text="Open"),
    }
