"""The rows and runs of an answer, to show later what has changed."""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Final

from planner.answers.comparison._tables import option_rows
from planner.compare.comparison import Comparison
from planner.core import Record, Text, in_words, several
from planner.cost import DOLLARS, Display, money
from planner.job import Job

Words = Callable[[float], str]
MOVED: Final = 0.005
"""Smallest relative change of a number that is reported [share]; less is rounding."""
LIKELIER: Final = 0.05
"""Smallest reported change of the probability of meeting the limits [share]."""
KEPT: Final = (
    "option_id", "option", "rank", "tied", "time_s", "time_s_low", "time_s_high", "cost_per_run",
    "cost_per_run_low", "cost_per_run_high", "probability_cheapest",
    "probability_in_time", "probability_meets_limits", "basis", "price", "refused",
)  # fmt: skip
"""Columns of `option_rows` that are kept; money in USD without tax."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The rows of an answer, and the ids of the job's runs."""

    rows: tuple[Record, ...]
    runs: tuple[str, ...]

    @property
    def fingerprint(self) -> str:
        """A hash of runs and prices."""
        prices = sorted(f"{r.get('option_id')}={r.get('price')}" for r in self.rows)
        parts = [*self.runs, *prices]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def snapshot_of(comparison: Comparison | None, job: Job) -> Snapshot:
    """Return the snapshot of a comparison; without one there are no rows."""
    shown = option_rows(comparison) if comparison is not None else []
    return Snapshot(
        rows=tuple({name: row[name] for name in KEPT} for row in shown),
        runs=tuple(sorted(m.run.run_id for m in job.measured)),
    )


def changes(before: Snapshot, now: Snapshot, display: Display = DOLLARS) -> list[str]:
    """Return the changes of prices, options, runs and numbers, as sentences.

    Numbers are cost, time, the probability of meeting the limits, and the place among the options
    that both have: the ranking can change while cost and time of the first stay.

    `display` is the currency and tax of the amounts.
    """
    lines = [*_prices(before, now), *_gone(before, now), *_runs(before, now)]
    return [*lines, *_numbers(before, now, display)]


def _pairs(before: Snapshot, now: Snapshot) -> Iterator[tuple[Record, Record]]:
    rows = {r["option_id"]: r for r in now.rows}
    return ((old, rows[old["option_id"]]) for old in before.rows if old["option_id"] in rows)


def _prices(before: Snapshot, now: Snapshot) -> list[str]:
    return [
        Text(
            "Price of {option}: {before} -> {after}.",
            option=old["option"],
            before=old["price"],
            after=new["price"],
        )
        for old, new in _pairs(before, now)
        if old["price"] != new["price"]
    ]


def _gone(before: Snapshot, now: Snapshot) -> list[str]:
    there = {r["option_id"] for r in now.rows}
    return [
        Text("{option} is no longer an option.", option=r["option"])
        for r in before.rows
        if r["option_id"] not in there
    ]


def _runs(before: Snapshot, now: Snapshot) -> list[str]:
    new, gone = len(set(now.runs) - set(before.runs)), len(set(before.runs) - set(now.runs))
    parts = [f"{several(n, 'run')} {verb}" for n, verb in ((new, "added"), (gone, "gone")) if n]
    return [f"{' and '.join(parts)}: {len(now.runs):,} now."] if parts else []


def _numbers(before: Snapshot, now: Snapshot, display: Display) -> list[str]:
    lines: list[str] = []
    places = _places(before, now)
    for old, new in _pairs(before, now):
        parts = [
            _moved(old, new, "cost_per_run", "a run", lambda usd: money(usd, display)),
            _moved(old, new, "time_s", "", in_words),
            _kept(old, new),
            _placed(*places.get(str(old["option_id"]), (0, 0))),
            _tied(old, new),
        ]
        text = "; ".join(p for p in parts if p)
        if text:
            lines.append(Text("{option}: {text}.", option=old["option"], text=text))
    return lines


def _places(before: Snapshot, now: Snapshot) -> dict[str, tuple[int, int]]:
    """Return the places among the options ranked both times, then and now, by id."""
    pairs = [(o, n) for o, n in _pairs(before, now) if o.get("rank") and n.get("rank")]
    then = sorted(pairs, key=lambda p: _number(p[0], "rank") or 0.0)
    today = sorted(pairs, key=lambda p: _number(p[1], "rank") or 0.0)
    first = {str(o["option_id"]): k for k, (o, _) in enumerate(then, 1)}
    placed = ((str(o["option_id"]), k) for k, (o, _) in enumerate(today, 1))
    return {name: (first[name], k) for name, k in placed}


def _placed(then: int, now: int) -> str:
    return f"place {then} -> {now}" if then != now else ""


def _kept(old: Record, new: Record) -> str:
    """Return the change of the probability of meeting the limits; "" where small."""
    first, second = _limits(old), _limits(new)
    if first is None or second is None or abs(second - first) <= LIKELIER:
        return ""
    return Text(
        "{first:.0f}\u00a0% -> {second:.0f}\u00a0% likely to meet the limits",
        first=100.0 * first,
        second=100.0 * second,
    )


def _limits(row: Record) -> float | None:
    """Return the probability of meeting all limits; older snapshots have another name for it."""
    share = _number(row, "probability_meets_limits")
    return _number(row, "probability_in_time") if share is None else share


def _tied(old: Record, new: Record) -> str:
    """Return a change from or to a tie; "" without one."""
    if old.get("tied") is None or bool(old["tied"]) == bool(new["tied"]):
        return ""
    return "now tied" if new["tied"] else "no longer tied"


def _moved(old: Record, new: Record, name: str, what: str, words: Words) -> str:
    first, second = _number(old, name), _number(new, name)
    if _same(first, second):
        return ""
    shown = [words(v) if v is not None else "no answer" for v in (first, second)]
    return f"{shown[0]} -> {shown[1]} {what}".strip()


def _same(first: float | None, second: float | None) -> bool:
    if first is None or second is None:
        return first is second
    return abs(second - first) <= MOVED * max(abs(first), abs(second))


def _number(row: Mapping[str, object], name: str) -> float | None:
    value = row.get(name)
    return float(value) if isinstance(value, int | float) else None


DIGITS: Final = 8
_FORM: Final = re.compile(rf"([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}})-([0-9a-f]{{{DIGITS}}})")


def made_text(comparison: Comparison, job: Job, today: date) -> str:
    """Return date and fingerprint of runs and prices, for a link: 2026-11-22-1a2b3c4d."""
    return f"{today:%Y-%m-%d}-{_digits(comparison, job)}"


def made_problem(text: str) -> str:
    """Return what is wrong with such a text; "" where nothing is."""
    match = _FORM.fullmatch(text)
    try:
        if match is not None:
            date.fromisoformat(match[1])
            return ""
    except ValueError:
        pass
    return Text(
        "{text!r} is not a day with {digits} digits: 2026-11-22-1a2b3c4d. Leave it out.",
        text=text[:40],
        digits=DIGITS,
    )


def made_note(text: str, comparison: Comparison, job: Job) -> str:
    """Return a note that the link was made with other runs or prices; "" where with the same."""
    match = _FORM.fullmatch(text)
    if match is None or match[2] == _digits(comparison, job):
        return ""
    return Text(
        "This link was made on {match} with other runs or prices, so its answer may have differed.",
        match=match[1],
    )


def _digits(comparison: Comparison, job: Job) -> str:
    return snapshot_of(comparison, job).fingerprint[:DIGITS]
