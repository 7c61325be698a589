"""How wrong are we? Public measurements, half hidden, predicted by the product and its rivals.

`all_rows(read)` answers every question; `backtest.accuracy.page` makes docs/accuracy.md of it and
`backtest.choose.chosen` chooses the constants again with whole data sets left out. What was
measured comes through `backtest.accuracy.public_data`, the only part that knows a disk.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from backtest.data.source import Read
from backtest.questions import (
    batch,
    convergence,
    described,
    devices,
    epochs,
    regret,
    unmeasured,
)
from backtest.questions.figure import Row
from backtest.questions.watch import Question, Watch, unwatched

QUESTIONS: Final[Mapping[str, Question]] = {
    batch.QUESTION: batch.batch_rows,
    devices.QUESTION: devices.devices_rows,
    epochs.QUESTION: epochs.epochs_rows,
    convergence.QUESTION: convergence.convergence_rows,
    unmeasured.QUESTION: unmeasured.unmeasured_rows,
    described.QUESTION: described.described_rows,
    regret.QUESTION: regret.regret_rows,
}
"""Every question and what answers it, in the order of the page."""


def all_rows(read: Read, watch: Watch = unwatched) -> list[Row]:
    """Every figure of the accuracy table; data sets that are missing have none."""
    return [row for answer in QUESTIONS.values() for row in answer(read, watch)]
