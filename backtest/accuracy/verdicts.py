"""Verdicts of the back-test: headline figures compared with their targets, and as sentences.

The figures are rows of `python -m planner backtest`; parts whose data set is missing are left out.
Our method of a task has a name that begins with "ours:".
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Final, Literal

from backtest.accuracy.page import ABOUT, Timing
from backtest.accuracy.targets import INTERIOR, TARGETS, THREE, TWICE, TargetRange
from backtest.questions import batch, convergence, described, devices, epochs, regret, unmeasured
from backtest.questions.figure import MEAN, REFUSED, UNREFUSED, FigureRow
from planner.core import Record, Text, listed_words, paragraph, sentence_case

Side = Literal["all", "ours", "others"]
SIDES: Final[tuple[Side, ...]] = ("all", "ours", "others")


def ours(rows: Iterable[FigureRow], question: str, task: str, data_set: str) -> FigureRow | None:
    """Return the row of our method for a task on a data set; None if missing or unanswered."""
    place = (question, task, data_set)
    matches = (r for r in rows if (r.question, r.task, r.data_set) == place)
    return next((r for r in matches if is_ours(r) and r.points), None)


def is_ours(row: FigureRow) -> bool:
    """Return whether the row is of the shipped method, on the points that it answers."""
    return row.method.startswith("ours:")


def on_side(row: FigureRow, side: Side) -> bool:
    """Return whether a row is on a side; ours includes variants and refused points."""
    return side == "all" or row.method.startswith("ours") == (side == "ours")


def is_regret(row: FigureRow) -> bool:
    """Return whether errors are regrets: the excess of a choice over the best measured one."""
    return row.task.startswith("regret")


def titles(rows: Iterable[FigureRow]) -> dict[str, tuple[str, str]]:
    """Return title and data source of each question, in the order of the rows."""
    questions = dict.fromkeys(r.question for r in rows)
    return {q: ABOUT.get(q, (sentence_case(q), "")) for q in questions}


def tasks_of(rows: Iterable[FigureRow], question: str) -> list[str]:
    """Return the tasks of a question in the order of the back-test."""
    return list(dict.fromkeys(r.task for r in rows if r.question == question))


def data_sets_of(rows: Iterable[FigureRow], question: str, task: str) -> list[str]:
    """Return the data sets of a task; their mean comes first, if any."""
    names = dict.fromkeys(r.data_set for r in rows if (r.question, r.task) == (question, task))
    return sorted(names, key=lambda name: name != MEAN)


def shown_rows(
    rows: Iterable[FigureRow], question: str, task: str, data_sets: Sequence[str], side: Side
) -> list[FigureRow]:
    """Return the filtered rows, by data set in the given order, ours first."""
    left = [
        r
        for r in rows
        if (r.question, r.task) == (question, task) and r.data_set in data_sets and on_side(r, side)
    ]
    return sorted(left, key=lambda r: (data_sets.index(r.data_set), _rank(r)))


def methods_of(rows: Iterable[FigureRow], question: str) -> list[str]:
    """Return the methods of a question, ours first, refused points last."""
    ranked = sorted((r for r in rows if r.question == question), key=_rank)
    return list(dict.fromkeys(r.method for r in ranked))


def records(rows: Iterable[FigureRow]) -> list[Record]:
    """Return the rows as records; missing figures are None."""
    names = [f.name for f in fields(FigureRow)]
    return [{name: _cell(getattr(row, name)) for name in names} for row in rows]


def per_cent(share: float) -> str:
    """Return a share in per cent with two significant digits: 0 %, 0.54 %, 3.0 %, 12 %, 837 %."""
    value = 100.0 * share
    return f"{value:.0f} %" if value >= 9.95 or not value else f"{value:#.2g} %"


def _rank(row: FigureRow) -> int:
    return 2 if row.method in {REFUSED, UNREFUSED} else 0 if row.method.startswith("ours") else 1


def _cell(value: object) -> str | float | int | None:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | float | int) else str(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One figure and its target, as texts of the back-test; `why` explains a miss.

    `measured` and `short_by` (distance outside the target, 0 if reached) are shares.
    """

    what: str
    target: str
    measured: float
    reached: bool
    short_by: float
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """All figures, their verdicts in the order of the targets, and summary sentences.

    `timings` are the seconds of the methods, if recorded. `sentences` are paragraphs: errors,
    intervals, missed targets and worst task, and the rest.
    """

    rows: tuple[FigureRow, ...]
    timings: tuple[Timing, ...]
    verdicts: tuple[Verdict, ...]
    sentences: tuple[str, ...]

    @property
    def missed(self) -> tuple[Verdict, ...]:
        """Verdicts that miss their target."""
        return tuple(v for v in self.verdicts if not v.reached)


def accuracy_of(rows: Sequence[FigureRow], timings: Sequence[Timing] = ()) -> Accuracy:
    """Return figures, verdicts and sentences; parts with missing data sets are left out."""
    verdicts = verdicts_of(rows)
    return Accuracy(
        rows=tuple(rows),
        timings=tuple(timings),
        verdicts=verdicts,
        sentences=sentences_of(rows, verdicts),
    )


