"""Common parts of the commands: options from the tables of parameters, exit codes."""

import argparse
import difflib
import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text as Cell

from planner.answers import NO_RUN
from planner.catalog import Catalog
from planner.core import (
    Parameter,
    ParameterProblem,
    Record,
    Text,
    cell_text,
    paragraph,
    plain,
    printable,
    program,
    shown,
    texts_of_link,
)
from planner.store import Store, folders_from_environment
from planner.store.catalog import own_folder, read_catalog
from planner.store.disk.bucket import BucketError
from planner.store.disk.files import write_whole
from planner.store.disk.folders import OWN as RESULTS
from planner.store.disk.folders import as_utf8
from planner.store.disk.mirrors import results_folder
from planner.store.pdf import PdfError, pdf_of
from planner.store.reader import Refused
from planner.store.sealed.accept import fetch

NONE: Final = "–"
"""A cell without a value."""
_NUMBER: Final = re.compile(r"(< )?[\d.,]+( %)?( \([^)]*\))?")
"""A number, a share, or one with its interval."""
ROOT: Final = Path(__file__).resolve().parent.parent.parent
ANSWERED: Final = 0
REFUSED: Final = 1
"""Exit code: no data, or a refused answer."""
WRONG_WORDS: Final = 2
MOST_FILES: Final = 5
"""Most refused files that are named one by one."""
FOLDERS: Final = {
    "results": "a folder of result sets (one folder a set, with set.toml and parquet files)",
    "catalog": "a folder with hardware.csv, prices.csv or electricity.csv",
}
"""Options that name a folder, and its contents."""


class WrongWordsError(ValueError):
    """The question is invalid; the message has a line per problem."""


class NoAnswerError(ValueError):
    """There is no data for an answer, or no file of it: the message says why."""


def check_report_name(option: str, out: Path) -> None:
    """Raise WrongWordsError unless a report can be written to a file of that name."""
    if out.suffix.lower() not in {".html", ".pdf"}:
        raise WrongWordsError(
            Text("{option} is {out}. Name a .html or a .pdf file.", option=option, out=out.name)
        )


def write_report(out: Path, page: str, beside: Callable[[], Sequence[Path]] = tuple) -> None:
    """Write a page as HTML or PDF, and what `beside` writes; print the paths.

    Raises:
        RefusedError: no PDF can be made, or the disk refuses.
    """
    try:
        write_whole(out, pdf_of(page) if out.suffix.lower() == ".pdf" else page)
        paths = [out, *beside()]
    except PdfError as error:
        raise NoAnswerError(Text("No PDF was made. {error}", error=error)) from error
    except OSError as error:
        reason = error.strerror or error
        raise NoAnswerError(
            Text("{out} could not be written ({reason}). Choose another place.",
                 out=out, reason=reason)
        ) from error  # fmt: skip
    note(Text("Written: {paths}", paths=", ".join(map(str, paths))))


def add_parameters(parser: argparse.ArgumentParser, table: Sequence[Parameter]) -> None:
    """Add an option per parameter, as text: `--rest-like-last` for rest_like_last."""
    group = parser.add_argument_group("the question (the same names as in a page's link)")
    for parameter in table:
        group.add_argument(
            f"--{parameter.name.replace('_', '-')}",
            dest=f"ask.{parameter.name}",
            action="append",
            metavar=_meta(parameter),
            help=help_of(parameter),
        )


def add_common(parser: argparse.ArgumentParser) -> None:
    """Add --link and the folders, common to all questions."""
    parser.add_argument("--link", metavar="URL", help="the question of a page's link")
    parser.add_argument(
        "--results",
        metavar="DIR",
        help="your folder of result sets, or s3://bucket/prefix (default: EPOCHWISE_RESULTS, "
        "else results)",
    )
    parser.add_argument(
        "--catalog",
        type=Path,
        metavar="DIR",
        help="your rows of the catalogue (default: EPOCHWISE_CATALOG, else catalog)",
    )


def help_of(parameter: Parameter) -> str:
    """Return the help line of a parameter."""
    parts = [parameter.words]
    if parameter.choices:
        parts.append(f"({', '.join(parameter.choices)})")
    elif parameter.kind == "flag":
        parts.append("(on, off)")
    elif parameter.least is not None and parameter.most is not None:
        unit = f" {parameter.unit}" if parameter.unit else ""
        parts.append(f"({plain(parameter.least)} to {plain(parameter.most)}{unit})")
    if parameter.many > 1:
        parts.append("[repeatable]")
    return " ".join(parts).replace("%", "%%")


