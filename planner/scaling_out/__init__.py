"""Do more devices pay? The answer about one workload on one kind of system.

`_series` has the runs and the step times at every device count, `_answer` steps, crossovers, totals
and uneven workers, `_courses` their arrays for charts, `_sentences` the words. The laws are those
of `planner.scaling`.
"""

from planner.scaling_out._answer import (
    CountAnswer,
    Crossing,
    SeriesAnswer,
    SeriesQuestion,
    UnevenAnswer,
    answer_of,
    idle_device_s,
    later,
    outside,
    slow_answer,
)
from planner.scaling_out._courses import (
    CountCourse,
    batch_course,
    batch_grid,
    efficiency_course,
    part_shares,
    slow_course,
    step_course,
)
from planner.scaling_out._sentences import (
    batch_text,
    best_of,
    devices,
    host_sentence,
    host_share,
    limit_sentences,
    link_ratio,
    link_sentence,
    sentences,
    uneven_sentence,
)
from planner.scaling_out._series import DeviceSeries, Point, series_of
