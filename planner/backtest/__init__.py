"""How wrong are we? Public measurements, half hidden, asked of the product and of its rivals.

`all_rows(read)` answers every question; `planner.backtest.tables` makes docs/accuracy.md of it and
`planner.backtest.chosen` chooses the constants again with whole data sets left out. What was
measured comes through `planner.store.public_data`, the only part that knows a disk.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from planner.backtest import (
    batch,
    convergence,
    described,
    devices,
    epochs,
    regret,
    unmeasured,
)
from planner.backtest.rows import Row
from planner.backtest.source import Read
from planner.backtest.watch import Question, Watch, unwatched

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
