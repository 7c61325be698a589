"""Scaling out: do more devices pay?"""

from typing import Final

import streamlit as st

from backtest.published.what_if import idle_words, limit_words, model_rows, shipped_what_if
from pages.common import handout, hardware, kept, narrow, suspect_switch, widgets
from pages.common.kept import store
from pages.common.link import Link
from pages.common.widgets import File
from pages.scaling_out import choice, lines, tiles
from pages.scaling_out.lines import Drawn
from planner import figures
from planner.answers import (
    ScalingOutAnswer,
    count_rows,
    crossover_rows,
    cut_rows,
    scaling_out,
    scaling_out_workloads,
    total_rows,
    worker_rows,
)
from planner.answers.parameters import FOR_THE_EYE
from planner.answers.records import RankRow, ScalingOut
from planner.core import (
    Estimate,
    Record,
    Refusal,
    Text,
    csv_text,
    percent,
)
from planner.figures.frame import LIGHT_THEME, Theme
from planner.report import AnswerReport, Chart, Table
from planner.scaling_out import (
    SeriesAnswer,
    UnevenAnswer,
    limit_sentences,
    link_sentence,
    uneven_sentence,
)
from planner.store import Store

_TABS: Final = {
    "steps": ":material/show_chart: Step time",
    "efficiency": ":material/percent: Efficiency",
    "table": widgets.CHART_OR_TABLE["table"],
}
_CARDS: Final = ("shares", "profiled", "crossover", "uneven", "split")
"""Further answers with a chart and a table."""


def show() -> None:
    """Draw the page."""
    link = Link("scaling-out")
    shared = store()
    st.title("Scaling out")
    st.caption("Do more devices pay?")
    suspect_switch.left_out(link, shared)
    link.state("workload", "series", "driver")
    widgets.declare_tab(link, _TABS)
    widgets.declare_tables(link, _CARDS)
    values = narrow.question(link.page, folds=bool(scaling_out_workloads(shared)))
    with values.inputs:
        chosen = choice.draw(link, shared)
    link.write()
    link.warn()
    if chosen is None:
        values.summary("The question")
        return
    of_link = link.parameters("workload", "series", "driver")
    question = {name: texts for name, texts in of_link.items() if name not in FOR_THE_EYE}
    catalog = hardware.catalog().catalog
    result = kept.scaling_out_of(shared, question, catalog, hardware.stamps())
    values.summary(chosen.workload.split(" · ")[0], chosen.label)
    if result.answer is not None:
        widgets.problems([str(problem) for problem in result.problems])
    if result.answer is None:
        widgets.nothing(
            "No run was timed on several device counts.",
            "Measure the same batch on one device and on two.",
            "Show the first workload",
            lambda: link.forget("workload", "series", "driver"),
            key="scaling-out.back",
        )
        return
    key = (*sorted((n, tuple(t)) for n, t in question.items()), ("", hardware.stamps()))
    record = kept.drawn(shared, "scaling-out record", key, lambda: scaling_out(result, shared.sets))
    of_steps = tuple(pair for pair in key if pair[0] not in choice.NOT_OF_STEPS)
    drawn = Drawn(shared=shared, key=key, of_steps=of_steps, theme=widgets.theme())
    _headline(link, result.answer, record, shared)
    _counts(link, chosen, result.answer, record, drawn)
    _shares(link, result.answer, record, drawn)
    _crossovers(link, result.answer, record, drawn)
    _totals(link, result.answer, record, drawn)
    _uneven(link, result.answer, record, drawn)
    _images(link, result)
    _split(link, record, drawn)
    _stated(record, drawn)
    _formulas()
    _errors()
    narrow.sources(lambda: record.sources, "scaling-out", "Sources of the series and of its driver")


