"""What commands that ask have in common: options from the tables of parameters, exit codes."""

from __future__ import annotations

import argparse
import difflib
import json
import os
import shlex
import sys
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from planner.answers import NO_RUN
from planner.catalog import Catalog
from planner.core import Parameter, Problem, given_of_link, plain, shown
from planner.store import Store, folders_from_environment
from planner.store.catalog import own_folder, read_catalog
from planner.store.disk.folders import OWN as RESULTS
from planner.store.disk.folders import as_utf8
from planner.store.reader import Refused

ROOT: Final = Path(__file__).resolve().parent.parent.parent
ANSWERED: Final = 0
REFUSED: Final = 1
"""There is no data to answer from, or it does not allow an answer."""
WRONG_WORDS: Final = 2
SWITCHES: Final = {"flag": ("on", "off")}
MOST_FILES: Final = 5
"""Refused files that are named one by one."""
FOLDERS: Final = {
    "results": "a folder of result sets (one folder a set, with set.toml and parquet files)",
    "catalog": "a folder with hardware.csv, prices.csv or electricity.csv",
}
"""Options that name a folder, and what lies in it."""


class WrongWordsError(ValueError):
    """The question cannot be read; the message holds a line for each problem."""


class NoDataError(ValueError):
    """There is nothing to answer from."""


def add_parameters(parser: argparse.ArgumentParser, table: Sequence[Parameter]) -> None:
    """An option for each parameter, `--rest-like-last` for rest_like_last; all texts."""
    group = parser.add_argument_group("the question (the same names as in a page's link)")
    for one in table:
        group.add_argument(
            f"--{one.name.replace('_', '-')}",
            dest=f"ask.{one.name}",
            action="append",
            metavar=_meta(one),
            help=help_of(one),
        )


def add_common(parser: argparse.ArgumentParser) -> None:
    """--link and the folders, which every question has."""
    parser.add_argument("--link", metavar="URL", help="ask what a page's link asks")
    parser.add_argument(
        "--results",
        type=Path,
        metavar="DIR",
        help="your folder of result sets (default: EPOCHWISE_RESULTS, else results)",
    )
    parser.add_argument(
        "--catalog",
        type=Path,
        metavar="DIR",
        help="your rows of the catalogue (default: EPOCHWISE_CATALOG, else catalog)",
    )


def help_of(one: Parameter) -> str:
    """A parameter in one line of help."""
    parts = [one.words]
    if one.choices:
        parts.append(f"({', '.join(one.choices)})")
    elif one.kind == "flag":
        parts.append("(on, off)")
    elif one.least is not None and one.most is not None:
        unit = f" {one.unit}" if one.unit else ""
        parts.append(f"({plain(one.least)} to {plain(one.most)}{unit})")
    if one.many > 1:
        parts.append("[repeatable]")
    return " ".join(parts).replace("%", "%%")


def given_of(arguments: argparse.Namespace, known: Collection[str]) -> dict[str, list[str]]:
    """The question as texts by name: that of --link, with what is given beside it.

    Raises:
        WrongWordsError: the link cannot be read.
    """
    given: dict[str, list[str]] = {}
    if arguments.link:
        try:
            given = given_of_link(arguments.link)[1]
        except ValueError as error:
            raise WrongWordsError(f"--link: {error}") from None
    own = {n: v for n in known if (v := getattr(arguments, f"ask.{n}", None)) is not None}
    return given | own


def strange_options(left: Sequence[str], arguments: argparse.Namespace) -> tuple[Problem, ...]:
    """A problem for each option that does not exist; the word behind it is taken as its value.

    Args:
        left: words that no option takes, in their order.
        arguments: the options that there are, by the names of their values.
    """
    known = [option_of(name) for name in vars(arguments) if name != "command"]
    left = [word for word in left if word != "--"]
    found = (
        word.split("=")[0]
        for before, word in zip(["", *left], left, strict=False)
        if word.startswith("-") or not before.startswith("-") or "=" in before
    )
    see = f"See python -m planner {arguments.command} --help."
    return tuple(
        Problem(parameter="", message=f"{_no_option(word, known)} {see}")
        for word in dict.fromkeys(found)
    )


