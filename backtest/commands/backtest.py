"""`python -m planner backtest [DIR]`: read, compute, and write the pages of accuracy.

The pages that ship are made of all public data. Whatever answers some questions only is written
beside them, and whatever answers none is not written at all.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from backtest import QUESTIONS
from backtest.accuracy.page import accuracy_page
from backtest.accuracy.public_data import (
    PublicTables,
    has_public_tables,
    public_tables,
    write_accuracy,
)
from backtest.accuracy.seconds_file import Stopwatch, write_seconds
from backtest.accuracy.seconds_page import by_method, per_thousand, seconds_page
from backtest.choose.choice import Choice
from backtest.choose.chosen import choices
from backtest.choose.constants import constants_page
from backtest.commands.published import (
    TABLES,
    has_published,
    print_json,
    shipped_figures,
    write_page,
)
from backtest.data.columns import WITHOUT, Skipped
from backtest.published.page import published_lines
from backtest.questions.figure import Row
from backtest.questions.origin import Origin, origin_of
from backtest.questions.own import own_rows
from backtest.questions.result_data import has_result_sets, result_sets
from backtest.questions.watch import Watch
from planner.store.disk.files import write_whole

T = TypeVar("T")
ROOT: Final = Path(__file__).resolve().parents[2]
DATA_SETS: Final = ROOT.parent / "shared" / "datasets"
ELSEWHERE: Final = Path("build/backtest")
"""Where figures go that are not those of all public data; git ignores it."""
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


PARTIAL: Final = 3
"""Exit code where figures were written and something had to be left out of them."""
MOST_NAMED: Final = 200
"""Rows that are named one by one; more are counted, file by file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What a folder gave: the rows, what they were made of, and what was left out of them.

    `choices` are the constants that its data sets would choose, `skipped` rows and files of public
    data, `refused` result files, `failed` questions that could not be answered, and `missing`
    files of public data that are not there, which is no fault.
    """

    rows: list[Row]
    choices: list[Choice]
    origin: Origin
    skipped: list[Skipped]
    refused: list[str]
    failed: list[str]
    missing: tuple[str, ...]

    @property
    def partial(self) -> bool:
        """Whether anything was left out."""
        return bool(self.skipped or self.refused or self.failed)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The folder to read, and the folder to write to."""
    parser.add_argument("folder", nargs="?", type=Path, default=DATA_SETS, metavar="DIR",
                        help="public data sets or result sets, one folder a set "
                        "(default: ../shared/datasets)")  # fmt: skip
    parser.add_argument("--constants", action="store_true",
                        help="print what other data sets would choose, and stop")  # fmt: skip
    parser.add_argument(
        "--json",
        action="store_true",
        dest="as_json",
        help="print the figures of published tables as one JSON object, and stop",
    )
    parser.add_argument("--into", type=Path, default=None, metavar="DIR",
                        help="where docs/ and data/ are written (default: the program's own for "
                        f"all public data, else ./{ELSEWHERE})")  # fmt: skip


def run_backtest(options: argparse.Namespace) -> int:
    """Return 0 where all is well, `PARTIAL` where something was left out, 1 where nothing is left.

    In the last case nothing is written.
    """
    folder: Path = options.folder
    if options.as_json:
        return print_json(folder)
    if options.constants:
        return _print_choices(folder)
    if not folder.is_dir():
        return _refuse(f"{folder} is not a folder. {NAME_ONE}")
    if has_published(folder):
        own = folder.resolve() == TABLES
        return write_page(folder, _as_told(folder), options.into or (ROOT if own else ELSEWHERE))
    return _run(folder, options.into)


def _run(folder: Path, into: Path | None) -> int:
    if not has_public_tables(folder) and not has_result_sets(folder):
        return _refuse(f"{folder} has nothing that the back-test can read. {NAME_ONE}")
    watch = Stopwatch()
    found = _answer(folder, watch)
    if not found.rows:
        _tell_left_out(found)
        return _refuse(NO_ANSWER.format(folder=folder))
    place = into or (ROOT if found.origin.whole else ELSEWHERE)
    _write(place, found, watch)
    _tell(place, found, watch)
    _tell_left_out(found)
    return PARTIAL if found.partial else 0


