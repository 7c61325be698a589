"""Rows of text become records of the catalogue, and records become rows of text again.

Everything that is wrong with a file is told at once, row by row, and every sound row is kept.
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
    """One thing wrong with a file of the catalogue: where, what, and what to do next.

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
    """What a file held: sound records with the rows they stood in, and all its problems."""

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
    """Sound rows as records, and everything wrong with the others.

    Args:
        table: which table the rows are of.
        rows: row number and cells by column name; columns that are missing are empty.
        file: what messages call the file, by default the table's own name.
        origin: who the rows are from.
        today: dates that are later by more than a day are refused; None lets all pass.
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
    told = told_first(problems, name)
    return Parsed(table=table, file=name, entries=tuple(entries.values()), problems=told)


def told_first(problems: Sequence[Problem], file: str, more: int = 0) -> tuple[Problem, ...]:
    """As many problems as help, and how many there are beside them; `more` were not even made."""
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
"""A number, and what it is worth nothing without."""


def _between(table: TableName, values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Rules between columns, only asked once every single cell is sound."""
    found = [
        (other, f"is empty, but {number} is given. Say it, or leave {number} empty.")
        for number, others in _TOGETHER.items()
        for other in others
        if values.get(number) is not None and values.get(other) is None
    ]
    launched, seen = values.get("launched"), values.get("as_of")
    if launched is not None and seen is not None and launched > seen:
        found.append(("launched", f"is {launched}, after as_of {seen}. One of them is wrong."))
    numbers = (values.get("price_usd_per_kwh"), values.get("carbon_kg_per_kwh"))
    if table == "electricity" and numbers == (None, None):
        found.append(("price_usd_per_kwh", "and carbon_kg_per_kwh are empty. Give one of them."))
    return found


def _from_the_future(values: Mapping[str, Any], today: date | None) -> list[tuple[str, str]]:
    """Dates on which nobody can have read anything yet; a day is left for time zones."""
    if today is None:
        return []
    return [
        (name, f"is {value}, after today, {today}. Say the day on which it was read.")
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
    """What was said; what was not has its default in the record."""
    return {n: v for n, v in values.items() if v is not None and n not in leave}


_MAKE: Final[Mapping[TableName, Callable[[Mapping[str, Any], Origin], Entry]]] = MappingProxyType(
    {"hardware": _accelerator, "prices": _offer, "electricity": _tariff}
)


def cells_of(table: TableName, entry: Entry) -> dict[str, str]:
    """A record as the text of its row; `parse_rows` makes the same record of it."""
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
    """Columns that the table does not have, in the order of the header."""
    known = {column.name for column in TABLES[table]}
    return tuple(name for name in header if name not in known)


def missing_columns(table: TableName, header: Sequence[str]) -> tuple[str, ...]:
    """Required columns that the header does not have."""
    return tuple(c.name for c in TABLES[table] if c.required and c.name not in header)
