"""`python -m planner backtest [DIR]`: read, compute, and write the pages of accuracy.

The shipped pages are made from all public data. Partial results are written elsewhere, and without
any result nothing is written.
"""

import argparse
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from backtest import QUESTIONS
from backtest.accuracy.page import accuracy_page, by_method, per_thousand, seconds_page
from backtest.accuracy.public_data import (
    PublicTables,
    Stopwatch,
    has_public_tables,
    public_tables,
    write_accuracy,
    write_seconds,
)
from backtest.choose.choice import ConstantChoice
from backtest.choose.constants import choices, constants_page
from backtest.commands.published import (
    TABLES,
    has_published,
    other_tables,
    print_json,
    print_skipped,
    refuse,
    say,
    shipped_figures,
    warn,
    write_page,
)
from backtest.commands.scaling_law import law_choices
from backtest.data.columns import WITHOUT, Skipped
from backtest.published.page import published_lines
from backtest.published.what_if import (
    NAME,
    advised,
    errors_of,
    figures,
    page,
    split_cases,
    split_scores,
)
from backtest.questions.figure import FigureRow, Watch
from backtest.questions.own import has_result_sets, own_rows, result_sets
from backtest.questions.source_table import Origin, origin_of
from backtest.questions.what_if import limit_checks, what_if_checks
from planner.core import Text, joined, paragraph, plural
from planner.published import read_rows
from planner.store.catalog import read_catalog
from planner.store.disk.files import write_whole


def write_what_if(into: Path | None) -> int:
    """Write the page and its figures from what ships; return the exit code."""
    place = into or ROOT
    folder = ROOT / "data" / "results"
    checks, limits = what_if_checks(folder), limit_checks(folder)
    rows, _ = read_rows(ROOT / "data" / "tables" / "published")
    cases, left_out = split_cases(rows, read_catalog(ROOT / "data" / "catalog").catalog)
    groups, none = advised(cases)
    scored = split_scores(cases, errors_of(cases), groups, none)
    write_whole(place / "docs" / f"{NAME}.md", page(checks, limits, scored, groups, left_out))
    write_whole(place / "data" / f"{NAME}.json", figures(checks, limits, scored))
    say(
        Text(
            "{checks} checks against runs, {limits} deadlines and budgets, {splits} "
            "published splits: docs/{name}.md and data/{name}.json in {folder}",
            checks=len(checks),
            limits=len(limits),
            splits=len(cases),
            name=NAME,
            folder=place,
        )
    )
    return 0 if checks else 1


T = TypeVar("T")
ROOT: Final = Path(__file__).resolve().parents[2]
DATA_SETS: Final = ROOT.parent / "shared" / "datasets"
ELSEWHERE: Final = Path("build/backtest")
"""Folder of figures that are not from all public data; git ignores it."""
NAME_ONE: Final = (
    "Name a folder of public data sets (one "
    "folder per set, named as in docs/accuracy.md), of result sets (folders with set.toml and "
    "parquet files, such as data/results) or of published tables (*.tsv)."
)

