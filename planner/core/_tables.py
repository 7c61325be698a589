"""Tables as files other programs open safely: CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from planner.core._estimate import Estimate, Refusal
from planner.core._numbers import plain

if TYPE_CHECKING:
    from planner.core.points import Floats

Cell = str | float | int | bool | None
Record = Mapping[str, Cell]

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""Starts of a cell that a spreadsheet runs; the last four are the full-width letters."""
_UNSEEN: Final = " \n\x00\x0b\x0c\xa0\u200b\u2028\u2029\u3000\ufeff"
"""Letters before such a start that some programs leave out."""
_QUOTED: Final = ";\t"
"""Separators of other countries and programs: a cell with one is quoted, so that it stays whole."""


def cell(value: float | Floats | None, digits: int = 6) -> float | None:
    """Return a number as tables keep it, to its first digits; None where it is not finite."""
    number = math.nan if value is None else float(value)
    return float(f"{number:.{digits}g}") if math.isfinite(number) else None


def cell_text(cell: object, digits: int = 6) -> str:
    """Return a cell as text: '–' where unknown, numbers without exponents."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return "–"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return f"{cell:,}"
    return plain(cell, digits) if isinstance(cell, float) else str(cell)


def estimate_cells(name: str, estimate: Estimate | Refusal | None) -> dict[str, float | None]:
    """Return cells `name`, `name_low` and `name_high`; None where refused or unknown."""
    names = (name, f"{name}_low", f"{name}_high")
    if not isinstance(estimate, Estimate):
        return dict.fromkeys(names)
    ends = (estimate.value, estimate.low, estimate.high)
    return {key: cell(end) for key, end in zip(names, ends, strict=True)}


def shipped_text(package: str, file: str) -> str:
    """Return the text of a file beside the code of a package."""
    return files(package).joinpath(file).read_text(encoding="utf-8")


def shipped_rows(
    package: str, file: str, **kinds: Callable[[str], object]
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table beside the code of a package, without their empty cells.

    `kinds` make the values of columns that hold no texts. Only the standard library is used, since
    `planner.runs` needs the table of its columns in training scripts.
    """
    for row in csv.DictReader(shipped_text(package, file).splitlines()):
        yield {name: kinds.get(name, str)(cell) for name, cell in row.items() if cell}


def texts_in(cell: str) -> tuple[str, ...]:
    """Return the texts of a cell that holds several, with ";" between them."""
    return tuple(cell.split(";"))


def csv_text(records: Sequence[Record]) -> str:
    """Return records as CSV (RFC 4180).

    Text that a spreadsheet would run as a formula gets a `'`.
    """
    out = io.StringIO()
    names = list(dict.fromkeys(name for r in records for name in r))
    writer = csv.writer(_Lines(out), lineterminator=f"\r\n{_QUOTED}")  # its letters are quoted
    writer.writerow([harmless(n) for n in names])
    for record in records:
        writer.writerow([_cell(record.get(name)) for name in names])
    return out.getvalue()


class _Lines:
    """Where lines of CSV are written, without what stands behind their ends."""

    def __init__(self, out: io.StringIO) -> None:
        self._out = out

    def write(self, line: str) -> int:
        """Write a line."""
        return self._out.write(line.removesuffix(_QUOTED))


def harmless(text: str) -> str:
    """Return a text as a cell that no spreadsheet runs; `bare` restores it."""
    runs = text.startswith(_FORMULA) or text.lstrip(_UNSEEN).startswith(_FORMULA)
    return f"'{text}" if runs else text


def bare(cell: str) -> str:
    """Return the text of a cell that `harmless` made."""
    return cell[1:] if cell[:1] == "'" and harmless(cell[1:]) == cell else cell


def _cell(cell: Cell) -> Cell:
    if isinstance(cell, str):
        return harmless(cell)
    return "" if cell is None else cell
