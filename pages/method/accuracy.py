"""Past errors: methods side by side, the table behind them, and the targets."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import streamlit as st

from backtest.accuracy import verdicts as figures_of
from backtest.accuracy.page import seconds_of
from backtest.accuracy.public_data import parquet_bytes, read_accuracy, read_seconds
from backtest.accuracy.verdicts import (
    SIDES,
    Accuracy,
    Side,
    Verdict,
    accuracy_of,
    headline_rows,
    per_cent,
)
from backtest.published.page import (
    LEFT_OUT,
    TITLES,
    UNSEEN,
    scores_in,
    summary_sentence,
    title_of,
    unseen_tasks,
)
from backtest.published.page import TARGETS as ABOUT_TARGETS
from backtest.published.targets import results
from backtest.questions.figure import MEAN, REFUSED, UNREFUSED, FigureRow, columns_of
from pages.common import fields, narrow, widgets
from pages.common.kept import ROOT
from pages.common.link import Link
from pages.common.widgets import File
from planner import figures
from planner.core import (
    Record,
    Text,
    cell,
    csv_text,
    message_of,
    rounded_ends,
    sentence_case,
)
from planner.core.slugs import slugs
from planner.figures.frame import Theme, slots

LEAST: Final = 0.1
"""Errors below this are drawn at the left end of the chart [%]."""
MOST_DRAWN: Final = 40
"""Rows of the chart; the table below has all."""
_SIDES: Final = {"all": "All methods", "ours": "Epochwise", "others": "Others"}
_OWN: Final = {
    REFUSED: "Epochwise, points it refuses",
    UNREFUSED: "Epochwise, refused points included",
}
_VERDICTS: Final = ("missed", "reached", "all")


def tiles(back_test: Accuracy) -> list[figures.Tile]:
    """Return the errors of the first sentence as tiles, and that of described language models."""
    first = [
        figures.Tile(
            label=sentence_case(words),
            value=per_cent(row.median_error).removesuffix(" %"),
            unit="%",
            note=Text("one in ten above {error}", error=per_cent(row.p90_error)),
        )
        for words, row in headline_rows(back_test.rows)
    ]
    return [*first, *_language_models()]


def _language_models() -> list[figures.Tile]:
    """Return the error on described language models whose source the fit has not seen."""
    read = _figures()
    unseen = {} if isinstance(read, str) else unseen_tasks(scores_in(read))
    score = unseen.get(f"{LEFT_OUT['source']}_dense")
    if score is None or score.median is None or score.held is None:
        return []
    return [
        figures.Tile(
            label="For described language models of an unseen source",
            value=per_cent(score.median / 100.0).removesuffix(" %"),
            unit="%",
            note=Text("90 % intervals contained {held}", held=per_cent(score.held / 100.0)),
        )
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenRows:
    """The filters' values, and the rows that match."""

    question: str
    task: str
    data_sets: list[str]
    side: Side
    rows: list[FigureRow]
    methods: list[str]
    """Every method of the question, so that filters keep the colours."""

    @property
    def answered(self) -> list[FigureRow]:
        """The rows that have figures."""
        return [row for row in self.rows if row.points]


def choose(link: Link, accuracy: Accuracy) -> ChosenRows:
    """Return the filters of the link, with the matching rows."""
    of = slugs(figures_of.titles(accuracy.rows))
    question = of[link.choice("question", of, next(iter(of)))]
    tasks = slugs(figures_of.tasks_of(accuracy.rows, question))
    task = tasks[link.choice("task", tasks, next(iter(tasks)))]
    names = slugs(figures_of.data_sets_of(accuracy.rows, question, task))
    usual = list(names)[:1] if MEAN in names.values() else list(names)
    picked = link.choices("data", names, usual)
    side: Side = next(s for s in SIDES if s == link.choice("methods", list(SIDES), "all"))
    data_sets = [names[s] for s in names if s in picked]
    return ChosenRows(
        question=question,
        task=task,
        data_sets=data_sets,
        side=side,
        rows=figures_of.shown_rows(accuracy.rows, question, task, data_sets, side),
        methods=figures_of.methods_of(accuracy.rows, question),
    )


