"""`python -m planner backtest DIR --json`: the figures of published tables as one JSON object.

A folder of tables in the library's format is asked every task of
`planner.backtest.published_tasks`; of the public data sets only their batch curves and device
series answer. Only the object is written to the standard output; what was left out goes beside it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from planner.backtest.published_jobs import known_jobs, whole_jobs
from planner.backtest.published_page import figures_text, page
from planner.backtest.published_tasks import Tasks, tasks_of
from planner.published.accelerators import unknown_accelerators
from planner.published.rows import read_rows
from planner.store.catalog import read_catalog
from planner.store.files import write_whole

ROOT: Final = Path(__file__).resolve().parents[2]
CATALOG: Final = ROOT / "data" / "catalog"
TABLES: Final = ROOT / "data" / "tables" / "published"
"""The project's own tables of published measurements."""
NAME: Final = "accuracy-published"
"""The page of figures in docs/, and their file in data/."""
MOST_NAMED: Final = 500
"""Skipped rows that are named one by one."""


def has_published(folder: Path) -> bool:
    """Return whether a folder holds tab-separated tables."""
    return any(path.suffix.lower() == ".tsv" for path in folder.glob("*"))


def published_tasks(folder: Path) -> tuple[Tasks, list[str]]:
    """Return the tasks of a folder's tables, and a line for each row that cannot be read."""
    rows, skipped = read_rows(folder) if has_published(folder) else ([], [])
    catalog = read_catalog(CATALOG).catalog
    return tasks_of(rows, catalog), skipped + unknown_accelerators(rows, catalog)


def print_json(folder: Path) -> int:
    """Print the figures of every task; 0 whatever rows had to be skipped, 1 without a folder."""
    if not folder.is_dir():
        sys.stderr.write(f"{folder} is not a folder. Name one with tables (*.tsv).\n")
        return 1
    tasks, skipped = published_tasks(folder)
    tell_skipped(skipped, tasks.failed)
    sys.stdout.write(f"{json.dumps(tasks.as_json(), indent=1, allow_nan=False)}\n")
    return 0


def write_page(folder: Path, origin: str, into: Path) -> int:
    """Write the figures of a folder's tables as a page and a file; 1 where nothing was asked.

    Args:
        folder: the tables.
        origin: the folder as a person types it.
        into: where docs/ and data/ are.
    """
    rows, skipped = read_rows(folder)
    catalog = read_catalog(CATALOG).catalog
    tasks = tasks_of(rows, catalog)
    jobs = known_jobs(whole_jobs(rows, catalog))
    tell_skipped([*skipped, *unknown_accelerators(rows, catalog)], tasks.failed)
    if not any(tasks.answers.values()):
        sys.stderr.write(f"{origin} has no row that can be asked about. Nothing was written.\n")
        return 1
    write_whole(into / "docs" / f"{NAME}.md", page(tasks, jobs, origin))
    write_whole(into / "data" / f"{NAME}.json", figures_text(tasks, jobs))
    sys.stdout.write(f"docs/{NAME}.md and data/{NAME}.json in {into}\n")
    return 0


def tell_skipped(skipped: Sequence[str], failed: Sequence[str]) -> None:
    """Name the rows that were skipped and the tasks that failed, on the standard error."""
    lines = [f"Skipped: {line}" for line in skipped[:MOST_NAMED]]
    if more := len(skipped) - MOST_NAMED:
        lines += [f"Skipped: {more:,} further rows."] if more > 0 else []
    lines += [f"Not asked: {line}" for line in failed]
    for line in lines:
        sys.stderr.write(f"{line}\n")
