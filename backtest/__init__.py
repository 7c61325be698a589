"""Back-test: public measurements, half of them hidden, predicted by the product and its rivals.

`QUESTIONS` answers each with rows; `backtest.accuracy.page` makes docs/accuracy.md from them.
`backtest.choose.constants` chooses the constants again with whole data sets left out. Only
`backtest.accuracy.public_data` reads the disk.
"""

from collections.abc import Mapping
from typing import Final

from backtest.questions import batch, convergence, described, devices, epochs, regret, unmeasured
from backtest.questions.figure import FigureQuestion

QUESTIONS: Final[Mapping[str, FigureQuestion]] = {
    batch.QUESTION: batch.batch_rows,
    devices.QUESTION: devices.devices_rows,
    epochs.QUESTION: epochs.epochs_rows,
    convergence.QUESTION: convergence.convergence_rows,
    unmeasured.QUESTION: unmeasured.unmeasured_rows,
    described.QUESTION: described.described_rows,
    regret.QUESTION: regret.regret_rows,
}
"""Functions by question, in the order of the page."""
