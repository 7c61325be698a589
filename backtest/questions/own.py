"""Result sets, half of them hidden: the questions of the back-test that need no public data.

Of every result set: step times at a batch left out, whole runs from their first epochs, samples to
a target at a batch left out, and step times on more devices than are shown. What is hidden was
measured on the same systems as what is shown, so this says how well the product does on your own
measurements, and not how it does elsewhere.
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
    """What one result set holds that can be hidden; `title` names it in the table.

    `step_times` are sweeps over the batch [s], `runs` have their epochs kept, `samples` are
    samples to a target over the batch, and `workloads` were timed on several numbers of devices.
    """

    title: str
    step_times: Sequence[Curve] = ()
    runs: Sequence[epochs.Run] = ()
    samples: Sequence[Curve] = ()
    workloads: Sequence[devices.Runs] = ()


def own_rows(sets: Sequence[Measured], watch: Watch = unwatched) -> list[Row]:
    """A row for every task, method and result set, and the means of several sets."""
    rows: list[Row] = []
    names = [one.title for one in sets]
    for answers in (
        [r for one in sets for r in batch.rows_of(one.title, one.step_times, watch)],
        [r for one in sets for r in devices.rows_of(one.title, one.workloads, watch=watch)],
        [r for one in sets for r in epochs.rows_of(one.title, one.runs, watch)],
        [r for one in sets for r in convergence.rows_of(one.title, one.samples, watch)],
    ):
        rows += with_means(answers, names, MEAN_OF_SETS)
    return rows