PARTIAL: Final = 3
"""Exit code if figures were written and something was left out."""
MOST_NAMED: Final = 200
"""Number of rows that are listed singly; more are counted per file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Results:
    """Results of a folder: the rows, their origin, and what was left out.

    `choices` are the constants that its data sets would choose. `skipped` are rows and files of
    public data, `refused` result files, `failed` questions without an answer. `missing` are absent
    files of public data, which is not an error.
    """

    rows: list[FigureRow]
    choices: list[ConstantChoice]
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
    """Add the folder to read and the folder to write to."""
    parser.add_argument("folder", nargs="?", type=Path, default=DATA_SETS, metavar="DIR",
                        help="public data sets or result sets, one folder per set "
                        "(default: ../shared/datasets)")  # fmt: skip
    parser.add_argument("--constants", action="store_true",
                        help="print constants chosen by other data sets, and exit")  # fmt: skip
    parser.add_argument(
        "--json",
        action="store_true",
        dest="as_json",
        help="print the figures of published tables as one JSON object, and exit",
    )
    parser.add_argument("--unscored", action="append", default=[], metavar="TABLE",
                        help="with --json: fit this table too, and do not score its rows; its name "
                        "without .tsv; may be repeated")  # fmt: skip
    parser.add_argument(
        "--what-if",
        action="store_true",
        help="write the errors of the what-if models of Scaling out, from what ships, and exit",
    )
    place = Text("folder for docs/ and data/ (default: the repository for all public data, else "
                 "./{folder})", folder=ELSEWHERE)  # fmt: skip
    parser.add_argument("--into", type=Path, default=None, metavar="DIR", help=place)


def run_backtest(options: argparse.Namespace) -> int:
    """Return 0 on success, `PARTIAL` if something was left out, 1 if nothing was written."""
    folder: Path = options.folder
    if options.what_if:
        return write_what_if(options.into)
    if options.as_json:
        return print_json(folder, options.unscored)
    if options.constants:
        return _print_choices(folder)
    if not folder.is_dir():
        return refuse(paragraph(Text("{folder} is not a folder.", folder=folder), NAME_ONE))
    if has_published(folder):
        own = folder.resolve() == TABLES
        return write_page(
            folder, _display_path(folder), options.into or (ROOT if own else ELSEWHERE)
        )
    return _run(folder, options.into)


def _run(folder: Path, into: Path | None) -> int:
    if not has_public_tables(folder) and not has_result_sets(folder):
        print_skipped(other_tables(folder), [])
        nothing = Text("{folder} has nothing that the back-test can read.", folder=folder)
        return refuse(paragraph(nothing, NAME_ONE))
    watch = Stopwatch()
    results = _answer(folder, watch)
    if not results.rows:
        _print_left_out(results)
        return refuse(
            Text(
                "{folder} has nothing that can be hidden and predicted. This needs three batch "
                "sizes of one system, a run of three epochs, four batch sizes that reached a "
                "target, or runs on three device counts. Nothing was written.",
                folder=folder,
            )
        )
    place = into or (ROOT if results.origin.whole else ELSEWHERE)
    _write(place, results, watch)
    _print_summary(place, results, watch)
    _print_left_out(results)
    return PARTIAL if results.partial else 0


def _answer(folder: Path, watch: Stopwatch) -> _Results:
    read = public_tables(folder)
    rows, failed = _rows(read, watch)
    sets, refused = result_sets(folder) if has_result_sets(folder) else ([], [])
    own, failed_own = _tried("runs of result sets", lambda: own_rows(sets, watch))
    chosen, failed_choice = _tried("the choice of constants", lambda: _choices(read))
    failed += [*failed_own, *failed_choice]
    origin = origin_of(
        _display_path(folder),
        rows,
        {result_set.title for result_set in sets} if own else set(),
        skipped=len(read.skipped) + len(failed),
    )
    return _Results(
        rows=[*rows, *own], choices=chosen, origin=origin, skipped=read.skipped, refused=refused,
        failed=failed, missing=read.missing if has_public_tables(folder) else (),
    )  # fmt: skip


def _rows(read: PublicTables, watch: Watch) -> tuple[list[FigureRow], list[str]]:
    rows: list[FigureRow] = []
    failed: list[str] = []
    for question, answer in QUESTIONS.items():
        question_rows, problem = _tried(question, partial(answer, read, watch))
        rows += question_rows
        failed += problem
    return rows, failed


def _tried(what: str, answer: Callable[[], Sequence[T]]) -> tuple[list[T], list[str]]:
    """Return an answer and no problem, or none and its problem: other questions go on."""
    try:
        return list(answer()), []
    except Exception as error:  # noqa: BLE001 - one failed question must not stop the others
        return [], [f"{what}: {type(error).__name__}: {error}"]


def _write(into: Path, results: _Results, watch: Stopwatch) -> None:
    """Write all files; everything is computed first."""
    figures = shipped_figures() if results.origin.whole else None
    published = published_lines(figures) if figures else []
    page = accuracy_page(results.rows, results.origin, published)
    constants = constants_page(results.choices, results.origin)
    write_accuracy(into / "data" / "accuracy.parquet", results.rows)
    write_whole(into / "docs" / "accuracy.md", page)
    write_whole(into / "docs" / "constants.md", constants)
    write_seconds(into / "data" / "accuracy-seconds.parquet", watch.timings)
    write_whole(into / "docs" / "accuracy-seconds.md", seconds_page(watch.timings, results.origin))


def _print_left_out(results: _Results) -> None:
    if not results.partial:
        return
    rows = [skip for skip in results.skipped if skip.line is not None]
    files = len(results.skipped) - len(rows) + len(results.refused)
    counts = (
        plural(len(rows), "{count:,} row", "{count:,} rows") if rows else "",
        plural(files, "{count:,} file", "{count:,} files") if files else "",
        plural(len(results.failed), "{count:,} question", "{count:,} questions")
        if results.failed
        else "",
    )
    warn(Text("Left out: {counts}.", counts=joined(", ", counts)))
    bad = [skip for skip in results.skipped if skip.why != WITHOUT]
    for skip in bad[:MOST_NAMED]:
        warn(f"  {skip}")
    if more := Counter(skip.path for skip in bad[MOST_NAMED:]):
        others = ", ".join(f"{count:,} of {path}" for path, count in more.items())
        warn(f"  and {others}")
    for path, count in Counter(x.path for x in results.skipped if x.why == WITHOUT).items():
        also = Text("{file}: also {count:,} valid rows of the same runs", file=path, count=count)
        warn(f"  {also}")
    for text in (*results.refused, *results.failed):
        warn(f"  {text}")
    warn("Correct the data or fetch the files again, then run this again.")


def _print_summary(into: Path, results: _Results, watch: Stopwatch) -> None:
    for (question, method), timings in by_method(watch.timings).items():
        seconds = per_thousand(timings)
        say(
            Text(
                "{seconds:8.2g} s per 1,000 answers: {question}, {method}",
                seconds=seconds,
                question=question,
                method=method,
            )
        )
    count = len(results.rows)
    say(Text("{count} figures: docs/accuracy.md and others in {folder}", count=count, folder=into))
    if results.missing:
        say(Text("Missing, so without figures: {names}", names=", ".join(results.missing)))
    if not results.origin.whole and into != ROOT:
        say("The public data are incomplete, so the shipped figures are unchanged.")


def _print_choices(folder: Path) -> int:
    read = public_tables(folder)
    chosen, failed = _tried("the choice of constants", lambda: _choices(read))
    for choice in chosen:
        say(
            Text(
                "{use}; left out: {left_out}\n"
                "    the others choose {chosen}\n    ships             {ships}",
                use=choice.use,
                left_out=choice.left_out,
                chosen=choice.chosen,
                ships=choice.ships,
            )
        )
    for problem in (*read.skipped[:MOST_NAMED], *failed):
        warn(Text("Left out: {problem}", problem=str(problem)))
    if not chosen:
        return refuse(
            Text("{folder} has no public data set that a constant is chosen by.", folder=folder)
        )
    return PARTIAL if read.skipped else 0


def _choices(read: PublicTables) -> list[ConstantChoice]:
    """Return the choices by public data sets, with those of the law of published series beside."""
    chosen = list(choices(read))
    return [*chosen, *law_choices(read)] if chosen else []


def _display_path(folder: Path) -> str:
    """Return the folder as typed in the repository, so that no page has a path of this machine."""
    if not folder.is_absolute():
        return folder.as_posix()
    typed = Path(os.path.normpath(folder))  # a link in the repository keeps its own name
    for path in (typed, folder.resolve()):
        for root, before in ((ROOT, ""), (ROOT.parent, "../")):
            if path.is_relative_to(root):
                return f"{before}{path.relative_to(root).as_posix()}"
    return folder.name
