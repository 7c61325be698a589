"""Sources of the public measurements of the back-test.

The data are not part of this project; this table states their origin and licence.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

from backtest.questions.figure import FigureRow
from planner.core import shipped_rows, texts_in


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicData:
    """A public data set: `folder` is its name in the folder of data sets.

    `data_sets` are its names in the accuracy table (none if it only helps), `questions` the
    questions that it answers.
    """

    folder: str
    title: str
    origin: str
    licence: str
    holds: str
    data_sets: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()


PUBLIC_DATA: Final = tuple(
    PublicData(**row)
    for row in shipped_rows(__package__, "public_data.csv", data_sets=texts_in, questions=texts_in)
)
"""In the order of the back-test's questions."""


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
    folder: str, rows: Iterable[FigureRow], result_sets: Collection[str], skipped: int = 0
) -> Origin:
    """Return the origin of rows; `result_sets` are titles of result sets among the data sets."""
    present = {row.data_set for row in rows} - set(result_sets)
    missing = tuple(name for name in _public_names() if name not in present)
    return Origin(folder=folder, missing=missing, result_sets=bool(result_sets), skipped=skipped)


def _public_names() -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for source in PUBLIC_DATA for name in source.data_sets))
