"""`python -m planner backtest DIR --json`: the figures of published tables as one JSON object.

A folder of tables in the library's format gives every task of `backtest.published.page`. The
public data sets give only batch curves and device series. Standard output has only the object;
standard error lists what was left out.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from backtest.published.described import published_jobs, whole_jobs
from backtest.published.images import image_constants
from backtest.published.mfu import (
    LEAST_ROWS,
    chosen_constants,
    chosen_lines,
    efficiency_page,
    study_of,
)
from backtest.published.page import TaskAnswers, figures_text, page, tasks_of
from planner.catalog import Catalog
from planner.core import Text
from planner.mfu import CONSTANTS, written_fit
from planner.published import PublishedRow, configurations, faults, read_rows, unknown_accelerators
from planner.store.catalog import read_catalog
from planner.store.disk.files import write_whole

ROOT: Final = Path(__file__).resolve().parents[2]
CATALOG: Final = ROOT / "data" / "catalog"
TABLES: Final = ROOT / "data" / "tables" / "published"
"""The project's own tables of published measurements."""
NAME: Final = "accuracy-published"
"""Name of the page of figures in docs/ and of their file in data/."""
MOST_NAMED: Final = 500
"""Number of skipped rows that are listed singly."""


OTHER_TABLES: Final = frozenset({".csv", ".json", ".ods", ".parquet", ".txt", ".xls", ".xlsx"})
"""Suffixes of tables that are not read."""


def has_published(folder: Path) -> bool:
    """Return whether a folder holds tab-separated tables."""
    return any(path.suffix.lower() == ".tsv" for path in folder.glob("*"))


def published_tasks(folder: Path, unscored: Sequence[str] = ()) -> tuple[TaskAnswers, list[str]]:
    """Return the tasks of a folder's tables, and a line for each row and file that is not read.

    Fits see the tables named in `unscored` too, but their rows are no questions.
    """
    rows, skipped = read_rows(folder)
    catalog = read_catalog(CATALOG).catalog
    scored = [row for row in rows if Path(row.file).stem not in unscored]
    others = [row for row in rows if Path(row.file).stem in unscored]
    tasks = tasks_of(scored, catalog, others)
    return tasks, [*other_tables(folder), *skipped, *_strange(rows, catalog)]


def other_tables(folder: Path) -> list[str]:
    """Return a line for each table of a folder in another format."""
    names = sorted(path.name for path in folder.glob("*") if path.suffix.lower() in OTHER_TABLES)
    return [
        Text("{file}: only *.tsv tables are read.", file=name.encode("utf-8", "replace").decode())
        for name in names
    ]


