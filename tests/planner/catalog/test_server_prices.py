"""Prices of whole servers: stated ones, and estimates with their range."""

from __future__ import annotations

import csv
import io

from planner.catalog import Accelerator, Parsed, parse_csv
from tests.shipped import ROOT

HARDWARE = (ROOT / "data" / "catalog" / "hardware.csv").read_text(encoding="utf-8")


def _with(**cells: str) -> Parsed:
    """Return the table of one row, that of the MI300X, with these cells."""
    rows = [row for row in csv.DictReader(io.StringIO(HARDWARE)) if row["id"] == "mi300x"]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerow(rows[0] | cells)
    return parse_csv("hardware", text.getvalue().encode())


def test_an_estimate_has_its_range() -> None:
    [card] = _with().records
    assert isinstance(card, Accelerator)
    assert card.server_price_range == "157,000 to 197,000"
    assert 0.11 < card.server_price_uncertainty < 0.12


def test_a_price_outside_of_its_range_is_named() -> None:
    [problem] = _with(server_price_usd="210000").problems
    assert problem.column == "server_price_usd"
    assert "outside of 157,000 to 197,000" in problem.message


def test_half_a_range_is_named() -> None:
    [problem] = _with(server_price_high_usd="").problems
    assert problem.column == "server_price_high_usd"


def test_a_table_without_the_columns_of_a_range_is_read_as_before() -> None:
    rows = list(csv.DictReader(io.StringIO(HARDWARE)))
    text = io.StringIO()
    names = [n for n in rows[0] if n not in {"server_price_low_usd", "server_price_high_usd"}]
    writer = csv.DictWriter(text, names, extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    parsed = parse_csv("hardware", text.getvalue().encode())
    assert not parsed.problems
    assert all(isinstance(c, Accelerator) and not c.server_price_range for c in parsed.records)