def _headline(link: Link, answer: SeriesAnswer, record: ScalingOut, shared: Store) -> None:
    with st.container():
        tiles.draw(answer)
        with widgets.actions():
            widgets.share(link, "\n".join(record.sentences), "content")
            report = handout.of_content(link.url(), lambda: _report(answer, record))
            handout.draw("scaling-out", report)
        with widgets.details():
            for text in record.sentences:
                st.markdown(widgets.answer_text(text))
            st.caption(
                "Step time T = t + b/v0 + link, link = a1 + a2 g(n) with g from doublings. "
                "A count with several batches also has its own line, weighted by precision. "
                "Efficiency is the speed-up over the fewest devices, divided by their ratio."
            )
        runs = [*answer.series.runs, *(answer.driver.runs if answer.driver else ())]
        suspect_switch.draw(link, shared, runs)


def _counts(
    link: Link, chosen: choice.ScalingChoice, answer: SeriesAnswer, record: ScalingOut, drawn: Drawn
) -> None:
    with st.container(border=True):
        choice.batches(link, chosen.wrong)
        tab = widgets.open_tab(link, _TABS)
        with tab.place:
            if tab.name == "table":
                rows = drawn.once("rows", lambda: count_rows(record))
                cells = [(str(r["Step (s)"] or ""), str(r["Speed-up"] or "")) for r in rows]
                narrow.table(
                    rows,
                    "scaling-out.table",
                    "Step time, speed-up and efficiency of every device count and batch",
                    tiles.cards(record.rows, cells),
                )
                widgets.row(_files(record))
            elif all(isinstance(row.step, Refusal) for row in answer.rows):
                st.caption("No chart: these batches have no answer. The table says why.")
            elif tab.name == "steps":
                widgets.chart(
                    drawn.steps("steps", lambda: figures.step_by_devices(
                        lines.by_devices(answer, efficiency=False), drawn.theme
                    )),
                    "scaling-out.steps",
                    " ".join(record.sentences[:2]),
                )  # fmt: skip
            else:
                widgets.chart(
                    drawn.steps("efficiency", lambda: figures.efficiency_by_devices(
                        lines.by_devices(answer, efficiency=True), drawn.theme
                    )),
                    "scaling-out.efficiency",
                    "Efficiency of every device count against the fewest devices",
                )  # fmt: skip


def _images(link: Link, result: ScalingOutAnswer) -> None:
    """Draw the bytes of a batch at another image size, where the runs are of images."""
    if not result.of_images:
        link.hold(*choice.OF_IMAGES)
        return
    with st.container(border=True):
        widgets.heading("Which batch has as many bytes at another image size?")
        choice.images(link, result.image_px)
        st.markdown(widgets.answer_text(result.images or "Enter two different image sizes."))


def _files(record: ScalingOut) -> list[File]:
    return [
        File("Counts as CSV", lambda: csv_text([_plain(r) for r in record.rows]),
             "epochwise-scaling-out.csv", "scaling-out.csv"),
        File("Crossovers as CSV", lambda: csv_text([_plain(r) for r in record.crossovers]),
             "epochwise-crossovers.csv", "scaling-out.crossovers_csv"),
        File("Workers as CSV", lambda: csv_text([_plain(r) for r in record.uneven]),
             "epochwise-workers.csv", "scaling-out.uneven_csv"),
    ]  # fmt: skip


def _plain(row: object) -> Record:
    names: tuple[str, ...] = row.__struct_fields__  # type: ignore[attr-defined]
    return {name: getattr(row, name) for name in names}


def _shares(link: Link, answer: SeriesAnswer, record: ScalingOut, drawn: Drawn) -> None:
    with st.container(border=True):
        widgets.heading(
            Text("Shares of a step at {batch}",
                 batch=lines.batch_label(answer, answer.batches[-1]))
        )  # fmt: skip
        if slow := link_sentence(answer):
            st.markdown(widgets.answer_text(slow))
        _fitted_shares(link, answer, drawn)
        _profiled_shares(link, record, drawn)


