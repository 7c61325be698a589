"""The command `report`: a comparison as a file, optionally with its data."""

import argparse
import os
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from planner.answers import CompareAnswer
from planner.answers.comparison import option_rows
from planner.commands import words
from planner.commands.ask import compare_answer
from planner.core import Text, csv_text, texts_of_link
from planner.report import MOST_LOGO_BYTES, Letterhead, compare_page, public_url, with_base
from planner.store.disk.files import write_whole
from planner.store.export import records_file

APP: Final = "http://127.0.0.1:8501/compare"
"""Default address of the live view."""
OTHER_PAGES: Final = ("how-long", "plan", "throughput", "scaling-out", "steps-to-target",
                      "results", "measure", "method")  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of a report."""
    parser.add_argument("--out", type=Path, required=True, metavar="FILE",
                        help="output: FILE.html or FILE.pdf")  # fmt: skip
    parser.add_argument("--company", default="", metavar="NAME", help="name above the report")
    parser.add_argument("--customer", default="", metavar="NAME", help="for whom the report is")
    parser.add_argument("--reference", default="", metavar="TEXT", help="number of the offer")
    parser.add_argument(
        "--text",
        default="",
        metavar="TEXT",
        help="text of your own below the answer; an empty line begins a paragraph",
    )
    parser.add_argument("--logo", type=Path, metavar="FILE", help="PNG, JPEG or plain SVG")
    parser.add_argument("--with-data", action="store_true",
                        help="write the options as .csv and .parquet beside it")  # fmt: skip


def run_report(arguments: argparse.Namespace) -> int:
    """Write the report and print its path."""
    out: Path = arguments.out
    _check(arguments)
    begins = words.now()
    answer = compare_answer(arguments, begins)
    if isinstance(answer, int):
        return answer
    if answer.answered.comparison is None:
        return words.REFUSED
    beside = partial(_data, answer, out, begins) if arguments.with_data else tuple
    words.write_report(out, _page(answer, arguments, begins), beside)
    for note in answer.answered.comparison.question.notes:
        words.note(f"Note: {note}")
    return words.ANSWERED


def _check(arguments: argparse.Namespace) -> None:
    try:
        public_url(os.environ)
    except ValueError as error:
        raise words.WrongWordsError(str(error)) from None
    words.check_report_name("--out", arguments.out)
    if not arguments.out.absolute().parent.is_dir():
        raise words.WrongWordsError(
            Text(
                "--out: there is no folder {parent}. Make it, or name another place.",
                parent=arguments.out.parent,
            )
        )
    page = urlsplit(arguments.link or "").path.strip("/").rsplit("/", 1)[-1]
    if page in OTHER_PAGES:
        raise words.WrongWordsError(
            Text(
                "--link leads to the page {page}. A report is made of a link of Compare hardware.",
                page=page,
            )
        )


def _page(answer: CompareAnswer, arguments: argparse.Namespace, begins: datetime) -> str:
    logo = None if arguments.logo is None else _logo(arguments.logo)
    try:
        return compare_page(
            replace(answer.answered, problems=tuple(map(str, answer.problems))),
            link=_live(arguments.link, answer.query),
            made=f"{begins:%Y-%m-%d %H:%M} {begins.tzname()}",
            begins=begins,
            by=answer.by,
            display=answer.display,
            letterhead=Letterhead(
                company=arguments.company,
                customer=arguments.customer,
                reference=arguments.reference,
                text=arguments.text,
                logo=logo,
            ),
            by_use=_by_use(arguments.link),
        )
    except ValueError as error:
        raise words.WrongWordsError(f"--logo: {error}") from None


def _by_use(link: str | None) -> bool:
    """Whether the link's chart is that of costs by use."""
    return link is not None and texts_of_link(link)[1].get("chart", [])[:1] == ["use"]


def _logo(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MOST_LOGO_BYTES + 1)
    except OSError as error:
        message = Text(
            "--logo: {path} cannot be read ({reason}). Name another file.",
            path=path,
            reason=error.strerror or error,
        )
        raise words.WrongWordsError(message) from None


def _live(link: str | None, query: str) -> str:
    """Return the address of the question: public where that is set, else on the link's host."""
    parts = urlsplit(link or "")
    base = parts if parts.netloc and parts.scheme in ("http", "https") else urlsplit(APP)
    address = urlunsplit((base.scheme, base.netloc, base.path or "/compare", query, ""))
    return with_base(address, public_url(os.environ))


def _data(answer: CompareAnswer, out: Path, begins: datetime) -> list[Path]:
    comparison = answer.answered.comparison
    if comparison is None:
        return []
    rows = option_rows(comparison, answer.display, begins)
    table, parquet = out.with_suffix(".csv"), out.with_suffix(".parquet")
    write_whole(table, csv_text(rows))
    write_whole(parquet, records_file(rows))
    return [table, parquet]
