"""Summary of the back-test's figures in sentences: errors, intervals, missed targets, worst task.

Every figure is from a row; parts whose data set is missing are left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from backtest.accuracy.rows import (
    is_ours,
    is_regret,
    ours,
    per_cent,
    tasks_of,
    titles,
)
from backtest.accuracy.targets import INTERIOR, THREE, TWICE
from backtest.questions import (
    batch,
    convergence,
    described,
    devices,
    epochs,
    regret,
    unmeasured,
)
from backtest.questions.figure import MEAN, UNREFUSED, Row

if TYPE_CHECKING:
    from backtest.accuracy.verdicts import Verdict

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


def sentences_of(rows: Sequence[Row], verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    """Return paragraphs: headline, errors, intervals, missed targets and worst task, the rest."""
    paragraphs = (
        (_headline(rows),),
        (
            _errors("On hidden public measurements, Epochwise was ", rows, FIRST),
            _worst_tenth(rows, FIRST[-1]),
        ),
        (_intervals(rows), _unrefused(rows, FIRST)),
        (_reached(verdicts), _furthest(rows)),
        (_errors("It was ", rows, THEN), _unrefused(rows, THEN), _choices(rows)),
    )
    joined = (" ".join(text for text in part if text) for part in paragraphs)
    return tuple(text for text in joined if text)


def headline_rows(rows: Sequence[Row]) -> list[tuple[str, Row]]:
    """Return the figures of the first sentence whose data are present, with their words."""
    return _rows_of(rows, HEADLINE)


def _headline(rows: Sequence[Row]) -> str:
    errors = [f"{per_cent(row.median_error)} {words}" for words, row in headline_rows(rows)]
    return f"Median error on hidden public data: {_listed(errors)}." if errors else ""


def _rows_of(
    rows: Sequence[Row], places: Sequence[tuple[str, str, str, str]]
) -> list[tuple[str, Row]]:
    pairs = ((words, ours(rows, *place)) for words, *place in places)
    return [(words, row) for words, row in pairs if row is not None]


def _errors(start: str, rows: Sequence[Row], places: Sequence[tuple[str, str, str, str]]) -> str:
    errors = [(words, per_cent(row.median_error)) for words, row in _rows_of(rows, places)]
    return f"{start}{_off(errors)} (medians)." if errors else ""


def _worst_tenth(rows: Sequence[Row], place: tuple[str, str, str, str]) -> str:
    """Return a sentence on the 90th percentile of the errors."""
    matches = [row for _, row in _rows_of(rows, [place])]
    return "".join(
        f"One in ten {place[0]} was more than {per_cent(r.p90_error)} off." for r in matches
    )


def _unrefused(rows: Sequence[Row], places: Sequence[tuple[str, str, str, str]]) -> str:
    """Return the errors with refused answers included, if they differ."""
    every = {(r.question, r.task, r.data_set): r for r in rows if r.method == UNREFUSED}
    errors = [
        (words, per_cent(every[place].median_error))
        for words, row in _rows_of(rows, places)
        if (place := (row.question, row.task, row.data_set)) in every
        and per_cent(every[place].median_error) != per_cent(row.median_error)
    ]
    return f"With refused answers included, it would have been {_off(errors)}." if errors else ""


def _off(errors: Sequence[tuple[str, str]]) -> str:
    """Return a phrase, as "3.0 % off at a batch between measured ones and 7.4 % at twice"."""
    (words, error), *others = errors
    return _listed([f"{error} off {words}", *(f"{error} {words}" for words, error in others)])


def _intervals(rows: Sequence[Row]) -> str:
    held = [per_cent(row.coverage) for _, row in _rows_of(rows, FIRST)]
    if not held:
        return ""
    which = ", in this order" if len(held) > 1 else ""
    return f"Its 90 % intervals contained {_listed(held)} of the measurements{which}."


def _choices(rows: Sequence[Row]) -> str:
    """Return the range of costs of the chosen devices and batch, over all targets."""
    parts, workloads = [], 0
    for unit, start in REGRETS.items():
        tasks = [t for t in tasks_of(rows, regret.QUESTION) if t.startswith(start)]
        matches = [r for t in tasks if (r := ours(rows, regret.QUESTION, t, MEAN))]
        if matches:
            costs = sorted(r.mean_error for r in matches)
            parts.append(f"{_range(costs[0], costs[-1])} {unit}")
            workloads = matches[0].curves
    if not parts:
        return ""
    took = _listed(parts).replace("longer and", "longer, and used", 1)
    return (
        f"Its choices of devices and batch took {took} than the best measured choice "
        f"(means of {workloads} workloads; range over three targets)."
    )


def _reached(verdicts: Sequence[Verdict]) -> str:
    if not verdicts:
        return ""
    missed = [v for v in verdicts if not v.reached]
    kept = len(verdicts) - len(missed)
    summary = f"Of {len(verdicts)} figures with a target, {kept} reach it"
    if not missed:
        return f"{summary} and none misses it."
    worst = max(missed, key=lambda v: v.short_by)
    why = f": {worst.why}" if worst.why else ""
    return (
        f"{summary} and {len(missed)} miss it. The worst miss: “{worst.what}” is "
        f"{per_cent(worst.measured)}, target {worst.target}{why}."
    )


def _furthest(rows: Sequence[Row]) -> str:
    answers = [
        r for r in rows if is_ours(r) and r.points and not is_regret(r) and r.data_set != MEAN
    ]
    if not answers:
        return ""
    worst = max(answers, key=lambda r: r.median_error)
    question = f"{titles([worst])[worst.question][0]}, {worst.task}"
    where = PLAINLY.get((worst.question, worst.task), f"on one question (“{question}”)")
    coverage = f"; its 90 % intervals contained {per_cent(worst.coverage)} of the measurements"
    return (
        f"Its largest median error was {per_cent(worst.median_error)}, {where} (data: "
        f"{worst.data_set}){'' if math.isnan(worst.coverage) else coverage}."
    )


def _range(low: float, high: float) -> str:
    """Return a range, as "0 to 16 %"."""
    return per_cent(low) if low == high else f"{per_cent(low)[:-2]} to {per_cent(high)}"


def _listed(parts: Sequence[str]) -> str:
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last
