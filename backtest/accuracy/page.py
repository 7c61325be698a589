"""docs/accuracy.md: the figures as a page, with missed and reached targets.

docs/accuracy-seconds.md: how long each method took, on one machine, once.

Seconds differ from run to run, so they are in separate files that change each time.
`backtest.accuracy.public_data` measures and stores them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np

from backtest.accuracy.targets import TARGETS, Target
from backtest.questions import batch, convergence, described, devices, epochs, regret, unmeasured
from backtest.questions.figure import REFUSED, UNREFUSED, Row
from backtest.questions.source_table import PUBLIC_DATA, Origin
from planner.core import sentence_case

INTRODUCTION: Final = (
    "{data}, half of them hidden, predicted by the product and by other methods. Made by `python "
    "-m planner backtest {folder}`. The same figures are in `data/accuracy.parquet`. The time of "
    "each method is in [accuracy-seconds.md](accuracy-seconds.md), which changes with every run. "
    "{about}",
    "Error is |predicted/measured - 1|. Every curve (a sweep over the batch, a workload, a run) "
    "counts the same, with any number of points; a mean over data sets counts every set the same. "
    "All methods are scored on the points that the product answers, and `answered` is their share "
    "(0 % if it answers none, as on a link that no run crossed). "
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
ABOUT: Final[Mapping[str, tuple[str, str]]] = {
    batch.QUESTION: (
        "Step time at an unmeasured batch",
        "Colab: one network, 2018, on a TPU v2-8 and a GPU (koshian2/TPU-Benchmark). Pollux "
        "(OSDI 2021), Sia (SOSP 2023) and Gavel (OSDI 2020): measured tables of scheduler papers. "
        "Two checks, on which no constant of the batch was chosen, are in no mean. One is NVIDIA's "
        "tables of the DeepLearningExamples: at most four batches per sweep, too few for a "
        "correction, so ours is the plain line. The other is Sia's placements on several devices, "
        "predicted once after the rule was fixed. Gavel is noisy and Sia has many odd batches, "
        "hence the refusals there. The constants were chosen before the project on fuller copies "
        "of these sets, without the checks. Ours is the line with v0 and t, corrected by its own "
        "points from four batches on. On the quiet sweeps of the Colab TPU the correction costs "
        "a little inside the range and gains at twice the largest batch. Linear interpolation is "
        "as good inside the range; it has no interval, no v0 and no t.",
    ),
    devices.QUESTION: (
        "Step time on more devices than measured",
        "Clusters of Pollux and Sia, and published tables (TensorFlow 2017, ElasticFlow, OneFlow's "
        "DLPerf). ElasticFlow has no answers on 9 to 16 and 20 to 64 devices from at most 4 (0 %): "
        "those runs crossed nodes, no run on 4 devices did, and the cost of that link is unknown. "
        "None of TensorFlow's systems was measured on both. DLPerf timed one batch per device "
        "count; if its runs do not determine the law, the law of published series is used, with "
        "an interval for the link. From at most 16 devices, runs on two nodes are known. Ernest "
        "(NSDI 2016) and AdaptDL (OSDI 2021) are our own code of their published forms and fits. "
        "The share by which growth fades was chosen on the four clusters; without any one of them "
        "the others choose the same or 0.9. A fifth cluster (Sia's V100) has no licence and is not "
        "in the data here. No constant was chosen on it, but the form was extended for it. Before "
        "the project every form failed there: 32 % off at 9 to 16 devices, with a coverage of our "
        "interval of 50 %. Read again from the authors' tables, two of its six workloads are "
        "refused. The other four are 5 to 16 % off at 5 to 8 devices, 8 to 18 % at 9 to 16 and 7 "
        "to 20 % at 20 to 40, with a coverage of 91, 90 and 94 %: each further device of a node "
        "costs the same there. The lowest coverage of one workload is 82 % (YOLOv3, 9 to 16 "
        "devices).",
    ),
    epochs.QUESTION: (
        "The whole run from its first epochs",
        "Colab: runs of 20 epochs, on which the constants were chosen. DAWNBench: entries of 14 to "
        "400 epochs; only two constants were chosen on them: the pace wanders for 200 epochs, and "
        "the weight of other runs on the same hardware. All epochs of those other runs are known; "
        "a run is not part of its own prior. Later changes of an entry are known in hindsight "
        "only and cannot be predicted from its first epochs.",
    ),
    convergence.QUESTION: (
        "Samples to target at an unmeasured batch",
        "Shallue et al. 2019 (digitised from a figure), language models of Zhang et al. 2024, "
        "MLPerf reference convergence points. The prior's scatter of 8 % was chosen on these "
        "three; without one of them the others choose 6 to 10 %.",
    ),
    unmeasured.QUESTION: (
        "Throughput on an unmeasured card",
        "Lambda's table of twelve single cards, six networks in two precisions; data sheets by "
        "Epoch AI. Whole cards or whole networks are hidden. Ratios need both data sheets, so they "
        "are scored on fewer cells.",
    ),
    described.QUESTION: (
        "An unmeasured workload or device count",
        "Networks with known operations, on cards with a known peak: samples/s from these two "
        "numbers alone. And several devices from one, at the same batch on each, over any link. "
        "The constants were read off these same tables, so the errors show how well they "
        "summarise the tables, not how well they transfer.",
    ),
    regret.QUESTION: (
        "The choice of devices and batch",
        "Four workloads of the Pollux T4 tables: 12 timed runs and steps to target at 3 batches "
        "are known, then devices (1 to 16) and batch are chosen. Regret is the excess of the "
        "choice over the best measured one. Targets are at 0.75, 0.9 or all of the way from the "
        "metric after one epoch to the worst final one; 0.9 comes first, because a prototype's "
        "figures for CIFAR-10 and NCF are for this target.",
    ),
}


def accuracy_page(rows: Sequence[Row], origin: Origin, published: Sequence[str] = ()) -> str:
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


def _about(text: str, question: str, rows: Sequence[Row], origin: Origin) -> list[str]:
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


def _summary(rows: Sequence[Row], origin: Origin) -> list[str]:
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


def _target_line(target: Target, value: float, rows: Sequence[Row], *, with_reasons: bool) -> str:
    missed = f"**missed**: {target.why}" if target.why and with_reasons else "**missed**"
    verdict = "reached" if target.reached(rows) else missed
    return f"| {target.what} | {target.range_text(rows)} | {100 * value:.3g} % | {verdict} |"


def _task(task: str, rows: Sequence[Row]) -> list[str]:
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
    cells: Mapping[tuple[str, str], Row],
    unit: str,
    text: Callable[[Row], str],
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


def _sizes(row: Row | None) -> str:
    if row and not row.points:
        return f"none of {row.asked} (0 %)"
    return f"{row.curves}, {row.points} ({_percent(row.answered)} %)" if row else ""


def _errors(row: Row) -> str:
    if not row.points:
        return "no answer"
    errors = " / ".join(_percent(e) for e in (row.median_error, row.mean_error, row.p90_error))
    alone = row.method in {REFUSED, UNREFUSED}
    return f"{errors} ({row.points} points)" if alone else errors


def _interval(row: Row) -> str:
    if not row.points:
        return "no answer"
    if np.isnan(row.coverage):
        return "none"
    return f"{_percent(row.coverage)} / {_percent(row.median_width)}"


def _regret(row: Row) -> str:
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
    """Seconds that a method took to fit and predict `asked` points of a data set."""

    question: str
    task: str
    method: str
    data_set: str
    asked: int
    seconds: float


def per_thousand(timings: Sequence[Timing]) -> float:
    """Return the seconds per thousand answers [s].

    Raises:
        ValueError: the timings have no answers.
    """
    points = sum(t.asked for t in timings)
    if not points:
        raise ValueError("The timings have no answers. Give timings with answers.")
    return PER * sum(t.seconds for t in timings) / points


def seconds_of(timings: Sequence[Timing], row: Row, means: Sequence[str]) -> float | None:
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
    points, seconds = sum(t.asked for t in timings), sum(t.seconds for t in timings)
    return f"| {question} | {method} | {points:,} | {seconds:.2g} | {per_thousand(timings):.2g} |"