def verdicts_of(rows: Sequence[FigureRow]) -> tuple[Verdict, ...]:
    """Return the verdict of every target whose data are present."""
    measured = ((t, t.measured(rows)) for t in TARGETS)
    return tuple(_verdict(t, value, rows) for t, value in measured if value is not None)


def _verdict(target: TargetRange, value: float, rows: Sequence[FigureRow]) -> Verdict:
    reached = target.reached(rows)
    high = target.high if target.high is not None else _best_other(target, rows)
    return Verdict(
        what=target.what,
        target=target.range_text(rows),
        measured=value,
        reached=reached,
        short_by=0.0 if reached else max(target.low - value, value - high),
        why="" if reached else target.why,
    )


def _best_other(target: TargetRange, rows: Sequence[FigureRow]) -> float:
    place = (target.question, target.task, target.data_set)
    others = [
        float(getattr(r, target.field))
        for r in rows
        if (r.question, r.task, r.data_set) == place
        and r.points
        and not r.method.startswith("ours")
    ]
    return min(others, default=math.inf)


def verdict_record(verdict: Verdict) -> dict[str, str]:
    """Return a verdict as the back-test prints it."""
    return {
        "Figure": verdict.what,
        "Target": verdict.target,
        "Measured": f"{100 * verdict.measured:.3g} %",
        "Verdict": "reached" if verdict.reached else "missed",
    }


AHEAD: Final = "9 to 16 devices from at most 4"
SHEET: Final = "its data sheet alone"
AFTER: Final = "after 3 epochs"
FROM_FLOPS: Final = "estimated from FLOPs (speed of ResNet, AlexNet and BERT on one GPU)"
"""Words of `described.DESCRIBED`: its networks and hardware."""
BY_FLOPS: Final = "for networks described by FLOPs, on one GPU"
HEADLINE: Final = (
    ("between measured batch sizes", batch.QUESTION, INTERIOR, MEAN),
    ("projecting from 3 epochs", epochs.QUESTION, AFTER, epochs.STEADY),
    (BY_FLOPS, described.QUESTION, described.DESCRIBED, MEAN),
)
"""Figures of the first sentence: words, question, task and data set."""
FIRST: Final = (
    ("at a batch between measured ones", batch.QUESTION, INTERIOR, MEAN),
    ("at twice the largest", batch.QUESTION, TWICE, MEAN),
    ("for a steady run from its first 3 epochs", epochs.QUESTION, AFTER, epochs.STEADY),
    ("transferred from another GPU", unmeasured.QUESTION, SHEET, unmeasured.DATA_SET),
    (FROM_FLOPS, described.QUESTION, described.DESCRIBED, MEAN),
)
"""Figures of the next sentence, in the same form."""
THEN: Final = (
    ("on 9 to 16 devices from at most 4", devices.QUESTION, AHEAD, MEAN),
    ("for samples to target from 3 batches", convergence.QUESTION, THREE, MEAN),
)
"""Further figures."""
PLAINLY: Final = {
    (described.QUESTION, described.NODES): "on several nodes estimated from a single device",
    (described.QUESTION, described.SEVERAL): "on several devices estimated from a single one",
    (described.QUESTION, described.DESCRIBED): "on workloads known only by description",
}
"""Plain phrases for questions where the worst error may be."""
REGRETS: Final = {"longer": "regret in time", "more device-hours": "regret in device-hours"}
"""Units of a regret, with the start of its tasks' names."""


