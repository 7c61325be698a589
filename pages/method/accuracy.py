"""Past errors: methods side by side, the table behind them, and the targets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import streamlit as st

from backtest.accuracy import verdicts as figures_of
from backtest.accuracy.public_data import parquet_bytes
from backtest.accuracy.seconds_page import seconds_of
from backtest.accuracy.verdicts import (
    SIDES,
    Accuracy,
    Side,
    Verdict,
    per_cent,
)
from backtest.questions.figure import (
    MEAN,
    REFUSED,
    UNREFUSED,
    Row,
    columns_of,
)
from pages.common import theme, widgets
from pages.common.link import Link, slugs
from planner import figures
from planner.core import csv_text
from planner.figures.palette import Theme, slots

LEAST: Final = 0.1
"""Errors below this stand at the left end of the chart [%]."""
MOST_DRAWN: Final = 40
"""Rows of the chart; the table below has all."""
_SIDES: Final = {"all": "All methods", "ours": "Ours", "others": "Others"}
_VERDICTS: Final = ("missed", "reached", "all")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """What the filters say, and the rows that they leave."""

    question: str
    task: str
    data_sets: list[str]
    side: Side
    rows: list[Row]
    methods: list[str]
    """Every method of the question, so that a filter recolours none."""

    @property
    def answered(self) -> list[Row]:
        """The rows that have figures."""
        return [row for row in self.rows if row.points]


def choose(link: Link, known: Accuracy) -> Chosen:
    """Read the filters from the link."""
    of = slugs(figures_of.titles(known.rows))
    question = of[link.one("question", of, next(iter(of)))]
    tasks = slugs(figures_of.tasks_of(known.rows, question))
    task = tasks[link.one("task", tasks, next(iter(tasks)))]
    names = slugs(figures_of.data_sets_of(known.rows, question, task))
    usual = list(names)[:1] if MEAN in names.values() else list(names)
    picked = link.many("data", names, usual)
    side: Side = next(s for s in SIDES if s == link.one("methods", list(SIDES), "all"))
    data_sets = [names[s] for s in names if s in picked]
    return Chosen(
        question=question,
        task=task,
        data_sets=data_sets,
        side=side,
        rows=figures_of.shown_rows(known.rows, question, task, data_sets, side),
        methods=figures_of.methods_of(known.rows, question),
    )


def draw(link: Link, known: Accuracy, chosen: Chosen) -> None:
    """Filters, chart, table and downloads."""
    with st.container(border=True):
        _filters(link, known, chosen)
    if not chosen.rows:
        widgets.nothing(
            "Nothing is left to show.",
            "No data set is chosen above, or none of the methods chosen answers there.",
            "Show the usual ones",
            lambda: link.forget("data", "methods"),
            key="method.back",
        )
        return
    with st.container(border=True):
        st.markdown(f"**{widgets.answer_text(_heading(known, chosen))}**")
        if chosen.answered:
            widgets.chart(chart(chosen, theme.current()), "method.chart", alt_text(chosen))
        for text in _unanswered(chosen):
            st.markdown(widgets.answer_text(text))
        st.caption(_caption(chosen))
    _table(known, chosen)


def _filters(link: Link, known: Accuracy, chosen: Chosen) -> None:
    titles = figures_of.titles(known.rows)
    of = slugs(titles)
    tasks = slugs(figures_of.tasks_of(known.rows, chosen.question))
    names = slugs(figures_of.data_sets_of(known.rows, chosen.question, chosen.task))
    first, second = st.columns(2, vertical_alignment="bottom")
    first.selectbox("Question", list(of), key=link.key("question"),
                    format_func=lambda s: titles[of[s]][0])  # fmt: skip
    second.selectbox("Task", list(tasks), key=link.key("task"),
                     format_func=lambda s: sentence_case(tasks[s]))  # fmt: skip
    st.multiselect("Data sets", list(names), key=link.key("data"),
                   format_func=lambda s: sentence_case(names[s]))  # fmt: skip
    st.segmented_control("Methods", list(SIDES), key=link.key("methods"), required=True,
                         format_func=_SIDES.__getitem__, label_visibility="collapsed")  # fmt: skip


def sentence_case(text: str) -> str:
    """The text with a capital at its beginning."""
    return text[:1].upper() + text[1:]


def _heading(known: Accuracy, chosen: Chosen) -> str:
    return f"{figures_of.titles(known.rows)[chosen.question][0]}: {chosen.task}"


def chart(chosen: Chosen, look: Theme) -> figures.ChartSpec:
    """A dot for every method, its whisker up to what nine in ten errors stay below."""
    regret = figures_of.is_regret(chosen.rows[0])
    colour = slots(chosen.methods, chosen.methods)
    several = len({r.data_set for r in chosen.rows}) > 1
    rows = [_dot(r, colour[r.method], several=several) for r in chosen.answered[:MOST_DRAWN]]
    title = "regret (%)" if regret else "median error, whisker to the 90th percentile (%)"
    return figures.dots(rows, figures.Scale(title=title, unit="%", least=LEAST), look)


def _dot(row: Row, slot: int, *, several: bool) -> figures.Dot:
    end = 100 * row.p90_error if row.p90_error > row.median_error else math.nan
    return figures.Dot(
        label=row.method,
        slot=slot,
        value=100 * row.median_error,
        low=100 * row.median_error if math.isfinite(end) else math.nan,
        high=end,
        group=sentence_case(row.data_set) if several else "",
        note=_told(row),
        strong=figures_of.is_ours(row),
        faint=row.method in {REFUSED, UNREFUSED},
    )


def _told(row: Row) -> str:
    parts = [f"{row.data_set}: {row.points:,} points of {row.curves:,} curves"]
    if not figures_of.is_regret(row):
        parts.append(f"mean {per_cent(row.mean_error)}, 90th percentile {per_cent(row.p90_error)}")
    if math.isfinite(row.coverage):
        held, wide = per_cent(row.coverage), per_cent(row.median_width)
        parts.append(f"90 % interval held {held}, {wide} wide")
    return "\n".join(parts)


def alt_text(chosen: Chosen) -> str:
    """The chart in words, for those who cannot see it."""
    told = ", ".join(f"{r.method} {per_cent(r.median_error)}" for r in chosen.answered[:MOST_DRAWN])
    return f"Median error of each method, {chosen.task}: {told}"


def _unanswered(chosen: Chosen) -> list[str]:
    """Data sets on which nothing that was asked is answered: that is a figure too."""
    return [
        f"{sentence_case(row.data_set)}: none of {row.asked:,} points is answered (0 %), so there "
        "is nothing to compare."
        for row in chosen.rows
        if not row.points
    ]


def _caption(chosen: Chosen) -> str:
    cut = (
        f" Only the first {MOST_DRAWN} rows are drawn." if len(chosen.answered) > MOST_DRAWN else ""
    )
    if figures_of.is_regret(chosen.rows[0]):
        return (
            "Regret is what a choice of devices and batch took beyond the best of all measured "
            f"ones. The axis is logarithmic; a triangle says {LEAST:g}\u00a0% or less.{cut}"
        )
    return (
        "All methods predict the same held-out points. The axis is logarithmic: "
        "equal distances are equal factors. Epochwise has large markers; open ones are "
        f"our prediction where we would refuse.{cut}"
    )


def _table(known: Accuracy, chosen: Chosen) -> None:
    with st.container(border=True):
        st.markdown("**The figures**")
        several = len({r.data_set for r in chosen.rows}) > 1
        widgets.table(
            [_cells(row, known, several=several) for row in chosen.rows],
            key="method.table",
            alt="Errors, intervals and sizes of every method and data set shown",
        )
        st.caption(
            "Error is |predicted / measured − 1|; every curve counts the same. Coverage is the "
            "share of hidden points inside the 90\u00a0% interval. Width is the median of "
            "(high − low) / value. A dash marks a method that was published without an interval. "
            "Answered is the share of all questions. Seconds are those of a thousand answers, on "
            "one machine, once."
        )
        about = figures_of.titles(known.rows)[chosen.question][1]
        if about:
            st.caption(widgets.answer_text(about))
        first, second, third = st.columns(3)
        with first:
            widgets.download("Shown as CSV", lambda: csv_text(figures_of.records(chosen.rows)),
                             "epochwise-accuracy.csv", key="method.csv")  # fmt: skip
        with second:
            widgets.download("Shown as parquet", lambda: parquet_bytes(columns_of(chosen.rows)),
                             "epochwise-accuracy.parquet", key="method.parquet")  # fmt: skip
        with third:
            widgets.download("Everything as CSV", lambda: csv_text(figures_of.records(known.rows)),
                             "epochwise-accuracy-all.csv", key="method.all_csv")  # fmt: skip


def _cells(row: Row, known: Accuracy, *, several: bool) -> dict[str, str | float | int | None]:
    """Numbers stay numbers, so that a column can be sorted."""
    regret, data_set = figures_of.is_regret(row), {"Data set": row.data_set}
    return {
        **(data_set if several else {}),
        "Method": row.method,
        "Regret (%)" if regret else "Median error (%)": _number(row.median_error),
        **({} if regret else {"Mean (%)": _number(row.mean_error),
                              "90th percentile (%)": _number(row.p90_error),
                              "Coverage (%)": _number(row.coverage),
                              "Width (%)": _number(row.median_width)}),
        "Points": row.points,
        "Curves": row.curves,
        "Answered (%)": _number(row.answered),
        "Asked": row.asked,
        **_seconds(row, known),
        **data_set,
    }  # fmt: skip


def _number(share: float) -> float | None:
    return float(f"{100 * share:.3g}") if math.isfinite(share) else None


def _seconds(row: Row, known: Accuracy) -> dict[str, float | None]:
    """How long a thousand answers took, where the back-test kept it; no column for regrets."""
    if not known.timings or figures_of.is_regret(row):
        return {}
    seconds = seconds_of(known.timings, row, [MEAN])
    return {"Seconds": None if seconds is None else float(f"{seconds:.2g}")}


# -- wanted and measured -----------------------------------------------------------------------


def choose_verdicts(link: Link) -> str:
    """Which verdicts to show; those that are missed first."""
    return link.one("verdict", list(_VERDICTS), _VERDICTS[0])


def draw_verdicts(link: Link, known: Accuracy, verdict: str) -> None:
    """What is wanted of the figures, what was measured, and why some are missed."""
    chosen = {"missed": known.missed, "all": known.verdicts}.get(verdict)
    shown = [v for v in known.verdicts if v.reached] if chosen is None else chosen
    with st.container(border=True):
        st.markdown("**Targets and results**")
        counts = {"missed": len(known.missed), "all": len(known.verdicts)}
        counts["reached"] = counts["all"] - counts["missed"]
        st.segmented_control(
            "Verdict",
            list(_VERDICTS),
            key=link.key("verdict"),
            required=True,
            format_func=lambda v: f"{v.capitalize()} ({counts[v]})",
            label_visibility="collapsed",
        )
        if not shown:
            st.caption("None.")
        elif verdict == "missed":
            st.markdown("\n".join(_missed_line(v) for v in shown))
        else:
            st.table([_verdict_cells(v, alone=verdict == "reached") for v in shown],
                     hide_index=True)  # fmt: skip
        st.caption(
            "The limits are those of the project's specification. Most are figures of a prototype "
            "on fuller copies of the same data. On devices the limit is the best other method on "
            "the same points. A few were added after the figures were seen: “were nothing "
            "refused”, “changing later on”, targets 1 and 0.75. Their limit is that of their "
            "line. A regret with a target of 0\u00a0% has to be below 0.5\u00a0%."
        )


def _missed_line(one: Verdict) -> str:
    """A list reads better than a narrow table where every line has a reason."""
    told = figures_of.verdict_record(one)
    figure, why = (widgets.answer_text(t) for t in (sentence_case(one.what), one.why))
    said = widgets.answer_text(f"{told['Measured']}, target {told['Target']}.")
    return f"- **{figure}:** {said} {sentence_case(why)}{'.' if why else ''}"


def _verdict_cells(one: Verdict, *, alone: bool) -> dict[str, str]:
    cells = figures_of.verdict_record(one)
    dropped = {"Verdict"} if alone else set()
    return {k: widgets.answer_text(v) for k, v in cells.items() if k not in dropped}
