"""Effects of factors as rows, for the page's table and the CSV."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from planner.core import Estimate, Record, Refusal
from planner.effects._effect import (
    BROUGHT,
    BatchEffect,
    FactorEffect,
    factor_effects,
    factor_runs,
    value_in_words,
    work_notes,
)


def effects_of(
    rows: Sequence[Mapping[str, Any]], workload: str
) -> dict[str, tuple[FactorEffect, ...]]:
    """Return the factors that have pairs in a workload, with the effect of each of their values.

    `rows` are good rows of the run table, of the workload in any precision: only the effect of
    the precision looks beyond its own.
    """
    own = [row for row in rows if row["workload"] == workload]
    by_factor, notes = {}, work_notes(own)
    for factor in BROUGHT:
        runs = factor_runs(rows if factor == "precision" else own, factor)
        if effects := factor_effects(runs, factor):
            by_factor[factor] = tuple(replace(effect, notes=notes) for effect in effects)
    return by_factor


def effect_rows(effects: Iterable[FactorEffect]) -> list[Record]:
    """Return each effect over all pairs, then batch by batch: ratios of time with bounds [1]."""
    return [row for effect in effects for row in _rows(effect)]


def _rows(effect: FactorEffect) -> list[Record]:
    whole = BatchEffect(
        batch=None, pairs=effect.pairs, per_epoch=effect.per_epoch, per_image=effect.per_image
    )
    each = effect.by_batch if len(effect.by_batch) > 1 else ()
    return [_row(effect, part, pooled=part is whole) for part in (whole, *each)]


def _row(effect: FactorEffect, part: BatchEffect, *, pooled: bool) -> Record:
    only = effect.by_batch[0].batch if len(effect.by_batch) == 1 else None
    return {
        "factor": effect.factor,
        "base": value_in_words(effect.base),
        "changed": value_in_words(effect.changed),
        "batch": only if pooled else part.batch,
        "pooled": pooled,
        "pairs": part.pairs,
        **_bounds("per_epoch", part.per_epoch),
        **_bounds("per_image", part.per_image),
        "notes": _notes(part),
    }


def _bounds(name: str, estimate: Estimate | Refusal) -> dict[str, float | None]:
    if isinstance(estimate, Refusal):
        return {name: None, f"{name}_low": None, f"{name}_high": None}
    value, low, high = (round(float(v), 4) for v in (estimate.value, estimate.low, estimate.high))
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def _notes(part: BatchEffect) -> str | None:
    notes = [*part.per_epoch.reasons]
    notes += (
        [part.per_image.reason] if isinstance(part.per_image, Refusal) else part.per_image.reasons
    )
    return " ".join(dict.fromkeys(notes)) or None
