"""The catalogue on disk: the shipped files and the user's own rows.

The user's rows are in a separate folder (`EPOCHWISE_CATALOG`), so that a product update never
changes them. A file is replaced as a whole, never written in place. A file with unreadable rows is
not replaced at all, so that no typed row is lost.
"""

import functools
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
    CatalogProblem,
    Offer,
    Origin,
    Parsed,
    TableName,
    Tariff,
    csv_of,
    merged,
    parse_csv,
    with_accelerator_ids,
)
from planner.core import Text
from planner.store.disk.files import write_whole
from planner.store.disk.locks import locked

OWN: Final = "EPOCHWISE_CATALOG"


class CatalogError(OSError):
    """The user's rows could not be changed; the previous ones are untouched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogRead:
    """The readable rows, the problems, and the ids of shipped rows that the user replaced."""

    catalog: Catalog
    problems: tuple[CatalogProblem, ...] = ()
    overridden: tuple[str, ...] = ()


def own_folder(root: Path, environment: Mapping[str, str]) -> Path:
    """Return the folder of the user's rows: EPOCHWISE_CATALOG, default `catalog` below `root`."""
    setting = environment.get(OWN) or "catalog"
    return Path(os.path.abspath(root / Path(setting).expanduser()))  # noqa: PTH100 - keep links


def catalog_stamps(folders: Sequence[Path]) -> tuple[tuple[int, int] | None, ...]:
    """Return what changes when a file of the catalogue changes: times [ns] and sizes [bytes]."""
    stamps: list[tuple[int, int] | None] = []
    for folder in folders:
        for table in TABLE_NAMES:
            try:
                file = os.stat(f"{folder}/{table}.csv")  # noqa: PTH116 - faster, six times a rerun
                stamps.append((file.st_mtime_ns, file.st_size))
            except OSError:
                stamps.append(None)
    return tuple(stamps)


def read_catalog(
    shipped: Path, further: Sequence[Path] = (), *, today: date | None = None
) -> CatalogRead:
    """Return the shipped catalogue with the rows of further folders; later folders win.

    A missing folder or file has no rows. Sound rows are kept beside problems. An offer of an
    unknown accelerator is a problem and left out; so is a row of a further folder dated after
    `today` (default: the clock's date).
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
) -> tuple[Catalog, tuple[CatalogProblem, ...]]:
    """Return imported rows as a catalogue of their own, and the problems of the others.

    Accelerators of offers may have any name in `catalog`. Nothing is written: show rows and
    problems first, then call `add_rows`. Dates after `today` (default: the clock's date) are
    problems.
    """
    day = _today() if today is None else today
    parsed = parse_csv(table, content, file=file, origin="yours", today=day)
    if table == "prices":
        parsed = with_accelerator_ids(parsed, catalog)
    return _catalog({table: parsed}), parsed.problems


def add_rows(folder: Path, further: Catalog) -> tuple[str, ...]:
    """Add rows to the user's folder (made if absent); return the ids of replaced own rows.

    Raises:
        CatalogError: a file has unreadable rows, or the disk fails; nothing is changed.
    """
    with _changing(folder):
        whole = merged(_own(folder), further)
        _write(folder, whole.catalog, _touched(further))
    return whole.overridden


def remove_rows(folder: Path, table: TableName, ids: Sequence[str]) -> int:
    """Remove the user's rows with these ids and return how many; shipped ones apply again.

    Raises:
        CatalogError: a file has unreadable rows, or the disk fails; nothing is changed.
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
        message = Text("cannot be read ({reason}).", reason=error.strerror or error)
        problem = CatalogProblem(file=path.name, row=None, column="", message=message)
        return Parsed(table=table, file=path.name, problems=(problem,))
    return _parsed_text(table, content, origin, today)


@functools.lru_cache(maxsize=32)
def _parsed_text(table: TableName, content: bytes, origin: Origin, today: date | None) -> Parsed:
    """Return the rows of a file; the shipped ones are read again with each change of one's own."""
    return parse_csv(table, content, origin=origin, today=today)


def _content(path: Path) -> bytes:
    """Return the file's content up to one byte above the limit; OSError for special files."""
    if not stat.S_ISREG(path.stat().st_mode):  # a pipe would wait for ever
        raise OSError(Text("{path} is not a plain file", path=path.name))
    with path.open("rb") as file:
        return file.read(LIMITS["file"].value + 1)


def _with(read: CatalogRead, tables: Mapping[TableName, Parsed]) -> CatalogRead:
    accelerators = _catalog({"hardware": tables["hardware"]})
    hardware = merged(read.catalog, accelerators)
    offers = with_accelerator_ids(tables["prices"], hardware.catalog)
    rest = merged(
        hardware.catalog, _catalog({"prices": offers, "electricity": tables["electricity"]})
    )
    parts = (tables["hardware"], offers, tables["electricity"])
    return CatalogRead(
        catalog=rest.catalog,
        problems=(*read.problems, *(p for parsed in parts for p in parsed.problems)),
        overridden=(*read.overridden, *hardware.overridden, *rest.overridden),
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
    """Yield under the folder's lock, so that simultaneous changes are both kept."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder):
            yield
    except CatalogError:
        raise
    except OSError as error:
        raise CatalogError(
            Text(
                "Your rows could not be saved in {folder} ({reason}). Free disk "
                "space, or set {own} to a writable folder.",
                folder=folder,
                reason=error.strerror or error,
                own=OWN,
            )
        ) from error


def _own(folder: Path) -> Catalog:
    """Return all rows of the user's files; raise if one is unreadable."""
    tables = {t: _parsed(folder, t, "yours") for t in TABLE_NAMES}
    problems = [p for parsed in tables.values() for p in parsed.problems]
    if problems:
        raise CatalogError(
            Text(
                "Nothing was changed, because one of your rows cannot be read and would "
                "be lost: {problem} Fix it in {folder} first.",
                problem=problems[0],
                folder=folder,
            )
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
