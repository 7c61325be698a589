"""Steps to target: where larger batches give diminishing returns, and the best batch."""

from collections.abc import Callable
from typing import Final, TypeVar

import numpy as np
import streamlit as st

from pages.common import handout, hardware, kept, narrow, suspect_switch, widgets
from pages.common.kept import store
from pages.common.link import Link
from pages.common.widgets import File
from pages.steps_to_target import (
    families,
    lines,
    question,
    reference_choice,
    rows,
    step_times,
    tiles,
)
from pages.steps_to_target.lines import TargetView
from planner.core import Record, Text, csv_text
from planner.figures.frame import LIGHT_THEME
from planner.report import AnswerReport, Chart, Table
from planner.store import Store
from planner.time_to_target import (
    efficiency_sentence,
    sentences,
    stated_rows,
    stated_sentences,
    tables,
    way_rows,
    with_stated,
)

Made = TypeVar("Made")
_CHART: Final = "steps-to-target.chart"


def show() -> None:
    """Draw the page."""
    link = Link("steps-to-target")
    shared = store()
    st.title("Steps to target")
    left_out = suspect_switch.left_out(link, shared)
    link.state("workload", "optimizers", "target", "round", "times", "system", "devices", "pattern",
               families.NAME)  # fmt: skip
    widgets.declare_tab(link)
    widgets.declare_tables(link, ["stated", "families", "time"])
    values = narrow.question(link.page, folds=question.has_choice(shared))
    with values.inputs:
        view = question.view_of(link, shared, left_out)
    if view is not None:
        values.summary(view.goal.trained, view.goal.target)
    link.write()
    link.warn()
    if view is None:
        _no_workload()
    elif not view.comparison.curves and not view.stated:
        _nothing(link, view)
    else:
        texts = _once(link, "sentences", lambda: _sentences(view))
        _answer(link, view, texts, shared)
        _stated_card(link, view, " ".join(texts))
        if view.comparison.curves:
            _steps_card(link, view, " ".join(texts))
            if view.families:
                families.draw(link, view.families)
            _time_card(link, view, shared, " ".join(texts))
        _reached_card(view)
        _tables(view, shared)
    if problem := reference_choice.reference_points().read.problem:
        st.caption(widgets.answer_text(problem))


def _no_workload() -> None:
    widgets.nothing(
        question.NO_TRIALS,
        question.HOW_TO_MAKE,
        "Look again",
        lambda: None,
        key="steps-to-target.again",
    )


def _nothing(link: Link, view: TargetView) -> None:
    """Draw the page without an answer: no choice, or no evaluations."""
    what, why = view.empty
    back: tuple[str, ...]
    if np.isfinite(view.comparison.target):
        button, back, key = "Show the defaults", ("optimizers",), "steps-to-target.back"
    else:
        button, key = "Show the first workload", "steps-to-target.first"
        back = ("workload", "optimizers", "target")
    widgets.nothing(what, why, button, lambda: link.forget(*back), key=key)


def _answer(link: Link, view: TargetView, texts: list[str], shared: Store) -> None:
    with st.container():
        tiles.draw(view, texts[0])
        with widgets.actions():
            widgets.share(link, "\n".join(texts), "content")
            sources = rows.sources(view, shared)
            report = handout.of_content(link.url(), lambda: _report(view, sources, texts))
            handout.draw("steps-to-target", report)
        with widgets.details():
            for text in texts:
                st.markdown(widgets.answer_text(text))
            for text in _once(link, "remarks", lambda: _remarks(view)):
                st.caption(widgets.answer_text(text))


def _once(link: Link, what: str, make: Callable[[], Made]) -> Made:
    """Return a figure of this question in this theme, kept for all sessions."""
    of = (link.question(*widgets.OPEN), widgets.theme(), hardware.stamps())
    return kept.drawn(store(), Text("steps to target {what}", what=what), of, make)


def _sentences(view: TargetView) -> list[str]:
    """Return stated times, the shortest time on known step times, a sentence per optimiser."""
    stated = stated_sentences(view.goal, view.stated) if view.stated else []
    first = sentences.headline(view.goal, view.timings, view.times.placed)
    texts = sentences.answer_sentences(
        view.comparison,
        view.goal,
        view.timings,
        view.times.placed,
        own_times=bool(view.times.own),
    )
    return [*stated, *([first] if first else []), *texts]


