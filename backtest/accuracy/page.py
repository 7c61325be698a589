"""docs/accuracy.md: the figures as a page, what was missed as plainly as what was reached."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from backtest.accuracy.targets import TARGETS, Target
from backtest.questions import (
    batch,
    convergence,
    described,
    devices,
    epochs,
    regret,
    unmeasured,
)
from backtest.questions.figure import REFUSED, UNREFUSED, Row
from backtest.questions.origin import Origin
from backtest.questions.source_table import PUBLIC_DATA

INTRODUCTION: Final = (
    "{data}, half of them hidden, asked of what ships and of what others use. Made by `python -m "
    "planner backtest {folder}`; the same figures are in `data/accuracy.parquet`, and how long "
    "each method took in [accuracy-seconds.md](accuracy-seconds.md), which is another every time. "
    "{about}",
    "Error is |predicted/measured - 1|. Every curve (a sweep over the batch, a workload, a run) "
    "counts the same, however many points it has; a mean over data sets counts every set the same. "
    "All methods are scored on the points that the product answers, and `answered` is their share "
    "(0 % where it answers none, as on a link that no run crossed): "
    '"ours, where it refuses" is what our form would have said about the others, "ours, were '
    'nothing refused" about all. An interval says 90 %; `held` is the share of hidden points '
    "inside, `wide` the median of (high - low)/value. Methods without an interval were published "
    "without one. The constants behind all this, and what other data would choose, stand in "
    "[constants.md](constants.md).",
)
PUBLIC: Final = "The data are not part of this project; where each set comes from is said with it."
PARTIAL: Final = "Of the public data sets these are missing: {missing}."
SKIPPED: Final = "Rows, files or questions that could not be used are left out: {count:,}."
OWN: Final = (
    "What is hidden was measured on the same systems as what is shown: how the product does on "
    "these measurements, not how it does elsewhere."
)
WANTED: Final = (
    "{count} figures beside what is wanted of them: {reached} are reached, {missed} missed. The "
    "limits are those of the project's specification, most of them figures of a prototype on "
    "fuller copies of the same data, and on devices to be no worse than the best other method on "
    "the same points. Added after the figures were seen, with the limit of the line they belong "
    'to: "were nothing refused" (both), "changing later on", after 10 and 20 epochs, the check on '
    "Sia, targets 1 and 0.75; and that a regret wanted to be 0 % is one below 0.5 %."
)
ABOUT: Final[Mapping[str, tuple[str, str]]] = {
    batch.QUESTION: (
        "Step time at a batch that was not measured",
        "Colab: one network, 2018, on a TPU v2-8 and a GPU (koshian2/TPU-Benchmark). Pollux "
        "(OSDI 2021), Sia (SOSP 2023) and Gavel (OSDI 2020): measured tables of scheduler papers. "
        "Two checks, on which nothing about the batch was ever chosen, count in no mean: NVIDIA's "
        "tables of the DeepLearningExamples (at most four batches a sweep, so too short for a "
        "correction: there ours is the plain line) and Sia's placements on several devices, asked "
        "once after the rule was fixed. Gavel is noisy and Sia full of odd batches: see what is "
        "refused there. The constants were chosen before the project on fuller copies of these "
        "sets, the checks left out. Ours is the line behind v0 and t, bent from four batches on "
        "by what its own points say. On the quiet sweeps of the Colab TPU that costs something "
        "inside and gains at twice the largest. Straight pieces between neighbours are as good "
        "inside the range; they have no interval, no v0 and no t.",
    ),
    devices.QUESTION: (
        "Step time on more devices than were measured",
        "Clusters of Pollux and Sia, and published tables (TensorFlow 2017, ElasticFlow, OneFlow's "
        "DLPerf). Of ElasticFlow nothing is answered on 9 to 16 and 20 to 64 devices from at most "
        "4 (0 %): all those runs crossed from node to node, which no run on 4 devices had, and "
        "nothing else tells what that link costs; none of TensorFlow's systems was measured on "
        "both. DLPerf timed one batch per device count: there the law of published series answers "
        "where the runs do not determine it, with an interval for the link. "
        "From at most 16, two nodes are known. Ernest (NSDI 2016) and AdaptDL (OSDI 2021) "
        "are our own code of their published forms and fits. The share by which growth "
        "fades was chosen on the four clusters; without any one of them the others choose the "
        "same or 0.9. A fifth cluster (Sia's V100), measured "
        "before the project and not in the data here, defeated every form beyond 8 devices: 22 to "
        "41 % off at 9 to 16, and our interval held 48 %.",
    ),
    epochs.QUESTION: (
        "The whole run from its first epochs",
        "Colab: runs of 20 epochs, on which the constants were chosen. DAWNBench: entries of 14 to "
        "400 epochs, on which nothing was chosen but that a pace wanders on for 200 epochs and how "
        "much other runs on the same hardware say. Those are known whole; the run that is asked "
        "about is no part of its own prior. Which entries change later on is known in hindsight "
        "only, and nobody can see a change that has not happened yet.",
    ),
    convergence.QUESTION: (
        "Samples to target at a batch that was not tried",
        "Shallue et al. 2019 (digitised from a figure), language models of Zhang et al. 2024, "
        "MLPerf reference convergence points. The prior's scatter of 8 % was chosen on these "
        "three; without one of them the others choose 6 to 10 %.",
    ),
    unmeasured.QUESTION: (
        "Throughput on a card nobody measured",
        "Lambda's table of twelve single cards, six networks in two precisions; data sheets by "
        "Epoch AI. Whole cards or whole networks are hidden. Ratios need both data sheets, so they "
        "are scored on fewer cells.",
    ),
    described.QUESTION: (
        "A workload, or a number of devices, that nobody measured",
        "Networks whose operations are known, on cards whose peak is: samples/s from these two "
        "alone. And several devices from one, at the same batch on each, whatever joins them. The "
        "constants were read off these very tables, so this is how well they sum them up, and not "
        "how they do elsewhere.",
    ),
    regret.QUESTION: (
        "The choice of devices and batch",
        "Four workloads of the Pollux T4 tables: 12 timed runs and 3 batches' steps to target are "
        "known, then devices (1 to 16) and batch are chosen. Regret is what the choice takes "
        "beyond the best of all measured ones. Targets lie 0.75, 0.9 or all of the way from the "
        "metric after one epoch to the worst final one; 0.9 comes first, because a prototype's "
        "figures for CIFAR-10 and NCF are those of this target.",
    ),
}


def accuracy_page(rows: Sequence[Row], origin: Origin, published: Sequence[str] = ()) -> str:
    """The whole page; texts that tell figures of the public data only where all of it was there.

    Args:
        rows: the figures.
        origin: the data that they are of.
        published: the section about published measurements, where it was asked for.
    """
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
    """What is told of a question's data; of some of the public data only where they are from."""
    names = {r.data_set for r in rows}
    sources = [
        f"{one.title}: {one.origin}. Licence: {one.licence}."
        for one in PUBLIC_DATA
        if question in one.questions and names & set(one.data_sets)
    ]
    told = text if origin.whole else " ".join(sources)
    return [_paragraph(told)] if told else []


