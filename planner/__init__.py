"""Reasoning about training time: pure functions over arrays and frozen records.

No Streamlit, no TensorFlow, no clock and no disk in here, except behind the one door
`planner.store`. The names below are the public surface; `planner.compare(...)` is the question of
the page Compare hardware in Python, and reads results and catalogue when it is called.
"""

from typing import TYPE_CHECKING

from planner.convergence import ConvergenceCurve, fit_convergence
from planner.crossover import crossover_batch
from planner.durations import hms, in_words
from planner.effects import FactorEffect, factor_effects
from planner.estimate import LEVEL, Estimate, Refusal
from planner.frontier import Frontier, frontier
from planner.goodput import best_batch, goodput, minimum_time, time_to_target
from planner.how_long import HowLong, Option, how_long, options_of
from planner.lines import Lines, fit_lines, predict_lines
from planner.projection import project, project_summary
from planner.ratios import TimedRun, ratio_report, systems_report
from planner.scaling import ScalingCurve, fit_scaling
from planner.scaling_count import CountCurve, at_count
from planner.steadiness import Steadiness, steadiness
from planner.suspects import Flag, suspects
from planner.targets import best_learning_rates, steps_to_target
from planner.throughput import ThroughputCurve, fit_throughput, published_curve
from planner.throughput_space import fit_in_throughput_space
from planner.transfer import Cell, DataSheet, Transferred, decide, fit_library, transfer

if TYPE_CHECKING:
    from planner.comparing import compare as compare
else:
    from planner import compare

__all__ = [
    "LEVEL",
    "Cell",
    "ConvergenceCurve",
    "CountCurve",
    "DataSheet",
    "Estimate",
    "FactorEffect",
    "Flag",
    "Frontier",
    "HowLong",
    "Lines",
    "Option",
    "Refusal",
    "ScalingCurve",
    "Steadiness",
    "ThroughputCurve",
    "TimedRun",
    "Transferred",
    "at_count",
    "best_batch",
    "best_learning_rates",
    "compare",
    "crossover_batch",
    "decide",
    "factor_effects",
    "fit_convergence",
    "fit_in_throughput_space",
    "fit_library",
    "fit_lines",
    "fit_scaling",
    "fit_throughput",
    "frontier",
    "goodput",
    "hms",
    "how_long",
    "in_words",
    "minimum_time",
    "options_of",
    "predict_lines",
    "project",
    "project_summary",
    "published_curve",
    "ratio_report",
    "steadiness",
    "steps_to_target",
    "suspects",
    "systems_report",
    "time_to_target",
    "transfer",
]
