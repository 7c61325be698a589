"""Throughput and steps-to-target laws combined: the fastest batch and device count.

`goodput` finds the best batch and compares optimisers, `_families` compares networks, `frontier`
has the Pareto-optimal device counts in time and device-hours. `_reference` has MLPerf's published
steps to target. `sentences` and `tables` word the answers, `_stated` the times that published
runs state.
"""

from planner.time_to_target._families import (
    Families,
    alike,
    easiest_target,
    families_of,
    family_batch_rows,
    family_rows,
    family_sentences,
)
from planner.time_to_target._reference import (
    CAUTION,
    PACKAGE,
    Edition,
    ReferencePoints,
    benchmark_of,
    comparison_of,
    editions_of,
    goal_of_reference,
    point_rows,
    read_points,
    summary_of,
)
from planner.time_to_target._stated import (
    stated_lead,
    stated_name,
    stated_rows,
    stated_sentences,
    with_stated,
)
from planner.time_to_target.frontier import Frontier
from planner.time_to_target.goodput import (
    BatchTiming,
    OptimizerComparison,
    OptimizerCurve,
    PlacedTimes,
    ReferenceSystem,
    StandIn,
    best_batch,
    compare,
    minimum_time,
    steps_grid,
    time_line,
    time_to_target,
    timings_of,
)
from planner.time_to_target.sentences import (
    TargetWords,
    caution_of,
    fastest_two,
    goal_of,
    refused_text,
)
from planner.time_to_target.tables import efficiency_sentence, way_rows
