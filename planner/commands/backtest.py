"""`python -m planner backtest [DIR]`: read, reckon, and write only what may be written.

The pages that ship are made of all public data. Whatever answers some questions only is written
beside them, and whatever answers none is not written at all.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from planner.backtest import all_rows
from planner.backtest.chosen import choices
from planner.backtest.constants import constants_page
from planner.backtest.origin import Origin, origin_of
from planner.backtest.own import own_rows
from planner.backtest.rows import Row
from planner.backtest.seconds import by_method, per_thousand, seconds_page
from planner.backtest.tables import accuracy_page
from planner.store.files import write_whole
from planner.store.public_data import (
    MalformedError,
    has_public_tables,
    public_tables,
    write_accuracy,
)
from planner.store.result_data import has_result_sets, result_sets
from planner.store.seconds import Stopwatch, write_seconds

ROOT: Final = Path(__file__).resolve().parents[2]
DATA_SETS: Final = ROOT.parent / "shared" / "datasets"
ELSEWHERE: Final = Path("backtest")
"""Where figures go that are not those of all public data."""
NAME_ONE: Final = (
    "Name a folder of public data sets (one "
    "folder a set, as docs/accuracy.md names them) or of result sets (folders with set.toml and "
    "parquet files, such as data/results)."
)
NO_ANSWER: Final = (
    "{folder} was read, and nothing in it can be hidden and asked about. That takes three batch "
    "sizes of one system, a run of three epochs, four batch sizes that reached a target, or runs "
    "on three numbers of devices. Nothing was written."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What a folder gave: the rows, what they were made of, and what could not be read."""

    rows: list[Row]
    origin: Origin
    refused: list[str]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The folder to read, and the folder to write to."""
    parser.add_argument("folder", nargs="?", type=Path, default=DATA_SETS, metavar="DIR",
                        help="public data sets or result sets, one folder a set "
                        "(default: ../shared/datasets)")  # fmt: skip
    parser.add_argument("--constants", action="store_true",
                        help="print what other data sets would choose, and stop")  # fmt: skip
    parser.add_argument("--into", type=Path, default=None, metavar="DIR",
                        help="where docs/ and data/ are written (default: the program's own for "
                        f"all public data, else ./{ELSEWHERE})")  # fmt: skip


def run_backtest(options: argparse.Namespace) -> int:
    """0 where all is well, 1 where nothing can be read or answered: then nothing is written."""
    try:
        if options.constants:
            return _print_choices(options.folder)
        return _run(options.folder, options.into)
    except MalformedError as error:
        return _refuse(str(error))


def _run(folder: Path, into: Path | None) -> int:
    if not folder.is_dir():
        return _refuse(f"{folder} is not a folder. {NAME_ONE}")
    if not has_public_tables(folder) and not has_result_sets(folder):
        return _refuse(f"{folder} has nothing that the back-test can read. {NAME_ONE}")
    watch = Stopwatch()
    found = _answer(folder, watch)
    for told in found.refused:
        sys.stderr.write(f"Not read: {told}\n")
    if not found.rows:
        return _refuse(NO_ANSWER.format(folder=folder))
    place = into or (ROOT if found.origin.whole else ELSEWHERE)
    _write(place, folder, found, watch)
    _tell(place, found, watch)
    return 0


def _answer(folder: Path, watch: Stopwatch) -> _Found:
    rows = all_rows(public_tables(folder), watch)
    sets, refused = result_sets(folder) if has_result_sets(folder) else ([], [])
    own = own_rows(sets, watch)
    origin = origin_of(_as_told(folder), rows, {one.title for one in sets} if own else set())
    return _Found(rows=[*rows, *own], origin=origin, refused=refused)


def _write(into: Path, folder: Path, found: _Found, watch: Stopwatch) -> None:
    """All is reckoned before anything is written."""
    page = accuracy_page(found.rows, found.origin)
    constants = constants_page(choices(public_tables(folder)), found.origin)
    write_accuracy(into / "data" / "accuracy.parquet", found.rows)
    write_whole(into / "docs" / "accuracy.md", page)
    write_whole(into / "docs" / "constants.md", constants)
    write_seconds(into / "data" / "accuracy-seconds.parquet", watch.timings)
    write_whole(into / "docs" / "accuracy-seconds.md", seconds_page(watch.timings, found.origin))


def _tell(into: Path, found: _Found, watch: Stopwatch) -> None:
    for (question, method), timings in by_method(watch.timings).items():
        sys.stdout.write(f"{per_thousand(timings):8.2g} s of 1,000 answers: {question}, {method}\n")
    sys.stdout.write(f"{len(found.rows)} figures: docs/accuracy.md and others in {into}\n")
    if not found.origin.whole and into != ROOT:
        sys.stdout.write("They are not of all public data, so the shipped figures stay.\n")


def _print_choices(folder: Path) -> int:
    found = choices(public_tables(folder))
    for choice in found:
        sys.stdout.write(
            f"{choice.use}; left out: {choice.left_out}\n"
            f"    the others choose {choice.chosen}\n    ships             {choice.ships}\n"
        )
    told = f"{folder} has no public data set that a constant is chosen by."
    return 0 if found else _refuse(told)


def _as_told(folder: Path) -> str:
    """The folder as one types it in the program's own: no path of this machine stands on a page."""
    if not folder.is_absolute():
        return folder.as_posix()
    typed = Path(os.path.normpath(folder))  # a link beside the program is told by its own name
    for path in (typed, folder.resolve()):
        for root, before in ((ROOT, ""), (ROOT.parent, "../")):
            if path.is_relative_to(root):
                return f"{before}{path.relative_to(root).as_posix()}"
    return folder.name


def _refuse(told: str) -> int:
    sys.stderr.write(f"{told}\n")
    return 1
