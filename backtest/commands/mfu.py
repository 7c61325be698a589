"""`python -m planner mfu [DIR]`: fit the efficiency of described workloads on published tables.

Writes `planner/mfu/constants.json` and docs/efficiency.md: the shipped fits, and their errors on
hidden sources and rows.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Final

from backtest.commands.published import CATALOG
from backtest.published.chosen import chosen_constants, chosen_lines
from backtest.published.mfu import LEAST_ROWS, efficiency_page, study_of
from planner.mfu import CONSTANTS, written_fit
from planner.published import configurations, read_rows
from planner.store.catalog import read_catalog
from planner.store.disk.files import write_whole

ROOT: Final = Path(__file__).resolve().parents[2]
TABLES: Final = ROOT / "data" / "tables" / "published"
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
        sys.stderr.write(f"Skipped: {line}\n")
    if len(usable) < LEAST_ROWS:
        sys.stderr.write(
            f"{folder} has {len(usable)} usable rows; a fit needs {LEAST_ROWS}. Name a folder with "
            "published tables (*.tsv).\n"
        )
        return 1
    study = study_of(usable)
    written = {"fits": {domain: written_fit(fit) for domain, fit in study.fits.items()}}
    constants = CONSTANTS if options.into is None else options.into / CONSTANTS.name
    page = (ROOT / "docs" if options.into is None else options.into) / PAGE
    write_whole(constants, f"{json.dumps(written)}\n".encode())
    constants_chosen = chosen_constants(rows, catalog, usable, study)
    text = efficiency_page(study, chosen_lines(constants_chosen))
    write_whole(page, text.encode())
    sys.stdout.write(f"{text}\nWritten: {constants.name}, {page.name}.\n")
    return 0
