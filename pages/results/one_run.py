"""One run on the Results page: times, suspect flags, provenance."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import streamlit as st

from pages.common import hardware, kept, narrow, widgets
from pages.common import tiles as answer_tiles
from pages.common.link import Link, as_text
from planner import figures
from planner.core import Estimate, Record, Text, cell, in_one_unit, in_words, percent, plain
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
    if facts_of(values := queries.all_columns(shared, run.run_id)):
        with st.container(border=True):
            _several_devices(values)
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
        slot=figures.system_slot(run.system),
    )  # fmt: skip
    alone = zip(epoch.tolist(), seconds.tolist(), strict=True)
    times = [(f"{n:.0f}", s) for n, s in alone if np.isfinite(s)]
    times += [("mean of later ones", run.later_epoch_mean_s)] if run.later_epoch_mean_s else []
    narrow.chart_and_table(
        figure, "results.epochs", run_sentence(run),
        lambda: [{"Epoch": n, "Time (s)": cell(s)} for n, s in times],
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


# -- at a glance -----------------------------------------------------------------------------------


_GB: Final = 1e9


def title(run: Run) -> str:
    """Return what was measured: workload, system and batch."""
    if run.global_batch_size is None:
        return Text("{workload} on {system}", workload=run.workload, system=run.system)
    return Text(
        "{workload} on {system} at batch {batch:,}",
        workload=run.workload, system=run.system, batch=run.global_batch_size,
    )  # fmt: skip


def tiles(run: Run) -> list[figures.Tile]:
    """Return at most four values of a run, those it states; rounded to what the sd allows."""
    made = []
    if run.later_epoch_mean_s is not None:
        made.append(_later_epochs(run, run.later_epoch_mean_s))
    if run.first_epoch_s is not None:
        made.append(figures.time_tile("Epoch 1", _exact(run.first_epoch_s)))
    if run.samples_per_s is not None:
        made.append(figures.number_tile("Throughput", _exact(run.samples_per_s), "samples/s"))
    if run.device_memory_bytes is not None:
        memory = _exact(run.device_memory_bytes / _GB)
        made.append(figures.number_tile("Peak memory of a device", memory, "GB"))
    if run.asymptotic_throughput is not None and not made:
        most = _exact(run.asymptotic_throughput)
        made.append(figures.number_tile("Asymptotic throughput v0", most, "samples/s"))
        if run.overhead_s is not None:
            made.append(figures.time_tile("Overhead per step t", _exact(run.overhead_s)))
    return made[:4]


def _later_epochs(run: Run, mean_s: float) -> figures.Tile:
    """Return the mean of the later epochs; its bar is one sd of single epochs to either side."""
    sd_s, count = run.later_epoch_sd_s, run.epochs_measured
    epochs = "Epochs 2 and later" if count is None or count > 2 else "Epoch 2"
    if not sd_s or not math.isfinite(sd_s) or sd_s >= mean_s:
        return figures.time_tile(epochs, _exact(mean_s))
    time = Estimate(value=mean_s, low=mean_s - sd_s, high=mean_s + sd_s)
    return figures.time_tile(
        epochs, time, note="mean ± sd of single epochs", ends_are="mean ± standard deviation"
    )


def _exact(value: float) -> Estimate:
    """Return a measured value without an interval."""
    return Estimate(value=value, low=value, high=value)


# -- on several devices ----------------------------------------------------------------------------


def _rate(value: float) -> str:
    return f"{plain(8.0 * value / 1e9, 3)} Gbit/s"


def _bits(value: float) -> str:
    return f"{plain(value / 1e9, 3)} Gbit/s"


def _megabytes(value: float) -> str:
    return f"{plain(value / 1e6, 3)} MB"


def _updates(value: float) -> str:
    return f"{plain(value, 3)} updates"


COLUMNS: Final = (
    ("accelerator_interconnect", "Link between accelerators", str),
    ("peer_to_peer", "Peer to peer", lambda is_there: "yes" if is_there else "no"),
    ("host_networking", "Network between nodes", str),
    ("startup_s", "Start of the cluster", in_words),
    ("staleness", "Largest staleness", _updates),
)
"""Columns of a run, their names on the page, and how a value is shown."""
FACTS: Final = (
    ("cluster_start_s", "Start of the launcher's cluster", in_words),
    ("network_bits_per_s", "Speed of the network interface", _bits),
    ("link_latency_s", "Latency of an all-reduce", in_words),
    ("link_4_mb_bytes_per_s", "Rate of an all-reduce of 4 MB", _rate),
    ("link_16_mb_bytes_per_s", "Rate of an all-reduce of 16 MB", _rate),
    ("gradient_bytes", "Gradients of a step", _megabytes),
    ("staleness_mean", "Mean staleness", _updates),
    ("compute_share", "Compute, share of a step", percent),
    ("communication_share", "Communication, share of a step", percent),
    ("input_share", "Input, share of a step", percent),
    ("bubble_share", "Bubble by formula, share of a step", percent),
    ("idle_share", "Idle share of a device", percent),
)
"""The same for the facts in `extra`."""


def _several_devices(values: Mapping[str, Any]) -> None:
    """Draw the facts of a run on several devices; nothing for a run on one."""
    rows = facts_of(values)
    if not rows:
        return
    widgets.heading("Link and shares of a step")
    alt = "Link between the devices, gradients and shares of a step"
    narrow.table(rows, "results.several", alt, row_height=32)


def facts_of(values: Mapping[str, Any]) -> list[Record]:
    """Return the facts of a run as rows; empty for a run on one device.

    Args:
        values: all columns of the run; `extra` is JSON.
    """
    devices = (values.get("accelerators_per_node") or 1) * (values.get("number_of_nodes") or 1)
    if devices < 2:
        return []
    extra = json.loads(str(values.get("extra") or "{}"))
    facts = [(label, show(values[name])) for name, label, show in COLUMNS
             if values.get(name) is not None]  # fmt: skip
    facts += [(label, show(extra[name])) for name, label, show in FACTS
              if isinstance(extra.get(name), int | float)]  # fmt: skip
    return [{"": label, "Value": text} for label, text in facts]
