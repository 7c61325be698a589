"""The columns of the catalogue's three tables, for its checks and docs/catalog.md.

Every column has a unit in its name, a range outside which a value is a typing error, and a meaning.
An empty cell means that the number is unknown; 0 never does.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, get_args

from planner.catalog._records import Customer, Kind, Terms
from planner.core import shipped_rows, shipped_text

CellKind = Literal["text", "names", "number", "whole", "date", "link"]
TableName = Literal["hardware", "prices", "electricity"]
TABLE_NAMES: Final[tuple[TableName, ...]] = get_args(TableName)


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogColumn:
    """One column: its allowed values and meaning.

    `low` and `high` are the inclusive limits of a number; `pattern` must match a whole text, such
    as `example`.
    """

    name: str
    kind: CellKind
    meaning: str
    unit: str = ""
    low: float = 0.0
    high: float = 0.0
    choices: tuple[str, ...] = ()
    pattern: str = ""
    example: str = ""
    required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CellLimit:
    """A limit of a file: its value, unit, and why it is enough."""

    name: str
    value: int
    unit: str
    why: str


LIMITS: Final = MappingProxyType(
    {
        limit.name: limit
        for limit in (
            CellLimit(
                name="file", value=2_000_000, unit="bytes", why="5,000 rows of 400 characters"
            ),
            CellLimit(name="rows", value=5_000, unit="rows", why="100 times what is shipped"),
            CellLimit(name="columns", value=64, unit="columns", why="three times the widest table"),
            CellLimit(name="cell", value=1_000, unit="characters", why="a note, or a long address"),
            CellLimit(name="problems", value=200, unit="problems", why="a longer list is not read"),
        )
    }
)
"""Limits of one file."""


def peak_column(precision: str) -> str:
    """Return the name of the column of a precision's dense peak."""
    return "int8_operations_per_s" if precision == "int8" else f"{precision}_flops_per_s"


_CHOICES: Final = {"Kind": get_args(Kind), "Terms": get_args(Terms), "Customer": get_args(Customer)}
_COLUMNS: Final = [
    (row.pop("table"), CatalogColumn(**row))
    for row in shipped_rows(
        __package__, "columns.csv", low=float, high=float, choices=_CHOICES.__getitem__,
        required=json.loads,
    )
]  # fmt: skip
"""The columns of `columns.csv`, which is beside this module."""
TABLES: Final[Mapping[TableName, tuple[CatalogColumn, ...]]] = MappingProxyType(
    {name: tuple(column for table, column in _COLUMNS if table == name) for name in TABLE_NAMES}
)
"""Table name (data/catalog/NAME.csv) -> its columns in the order of the file."""

TITLES: Final[Mapping[TableName, str]] = MappingProxyType(
    {
        "hardware": "hardware.csv: accelerators and processors",
        "prices": "prices.csv: rental offers",
        "electricity": "electricity.csv: price and carbon by country",
    }
)


_INTRODUCTION: Final = shipped_text(__package__, "introduction.txt").rstrip()


def catalog_page() -> str:
    """Return the page: the tables, their columns, and the limits of a file."""
    parts = ["# The catalogue", "", _INTRODUCTION]
    for name, columns in TABLES.items():
        parts += ["", *_table(name, columns)]
    parts += [
        "",
        "## Limits",
        "",
        "A file that strangers gave is read this far and no further.",
        "",
    ]
    parts += ["| of a | at most | why that is enough |", "|---|---|---|"]
    parts += [f"| {limit.name} | {limit.value:,} {limit.unit} | {limit.why} |"
              for limit in LIMITS.values()]  # fmt: skip
    return "\n".join(parts) + "\n"


def _table(name: TableName, columns: tuple[CatalogColumn, ...]) -> list[str]:
    head = [f"## {TITLES[name]}", "", "| column | kind | unit | values | meaning |"]
    return [*head, "|---|---|---|---|---|", *(_line(column) for column in columns)]


def _line(column: CatalogColumn) -> str:
    needed = " required" if column.required else ""
    bounds = f"{column.low:g} to {column.high:g}" if column.high else ""
    example = f"like `{column.example}`" if column.example else ""
    values = " / ".join(column.choices) or bounds or example
    kind = "names, separated by `;`" if column.kind == "names" else column.kind
    return f"| `{column.name}`{needed} | {kind} | {column.unit} | {values} | {column.meaning} |"
