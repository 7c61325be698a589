"""A CSV file of the catalogue as bytes: its rows and its problems.

The bytes are untrusted. They are never executed, and read only up to `LIMITS`; a file that is cut
short, binary or in another encoding is refused with the reason.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date

from planner.catalog._records import Origin
from planner.catalog._rows import (
    Cells,
    Entry,
    Parsed,
    Problem,
    cells_of,
    missing_columns,
    parse_rows,
    unknown_columns,
)
from planner.catalog._schema import LIMITS, TABLES, TableName


class FileError(ValueError):
    """A file nothing can be read of: the rest of a sentence that begins with its name."""


def parse_csv(
    table: TableName,
    content: bytes,
    *,
    file: str = "",
    origin: Origin = "yours",
    today: date | None = None,
) -> Parsed:
    """Return rows of a CSV file (UTF-8, commas, a header of column names) as records and problems.

    Args:
        table: of the file; `table_of` derives it from the header.
        content: the whole file.
        file: its name in messages, by default the table's own name.
        origin: source of the rows.
        today: dates more than a day later are refused; None accepts all.
    """
    name = file or f"{table}.csv"
    try:
        header, lines = _lines(_decoded(content))
        _check_header(table, header)
    except FileError as error:
        problem = Problem(file=name, row=None, column="", message=f"{error}")
        return Parsed(table=table, file=name, problems=(problem,))
    whole: list[Problem] = []
    if others := unknown_columns(table, header):
        names = ", ".join(column.name for column in TABLES[table])
        message = f"has unknown columns: {_listed(others)}. Available: {names}."
        whole.append(Problem(file=name, row=None, column="", message=message))
    rows = list(_rows(name, header, lines, whole))
    parsed = parse_rows(table, rows, file=name, origin=origin, today=today)
    return replace(parsed, problems=(*whole, *parsed.problems))


def table_of(content: bytes) -> TableName | None:
    """Return the table whose required columns the header has, None if there is none."""
    try:
        header, _ = _lines(_decoded(content))
    except FileError:
        return None
    return next((t for t in TABLES if not missing_columns(t, header)), None)


def csv_of(table: TableName, entries: Sequence[Entry]) -> str:
    """Return records as a CSV file that `parse_csv` reads back; lines end in a line feed."""
    out = io.StringIO()
    names = [column.name for column in TABLES[table]]
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(cells_of(table, entry) for entry in entries)
    return out.getvalue()


def _decoded(content: bytes) -> str:
    most = LIMITS["file"].value
    if len(content) > most:
        raise FileError(f"is larger than {most:,} bytes. Split it, or drop what is not needed.")
    if b"\0" in content:
        raise FileError(
            "is not a text: it has zero bytes. Save it as CSV UTF-8, not as a workbook."
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(f"is not UTF-8 from byte {error.start + 1} on. Save it as CSV UTF-8."
                        ) from error  # fmt: skip


def _lines(text: str) -> tuple[list[str], Iterator[list[str]]]:
    """Return the header, and the rows after it as they are read."""
    if not text.strip():
        raise FileError("is empty. Its first line must name the columns.")
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = [name.strip() for name in next(reader)]
    except csv.Error as error:
        raise FileError(f"is not a CSV file: {error} in its first line.") from error
    return header, reader


def _check_header(table: TableName, header: Sequence[str]) -> None:
    if len(header) > LIMITS["columns"].value:
        raise FileError(f"has {len(header)} columns; at most {LIMITS['columns'].value} are read.")
    if len(header) == 1 and ";" in header[0]:
        raise FileError("is separated by semicolons. Save it with commas and decimal points.")
    if twice := {name for name in header if header.count(name) > 1 and name}:
        raise FileError(f"names a column twice: {_listed(sorted(twice))}. Keep one of them.")
    if lacking := missing_columns(table, header):
        raise FileError(f"lacks columns that every row needs: {', '.join(lacking)}.")


def _rows(
    file: str, header: Sequence[str], lines: Iterator[list[str]], problems: list[Problem]
) -> Iterator[tuple[int, Cells]]:
    """Yield rows with their numbers; problems of a row's shape are added to `problems`."""
    most, row = LIMITS["rows"].value, 1

    def report(message: str) -> None:
        problems.append(Problem(file=file, row=row, column="", message=message))

    while True:
        row += 1
        try:
            cells = next(lines)
        except StopIteration:
            return
        except csv.Error as error:
            return report(f"cannot be read ({error}); it and all after it are left out. Look for a "
                        "quote that is opened and never closed.")  # fmt: skip
        if row > most + 1:
            return report(f"and all after it are left out: at most {most:,} rows are read.")
        if len(cells) > len(header):
            report(f"has {len(cells)} cells under {len(header)} columns. Quote what holds a comma.")
        elif any(cell.strip() for cell in cells):
            yield row, dict(zip(header, cells, strict=False))


def _listed(names: Sequence[str]) -> str:
    """Return at most six names, each shortened."""
    shown = ", ".join(repr(name[:40]) for name in names[:6])
    return f"{shown} and {len(names) - 6} more" if len(names) > 6 else shown
