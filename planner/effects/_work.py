"""The work of an epoch of a workload's runs: images dropped and images validated.

Feeds that drop the last partial batch train on fewer images, which rows state. No row states the
validated images of pattern (T, T, F) of article 002: its code uses validation batches of 32, Keras'
default, but as many as there are whole training batches in the 10,000 images,

    32 * (10,000 // batch)      64 at batch 4096, where the other patterns validate 8,192

This explains part of "augmentation makes it faster". (T, T, F) against (T, F, T), the nearest
pattern without augmentation, from the public table of the sweep, TPU at batch 4096:

    0.93 per epoch              0.98 per processed image
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

SHORT: Final = "article-002-pattern-3"
"""The result set of pattern (T, T, F): validated, augmented, from memory."""
VALIDATED_AT_ONCE: Final = 32
"""Images of one of its validation batches, for every training batch."""
TO_VALIDATE: Final = 10_000
FASTER_PER_EPOCH: Final = 0.93
FASTER_PER_IMAGE: Final = 0.98
"""(T, T, F) over (T, F, T) at batch 4096 on the TPU [1]."""


def work_notes(rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return notes on the effects of one workload, from its rows."""
    return (*_dropped(rows), *_article(rows))


def short_validation(batch: int) -> tuple[int, int]:
    """Return the images that (T, T, F) of article 002 and the others validated in an epoch."""
    steps = TO_VALIDATE // batch
    return VALIDATED_AT_ONCE * steps, batch * steps


def _dropped(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the batch at which most images of an epoch were left out as a remainder."""
    counted = [row for row in rows if row.get("samples_per_epoch")]
    whole = max((row["samples_per_epoch"] for row in counted), default=0)
    short = [row for row in counted if whole % (row.get("global_batch_size") or max(whole, 1))]
    least = min(short, key=lambda row: (_trained(row), -row["global_batch_size"]), default=None)
    if least is not None and _trained(least) == whole - whole % least["global_batch_size"]:
        yield (
            f"An epoch is not always the same work: at batch {least['global_batch_size']:,} a feed "
            f"that drops the remainder trains on {_trained(least):,} of {whole:,} images."
        )


def _trained(row: Mapping[str, Any]) -> int:
    return int(row["samples_per_epoch"])


def _article(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    batches = [row["global_batch_size"] for row in rows if row.get("result_set") == SHORT]
    if not batches:
        return
    batch = max(batches)
    few, usual = short_validation(batch)
    yield (
        "Article 002 finds augmentation faster. Partly that is less validation: its pattern "
        f"(T, T, F), augmented from memory, validated {VALIDATED_AT_ONCE} × ({TO_VALIDATE:,} // "
        f"batch) images an epoch, {few} at batch {batch:,}, the patterns from storage {usual:,}. "
        f"Against (T, F, T), without augmentation, it takes {FASTER_PER_EPOCH:.2f} times as long "
        f"per epoch at batch 4096 on the TPU, but {FASTER_PER_IMAGE:.2f} times per processed image."
    )