def _fitted_shares(link: Link, answer: SeriesAnswer, drawn: Drawn) -> None:
    parts = lines.shares(answer)
    if all(isinstance(row.step, Refusal) for row in answer.shown):
        st.caption("No shares: this batch has no answer.")
        return
    if parts is None:
        st.caption(
            "These runs do not separate the interconnect from overhead. Measure one device "
            "and a second batch."
        )
        return
    narrow.chart_and_table(
        drawn.steps("shares", lambda: figures.shares(parts, drawn.theme)),
        "scaling-out.shares",
        "Shares of work on samples, overhead and interconnect in a step, by device count",
        lambda: lines.share_rows(parts),
        link=link,
    )


def _profiled_shares(link: Link, record: ScalingOut, drawn: Drawn) -> None:
    """Draw the shares that runs measured, where they state them."""
    parts = lines.profiled(record)
    if parts is None:
        return
    widgets.heading("Measured by TensorFlow's profiler, medians at the largest batch")
    narrow.chart_and_table(
        drawn.steps("profiled", lambda: figures.shares(parts, drawn.theme)),
        "scaling-out.profiled",
        "Measured shares of compute, communication, input and host in a step, by device count",
        lambda: lines.share_rows(parts),
        link=link,
    )


def _crossovers(link: Link, answer: SeriesAnswer, record: ScalingOut, drawn: Drawn) -> None:
    with st.container(border=True):
        widgets.heading("From which batch do workers beat the driver?")
        tab = widgets.chart_or_table("scaling-out.crossover", link=link)
        with tab.place:
            if tab.name == "chart":
                figure = drawn.steps("crossover", lambda: _by_batch(answer, drawn.theme))
                if figure is not None:
                    widgets.chart(
                        figure,
                        "scaling-out.crossover",
                        "Step time of the driver and of more devices against the global batch",
                    )
            else:
                narrow.table(
                    crossover_rows(record),
                    key="scaling-out.crossovers",
                    alt="Global batch from which each device count is faster than the other",
                )
                st.caption(
                    "Crossover batch = (f_n - f_d)/(s_d - s_n). Overhead f and time of a sample s "
                    "are those of driver d and workers n. Runs at one batch check it."
                )


def _by_batch(answer: SeriesAnswer, theme: Theme) -> figures.ChartSpec | None:
    """Return the chart of steps against the batch, with the crossover; None without a line."""
    located = [c for c in answer.crossings if isinstance(c.batch, Estimate)
             and c.is_driver == (answer.driver is not None)
             and c.devices in answer.series.counts]  # fmt: skip
    mark = float(located[-1].batch.value) if located else None  # type: ignore[union-attr]
    drawn = lines.by_batch(answer)
    return figures.step_by_batch(drawn, theme, mark) if drawn else None


def _totals(link: Link, answer: SeriesAnswer, record: ScalingOut, drawn: Drawn) -> None:
    with st.container(border=True):
        box = choice.headed(link, "Total, start-up and idle devices", "totals", *choice.OF_TOTALS)
        choice.totals(link, box)
        for text in limit_sentences(answer):
            st.markdown(widgets.answer_text(text))
        rows = drawn.once("totals", lambda: tuple(total_rows(record)))
        if not rows:
            st.caption("Enter the samples per epoch: the runs state none.")
            return
        st.caption(  # above: the tool bar of the table covers what is above its right end
            "Devices are idle in the start-up, and in training x (1 - efficiency). The epochs are "
            "the same at every batch."
        )
        narrow.table(
            rows,
            key="scaling-out.totals",
            alt="Total time, time of all devices, their idle time and cost by device count",
        )


def _uneven(link: Link, answer: SeriesAnswer, record: ScalingOut, drawn: Drawn) -> None:
    with st.container(border=True):
        title = "Synchronous or asynchronous, with a slow worker"
        choice.slow_worker(link, choice.headed(link, title, "server", *choice.OF_SERVER))
        measured = [u for u in answer.uneven if u.devices in answer.series.counts]
        if not measured:
            st.caption("No step time is known on several devices, which workers need.")
            return
        row = measured[-1]
        st.markdown(widgets.answer_text(uneven_sentence(row)))
        tab = widgets.chart_or_table("scaling-out.uneven", link=link)
        with tab.place:
            if tab.name == "chart":
                widgets.chart(
                    drawn.steps("uneven", lambda: _slowed(answer, row, drawn.theme)),
                    "scaling-out.uneven",
                    uneven_sentence(row),
                )
            else:
                narrow.table(
                    worker_rows(record),
                    key="scaling-out.workers",
                    alt="Synchronous and asynchronous training by device count, with staleness",
                )
                st.caption(
                    "A synchronous step is the expected maximum over the workers. Mean staleness "
                    "is n - 1 updates times the share of a step between reading weights and "
                    "writing gradients. Time ratios need Bcrit: updates are at most "
                    "Smin (1 + Bcrit/b + s)."
                )


