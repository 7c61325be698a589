"""The command `capacity`: the machines for a month of jobs, and what they cost."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from planner.answers import capacity_answered, capacity_plan, capacity_question, parameters
from planner.answers.capacity_jobs import job_text, presets, read_jobs
from planner.answers.records import plain
from planner.capacity import CapacityAnswer, CostLine, JobRow, StockRow, Waiting
from planner.commands import words
from planner.commands.words import print_answer, print_table
from planner.core import Estimate, Problem, Refusal, Text, percent
from planner.core import plain as plain_number
from planner.cost import Display
from planner.report import capacity_page, public_url, with_base

APP: Final = "http://127.0.0.1:8501/capacity"
"""Default address of the live view."""
NONE: Final = "–"
HOUR_S: Final = 3600.0


def run_capacity(arguments: argparse.Namespace) -> int:
    """Print a fleet, its cost and its waiting times; return the exit code."""
    if arguments.list:
        words.refuse(arguments.strange)
        rows = [[name, ", ".join(j.name for j in jobs)] for name, jobs in presets().items()]
        print_table(["preset", "jobs"], rows)
        return words.ANSWERED
    question = words.texts_of(arguments, [p.name for p in parameters.CAPACITY])
    question["jobs"], wrong = _jobs(question.get("jobs", []))
    words.refuse((*arguments.strange, *wrong))
    store, catalog = words.open_store(arguments), words.open_catalog(arguments)
    today = words.now().date()
    answer = capacity_answered(store, catalog, question, today)
    words.refuse((*arguments.strange, *answer.problems))
    if arguments.report is not None:
        _report(arguments.report, answer, capacity_question(question, today).display)
    if arguments.json:
        words.print_json(plain(capacity_plan(answer)))
    else:
        _print(answer)
    return words.ANSWERED if answer.keeps else words.REFUSED


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the argument of the report."""
    parser.add_argument("--report", type=Path, metavar="FILE",
                        help="also write the answer as FILE.html or FILE.pdf")  # fmt: skip


def _report(out: Path, answer: CapacityAnswer, display: Display) -> None:
    words.check_report_name("--report", out)
    begins = words.now()
    base = with_base(APP, public_url(os.environ))
    page = capacity_page(answer, display, link=f"{base}?{answer.query}",
                         made=f"{begins:%Y-%m-%d %H:%M} {begins.tzname()}")  # fmt: skip
    words.write_report(out, page)


def _jobs(texts: Sequence[str]) -> tuple[list[str], tuple[Problem, ...]]:
    """Return jobs as texts, those of files included; a text has an equals sign."""
    jobs: list[str] = []
    problems: list[Problem] = []
    for text in texts:
        if "=" in text:
            jobs.append(text)
            continue
        try:
            table = read_jobs(Path(text).read_text(encoding="utf-8"))
        except (OSError, UnicodeError, ValueError) as error:
            why = getattr(error, "strerror", None) or "is no text in UTF-8"
            message = Text(
                "{text!r} cannot be read ({why}). Name a CSV file of jobs.", text=text[:80], why=why
            )
            problems.append(Problem(parameter="jobs", message=message))
            continue
        problems += [Problem(parameter="jobs", message=f"{text}: {p}") for p in table.problems]
        jobs += [job_text(j) for j in table.jobs]
    return jobs, tuple(problems)


def _print(answer: CapacityAnswer) -> None:
    print_answer([answer.sentence, *answer.chips])
    head = ["Job", "Runs a month", "Time of a run (h)", "Machine", "Within (h)", "Late"]
    print_table(head, [_job(j) for j in answer.jobs], ["Runs a month", "Within (h)", "Late"])
    head = ["Machines", "Count", "From month", "USD a month", "Hours a month", "Utilisation"]
    print_table(head, [_stock(s) for s in answer.stocks], head[1:])
    head = ["Waiting", "At once", "Median (h)", "95 % (h)", "Simulated runs"]
    print_table(head, [_wait(w) for w in answer.waiting], head[1:])
    if answer.costs is not None:
        head = [answer.costs.title, "USD", "Resale value", "Net", "Limit"]
        print_table(head, [_line(c) for c in answer.costs.lines], head[1:-1])
    print_answer(["", *_sentences(answer)])


def _sentences(answer: CapacityAnswer) -> list[str]:
    """Return what follows the tables: break-even, what breaks first, what to measure, notes."""
    sentences = [part.sentence for part in (answer.costs, answer.side_by_side, answer.rent_or_buy)
            if part is not None]  # fmt: skip
    if answer.breaks is not None:
        job = f"{answer.breaks.job}: " if answer.breaks.job else ""
        sentences.append(f"{job}{answer.breaks.sentence} {answer.breaks.fix}".strip())
    if answer.measure_next is not None:
        sentences.append(answer.measure_next.sentence)
    return [*sentences, *answer.notes]


def _job(row: JobRow) -> list[str]:
    time = row.time
    within = NONE if row.within_h is None else plain_number(row.within_h)
    said = time.reason if isinstance(time, Refusal) else _hours(time)
    return [row.job, plain_number(row.runs_a_month), said, row.machine or NONE, within,
            _share(row.late)]  # fmt: skip


def _stock(row: StockRow) -> list[str]:
    return [row.machine.label, f"{row.count}", f"{row.from_month}",
            plain_number(row.cost_a_month, 4), plain_number(row.hours_a_month, 4),
            _share(row.utilisation)]  # fmt: skip


def _wait(row: Waiting) -> list[str]:
    ends = (row.median_s, row.p95_s)
    hours = ("never" if e == float("inf") else plain_number(e / HOUR_S, 3) for e in ends)
    return [row.job, percent(row.at_once), *hours, f"{row.runs:,}"]


def _line(line: CostLine) -> list[str]:
    ends = tuple(plain_number(v[-1], 4) for v in (line.usd, line.low, line.high))
    return [line.name, f"{ends[0]} ({ends[1]} – {ends[2]})", plain_number(line.resale, 4),
            plain_number(line.net, 4), line.problem]  # fmt: skip


def _hours(time: Estimate) -> str:
    ends = (float(v) / HOUR_S for v in (time.value, time.low, time.high))
    value, low, high = (plain_number(v, 3) for v in ends)
    return f"{value} ({low} – {high})"


def _share(share: float | None) -> str:
    return NONE if share is None else percent(share)
