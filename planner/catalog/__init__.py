"""What can be bought and rented, at what price and with what electricity: facts with sources."""

from __future__ import annotations

from planner.catalog.combine import (
    STALE_MONTHS,
    Merged,
    is_stale,
    merged,
    offers_of,
    tariff_of,
    with_known_accelerators,
)
from planner.catalog.csv_text import csv_of, parse_csv, table_of
from planner.catalog.names import accelerator_named, accelerators_alike
from planner.catalog.records import PRECISIONS, Accelerator, Catalog, Offer, Tariff
from planner.catalog.rows import Parsed, Problem, parse_rows
from planner.catalog.schema import LIMITS, TABLE_NAMES, TABLES, Column, TableName

__all__ = [
    "LIMITS",
    "PRECISIONS",
    "STALE_MONTHS",
    "TABLES",
    "TABLE_NAMES",
    "Accelerator",
    "Catalog",
    "Column",
    "Merged",
    "Offer",
    "Parsed",
    "Problem",
    "TableName",
    "Tariff",
    "accelerator_named",
    "accelerators_alike",
    "csv_of",
    "is_stale",
    "merged",
    "offers_of",
    "parse_csv",
    "parse_rows",
    "table_of",
    "tariff_of",
    "with_known_accelerators",
]
