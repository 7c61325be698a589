"""Samples per second at a batch size: the law v(b) = v0 b / (b + v0 t).

`fit` fits it and predicts, `crossover` computes where two systems are equally fast,
and `curves` makes the curves of all systems.
"""

from planner.fits import NARROW, TOO_FAR
from planner.throughput.crossover import crossover_batch, difference_variance
from planner.throughput.curves import (
    SystemCurve,
    TimedSteps,
    count,
    crossover_line,
    crossover_sentence,
    curve_rows,
    curve_sentence,
    curves_of,
    limit_of,
    pattern_labels,
    point_rows,
    rounded_cell,
    rounded_estimate,
    size,
    systems_of,
    systems_with_curves,
    usual_systems,
    with_interval,
    with_step_times,
)
from planner.throughput.fit import (
    FALL,
    FAR,
    MAX_SCATTER,
    ThroughputCurve,
    fit_in_throughput_space,
    fit_throughput,
    published_curve,
)