def say(text: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{text}\n")


def warn(text: str) -> None:
    """Print a line on standard error."""
    sys.stderr.write(f"{text}\n")


def refuse(text: str) -> int:
    """Print why nothing is answered, on standard error, and return the exit code."""
    warn(text)
    return 1


def print_json(folder: Path, unscored: Sequence[str] = ()) -> int:
    """Print the figures of every task; return 0, or 1 without a folder or table."""
    if not folder.is_dir():
        return refuse(
            Text("{folder} is not a folder. Name one with tables (*.tsv).", folder=folder)
        )
    if missing := [name for name in unscored if not (folder / f"{name}.tsv").is_file()]:
        names = ", ".join(f"{name}.tsv" for name in missing)
        return refuse(
            Text(
                "{folder} has no {names}. Name its tables without .tsv.",
                folder=folder,
                names=names,
            )
        )
    tasks, skipped = published_tasks(folder, unscored)
    print_skipped(skipped, tasks.failed)
    say(json.dumps(tasks.as_json(), indent=1, allow_nan=False))
    return 0


def write_page(folder: Path, origin: str, into: Path) -> int:
    """Write the figures of a folder's tables as page and file; return 1 without any answer."""
    rows, skipped = read_rows(folder)
    catalog = read_catalog(CATALOG).catalog
    tasks = tasks_of(rows, catalog)
    jobs = published_jobs(whole_jobs(rows, catalog))
    print_skipped([*other_tables(folder), *skipped, *_strange(rows, catalog)], tasks.failed)
    if not any(tasks.answers.values()):
        return refuse(Text("{origin} has no usable row. Nothing was written.", origin=origin))
    write_whole(into / "docs" / f"{NAME}.md", page(tasks, jobs, origin))
    write_whole(into / "data" / f"{NAME}.json", figures_text(tasks, jobs))
    for line in summary(tasks):
        say(line)
    say(Text("docs/{name}.md and data/{name}.json in {folder}", name=NAME, folder=into))
    return 0


def summary(tasks: TaskAnswers) -> list[str]:
    """Return a line for each task with answers, as printed: counts, errors and intervals."""
    lines = []
    for task, score in tasks.as_json().items():
        figures = {name: value for name, value in score.items() if value is not None}
        if figures.get("asked"):
            texts = (f"{name} {value:,.4g}" for name, value in figures.items())
            lines.append(f"{task:44} {', '.join(texts)}")
    return lines


def _strange(rows: Sequence[PublishedRow], catalog: Catalog) -> list[str]:
    lines = unknown_accelerators(rows, catalog)
    try:
        return lines + faults(rows, catalog)
    except Exception as error:  # noqa: BLE001 - the tasks must run with any rows
        why = f"{type(error).__name__}: {error}"
        return [*lines, Text("invalid cells are not listed: {error}", error=why)]


def shipped_figures() -> dict[str, Any]:
    """Return the shipped figures on published tables."""
    figures = json.loads((ROOT / "data" / f"{NAME}.json").read_text(encoding="utf-8"))
    return dict(figures)


def print_skipped(skipped: Sequence[str], failed: Sequence[str]) -> None:
    """Print the skipped rows and failed tasks on standard error."""
    lines = [f"Skipped: {line}" for line in skipped[:MOST_NAMED]]
    if more := len(skipped) - MOST_NAMED:
        lines += [Text("Skipped: {count:,} further rows.", count=more)] if more > 0 else []
    lines += [f"Failed: {line}" for line in failed]
    for line in lines:
        warn(line)


PAGE: Final = "efficiency.md"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the folder of tables and the output folder."""
    parser.add_argument("folder", nargs="?", type=Path, default=TABLES, metavar="DIR",
                        help="tables (*.tsv) (default: data/tables/published)")  # fmt: skip
    parser.add_argument("--into", type=Path, default=None, metavar="DIR",
                        help="folder for constants.json and efficiency.md (default: planner/mfu "
                        "and docs of the repository)")  # fmt: skip


def run_mfu(options: argparse.Namespace) -> int:
    """Return 0 if constants and page are written, 1 if the folder has too few rows."""
    folder: Path = options.folder
    rows, skipped = read_rows(folder)
    catalog = read_catalog(CATALOG).catalog
    usable, _ = configurations(rows, catalog)
    for line in skipped:
        warn(f"Skipped: {line}")
    if len(usable) < LEAST_ROWS:
        return refuse(
            Text(
                "{folder} has {count} usable rows; a fit needs {least}. Name a folder "
                "with published tables (*.tsv).",
                folder=folder,
                count=len(usable),
                least=LEAST_ROWS,
            )
        )
    study = study_of(usable)
    written = {"fits": {domain: written_fit(fit) for domain, fit in study.fits.items()}}
    constants = CONSTANTS if options.into is None else options.into / CONSTANTS.name
    page = (ROOT / "docs" if options.into is None else options.into) / PAGE
    write_whole(constants, f"{json.dumps(written)}\n".encode())
    constants_chosen = chosen_constants(rows, catalog, usable, study) + image_constants(usable)
    text = efficiency_page(study, chosen_lines(constants_chosen))
    write_whole(page, text.encode())
    say(f"{text}\nWritten: {constants.name}, {page.name}.")
    return 0
