"""Conversion between rows of text and records of the catalogue.

All problems of a file are reported, row by row, and every sound row is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from types import MappingProxyType
from typing import Any, Final

from planner.catalog._cells import CellError, Value, cell_value
from planner.catalog._records import (
    PRECISIONS,
    Accelerator,
    Offer,
    Origin,
    Tariff,
)
from planner.catalog._schema import (
    LIMITS,
    TABLES,
    TableName,
    peak_column,
)

Entry = Accelerator | Offer | Tariff
Cells = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One problem of a file of the catalogue: where, what, and what to do next.

    `row` counts as a spreadsheet does: the header is row 1. It is None for the whole file, and
    `column` is empty for the whole row.
    """

    file: str
    row: int | None
    column: str
    message: str

    def __str__(self) -> str:
        where = self.file if self.row is None else f"Row {self.row} of {self.file}"
        return (
            f"{where}: {self.column} {self.message}" if self.column else f"{where} {self.message}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """The content of a file: sound records with their rows, and all problems."""

    table: TableName
    file: str
    entries: tuple[tuple[int, Entry], ...] = ()
    problems: tuple[Problem, ...] = ()

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
    problems: list[Problem] = []
    for row, cells in rows:
        values, wrong = _values(table, row, cells, name)
        wrong = wrong or [
            Problem(file=name, row=row, column=c, message=m)
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


def first_problems(problems: Sequence[Problem], file: str, more: int = 0) -> tuple[Problem, ...]:
    """Return the first problems with a count of the others; `more` were not created."""
    most = LIMITS["problems"].value
    rest = len(problems) - (most - 1) + more
    if len(problems) + more <= most:
        return tuple(problems)
    last = Problem(file=file, row=None, column="", message=f"has {rest} more problems.")
    return (*problems[: most - 1], last)


def _values(
    table: TableName, row: int, cells: Cells, file: str
) -> tuple[dict[str, Any], list[Problem]]:
    values: dict[str, Any] = {}
    problems = []
    for column in TABLES[table]:
        try:
            values[column.name] = cell_value(column, cells.get(column.name) or "")
        except CellError as error:
            problems.append(Problem(file=file, row=row, column=column.name, message=f"{error}"))
    return values, problems


def _twice(file: str, row: int, key: str, first: int) -> Problem:
    return Problem(
        file=file, row=row, column="",
        message=f"is {key!r} like row {first}, which is kept. Give it another name, or drop one.",
    )  # fmt: skip


_TOGETHER: Final = MappingProxyType(
    {
        "list_price_usd": ("list_price_as_of", "list_price_source_url"),
        "server_price_usd": (
            "server_accelerators",
            "server_price_as_of",
            "server_price_source_url",
        ),
        "price_usd_per_kwh": ("customer", "price_as_of", "price_source_url"),
        "carbon_kg_per_kwh": ("carbon_as_of", "carbon_source_url"),
    }
)
"""A number, and the columns it requires."""


def _between(table: TableName, values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return problems between columns; checked only if every single cell is sound."""
    problems = [
        (other, f"is empty, but {number} is set. Fill it in, or leave {number} empty.")
        for number, others in _TOGETHER.items()
        for other in others
        if values.get(number) is not None and values.get(other) is None
    ]
    launched, seen = values.get("launched"), values.get("as_of")
    if launched is not None and seen is not None and launched > seen:
        problems.append(("launched", f"is {launched}, after as_of {seen}. One of them is wrong."))
    numbers = (values.get("price_usd_per_kwh"), values.get("carbon_kg_per_kwh"))
    if table == "electricity" and numbers == (None, None):
        problems.append(("price_usd_per_kwh", "and carbon_kg_per_kwh are empty. Give one of them."))
    return problems


def _from_the_future(values: Mapping[str, Any], today: date | None) -> list[tuple[str, str]]:
    """Return the problems of future dates; a day is left for time zones."""
    if today is None:
        return []
    return [
        (name, f"is {value}, after today, {today}. Enter the day on which it was read.")
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
