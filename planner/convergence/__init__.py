"""Steps to a target at a batch size: the law E(B) = Emin + Smin B.

`_targets` computes the step at which each trial reached a target, `_trial_targets` the available
targets, `fit` the law, `_curve` its predictions, `_missed` the batches that missed the target.
"""

from planner.convergence._missed import missed_around, refusal_missed
from planner.convergence._resolution import COARSE, TOO_COARSE
from planner.convergence._targets import (
    BestRates,
    StepsToTarget,
    best_learning_rates,
    group_medians,
    steps_to_target,
)
from planner.convergence._trial_targets import (
    goal_text,
    is_stricter,
    set_labels,
    steps_of,
    target_text,
    targets_of,
    usual_target,
)
from planner.convergence.fit import (
    MAX_SCATTER,
    NARROW,
    PRIOR,
    TOO_FAR,
    ConvergenceCurve,
    fit_convergence,
)

__all__ = [
    "COARSE",
    "MAX_SCATTER",
    "NARROW",
    "PRIOR",
    "TOO_COARSE",
    "TOO_FAR",
    "BestRates",
    "ConvergenceCurve",
    "StepsToTarget",
    "best_learning_rates",
    "fit_convergence",
    "goal_text",
    "group_medians",
    "is_stricter",
    "missed_around",
    "refusal_missed",
    "set_labels",
    "steps_of",
    "steps_to_target",
    "target_text",
    "targets_of",
    "usual_target",
]