def texts_of(arguments: argparse.Namespace, names: Collection[str]) -> dict[str, list[str]]:
    """Return the question as texts by name: from --link, then from the options.

    Raises:
        WrongWordsError: the link cannot be read.
    """
    question: dict[str, list[str]] = {}
    if arguments.link:
        try:
            question = texts_of_link(arguments.link)[1]
        except ValueError as error:
            raise WrongWordsError(f"--link: {error}") from None
    own = {n: v for n in names if (v := getattr(arguments, f"ask.{n}", None)) is not None}
    return question | own


def strange_options(
    left: Sequence[str], arguments: argparse.Namespace
) -> tuple[ParameterProblem, ...]:
    """Return a problem per unknown option; the next word is taken as its value.

    Args:
        left: words that belong to no option, in their order.
        arguments: values by the names of the options.
    """
    options = [option_of(name) for name in vars(arguments) if name != "command"]
    left = [word for word in left if word != "--"]
    words = (
        word.split("=")[0]
        for before, word in zip(["", *left], left, strict=False)
        if word.startswith("-") or not before.startswith("-") or "=" in before
    )
    see = Text(
        "See {program} {command} --help.", program=program("planner"), command=arguments.command
    )
    return tuple(
        ParameterProblem(parameter="", message=paragraph(_no_option(word, options), see))
        for word in dict.fromkeys(words)
    )


def option_of(name: str) -> str:
    """Return the option of a value's name: '--rest-like-last' for 'ask.rest_like_last'."""
    return f"--{name.removeprefix('ask.').replace('_', '-')}"


def missing_folders(arguments: argparse.Namespace) -> tuple[ParameterProblem, ...]:
    """Return a problem per option whose folder is missing or unreadable."""
    named = {name: getattr(arguments, name) for name in FOLDERS}
    return tuple(
        ParameterProblem(
            parameter="",
            message=Text(
                "--{name}: {as_utf8} {wrong} Name {folders}.",
                name=name,
                as_utf8=as_utf8(path),
                wrong=wrong,
                folders=FOLDERS[name],
            ),
        )
        for name, path in named.items()
        if path is not None and (wrong := _no_folder(results_folder(path)))
    )


def refuse(problems: Sequence[ParameterProblem]) -> None:
    """Raise if there are problems.

    Raises:
        RefusedError: there is no run.
        WrongWordsError: names all problems.
    """
    if NO_RUN in problems:
        raise NoAnswerError(NO_RUN.message)
    if problems:
        lines = "\n".join(f"- {p}" for p in problems)
        raise WrongWordsError(Text("This question cannot be answered:\n{lines}", lines=lines))


def open_store(arguments: argparse.Namespace) -> Store:
    """Return the app's store in this environment, or that of --results."""
    environment: Mapping[str, str] = os.environ
    if arguments.results is not None:
        environment = {**environment, RESULTS: str(results_folder(arguments.results).absolute())}
    store = Store(folders_from_environment(ROOT, environment))
    store.refresh()
    _note_refused(store.refused, arguments.results)
    return store


def open_catalog(arguments: argparse.Namespace) -> Catalog:
    """Return the shipped catalogue with the user's rows; prints their problems.

    Files have the same names in both folders, so each problem has its folder.
    """
    own = own_folder(ROOT, os.environ) if arguments.catalog is None else arguments.catalog
    shipped = ROOT / "data" / "catalog"
    catalog = read_catalog(shipped, [own])
    of_shipped = len(read_catalog(shipped).problems) if catalog.problems else 0
    for number, problem in enumerate(catalog.problems):
        note(f"Catalogue {shipped if number < of_shipped else own}: {problem}")
    return catalog.catalog


def now() -> datetime:
    """Return the default start of the work: now, to the minute."""
    return datetime.now(UTC).replace(second=0, microsecond=0)


def print_json(body: Mapping[str, Any]) -> None:
    """Print one JSON document with exact numbers."""
    text = json.dumps(body, indent=2, ensure_ascii=False, allow_nan=False)
    sys.stdout.write(escaped(text) + "\n")


