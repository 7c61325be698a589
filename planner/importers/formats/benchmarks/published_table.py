"""The table of published measurements: tab-separated, 35 columns, one published figure a row."""

import functools
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from planner.catalog import Catalog
from planner.core import Text
from planner.importers.formats.source import Row, Source, Stated
from planner.importers.formats.source_files import SourceError, SourceFiles, text_of
from planner.published import rows_of, run_records
from planner.store.catalog import read_catalog

_CATALOG: Final = Path(__file__).resolve().parents[4] / "data" / "catalog"
_SKIP: Final = "skip"
_NEVER: Final = datetime(1970, 1, 1, tzinfo=UTC)


def _read(files: SourceFiles, stated: Stated) -> Sequence[Row]:
    rows, problems = rows_of(text_of(files), files.first)
    made = run_records(rows, catalog(), "set", _NEVER)
    if stated.options.get("incomplete") != _SKIP:
        problems += [
            Text(
                "{count:,} rows: {why}. State the option incomplete={skip} to leave them out.",
                count=count,
                why=why,
                skip=_SKIP,
            )
            for why, count in made.left_out.items()
        ]
    if problems:
        raise SourceError(files.first, problems)
    return [{n: v for n, v in row.items() if n != "recorded_at"} for row in made.rows]


@functools.cache
def catalog() -> Catalog:
    """Return the shipped catalogue, whose accelerators are recognised."""
    return read_catalog(_CATALOG).catalog


def warm() -> None:
    """Read the tables of accelerators and networks, before no file can be opened."""
    head = "source_id\tmodel\taccelerator\tn_accelerators\tglobal_batch\tsamples_per_s_total\n"
    rows, _ = rows_of(head + "a\tLlama 2 7B\tA100\t1\t8\t5\na\tresnet50\tA100\t1\t8\t5\n", "a")
    run_records(rows, catalog(), "a", _NEVER)


SOURCE: Final = Source(
    name="published-table",
    title="Table of published measurements",
    files="tab-separated, one figure a row, each with repository, path, commit and licence",
    reads="samples/s, step time, memory, time to target, stated MFU",
    derives="the accelerator from its name in the catalogue; samples/s from tokens/s over the "
    "sequence length, or batch over step time; of equal configurations the newest",
    refuses="unreadable rows; accelerators outside the catalogue and rows without a speed in "
    "samples, unless the option says to leave them out",
    read=_read,
    named=r".*\.tsv",
    needs=(),
    options={
        "incomplete": Text(
            "{skip} leaves out rows without a known accelerator or speed", skip=_SKIP
        )
    },
    basis="published",
)
