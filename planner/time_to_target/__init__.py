"""Throughput and steps-to-target laws combined: the fastest batch and device count.

`goodput` finds the best batch, `frontier` and `_ways` the Pareto-optimal device counts in time and
device-hours, `_optimizer_curves` compares optimisers. `_reference_points` are MLPerf's published
steps to target. `sentences` and `tables` word the answers.
"""

from planner.time_to_target._optimizer_curves import (
    Comparison,
    OptimizerCurve,
    Timing,
    compare,
    steps_grid,
    time_line,
)
from planner.time_to_target._placed_times import (
    Place,
    PlacedTimes,
    StandIn,
    timings_of,
)
from planner.time_to_target._reference_benchmarks import benchmark_of
from planner.time_to_target._reference_data import PACKAGE, read_points
from planner.time_to_target._reference_points import (
    CAUTION,
    Edition,
    ReferencePoints,
    comparison_of,
    editions_of,
)
from planner.time_to_target._reference_tables import goal_of_reference, point_rows, summary_of
from planner.time_to_target._way_tables import efficiency_sentence, way_rows
from planner.time_to_target.frontier import (
    Frontier,
)
from planner.time_to_target.goodput import (
    best_batch,
    minimum_time,
    product,
    time_to_target,
)
from planner.time_to_target.sentences import (
    Goal,
    caution_of,
    goal_of,
    refused_text,
)

__all__ = [
    "CAUTION",
    "PACKAGE",
    "Comparison",
    "Edition",
    "Frontier",
    "Goal",
    "OptimizerCurve",
    "Place",
    "PlacedTimes",
    "ReferencePoints",
    "StandIn",
    "Timing",
    "benchmark_of",
    "best_batch",
    "caution_of",
    "compare",
    "comparison_of",
    "editions_of",
    "efficiency_sentence",
    "goal_of",
    "goal_of_reference",
    "minimum_time",
    "point_rows",
    "product",
    "read_points",
    "refused_text",
    "steps_grid",
    "summary_of",
    "time_line",
    "time_to_target",
    "timings_of",
    "way_rows",
]
