"""The efficiency (model FLOPs utilisation) that a described workload reaches, from published runs.

`efficiency_of` answers a `Question` (family, size, precision, batch, accelerator, count) with the
share of the half-precision peak, its uncertainty, and what the uncertainty is made of;
`quantiles` gives its quantiles. `python -m planner mfu DIR` fits the constants again
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

__all__ = [
    "Efficiency",
    "Question",
    "efficiency_of",
    "expected",
    "has_rows",
    "quantiles",
    "sharing_names",
]
