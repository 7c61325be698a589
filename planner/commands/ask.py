"""The commands `how-long`, `compare` and `curve`."""

import argparse
import shlex
from collections.abc import Container, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from planner.answers import (
    CompareAnswer,
    answer_sentences,
    batch_rows,
    compare_answered,
    curve_answered,
    curves,
    half_width,
    hardware_comparison,
    how_long_answered,
    parameters,
    plain,
    projection,
    total_in_words,
)
from planner.answers.comparison import COMPARE
from planner.catalog import Catalog
from planner.commands import words
from planner.commands.words import NONE, print_answer, print_table
from planner.compare import basis_words, next_step, probability_titles, session_note
from planner.compare.comparison import Comparison, Row
from planner.core import (
    Estimate,
    Record,
    Refusal,
    Text,
    ahead_of,
    between,
    paragraph,
    percent,
    texts_of_link,
    with_ends,
)
from planner.core.slugs import BADGE, slugs
from planner.cost import Display, money_with_interval
from planner.epochs import HowLong, basis_in_words
from planner.job import Goal
from planner.networks import networks
from planner.report import answers
from planner.store import Store, queries
from planner.throughput import curve_rows, rounded_cell


def run(
    what: str, store: Store, catalog: Catalog | None, question: Mapping[str, Sequence[str]]
) -> int:
    """Print one list; return the exit code, 1 where it is empty."""
    if what == "accelerators" and catalog is not None:
        lines = [[a.id, a.name, a.maker, a.kind] for a in catalog.accelerators]
        print_table(["id", "name", "maker", "kind"], lines)
    elif what == "networks":
        lines = [[n.id, n.name, n.family] for n in networks().values()]
        print_table(["id", "name", "family"], lines)
    elif what == "options" and catalog is not None:
        answer = compare_answered(store, catalog, question, datetime.now(UTC).date())
        lines = [[c.id, c.label, c.price] for c in answer.answered.candidates]
        for problem in answer.problems:
            words.note(str(problem))
        print_table(["id", "option", "price"], lines)
    else:
        trained = None if catalog is None else set(queries.trained(store))
        lines = _workloads(store, trained)
        print_table(["workload", "name", "patterns"], lines)
    return words.ANSWERED if lines else words.REFUSED


def _workloads(store: Store, only: Container[str] | None) -> list[list[str]]:
    """Return all workloads, the user's own first, as on the page.

    `only` are those to list: trained ones can be compared on other hardware.
    """
    about = queries.about_workloads(store)
    named = sorted(slugs(queries.workloads(store)).items(), key=lambda n: not about[n[1]].is_own)
    names = [(short, name) for short, name in named if only is None or name in only]
    badge = {name: BADGE if of.is_unofficial else "" for name, of in about.items()}
    patterns = queries.every_pattern(store)
    return [
        [s, f"{name}{badge[name]}", ", ".join(slugs(patterns.get(name, ())))] for s, name in names
    ]


NOTHING_LEFT: Final = (
    "No option is left to compare. Name others (--list options shows them), or leave out --options "
    "to compare the defaults."
)


def run_how_long(arguments: argparse.Namespace) -> int:
    """Print the times of N epochs on each system; return the exit code."""
    store = words.open_store(arguments)
    if arguments.list:
        words.refuse(arguments.strange)
        return run(arguments.list, store, None, {})
    question = words.texts_of(arguments, [p.name for p in parameters.HOW_LONG])
    answer = how_long_answered(store, question)
    words.refuse((*arguments.strange, *answer.problems))
    if answer.result is None:
        return words.REFUSED
    if arguments.json:
        words.print_json(
            plain(
                projection(
                    answer.result, answer.suspect, store.sets, answer.query, note=answer.note
                )
            )
        )
    else:
        _print_how_long(answer.result, _target_line(answer.note, answer.query))
    has_total = any(not isinstance(a.total, Refusal) for a in answer.result.answers)
    return words.ANSWERED if has_total else words.REFUSED


def run_curve(arguments: argparse.Namespace) -> int:
    """Print throughput against batch size; return the exit code."""
    store = words.open_store(arguments)
    if arguments.list:
        words.refuse(arguments.strange)
        return run(arguments.list, store, None, {})
    answer = curve_answered(store, words.texts_of(arguments, [p.name for p in parameters.CURVE]))
    words.refuse((*arguments.strange, *answer.problems))
    if arguments.json:
        record = curves(answer.chosen, answer.batches, store.sets, answer.query, answer.notes)
        words.print_json(plain(record))
    else:
        print_answer(answer_sentences(answer.chosen))
        _print_curves(curve_rows(answer.chosen))
        _print_batches(batch_rows(answer.chosen, answer.batches))
    for note in answer.notes:
        words.note(note)
    has_curve = any(not isinstance(c.curve, Refusal) for c in answer.chosen)
    return words.ANSWERED if has_curve else words.REFUSED


def run_compare(arguments: argparse.Namespace) -> int:
    """Print the comparison of hardware; return the exit code."""
    answer = compare_answer(arguments)
    if isinstance(answer, int):
        return answer
    comparison = answer.answered.comparison
    if comparison is None:
        return words.REFUSED
    if arguments.json:
        record = hardware_comparison(comparison, answer.display, answer.query, answer.by)
        words.print_json(plain(record))
    else:
        _print_compare(comparison, answer)
    return words.ANSWERED if comparison.answered else words.REFUSED


