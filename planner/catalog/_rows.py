"""Conversion between rows of text and records of the catalogue.

All problems of a file are reported, row by row, and every sound row is kept.

A CSV file of the catalogue as bytes: its rows and its problems.

The bytes are untrusted. They are never executed, and read only up to `LIMITS`; a file that is cut
short, binary or in another encoding is refused with the reason.
"""

import csv
import io
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from types import MappingProxyType
from typing import Any, Final

from planner.catalog._records import PRECISIONS, Accelerator, Offer, Origin, Tariff
from planner.catalog._schema import LIMITS, TABLES, CatalogColumn, CellKind, TableName, peak_column
from planner.core import Text

Value = str | float | int | date | tuple[str, ...] | None
FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
"""How a text begins that a spreadsheet would run."""
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_WHOLE: Final = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_DATE: Final = re.compile(r"(\d{4})-(\d{2})(?:-(\d{2}))?", re.ASCII)
_LINK: Final = re.compile(r"https?://[^\s\"'<>\\]+")


class CellError(ValueError):
    """A cell that cannot be kept: the rest of a sentence that begins with the column's name."""


def cell_value(column: CatalogColumn, text: str) -> Value:
    """Return the value of a cell; None (or no names) where it is empty.

    Raises:
        CellError: the text does not fit the column. It says what is there and what to do.
    """
    text = text.strip()
    if not text:
        if column.required:
            raise CellError("is empty. Every row needs it.")
        return () if column.kind == "names" else None
    if len(text) > LIMITS["cell"].value:
        raise CellError(
            Text(
                "has {text} characters; at most {cell} are read.",
                text=len(text),
                cell=LIMITS["cell"].value,
            )
        )
    if not text.isprintable():
        raise CellError("contains a line break or another unprintable character. "
                        "Look for a quote that is opened and never closed.")  # fmt: skip
    return _READ[column.kind](column, text)


def _text(column: CatalogColumn, text: str) -> str:
    if text.startswith(FORMULA):
        raise CellError(
            Text(
                "is {shown}, which a spreadsheet would run as a formula. Begin it with a "
                "letter or a digit.",
                shown=_shown(text),
            )
        )
    if column.choices and text not in column.choices:
        raise CellError(
            Text(
                "is {shown}. Use one of: {choices}.",
                shown=_shown(text),
                choices=", ".join(column.choices),
            )
        )
    if column.pattern and not re.fullmatch(column.pattern, text):
        raise CellError(
            Text("is {shown}. Write it like {example}.", shown=_shown(text), example=column.example)
        )
    return text


def _names(column: CatalogColumn, text: str) -> tuple[str, ...]:
    return tuple(_text(column, part.strip()) for part in text.split(";") if part.strip())


def _number(column: CatalogColumn, text: str) -> float:
    if not _NUMBER.fullmatch(text):
        raise CellError(
            Text(
                "is {shown}, not a number. Write digits with a decimal point, like 2.49 or "
                "8e10; leave it empty if it is unknown.",
                shown=_shown(text),
            )
        )
    return _in_range(column, float(text), text)


