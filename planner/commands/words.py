"""What commands that ask have in common: options from the tables of parameters, exit codes."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from planner.catalog import Catalog
from planner.parameters import Parameter, Problem, given_of_link
from planner.store import Store, folders_from_environment
from planner.store.asking import NO_RUN
from planner.store.catalog import own_folder, read_catalog
from planner.store.folders import OWN as RESULTS

ROOT: Final = Path(__file__).resolve().parent.parent.parent
ANSWERED: Final = 0
REFUSED: Final = 1
"""There is no data to answer from, or it does not allow an answer."""
WRONG_WORDS: Final = 2
SWITCHES: Final = {"flag": ("on", "off")}


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
        parts.append(f"({one.least:g} to {one.most:g}{unit})")
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
    return store


def open_catalog(arguments: argparse.Namespace) -> Catalog:
    """The shipped catalogue and the user's rows; problems with these are told, not fatal."""
    own = own_folder(ROOT, os.environ) if arguments.catalog is None else arguments.catalog
    found = read_catalog(ROOT / "data" / "catalog", [own])
    for problem in found.problems:
        tell(f"Catalogue: {problem}")
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


def _meta(one: Parameter) -> str:
    if one.choices:
        return "|".join(one.choices)
    if one.kind == "flag":
        return "on|off"
    return {"whole": "N", "number": "X", "date": "DATE"}.get(one.kind, "TEXT")
