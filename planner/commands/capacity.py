"""The command `capacity`: the machines for a month of jobs, and what they cost."""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from planner.answers import capacity_answered, capacity_plan, capacity_question, parameters
from planner.answers.capacity_jobs import job_text, presets, read_jobs
from planner.answers.records import plain
from planner.capacity import CapacityAnswer
from planner.commands import words
from planner.commands.words import print_answer, print_records, print_table
from planner.core import ParameterProblem, Text
from planner.cost import Display
from planner.report import capacity as tables
from planner.report import capacity_page, public_url, with_base

APP: Final = "http://127.0.0.1:8501/capacity"
"""Default address of the live view."""


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
    display = capacity_question(question, today).display
    if arguments.report is not None:
        _report(arguments.report, answer, display)
    if arguments.json:
        words.print_json(plain(capacity_plan(answer)))
    else:
        _print(answer, display)
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


def _jobs(texts: Sequence[str]) -> tuple[list[str], tuple[ParameterProblem, ...]]:
    """Return jobs as texts, those of files included; a text has an equals sign."""
    jobs: list[str] = []
    problems: list[ParameterProblem] = []
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
            problems.append(ParameterProblem(parameter="jobs", message=message))
            continue
        problems += [
            ParameterProblem(parameter="jobs", message=f"{text}: {p}") for p in table.problems
        ]
        jobs += [job_text(j) for j in table.jobs]
    return jobs, tuple(problems)


def _print(answer: CapacityAnswer, display: Display) -> None:
    print_answer([answer.sentence, *answer.chips])
    print_records(tables.job_rows(answer), "Jobs")
    print_records(tables.fleet_rows(answer, display), "Machines")
    print_records(tables.waiting_rows(answer), "Waiting times")
    if answer.costs is not None:
        print_records(tables.line_rows(answer.costs, display), answer.costs.title)
    if answer.side_by_side is not None and answer.side_by_side.pairs:
        print_records(tables.pair_rows(answer.side_by_side), answer.side_by_side.title)
    print_answer(["", *_sentences(answer)])


def _sentences(answer: CapacityAnswer) -> list[str]:
    """Return what follows the tables: break-even, what breaks first, what to measure, notes."""
    sentences = [part.sentence for part in (answer.costs, answer.side_by_side, answer.rent_or_buy)
            if part is not None]  # fmt: skip
    if answer.breaks is not None:
        sentences.append(answer.breaks.words)
    if answer.measure_next is not None:
        sentences.append(answer.measure_next.sentence)
    return [*sentences, *answer.notes]
