"""Back-test on result sets, half of them hidden, without public data.

Tasks for every result set: step times at a hidden batch, whole runs from their first epochs,
samples to target at a hidden batch, and step times on more devices than are shown. Hidden and
shown points are of the same systems, so the errors are of these measurements only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from backtest.data.source import Curve
from backtest.questions import (
    batch,
    convergence,
    devices,
    epochs,
)
from backtest.questions.figure import Row, with_means
from backtest.questions.watch import Watch, unwatched

MEAN_OF_SETS: Final = "mean of the result sets"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Data of one result set that can be hidden; `title` names it in the table.

    `step_times` are sweeps over the batch [s], `runs` have stored epochs, `samples` are samples to
    target over the batch, `workloads` were timed on several device counts.
    """

    title: str
    step_times: Sequence[Curve] = ()
    runs: Sequence[epochs.Run] = ()
    samples: Sequence[Curve] = ()
    workloads: Sequence[devices.Runs] = ()


def own_rows(sets: Sequence[Measured], watch: Watch = unwatched) -> list[Row]:
    """Return a row for every task, method and result set, and the means of several sets."""
    rows: list[Row] = []
    names = [result_set.title for result_set in sets]
    for answers in (
        [
            r
            for result_set in sets
            for r in batch.rows_of(result_set.title, result_set.step_times, watch)
        ],
        [
            r
            for result_set in sets
            for r in devices.rows_of(result_set.title, result_set.workloads, watch=watch)
        ],
        [
            r
            for result_set in sets
            for r in epochs.rows_of(result_set.title, result_set.runs, watch)
        ],
        [
            r
            for result_set in sets
            for r in convergence.rows_of(result_set.title, result_set.samples, watch)
        ],
    ):
        rows += with_means(answers, names, MEAN_OF_SETS)
    return rows
