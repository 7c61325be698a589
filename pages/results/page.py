"""Results: every run, filtered by what it is; one run with its epochs and where it comes from."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import streamlit as st

from pages.common import kept, widgets
from pages.common.link import Link, as_text
from pages.common.permission import permission
from pages.common.store import store
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
"""Columns shown with three digits that count; the downloads hold all of them."""
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
"""What a run is, then its numbers: all in view on a wide screen."""
OF_SOURCES: Final = frozenset({"published_on", "licence", "source_url"})
"""Columns that are shown where a run of the page has a value there."""
_PAGE: Final = "results.page"
SMALL: Final = 0.1
"""Below this the thousands-apart format, which knows three decimals, loses digits that count."""


MOST_LISTED: Final = 500
"""Refused files, and result sets, that the page lists."""
LONGEST_CELL: Final = 300
"""Characters of a text of a set.toml in a cell."""


def show() -> None:
    """Draw the list, or the one run the link names."""
    link = Link("results")
    shared = store()
    st.title("Results")
    wanted = link.text("run", RUN_ID)
    found = queries.run(shared, wanted) if wanted else None
    if found is not None:
        link.keep(*TITLES)
        link.ignore("limit", "cursor")
        link.write()
        link.tell()
        one_run.draw(link, shared, found)
        return
    if wanted:
        link.problems.append("run: the run this link names is not in any result folder now.")
        link.forget_now("run")
    chosen = run_filters.draw(link, shared)
    link.write()
    link.tell()
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
    table = _with_flags(shared, queries.table(shared, filters, skip=(at - 1) * queries.MOST_ROWS))
    counted = f"{shown:,} of {total:,} runs"
    suspect = f", {chosen.suspects:,} suspect" if chosen.suspects else ""
    with st.container(border=True):
        with st.container(
            horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"
        ):
            st.markdown(f"**{counted}{suspect}** · choose a row to open it", width="content")
            with st.container(horizontal=True, width="content"):
                every = lambda: _with_flags(  # noqa: E731
                    shared, queries.table(shared, filters, most=shown)
                )
                _take_along(link, every, f"{counted}{suspect}")
        _table(link, table)
        if shown > queries.MOST_ROWS:
            _turn(at, table.num_rows, shown)
        if kept.suspects(shared).cut_short:
            st.caption(
                f"Only the newest {queries.MOST_CHECKED:,} runs with times are looked at for "
                "anything suspect."
            )


def _page(shown: int) -> int:
    """The page of the table that is shown, from 1; the first where filters leave fewer."""
    if st.session_state.get(_PAGE, 1) > _pages(shown):
        st.session_state[_PAGE] = 1
    return int(st.session_state.get(_PAGE, 1))


def _pages(shown: int) -> int:
    return -(-shown // queries.MOST_ROWS)


def _turn(at: int, rows: int, shown: int) -> None:
    """Which rows these are, and the field for another page."""
    first = (at - 1) * queries.MOST_ROWS + 1
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.number_input("Page", 1, _pages(shown), at, key=_PAGE, width=120)
        st.caption(
            f"Runs {first:,} to {first + rows - 1:,} of {shown:,}; the downloads hold all of them."
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


def _with_flags(shared: Store, table: pa.Table) -> pa.Table:
    """The runs with a column that names what is odd about each."""
    names = kept.suspects(shared).names
    told = [names.get(run) for run in table["run_id"].to_pylist()]
    return table.append_column("suspect", pa.array(told, pa.string()))


def _take_along(link: Link, every: Callable[[], pa.Table], sentence: str) -> None:
    """Share, CSV and parquet of all the filters leave, more than the table shows."""
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
    ids = table["run_id"].to_pylist()

    def opened() -> None:
        rows = st.session_state["results.table"].selection.rows
        if rows:
            st.session_state[link.key("run")] = ids[rows[0]]

    shown = table.drop_columns(["run_id", "recorded_at"]).to_pandas()
    shown = shown.assign(**{name: three_digits(shown[name].to_numpy(float)) for name in MEASURED})
    links = shown["source_url"].astype("string")
    shown["source_url"] = links.where(links.str.startswith("https://", na=False), None)
    formats = {name: number_format(shown[name].to_numpy()) for name in MEASURED}
    st.dataframe(
        shown,
        hide_index=True,
        placeholder="–",
        key="results.table",
        on_select=opened,
        selection_mode="single-row",
        alt="Runs under the chosen filters",
        column_config=_columns(formats),
        column_order=[n for n in COLUMN_ORDER if n not in OF_SOURCES or shown[n].notna().any()],
    )


def three_digits(values: Floats) -> Floats:
    """Values of any shape rounded to three digits that count; 0 and NaN stay what they are."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # subnormal ones stay
        places = 2.0 - np.floor(np.log10(np.abs(values)))
        rounded = np.round(values * 10.0**places) / 10.0**places
    return np.where(np.isfinite(rounded), rounded, values)


def number_format(values: Floats) -> str:
    """Thousands apart, unless a value is too small for three decimals: then digits that count."""
    known = np.abs(values[np.isfinite(values) & (values != 0.0)])
    return "%.3g" if (known < SMALL).any() else "localized"


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
                "None. Every file is verified by its hash before it is shown; one that "
                "fails would be listed here with the reason."
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
    with st.expander(f"Result sets ({len(shared.sets):,})", icon=":material/folder_open:"):
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
        may = permission().allowed  # strangers need no paths of this machine
        further = [f for f in shared.folders if f.kind != "shipped"]
        where = ", ".join(f"{f.label}: {f.path}" if may else f.label for f in further)
        st.caption(as_text(f"Folders read besides the shipped one: {where}."))


def _cell(text: str) -> str:
    """A text of a set.toml as a cell shows it: the page goes to every visitor."""
    return text if len(text) <= LONGEST_CELL else f"{text[:LONGEST_CELL]} ..."


def _without_paths(reason: str, shared: Store) -> str:
    """A reason with the labels of folders in place of where they lie."""
    for folder in sorted(shared.folders, key=lambda f: -len(str(f.path))):
        reason = reason.replace(str(folder.path), folder.label)
    return reason


def _within(path: str, shared: Store) -> str:
    """A file's place in its folder: where the folder lies is not for everybody."""
    for folder in shared.folders:
        if path.startswith(f"{folder.path}/"):
            return path.removeprefix(f"{folder.path}/")
    return path.rsplit("/", 1)[-1]


if __name__ == "__main__":
    show()