def _remarks(view: TargetView) -> list[str]:
    remarks = [
        *sentences.note_lines(sentences.notes_of(view.comparison, view.timings)),
        sentences.noise_sentence(view.comparison),
        *view.remarks,
        sentences.LAW if view.lead or not view.stated else "",
    ]
    return [t for t in remarks if t]


def _stated_card(link: Link, view: TargetView, alt: str) -> None:
    if not view.stated:
        return
    with st.container(border=True):
        widgets.heading("Stated time to target, by accelerator and count")
        tab = widgets.chart_or_table("steps-to-target.stated", link=link)
        records = stated_rows(view.stated)
        with tab.place:
            if tab.name == "chart":
                figure = lines.stated_figure(view, widgets.theme())
                widgets.chart(figure, "steps-to-target.stated", alt)
                names = {str(r["accelerator"]) for r in records}
                if len(names) > lines.MOST_ACCELERATORS:
                    st.caption(
                        Text(
                            "The {most_accelerators} accelerators with most runs are drawn.",
                            most_accelerators=lines.MOST_ACCELERATORS,
                        )
                    )
            else:
                narrow.table(
                    [rows.stated(r) for r in records],
                    key="steps-to-target.stated_times",
                    alt="Median stated time to the target of every accelerator and count",
                )
                st.caption("Submitters choose the batch for each count.")
                widgets.row(
                    [File("Stated times as CSV", lambda: csv_text(records),
                          "epochwise-stated-times.csv", "steps-to-target.stated_csv")]
                )  # fmt: skip


def _steps_card(link: Link, view: TargetView, alt: str) -> None:
    with st.container(border=True):
        widgets.heading(
            Text(
                "Steps to {answer_text} against batch size",
                answer_text=widgets.answer_text(view.goal.target),
            )
        )
        tab = widgets.open_tab(link)
        with tab.place:
            if tab.name == "chart":
                if any(np.isfinite(c.median_steps).any() for c in view.comparison.curves):
                    figure = _once(link, "steps", lambda: lines.steps_figure(view, widgets.theme()))
                    widgets.chart(figure, _CHART, alt)
                else:
                    st.caption("No chart: at no batch did half of the seeds reach this target.")
            else:
                _fit_table(view)


def _time_card(link: Link, view: TargetView, shared: Store, alt: str) -> None:
    times = view.times
    with st.container(border=True):
        widgets.heading("Time to target on a system")
        step_times.draw(link, times)
        if not times.chosen:
            st.caption(
                "Time to target is steps times step time: choose the source of the step times. "
                "Those of another workload show the trade-off, not the time of this one."
            )
            return
        suspect_switch.draw(link, shared, times.runs)
        make = lambda: lines.time_figure(view, widgets.theme()) if view.timings else None  # noqa: E731
        drawn = _once(link, "time", make)
        if drawn is None:
            law = "it needs a law of steps by batch and step times of this system"
            st.caption(
                Text(
                    "No chart: {law}.",
                    law=law if view.stated else "the answer above has the reason",
                )
            )
        else:
            narrow.chart_and_table(
                drawn, "steps-to-target.time", alt, lambda: rows.times(view), link=link
            )
            st.caption("Half or twice the best batch costs at most an eighth more time.")
        _on_other_counts(view)


def _reached_card(view: TargetView) -> None:
    """Draw times to the target stated by the trials, by device count."""
    if not view.reached:
        return
    with st.container(border=True):
        widgets.heading("Stated times to the target, every submission")
        narrow.table(
            list(view.reached),
            key="steps-to-target.reached",
            alt="Stated times to the target of every submission, fewest devices first",
        )


def _on_other_counts(view: TargetView) -> None:
    times = view.times
    if view.lead:
        name, count = view.lead.optimizer, times.count or times.devices_used
        scaled, timing = times.scaled.get(name), view.timings.get(name)
        text = efficiency_sentence(scaled, timing, count, times.nodes)
        if text:
            st.caption(widgets.answer_text(f"{name}: {text}"))
    best = way_rows(view.comparison, times.scaled, times.count)
    if best:
        widgets.heading("Best device counts, by time and by device-hours")
        narrow.table(
            [rows.way(r) for r in best],
            key="steps-to-target.ways",
            alt="Devices and batches that no other choice beats in both time and device-hours",
        )
    if times.others:
        widgets.heading("All measured device counts")
        narrow.table(
            [
                rows.devices(r)
                for r in with_stated(tables.device_rows(view.comparison, times.others), view.stated)
            ],
            key="steps-to-target.counts",
            alt="Best batch, time and device-hours for every device count",
        )


