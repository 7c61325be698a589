"""Step times on several devices: strong and weak scaling, and the limit of the link.

`fit` fits the step time over batch, devices and nodes; `_curve` and `answers` predict from it.
`_law` predicts where runs do not determine a form of their own. `_one_count` is the curve over the
batch at one device count, and `_runs` makes all of it from runs.
"""

from planner.scaling._one_count import (
    CountCurve,
    Launched,
    at_count,
    at_place,
)
from planner.scaling._runs import Scaled, scaling_of
from planner.scaling._terms import DOF, Places, growth
from planner.scaling.answers import (
    KAPPA,
    SpeedUp,
    places_of,
)
from planner.scaling.fit import (
    FADING,
    ScalingCurve,
    fit_scaling,
)

__all__ = [
    "DOF",
    "FADING",
    "KAPPA",
    "CountCurve",
    "Launched",
    "Places",
    "Scaled",
    "ScalingCurve",
    "SpeedUp",
    "at_count",
    "at_place",
    "fit_scaling",
    "growth",
    "places_of",
    "scaling_of",
]
