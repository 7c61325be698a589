"""Made pairs of runs, and the effect they tell, for the tests of factor effects."""

from __future__ import annotations

from planner.core import Estimate
from planner.effects import FactorEffect, FactorRun, factor_effect
from planner.effects._effect import Value


def run(value: Value, epoch_s: float, batch: int = 64, **more: object) -> FactorRun:
    facts: dict[str, object] = {
        "run_id": f"{value} {batch}",
        "configuration": ("GPU",),
        "samples_per_epoch": 50_000,
        "validation_samples_per_epoch": 0,
    }
    return FactorRun(value=value, epoch_s=epoch_s, batch=batch, **{**facts, **more})  # type: ignore[arg-type]


def pairs(*ratios: float) -> list[FactorRun]:
    """One pair a ratio, at batches 1, 2, 3 ..."""
    return [
        one
        for batch, ratio in enumerate(ratios, start=1)
        for one in (run(False, 10.0 * batch, batch), run(True, 10.0 * batch * ratio, batch))
    ]


def effect(runs: list[FactorRun], *values: Value) -> FactorEffect:
    """Of `values`, base and changed; off and on where there are none."""
    result = factor_effect(runs, "augmentation", *(values or (False, True)))
    assert isinstance(result, FactorEffect)
    return result


def per_image(result: FactorEffect) -> Estimate:
    assert isinstance(result.per_image, Estimate)
    return result.per_image


def ends(result: Estimate) -> list[float]:
    """Value, low and high."""
    return [float(result.value), float(result.low), float(result.high)]


def by_batch(result: FactorEffect) -> list[float]:
    return [float(b.per_epoch.value) for b in result.by_batch]
