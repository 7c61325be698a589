"""`how-long`, `compare`, `curve`: what the pages answer, in a terminal."""

from __future__ import annotations

import argparse
from datetime import datetime
from typing import Final

from planner.answers import (
    CompareAnswer,
    answer_sentences,
    asked,
    batch_rows,
    compare_answered,
    compare_body,
    curve_answered,
    curve_body,
    half_width,
    how_long_answered,
    projection_body,
    total_in_words,
)
from planner.answers.comparison import COMPARE
from planner.commands import listed, words
from planner.commands.tables import print_answer, print_table
from planner.compare import basis_words, next_step, odds_heads, session_note
from planner.compare.reckon import Comparison, Row
from planner.core import Record, Refusal, ahead_of, between, with_ends
from planner.cost import Display, money_with_interval
from planner.epochs import HowLong, basis_in_words
from planner.job import Goal
from planner.report import answers
from planner.throughput import curve_rows, interval_cell

NONE: Final = "–"
LIMITED: Final = ("Fits tightly", "Barely fits", "Only sharded")
"""How sentences about memory begin that a user needs beside the answer."""
NOTHING_LEFT: Final = (
    "No option is left to compare. Name others (--list options shows them), or leave --options out "
    "to compare the usual ones."
)


def run_how_long(arguments: argparse.Namespace) -> int:
    """Print how long N epochs take on each system."""
    store = words.open_store(arguments)
    if arguments.list:
        words.refuse(arguments.strange)
        return listed.run(arguments.list, store, None, {})
    given = words.given_of(arguments, [p.name for p in asked.HOW_LONG])
    told = how_long_answered(store, given)
    words.refuse((*arguments.strange, *told.problems))
    if told.result is None:
        return words.REFUSED
    if arguments.json:
        words.print_json(projection_body(told.result, told.suspect, store.sets, told.query))
    else:
        _print_how_long(told.result)
    known = any(not isinstance(a.total, Refusal) for a in told.result.answers)
    return words.ANSWERED if known else words.REFUSED


def run_curve(arguments: argparse.Namespace) -> int:
    """Print throughput against batch size."""
    store = words.open_store(arguments)
    if arguments.list:
        words.refuse(arguments.strange)
        return listed.run(arguments.list, store, None, {})
    told = curve_answered(store, words.given_of(arguments, [p.name for p in asked.CURVE]))
    words.refuse((*arguments.strange, *told.problems))
    if arguments.json:
        body = curve_body(told.chosen, told.batches, store.sets, told.query, told.notes)
        words.print_json(body)
    else:
        print_answer(answer_sentences(told.chosen))
        _print_curves(curve_rows(told.chosen))
        _print_batches(batch_rows(told.chosen, told.batches))
    for note in told.notes:
        words.tell(note)
    known = any(not isinstance(c.curve, Refusal) for c in told.chosen)
    return words.ANSWERED if known else words.REFUSED


def run_compare(arguments: argparse.Namespace) -> int:
    """Print which hardware does it best."""
    found = compare_answer(arguments)
    if isinstance(found, int):
        return found
    told = found.answered.comparison
    if told is None:
        return words.REFUSED
    if arguments.json:
        words.print_json(compare_body(told, found.display, found.query, found.by))
    else:
        _print_compare(told, found)
    return words.ANSWERED if told.answered else words.REFUSED


def compare_answer(
    arguments: argparse.Namespace, begins: datetime | None = None
) -> CompareAnswer | int:
    """The comparison that is asked for; an exit code where something was listed instead.

    Work begins at `begins`, or now.

    Raises:
        WrongWordsError: names all that is wrong with the question.
    """
    store, catalog = words.open_store(arguments), words.open_catalog(arguments)
    given = words.given_of(arguments, [p.name for p in COMPARE])
    if getattr(arguments, "list", None):
        words.refuse(arguments.strange)
        return listed.run(arguments.list, store, catalog, given)
    begins = begins or words.now()
    told = compare_answered(store, catalog, given, begins.date(), begins)
    nothing_left = told.answered.comparison is None and bool(told.answered.candidates)
    if arguments.strange or not (arguments.anyway and (told.answered.comparison or nothing_left)):
        words.refuse((*arguments.strange, *told.problems))
    for problem in told.problems:
        words.tell(f"Note: {problem}")
    if told.answered.comparison is None:
        raise words.NoDataError(NOTHING_LEFT)
    return told


