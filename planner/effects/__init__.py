"""Effects of one factor: validation, augmentation, storage, workers, feed, compilation.

`_pairs` finds runs that differ in one factor alone, and `_pooling` averages their ratios. `_effect`
is the answer, `_sentences` and `_tables` show it.
"""

from planner.effects._effect import (
    BROUGHT,
    FactorEffect,
    FactorRun,
    factor_effect,
    factor_effects,
)
from planner.effects._tables import effect_rows, effects_of

__all__ = [
    "BROUGHT",
    "FactorEffect",
    "FactorRun",
    "effect_rows",
    "effects_of",
    "factor_effect",
    "factor_effects",
]