def option_of(name: str) -> str:
    """The option that sets a value: '--rest-like-last' of 'ask.rest_like_last'."""
    return f"--{name.removeprefix('ask.').replace('_', '-')}"


def missing_folders(arguments: argparse.Namespace) -> tuple[Problem, ...]:
    """A problem for each option that names a folder which is none or cannot be read."""
    named = {name: getattr(arguments, name) for name in FOLDERS}
    return tuple(
        Problem(parameter="", message=f"--{name}: {as_utf8(path)} {wrong} Name {FOLDERS[name]}.")
        for name, path in named.items()
        if path is not None and (wrong := _no_folder(path))
    )


def refuse(problems: Sequence[Problem]) -> None:
    """Nothing where there is no problem.

    Raises:
        NoDataError: there is no run at all.
        WrongWordsError: names all of them.
    """
    if NO_RUN in problems:
        raise NoDataError(NO_RUN.message)
    if problems:
        lines = "\n".join(f"- {p}" for p in problems)
        raise WrongWordsError(f"This question cannot be answered as it stands:\n{lines}")


def open_store(arguments: argparse.Namespace) -> Store:
    """The results that the app would read in this environment, or those of --results."""
    known: Mapping[str, str] = os.environ
    if arguments.results is not None:
        known = {**known, RESULTS: str(arguments.results.absolute())}
    store = Store(folders_from_environment(ROOT, known))
    store.refresh()
    _tell_refused(store.refused, arguments.results)
    return store


def open_catalog(arguments: argparse.Namespace) -> Catalog:
    """The shipped catalogue and the user's rows; problems with these are told, not fatal.

    Files have the same names in both folders, so each problem is told with its folder.
    """
    own = own_folder(ROOT, os.environ) if arguments.catalog is None else arguments.catalog
    shipped = ROOT / "data" / "catalog"
    found = read_catalog(shipped, [own])
    of_shipped = len(read_catalog(shipped).problems) if found.problems else 0
    for number, problem in enumerate(found.problems):
        tell(f"Catalogue {shipped if number < of_shipped else own}: {problem}")
    return found.catalog


def now() -> datetime:
    """When the work of a question would begin, to the minute."""
    return datetime.now(UTC).replace(second=0, microsecond=0)


def print_json(body: Mapping[str, Any]) -> None:
    """Exact numbers, one document."""
    sys.stdout.write(json.dumps(body, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def tell(text: str) -> None:
    """A line for the person, beside the answer."""
    sys.stderr.write(f"{text}\n")


def _tell_refused(refused: Sequence[Refused], named: Path | None) -> None:
    """Which files of results are not read, and what shows all of them."""
    for one in refused[:MOST_FILES]:
        tell(f"Results: {one.path} {one.reason}")
    if refused:
        more = len(refused) - MOST_FILES
        others = f"{more:,} more files are refused. " if more > 0 else ""
        which = "" if named is None else f" --folder {shlex.quote(str(named))}"
        tell(f"Results: {others}Run python -m planner.store verify{which} to check all of them.")


def _no_folder(path: Path) -> str:
    """What is wrong with a folder; "" where it can be read."""
    try:
        str(path).encode()
        next(path.iterdir(), None)
    except UnicodeEncodeError:
        return "has a name that is not UTF-8. Rename it first."
    except NotADirectoryError:
        return "is a file, not a folder."
    except OSError as error:
        return f"cannot be read ({error.strerror or error})."
    return ""


def _no_option(word: str, known: Sequence[str]) -> str:
    if not word.startswith("-"):
        return f"Nothing can be done with {shown(word)}: what is asked stands behind an option."
    near = difflib.get_close_matches(word[:80], known, n=1, cutoff=0.6)
    return f"There is no option {word[:80]}.{f' Perhaps {near[0]}?' if near else ''}"


def _meta(one: Parameter) -> str:
    if one.choices:
        return "|".join(one.choices)
    if one.kind == "flag":
        return "on|off"
    return {"whole": "N", "number": "X", "date": "DATE"}.get(one.kind, "TEXT")
