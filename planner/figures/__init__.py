"""Every chart of the product, drawn without a browser; only this package uses plotly.

Observed points are markers, fits are lines, bands have the line's colour, and parts beyond the
measurements are dashed and grey. Labels are at the line ends, pushed apart where lines meet.
"""

from planner.figures.compare import (
    BASIS_SYMBOLS,
    Bar,
    Bounds,
    Spot,
    UseAxes,
    UseLine,
    grey_words,
    rent_or_buy,
    time_cost,
    tornado,
)
from planner.figures.frame import CONFIG, ChartSpec, UncheckedFigure, html
from planner.figures.method import (
    Dot,
    Scale,
    Share,
    dots,
    efficiency,
    interval_of_epochs,
    unlike_neighbours,
)
from planner.figures.scaling_out import (
    CountLine,
    Cuts,
    StepLine,
    StepShares,
    efficiency_by_devices,
    memory_of_cuts,
    shares,
    step_by_batch,
    step_by_devices,
    uneven,
)
from planner.figures.select import MOST_SERIES, Form, Series, selected
from planner.figures.steps_to_target import (
    Borders,
    StatedLine,
    StepsLine,
    TargetTimeLine,
    stated_times,
    steps_to_target,
    time_to_target,
)
from planner.figures.throughput import Points, ThroughputLine, residuals, throughput
from planner.figures.total_time import TimeLine, epoch_times, total_time

__all__ = [
    "BASIS_SYMBOLS",
    "CONFIG",
    "MOST_SERIES",
    "Bar",
    "Borders",
    "Bounds",
    "ChartSpec",
    "CountLine",
    "Cuts",
    "Dot",
    "Form",
    "Points",
    "Scale",
    "Series",
    "Share",
    "Spot",
    "StatedLine",
    "StepLine",
    "StepShares",
    "StepsLine",
    "TargetTimeLine",
    "ThroughputLine",
    "TimeLine",
    "UncheckedFigure",
    "UseAxes",
    "UseLine",
    "dots",
    "efficiency",
    "efficiency_by_devices",
    "epoch_times",
    "grey_words",
    "html",
    "interval_of_epochs",
    "memory_of_cuts",
    "rent_or_buy",
    "residuals",
    "selected",
    "shares",
    "stated_times",
    "step_by_batch",
    "step_by_devices",
    "steps_to_target",
    "throughput",
    "time_cost",
    "time_to_target",
    "tornado",
    "total_time",
    "uneven",
    "unlike_neighbours",
]
