"""Results: every run, filtered by what it is; one run with its epochs and where it comes from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import streamlit as st

from pages.parts import asked, theme, widgets
from pages.parts.links import Link, as_text, slugs
from pages.parts.state import store
from planner import figures, utilization
from planner.durations import hms, in_words
from planner.export import csv_text
from planner.runs import Run
from planner.schema import BY_NAME
from planner.store import Store, queries

TITLES = {
    "workload": "Workload",
    "system": "System",
    "global_batch_size": "Batch size",
    "pattern": "Input pattern",
    "mode": "Mode",
    "software": "Software",
    "status": "Status",
    "basis": "Basis",
    "result_set": "Result set",
    "folder": "Folder",
}
RUN_ID = r"[0-9a-f]{32}"


def show() -> None:
    """Draw the list, or the one run the link names."""
    link = Link("results")
    shared = store()
    st.title("Results")
    wanted = link.text("run", RUN_ID)
    found = queries.run(shared, wanted) if wanted else None
    if found is not None:
        link.keep(*TITLES)
        link.write()
        link.tell()
        _one_run(link, shared, found)
        return
    if wanted:
        link.problems.append("run: the run this link names is not in any result folder now.")
        link.forget_now("run")
    filters = _filters(link, shared)
    link.write()
    link.tell()
    _list(link, shared, filters)
    _refused(shared)
    _sets(shared)


def _filters(link: Link, shared: Store) -> dict[str, list[str]]:
    """One multiselect per facet that has something to choose; counts beside the options."""
    names = asked.facets(shared, {})
    tables = {f: slugs(options) for f, options in names.items()}
    chosen = {f: link.many(f, list(t), []) for f, t in tables.items()}
    filters = {f: [tables[f][s] for s in picked] for f, picked in chosen.items()}
    counts = asked.facets(shared, filters)
    offered = [f for f, t in tables.items() if len(t) > 1 or chosen[f]]
    with st.container(border=True), st.grid(4, min_column_width=220):
        for facet in offered:
            _facet(link, facet, tables[facet], counts[facet])
    return filters


def _facet(link: Link, facet: str, names: dict[str, str], counts: dict[str, int]) -> None:
    st.multiselect(
        TITLES[facet],
        list(names),
        key=link.key(facet),
        placeholder="Any",
        format_func=lambda s: f"{names[s]} ({counts.get(names[s], 0):,})",
    )


def _list(link: Link, shared: Store, filters: dict[str, list[str]]) -> None:
    total, shown = asked.totals(shared).runs, queries.count(shared, filters)
    if not shown:
        active = ", ".join(TITLES[f].lower() for f, v in filters.items() if v)
        why = (
            f"The filters on {active} leave none of {total:,} runs."
            if active
            else ("No result folder holds a run yet.")
        )
        widgets.nothing(
            "No run to show.",
            why,
            "Clear all filters",
            lambda: link.forget(*TITLES),
            key="results.clear",
        )
        return
    table = queries.table(shared, filters)
    with st.container(border=True):
        with st.container(
            horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"
        ):
            st.markdown(
                f"**{shown:,} of {total:,} runs** · choose a row to open it", width="content"
            )
            with st.container(horizontal=True, width="content"):
                every = lambda: queries.table(shared, filters, most=shown)  # noqa: E731
                _take_along(link, every, f"{shown:,} of {total:,} runs")
        _table(link, table)
        if shown > table.num_rows:
            st.caption(f"The first {table.num_rows:,} runs; the downloads hold all {shown:,}.")


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

    st.dataframe(
        table.drop_columns(["run_id", "recorded_at"]).to_pandas(),
        hide_index=True,
        placeholder="–",
        key="results.table",
        on_select=opened,
        selection_mode="single-row",
        alt="Runs under the chosen filters",
        column_config=_columns(),
        column_order=[
            "system",
            "global_batch_size",
            "pattern",
            "later_epoch_mean_s",
            "first_epoch_s",
            "later_epoch_sd_s",
            "samples_per_s",
            "total_s",
            "workload",
            "status",
            "basis",
            "epochs_measured",
            "software",
            "result_set",
            "folder",
        ],
    )


def _columns() -> dict[str, Any]:
    number = st.column_config.NumberColumn
    return {
        "system": st.column_config.TextColumn("System", pinned=True),
        "global_batch_size": number("Batch", format="localized"),
        "pattern": st.column_config.TextColumn("Input pattern", width="medium"),
        "later_epoch_mean_s": number("Mean of later epochs (s)", format="%.1f"),
        "first_epoch_s": number("Epoch 1 (s)", format="%.1f"),
        "later_epoch_sd_s": number("sd (s)", format="%.1f"),
        "samples_per_s": number("Samples/s", format="%.1f"),
        "total_s": number("Total (s)", format="localized"),
        "workload": "Workload",
        "status": "Status",
        "basis": "Basis",
        "epochs_measured": number("Epochs"),
        "software": "Software",
        "result_set": "Result set",
        "folder": "Folder",
    }


def _one_run(link: Link, shared: Store, run: Run) -> None:
    st.button(
        "All runs",
        icon=":material/arrow_back:",
        key="results.all",
        on_click=lambda: link.forget_now("run"),
    )
    with st.container(border=True):
        st.markdown(f"#### {widgets.answer_text(run_sentence(run))}")
        if run.note:
            st.caption(as_text(run.note))
        with widgets.actions():
            widgets.share(link, run_sentence(run), "content")
            widgets.download(
                "Raw file",
                lambda: queries.run_file(shared, run.run_id),
                f"{run.run_id}.parquet",
                key="results.run_file",
                width="content",
            )
    left, right = st.columns(2)
    with left, st.container(border=True):
        _epochs(shared, run)
    with right, st.container(border=True):
        _provenance(shared, run)
    with st.container(border=True):
        st.markdown("**Everything recorded of this run**")
        _all_columns(shared, run)


def run_sentence(run: Run) -> str:
    """What this run is and what it took, as one sentence."""
    batch = "" if run.global_batch_size is None else f" at batch {run.global_batch_size:,}"
    what = f"{run.workload} on {run.system}{batch}"
    if run.status != "ok":
        return f"{what} ended as {run.status}: {run.status_reason}"
    if run.later_epoch_mean_s is not None:
        start = run.first_epoch_s
        first = "" if start is None else f", {in_words(start)} for epoch 1"
        return f"{what}: {in_words(run.later_epoch_mean_s)} an epoch{first}."
    if run.asymptotic_throughput is not None:
        return (
            f"{what}: {run.asymptotic_throughput:,.4g} samples/s at most, "
            f"{in_words(run.overhead_s or 0.0)} of overhead a step."
        )
    return f"{what}."


def _epochs(shared: Store, run: Run) -> None:
    st.markdown("**Epochs**")
    rows = queries.nested(shared, run.run_id, "epochs")
    if rows:
        epoch = np.array([r["epoch"] for r in rows], dtype=float)
        seconds = np.array([r["epoch_s"] for r in rows], dtype=float)
    elif run.first_epoch_s and run.later_epoch_mean_s and run.epochs_measured:
        epoch = np.array([1.0, float(run.epochs_measured)])
        seconds = np.array([run.first_epoch_s, np.nan])
    else:
        st.caption("Neither single epochs nor the first one are known; only the summary is.")
        return
    figure = figures.epoch_times(
        epoch, seconds, run.later_epoch_mean_s, run.later_epoch_sd_s, theme.current()
    )
    widgets.chart(figure, "results.epochs", run_sentence(run))
    if not rows:
        st.caption(
            "Single epochs were not published: epoch 1, and the mean ± standard "
            "deviation of the others."
        )


def _provenance(shared: Store, run: Run) -> None:
    found = queries.set_of(shared, run)
    rows = [
        ("Basis", run.basis),
        ("Result set", found.title if found else run.result_set),
        ("Folder", run.folder),
        ("File", run.file.rsplit("/", 2)[-2] + "/" + run.file.rsplit("/", 1)[-1]),
        ("Source", (found.citation or found.source) if found else run.source),
        ("Address", run.source_url or (found.source_url if found else "")),
        ("Licence", run.licence or (found.licence if found else "")),
        ("Software", run.software),
        ("Input pattern", run.pattern),
        ("Epochs timed", run.epochs_measured),
        ("Measured total", None if run.total_s is None else hms(run.total_s)),
        ("Recorded", f"{run.recorded_at:%Y-%m-%d %H:%M} UTC"),
        ("Run", run.run_id),
    ]
    st.markdown("**Where it comes from**")
    st.dataframe(
        [{"": name, "Value": str(value)} for name, value in rows if value],
        hide_index=True,
        placeholder="–",
        key="results.provenance",
        row_height=32,
        alt="Provenance of the run",
    )


def _all_columns(shared: Store, run: Run) -> None:
    values = queries.all_columns(shared, run.run_id)
    if used := utilization.sentence(values):
        st.caption(used)
    rows = [
        {
            "Column": name,
            "Value": str(value),
            "Unit": BY_NAME[name].unit,
            "Meaning": BY_NAME[name].meaning,
        }
        for name, value in values.items()
        if name in BY_NAME
    ]
    st.dataframe(
        rows, hide_index=True, placeholder="–", key="results.columns", alt="All recorded columns"
    )


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
        st.dataframe(
            [{"File": _short(r.path), "Folder": r.folder, "Why": r.reason} for r in refused],
            hide_index=True,
            placeholder="–",
            key="results.refused",
            alt="Files that are not shown, with the reason",
        )


def _sets(shared: Store) -> None:
    with st.expander(f"Result sets ({len(shared.sets):,})", icon=":material/folder_open:"):
        rows = [
            {
                "Title": s.title,
                "About": s.about,
                "Basis": s.basis,
                "Licence": s.licence,
                "Citation": s.citation or s.source,
                "Author": s.author,
                "Folder": s.folder,
                "Slug": s.slug,
            }
            for s in shared.sets
        ]
        st.dataframe(
            rows, hide_index=True, placeholder="–", key="results.sets", alt="All result sets"
        )
        where = ", ".join(f"{f.label}: {f.path}" for f in shared.folders if f.kind != "shipped")
        st.caption(as_text(f"Folders read besides the shipped one: {where}."))


def _short(path: str) -> str:
    parts: Sequence[str] = path.split("/")
    return "/".join(parts[-2:])


if __name__ == "__main__":
    show()