def _whole(column: CatalogColumn, text: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise CellError(Text("is {shown}, not a whole number.", shown=_shown(text)))
    return int(_in_range(column, float(text), text))


def _in_range(column: CatalogColumn, value: float, text: str) -> float:
    if not math.isfinite(value) or not column.low <= value <= column.high:
        raise CellError(
            Text(
                "is {shown}. It must be from {low:g} to {high:g} {unit}; look at the unit.",
                shown=_shown(text),
                low=column.low,
                high=column.high,
                unit=column.unit,
            )
        )
    return value


def _date(_: CatalogColumn, text: str) -> date:
    match = _DATE.fullmatch(text)
    try:
        if match:
            return date(int(match[1]), int(match[2]), int(match[3] or 1))
    except ValueError:
        pass
    raise CellError(
        Text("is {shown}, not a date. Write YYYY-MM-DD or YYYY-MM.", shown=_shown(text))
    )


def _link(_: CatalogColumn, text: str) -> str:
    if not _LINK.fullmatch(text):
        raise CellError(f"is {_shown(text)}, not an address. Begin it with https://.")
    return text


def _shown(text: str) -> str:
    """Return the text as a message quotes it; numbers bare, a long one shortened."""
    short = text if len(text) <= 60 else f"{text[:57]}..."
    return short if _NUMBER.fullmatch(short) else repr(short)


_READ: Final[Mapping[CellKind, Callable[[CatalogColumn, str], Value]]] = MappingProxyType(
    {
        "text": _text,
        "names": _names,
        "number": _number,
        "whole": _whole,
        "date": _date,
        "link": _link,
    }
)


Entry = Accelerator | Offer | Tariff
Cells = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogProblem:
    """One problem of a file of the catalogue: where, what, and what to do next.

    `row` counts as a spreadsheet does: the header is row 1. It is None for the whole file, and
    `column` is empty for the whole row.
    """

    file: str
    row: int | None
    column: str
    message: str

    def __str__(self) -> str:
        where = (
            self.file
            if self.row is None
            else Text("Row {row} of {file}", row=self.row, file=self.file)
        )
        return (
            f"{where}: {self.column} {self.message}" if self.column else f"{where} {self.message}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """The content of a file: sound records with their rows, and all problems."""

    table: TableName
    file: str
    entries: tuple[tuple[int, Entry], ...] = ()
    problems: tuple[CatalogProblem, ...] = ()

    @property
    def records(self) -> tuple[Entry, ...]:
        """The sound records, in the order of the file."""
        return tuple(entry for _, entry in self.entries)


def parse_rows(
    table: TableName,
    rows: Iterable[tuple[int, Cells]],
    *,
    file: str = "",
    origin: Origin = "shipped",
    today: date | None = None,
) -> Parsed:
    """Return sound rows as records, and the problems of the others.

    Args:
        table: of the rows.
        rows: row number and cells by column name; missing columns are empty.
        file: its name in messages, by default the table's own name.
        origin: source of the rows.
        today: dates more than a day later are refused; None accepts all.
    """
    name = file or f"{table}.csv"
    entries: dict[str, tuple[int, Entry]] = {}
    problems: list[CatalogProblem] = []
    for row, cells in rows:
        values, wrong = _values(table, row, cells, name)
        wrong = wrong or [
            CatalogProblem(file=name, row=row, column=c, message=m)
            for c, m in (*_between(table, values), *_from_the_future(values, today))
        ]
        if wrong:
            problems += wrong
            continue
        entry = _MAKE[table](values, origin)
        if entry.id in entries:
            problems.append(_twice(name, row, entry.id, entries[entry.id][0]))
        else:
            entries[entry.id] = row, entry
    shown = first_problems(problems, name)
    return Parsed(table=table, file=name, entries=tuple(entries.values()), problems=shown)


def first_problems(
    problems: Sequence[CatalogProblem], file: str, more: int = 0
) -> tuple[CatalogProblem, ...]:
    """Return the first problems with a count of the others; `more` were not created."""
    most = LIMITS["problems"].value
    rest = len(problems) - (most - 1) + more
    if len(problems) + more <= most:
        return tuple(problems)
    last = CatalogProblem(
        file=file, row=None, column="", message=Text("has {rest} more problems.", rest=rest)
    )
    return (*problems[: most - 1], last)


def _values(
    table: TableName, row: int, cells: Cells, file: str
) -> tuple[dict[str, Any], list[CatalogProblem]]:
    values: dict[str, Any] = {}
    problems: list[CatalogProblem] = []
    for column in TABLES[table]:
        try:
            values[column.name] = cell_value(column, cells.get(column.name) or "")
        except CellError as error:
            problems.append(
                CatalogProblem(file=file, row=row, column=column.name, message=f"{error}")
            )
    return values, problems


def _twice(file: str, row: int, key: str, first: int) -> CatalogProblem:
    return CatalogProblem(
        file=file,
        row=row,
        column="",
        message=Text(
            "is {key!r} like row {first}, which is kept. Give it another name, or drop one.",
            key=key,
            first=first,
        ),
    )


_TOGETHER: Final = MappingProxyType(
    {
        "list_price_usd": ("list_price_as_of", "list_price_source_url"),
        "server_price_usd": (
            "server_accelerators",
            "server_price_as_of",
            "server_price_source_url",
        ),
        "server_price_low_usd": ("server_price_usd", "server_price_high_usd"),
        "server_price_high_usd": ("server_price_low_usd",),
        "price_usd_per_kwh": ("customer", "price_as_of", "price_source_url"),
        "carbon_kg_per_kwh": ("carbon_as_of", "carbon_source_url"),
    }
)
"""A number, and the columns it requires."""


def _between(table: TableName, values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return problems between columns; checked only if every single cell is sound."""
    problems: list[tuple[str, str]] = [
        (
            other,
            Text(
                "is empty, but {number} is set. Fill it in, or leave {number} empty.", number=number
            ),
        )
        for number, others in _TOGETHER.items()
        for other in others
        if values.get(number) is not None and values.get(other) is None
    ]
    launched, seen = values.get("launched"), values.get("as_of")
    if launched is not None and seen is not None and launched > seen:
        problems.append(
            (
                "launched",
                Text(
                    "is {launched}, after as_of {seen}. One of them is wrong.",
                    launched=launched,
                    seen=seen,
                ),
            )
        )
    low, price, high = (
        values.get(name)
        for name in ("server_price_low_usd", "server_price_usd", "server_price_high_usd")
    )
    if low is not None and price is not None and high is not None and not low <= price <= high:
        problems.append(
            (
                "server_price_usd",
                Text(
                    "is {price:,.0f}, outside of {low:,.0f} to {high:,.0f}. Correct the price or "
                    "its range.",
                    price=price,
                    low=low,
                    high=high,
                ),
            )
        )
    numbers = (values.get("price_usd_per_kwh"), values.get("carbon_kg_per_kwh"))
    if table == "electricity" and numbers == (None, None):
        problems.append(("price_usd_per_kwh", "and carbon_kg_per_kwh are empty. Give one of them."))
    return problems


def _from_the_future(values: Mapping[str, Any], today: date | None) -> list[tuple[str, str]]:
    """Return the problems of future dates; a day is left for time zones."""
    if today is None:
        return []
    return [
        (
            name,
            Text(
                "is {value}, after today, {today}. Enter the day on which it was read.",
                value=value,
                today=today,
            ),
        )
        for name, value in values.items()
        if name.endswith("as_of") and value is not None and value > today + timedelta(days=1)
    ]


def _accelerator(values: Mapping[str, Any], origin: Origin) -> Accelerator:
    peaks = {p: values[peak_column(p)] for p in PRECISIONS if values[peak_column(p)] is not None}
    rest = _given(values, leave=frozenset(map(peak_column, PRECISIONS)))
    return Accelerator(**rest, peak_flops_per_s=MappingProxyType(peaks), origin=origin)


def _offer(values: Mapping[str, Any], origin: Origin) -> Offer:
    return Offer(**_given(values), origin=origin)


def _tariff(values: Mapping[str, Any], origin: Origin) -> Tariff:
    return Tariff(**_given(values), origin=origin)


def _given(values: Mapping[str, Any], leave: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Return the values that are set; others have their default in the record."""
    return {n: v for n, v in values.items() if v is not None and n not in leave}


_MAKE: Final[Mapping[TableName, Callable[[Mapping[str, Any], Origin], Entry]]] = MappingProxyType(
    {"hardware": _accelerator, "prices": _offer, "electricity": _tariff}
)


def cells_of(table: TableName, entry: Entry) -> dict[str, str]:
    """Return a record as the text of its row; `parse_rows` makes the same record of it."""
    return {column.name: _as_text(_cell_of(entry, column.name)) for column in TABLES[table]}


def _cell_of(entry: Entry, column: str) -> Value:
    if isinstance(entry, Accelerator):
        peaks = {peak_column(p): entry.peak_flops_per_s.get(p) for p in PRECISIONS}
        if column in peaks:
            return peaks[column]
    value: Value = getattr(entry, column)
    return value


def _as_text(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, tuple):
        return ";".join(value)
    return f"{value!r}" if isinstance(value, float) else str(value)


def unknown_columns(table: TableName, header: Sequence[str]) -> tuple[str, ...]:
    """Return columns that the table does not have, in the order of the header."""
    names = {column.name for column in TABLES[table]}
    return tuple(name for name in header if name not in names)


def missing_columns(table: TableName, header: Sequence[str]) -> tuple[str, ...]:
    """Return the required columns missing in the header."""
    return tuple(c.name for c in TABLES[table] if c.required and c.name not in header)


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
        problem = CatalogProblem(file=name, row=None, column="", message=f"{error}")
        return Parsed(table=table, file=name, problems=(problem,))
    whole: list[CatalogProblem] = []
    if others := unknown_columns(table, header):
        names = ", ".join(column.name for column in TABLES[table])
        message = Text(
            "has unknown columns: {listed}. Available: {names}.",
            listed=_listed(others),
            names=names,
        )
        whole.append(CatalogProblem(file=name, row=None, column="", message=message))
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
        raise FileError(
            Text("is larger than {most:,} bytes. Split it, or drop what is not needed.", most=most)
        )
    if b"\0" in content:
        raise FileError(
            "is not a text: it has zero bytes. Save it as CSV UTF-8, not as a workbook."
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(
            Text("is not UTF-8 from byte {start} on. Save it as CSV UTF-8.", start=error.start + 1)
        ) from error


def _lines(text: str) -> tuple[list[str], Iterator[list[str]]]:
    """Return the header, and the rows after it as they are read."""
    if not text.strip():
        raise FileError("is empty. Its first line must name the columns.")
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = [name.strip() for name in next(reader)]
    except csv.Error as error:
        raise FileError(
            Text("is not a CSV file: {error} in its first line.", error=error)
        ) from error
    return header, reader


def _check_header(table: TableName, header: Sequence[str]) -> None:
    if len(header) > LIMITS["columns"].value:
        raise FileError(
            Text(
                "has {header} columns; at most {columns} are read.",
                header=len(header),
                columns=LIMITS["columns"].value,
            )
        )
    if len(header) == 1 and ";" in header[0]:
        raise FileError("is separated by semicolons. Save it with commas and decimal points.")
    if twice := {name for name in header if header.count(name) > 1 and name}:
        raise FileError(
            Text("names a column twice: {listed}. Keep one of them.", listed=_listed(sorted(twice)))
        )
    if lacking := missing_columns(table, header):
        raise FileError(
            Text("lacks columns that every row needs: {lacking}.", lacking=", ".join(lacking))
        )


def _rows(
    file: str, header: Sequence[str], lines: Iterator[list[str]], problems: list[CatalogProblem]
) -> Iterator[tuple[int, Cells]]:
    """Yield rows with their numbers; problems of a row's shape are added to `problems`."""
    most, row = LIMITS["rows"].value, 1

    def report(message: str) -> None:
        problems.append(CatalogProblem(file=file, row=row, column="", message=message))

    while True:
        row += 1
        try:
            cells = next(lines)
        except StopIteration:
            return
        except csv.Error as error:
            return report(
                Text(
                    "cannot be read ({error}); it and all after it are left out. Look for a "
                    "quote that is opened and never closed.",
                    error=error,
                )
            )
        if row > most + 1:
            return report(
                Text("and all after it are left out: at most {most:,} rows are read.", most=most)
            )
        if len(cells) > len(header):
            report(
                Text(
                    "has {cells} cells under {header} columns. Quote what holds a comma.",
                    cells=len(cells),
                    header=len(header),
                )
            )
        elif any(cell.strip() for cell in cells):
            yield row, dict(zip(header, cells, strict=False))


def _listed(names: Sequence[str]) -> str:
    """Return at most six names, each shortened."""
    shown = ", ".join(repr(name[:40]) for name in names[:6])
    return (
        Text("{shown} and {names} more", shown=shown, names=len(names) - 6)
        if len(names) > 6
        else shown
    )
