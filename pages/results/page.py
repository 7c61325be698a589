"""Results: all runs with filters, and one run with its epochs and provenance."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import streamlit as st

from pages.common import kept, widgets
from pages.common.kept import store
from pages.common.link import Link, as_text
from pages.common.permission import permission
from pages.results import filters as run_filters
from pages.results import one_run
from pages.results.filters import TITLES, Chosen
from planner.core import csv_text
from planner.store import Store, queries

if TYPE_CHECKING:
    from planner.core import Floats

RUN_ID = r"[0-9a-f]{32}"
MEASURED: Final = {
    "later_epoch_mean_s": "Later epochs (s)",
    "first_epoch_s": "Epoch 1 (s)",
    "later_epoch_sd_s": "sd (s)",
    "samples_per_s": "Samples/s",
}
"""Columns shown with three significant digits; the downloads have all digits."""
COLUMN_ORDER: Final = (
    "system",
    "workload",
    "global_batch_size",
    "suspect",
    *MEASURED,
    "total_s",
    "pattern",
    "status",
    "basis",
    "epochs_measured",
    "samples_per_epoch",
    "software",
    "published_on",
    "licence",
    "source_url",
    "result_set",
    "folder",
)
"""Columns of the table: identity of a run, then its numbers."""
OF_SOURCES: Final = frozenset({"published_on", "licence", "source_url"})
"""Columns that are shown only if a run on the page has a value."""
_PAGE: Final = "results.page"
SMALL: Final = 0.1
"""Below this, the format with thousands separators and three decimals loses digits."""


MOST_LISTED: Final = 500
"""Most refused files and result sets that are listed."""
LONGEST_CELL: Final = 300
"""Most characters of a text in a cell."""


def show() -> None:
    """Draw the list, or the run of the link."""
    link = Link("results")
    shared = store()
    st.title("Results")
    run_id = link.text("run", RUN_ID)
    run = queries.run(shared, run_id) if run_id else None
    if run is not None:
        link.keep(*TITLES)
        link.ignore("limit", "cursor")
        link.write()
        link.warn()
        one_run.draw(link, shared, run)
        return
    if run_id:
        link.problems.append("run: this link's run is not in any result folder.")
        link.forget_now("run")
    chosen = run_filters.draw(link, shared)
    link.write()
    link.warn()
    _list(link, shared, chosen)
    _refused(shared)
    _sets(shared)


def _list(link: Link, shared: Store, chosen: Chosen) -> None:
    filters = chosen.filters
    total, shown = kept.totals(shared).runs, kept.count(shared, filters)
    if not shown:
        _none_left(link, chosen, total)
        return
    at = _page(shown)
    table = kept.table(shared, filters, skip=(at - 1) * queries.MOST_ROWS)
    counted = f"{shown:,} of {total:,} runs"
    suspect = f", {chosen.suspects:,} suspect" if chosen.suspects else ""
    with st.container(border=True):
        with st.container(
            horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"
        ):
            st.markdown(f"**{counted}{suspect}** · choose a row to open it", width="content")
            with st.container(horizontal=True, width="content"):
                every = lambda: kept.with_flags(  # noqa: E731
                    shared, queries.table(shared, filters, most=shown)
                )
                _downloads(link, every, f"{counted}{suspect}")
        _table(link, table)
        if shown > queries.MOST_ROWS:
            _turn(at, table.num_rows, shown)
        if kept.suspects(shared).cut_short:
            st.caption(
                f"Only the newest {queries.MOST_CHECKED:,} runs with times are checked for "
                "suspects."
            )


def _page(shown: int) -> int:
    """Return the current page of the table, from 1; reset to 1 where there are fewer pages."""
    if st.session_state.get(_PAGE, 1) > _pages(shown):
        st.session_state[_PAGE] = 1
    return int(st.session_state.get(_PAGE, 1))


def _pages(shown: int) -> int:
    return -(-shown // queries.MOST_ROWS)


def _turn(at: int, rows: int, shown: int) -> None:
    """Draw the range of the rows, and the field for another page."""
    first = (at - 1) * queries.MOST_ROWS + 1
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.number_input("Page", 1, _pages(shown), at, key=_PAGE, width=120)
        st.caption(
            f"Runs {first:,} to {first + rows - 1:,} of {shown:,}. The downloads contain all."
        )


def _none_left(link: Link, chosen: Chosen, total: int) -> None:
    active = ", ".join(TITLES[f].lower() for f, v in chosen.by_facet.items() if v)
    why = (
        f"The filters on {active} leave none of {total:,} runs."
        if active
        else "No result folder holds a run yet."
    )
    widgets.nothing(
        "No run to show.",
        why,
        "Clear all filters",
        lambda: link.forget(*TITLES),
        key="results.clear",
    )


def _downloads(link: Link, every: Callable[[], pa.Table], sentence: str) -> None:
    """Draw share, CSV and parquet of all filtered runs, not only those of the page."""
    widgets.share(link, sentence, "content")
    widgets.download(
        "CSV",
        lambda: csv_text(every().to_pylist()),
        "epochwise-runs.csv",
        key="results.csv",
        width="content",
    )
    widgets.download(
        "Parquet",
        lambda: queries.table_file(every()),
        "epochwise-runs.parquet",
        key="results.parquet",
        width="content",
    )


def _table(link: Link, table: pa.Table) -> None:
    ids, rows = table["run_id"].to_pylist(), table.num_rows

    def opened() -> None:
        chosen = st.session_state["results.table"].selection.rows
        if chosen:
            st.session_state[link.key("run")] = ids[chosen[0]]

    shown = table.drop_columns(["run_id", "recorded_at"])
    formats = {}
    for name in MEASURED:
        values = three_digits(shown[name].to_numpy().astype(float))
        formats[name] = number_format(values)
        shown = _with(shown, name, pa.array(values, from_pandas=True))
    links = shown["source_url"]
    is_link = pc.starts_with(links, "https://")
    shown = _with(shown, "source_url", pc.if_else(is_link, links, pa.scalar(None, links.type)))
    order = [n for n in COLUMN_ORDER if n not in OF_SOURCES or shown[n].null_count < rows]
    alt, columns = "Runs under the chosen filters", _columns(formats)
    st.dataframe(
        shown,
        hide_index=True,
        placeholder="–",
        key="results.table",
        on_select=opened,
        selection_mode="single-row",
        alt=alt,
        column_config=columns,
        column_order=order,
    )
    widgets.as_text_table(shown, alt, columns, order)


def _with(table: pa.Table, name: str, values: pa.Array) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, values)


def three_digits(values: Floats) -> Floats:
    """Return values of any shape rounded to three significant digits; 0 and NaN are unchanged."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # subnormal ones stay
        places = 2.0 - np.floor(np.log10(np.abs(values)))
        rounded = np.round(values * 10.0**places) / 10.0**places
    return np.where(np.isfinite(rounded), rounded, values)


