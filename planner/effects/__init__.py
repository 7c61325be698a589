"""Effects of one factor: validation, augmentation, storage, workers, feed, compilation.

`_effect` finds pairs of runs that differ in one factor alone, averages their ratios and words the
result; `_tables` shows it in rows.
"""

from planner.effects._effect import (
    BROUGHT,
    FactorEffect,
    FactorRun,
    factor_effect,
    factor_effects,
)
from planner.effects._tables import effect_rows, effects_of
