"""The efficiency (model FLOPs utilisation) that a described workload reaches, from published runs.

`efficiency_of` answers an `MfuQuestion` (family, size, precision, batch, accelerator, count) with
the share of the half-precision peak, its uncertainty, and the parts of the uncertainty;
`quantiles` gives its quantiles. `after_step` takes a timed step of the workload into account.
`python -m planner mfu DIR` fits the constants again
(docs/efficiency.md). docs/decisions/0033-efficiency-of-described-jobs.md has the reasons.
"""

from planner.mfu._fit import TAILS, Fitted, fitted
from planner.mfu._images import ImageParts, parts_of
from planner.mfu._model import (
    ALONE,
    CONSTANTS,
    EVERYTHING,
    REPEAT_SD,
    WHO,
    WIDER,
    Efficiency,
    Fit,
    after_step,
    benchmark_factor,
    efficiency_of,
    expected,
    gain_of,
    has_rows,
    log_value,
    most_of,
    predicted,
    quantiles,
    sd_after,
    sd_left,
    shared_by,
    shared_of,
    sharing_names,
    shipped,
    written_fit,
)
from planner.mfu._questions import (
    DOMAIN_OF,
    DOMAINS,
    VERY_LONG,
    Domain,
    MfuQuestion,
    chip_of,
    generation_label,
    generation_name,
    generation_of,
    node_size,
    traits_of,
)
