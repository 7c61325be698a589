"""Runs: the columns of the run table, their checks, and records of a row.

`_schema` is the table of columns, `_records` checks rows against it, and `_run` is the frozen
summary for the planner. `_trials` has evaluations of trainings to a target, `later_epochs`
predicts epochs from a few measured ones. Nothing here reads a disk.
What needs numpy is imported on first use.
"""

from typing import TYPE_CHECKING

from planner.core import on_first_use
from planner.runs._records import (
    RecordError,
    Row,
    check_rows,
    complete,
    list_problem,
    run_id,
    table_from_rows,
)
from planner.runs._schema import (
    ARROW_SCHEMA,
    BY_NAME,
    COLUMNS,
    EPOCH,
    EVALUATION,
    IDENTITY,
    NESTED,
    REAL,
    SCHEMA_VERSION,
    STEP,
    SUMMARY,
    TIME,
    WHOLE,
    Column,
    as_current,
    has_kinds,
)

if TYPE_CHECKING:
    from planner.runs._run import (
        PER_NODE,
        READ,
        CheckedRun,
        FormRun,
        Placement,
        Run,
        case_of,
        checked_run,
        configuration_of,
        dataset_size,
        form_rows,
        grouped,
        is_positive,
        is_stand_in,
        numbered,
    )
    from planner.runs._trials import NO_OPTIMIZER, Trials, TrialSet, no_trials, trials_of
    from planner.runs.later_epochs import (
        DRIFT,
        EPOCHS,
        NU0,
        RHO,
        SD0,
        SEEN,
        SETTLED,
        EpochPrior,
        LaterEpochs,
    )
else:
    __getattr__ = on_first_use(__name__, "_run", "_trials", "later_epochs")
