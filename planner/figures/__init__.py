"""Every chart of the product, drawn without a browser: plotly lives in this room alone.

Observed points are markers, fits are lines, bands take the line's colour, and what lies beyond
the measurements is dashed and grey. Labels stand at the line ends, pushed apart where lines meet.
"""

from planner.figures.frame import CONFIG, html
from planner.figures.run import epoch_times
from planner.figures.steps_to_target import (
    Borders,
    StepsLine,
    TargetTimeLine,
    steps_to_target,
    time_to_target,
)
from planner.figures.throughput import Points, ThroughputLine, residuals, throughput
from planner.figures.total_time import TimeLine, total_time

__all__ = [
    "CONFIG",
    "Borders",
    "Points",
    "StepsLine",
    "TargetTimeLine",
    "ThroughputLine",
    "TimeLine",
    "epoch_times",
    "html",
    "residuals",
    "steps_to_target",
    "throughput",
    "time_to_target",
    "total_time",
]
