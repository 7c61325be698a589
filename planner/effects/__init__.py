"""Effects of one factor: validation, augmentation, storage, workers, feed, compilation.

`_effect` finds pairs of runs that differ in one factor alone, averages their ratios, words the
result and gives its rows.
"""

from planner.effects._effect import (
    BROUGHT,
    FactorEffect,
    FactorRun,
    effect_rows,
    effects_of,
    factor_effect,
    factor_effects,
)
