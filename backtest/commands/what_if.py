"""`python -m planner backtest --what-if`: errors of the what-if models of Scaling out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from backtest.published.splits import advised, errors_of, split_cases
from backtest.published.what_if import NAME, figures, page, split_scores
from backtest.questions.what_if import what_if_checks
from planner.published import read_rows
from planner.store.catalog import read_catalog
from planner.store.disk.files import write_whole

ROOT: Final = Path(__file__).resolve().parents[2]


def write_what_if(into: Path | None) -> int:
    """Write the page and its figures from what ships; return the exit code."""
    place = into or ROOT
    checks = what_if_checks(ROOT / "data" / "results")
    rows, _ = read_rows(ROOT / "data" / "tables" / "published")
    cases, left_out = split_cases(rows, read_catalog(ROOT / "data" / "catalog").catalog)
    found, none = advised(cases)
    scored = split_scores(cases, errors_of(cases), found, none)
    write_whole(place / "docs" / f"{NAME}.md", page(checks, scored, found, left_out))
    write_whole(place / "data" / f"{NAME}.json", figures(checks, scored))
    sys.stdout.write(
        f"{len(checks)} checks against runs, {len(cases)} published splits: docs/{NAME}.md and "
        f"data/{NAME}.json in {place}\n"
    )
    return 0 if checks else 1
