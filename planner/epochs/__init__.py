"""How long N epochs take, from the few that were measured.

`projection` gives the total with its interval, `how_long` ranks the options of a question,
`_ratios` compares two systems. `epoch_size` converts epochs of other sizes, `steadiness` finds
where a run changed.
"""

from planner.epochs._ratios import (
    MEASURE_AGAIN,
    UNDECIDED,
    RatioReport,
    RunTimes,
    SpeedUp,
    systems_of,
)
from planner.epochs.epoch_size import (
    ADD_TIMED,
    MOST_SAMPLES,
    SAME,
    SAMPLES_PER_EPOCH,
    UNLIKE,
    EpochSize,
    in_samples,
    needs_field,
    timed_samples,
)
from planner.epochs.how_long import (
    EPOCHS,
    INFERENCE,
    MOST_CHOSEN,
    MOST_EPOCHS,
    MOST_LINES,
    NO_SIZE,
    PREFERRED,
    QUICK,
    HowLong,
    Option,
    OptionTotal,
    basis_in_words,
    chart_epochs,
    epochs_in_words,
    first_projected,
    from_epoch_1,
    is_converted,
    is_rough,
    later_epoch_time,
    measured_epochs,
    of_several_kinds,
    offered,
    options_of,
    start_left_out,
    total_time,
    usual_options,
    with_epochs,
    with_sizes,
    without_start,
)
from planner.epochs.projection import (
    EPOCHS_TO_MEASURE,
    MAX_CV,
    QUIETEST,
    SESSION_DOF,
    SESSION_SD,
    SETS_SD,
    START_NOT_INCLUDED,
    Scatter,
    project,
    project_summary,
    scatter_sums,
    scatters,
    session_half_width,
    variation_of,
)
from planner.epochs.steadiness import CHANGE, NORMAL, SHORTEST, Steadiness
