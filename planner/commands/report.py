"""`report`: a comparison as a file to hand out, with its data beside it on request."""

from __future__ import annotations

import argparse
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from planner.answers import CompareAnswer
from planner.answers.comparison import option_rows
from planner.commands import words
from planner.commands.ask import compare_answer
from planner.core import csv_text
from planner.report import MOST_LOGO_BYTES, compare_page
from planner.store.disk.files import write_whole
from planner.store.pdf import PdfError, pdf_of
from planner.store.records_file import records_file

APP: Final = "http://127.0.0.1:8501/compare"
"""Where the live view is, unless a link says otherwise."""
KINDS: Final = (".html", ".pdf")
OTHER_PAGES: Final = ("how-long", "plan", "throughput", "steps-to-target", "results", "measure",
                      "method")  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What a report takes beside the question."""
    parser.add_argument("--out", type=Path, required=True, metavar="FILE",
                        help="what to write: FILE.html or FILE.pdf")  # fmt: skip
    parser.add_argument("--company", default="", metavar="NAME", help="whose name stands above")
    parser.add_argument("--logo", type=Path, metavar="FILE", help="PNG, JPEG or plain SVG")
    parser.add_argument("--with-data", action="store_true",
                        help="write the options as .csv and .parquet beside it")  # fmt: skip


def run_report(arguments: argparse.Namespace) -> int:
    """Write the report and say what was written."""
    out: Path = arguments.out
    _check(arguments)
    begins = words.now()
    found = compare_answer(arguments, begins)
    if isinstance(found, int):
        return found
    if found.answered.comparison is None:
        return words.REFUSED
    try:
        page = _page(found, arguments, begins)
        write_whole(out, pdf_of(page) if out.suffix.lower() == ".pdf" else page)
        written = [out, *(_data(found, out, begins) if arguments.with_data else [])]
    except PdfError as error:
        words.tell(f"No PDF was made. {error}")
        return words.REFUSED
    except OSError as error:
        words.tell(f"{out} could not be written ({error.strerror or error}). Choose another place.")
        return words.REFUSED
    words.tell(f"Written: {', '.join(str(p) for p in written)}")
    for note in found.answered.comparison.question.notes:
        words.tell(f"Note: {note}")
    return words.ANSWERED


def _check(arguments: argparse.Namespace) -> None:
    if arguments.out.suffix.lower() not in KINDS:
        raise words.WrongWordsError(f"--out is {arguments.out.name}. Name a .html or a .pdf file.")
    if not arguments.out.absolute().parent.is_dir():
        raise words.WrongWordsError(
            f"--out: there is no folder {arguments.out.parent}. Make it, or name another place."
        )
    page = urlsplit(arguments.link or "").path.strip("/").rsplit("/", 1)[-1]
    if page in OTHER_PAGES:
        raise words.WrongWordsError(
            f"--link leads to the page {page}. A report is made of a link of Compare hardware."
        )


def _page(found: CompareAnswer, arguments: argparse.Namespace, begins: datetime) -> str:
    logo = None if arguments.logo is None else _logo(arguments.logo)
    try:
        return compare_page(
            replace(found.answered, problems=tuple(map(str, found.problems))),
            link=_live(arguments.link, found.query),
            made=f"{begins:%Y-%m-%d %H:%M} {begins.tzname()}",
            begins=begins,
            by=found.by,
            display=found.display,
            company=arguments.company,
            logo=logo,
        )
    except ValueError as error:
        raise words.WrongWordsError(f"--logo: {error}") from None


def _logo(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MOST_LOGO_BYTES + 1)
    except OSError as error:
        message = f"--logo: {path} cannot be read ({error.strerror or error}). Name another file."
        raise words.WrongWordsError(message) from None


def _live(link: str | None, query: str) -> str:
    """The address that asks the same: on the link's host where it names one."""
    parts = urlsplit(link or "")
    known = parts if parts.netloc and parts.scheme in ("http", "https") else urlsplit(APP)
    return urlunsplit((known.scheme, known.netloc, known.path or "/compare", query, ""))


def _data(found: CompareAnswer, out: Path, begins: datetime) -> list[Path]:
    told = found.answered.comparison
    if told is None:
        return []
    rows = option_rows(told, found.display, begins)
    table, parquet = out.with_suffix(".csv"), out.with_suffix(".parquet")
    write_whole(table, csv_text(rows))
    write_whole(parquet, records_file(rows))
    return [table, parquet]
