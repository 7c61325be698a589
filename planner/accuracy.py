"""How wrong were we? The table of the back-test, asked: what to say first, and what to compare.

The figures are those of `python -m planner backtest`; nothing is measured or chosen here. Ours is
the method of a task whose name begins with "ours:", the others stand beside it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Final, Literal

from planner.backtest import batch, convergence, devices, epochs, regret, unmeasured
from planner.backtest.rows import MEAN, REFUSED, UNREFUSED, Row
from planner.backtest.seconds import Timing
from planner.backtest.tables import ABOUT
from planner.backtest.targets import INTERIOR, TARGETS, THREE, TWICE, Target
from planner.export import Record

Side = Literal["all", "ours", "others"]
SIDES: Final[tuple[Side, ...]] = ("all", "ours", "others")
AHEAD: Final = "9 to 16 devices from at most 4"
SHEET: Final = "its data sheet alone"
AFTER: Final = "after 3 epochs"
FIRST: Final = (
    ("at a batch between measured ones", batch.QUESTION, INTERIOR, MEAN),
    ("at twice the largest", batch.QUESTION, TWICE, MEAN),
    ("for a steady run told from its first 3 epochs", epochs.QUESTION, AFTER, epochs.STEADY),
    ("on a card known by its data sheet alone", unmeasured.QUESTION, SHEET, unmeasured.DATA_SET),
)
"""What is said first: words, question, task and data set."""
THEN: Final = (
    ("on 9 to 16 devices told from at most 4", devices.QUESTION, AHEAD, MEAN),
    ("for samples to a target told from 3 batches", convergence.QUESTION, THREE, MEAN),
)
"""What is said next."""
REGRETS: Final = {"longer": "regret in time", "more device-hours": "regret in device-hours"}
"""What a choice can cost too much of, with the beginning of its tasks' names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One figure beside what is wanted of it, both as texts of the back-test; `why` it is missed.

    `measured` and `short_by`, how far it lies outside (0 where reached), are shares.
    """

    what: str
    wanted: str
    measured: float
    reached: bool
    short_by: float
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """All figures, the verdicts in the order of the back-test's targets, and what to say of them.

    `timings` are the seconds of the methods, where they were kept. `sentences` are paragraphs:
    errors, intervals, what is missed and what is worst, and the rest.
    """

    rows: tuple[Row, ...]
    timings: tuple[Timing, ...]
    verdicts: tuple[Verdict, ...]
    sentences: tuple[str, ...]

    @property
    def missed(self) -> tuple[Verdict, ...]:
        """The figures that are not what is wanted of them."""
        return tuple(v for v in self.verdicts if not v.reached)


def accuracy_of(rows: Sequence[Row], timings: Sequence[Timing] = ()) -> Accuracy:
    """Everything that is said of the figures; parts whose data set is missing are left out."""
    verdicts = verdicts_of(rows)
    told = (
        (_errors("On public measurements hidden from it, Epochwise was ", rows, FIRST),),
        (_intervals(rows),),
        (_reached(verdicts), _furthest(rows)),
        (_errors("It was ", rows, THEN), _choices(rows)),
    )
    joined = (" ".join(text for text in part if text) for part in told)
    return Accuracy(
        rows=tuple(rows),
        timings=tuple(timings),
        verdicts=verdicts,
        sentences=tuple(text for text in joined if text),
    )


def verdicts_of(rows: Sequence[Row]) -> tuple[Verdict, ...]:
    """Every target of the back-test whose data are there."""
    found = ((t, t.measured(rows)) for t in TARGETS)
    return tuple(_verdict(t, value, rows) for t, value in found if value is not None)


def ours(rows: Iterable[Row], question: str, task: str, data_set: str) -> Row | None:
    """The row of what ships for a task on a data set, None where it was not asked or answered."""
    place = (question, task, data_set)
    found = (r for r in rows if (r.question, r.task, r.data_set) == place)
    return next((r for r in found if is_ours(r) and r.points), None)


def is_ours(row: Row) -> bool:
    """Whether the row is of what ships, where it answers."""
    return row.method.startswith("ours:")


def on_side(row: Row, side: Side) -> bool:
    """Whether a row is shown; ours are also its variants and what it would say where it refuses."""
    return side == "all" or row.method.startswith("ours") == (side == "ours")


def is_regret(row: Row) -> bool:
    """Whether its errors are regrets: what a choice took beyond the best of all measured ones."""
    return row.task.startswith("regret")


def titles(rows: Iterable[Row]) -> dict[str, tuple[str, str]]:
    """Each question of the rows with its title and where its data are from, in their order."""
    known = dict.fromkeys(r.question for r in rows)
    return {q: ABOUT.get(q, (q.capitalize(), "")) for q in known}


def tasks_of(rows: Iterable[Row], question: str) -> list[str]:
    """The tasks of a question in the order of the back-test."""
    return list(dict.fromkeys(r.task for r in rows if r.question == question))


def data_sets_of(rows: Iterable[Row], question: str, task: str) -> list[str]:
    """The data sets of a task, their mean first where there is one."""
    found = dict.fromkeys(r.data_set for r in rows if (r.question, r.task) == (question, task))
    return sorted(found, key=lambda name: name != MEAN)


def shown_rows(
    rows: Iterable[Row], question: str, task: str, data_sets: Sequence[str], side: Side
) -> list[Row]:
    """The rows that these filters leave, by data set in the order given, ours first."""
    left = [
        r
        for r in rows
        if (r.question, r.task) == (question, task) and r.data_set in data_sets and on_side(r, side)
    ]
    return sorted(left, key=lambda r: (data_sets.index(r.data_set), _rank(r)))


def methods_of(rows: Iterable[Row], question: str) -> list[str]:
    """The methods of a question, ours first; what it says where it refuses is last."""
    asked = sorted((r for r in rows if r.question == question), key=_rank)
    return list(dict.fromkeys(r.method for r in asked))


def records(rows: Iterable[Row]) -> list[Record]:
    """The rows as they are in the file, a figure that there is none of as None."""
    names = [f.name for f in fields(Row)]
    return [{name: _cell(getattr(row, name)) for name in names} for row in rows]


def per_cent(share: float) -> str:
    """A share with two digits that count: 0 %, 0.54 %, 3.0 %, 12 %, 837 %."""
    value = 100.0 * share
    return f"{value:.0f} %" if value >= 9.95 or not value else f"{value:#.2g} %"


def _rank(row: Row) -> int:
    return 2 if row.method in {REFUSED, UNREFUSED} else 0 if row.method.startswith("ours") else 1


def _cell(value: object) -> str | float | int | None:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | float | int) else str(value)


# -- verdicts ----------------------------------------------------------------------------------


def _verdict(target: Target, value: float, rows: Sequence[Row]) -> Verdict:
    reached = target.reached(rows)
    high = target.high if target.high is not None else _best_other(target, rows)
    return Verdict(
        what=target.what,
        wanted=target.wanted(rows),
        measured=value,
        reached=reached,
        short_by=0.0 if reached else max(target.low - value, value - high),
        why="" if reached else target.why,
    )


def _best_other(target: Target, rows: Sequence[Row]) -> float:
    place = (target.question, target.task, target.data_set)
    others = [
        float(getattr(r, target.field))
        for r in rows
        if (r.question, r.task, r.data_set) == place
        and r.points
        and not r.method.startswith("ours")
    ]
    return min(others, default=math.inf)


# -- what is said first ------------------------------------------------------------------------


def _found(
    rows: Sequence[Row], asked: Sequence[tuple[str, str, str, str]]
) -> list[tuple[str, Row]]:
    pairs = ((words, ours(rows, *place)) for words, *place in asked)
    return [(words, row) for words, row in pairs if row is not None]


def _errors(start: str, rows: Sequence[Row], asked: Sequence[tuple[str, str, str, str]]) -> str:
    found = _found(rows, asked)
    parts = [
        f"{per_cent(row.median_error)} off {words}{_in_all(row, rows)}" for words, row in found
    ]
    if not parts:
        return ""
    parts[1:] = [part.replace(" off ", " ", 1) for part in parts[1:]]
    return f"{start}{_listed(parts)} (medians)."


def _in_all(row: Row, rows: Sequence[Row]) -> str:
    """What the error would be, were nothing refused, where that says another thing."""
    place = (row.question, row.task, row.data_set)
    unrefused = (r for r in rows if r.method == UNREFUSED)
    every = next((r for r in unrefused if (r.question, r.task, r.data_set) == place), None)
    if every is None or per_cent(every.median_error) == per_cent(row.median_error):
        return ""
    return f" ({per_cent(every.median_error)}, were nothing refused)"


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
    held = "" if math.isnan(worst.coverage) else f"; its interval held {per_cent(worst.coverage)}"
    return (
        f"Furthest off of all: {_lowered(titles([worst])[worst.question][0])}, {worst.task} "
        f"({worst.data_set}): {per_cent(worst.median_error)} in the median{held}."
    )


def _range(low: float, high: float) -> str:
    """0 to 16 %."""
    return per_cent(low) if low == high else f"{per_cent(low)[:-2]} to {per_cent(high)}"


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]


def _listed(parts: Sequence[str]) -> str:
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last


def verdict_record(one: Verdict) -> dict[str, str]:
    """A verdict as the back-test prints it."""
    return {
        "Figure": one.what,
        "Wanted": one.wanted,
        "Measured": f"{100 * one.measured:.3g} %",
        "Verdict": "reached" if one.reached else "missed",
    }
