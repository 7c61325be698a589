"""What is said first of the figures of the back-test: errors, intervals, what is missed and worst.

Every figure is that of a row; parts whose data set is missing are left out.
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
FIRST: Final = (
    ("at a batch between measured ones", batch.QUESTION, INTERIOR, MEAN),
    ("at twice the largest", batch.QUESTION, TWICE, MEAN),
    ("for a steady run from its first 3 epochs", epochs.QUESTION, AFTER, epochs.STEADY),
    ("transferred from another GPU", unmeasured.QUESTION, SHEET, unmeasured.DATA_SET),
    ("estimated from FLOPs", described.QUESTION, described.DESCRIBED, MEAN),
)
"""What is said first: words, question, task and data set."""
THEN: Final = (
    ("on 9 to 16 devices told from at most 4", devices.QUESTION, AHEAD, MEAN),
    ("for samples to a target told from 3 batches", convergence.QUESTION, THREE, MEAN),
)
"""What is said next."""
PLAINLY: Final = {
    (described.QUESTION, described.NODES): "when it told several nodes from a single device",
    (described.QUESTION, described.SEVERAL): "when it told several devices from a single one",
    (described.QUESTION, described.DESCRIBED): "on workloads that it knew by description only",
}
"""Questions as a person would name them, where the worst error may be found."""
REGRETS: Final = {"longer": "regret in time", "more device-hours": "regret in device-hours"}
"""What a choice can cost too much of, with the beginning of its tasks' names."""


def sentences_of(rows: Sequence[Row], verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    """Paragraphs: errors, intervals, what is missed and what is worst, and the rest."""
    told = (
        (
            _errors("On public measurements hidden from it, Epochwise was ", rows, FIRST),
            _one_in_ten(rows, FIRST[-1]),
        ),
        (_intervals(rows), _unrefused(rows, FIRST)),
        (_reached(verdicts), _furthest(rows)),
        (_errors("It was ", rows, THEN), _unrefused(rows, THEN), _choices(rows)),
    )
    joined = (" ".join(text for text in part if text) for part in told)
    return tuple(text for text in joined if text)


def _found(
    rows: Sequence[Row], asked: Sequence[tuple[str, str, str, str]]
) -> list[tuple[str, Row]]:
    pairs = ((words, ours(rows, *place)) for words, *place in asked)
    return [(words, row) for words, row in pairs if row is not None]


def _errors(start: str, rows: Sequence[Row], asked: Sequence[tuple[str, str, str, str]]) -> str:
    found = [(words, per_cent(row.median_error)) for words, row in _found(rows, asked)]
    return f"{start}{_off(found)} (medians)." if found else ""


def _one_in_ten(rows: Sequence[Row], asked: tuple[str, str, str, str]) -> str:
    """How far off the worst tenth is of the answers that are furthest off."""
    found = [row for _, row in _found(rows, [asked])]
    return "".join(
        f"One in ten {asked[0]} was more than {per_cent(r.p90_error)} off." for r in found
    )


def _unrefused(rows: Sequence[Row], asked: Sequence[tuple[str, str, str, str]]) -> str:
    """What the errors would be, had nothing been refused, where that says another thing."""
    every = {(r.question, r.task, r.data_set): r for r in rows if r.method == UNREFUSED}
    found = [
        (words, per_cent(every[place].median_error))
        for words, row in _found(rows, asked)
        if (place := (row.question, row.task, row.data_set)) in every
        and per_cent(every[place].median_error) != per_cent(row.median_error)
    ]
    return (
        f"Had it also answered what it refuses, it would have been {_off(found)}." if found else ""
    )


def _off(found: Sequence[tuple[str, str]]) -> str:
    """3.0 % off at a batch between measured ones and 7.4 % at twice the largest."""
    (words, error), *others = found
    return _listed([f"{error} off {words}", *(f"{error} {words}" for words, error in others)])


def _intervals(rows: Sequence[Row]) -> str:
    held = [per_cent(row.coverage) for _, row in _found(rows, FIRST)]
    if not held:
        return ""
    which = ", in this order" if len(held) > 1 else ""
    return f"Its 90 % intervals held {_listed(held)} of the measurements{which}."


def _choices(rows: Sequence[Row]) -> str:
    """The least and the most that its choices of devices and batch cost, over all targets."""
    parts, workloads = [], 0
    for unit, start in REGRETS.items():
        tasks = [t for t in tasks_of(rows, regret.QUESTION) if t.startswith(start)]
        found = [r for t in tasks if (r := ours(rows, regret.QUESTION, t, MEAN))]
        if found:
            costs = sorted(r.mean_error for r in found)
            parts.append(f"{_range(costs[0], costs[-1])} {unit}")
            workloads = found[0].curves
    if not parts:
        return ""
    took = _listed(parts).replace("longer and", "longer, and used", 1)
    return (
        f"The devices and batch it chose took {took} than the best choice of all measured ones "
        f"(means of {workloads} workloads; least and most of three targets)."
    )


def _reached(verdicts: Sequence[Verdict]) -> str:
    if not verdicts:
        return ""
    missed = [v for v in verdicts if not v.reached]
    kept = len(verdicts) - len(missed)
    told = f"Of {len(verdicts)} figures with a wanted limit, {kept} reach it"
    if not missed:
        return f"{told} and none misses it."
    worst = max(missed, key=lambda v: v.short_by)
    why = f": {worst.why}" if worst.why else ""
    return (
        f"{told} and {len(missed)} miss it. The worst miss: “{worst.what}” is "
        f"{per_cent(worst.measured)}, wanted {worst.wanted}{why}."
    )


def _furthest(rows: Sequence[Row]) -> str:
    answers = [
        r for r in rows if is_ours(r) and r.points and not is_regret(r) and r.data_set != MEAN
    ]
    if not answers:
        return ""
    worst = max(answers, key=lambda r: r.median_error)
    asked = f"{_lowered(titles([worst])[worst.question][0])}, {worst.task}"
    where = PLAINLY.get((worst.question, worst.task), f"on one question (“{asked}”)")
    held = f"; its 90 % intervals held {per_cent(worst.coverage)} of the measurements there"
    return (
        f"It was furthest off {where}, {per_cent(worst.median_error)} in the median (data: "
        f"{worst.data_set}){'' if math.isnan(worst.coverage) else held}."
    )


def _range(low: float, high: float) -> str:
    """0 to 16 %."""
    return per_cent(low) if low == high else f"{per_cent(low)[:-2]} to {per_cent(high)}"


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]


def _listed(parts: Sequence[str]) -> str:
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last
