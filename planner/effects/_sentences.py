"""An effect in one sentence to paste: size, interval, batches, and other changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from planner.core import Estimate, plain
from planner.effects._pairs import FactorRun, Pair, Value
from planner.effects._pooling import BatchEffect
from planner.epochs import UNDECIDED

DIFFER: Final = 0.01
"""Difference of the effects per epoch and per image from which on both are reported [ln]."""


def sentence_of(
    factor: str, pairs: Sequence[Pair], whole: BatchEffect, by_batch: Sequence[BatchEffect]
) -> str:
    """Return factor, values, pairs, times per epoch and image, their range and reasons."""
    sides = pairs[0].changed, pairs[0].base
    changed, base = (value_in_words(side[0].value) for side in sides)
    many = "1 pair" if len(pairs) == 1 else f"{len(pairs)} pairs"
    text = f"{factor}, {changed} against {base}, {many}: an epoch takes {_times(whole.per_epoch)}"
    if isinstance(whole.per_image, Estimate):
        text += f", a processed image {_times(whole.per_image)}"
    odd = max(pairs, key=lambda pair: pair.disagreement)
    why = _why(odd) if odd.disagreement > DIFFER else ""
    return f"{text[0].upper()}{text[1:]}.{_range(by_batch)}{why}{_with(pairs)}"


def value_in_words(value: Value) -> str:
    """Return a factor's value as sentences have it: `on`, `4`, `tf.data`, `not stated`."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return "not stated" if value is None else str(value)


def _with(pairs: Sequence[Pair]) -> str:
    """Return the other changes where no two runs agreed in them."""
    mixed = {
        name: f"{name} ({value_in_words(after)} against {value_in_words(before)})"
        for pair in pairs
        for (name, before), (_, after) in zip(
            pair.base[0].brought, pair.changed[0].brought, strict=True
        )
        if before != after
    }
    return f" With it changed {' and '.join(mixed.values())}." if mixed else ""


def _range(by_batch: Sequence[BatchEffect]) -> str:
    """Return the range of the effects of single batches."""
    stated = [effect for effect in by_batch if effect.batch is not None]
    if len(stated) < 2:
        return ""
    ends = (min(stated, key=_value), max(stated, key=_value))
    least, most = (f"{_value(end):.2f} at batch {end.batch:,}" for end in ends)
    return f" Per epoch from {least} to {most}."


def _value(effect: BatchEffect) -> float:
    return float(effect.per_epoch.value)


def _why(pair: Pair) -> str:
    (trained, validated), (before, seen) = (_images(side) for side in (pair.changed, pair.base))
    where = "" if pair.batch is None else f"at batch {plain(pair.batch)}, "
    return (
        f" The two answers differ because an epoch was not the same work ({where}{trained} images "
        f"trained and {validated} validated against {before} and {seen})."
    )


def _images(runs: Sequence[FactorRun]) -> tuple[str, str]:
    """Return how many images an epoch trained on and validated on, on average."""
    names = ("samples_per_epoch", "validation_samples_per_epoch")
    first, second = (sum(getattr(run, name) or 0 for run in runs) / len(runs) for name in names)
    return f"{first:,.0f}", f"{second:,.0f}"


def _times(effect: Estimate) -> str:
    level = f"{effect.level:.0%}".replace("%", " %")
    interval = f"{level}: {effect.low:.2f} to {effect.high:.2f}"
    interval += ", includes 1" if UNDECIDED in effect.reasons else ""
    return f"{effect.value:.2f} times as long ({interval})"
