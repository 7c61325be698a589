"""Throughput: samples per second against batch size, and the curve through the points."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from pages.common import fields, handout, kept, narrow, suspect_switch, widgets
from pages.common.kept import store
from pages.common.link import Link, as_text
from pages.throughput import choice as curve_choice
from pages.throughput import factor, tiles
from pages.throughput.choice import ChosenCurves
from planner import figures
from planner.answers import batch_rows, curve_sources
from planner.answers.parameters import BATCH
from planner.core import Record, Text, csv_text, paragraph, plain
from planner.figures.frame import LIGHT_THEME
from planner.report import AnswerReport, Chart, Table
from planner.store import Store
from planner.throughput import SystemCurve, TimedSteps, curves


def show() -> None:
    """Draw the page."""
    link = Link("throughput")
    shared = store()
    st.title("Throughput")
    left_out = suspect_switch.left_out(link, shared)
    link.state("workload", "patterns", "systems")
    values = narrow.question(link.page, folds=bool(kept.workload_names(shared)))
    with values.inputs:
        choice = curve_choice.draw(link, shared, left_out)
    link.choice("scale", ["log", "linear"], "log")
    widgets.declare_tab(link)
    widgets.declare_tables(link, ["factor"])
    if choice is None:
        link.write()
        link.warn()
        return
    chosen, workload = choice.chosen, choice.workload
    values.summary(workload.split(" · ")[0], *dict.fromkeys(c.runs[0].system for c in chosen))
    effects = factor.offer(link, shared, workload, left_out)
    batches, wrong = link.numbers(BATCH)
    link.write()
    link.warn()
    if choice.steps is not None:
        _notes(choice.steps)
    if not chosen:
        if choice.steps is None:
            widgets.nothing(
                "No curve is chosen.",
                "Choose at least one system and input pattern.",
                "Show the defaults",
                lambda: link.forget("systems", "patterns"),
                key="throughput.back",
            )
        if effects:  # epochs can be compared where no step was timed
            factor.draw(link, shared, effects, workload)
        return
    answer = ChosenCurves(
        shared=shared,
        key=link.question("scale", "factor", BATCH.name, *widgets.OPEN),
        chosen=chosen,
    )
    _answer(link, answer)
    drawn = answer.lines
    with st.container(border=True):
        tab = widgets.open_tab(link)
        with tab.place:
            if tab.name == "chart":
                _chart(link, answer)
            else:
                link.hold("scale")
                _table(chosen, drawn)
    _residuals(drawn, chosen)
    _points(chosen)
    _at_batches(link, chosen, batches, wrong)
    factor.draw(link, shared, effects, workload)
    _forms(chosen, shared)
    narrow.sources(
        lambda: curve_sources(chosen, shared.sets), "throughput", "Sources of every curve"
    )


def _notes(steps: TimedSteps) -> None:
    """Draw notes on step times, and why systems have no curve."""
    if steps.refused is not None:
        with st.container(border=True):
            st.markdown("## No curve yet")
            for text in steps.missing:
                st.markdown(widgets.answer_text(text))
        return
    for text in filter(None, (steps.note, *steps.missing)):
        st.caption(as_text(text))


def _answer(link: Link, answer: ChosenCurves) -> None:
    sentences, chosen, shared = answer.sentences, answer.chosen, answer.shared
    with st.container():
        tiles.draw(answer.once("tiles", lambda: tiles.of(chosen)))
        with widgets.actions():
            widgets.share(link, "\n".join(sentences), "content")
            report = handout.of_content(link.url(), lambda: _report(answer))
            handout.draw("throughput", report)
        with widgets.details():
            for text in sentences:
                st.markdown(widgets.answer_text(text))
            st.caption(
                "Law: throughput v(b) = b / (b/v0 + t), with the asymptotic throughput v0 and the "
                "overhead per step t. A step time taken from epochs is epoch time / steps, "
                "validation included."
            )
        drawn = [run for curve in chosen for run in (*curve.points, *curve.left_out)]
        suspect_switch.draw(link, shared, drawn)


def _chart(link: Link, answer: ChosenCurves) -> None:
    widgets.scale("Samples per second against batch size", link.key("scale"))
    log, theme = st.session_state[link.key("scale")] == "log", widgets.theme()
    figure = answer.once(
        "chart", lambda: figures.throughput(answer.lines, theme, log=log), theme, log
    )
    widgets.chart(figure, "throughput.chart", " ".join(answer.sentences))


def _residuals(drawn: Sequence[figures.ThroughputLine], chosen: list[SystemCurve]) -> None:
    """Draw, behind a closed box, how far each step time lies from its fit."""
    if not any(np.isfinite(x.measured.residuals).any() for x in drawn):
        return
    box = widgets.folded("How far each step time is from its fit", "show_chart", "throughput.off")
    if not box.open:
        return
    with box:
        narrow.chart_and_table(
            figures.residuals(drawn, widgets.theme()),
            "throughput.residuals",
            "Relative difference between measured and fitted step times",
        )
        exact = [curve.label for curve in chosen if curves.passes_through(curve)]
        if exact:
            named = ", ".join(exact)
            st.caption(as_text(Text("The fit passes through both points of {named}.", named=named)))


def _table(chosen: list[SystemCurve], drawn: Sequence[figures.ThroughputLine]) -> None:
    widgets.heading("v0, t and the batches that reach 50 % and 90 % of v0")
    records = curves.curve_rows(chosen)
    rows = [_shown(r) for r in records]
    slots = {line.label: line.slot for line in drawn}
    narrow.table(
        rows,
        "throughput.table",
        "Fitted parameters of every chosen curve",
        tiles.cards(rows, records, slots),
    )
    with widgets.actions():
        widgets.download(
            "Curves as CSV",
            lambda: csv_text(curves.curve_rows(chosen)),
            "epochwise-curves.csv",
            key="throughput.csv",
            width="content",
        )
        widgets.download(
            "Points as CSV",
            lambda: csv_text(curves.point_rows(chosen)),
            "epochwise-points.csv",
            key="throughput.points",
            width="content",
        )


def _points(chosen: list[SystemCurve]) -> None:
    """Draw every measured point, with its memory where a run states it."""
    box = widgets.folded("Every measured point", "table_rows", "throughput.every")
    if box.open:
        with box:
            rows = curves.point_rows(chosen)
            memory = any(row["peak_memory_gb"] is not None for row in rows)
            narrow.table(
                [_point(row, memory=memory) for row in rows],
                key="throughput.every_point",
                alt="Batch, step time, samples per second and memory of every point",
            )


def _point(row: Record, *, memory: bool) -> Record:
    """Return a point; `memory` adds that column."""
    shown: Record = {
        "Curve": row["curve"],
        "Batch": row["global_batch_size"],
        "Step time (s)": row["step_s"],
        "Samples/s": row["samples_per_s"],
        "Against the fit (%)": row["measured_against_fit_percent"],
        "In the fit": row["in_fit"],
    }
    return {**shown, **({"Memory (GB)": row["peak_memory_gb"]} if memory else {})}


def _at_batches(
    link: Link, chosen: list[SystemCurve], batches: list[float], wrong: list[str]
) -> None:
    """Draw the field of batch sizes, and the answer of each curve there."""
    with st.container(border=True):
        widgets.heading("At your batch sizes")
        held = [str(text) for text in st.session_state[link.key(BATCH.name)]]
        fields.several(
            link, BATCH, held, accept_new_options=True, placeholder="Type a batch size, such as 256"
        )
        for error in wrong:
            st.warning(as_text(error), icon=":material/error:")
        rows = batch_rows(chosen, batches)
        if not rows:
            return
        narrow.table(
            [_shown_at(r) for r in rows],
            key="throughput.batches",
            alt="Samples per second and step time of every curve at the entered batch sizes",
        )
        widgets.download(
            "CSV", lambda: csv_text(rows), "epochwise-batches.csv", key="throughput.batches.csv"
        )


def _shown_at(row: Record) -> dict[str, object]:
    refused = bool(row["refused"])
    return {
        "Curve": row["curve"],
        "Batch": plain(float(str(row["global_batch_size"]))),
        "Samples/s": "refused" if refused else curves.rounded_cell(row, "samples_per_s"),
        "Step (s)": "" if refused else curves.rounded_cell(row, "step_s"),
        "Basis": row["basis"] or "",
        "Notes": paragraph(str(row["refused"]), str(row["measure_next"]))
        if refused
        else row["notes"] or "",
    }


def _forms(chosen: list[SystemCurve], shared: Store) -> None:
    """Draw speed and accuracy of quantised, pruned and distilled forms of the network."""
    rows = kept.forms(shared, chosen[0].runs[0].workload)
    if not rows:
        return
    with st.container(border=True):
        widgets.heading("Forms of this network for inference: speed and accuracy")
        narrow.table(
            rows,
            key="throughput.forms",
            alt="Throughput, accuracy and size of each form of the network",
        )
        st.caption(
            "The largest measured throughput, at its batch. Accuracy is that of the timed network "
            "on real validation data; a made-up data set has none."
        )


def _shown(row: Record) -> dict[str, object]:
    if row.get("refused"):
        return {
            "Curve": row["curve"],
            "Points": row["points"],
            **_left_out(row),
            "v0 (samples/s)": "refused",
            "Notes": paragraph(str(row["refused"]), str(row["measure_next"])),
        }
    return {
        "Curve": row["curve"],
        "Points": row["points"],
        **_left_out(row),
        "v0 (samples/s)": curves.rounded_cell(row, "asymptotic_throughput"),
        "t (s)": curves.rounded_cell(row, "overhead_s"),
        "b50 (samples)": curves.rounded_cell(row, "batch_50"),
        "b90 (samples)": curves.rounded_cell(row, "batch_90"),
        "Scatter": "–" if row["scatter_percent"] is None else f"{row['scatter_percent']:.1f} %",
        "Basis": row["basis"],
        "Notes": row["notes"] or "",
    }


def _left_out(row: Record) -> dict[str, object]:
    """Return the column of points left out of the fit; {} where there are none."""
    return {"Left out": row["left_out"]} if row["left_out"] else {}


def _report(answer: ChosenCurves) -> AnswerReport:
    """Return the content of the report, made at the click, when no page is being drawn."""
    sentences, drawn, chosen = answer.sentences, answer.lines, answer.chosen
    points = curves.point_rows(chosen)
    memory = any(row["peak_memory_gb"] is not None for row in points)
    return AnswerReport(
        title=Text("Throughput of {workload}", workload=chosen[0].runs[0].workload),
        sentence=sentences[0],
        notes=sentences[1:],
        charts=[
            Chart(title="Samples per second against batch size",
                  spec=figures.throughput(drawn, LIGHT_THEME, log=True), alt=sentences[0]),
            Chart(title="How far each step time lies from its fit",
                  spec=figures.residuals(drawn, LIGHT_THEME),
                  alt="Relative difference between measured and fitted step times"),
        ],
        tables=[
            Table(title="v0, t and the batches that reach 50 % and 90 % of v0",
                  rows=[_shown(row) for row in curves.curve_rows(chosen)],
                  caption="In brackets: 90 % intervals."),
            Table(title="Measured points", rows=[_point(r, memory=memory) for r in points]),
        ],
        sources=curve_sources(chosen, answer.shared.sets),
    )  # fmt: skip


if __name__ == "__main__":
    show()
