"""docs/accuracy.md: the figures as a page, with missed and reached targets.

docs/accuracy-seconds.md: how long each method took, on one machine, once.

Seconds differ from run to run, so they are in separate files that change each time.
`backtest.accuracy.public_data` measures and stores them.
"""

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np

from backtest.accuracy.targets import TARGETS, TargetRange
from backtest.questions.figure import REFUSED, UNREFUSED, FigureRow
from backtest.questions.source_table import PUBLIC_DATA, Origin
from planner.core import Text, sentence_case, shipped_rows

INTRODUCTION: Final = (
    "{data}, half of them hidden, predicted by the product and by other methods. Made by `python "
    "-m planner backtest {folder}`. The same figures are in `data/accuracy.parquet`. The time of "
    "each method is in [accuracy-seconds.md](accuracy-seconds.md), which changes with every run. "
    "{about}",
    "Error is |predicted/measured - 1|. Every curve (a sweep over the batch, a workload, a run) "
    "counts the same, with any number of points; a mean over data sets counts every set the same. "
    "All methods are scored on the points that the product answers, and `answered` is their share "
    "(0 % if it answers none). "
    '"ours, where it refuses" is our form on the other points, "ours, were nothing refused" on '
    "all points. Intervals are nominal 90 %; `coverage` is the share of hidden points inside, "
    "`width` the median of (high - low)/value. Methods without an interval were published "
    "without one. [constants.md](constants.md) lists the constants and what other data would "
    "choose.",
)
PUBLIC: Final = "The data are not part of this project; each section states its sources."
PARTIAL: Final = "These public data sets are missing: {missing}."
SKIPPED: Final = "Unusable rows, files or questions are left out: {count:,}."
OWN: Final = (
    "Hidden and shown points are from the same systems: the errors are of these measurements, not "
    "of others."
)
TARGETS_TEXT: Final = (
    "{count} figures with their targets: {reached} are reached, {missed} missed. The targets are "
    "those of the project's specification. Most are figures of a prototype on fuller copies of "
    "the same data; for devices the target is the best other method on the same points. Some "
    "were added after the figures were seen, with the target of a related line: refused points "
    'included (both), "changing later on", after 10 and 20 epochs, the check on Sia, targets 1 '
    "and 0.75. A target regret of 0 % means below 0.5 %."
)
ABOUT: Final = {
    row["question"]: (row["title"], row["text"]) for row in shipped_rows(__package__, "about.csv")
}


def accuracy_page(rows: Sequence[FigureRow], origin: Origin, published: Sequence[str] = ()) -> str:
    """Return the page; texts about the public data appear only if all of it was read."""
    parts = ["# How wrong are we?\n", *(_paragraph(text) for text in _introduction(origin))]
    if any(target.measured(rows) is not None for target in TARGETS):
        parts += ["## In short\n", *_summary(rows, origin), ""]
    for question in dict.fromkeys(r.question for r in rows):
        mine = [r for r in rows if r.question == question]
        title, text = ABOUT[question]
        parts += [f"## {title}\n", *_about(text, question, mine, origin)]
        for task in dict.fromkeys(r.task for r in mine):
            parts += _task(task, [r for r in mine if r.task == task])
    parts += published
    return "\n".join(parts).rstrip() + "\n"


def _about(text: str, question: str, rows: Sequence[FigureRow], origin: Origin) -> list[str]:
    """Return the text on a question's data; for partial public data only the sources."""
    names = {r.data_set for r in rows}
    sources = [
        f"{source.title}: {source.origin}. Licence: {source.licence}."
        for source in PUBLIC_DATA
        if question in source.questions and names & set(source.data_sets)
    ]
    about = text if origin.whole else " ".join(sources)
    return [_paragraph(about)] if about else []


def _introduction(origin: Origin) -> tuple[str, ...]:
    first, *others = INTRODUCTION
    about = [PUBLIC] if origin.public else []
    if origin.public and origin.missing:
        about.append(PARTIAL.format(missing="; ".join(origin.missing)))
    about += [OWN] if origin.result_sets else []
    about += [SKIPPED.format(count=origin.skipped)] if origin.skipped else []
    data = _DATA[origin.public, bool(origin.result_sets)]
    return first.format(data=data, folder=origin.folder, about=" ".join(about)), *others


_DATA: Final[Mapping[tuple[bool, bool], str]] = MappingProxyType(
    {
        (True, True): "Public measurements and measurements of result sets",
        (True, False): "Public measurements",
        (False, True): "Measurements of result sets",
        (False, False): "",
    }
)
"""What the rows are of: public measurements, result sets."""


def _paragraph(text: str) -> str:
    return textwrap.fill(text, 100) + "\n"


def _summary(rows: Sequence[FigureRow], origin: Origin) -> list[str]:
    measured = [(t, value) for t in TARGETS if (value := t.measured(rows)) is not None]
    missed = sum(not target.reached(rows) for target, _ in measured)
    return [
        _paragraph(
            TARGETS_TEXT.format(count=len(measured), reached=len(measured) - missed, missed=missed)
        ),
        "| figure | target | measured | |",
        "|---|---|---|---|",
        *(
            _target_line(target, value, rows, with_reasons=origin.whole)
            for target, value in measured
        ),
    ]


def _target_line(
    target: TargetRange, value: float, rows: Sequence[FigureRow], *, with_reasons: bool
) -> str:
    missed = f"**missed**: {target.why}" if target.why and with_reasons else "**missed**"
    verdict = "reached" if target.reached(rows) else missed
    return f"| {target.what} | {target.range_text(rows)} | {100 * value:.3g} % | {verdict} |"