def _tables(view: TargetView, shared: Store) -> None:
    if view.comparison.curves:
        _every_batch(view)
    if view.is_reference:
        reference_choice.every_list(view.goal.trained)
    narrow.sources(
        lambda: rows.sources(view, shared),
        "steps-to-target",
        "Sources of the trials and of the step times",
    )


def _fit_table(view: TargetView) -> None:
    widgets.heading("Critical batch size, least steps and least samples")
    fits = _fits(view)
    shown = [rows.fit(r) for r in fits]
    narrow.table(
        shown,
        "steps-to-target.table",
        "Fitted parameters of every optimiser",
        tiles.cards(shown),
    )
    widgets.row(_files(view, fits))


def _every_batch(view: TargetView) -> None:
    box = widgets.folded("Every batch at its best learning rate", "table_rows",
                         "steps-to-target.every")  # fmt: skip
    if box.open:
        with box:
            _batches(view)


def _files(view: TargetView, fits: list[Record]) -> list[File]:
    return [
        File("Fits as CSV", lambda: csv_text(fits), "epochwise-convergence.csv",
             "steps-to-target.csv"),
        File("Batches as CSV", lambda: csv_text(tables.batch_rows(view.comparison)),
             "epochwise-batches.csv", "steps-to-target.batches_csv"),
        File("Seeds as CSV", lambda: csv_text(tables.seed_rows(view.comparison)),
             "epochwise-seeds.csv", "steps-to-target.seeds_csv"),
    ]  # fmt: skip


def _batches(view: TargetView) -> None:
    narrow.table(
        [rows.batch(r) for r in tables.batch_rows(view.comparison)],
        key="steps-to-target.batches",
        alt="Best learning rate, steps and noise scale of every batch",
    )


def _fits(view: TargetView) -> list[Record]:
    return tables.fit_rows(view.comparison, view.goal, view.timings, view.times.placed)


def _report(view: TargetView, sources: list[Record], texts: list[str]) -> AnswerReport:
    """Return the content of the report, made at the click, when no page is being drawn."""
    return AnswerReport(
        title=Text("Steps to {target} against batch size", target=view.goal.target),
        sentence=texts[0],
        notes=[*texts[1:], *_remarks(view)],
        charts=_printed_charts(view, texts[0]),
        tables=_printed_tables(view),
        sources=sources,
    )


def _printed_charts(view: TargetView, alt: str) -> list[Chart]:
    """Return the charts that the page shows, in the light theme."""
    charts = []
    if view.stated:
        charts.append(
            Chart(title="Stated time to target, by accelerator and count",
                  spec=lines.stated_figure(view, LIGHT_THEME), alt=alt)
        )  # fmt: skip
    if any(np.isfinite(c.median_steps).any() for c in view.comparison.curves):
        charts.append(
            Chart(
                title=Text("Steps to {target} against batch size", target=view.goal.target),
                spec=lines.steps_figure(view, LIGHT_THEME),
                alt=alt,
            )
        )
    drawn = lines.time_figure(view, LIGHT_THEME) if view.times.chosen and view.timings else None
    if drawn is not None:
        charts.append(Chart(title="Time to target on a system", spec=drawn, alt=alt))
    return charts


def _printed_tables(view: TargetView) -> list[Table]:
    """Return the tables of the page under its own heads."""
    stated = [rows.stated(r) for r in stated_rows(view.stated)] if view.stated else []
    fits = [rows.fit(r) for r in _fits(view)]
    batches = [rows.batch(r) for r in tables.batch_rows(view.comparison)]
    every = (
        ("Stated time to target, by accelerator and count", stated),
        ("Critical batch size, least steps and least samples", fits),
        ("Every batch at its best learning rate", batches),
    )
    return [Table(title=title, rows=shown) for title, shown in every if shown]


if __name__ == "__main__":
    show()
