"""A pivot table: one statistic of a measure for each pair of two categories."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np

from planner.core import Floats
from planner.explore._columns import Category
from planner.explore._points import Indices, Mask, limited

MOST_ROWS: Final = 40
MOST_COLUMNS: Final = 20
COUNT: Final = "count"
STATISTICS: Final[Mapping[str, Callable[[Floats], float]]] = MappingProxyType(
    {
        "median": lambda v: float(np.median(v)),
        "mean": lambda v: float(np.mean(v)),
        "min": lambda v: float(np.min(v)),
        "max": lambda v: float(np.max(v)),
        "p10": lambda v: float(np.quantile(v, 0.1)),
        "p90": lambda v: float(np.quantile(v, 0.9)),
        "sd": lambda v: float(np.std(v, ddof=1)) if v.size > 1 else float("nan"),
        COUNT: lambda v: float(v.size),
    }
)
"""Statistics of a cell; `sd` needs two runs."""
STATISTIC_WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "median": "Median", "mean": "Mean", "min": "Smallest", "max": "Largest",
        "p10": "10 % quantile", "p90": "90 % quantile", "sd": "Standard deviation",
        COUNT: "Count of runs",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Pivot:
    """The cells of a pivot table, in the unit of `values`; NaN where no run has a value.

    `cells` and `counts` have shape (rows, columns); `of_rows`, `of_columns` and `of_all` are the
    statistic over a whole row, column, and over all runs, which are at `places` of the table of
    runs. `left_out` counts runs whose row or column is missing.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: Floats
    counts: Indices
    of_rows: Floats
    of_columns: Floats
    of_all: float
    places: Indices
    left_out: int

    @property
    def runs(self) -> int:
        """How many runs it is of."""
        return int(self.places.size)


def pivot_of(
    rows: Category, columns: Category | None, values: Floats, chosen: Mask, statistic: str
) -> Pivot:
    """Return the table of the chosen runs with a value.

    Args:
        rows: category of the rows.
        columns: category of the columns; None for one column.
        values: the measure, shape (runs,), NaN where a run has none.
        chosen: runs that the filters leave.
        statistic: a key of `STATISTICS`.
    """
    stated = chosen & np.isfinite(values)
    if columns is None:
        columns = Category(codes=np.zeros(values.shape, dtype=np.int64), labels=("All",))
    used = stated & (rows.codes >= 0) & (columns.codes >= 0)
    rows = limited(rows, used, MOST_ROWS)
    columns = limited(columns, used, MOST_COLUMNS)
    down, across, numbers = rows.codes[used], columns.codes[used], values[used]
    shape = (len(rows.labels), len(columns.labels))
    cells, counts = np.full(shape, np.nan), np.zeros(shape, dtype=np.int64)
    compute = STATISTICS[statistic]
    for place, group in _grouped(down * shape[1] + across, numbers):
        at = divmod(place, shape[1])
        cells[at], counts[at] = compute(group), group.size
    return Pivot(
        rows=rows.labels,
        columns=columns.labels,
        cells=cells,
        counts=counts,
        of_rows=_over(down, numbers, shape[0], compute),
        of_columns=_over(across, numbers, shape[1], compute),
        of_all=compute(numbers) if numbers.size else float("nan"),
        places=np.flatnonzero(used).astype(np.int64),
        left_out=int(stated.sum() - used.sum()),
    )


def _over(codes: Indices, values: Floats, size: int, compute: Callable[[Floats], float]) -> Floats:
    values_of = np.full(size, np.nan)
    for place, group in _grouped(codes, values):
        values_of[place] = compute(group)
    return values_of


def _grouped(codes: Indices, values: Floats) -> list[tuple[int, Floats]]:
    order = np.argsort(codes, kind="stable")
    distinct, starts = np.unique(codes[order], return_index=True)
    parts = np.split(values[order], starts[1:])
    return [(int(c), part) for c, part in zip(distinct, parts, strict=True)] if codes.size else []
