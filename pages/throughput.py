"""Throughput: samples per second against batch size, and the curve through the points."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import streamlit as st

from pages.parts import asked, theme, widgets
from pages.parts.links import Link, slugs
from pages.parts.state import store
from planner import curves, figures
from planner.curves import SystemCurve
from planner.estimate import Estimate, Floats, Refusal
from planner.export import Record, Report, csv_text, html_page
from planner.forms import form_rows
from planner.palette import LIGHT_THEME, Theme, slots
from planner.runs import Run
from planner.store import Store

MOST_CURVES = 12
MOST_BESIDE = 4


def show() -> None:
    """Draw the page."""
    link = Link("throughput")
    shared = store()
    st.title("Throughput")
    choices = _choices(link, shared)
    link.one("scale", ["log", "linear"], "log")
    link.write()
    link.tell()
    if choices is None:
        return
    everything, chosen = choices
    if not chosen:
        widgets.nothing(
            "No curve is chosen.",
            "No system or no input pattern is left above.",
            "Show the usual ones",
            lambda: link.forget("systems", "patterns"),
            key="throughput.back",
        )
        return
    _answer(link, everything, chosen, shared)
    _charts(link, everything, chosen)
    _tables(chosen, shared)
    _forms(chosen, shared)


def _choices(link: Link, shared: Store) -> tuple[list[SystemCurve], list[SystemCurve]] | None:
    workloads = slugs(asked.workloads(shared))
    if not workloads:
        widgets.nothing(
            "There is no run yet.",
            "No result folder holds a good run.",
            "Look again",
            lambda: None,
            key="throughput.again",
        )
        return None
    workload = link.one("workload", list(workloads), next(iter(workloads)))
    first, second = st.columns(2, vertical_alignment="bottom")
    first.selectbox(
        "Workload", list(workloads), format_func=workloads.__getitem__, key=link.key("workload")
    )
    patterns = slugs(asked.patterns(shared, workloads[workload]))
    link.many("patterns", list(patterns), list(patterns)[:1])
    shown = second.multiselect(
        "Input patterns", list(patterns), key=link.key("patterns"), format_func=patterns.__getitem__
    )
    of_pattern = [asked.runs_of(shared, workloads[workload], p) for p in patterns.values()]
    widgets.cut_short(max(of_pattern, key=len, default=[]))
    runs = [run for runs in of_pattern for run in runs]
    everything = curves.curves_of(runs)
    systems = slugs(dict.fromkeys(c.runs[0].system for c in everything))
    link.many("systems", list(systems), list(systems)[:MOST_CURVES], MOST_CURVES)
    wanted = st.multiselect(
        "Systems",
        list(systems),
        key=link.key("systems"),
        format_func=systems.__getitem__,
        max_selections=MOST_CURVES,
    )
    chosen = curves.curves_of(
        [
            r
            for r in runs
            if r.pattern in {patterns[p] for p in shown}
            and r.system in {systems[s] for s in wanted}
        ]
    )
    others = {name: label for name, label in workloads.items() if name != workload}
    if others:
        link.many("beside", list(others), [], MOST_BESIDE)
        beside = st.multiselect(
            "Curves of other workloads beside",
            list(others),
            key=link.key("beside"),
            format_func=others.__getitem__,
            max_selections=MOST_BESIDE,
            placeholder="None",
        )
        if beside:
            more = [r for name in beside for r in _best_known(shared, others[name])]
            chosen = curves.curves_of([*(r for c in chosen for r in c.runs), *more])
    if len(chosen) > MOST_CURVES:
        st.caption(f"The first {MOST_CURVES} of {len(chosen)} curves; choose fewer above.")
    return everything, chosen[:MOST_CURVES]


def _best_known(shared: Store, workload: str) -> list[Run]:
    """Runs of another workload under its best documented input pattern."""
    patterns = asked.patterns(shared, workload)
    return asked.runs_of(shared, workload, next(iter(patterns))) if patterns else []


def _answer(
    link: Link, everything: list[SystemCurve], chosen: list[SystemCurve], shared: Store
) -> None:
    sentences = _sentences(chosen)
    with st.container(border=True):
        st.markdown(f"#### {widgets.answer_text(sentences[0])}")
        for text in sentences[1:]:
            st.markdown(widgets.answer_text(text))
        st.caption(
            "Law: throughput v(b) = b / (b/v0 + t), with the asymptotic throughput v0 and the "
            "overhead per step t. A step time taken from epochs is epoch time / steps, "
            "validation included."
        )
        with widgets.actions():
            widgets.share(link, "\n".join(sentences), "content")
            address = link.url()  # the report is made at the click, when no page is being drawn
            widgets.download(
                "Report",
                lambda: _report(address, everything, chosen, shared),
                "epochwise-throughput.html",
                key="throughput.report",
                width="content",
            )


def _sentences(chosen: list[SystemCurve]) -> list[str]:
    """One sentence per curve, fastest first, then the crossing of the first two good ones."""
    good = [c for c in chosen if not isinstance(c.curve, Refusal)]
    bad = [c for c in chosen if isinstance(c.curve, Refusal)]
    good.sort(key=_speed, reverse=True)
    texts = [curves.curve_sentence(c) for c in [*good, *bad]]
    pairs = [
        (a, b)
        for a in good
        for b in good
        if a.runs[0].system != b.runs[0].system
        and a.runs[0].pattern == b.runs[0].pattern
        and a.runs[0].workload == b.runs[0].workload
        and _speed(a) > _speed(b)
    ]
    return texts + [curves.crossover_sentence(a, b) for a, b in pairs[:2]]


def _speed(one: SystemCurve) -> float:
    return 0.0 if isinstance(one.curve, Refusal) else float(one.curve.asymptotic_throughput.value)


def lines(chosen: list[SystemCurve], everything: list[SystemCurve]) -> list[figures.ThroughputLine]:
    """Points, curve, band and residuals of each chosen curve, ready to draw."""
    colour = slots([c.key for c in chosen], [c.key for c in everything])
    return [_line(c, colour[c.key]) for c in chosen]


def _line(one: SystemCurve, slot: int) -> figures.ThroughputLine:
    grid = curves.grid_of(one)
    value, low, high = _along(one, grid)
    measured = one.batch / one.step_s
    left = float(one.batch.min()) if one.batch.size else float(grid[0])
    right = float(one.batch.max()) if one.batch.size else float(grid[-1])
    against = (
        np.empty(0)
        if isinstance(one.curve, Refusal) or not one.curve.n
        else 1.0 / (1.0 + one.curve.residuals) - 1.0
    )
    return figures.ThroughputLine(
        label=one.label,
        short=one.label if len(one.label) < 28 else f"{one.label[:26]}…",
        device_kind=one.device_kind,
        slot=slot,
        measured_batch=one.batch,
        measured=measured,
        batch=grid,
        value=value,
        low=low,
        high=high,
        smallest=left,
        largest=right,
        residuals=against,
    )


def _along(one: SystemCurve, grid: Floats) -> tuple[Floats, Floats, Floats]:
    nothing = np.full(grid.shape, np.nan)
    if isinstance(one.curve, Refusal):
        return nothing, nothing, nothing
    e = one.curve.throughput(grid)
    if not isinstance(e, Estimate):
        return nothing, nothing, nothing
    return np.asarray(e.value), np.asarray(e.low), np.asarray(e.high)


def _figure(
    chosen: list[SystemCurve], everything: list[SystemCurve], look: Theme, *, log: bool
) -> object:
    return figures.throughput(lines(chosen, everything), look, log=log)


def _charts(link: Link, everything: list[SystemCurve], chosen: list[SystemCurve]) -> None:
    drawn, look = lines(chosen, everything), theme.current()
    with st.container(border=True):
        widgets.scale("Samples per second against batch size", link.key("scale"))
        log = st.session_state[link.key("scale")] == "log"
        widgets.chart(
            figures.throughput(drawn, look, log=log),
            "throughput.chart",
            " ".join(_sentences(chosen)),
        )
        st.caption(
            "Markers are measured, lines fitted, bands 90\u00a0% for one new measurement; "
            "dashed grey lies beyond what was measured."
        )
    if any(x.residuals.size for x in drawn):
        with st.container(border=True):
            st.markdown("**How far each step time lies from its fit**")
            widgets.chart(
                figures.residuals(drawn, look),
                "throughput.residuals",
                "Relative difference between measured and fitted step times",
            )


def _tables(chosen: list[SystemCurve], shared: Store) -> None:
    with st.container(border=True):
        st.markdown("**v0, t and the batches that reach 50 % and 90 % of v0**")
        st.dataframe(
            [_shown(r) for r in curves.curve_rows(chosen)],
            hide_index=True,
            placeholder="–",
            key="throughput.table",
            alt="Fitted parameters of every chosen curve",
        )
        first, second = st.columns(2)
        with first:
            widgets.download(
                "Curves as CSV",
                lambda: csv_text(curves.curve_rows(chosen)),
                "epochwise-curves.csv",
                key="throughput.csv",
            )
        with second:
            widgets.download(
                "Points as CSV",
                lambda: csv_text(curves.point_rows(chosen)),
                "epochwise-points.csv",
                key="throughput.points",
            )
    box = widgets.folded("Where these numbers come from", "source", "throughput.origin")
    if box.open:
        with box:
            st.dataframe(
                _sources(chosen, shared),
                hide_index=True,
                placeholder="–",
                key="throughput.sources",
                alt="Sources of every curve",
            )


def _forms(chosen: list[SystemCurve], shared: Store) -> None:
    """What quantised, pruned and distilled forms of the network gain, and what they lose."""
    rows = form_rows(asked.forms(shared, chosen[0].runs[0].workload))
    if not rows:
        return
    with st.container(border=True):
        st.markdown("**Forms of this network for inference: what they gain and what they lose**")
        st.dataframe(
            rows,
            hide_index=True,
            placeholder="–",
            key="throughput.forms",
            alt="Throughput, accuracy and size of each form of the network",
        )
        st.caption(
            "The largest throughput that was measured, at its batch. Accuracy is that of the very "
            "network that was timed, on real validation data; a made-up data set has none."
        )


def _shown(row: Record) -> dict[str, object]:
    if row.get("refused"):
        return {
            "Curve": row["curve"],
            "Points": row["points"],
            "v0 (samples/s)": "refused",
            "Notes": f"{row['refused']} {row['measure_next']}",
        }
    return {
        "Curve": row["curve"],
        "Points": row["points"],
        "v0 (samples/s)": _with_interval(row, "asymptotic_throughput"),
        "t (s)": _with_interval(row, "overhead_s"),
        "b50 (samples)": _with_interval(row, "batch_50"),
        "b90 (samples)": _with_interval(row, "batch_90"),
        "Scatter": "–" if row["scatter_percent"] is None else f"{row['scatter_percent']:.1f} %",
        "Basis": row["basis"],
        "Notes": row["notes"] or "",
    }


def _with_interval(row: Record, name: str) -> str:
    value, low, high = row[name], row[f"{name}_low"], row[f"{name}_high"]
    text = "no limit" if value is None else curves.count(float(value))
    if low is None:
        return text
    most = "no limit" if high is None else curves.count(float(high))
    return f"{text} ({curves.count(float(low))} – {most})"


def _sources(chosen: list[SystemCurve], shared: Store) -> list[Record]:
    titles = {(s.folder, s.slug): s for s in shared.sets}
    rows: dict[tuple[str, str], Record] = {}
    for one in chosen:
        for run in one.runs:
            found = titles.get((run.folder, run.set_folder))
            rows[(one.label, run.result_set)] = {
                "Curve": one.label,
                "Result set": found.title if found else run.result_set,
                "Folder": run.folder,
                "Basis": run.basis,
                "Source": (found.citation or found.source) if found else run.source,
                "Licence": run.licence,
                "Note": run.note,
            }
    return list(rows.values())


def _report(
    address: str, everything: list[SystemCurve], chosen: list[SystemCurve], shared: Store
) -> str:
    sentences = _sentences(chosen)
    figure = _figure(chosen, everything, LIGHT_THEME, log=True)
    return html_page(
        Report(
            title="Throughput against batch size",
            sentence=sentences[0],
            notes=sentences[1:],
            figure=figures.html(figure),
            table=curves.curve_rows(chosen),
            sources=_sources(chosen, shared),
            link=address,
            made=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        )
    )


if __name__ == "__main__":
    show()
