"""The catalogue on disk: the shipped files, the user's own, and how rows are added to these.

A user's rows lie in a folder of their own (`EPOCHWISE_CATALOG`), so that an update of the product
never touches them. A file is replaced whole, never written in place, and one that holds rows we
cannot read is not replaced at all: what somebody typed is not ours to drop.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final

from planner.catalog import (
    LIMITS,
    TABLE_NAMES,
    Accelerator,
    Catalog,
    Offer,
    Origin,
    Parsed,
    Problem,
    TableName,
    Tariff,
    csv_of,
    merged,
    parse_csv,
    with_known_accelerators,
)
from planner.store.disk.files import write_whole
from planner.store.disk.locks import locked

OWN: Final = "EPOCHWISE_CATALOG"


class CatalogError(OSError):
    """The user's rows were not changed, and why; what was there before is as it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogRead:
    """All that could be read, what could not, and which shipped rows the user's rows replace."""

    catalog: Catalog
    problems: tuple[Problem, ...] = ()
    overridden: tuple[str, ...] = ()


def own_folder(root: Path, environment: Mapping[str, str]) -> Path:
    """Folder of the user's rows: EPOCHWISE_CATALOG, by default `catalog` below `root`."""
    told = environment.get(OWN) or "catalog"
    return Path(os.path.abspath(root / Path(told).expanduser()))  # noqa: PTH100 - keep links


def read_catalog(
    shipped: Path, further: Sequence[Path] = (), *, today: date | None = None
) -> CatalogRead:
    """The shipped catalogue with the rows of further folders in it, the last word last.

    A folder or a file that is not there has no rows. Sound rows are kept whatever is wrong with
    others; an offer of an accelerator that nobody knows is a problem and is left out. So is a row
    of a further folder that is dated after `today` (that of the clock where it is None).
    """
    read = CatalogRead(catalog=Catalog())
    day = _today() if today is None else today
    for number, place in enumerate((shipped, *further)):
        origin: Origin = "yours" if number else "shipped"
        until = day if number else None
        read = _with(read, {t: _parsed(place, t, origin, until) for t in TABLE_NAMES})
    return read


def import_csv(
    table: TableName,
    content: bytes,
    catalog: Catalog,
    *,
    file: str = "",
    today: date | None = None,
) -> tuple[Catalog, tuple[Problem, ...]]:
    """Rows that somebody gave, as a catalogue of their own, and every problem with the others.

    Accelerators of offers may have any name that `catalog` knows. Nothing is written: show the
    rows and the problems first, then `add_rows`. Dates after `today` (that of the clock where it
    is None) are problems.
    """
    day = _today() if today is None else today
    parsed = parse_csv(table, content, file=file, origin="yours", today=day)
    if table == "prices":
        parsed = with_known_accelerators(parsed, catalog)
    return _catalog({table: parsed}), parsed.problems


def add_rows(folder: Path, further: Catalog) -> tuple[str, ...]:
    """Keep rows in the user's folder (made if absent); says which of the user's own they replace.

    Raises:
        CatalogError: a file there cannot be read whole, or the disk refuses; nothing is changed.
    """
    with _changing(folder):
        whole = merged(_own(folder), further)
        _write(folder, whole.catalog, _touched(further))
    return whole.overridden


def remove_rows(folder: Path, table: TableName, ids: Sequence[str]) -> int:
    """Take the user's rows with these ids out, so that shipped ones count again; how many it was.

    Raises:
        CatalogError: a file there cannot be read whole, or the disk refuses; nothing is changed.
    """
    with _changing(folder):
        own, gone = _own(folder), set(ids)
        left = Catalog(
            accelerators=tuple(a for a in own.accelerators if _stays(a, table, gone)),
            offers=tuple(o for o in own.offers if _stays(o, table, gone)),
            tariffs=tuple(t for t in own.tariffs if _stays(t, table, gone)),
        )
        removed = len(_entries(own, table)) - len(_entries(left, table))
        if removed:
            _write(folder, left, (table,))
    return removed


