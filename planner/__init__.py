"""Reasoning about training time: pure functions over arrays and frozen records.

No Streamlit, no TensorFlow, no clock and no disk in here, except behind the one door
`planner.store`. The names below are the public surface; `planner.compare(...)` is the question of
the page Compare hardware in Python, and reads results and catalogue when it is called. Names are
imported on first use: `planner.record` runs in training scripts, without scipy.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from planner.answers import compare as compare
    from planner.convergence import (
        ConvergenceCurve,
        best_learning_rates,
        fit_convergence,
        steps_to_target,
    )
    from planner.core import LEVEL, Estimate, Refusal, hms, in_words
    from planner.effects import FactorEffect, factor_effects
    from planner.epochs import (
        HowLong,
        Option,
        Steadiness,
        options_of,
        project,
        project_summary,
    )
    from planner.epochs.how_long import how_long
    from planner.epochs.steadiness import steadiness
    from planner.fits import Lines, fit_lines, predict_lines
    from planner.scaling import CountCurve, ScalingCurve, at_count, fit_scaling
    from planner.suspects import Flag, suspects
    from planner.throughput import (
        ThroughputCurve,
        crossover_batch,
        fit_in_throughput_space,
        fit_throughput,
        published_curve,
    )
    from planner.time_to_target import Frontier, best_batch, minimum_time, time_to_target
    from planner.time_to_target.frontier import frontier
    from planner.time_to_target.goodput import goodput
    from planner.transfer import Cell, DataSheet, Transferred, fit_library, transfer

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
    "Transferred",
    "at_count",
    "best_batch",
    "best_learning_rates",
    "compare",
    "crossover_batch",
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
    "steadiness",
    "steps_to_target",
    "suspects",
    "time_to_target",
    "transfer",
]

_HOMES: Final = (
    "epochs.how_long", "epochs.steadiness", "time_to_target.frontier", "time_to_target.goodput",
    "core", "convergence", "effects", "epochs", "fits", "scaling", "suspects", "throughput",
    "time_to_target", "transfer",
)  # fmt: skip
"""Modules with the public names; functions before the packages that hold their modules."""


class _Compare(ModuleType):
    """The package `planner.compare`, which answers when it is called."""

    def __call__(self, network: str | None = None, **question: Any) -> Any:  # noqa: ANN401 - as there
        """Return the comparison, see `planner.answers.compare`."""
        from planner.answers import compare as answer

        return answer(network, **question)


class _Planner(ModuleType):
    """This package: its part `compare` can be called, whoever imports it first."""

    def __setattr__(self, name: str, value: object) -> None:
        if name == "compare" and isinstance(value, ModuleType):
            value.__class__ = _Compare
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Planner


def __getattr__(name: str) -> object:
    if name == "compare":
        return import_module("planner.compare")
    if name in __all__:
        for home in _HOMES:
            value = vars(import_module(f"planner.{home}")).get(name)
            if value is not None and not isinstance(value, ModuleType):
                return value
    raise AttributeError(name, name=name, obj=sys.modules[__name__])