def draw(link: Link, accuracy: Accuracy, chosen: ChosenRows) -> None:
    """Draw filters, chart, table and downloads."""
    with st.container(border=True):
        _filters(link, accuracy, chosen)
    if not chosen.rows:
        widgets.nothing(
            "No rows to show.",
            "No data set is chosen above, or no chosen method answers there.",
            "Show the defaults",
            lambda: link.forget("data", "methods"),
            key="method.back",
        )
        return
    with st.container(border=True):
        widgets.heading(widgets.answer_text(_heading(accuracy, chosen)))
        for text in _unanswered(chosen):
            st.markdown(widgets.answer_text(text))
        tab = widgets.open_tab(link)
        with tab.place:
            if tab.name == "table":
                _table(accuracy, chosen)
            elif chosen.answered:
                widgets.chart(chart(chosen, widgets.theme()), "method.chart", alt_text(chosen))
                if len(chosen.answered) > MOST_DRAWN:
                    st.caption(
                        Text("Only the first {most_drawn} rows are drawn.", most_drawn=MOST_DRAWN)
                    )
            else:
                st.caption("No chart: no method answers. The table has the questions.")


def _filters(link: Link, accuracy: Accuracy, chosen: ChosenRows) -> None:
    titles = figures_of.titles(accuracy.rows)
    of = slugs(titles)
    tasks = slugs(figures_of.tasks_of(accuracy.rows, chosen.question))
    names = slugs(figures_of.data_sets_of(accuracy.rows, chosen.question, chosen.task))
    first, second = st.columns(2, vertical_alignment="bottom")
    first.selectbox("Question", list(of), key=link.key("question"),
                    format_func=lambda s: titles[of[s]][0])  # fmt: skip
    second.selectbox("Task", list(tasks), key=link.key("task"),
                     format_func=lambda s: sentence_case(tasks[s]))  # fmt: skip
    st.multiselect("Data sets", list(names), key=link.key("data"),
                   format_func=lambda s: sentence_case(names[s]))  # fmt: skip
    fields.segments(link, "methods", "Methods", {side: _SIDES[side] for side in SIDES})


def method_name(method: str) -> str:
    """Return a method in words: ours have the product's name."""
    return _OWN.get(method) or method.replace("ours:", "Epochwise:", 1)


def _heading(accuracy: Accuracy, chosen: ChosenRows) -> str:
    return f"{figures_of.titles(accuracy.rows)[chosen.question][0]}: {chosen.task}"


def chart(chosen: ChosenRows, look: Theme) -> figures.ChartSpec:
    """Return a chart with a dot per method and a whisker to the 90th percentile of its errors."""
    regret = figures_of.is_regret(chosen.rows[0])
    colour = slots(chosen.methods, chosen.methods)
    several = len({r.data_set for r in chosen.rows}) > 1
    rows = [_dot(r, colour[r.method], several=several) for r in chosen.answered[:MOST_DRAWN]]
    refused = any(row.faint for row in rows)
    scale = figures.Scale(
        title="regret (%), logarithmic" if regret else "error (%), logarithmic",
        unit="%",
        least=LEAST,
        marker="" if regret else "median",
        whisker="" if regret else "to the 90th percentile",
        faint="with refused predictions" if refused else "",
    )
    return figures.dots(rows, scale, look)


def _dot(row: FigureRow, slot: int, *, several: bool) -> figures.Dot:
    end = 100 * row.p90_error if row.p90_error > row.median_error else math.nan
    return figures.Dot(
        label=method_name(row.method),
        slot=slot,
        value=100 * row.median_error,
        low=100 * row.median_error if math.isfinite(end) else math.nan,
        high=end,
        group=sentence_case(row.data_set) if several else "",
        note=_hover(row),
        strong=figures_of.is_ours(row),
        faint=row.method in {REFUSED, UNREFUSED},
    )


def _hover(row: FigureRow) -> str:
    parts = [
        Text(
            "{data_set}: {points:,} points of {curves:,} curves",
            data_set=row.data_set,
            points=row.points,
            curves=row.curves,
        )
    ]
    if not figures_of.is_regret(row):
        parts.append(
            Text(
                "mean {mean}, 90th percentile {tenth}",
                mean=per_cent(row.mean_error),
                tenth=per_cent(row.p90_error),
            )
        )
    if math.isfinite(row.coverage):
        held, wide = per_cent(row.coverage), per_cent(row.median_width)
        parts.append(
            Text("coverage of the 90 % interval {held}, width {wide}", held=held, wide=wide)
        )
    return "\n".join(parts)