def escaped(document: str) -> str:
    """Return a JSON document with its control characters as escapes: it means the same."""
    return "".join(c if printable(c) == c else f"\\u{ord(c):04x}" for c in document)


def print_csv(text: str) -> None:
    """Print a table as CSV; exactly, except on a terminal."""
    sys.stdout.write(printable(text) if sys.stdout.isatty() else text)


def note(text: str) -> None:
    """Print a note to stderr."""
    sys.stderr.write(f"{printable(text)}\n")


def _note_refused(refused: Sequence[Refused], named: str | None) -> None:
    for file in refused[:MOST_FILES]:
        note(f"Results: {file.path} {file.reason}")
    if refused:
        more = len(refused) - MOST_FILES
        command = "python -m planner.store verify"
        if named is not None:
            command += f" --folder {shlex.quote(named)}"
        check = Text("Run {command} to check all of them.", command=command)
        others = Text("{more:,} more files are refused.", more=more) if more > 0 else ""
        note(Text("Results: {what}", what=paragraph(others, check)))


def _no_folder(path: Path) -> str:
    """Return what is wrong with a folder; "" where it is readable."""
    try:
        str(path).encode()
        fetch(path)
        next(path.iterdir(), None)
    except UnicodeEncodeError:
        return "has a name that is not UTF-8. Rename it first."
    except NotADirectoryError:
        return "is a file, not a folder."
    except BucketError as error:
        return Text("cannot be read: {what}. {then}.", what=error.what, then=error.then)
    except OSError as error:
        return Text("cannot be read ({reason}).", reason=error.strerror or error)
    return ""


def _no_option(word: str, options: Sequence[str]) -> str:
    if not word.startswith("-"):
        return Text("Unexpected word {word}: every value needs an option.", word=shown(word))
    near = difflib.get_close_matches(word[:80], options, n=1, cutoff=0.6)
    return (
        Text("There is no option {word}. Perhaps {near}?", word=word[:80], near=near[0])
        if near
        else Text("There is no option {word}.", word=word[:80])
    )


def _meta(parameter: Parameter) -> str:
    if parameter.choices:
        return "|".join(parameter.choices)
    if parameter.kind == "flag":
        return "on|off"
    return {"whole": "N", "number": "X", "date": "DATE"}.get(parameter.kind, "TEXT")


Line = Sequence[str]


def print_answer(sentences: Sequence[str]) -> None:
    """Print sentences."""
    for text in sentences:
        sys.stdout.write(f"{printable(text)}\n")


def print_table(head: Sequence[str], rows: Sequence[Line], right: Sequence[str] = ()) -> None:
    """Print a table; columns named in `right` are aligned right."""
    if not rows:
        return
    sys.stdout.write("\n")
    if sys.stdout.isatty():
        table = Table(box=None, header_style="bold", pad_edge=False)
        for name in head:
            table.add_column(Cell(_seen(name)), justify="right" if name in right else "left")
        for row in rows:
            table.add_row(*(Cell(_seen(c)) for c in row))  # Cell: names are never markup
        Console(file=sys.stdout).print(table)
    else:
        _plain(head, rows, right)


def print_records(records: Sequence[Record], title: str = "") -> None:
    """Print rows by column name, without columns that are empty in every row.

    Numbers, with a unit or an interval, are aligned right.
    """
    if title and records:
        sys.stdout.write(f"\n{title}")
    names = [n for n in (records[0] if records else ()) if any(r[n] is not None for r in records)]
    rows = [[cell_text(record[name], 4) for name in names] for record in records]
    right = [n for n, *cells in zip(names, *rows, strict=True) if all(map(_is_number, cells))]
    print_table(names, rows, right)


def _is_number(text: str) -> bool:
    return text in {NONE, "refused"} or _NUMBER.fullmatch(text) is not None


def _plain(head: Sequence[str], rows: Sequence[Line], right: Sequence[str]) -> None:
    lines = [[_seen(c) for c in row] for row in (head, *rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    for line in lines:
        cells = (
            c.rjust(w) if name in right else c.ljust(w)
            for c, w, name in zip(line, widths, head, strict=True)
        )
        sys.stdout.write("  ".join(cells).rstrip() + "\n")


def _seen(text: str) -> str:
    """Return text on one line, without control characters."""
    return "".join(c if c.isprintable() else " " for c in text)