def _print_how_long(result: HowLong) -> None:
    more = (result.undecided, result.size_sentence, result.start_sentence)
    print_answer([result.sentence, *(t for t in more if t and t not in result.sentence)])
    rows = []
    for a in result.answers:
        basis = basis_in_words(a.option, result.epochs)
        if isinstance(a.total, Refusal):
            told = f"{a.total.reason} {a.total.measure_next}"
            rows.append([a.option.label, NONE, NONE, NONE, told])
            continue
        faster = ahead_of(a.speed_ratio)
        rows.append([a.option.label, total_in_words(a.total), half_width(a.total), faster, basis])
    versus = f"Against {result.baseline.label}"
    head = ["System", "Total", "90 %", versus, "Basis"]
    print_table(head, rows, ["Total", "90 %", versus])


def _print_curves(rows: list[Record]) -> None:
    names = ("asymptotic_throughput", "overhead_s", "batch_50", "batch_90")
    lines = []
    for row in rows:
        if row.get("refused"):
            lines.append([str(row["curve"]), "refused", NONE, NONE, NONE])
        else:
            lines.append([str(row["curve"]), *(interval_cell(row, n) for n in names)])
    head = ["Curve", "v0 (samples/s)", "t (s)", "b50 (samples)", "b90 (samples)"]
    print_table(head, lines)


def _print_batches(rows: list[Record]) -> None:
    lines = []
    for row in rows:
        label, batch = str(row["curve"]), f"{row['global_batch_size']:,.15g}"
        if row["refused"]:
            lines.append([label, batch, NONE, NONE, f"{row['refused']} {row['measure_next']}"])
            continue
        speed, step = (interval_cell(row, n) for n in ("samples_per_s", "step_s"))
        lines.append([label, batch, speed, step, str(row["basis"])])
    head = ["Curve", "Batch", "Samples/s", "Step (s)", "Basis"]
    print_table(head, lines, ["Batch"])


def _print_compare(told: Comparison, found: CompareAnswer) -> None:
    display = found.display
    print_answer(answers(told, display, by=found.by))
    head = ["Rank", "Option", "Batch", "Time", "90 %", f"Cost of a run ({display.currency})",
            odds_heads(told)[0], "Basis"]  # fmt: skip
    right = ["Batch", "Time", odds_heads(told)[0]]
    print_table(head, [_line(r, display, told.question.goal) for r in told.rows], right)
    refused = [r for r in told.rows if isinstance(r.time, Refusal)]
    lines = [f"{r.candidate.label}: {_why(r)}" for r in refused]
    step = next_step(told)
    print_answer([*lines, *_memory_lines(told), *([step] if step else []), *_notes(told)])


def _line(row: Row, display: Display, goal: Goal) -> list[str]:
    rank = NONE if row.rank is None else f"{row.rank}{' tied' if row.tied else ''}"
    share = NONE if row.cheapest is None else f"{row.cheapest:.0%}".replace("%", " %")
    batch = NONE if row.timed.batch is None else f"{row.timed.batch:,.0f}"
    if isinstance(row.time, Refusal):
        return [rank, row.candidate.label, batch, NONE, NONE, NONE, NONE, "refused"]
    cost = NONE if isinstance(row.cost, Refusal) else money_with_interval(row.cost, display)
    ends = float(row.time.value), float(row.time.low), float(row.time.high)
    time, low, high = with_ends(*ends)
    interval = between(low, high)
    return [rank, row.candidate.label, batch, time, interval, cost, share, basis_words(row, goal)]


def _memory_lines(told: Comparison) -> list[str]:
    """That options fit tightly or only sharded; those with the same sentence share a line."""
    labels: dict[str, list[str]] = {}
    for row in told.rows:
        fit = row.timed.fit
        if not isinstance(row.time, Refusal) and fit.way_out and fit.sentence.startswith(LIMITED):
            labels.setdefault(f"{fit.sentence} {fit.way_out}", []).append(row.candidate.label)
    return [f"{', '.join(of)}: {text}" for text, of in labels.items()]


def _notes(told: Comparison) -> list[str]:
    """What to know beside the rows; nothing that is empty."""
    return [t for t in (session_note(told), *told.question.notes) if t]


def _why(row: Row) -> str:
    return f"{row.time.reason} {row.time.measure_next}" if isinstance(row.time, Refusal) else ""
