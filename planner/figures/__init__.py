"""Every chart of the product, drawn without a browser; only this package uses plotly.

Observed points are markers, fits are lines, bands have the line's colour, and parts beyond the
measurements are dashed and grey. Labels are at the line ends, pushed apart where lines meet.
"""

from planner.figures.as_text import cell_text, chart_text, table_text
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
from planner.figures.frame import CONFIG, ChartSpec, UncheckedFigure
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
from planner.figures.steps_to_target import (
    Borders,
    StatedLine,
    StepsLine,
    TargetTimeLine,
    stated_times,
    steps_to_target,
    time_to_target,
)
from planner.figures.still import svg
from planner.figures.styles import style_sheet
from planner.figures.throughput import Points, ThroughputLine, residuals, throughput
from planner.figures.tiles import (
    Markup,
    Tile,
    card,
    number_tile,
    refused_tile,
    share_text,
    share_tile,
    text_tile,
    time_tile,
)
from planner.figures.total_time import TimeLine, epoch_times, total_time

__all__ = [
    "BASIS_SYMBOLS",
    "CONFIG",
    "Bar",
    "Borders",
    "Bounds",
    "ChartSpec",
    "CountLine",
    "Cuts",
    "Dot",
    "Markup",
    "Points",
    "Scale",
    "Share",
    "Spot",
    "StatedLine",
    "StepLine",
    "StepShares",
    "StepsLine",
    "TargetTimeLine",
    "ThroughputLine",
    "Tile",
    "TimeLine",
    "UncheckedFigure",
    "UseAxes",
    "UseLine",
    "card",
    "cell_text",
    "chart_text",
    "dots",
    "efficiency",
    "efficiency_by_devices",
    "epoch_times",
    "grey_words",
    "interval_of_epochs",
    "memory_of_cuts",
    "number_tile",
    "refused_tile",
    "rent_or_buy",
    "residuals",
    "share_text",
    "share_tile",
    "shares",
    "stated_times",
    "step_by_batch",
    "step_by_devices",
    "steps_to_target",
    "style_sheet",
    "svg",
    "table_text",
    "text_tile",
    "throughput",
    "time_cost",
    "time_tile",
    "time_to_target",
    "tornado",
    "total_time",
    "uneven",
    "unlike_neighbours",
]
