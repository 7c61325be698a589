"""A job, and how fast it would train on hardware where it was not timed.

`_job` is what is to be trained, `_records` the ways to get it done. `rates` finds the speed on a
candidate: measured, transferred from another accelerator, or from a model of efficiency.
`_memory` says whether it fits, `_times` how long the job takes, with the uncertainty of each step.
"""

from planner.job._job import (
    Described,
    GivenStep,
    job_described,
    job_measured,
    library_at,
    usual_batch,
    work_sentences,
)
from planner.job._memory import (
    MOST_SHARDS,
    TIGHT,
    activations_on,
    fit_of,
    gigabytes,
    has_room,
    least_count,
    unknown_optimizer,
    usable_bytes,
    whole_state,
)
from planner.job._placing import library_of, machines_for, peak_of, placed
from planner.job._records import (
    OWN_ENTRY,
    WAY_WORDS,
    Candidate,
    Goal,
    Hardware,
    Job,
    MemoryFit,
    NextMeasurement,
    Order,
    Timed,
    TimedStep,
    Way,
)
from planner.job._stated import StatedTime, stated_interval, stated_times
from planner.job._times import OwnTarget, TimeSources, parts_of, timed, work_draws
from planner.job.efficiency import has_links, per_accelerator
from planner.job.rates import (
    MFU,
    MFU_SD,
    OVERHEAD_S,
    efficiency_with_step,
    expected_rate,
    has_efficiency,
    question_of,
    timed_share,
)
from planner.job.utilization import sentence, shares, utilizations
from planner.runs import PER_NODE