def _answer(folder: Path, watch: Stopwatch) -> _Found:
    read = public_tables(folder)
    rows, failed = _rows(read, watch)
    sets, refused = result_sets(folder) if has_result_sets(folder) else ([], [])
    own, failed_own = _tried("runs of result sets", lambda: own_rows(sets, watch))
    chosen, failed_choice = _tried("the choice of constants", lambda: list(choices(read)))
    failed += [*failed_own, *failed_choice]
    origin = origin_of(
        _as_told(folder),
        rows,
        {one.title for one in sets} if own else set(),
        skipped=len(read.skipped) + len(failed),
    )
    return _Found(
        rows=[*rows, *own], choices=chosen, origin=origin, skipped=read.skipped, refused=refused,
        failed=failed, missing=read.missing if has_public_tables(folder) else (),
    )  # fmt: skip


def _rows(read: PublicTables, watch: Watch) -> tuple[list[Row], list[str]]:
    """The rows of every question, and the questions that numbers in the data make impossible."""
    rows: list[Row] = []
    failed: list[str] = []
    for question, answer in QUESTIONS.items():
        found, problem = _tried(question, partial(answer, read, watch))
        rows += found
        failed += problem
    return rows, failed


def _tried(what: str, answer: Callable[[], Sequence[T]]) -> tuple[list[T], list[str]]:
    """An answer and no problem, or none and why: one question never takes the others along."""
    try:
        return list(answer()), []
    except Exception as error:  # noqa: BLE001 - whatever strange numbers do, the rest is answered
        return [], [f"{what}: {type(error).__name__}: {error}"]


def _write(into: Path, found: _Found, watch: Stopwatch) -> None:
    """All is computed before anything is written."""
    figures = shipped_figures() if found.origin.whole else None
    published = published_lines(figures) if figures else []
    page = accuracy_page(found.rows, found.origin, published)
    constants = constants_page(found.choices, found.origin)
    write_accuracy(into / "data" / "accuracy.parquet", found.rows)
    write_whole(into / "docs" / "accuracy.md", page)
    write_whole(into / "docs" / "constants.md", constants)
    write_seconds(into / "data" / "accuracy-seconds.parquet", watch.timings)
    write_whole(into / "docs" / "accuracy-seconds.md", seconds_page(watch.timings, found.origin))


def _tell_left_out(found: _Found) -> None:
    """What was left out: counts first, then every row, file and question by name."""
    if not found.partial:
        return
    rows = [one for one in found.skipped if one.line is not None]
    files = len(found.skipped) - len(rows) + len(found.refused)
    counts = [
        f"{count:,} {what if count == 1 else f'{what}s'}"
        for count, what in ((len(rows), "row"), (files, "file"), (len(found.failed), "question"))
        if count
    ]
    sys.stderr.write(f"Left out: {', '.join(counts)}.\n")
    bad = [one for one in found.skipped if one.why != WITHOUT]
    for one in bad[:MOST_NAMED]:
        sys.stderr.write(f"  {one}\n")
    if more := Counter(one.path for one in bad[MOST_NAMED:]):
        told = ", ".join(f"{count:,} of {path}" for path, count in more.items())
        sys.stderr.write(f"  and {told}\n")
    for path, count in Counter(x.path for x in found.skipped if x.why == WITHOUT).items():
        sys.stderr.write(f"  {path}: with them {count:,} sound rows of the same runs\n")
    for text in (*found.refused, *found.failed):
        sys.stderr.write(f"  {text}\n")
    sys.stderr.write("Correct these in the data, or fetch the files again, and run it again.\n")


def _tell(into: Path, found: _Found, watch: Stopwatch) -> None:
    for (question, method), timings in by_method(watch.timings).items():
        sys.stdout.write(f"{per_thousand(timings):8.2g} s of 1,000 answers: {question}, {method}\n")
    sys.stdout.write(f"{len(found.rows)} figures: docs/accuracy.md and others in {into}\n")
    if found.missing:
        names = ", ".join(found.missing)
        sys.stdout.write(f"Not there, so without figures: {names}\n")
    if not found.origin.whole and into != ROOT:
        sys.stdout.write("They are not of all public data, so the shipped figures stay.\n")


def _print_choices(folder: Path) -> int:
    read = public_tables(folder)
    found, failed = _tried("the choice of constants", lambda: list(choices(read)))
    for choice in found:
        sys.stdout.write(
            f"{choice.use}; left out: {choice.left_out}\n"
            f"    the others choose {choice.chosen}\n    ships             {choice.ships}\n"
        )
    told = f"{folder} has no public data set that a constant is chosen by."
    for problem in (*read.skipped[:MOST_NAMED], *failed):
        sys.stderr.write(f"Left out: {problem}\n")
    if not found:
        return _refuse(told)
    return PARTIAL if read.skipped else 0


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
