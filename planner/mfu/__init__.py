"""The efficiency (model FLOPs utilisation) that a described workload reaches, from published runs.

`efficiency_of` answers a `Question` (family, size, precision, batch, accelerator, count) with the
share of the half-precision peak, its uncertainty, and what the uncertainty is made of;
`quantiles` gives its quantiles. `after_step` takes a timed step of the workload into account.
`python -m planner mfu DIR` fits the constants again
(docs/efficiency.md). docs/decisions/0033-efficiency-of-described-jobs.md says why it is so.
"""

from planner.mfu.model import (
    Efficiency,
    efficiency_of,
    expected,
    has_rows,
    quantiles,
    sharing_names,
)
from planner.mfu.questions import Question
from planner.mfu.step import EVERYTHING, after_step, sd_after

__all__ = [
    "EVERYTHING",
    "Efficiency",
    "Question",
    "after_step",
    "efficiency_of",
    "expected",
    "has_rows",
    "quantiles",
    "sd_after",
    "sharing_names",
]
