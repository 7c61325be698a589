"""Reasoning about training time: pure functions over arrays and frozen records.

No Streamlit, no TensorFlow, no clock and no disk in here, except behind the one door
`planner.store`. The names below are the public surface.
"""

from planner.durations import hms, in_words
from planner.estimate import LEVEL, Estimate, Refusal
from planner.how_long import HowLong, Option, how_long, options_of
from planner.lines import Lines, fit_lines, predict_lines
from planner.projection import project, project_summary
from planner.ratios import TimedRun, ratio_report, systems_report
from planner.throughput import (
    ThroughputCurve,
    crossover_batch,
    fit_in_throughput_space,
    fit_throughput,
    published_curve,
)

__all__ = [
    "LEVEL",
    "Estimate",
    "HowLong",
    "Lines",
    "Option",
    "Refusal",
    "ThroughputCurve",
    "TimedRun",
    "crossover_batch",
    "fit_in_throughput_space",
    "fit_lines",
    "fit_throughput",
    "hms",
    "how_long",
    "in_words",
    "options_of",
    "predict_lines",
    "project",
    "project_summary",
    "published_curve",
    "ratio_report",
    "systems_report",
]