def compare_answer(
    arguments: argparse.Namespace, begins: datetime | None = None
) -> CompareAnswer | int:
    """Return the requested comparison; an exit code after --list.

    Work starts at `begins`, or now.

    Raises:
        WrongWordsError: names all problems of the question.
    """
    store, catalog = words.open_store(arguments), words.open_catalog(arguments)
    question = words.texts_of(arguments, [p.name for p in COMPARE])
    if getattr(arguments, "list", None):
        words.refuse(arguments.strange)
        return run(arguments.list, store, catalog, question)
    begins = begins or words.now()
    answer = compare_answered(store, catalog, question, begins.date(), begins)
    nothing_left = answer.answered.comparison is None and bool(answer.answered.candidates)
    if arguments.strange or not (arguments.anyway and (answer.answered.comparison or nothing_left)):
        words.refuse((*arguments.strange, *answer.problems))
    for problem in answer.problems:
        words.note(f"Note: {problem}")
    if answer.answered.comparison is None:
        raise words.NoAnswerError(NOTHING_LEFT)
    return answer


def _print_how_long(result: HowLong, target: str) -> None:
    more = (result.undecided, result.size_sentence, result.start_sentence, target)
    print_answer([result.sentence, *(t for t in more if t and t not in result.sentence)])
    rows = []
    for a in result.answers:
        basis = basis_in_words(a.option, result.epochs)
        if isinstance(a.total, Refusal):
            reason = paragraph(a.total.reason, a.total.measure_next)
            rows.append([a.option.label, NONE, NONE, NONE, reason])
            continue
        faster = ahead_of(a.speed_ratio)
        rows.append([a.option.label, total_in_words(a.total), half_width(a.total), faster, basis])
    versus = f"Against {result.baseline.label}"
    head = ["System", "Total", "90 %", versus, "Basis"]
    print_table(head, rows, ["Total", "90 %", versus])


def _target_line(note: str, query: str) -> str:
    """Return the note on times to a target, and the command that ranks by them; "" without it."""
    workload = shlex.quote(texts_of_link(query)[1]["workload"][0])
    command = Text(
        "python -m planner compare --workload {workload} --goal target", workload=workload
    )
    return f"{note} Run {command}" if note else ""


def _print_curves(rows: list[Record]) -> None:
    names = ("asymptotic_throughput", "overhead_s", "batch_50", "batch_90")
    lines = []
    for row in rows:
        if row.get("refused"):
            lines.append([str(row["curve"]), "refused", NONE, NONE, NONE])
        else:
            lines.append([str(row["curve"]), *(rounded_cell(row, n) for n in names)])
    head = ["Curve", "v0 (samples/s)", "t (s)", "b50 (samples)", "b90 (samples)"]
    print_table(head, lines)


def _print_batches(rows: list[Record]) -> None:
    lines = []
    for row in rows:
        label, batch = str(row["curve"]), f"{row['global_batch_size']:,.15g}"
        if row["refused"]:
            lines.append(
                [label, batch, NONE, NONE, paragraph(str(row["refused"]), str(row["measure_next"]))]
            )
            continue
        speed, step = (rounded_cell(row, n) for n in ("samples_per_s", "step_s"))
        lines.append([label, batch, speed, step, str(row["basis"])])
    head = ["Curve", "Batch", "Samples/s", "Step (s)", "Basis"]
    print_table(head, lines, ["Batch"])


def _print_compare(comparison: Comparison, answer: CompareAnswer) -> None:
    display = answer.display
    print_answer(answers(comparison, display, by=answer.by))
    head = [
        "Rank",
        "Option",
        "Price",
        "Batch",
        "Time",
        "90 %",
        Text("Cost of a run ({currency})", currency=display.currency),
        probability_titles(comparison)[0],
        "Basis",
    ]
    right = ["Batch", "Time", probability_titles(comparison)[0]]
    print_table(head, [_line(r, display, comparison.question.goal) for r in comparison.rows], right)
    refused = [r for r in comparison.rows if isinstance(r.time, Refusal)]
    lines = [f"{r.candidate.label}: {_why(r)}" for r in refused]
    step = next_step(comparison)
    print_answer(
        [*lines, *_memory_lines(comparison), *([step] if step else []), *_notes(comparison)]
    )


def _line(row: Row, display: Display, goal: Goal) -> list[str]:
    rank = NONE if row.rank is None else f"{row.rank}{' tied' if row.tied else ''}"
    share = NONE if row.cheapest is None else percent(row.cheapest)
    first = [rank, row.candidate.label, row.candidate.amount]
    batch = NONE if row.timed.batch is None else f"{row.timed.batch:,.0f}"
    if isinstance(row.time, Refusal):
        return [*first, batch, NONE, NONE, NONE, NONE, "refused"]
    cost = NONE if isinstance(row.cost, Refusal) else money_with_interval(row.cost, display)
    time, low, high = with_ends(*row.time.ends)
    return [*first, batch, time, between(low, high), cost, share, basis_words(row, goal)]


def _memory_lines(comparison: Comparison) -> list[str]:
    """Return notes on options that fit tightly or only sharded; equal notes share a line."""
    labels: dict[str, list[str]] = {}
    for row in comparison.rows:
        fit = row.timed.fit
        if not isinstance(row.time, Refusal) and fit.way_out and fit.limited:
            labels.setdefault(paragraph(fit.sentence, fit.way_out), []).append(row.candidate.label)
    return [f"{', '.join(of)}: {text}" for text, of in labels.items()]


def _notes(comparison: Comparison) -> list[str]:
    """Return the notes below the rows: the basis of the first, and those of the question."""
    leader = comparison.leader
    basis = leader.time.reasons if leader and isinstance(leader.time, Estimate) else ()
    return [t for t in (*basis, session_note(comparison), *comparison.question.notes) if t]


def _why(row: Row) -> str:
    return (
        paragraph(row.time.reason, row.time.measure_next) if isinstance(row.time, Refusal) else ""
    )
