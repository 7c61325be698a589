"""The data that a page was made from, which the page states."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from backtest.questions.figure import Row
from backtest.questions.source_table import PUBLIC_DATA


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The folder, as a page names it, and what it lacks.

    `missing` are public data sets without a figure. `result_sets` is True if result sets were
    read. `skipped` counts rows, files and questions that could not be used.
    """

    folder: str
    missing: tuple[str, ...] = ()
    result_sets: bool = False
    skipped: int = 0

    @property
    def whole(self) -> bool:
        """Whether all public data sets and nothing else were read, as for the shipped pages."""
        return not self.missing and not self.result_sets and not self.skipped

    @property
    def public(self) -> bool:
        """Whether any public data set was read."""
        return len(self.missing) < len(_public_names())


def origin_of(
    folder: str, rows: Iterable[Row], result_sets: Collection[str], skipped: int = 0
) -> Origin:
    """Return the origin of rows; `result_sets` are titles of result sets among the data sets."""
    present = {row.data_set for row in rows} - set(result_sets)
    missing = tuple(name for name in _public_names() if name not in present)
    return Origin(folder=folder, missing=missing, result_sets=bool(result_sets), skipped=skipped)


def _public_names() -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for source in PUBLIC_DATA for name in source.data_sets))
