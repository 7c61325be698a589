"""docs/catalog.md: the tables of the catalogue, generated from their checks."""

from __future__ import annotations

from typing import Final

from planner.catalog._schema import (
    LIMITS,
    TABLES,
    TITLES,
    Column,
    TableName,
)

_INTRODUCTION: Final = """\
What can be bought or rented, and what its electricity costs: three CSV files in `data/catalog`,
typed by hand from public sources, each row with its address and its date. Where the facts come
from, and under which licences, is in [SOURCES.md](../data/catalog/SOURCES.md).

This page is made from `planner/catalog/_schema.py` by `make docs`. A cell outside its range is a
problem that names file, row and column; the other rows are kept. Rows count as in a spreadsheet:
the header is row 1.

- **One accelerator is what one row of a price list sells**: a card, a module, a TPU chip, a
  processor socket. `devices` says how many devices a framework sees on it.
- **Empty is not known**, never 0. A peak is dense: half of what is printed "with sparsity".
- **GB are 1e9 bytes**, as printed. Cards of "80 GB" often hold 80 GiB, 7 % more.
- **Link bandwidth counts both directions**, as makers print it: NVLink "900 GB/s" moves 450 GB/s
  each way.
- **float16 sums in float32**, as training needs; GeForce cards are twice as fast without.
- **List prices are the maker's on that day**. Data-centre cards mostly have none.
- **Prices of whole servers** include their host: launch prices of makers, or a reseller's
  quotation.
- **A price older than 12 months is stale** and is shown so.

Your own rows lie in the folder `EPOCHWISE_CATALOG` (by default `catalog`), in files of the same
names and columns. A row with an id that is shipped replaces that row whole; the others are added.
The id of an offer is its provider, region, instance and terms."""


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


def _table(name: TableName, columns: tuple[Column, ...]) -> list[str]:
    head = [f"## {TITLES[name]}", "", "| column | kind | unit | values | meaning |"]
    return [*head, "|---|---|---|---|---|", *(_line(column) for column in columns)]


def _line(column: Column) -> str:
    needed = " required" if column.required else ""
    bounds = f"{column.low:g} to {column.high:g}" if column.high else ""
    example = f"like `{column.example}`" if column.example else ""
    values = " / ".join(column.choices) or bounds or example
    kind = "names, separated by `;`" if column.kind == "names" else column.kind
    return f"| `{column.name}`{needed} | {kind} | {column.unit} | {values} | {column.meaning} |"