def _slowed(answer: SeriesAnswer, row: UnevenAnswer, theme: Theme) -> figures.ChartSpec:
    """Return the chart of both kinds of training against the share that a worker is stopped."""
    slow, waiting, free = lines.uneven(answer, row)
    return figures.uneven(slow, waiting, free, answer.question.slow, theme)


def _split(link: Link, record: ScalingOut, drawn: Drawn) -> None:
    with st.container(border=True):
        title = "Does it fit? How many stages? What does the bubble cost?"
        choice.split(link, choice.headed(link, title, "split", *choice.OF_SPLIT))
        split = record.split
        if split is None:
            st.caption("No cut: choose a named language model and an accelerator with its memory.")
            return
        for text in split.sentences:
            st.markdown(widgets.answer_text(text))
        tab = widgets.chart_or_table("scaling-out.split", link=link)
        with tab.place:
            if tab.name == "chart":
                widgets.chart(
                    drawn.once(
                        "cuts", lambda: figures.memory_of_cuts(lines.cuts(split), drawn.theme)
                    ),
                    "scaling-out.cuts",
                    " ".join(split.sentences),
                )
            else:
                narrow.table(
                    drawn.once("cut rows", lambda: cut_rows(record)),
                    key="scaling-out.splits",
                    alt="Memory, bubble and communication of every cut, fewest shards first",
                )
                widgets.row([File("Cuts as CSV", lambda: csv_text([_plain(r) for r in split.rows]),
                                  "epochwise-cuts.csv", "scaling-out.cuts_csv")])  # fmt: skip
        error = shipped_what_if()["splits"]
        low, high = float(error["relative_p10"]), float(error["relative_p90"])
        st.caption(
            Text(
                "Bubble = (p - 1)/(m + p - 1), p stages, m micro-batches. Speeds are "
                "rough: {low:.2f} to {high:.2f} of published ones.",
                low=low,
                high=high,
            )
        )


def _errors() -> None:
    box = widgets.folded("How wrong are these models?", "fact_check", "scaling-out.errors")
    if not box.open:
        return
    with box:
        scores = shipped_what_if()["scores"]
        narrow.table(
            [
                {"Model": kind, "Cases": s["cases"],
                 "Median error": None if s["median"] is None else percent(s["median"], 1),
                 "Largest error": None if s["largest"] is None else percent(s["largest"], 1),
                 "In the interval": None if s["right"] is None else f"{s['right']} of {s['cases']}"}
                for kind, s in scores.items()
            ],
            key="scaling-out.scores",
            alt="Errors of the what-if models against runs measured on two cores",
        )  # fmt: skip
        st.caption(idle_words(scores["idle devices"]))
        for kind, limits in shipped_what_if()["limits"].items():
            st.caption(limit_words(kind, limits))
        splits = shipped_what_if()["splits"]
        st.caption(
            Text(
                "Memory: {rows_that_fit} of {rows_with_memory} published cuts that ran "
                "fit by this model. {memory_rows} state their memory: {memory:.2f} of it is "
                "predicted in the median. Step: {median_error} off in the median. Our cut fits for "
                "{advised} of {models} models at the published count. Its predicted speed is "
                "{relative:.2f} of the best published one in the median. Made by "
                "`python -m planner backtest --what-if`.",
                advised=splits["advised"],
                models=splits["advised"] + splits["without_advice"],
                relative=float(splits["relative_median"]),
                memory_rows=splits["rows_with_stated_memory"],
                memory=float(splits["memory_median"]),
                rows_that_fit=splits["rows_that_fit"],
                rows_with_memory=splits["rows_with_memory"],
                median_error=percent(splits["median_error"]),
            )
        )
        st.caption(
            "On one public V100 cluster every other law failed beyond 8 devices. There each "
            "further device of a node costs the same; such links are recognised. Rough runs are "
            "refused beyond their counts."
        )


