"""Tables as files other programs open safely: CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Final

Cell = str | float | int | bool | None
Record = Mapping[str, Cell]

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def csv_text(records: Sequence[Record]) -> str:
    """Return records as CSV (RFC 4180).

    Text that a spreadsheet would run as a formula gets a `'`.
    """
    out = io.StringIO()
    names = list(dict.fromkeys(name for r in records for name in r))
    writer = csv.writer(out)
    writer.writerow([_harmless(n) for n in names])
    for record in records:
        writer.writerow([_harmless(record.get(name)) for name in names])
    return out.getvalue()


def _harmless(cell: Cell) -> Cell:
    if isinstance(cell, str) and cell.startswith(_FORMULA):
        return f"'{cell}"
    return "" if cell is None else cell