def alt_text(chosen: ChosenRows) -> str:
    """Return the chart in words, for screen readers."""
    drawn = chosen.answered[:MOST_DRAWN]
    errors = ", ".join(f"{method_name(r.method)} {per_cent(r.median_error)}" for r in drawn)
    return Text("Median error of each method, {task}: {errors}", task=chosen.task, errors=errors)


def _unanswered(chosen: ChosenRows) -> list[str]:
    """Return a sentence per data set without a single answered point."""
    return [
        Text(
            "{data_set}: none of {points:,} points is answered (0 %), so there "
            "is nothing to compare.",
            data_set=row.data_set,
            points=row.hidden,
        )
        for row in chosen.rows
        if not row.points
    ]


def _table(accuracy: Accuracy, chosen: ChosenRows) -> None:
    narrow.table(
        cells_of(accuracy, chosen),
        "method.table",
        "Errors, intervals and sizes of every method and data set shown",
    )
    about = figures_of.titles(accuracy.rows)[chosen.question][1]
    with st.expander("What the columns mean"):
        st.markdown(
            "- **Error:** |predicted / measured − 1|; every curve counts the same. All methods "
            "predict the same hidden points.\n"
            "- **Regret:** the extra time of a choice of devices and batch over the best "
            "measured one.\n"
            "- **Coverage:** the share of hidden points inside the 90\u00a0% interval.\n"
            "- **Width:** the median of (high − low) / value. A dash marks a method that was "
            "published without an interval.\n"
            "- **Answered:** the share of all questions.\n"
            "- **Seconds:** those of a thousand answers, on one machine, once."
        )
        if about:
            st.markdown(widgets.answer_text(about))
    widgets.row([
        File("Shown as CSV", lambda: csv_text(figures_of.records(chosen.rows)),
             "epochwise-accuracy.csv", "method.csv"),
        File("Shown as parquet", lambda: parquet_bytes(columns_of(chosen.rows)),
             "epochwise-accuracy.parquet", "method.parquet"),
        File("Everything as CSV", lambda: csv_text(figures_of.records(accuracy.rows)),
             "epochwise-accuracy-all.csv", "method.all_csv"),
    ])  # fmt: skip


def cells_of(accuracy: Accuracy, chosen: ChosenRows) -> list[Record]:
    """Return the errors of the chosen rows in per cent, with heads to read."""
    several = len({r.data_set for r in chosen.rows}) > 1
    return [_cells(row, accuracy, several=several) for row in chosen.rows]


def _cells(row: FigureRow, accuracy: Accuracy, *, several: bool) -> Record:
    """Return the cells of a row; numbers stay numbers, so that columns can be sorted."""
    regret, data_set = figures_of.is_regret(row), {"Data set": row.data_set}
    return {
        **(data_set if several else {}),
        "Method": method_name(row.method),
        "Regret (%)" if regret else "Median error (%)": cell(100 * row.median_error, 3),
        **({} if regret else {"Mean (%)": cell(100 * row.mean_error, 3),
                              "90th percentile (%)": cell(100 * row.p90_error, 3),
                              "Coverage (%)": cell(100 * row.coverage, 3),
                              "Width (%)": cell(100 * row.median_width, 3)}),
        "Points": row.points,
        "Curves": row.curves,
        "Answered (%)": cell(100 * row.answered, 3),
        "Questions": row.hidden,
        **_seconds(row, accuracy),
        **data_set,
    }  # fmt: skip


def _seconds(row: FigureRow, accuracy: Accuracy) -> dict[str, float | None]:
    """Return the seconds of a thousand answers; {} for regrets and without timings."""
    if not accuracy.timings or figures_of.is_regret(row):
        return {}
    seconds = seconds_of(accuracy.timings, row, [MEAN])
    return {"Seconds": cell(seconds, 2)}


# -- targets and results -----------------------------------------------------------------------


def choose_verdicts(link: Link) -> str:
    """Return which verdicts to show; missed ones by default."""
    return link.choice("verdict", list(_VERDICTS), _VERDICTS[0])