def _formulas() -> None:
    box = widgets.folded("Formulas and sources", "function", "scaling-out.formulas")
    if box.open:
        with box:
            narrow.table(model_rows(), key="scaling-out.formula_table",
                          alt="Formula, source and error of every what-if model")  # fmt: skip


def _stated(record: ScalingOut, drawn: Drawn) -> None:
    """Draw the cases of article 003, whose text states an order only."""
    box = widgets.folded("Article 003: driver or workers", "article", "scaling-out.article")
    if not box.open:
        return
    with box:
        st.caption(
            "ResNet-50 on CIFAR-10, Horovod on Spark. The times are in a figure; the text states "
            "the order. Every case is faster at a larger batch. Three workers win above batch 256, "
            "at most at 512."
        )
        chart = drawn.once("stated order", lambda: _order(record, drawn.theme))
        widgets.chart(
            chart, key="scaling-out.stated_chart", alt="Stated places by epoch time at each batch"
        )
        narrow.table(
            [
                {"Batch": r.batch, "Launch": r.launch, "Nodes": r.nodes, "Devices": r.devices,
                 "Place by epoch time": _places(r)}
                for r in record.stated
            ],
            key="scaling-out.stated",
            alt="Place by epoch time of driver and workers at three batches, where stated",
        )  # fmt: skip


def _order(record: ScalingOut, theme: Theme) -> figures.ChartSpec:
    """Return the chart of the stated order, of all cases of which the text says something."""
    names = {(r.launch, r.nodes, r.devices): _launched(r) for r in record.stated}
    slots = {case: slot for slot, case in enumerate(names)}
    places = [
        figures.Place(name=names[case], slot=slots[case], batch=r.batch, first=r.first, last=r.last)
        for r in record.stated
        if r.first is not None and r.last is not None
        for case in [(r.launch, r.nodes, r.devices)]
    ]
    return figures.stated_order(places, sorted({r.batch for r in record.stated}), theme)


def _places(row: RankRow) -> str:
    """Return the place of a case, or those that the text leaves open."""
    if row.first is None or row.first == row.last:
        return "" if row.rank is None else f"{row.rank}"
    return f"{row.first} to {row.last}"


def _launched(row: RankRow) -> str:
    where = "driver" if row.launch == "driver only" else f"{row.nodes} worker"
    return f"{where}{'s' * (row.nodes > 1)}, {row.devices} devices"


def _report(answer: SeriesAnswer, record: ScalingOut) -> AnswerReport:
    """Return the content of the report, made at the click, when no page is being drawn."""
    steps, efficiency = (lines.by_devices(answer, efficiency=e) for e in (False, True))
    batch = "global batch" if answer.hold == "global" else "batch per device"
    every = (
        ("Step time, speed-up and efficiency", count_rows(record)),
        ("Total, start-up and idle devices", total_rows(record)),
        ("From which batch do workers beat the driver?", crossover_rows(record)),
    )
    return AnswerReport(
        title="Do more devices pay?",
        sentence=record.sentences[0],
        notes=list(record.sentences[1:]),
        charts=[
            Chart(title=Text("Step time against devices, by {batch}", batch=batch),
                  spec=figures.step_by_devices(steps, LIGHT_THEME), alt=record.sentences[0]),
            Chart(title=Text("Efficiency against devices, by {batch}", batch=batch),
                  spec=figures.efficiency_by_devices(efficiency, LIGHT_THEME),
                  alt="Efficiency of every device count against the fewest devices"),
        ],
        tables=[Table(title=title, rows=rows) for title, rows in every if rows],
        sources=list(record.sources),
    )  # fmt: skip


if __name__ == "__main__":
    show()
