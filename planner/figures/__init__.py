"""Every chart of the product, drawn without a browser: plotly lives in this room alone.

Observed points are markers, fits are lines, bands take the line's colour, and what lies beyond
the measurements is dashed and grey. Labels stand at the line ends, pushed apart where lines meet.
"""

from planner.figures.frame import CONFIG, html
from planner.figures.run import epoch_times
from planner.figures.throughput import ThroughputLine, residuals, throughput
from planner.figures.total_time import TimeLine, total_time

__all__ = [
    "CONFIG",
    "ThroughputLine",
    "TimeLine",
    "epoch_times",
    "html",
    "residuals",
    "throughput",
    "total_time",
]