def _task(task: str, rows: Sequence[FigureRow]) -> list[str]:
    sets = list(dict.fromkeys(r.data_set for r in rows))
    cells = {(r.method, r.data_set): r for r in rows}
    refused = any(r.method == REFUSED for r in rows)
    methods = [m for m in dict.fromkeys(r.method for r in rows) if refused or m != UNREFUSED]
    if task.startswith("regret"):
        return [f"### {sentence_case(task)}\n", *_table(methods, sets, cells, "%", _regret), ""]
    bounded = [m for m in methods if any(not np.isnan(r.coverage) for r in rows if r.method == m)]
    coverage = _table(bounded, sets, cells, "coverage, % / width, %", _interval) if bounded else []
    return [
        f"### {sentence_case(task)}\n",
        *_table(methods, sets, cells, "median / mean / p90 error, %", _errors, sizes=True),
        "",
        *coverage,
        *([""] if coverage else []),
    ]


def _table(
    methods: Sequence[str],
    sets: Sequence[str],
    cells: Mapping[tuple[str, str], FigureRow],
    unit: str,
    text: Callable[[FigureRow], str],
    *,
    sizes: bool = False,
) -> list[str]:
    lines = [f"| {unit} | {' | '.join(sets)} |", "|---" * (len(sets) + 1) + "|"]
    if sizes:
        first = [cells.get((methods[0], name)) for name in sets]
        lines.append(f"| curves, points (answered) | {' | '.join(map(_sizes, first))} |")
    for method in methods:
        row = [cells.get((method, name)) for name in sets]
        lines.append(f"| {method} | {' | '.join(text(r) if r else '' for r in row)} |")
    return lines


def _sizes(row: FigureRow | None) -> str:
    if row and not row.points:
        return Text("none of {points} (0 %)", points=row.hidden)
    return f"{row.curves}, {row.points} ({_percent(row.answered)} %)" if row else ""


def _errors(row: FigureRow) -> str:
    if not row.points:
        return "no answer"
    errors = " / ".join(_percent(e) for e in (row.median_error, row.mean_error, row.p90_error))
    alone = row.method in {REFUSED, UNREFUSED}
    return f"{errors} ({row.points} points)" if alone else errors


def _interval(row: FigureRow) -> str:
    if not row.points:
        return "no answer"
    if np.isnan(row.coverage):
        return "none"
    return f"{_percent(row.coverage)} / {_percent(row.median_width)}"


def _regret(row: FigureRow) -> str:
    return _percent(row.mean_error)


def _percent(share: float) -> str:
    """Return a share in per cent: one decimal below 100, two below 1."""
    value = 100.0 * share
    return f"{value:.2f}" if value < 1.0 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


PER: Final = 1000.0
"""Answers per stated time: a single answer takes microseconds to milliseconds."""
SECONDS_INTRODUCTION: Final = (
    "Time of fits and answers in the run that made [accuracy.md](accuracy.md), for all points, "
    "refused or not. Made by `python -m planner backtest {folder}`, with a monotonic clock. Unlike "
    "the other pages this one changes with every run and machine: only the powers of ten matter. "
    "Methods over the batch answer many questions at once, the others one by one, which takes "
    "longer per answer."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Seconds that a method took to fit and predict the points of a data set."""

    question: str
    task: str
    method: str
    data_set: str
    points: int
    seconds: float


def per_thousand(timings: Sequence[Timing]) -> float:
    """Return the seconds per thousand answers [s].

    Raises:
        ValueError: the timings have no answers.
    """
    points = sum(t.points for t in timings)
    if not points:
        raise ValueError("The timings have no answers. Give timings with answers.")
    return PER * sum(t.seconds for t in timings) / points


def seconds_of(timings: Sequence[Timing], row: FigureRow, means: Sequence[str]) -> float | None:
    """Return the seconds per thousand answers of a row's method; None if not timed.

    A row of one of `means` covers all data sets of its task.
    """
    matching = [
        t
        for t in timings
        if (t.question, t.task, t.method) == (row.question, row.task, row.method)
        and (row.data_set in means or t.data_set == row.data_set)
    ]
    return per_thousand(matching) if matching else None


def by_method(timings: Sequence[Timing]) -> Mapping[tuple[str, str], list[Timing]]:
    """Return the timings by question and method, in their order."""
    grouped: dict[tuple[str, str], list[Timing]] = {}
    for timing in timings:
        grouped.setdefault((timing.question, timing.method), []).append(timing)
    return grouped


def seconds_page(timings: Sequence[Timing], origin: Origin) -> str:
    """Return the page: one line per question and method."""
    introduction = textwrap.fill(SECONDS_INTRODUCTION.format(folder=origin.folder), 100)
    lines = [
        "# How long did it take?\n",
        introduction + "\n",
        "| question | method | answers | seconds | seconds per 1,000 answers |",
        "|---|---|---|---|---|",
        *(_line(*name, group) for name, group in by_method(timings).items()),
    ]
    return "\n".join(lines) + "\n"


def _line(question: str, method: str, timings: Sequence[Timing]) -> str:
    points, seconds = sum(t.points for t in timings), sum(t.seconds for t in timings)
    return f"| {question} | {method} | {points:,} | {seconds:.2g} | {per_thousand(timings):.2g} |"