# -- reading -------------------------------------------------------------------------------------


def _today() -> date:
    return datetime.now(UTC).date()


def _parsed(folder: Path, table: TableName, origin: Origin, today: date | None = None) -> Parsed:
    path = folder / f"{table}.csv"
    try:
        content = _content(path)
    except FileNotFoundError:
        return Parsed(table=table, file=path.name)
    except OSError as error:
        told = f"cannot be read ({error.strerror or error})."
        problem = Problem(file=path.name, row=None, column="", message=told)
        return Parsed(table=table, file=path.name, problems=(problem,))
    return parse_csv(table, content, origin=origin, today=today)


def _content(path: Path) -> bytes:
    """The file, or one byte more than is ever read of one; OSError where it is no plain file."""
    if not stat.S_ISREG(path.stat().st_mode):  # a pipe would wait for ever
        raise OSError(f"{path.name} is no plain file")
    with path.open("rb") as file:
        return file.read(LIMITS["file"].value + 1)


def _with(read: CatalogRead, tables: Mapping[TableName, Parsed]) -> CatalogRead:
    """What was read before, with the tables of one more folder in it."""
    accelerators = _catalog({"hardware": tables["hardware"]})
    known = merged(read.catalog, accelerators)
    offers = with_known_accelerators(tables["prices"], known.catalog)
    rest = merged(known.catalog, _catalog({"prices": offers, "electricity": tables["electricity"]}))
    found = (tables["hardware"], offers, tables["electricity"])
    return CatalogRead(
        catalog=rest.catalog,
        problems=(*read.problems, *(p for parsed in found for p in parsed.problems)),
        overridden=(*read.overridden, *known.overridden, *rest.overridden),
    )


def _catalog(tables: Mapping[TableName, Parsed]) -> Catalog:
    entries = [entry for parsed in tables.values() for entry in parsed.records]
    return Catalog(
        accelerators=tuple(e for e in entries if isinstance(e, Accelerator)),
        offers=tuple(e for e in entries if isinstance(e, Offer)),
        tariffs=tuple(e for e in entries if isinstance(e, Tariff)),
    )


# -- writing -------------------------------------------------------------------------------------


@contextmanager
def _changing(folder: Path) -> Iterator[None]:
    """One change at a time, so that two people's rows are both kept; errors say what to do."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder):
            yield
    except CatalogError:
        raise
    except OSError as error:
        raise CatalogError(
            f"Your rows could not be kept in {folder} ({error.strerror or error}). "
            f"Make room or set {OWN} to a folder that can be written."
        ) from error


def _own(folder: Path) -> Catalog:
    """The user's rows, every one of them, as they stand in the files."""
    tables = {t: _parsed(folder, t, "yours") for t in TABLE_NAMES}
    problems = [p for parsed in tables.values() for p in parsed.problems]
    if problems:
        raise CatalogError(
            f"Nothing was changed, because a row of yours cannot be read and would be lost: "
            f"{problems[0]} Fix it in {folder} first."
        )
    return _catalog(tables)


def _write(folder: Path, catalog: Catalog, tables: Sequence[TableName]) -> None:
    for table in tables:
        write_whole(folder / f"{table}.csv", csv_of(table, _entries(catalog, table)))


def _entries(catalog: Catalog, table: TableName) -> tuple[Accelerator | Offer | Tariff, ...]:
    if table == "hardware":
        return catalog.accelerators
    return catalog.offers if table == "prices" else catalog.tariffs


def _touched(catalog: Catalog) -> tuple[TableName, ...]:
    return tuple(table for table in TABLE_NAMES if _entries(catalog, table))


def _stays(entry: Accelerator | Offer | Tariff, table: TableName, gone: set[str]) -> bool:
    of: dict[type, TableName] = {Accelerator: "hardware", Offer: "prices", Tariff: "electricity"}
    return of[type(entry)] != table or entry.id not in gone
