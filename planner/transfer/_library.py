"""The table of measured throughputs, checked once."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.core import LARGEST, SMALLEST, Floats, Text, check_flat, listed
from planner.transfer._records import SPECS, DataSheet, Library, Mask

NAMED: Final = 3
"""Bad names of a column that are listed one by one."""
MOST_WORKLOADS: Final = 64
"""Workloads that are read for one answer."""


def fit_library(
    workload: ArrayLike,
    precision: ArrayLike,
    card: ArrayLike,
    samples_per_s: ArrayLike,
    sheets: Sequence[DataSheet] = (),
) -> Library:
    """Return measured throughputs of one device as a table of workloads and cards.

    Runs of one workload in one precision on one card are repeats: their logarithms are averaged.
    Own measurements are rows like all others. Names are compared literally.

    Args:
        workload: names, shape (n,).
        precision: names, shape (n,), those of `DataSheet.peak_flops_per_s`.
        card: names, shape (n,).
        samples_per_s: in the workload's unit of samples, 1e-100 to 1e100, shape (n,).
        sheets: data sheets of cards, measured or not.

    Raises:
        ValueError: shapes differ, there are no rows, a name is None or empty, a throughput is
            outside the limits, a number of a data sheet is None or not above 0, or a card has two
            data sheets. The message names all problems.
    """
    names, precisions, cards = _names({"workload": workload, "precision": precision, "card": card})
    values = np.asarray(samples_per_s, dtype=np.float64)
    check_flat({"workload": names, "precision": precisions, "card": cards, "samples_per_s": values})
    _check(values, sheets)
    rows, row = np.unique(np.stack([names, precisions]), axis=1, return_inverse=True)
    workloads = tuple((str(name), str(precision)) for name, precision in rows.T)
    columns = np.unique(np.concatenate([cards, np.array([s.card for s in sheets], np.str_)]))
    cell = (row.reshape(-1), np.searchsorted(columns, cards))
    log, runs, squares = _repetitions(cell, np.log(values), (len(workloads), columns.size))
    _, name = np.unique(rows[0], return_inverse=True)
    each_precision, in_precision = np.unique(rows[1], return_inverse=True)
    return Library(
        workloads=workloads,
        cards=tuple(str(name) for name in columns),
        log_samples_per_s=log,
        filled=_filled(log, runs > 0),
        runs=runs,
        squares=squares,
        name=name,
        precision=in_precision,
        sheets_by_precision=_table_of_sheets(sheets, each_precision, columns),
    )


def part_for(library: Library, row: int, column: int) -> tuple[Library, tuple[int, int]]:
    """Return what is read of a table for one cell, and the place of the cell there.

    That is the whole table, unless it has more than `MOST_WORKLOADS` rows. Then it is the row, and
    the workloads that say most about it: those that ran on the cell's card and on one of the row's,
    then those on most of the row's cards, then those on most cards. The cost of an answer grows
    with the cube of their number.
    """
    if len(library.workloads) <= MOST_WORKLOADS:
        return library, (row, column)
    measured = library.measured
    shared = np.count_nonzero(measured & measured[row], axis=1)
    speaks = measured[:, column] & (shared > 0)
    own = np.arange(len(library.workloads)) == row
    order = np.lexsort((-np.count_nonzero(measured, axis=1), -shared, ~speaks, ~own))
    rows = np.sort(order[:MOST_WORKLOADS])
    columns = np.flatnonzero(measured[rows].any(axis=0) | (np.arange(len(library.cards)) == column))
    cells = np.ix_(rows, columns)
    part = replace(
        library,
        workloads=tuple(library.workloads[i] for i in rows),
        cards=tuple(library.cards[i] for i in columns),
        log_samples_per_s=library.log_samples_per_s[cells],
        filled=library.filled[cells],
        runs=library.runs[cells],
        squares=library.squares[cells],
        name=library.name[rows],
        precision=library.precision[rows],
        sheets_by_precision=library.sheets_by_precision[:, columns],
    )
    return part, (int(np.searchsorted(rows, row)), int(np.searchsorted(columns, column)))


def with_speeds(
    library: Library, workload: tuple[str, str], samples_per_s: Mapping[str, float]
) -> Library:
    """Return the library with other measurements of one workload.

    Args:
        library: the table.
        workload: name and precision; an unknown one changes nothing.
        samples_per_s: by card, one run each; unknown cards are left out.
    """
    if workload not in library.workloads:
        return library
    row = library.workloads.index(workload)
    log, squares = library.log_samples_per_s.copy(), library.squares.copy()
    runs = library.runs.copy()
    log[row], runs[row], squares[row] = np.nan, 0, 0.0
    for card, speed in samples_per_s.items():
        if card in library.cards:
            column = library.cards.index(card)
            log[row, column], runs[row, column] = np.log(speed), 1
    return replace(
        library, log_samples_per_s=log, filled=_filled(log, runs > 0), runs=runs, squares=squares
    )


def _names(columns: Mapping[str, ArrayLike]) -> list[NDArray[np.str_]]:
    """Return columns of names as texts; raise for values that are not texts, such as None."""
    problems = []
    for column, values in columns.items():
        texts = np.asarray(values, dtype=object).reshape(-1)
        wrong = [i for i, name in enumerate(texts) if not isinstance(name, str) or not name]
        problems += [f"{column}[{i}] is {texts[i]!r}" for i in wrong[:NAMED]]
        problems += (
            [Text("{wrong} more of {column}", wrong=len(wrong) - NAMED, column=column)]
            if len(wrong) > NAMED
            else []
        )
    if problems:
        raise ValueError(
            Text(
                "{problems}. Each must be a name, a text that is not empty. Leave out "
                "runs with an unknown workload, precision or card.",
                problems="; ".join(problems),
            )
        )
    return [np.asarray(values, dtype=np.str_) for values in columns.values()]


def _repetitions(
    cell: tuple[NDArray[np.intp], NDArray[np.intp]], logs: Floats, shape: tuple[int, int]
) -> tuple[Floats, NDArray[np.int64], Floats]:
    """Return mean, count and squared deviations of the runs of every cell."""
    runs = np.zeros(shape, dtype=np.int64)
    total, squares = np.zeros(shape), np.zeros(shape)
    np.add.at(runs, cell, 1)
    np.add.at(total, cell, logs)
    mean = np.divide(total, runs, out=np.full(shape, np.nan), where=runs > 0)
    np.add.at(squares, cell, np.square(logs - mean[cell]))
    return mean, runs, squares


def _filled(log: Floats, measured: Mask) -> Floats:
    """Return the table with row effect + column effect (least squares) in its gaps."""
    of_row, of_column = _effects(log, measured)
    additive = of_row[:, None] + of_column
    return np.where(measured, log, np.where(measured.any(axis=0), additive, np.nan))


def _effects(log: Floats, measured: Mask) -> tuple[Floats, Floats]:
    """Return row and column effects of the measured cells, of least norm [ln(samples/s)].

    Shapes (rows,) and (columns,). The rows are eliminated, which leaves a system of the size of the
    few cards: with 1,000 workloads a matrix of all cells takes seconds.
    """
    there, values = measured.astype(np.float64), np.where(measured, log, 0.0)
    share = there / np.maximum(there.sum(axis=1), 1.0)[:, None]
    left = np.diag(there.sum(axis=0)) - there.T @ share
    of_column = np.linalg.lstsq(left, values.sum(axis=0) - share.T @ values.sum(axis=1))[0]
    of_row = (share * (values - of_column)).sum(axis=1)
    part = _parts(measured)
    of_part = np.where(measured.any(axis=1), part[measured.argmax(axis=1)], -1)
    for component in np.unique(
        part[measured.any(axis=0)]
    ):  # more in rows and less in columns is the same
        rows, columns = of_part == component, (part == component) & measured.any(axis=0)
        shift = (of_row[rows].sum() - of_column[columns].sum()) / (rows.sum() + columns.sum())
        of_row[rows] -= shift
        of_column[columns] += shift
    return of_row, of_column


def _parts(measured: Mask) -> NDArray[np.int64]:
    """Return the connected component of each column, joined by common rows, (columns,)."""
    together = (measured.T.astype(np.float64) @ measured) > 0.0
    part = np.arange(measured.shape[1])
    while True:
        least = np.where(together, part, part.size).min(axis=1, initial=part.size)
        joined = np.minimum(part, least)
        if (joined == part).all():
            return part
        part = joined


def _table_of_sheets(
    sheets: Sequence[DataSheet], precisions: NDArray[np.str_], cards: NDArray[np.str_]
) -> Floats:
    table = np.full((precisions.size, cards.size, len(SPECS)), np.nan)
    for sheet in sheets:
        column = int(np.searchsorted(cards, sheet.card))
        flops = [
            sheet.peak_flops_per_s.get(precision, np.nan) for precision in map(str, precisions)
        ]
        table[:, column, 0] = np.log(flops)
        table[:, column, 1:] = np.log([sheet.memory_bandwidth_bytes_per_s, sheet.memory_bytes])
    return table


def _check(samples_per_s: Floats, sheets: Sequence[DataSheet]) -> None:
    """Raise all problems of throughputs and data sheets in one error."""
    good = (samples_per_s >= SMALLEST) & (samples_per_s <= LARGEST)
    problems = [] if good.all() else [f"samples_per_s: {listed(samples_per_s, good)}"]
    for sheet in sheets:
        problems += [
            Text("the data sheet of {card}: {name} is {item}", card=sheet.card, name=name, item=x)
            for name, x in _bad(sheet)
        ]
    if problems:
        raise ValueError(
            Text(
                "{problems}. Each must be finite and above 0, from {smallest:g} to "
                "{largest:g}. Leave out unknown values.",
                problems="; ".join(problems),
                smallest=SMALLEST,
                largest=LARGEST,
            )
        )
    twice = [card for card, count in Counter(s.card for s in sheets).items() if count > 1]
    if twice:
        raise ValueError(
            Text(
                "{twice} has more than one data sheet. A card is one variant with one "
                "memory. Give each variant its own name, in the measurements too.",
                twice=", ".join(sorted(twice)),
            )
        )


def _bad(sheet: DataSheet) -> list[tuple[str, str]]:
    """Return the numbers of a sheet outside the limits, and a missing card name."""
    numbers: dict[str, object] = {
        Text("peak FLOP/s ({part})", part=p): flops for p, flops in sheet.peak_flops_per_s.items()
    }
    numbers["memory bandwidth [bytes/s]"] = sheet.memory_bandwidth_bytes_per_s
    numbers["memory [bytes]"] = sheet.memory_bytes
    bad = [(name, _text(x)) for name, x in numbers.items() if not _is_good(x)]
    return (
        bad if isinstance(sheet.card, str) else [("the name of the card", repr(sheet.card)), *bad]
    )


def _is_good(number: object) -> bool:
    return isinstance(number, int | float | np.number) and bool(SMALLEST <= number <= LARGEST)


def _text(number: object) -> str:
    return f"{number:g}" if isinstance(number, int | float | np.number) else repr(number)
