"""Step times on several devices: strong and weak scaling, and the limit of the link.

`fit` fits the step time over batch, devices and nodes; `answers` predicts with the curve. `_terms`
are the terms of the form, and a law where runs do not determine one. `_runs` makes curves from
runs. `_own` weighs the common law with the line of one device count.
`crossover` is the batch from which more devices are faster, `_uneven` the law of unequal workers.
"""

from planner.scaling._own import WEIGHED, has_own_line, weighed
from planner.scaling._runs import (
    SPLIT,
    CountCurve,
    Launched,
    Scaled,
    at_count,
    at_place,
    scaling_of,
    scaling_through,
)
from planner.scaling._terms import CROSSED_LOSS, CROSSED_SD, DOF, PUBLISHED, StepPlaces, growth
from planner.scaling._uneven import (
    Asynchronous,
    Workers,
    asynchronous,
    expected_slowest,
    over_link,
    ring_step_s,
    ring_traffic_bytes,
    server_limit,
    synchronous_step_s,
    time_ratio,
    update_ratio,
    workers,
)
from planner.scaling.answers import (
    GROWTH_SD,
    KAPPA,
    MEASURE_LINK,
    DeviceSpeedUp,
    ScalingCurve,
    assumed_share,
    places_of,
)
from planner.scaling.crossover import StepParts, crossover, step_parts
from planner.scaling.fit import FADING, fit_scaling