def draw_verdicts(link: Link, accuracy: Accuracy, verdict: str) -> None:
    """Draw targets and results, with the reason of each miss."""
    chosen = {"missed": accuracy.missed, "all": accuracy.verdicts}.get(verdict)
    shown = [v for v in accuracy.verdicts if v.reached] if chosen is None else chosen
    with st.container(border=True):
        widgets.heading("Targets and results")
        counts = {"missed": len(accuracy.missed), "all": len(accuracy.verdicts)}
        counts["reached"] = counts["all"] - counts["missed"]
        verdicts = {v: f"{sentence_case(v)} ({counts[v]})" for v in _VERDICTS}
        fields.segments(link, "verdict", "Verdict", verdicts)
        if text := _published_verdicts():
            st.caption(text)
        if not shown:
            st.caption("None.")
        elif verdict == "missed":
            st.markdown("\n".join(_missed_line(v) for v in shown))
        else:
            cells = [_verdict_cells(v, alone=verdict == "reached") for v in shown]
            with narrow.beside_cards("method.verdicts", narrow.cards_of(cells), len(cells)):
                escaped = [{k: widgets.answer_text(v) for k, v in row.items()} for row in cells]
                st.table(escaped, hide_index=True)
        with st.expander("Where the limits come from"):
            st.markdown(
                "- The project's specification sets the limits. Most are figures of a prototype on "
                "fuller copies of the same data.\n"
                "- On devices the limit is the best other method on the same points.\n"
                "- These were added after the figures were seen: “were nothing refused”, “changing "
                "later on”, targets 1 and 0.75. Their limit is that of their line.\n"
                "- A regret with a target of 0\u00a0% has to be below 0.5\u00a0%."
            )


def _missed_line(verdict: Verdict) -> str:
    """Return a missed target with its reason as a list item."""
    record = figures_of.verdict_record(verdict)
    figure, why = (widgets.answer_text(t) for t in (sentence_case(verdict.what), verdict.why))
    result = widgets.answer_text(
        Text("{measured}, target {target}.", measured=record["Measured"], target=record["Target"])
    )
    return f"- **{figure}:** {result} {sentence_case(why)}{'.' if why else ''}"


def _verdict_cells(verdict: Verdict, *, alone: bool) -> dict[str, str]:
    cells = figures_of.verdict_record(verdict)
    dropped = {"Verdict"} if alone else set()
    return {k: v for k, v in cells.items() if k not in dropped}


PUBLISHED_PLACE: Final = ROOT / "data" / "accuracy-published.json"


def draw_published() -> None:
    """Draw the whole jobs, the figures of every task, and the worst misses."""
    figures = _figures()
    if isinstance(figures, str):
        st.info(figures, icon=":material/table_view:")
        return
    with st.container(border=True):
        widgets.heading("Published whole jobs")
        st.caption(
            "Device-hours of published whole jobs, and our estimate from network, tokens, "
            "accelerator and count. Intervals are 90 %."
        )
        narrow.table(
            [_job(job) for job in figures["jobs"]], "method.known.jobs",
            "Published whole jobs beside our estimate in device-hours",
            column_config={"Source": st.column_config.LinkColumn("Source")},
        )  # fmt: skip
    with st.container(border=True):
        widgets.heading("Described workloads and published series")
        st.caption(
            "Each published row is a question as a user would enter it. The efficiency model has "
            "seen the rows of the tasks “described”; the next table hides them from it."
        )
        narrow.table(
            _tasks(figures["tasks"]), "method.known.tasks", "Errors, coverage and width by task",
            height="content",
        )  # fmt: skip
        for note in figures.get("notes", ()):
            st.caption(widgets.answer_text(note))
    with st.container(border=True):
        widgets.heading("Sources that no fit has seen")
        st.caption(widgets.answer_text(published_sentence()))
        narrow.table(
            _unseen(figures), "method.known.unseen",
            "Errors, coverage and width on rows that the fit has not seen", height="content",
        )  # fmt: skip
        with st.expander("What is left out"):
            st.markdown(UNSEEN)
    with st.container(border=True):
        widgets.heading("Targets and results on published runs")
        targets = _targets(figures)
        with narrow.beside_cards("method.targets", narrow.cards_of(targets), len(targets)):
            escaped = [{k: widgets.answer_text(v) for k, v in row.items()} for row in targets]
            st.table(escaped, hide_index=True)
        with st.expander("What the targets are compared with"):
            st.markdown(ABOUT_TARGETS)
    with st.expander("Worst misses"):
        narrow.table(
            _misses(figures["worst"]), "method.known.worst",
            "The three worst misses of each task", height="content",
        )  # fmt: skip


@st.cache_resource(show_spinner=False, max_entries=2)
def _kept_published(path: str, changed: int) -> dict[str, Any]:  # noqa: ARG001 - it is the key
    figures: dict[str, Any] = json.loads(PUBLISHED_PLACE.read_text(encoding="utf-8"))
    return figures


