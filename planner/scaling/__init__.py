"""Step times on several devices: strong and weak scaling, and the limit of the link.

`fit` fits the step time over batch, devices and nodes; `answers` predicts from it. `_terms` are the
terms of the form, and a law where runs do not determine one. `_runs` makes curves from runs.
`links` predicts the step over a link of a stated rate.
"""

from planner.scaling._runs import (
    CountCurve,
    Launched,
    Scaled,
    at_count,
    at_place,
    scaling_of,
)
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
from planner.scaling.links import ring_step_s, ring_traffic_bytes

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
    "ring_step_s",
    "ring_traffic_bytes",
    "scaling_of",
]
