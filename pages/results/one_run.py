"""One run on the Results page: times, suspect flags, provenance."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from pages.common import hardware, kept, narrow, widgets
from pages.common import tiles as answer_tiles
from pages.common.link import Link, as_text
from pages.results import several
from pages.results.tiles import tiles, title
from planner import figures
from planner.core import Text, in_one_unit, in_words
from planner.epochs import in_samples, timed_samples
from planner.job import utilization
from planner.runs import BY_NAME, Run
from planner.store import Store, queries
from planner.suspects import LEFT_OUT, Flag, named


def draw(link: Link, shared: Store, run: Run) -> None:
    """Draw the page of a run, with a button back to the list."""
    st.button(
        "All runs",
        icon=":material/arrow_back:",
        key="results.all",
        on_click=lambda: link.forget_now("run"),
    )
    with st.container(border=True):
        answer_tiles.draw(title(run), tiles(run), badge=run.basis)
        if run.status != "ok":
            st.markdown(f":material/error: {widgets.answer_text(run_sentence(run))}")
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
        with widgets.details():
            st.markdown(widgets.answer_text(run_sentence(run)))
    _suspect(kept.suspects(shared).flags.get(run.run_id, ()))
    with st.container(border=True):
        _epochs(shared, run)
        if queries.run(shared, run.run_id) is None:
            st.warning("The file of this run cannot be read. Results lists it under refused files.")
    if several.facts_of(values := queries.all_columns(shared, run.run_id)):
        with st.container(border=True):
            several.draw(values)
    with st.container(border=True):
        _provenance(shared, run)
    with st.container(border=True):
        widgets.heading("Everything recorded of this run")
        _all_columns(shared, run)


def _suspect(flags: Sequence[Flag]) -> None:
    if not flags:
        return
    with st.container(border=True, key="results.suspect"):
        st.markdown(
            Text(":orange[:material/flag:] **Suspect: {named}**", named=as_text(named(flags)))
        )
        for flag in flags:
            st.markdown(widgets.answer_text(flag.evidence))
        may = any(flag.name in LEFT_OUT for flag in flags)
        st.caption(
            "The run counts like any other, unless a page's switch leaves suspect runs out."
            if may
            else "The run counts like any other: its mean is less certain, not wrong."
        )


def run_sentence(run: Run) -> str:
    """Return the run with its times in one sentence."""
    what = title(run)
    if run.status != "ok":
        return Text(
            "{what} ended as {status}: {status_reason}",
            what=what,
            status=run.status,
            status_reason=run.status_reason,
        )
    if run.later_epoch_mean_s is not None:
        start = run.first_epoch_s
        first = "" if start is None else Text(", {start} for epoch 1", start=in_words(start))
        samples = timed_samples(run)
        size = "" if samples is None else f" of {in_samples(samples)}"
        return Text(
            "{what}: {later_epoch_mean_s} an epoch{size}{first}.",
            what=what,
            later_epoch_mean_s=in_words(run.later_epoch_mean_s),
            size=size,
            first=first,
        )
    if run.asymptotic_throughput is not None:
        return Text(
            "{what}: {asymptotic_throughput:,.4g} samples/s at most, {overhead_s} "
            "of overhead a step.",
            what=what,
            asymptotic_throughput=run.asymptotic_throughput,
            overhead_s=in_words(run.overhead_s or 0.0),
        )
    return Text("{what}.", what=what)


def _epochs(shared: Store, run: Run) -> None:
    widgets.heading("Epochs")
    rows = queries.nested(shared, run.run_id, "epochs")
    if rows:
        epoch = np.array([r["epoch"] for r in rows], dtype=float)
        seconds = np.array([r["epoch_s"] for r in rows], dtype=float)
    elif run.first_epoch_s and run.later_epoch_mean_s and run.epochs_measured:
        epoch = np.array([1.0, float(run.epochs_measured)])
        seconds = np.array([run.first_epoch_s, np.nan])
    else:
        st.caption("Single epochs and epoch 1 are unknown; only the summary is available.")
        return
    figure = figures.epoch_times(
        epoch, seconds, run.later_epoch_mean_s, run.later_epoch_sd_s, widgets.theme(),
        slot=figures.system_slots([run.system])[run.system],
    )  # fmt: skip
    alone = zip(epoch.tolist(), seconds.tolist(), strict=True)
    times = [(f"{n:.0f}", s) for n, s in alone if np.isfinite(s)]
    times += [("mean of later ones", run.later_epoch_mean_s)] if run.later_epoch_mean_s else []
    narrow.chart_and_table(
        figure, "results.epochs", run_sentence(run),
        lambda: [{"Epoch": n, "Time (s)": float(f"{s:.6g}")} for n, s in times],
    )  # fmt: skip
    if not rows:
        st.caption(
            "Single epochs were not published: epoch 1, and the mean ± standard "
            "deviation of the others."
        )


def _provenance(shared: Store, run: Run) -> None:
    result_set = queries.set_of(shared, run)
    rows = [
        ("Basis", run.basis),
        ("Result set", result_set.title if result_set else run.result_set),
        ("Folder", run.folder),
        ("File", run.file.rsplit("/", 2)[-2] + "/" + run.file.rsplit("/", 1)[-1]),
        ("Source", (result_set.citation or result_set.source) if result_set else run.source),
        ("Address", run.source_url or (result_set.source_url if result_set else "")),
        ("Licence", run.licence or (result_set.licence if result_set else "")),
        ("Software", run.software),
        ("Input pattern", run.pattern),
        ("Epochs timed", run.epochs_measured),
        ("Measured total", None if run.total_s is None else in_one_unit(run.total_s)),
        ("Recorded", f"{run.recorded_at:%Y-%m-%d %H:%M} UTC"),
        ("Run", run.run_id),
    ]
    widgets.heading("Where it comes from")
    narrow.table(
        [{"": name, "Value": str(value)} for name, value in rows if value],
        "results.provenance",
        "Provenance of the run",
        row_height=32,
    )


def _all_columns(shared: Store, run: Run) -> None:
    values = queries.all_columns(shared, run.run_id)
    if used := utilization.sentence(values, hardware.catalog().catalog):
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
    cards = [
        figures.Card(title=r["Column"], values=((r["Value"], r["Unit"]),), note=r["Meaning"])
        for r in rows
    ]
    narrow.table(rows, "results.columns", "All recorded columns", cards)