def _figures() -> dict[str, Any] | str:
    try:
        return _kept_published(str(PUBLISHED_PLACE), PUBLISHED_PLACE.stat().st_mtime_ns)
    except (OSError, ValueError) as error:
        return Text(
            "The file data/{published_place} cannot be read ({name}). Make it with "
            "python -m planner backtest data/tables/published.",
            published_place=PUBLISHED_PLACE.name,
            name=error.__class__.__name__,
        )


def _job(job: dict[str, Any]) -> dict[str, Any]:
    ends = [job[name] for name in ("value", "low", "high")]
    value, low, high = ends if None in ends else rounded_ends(*ends)
    return {
        "Job": job["name"],
        "Accelerators": f"{job['devices']:,} x {job['accelerator']}",
        "Published (device-hours)": cell(job["published_device_hours"], 3),
        "Our estimate": value,
        "Low": low,
        "High": high,
        "Inside": "yes"
        if job["low"] is not None
        and bool(job["low"] <= job["published_device_hours"] <= job["high"])
        else "no",
        "Source": f"https://{job['place'].split(' ')[0]}",
    }


def _tasks(tasks: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "Question": title,
            "Questions": tasks[task]["asked"],
            "Answered": tasks[task]["answered"],
            "Median error (%)": cell(tasks[task]["median"], 3),
            "Mean error (%)": cell(tasks[task]["mean"], 3),
            "Coverage (%)": cell(tasks[task]["held"], 3),
            "Width (%)": cell(tasks[task]["width"], 3),
        }
        for task, title in TITLES.items()
        if task in tasks and task != "pairs" and tasks[task]["asked"]
    ]


def _unseen(figures: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "Hidden": title_of(task),
            "Rows": score.questions,
            "Median error (%)": cell(score.median, 3),
            "Mean error (%)": cell(score.mean, 3),
            "Coverage (%)": cell(score.held, 3),
            "Width (%)": cell(score.width, 3),
        }
        for task, score in unseen_tasks(scores_in(figures)).items()
    ]


def _targets(figures: dict[str, Any]) -> list[dict[str, str]]:
    return [
        {
            "Figure": sentence_case(result.what),
            "Target": result.target,
            "Measured": result.measured,
            "Verdict": "reached" if result.reached else "missed",
        }
        for result in results(figures["tasks"])
    ]


def _published_verdicts() -> str:
    """Return how many targets on published runs are missed, and where they are; "" without any."""
    figures = _figures()
    if isinstance(figures, str):
        return ""
    verdicts = [result.reached for result in results(figures["tasks"])]
    missed = verdicts.count(False)
    return Text(
        "Of {verdicts} targets on published runs, {missed} are missed: see “Published runs”.",
        verdicts=len(verdicts),
        missed=missed,
    )


def published_sentence() -> str:
    """Return errors on unseen published runs and the pairs decided; "" without figures."""
    figures = _figures()
    return "" if isinstance(figures, str) else summary_sentence(scores_in(figures))


def _misses(worst: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    return [
        {
            "Question": TITLES.get(task, task),
            "What": miss["name"],
            "Source": miss["source"],
            "Estimated over published": miss["ratio"],
            "Inside": "yes" if miss["inside"] else "no",
        }
        for task, misses in worst.items()
        for miss in misses
    ]


PLACE = ROOT / "data" / "accuracy.parquet"


@st.cache_resource(show_spinner=False, max_entries=2)
def _kept(path: str, state: tuple[int, ...]) -> Accuracy:  # noqa: ARG001 - it is the key
    place = Path(path)
    return accuracy_of(read_accuracy(place), read_seconds(_seconds_of(place)))


def _seconds_of(place: Path) -> Path:
    return place.with_name(f"{place.stem}-seconds{place.suffix}")


def _state(place: Path) -> tuple[int, ...]:
    now = place.stat()
    return now.st_mtime_ns, now.st_size


def accuracy() -> Accuracy | str:
    """Return all figures, or why they are missing."""
    try:
        seconds = _seconds_of(PLACE)
        beside = _state(seconds) if seconds.is_file() else ()
        return _kept(str(PLACE), _state(PLACE) + beside)
    except FileNotFoundError:
        return "The file data/accuracy.parquet is missing."
    except (OSError, ValueError) as error:
        return message_of(error)
