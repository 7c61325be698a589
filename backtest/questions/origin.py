"""Of which data a page was made, so that it can say so and claim nothing of others."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from backtest.questions.figure import Row
from backtest.questions.source_table import PUBLIC_DATA


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """`folder` as a page names it; `whole` where every public data set was there and no other.

    `missing` are public data sets without a figure; all of them where only result sets were read.
    `skipped` counts rows, files and questions that were left out because they could not be used.
    """

    folder: str
    missing: tuple[str, ...] = ()
    result_sets: bool = False
    skipped: int = 0

    @property
    def whole(self) -> bool:
        """Whether the pages that ship may be made of it."""
        return not self.missing and not self.result_sets and not self.skipped

    @property
    def public(self) -> bool:
        """Whether any public data set was there."""
        return len(self.missing) < len(_public_names())


def origin_of(
    folder: str, rows: Iterable[Row], result_sets: Collection[str], skipped: int = 0
) -> Origin:
    """What the rows were made of; `result_sets` are the titles of those among the data sets."""
    found = {row.data_set for row in rows} - set(result_sets)
    missing = tuple(name for name in _public_names() if name not in found)
    return Origin(folder=folder, missing=missing, result_sets=bool(result_sets), skipped=skipped)


def _public_names() -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for one in PUBLIC_DATA for name in one.data_sets))