def sentences_of(rows: Sequence[FigureRow], verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    """Return paragraphs: headline, errors, intervals, missed targets and worst task, the rest."""
    paragraphs = (
        (_headline(rows),),
        (
            Text("On hidden public measurements, Epochwise was {errors} (medians).", errors=first)
            if (first := _errors(rows, FIRST))
            else "",
            _worst_tenth(rows, FIRST[-1]),
        ),
        (_intervals(rows), _unrefused(rows, FIRST)),
        (_reached(verdicts), _furthest(rows)),
        (
            Text("It was {errors} (medians).", errors=then)
            if (then := _errors(rows, THEN))
            else "",
            _unrefused(rows, THEN),
            _choices(rows),
        ),
    )
    return tuple(text for part in paragraphs if (text := paragraph(*part)))


def headline_rows(rows: Sequence[FigureRow]) -> list[tuple[str, FigureRow]]:
    """Return the figures of the first sentence whose data are present, with their words."""
    return _rows_of(rows, HEADLINE)


def _headline(rows: Sequence[FigureRow]) -> str:
    errors = [f"{per_cent(row.median_error)} {words}" for words, row in headline_rows(rows)]
    if not errors:
        return ""
    return Text("Median error on hidden public data: {errors}.", errors=listed_words(errors))


def _rows_of(
    rows: Sequence[FigureRow], places: Sequence[tuple[str, str, str, str]]
) -> list[tuple[str, FigureRow]]:
    pairs = ((words, ours(rows, *place)) for words, *place in places)
    return [(words, row) for words, row in pairs if row is not None]


def _errors(rows: Sequence[FigureRow], places: Sequence[tuple[str, str, str, str]]) -> str:
    errors = [(words, per_cent(row.median_error)) for words, row in _rows_of(rows, places)]
    return _off(errors) if errors else ""


def _worst_tenth(rows: Sequence[FigureRow], place: tuple[str, str, str, str]) -> str:
    """Return a sentence on the 90th percentile of the errors."""
    return paragraph(*(
        Text("One in ten {words} was more than {error} off.", words=words,
             error=per_cent(row.p90_error))
        for words, row in _rows_of(rows, [place])
    ))  # fmt: skip


def _unrefused(rows: Sequence[FigureRow], places: Sequence[tuple[str, str, str, str]]) -> str:
    """Return the errors with refused answers included, if they differ."""
    every = {(r.question, r.task, r.data_set): r for r in rows if r.method == UNREFUSED}
    errors = [
        (words, per_cent(every[place].median_error))
        for words, row in _rows_of(rows, places)
        if (place := (row.question, row.task, row.data_set)) in every
        and per_cent(every[place].median_error) != per_cent(row.median_error)
    ]
    if not errors:
        return ""
    return Text("With refused answers included, it would have been {errors}.", errors=_off(errors))


def _off(errors: Sequence[tuple[str, str]]) -> str:
    """Return a phrase, as "3.0 % off at a batch between measured ones and 7.4 % at twice"."""
    (words, error), *others = errors
    first = Text("{error} off {words}", error=error, words=words)
    return listed_words([first, *(f"{error} {words}" for words, error in others)])


def _intervals(rows: Sequence[FigureRow]) -> str:
    held = [per_cent(row.coverage) for _, row in _rows_of(rows, FIRST)]
    if not held:
        return ""
    shares = listed_words(held)
    if len(held) > 1:
        return Text(
            "Its 90 % intervals contained {shares} of the measurements, in this order.",
            shares=shares,
        )
    return Text("Its 90 % intervals contained {shares} of the measurements.", shares=shares)


def _choices(rows: Sequence[FigureRow]) -> str:
    """Return the range of costs of the chosen devices and batch, over all targets."""
    costs, workloads = {}, 0
    for unit, start in REGRETS.items():
        tasks = [t for t in tasks_of(rows, regret.QUESTION) if t.startswith(start)]
        matches = [r for t in tasks if (r := ours(rows, regret.QUESTION, t, MEAN))]
        if matches:
            errors = sorted(r.mean_error for r in matches)
            costs[unit] = f"{_range(errors[0], errors[-1])} {unit}"
            workloads = matches[0].curves
    if not costs:
        return ""
    return Text(
        "Its choices of devices and batch took {costs} than the best measured choice "
        "(means of {workloads} workloads; range over three targets).",
        costs=", and used ".join(costs.values()),
        workloads=workloads,
    )


def _reached(verdicts: Sequence[Verdict]) -> str:
    if not verdicts:
        return ""
    missed = [v for v in verdicts if not v.reached]
    kept = len(verdicts) - len(missed)
    if not missed:
        return Text(
            "Of {count} figures with a target, {kept} reach it and none misses it.",
            count=len(verdicts),
            kept=kept,
        )
    worst = max(missed, key=lambda v: v.short_by)
    return Text(
        "Of {count} figures with a target, {kept} reach it and {missed} miss it. The worst miss: "
        "“{what}” is {measured}, target {target}{why}.",
        count=len(verdicts),
        kept=kept,
        missed=len(missed),
        what=worst.what,
        measured=per_cent(worst.measured),
        target=worst.target,
        why=f": {worst.why}" if worst.why else "",
    )


def _furthest(rows: Sequence[FigureRow]) -> str:
    answers = [
        r for r in rows if is_ours(r) and r.points and not is_regret(r) and r.data_set != MEAN
    ]
    if not answers:
        return ""
    worst = max(answers, key=lambda r: r.median_error)
    question = f"{titles([worst])[worst.question][0]}, {worst.task}"
    elsewhere = Text("on one question (“{question}”)", question=question)
    error = Text(
        "Its largest median error was {error}, {where} (data: {data_set})",
        error=per_cent(worst.median_error),
        where=PLAINLY.get((worst.question, worst.task), elsewhere),
        data_set=worst.data_set,
    )
    if math.isnan(worst.coverage):
        return f"{error}."
    return Text(
        "{error}; its 90 % intervals contained {coverage} of the measurements.",
        error=error,
        coverage=per_cent(worst.coverage),
    )


def _range(low: float, high: float) -> str:
    """Return a range, as "0 to 16 %"."""
    return per_cent(low) if low == high else f"{per_cent(low)[:-2]} to {per_cent(high)}"
