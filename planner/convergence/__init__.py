"""Steps to a target at a batch size: the law E(B) = Emin + Smin B.

`_targets` has the available targets and the step at which each trial reached one. `fit` is the law
with its predictions, also around batches that missed the target.
"""

from planner.convergence._targets import (
    COARSE,
    TOO_COARSE,
    BestRates,
    StepsToTarget,
    best_learning_rates,
    goal_text,
    group_medians,
    is_stricter,
    set_labels,
    steps_of,
    steps_to_target,
    target_text,
    targets_of,
    usual_target,
)
from planner.convergence.fit import (
    MAX_SCATTER,
    PRIOR,
    ConvergenceCurve,
    fit_convergence,
    missed_around,
    refusal_missed,
)
from planner.fits import NARROW, TOO_FAR