def number_format(values: Floats) -> str:
    """Return a number format: thousands separators, or three digits if a value is small."""
    sizes = np.abs(values[np.isfinite(values) & (values != 0.0)])
    return "%.3g" if (sizes < SMALL).any() else "localized"


def _columns(formats: dict[str, str]) -> dict[str, Any]:
    number = st.column_config.NumberColumn
    return {
        "system": st.column_config.TextColumn("System", pinned=True),
        "workload": st.column_config.TextColumn("Workload", width=220),
        "global_batch_size": number("Batch", format="localized"),
        "pattern": st.column_config.TextColumn("Input pattern", width="medium"),
        **{name: number(title, format=formats[name]) for name, title in MEASURED.items()},
        "total_s": number("Total (s)", format="localized"),
        "suspect": st.column_config.TextColumn("Suspect", width=120),
        "status": "Status",
        "basis": "Basis",
        "epochs_measured": number("Epochs"),
        "samples_per_epoch": number("Samples an epoch", format="localized"),
        "software": "Software",
        "published_on": "Published",
        "licence": "Licence",
        "source_url": st.column_config.LinkColumn("Source", display_text="Open"),
        "result_set": "Result set",
        "folder": "Folder",
    }


def _refused(shared: Store) -> None:
    refused = shared.refused
    with st.expander(
        f"Refused files ({len(refused):,})", icon=":material/block:", expanded=bool(refused)
    ):
        if not refused:
            st.caption(
                "None. Every file is verified by its hash; a file that fails is listed here with "
                "the reason."
            )
            return
        listed = refused[:MOST_LISTED]
        if len(refused) > MOST_LISTED:
            st.caption(f"The first {MOST_LISTED:,}; `planner.store verify` lists all.")
        widgets.table(
            [
                {
                    "File": _within(r.path, shared),
                    "Folder": r.folder,
                    "Why": _without_paths(r.reason, shared),
                }
                for r in listed
            ],
            key="results.refused",
            alt="Files that are not shown, with the reason",
        )


def _sets(shared: Store) -> None:
    box = widgets.folded(f"Result sets ({len(shared.sets):,})", "folder_open", "results.sets_box")
    if not box.open:
        return
    with box:
        rows = [
            {
                "Title": _cell(s.title),
                "About": _cell(s.about),
                "Basis": _cell(s.basis),
                "Licence": _cell(s.licence),
                "Citation": _cell(s.citation or s.source),
                "Author": _cell(s.author),
                "Folder": s.folder,
                "Slug": s.slug,
            }
            for s in shared.sets[:MOST_LISTED]
        ]
        if len(shared.sets) > MOST_LISTED:
            st.caption(f"The first {MOST_LISTED:,} sets.")
        widgets.table(rows, key="results.sets", alt="All result sets")
        may = permission().allowed  # paths only for the owner
        further = [f for f in shared.folders if f.kind != "shipped"]
        where = ", ".join(f"{f.label}: {f.path}" if may else f.label for f in further)
        st.caption(as_text(f"Folders read besides the shipped one: {where}."))


def _cell(text: str) -> str:
    """Return a text of a set.toml, cut for a cell."""
    return text if len(text) <= LONGEST_CELL else f"{text[:LONGEST_CELL]} ..."


def _without_paths(reason: str, shared: Store) -> str:
    """Return a reason with folder labels instead of paths."""
    for folder in sorted(shared.folders, key=lambda f: -len(str(f.path))):
        reason = reason.replace(str(folder.path), folder.label)
    return reason


def _within(path: str, shared: Store) -> str:
    """Return a file's path inside its folder: visitors do not see the folder's path."""
    for folder in shared.folders:
        if path.startswith(f"{folder.path}/"):
            return path.removeprefix(f"{folder.path}/")
    return path.rsplit("/", 1)[-1]


if __name__ == "__main__":
    show()