def _introduction(origin: Origin) -> tuple[str, ...]:
    first, *others = INTRODUCTION
    about = [PUBLIC] if origin.public else []
    about += [PARTIAL.format(missing="; ".join(origin.missing))] if _partial(origin) else []
    about += [OWN] if origin.result_sets else []
    about += [SKIPPED.format(count=origin.skipped)] if origin.skipped else []
    kinds = ["Public measurements"] if origin.public else []
    kinds += ["measurements of result sets"] if origin.result_sets else []
    data = " and ".join(kinds)
    told = first.format(
        data=f"{data[:1].upper()}{data[1:]}", folder=origin.folder, about=" ".join(about)
    )
    return told, *others


def _partial(origin: Origin) -> bool:
    return origin.public and bool(origin.missing)


def _paragraph(text: str) -> str:
    return textwrap.fill(text, 100) + "\n"


def _summary(rows: Sequence[Row], origin: Origin) -> list[str]:
    found = [(t, value) for t in TARGETS if (value := t.measured(rows)) is not None]
    missed = sum(not target.reached(rows) for target, _ in found)
    return [
        _paragraph(WANTED.format(count=len(found), reached=len(found) - missed, missed=missed)),
        "| what | wanted | measured | |",
        "|---|---|---|---|",
        *(_target_line(target, value, rows, told=origin.whole) for target, value in found),
    ]


def _target_line(target: Target, value: float, rows: Sequence[Row], *, told: bool) -> str:
    missed = f"**missed**: {target.why}" if target.why and told else "**missed**"
    verdict = "reached" if target.reached(rows) else missed
    return f"| {target.what} | {target.wanted(rows)} | {100 * value:.3g} % | {verdict} |"


def _task(task: str, rows: Sequence[Row]) -> list[str]:
    sets = list(dict.fromkeys(r.data_set for r in rows))
    cells = {(r.method, r.data_set): r for r in rows}
    refused = any(r.method == REFUSED for r in rows)
    methods = [m for m in dict.fromkeys(r.method for r in rows) if refused or m != UNREFUSED]
    if task.startswith("regret"):
        return [f"### {task.capitalize()}\n", *_table(methods, sets, cells, "%", _regret), ""]
    bounded = [m for m in methods if any(not np.isnan(r.coverage) for r in rows if r.method == m)]
    held = _table(bounded, sets, cells, "held, % / wide, %", _interval) if bounded else []
    return [
        f"### {task.capitalize()}\n",
        *_table(methods, sets, cells, "median / mean / p90 error, %", _errors, sizes=True),
        "",
        *held,
        *([""] if held else []),
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
    told = " / ".join(_percent(e) for e in (row.median_error, row.mean_error, row.p90_error))
    alone = row.method in {REFUSED, UNREFUSED}
    return f"{told} ({row.points} points)" if alone else told


def _interval(row: Row) -> str:
    if not row.points:
        return "no answer"
    if np.isnan(row.coverage):
        return "none"
    return f"{_percent(row.coverage)} / {_percent(row.median_width)}"


def _regret(row: Row) -> str:
    return _percent(row.mean_error)


def _percent(share: float) -> str:
    """One decimal below 10 %, none above 100."""
    value = 100.0 * share
    return f"{value:.2f}" if value < 1.0 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"
