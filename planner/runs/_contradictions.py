"""Contradictions between the numbers of one run.

A part of a time is at most the whole, and two ways to one number agree. Contradictions are refused
when a row is added; earlier files stay readable (docs/decisions/0025). Tables are rounded, so
numbers may differ by a tenth (`SLACK`). A speed or step time better than its epoch may differ more
(`OUTSIDE_STEPS`): an epoch has more than its steps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

Row = Mapping[str, Any]

SLACK: Final = 1.1
"""Numbers that should agree may miss each other by this factor: tables are rounded."""
OUTSIDE_STEPS: Final = 2.0
"""Largest ratio of an epoch's time to that from samples/s: it includes loading and start."""


def contradictions_in(row: Row) -> list[tuple[str, str]]:
    """Return each number of a sound row that another one contradicts: its column and a sentence."""
    return [*_starts(row), *_later_epochs(row), *_steps(row), *_samples(row), *_speed(row),
            *_whole_run(row)]  # fmt: skip


def _starts(row: Row) -> Iterator[tuple[str, str]]:
    until, first, start = (
        row.get(n) for n in ("until_first_epoch_end_s", "first_epoch_s", "pre_train_s")
    )
    alone = first is None or start is None  # `planner.runs._records` checks both against their sum
    for name, part in (("first_epoch_s", first), ("pre_train_s", start)):
        if until is not None and part is not None and alone and part > SLACK * until:
            text = f"is {until} s, but {name}, which is part of it, is {part} s. Correct one."
            yield "until_first_epoch_end_s", text
    step = row.get("first_step_s")
    if step is not None and first is not None and step > SLACK * first:
        yield "first_step_s", f"is {step} s, but first_epoch_s is {first} s. Correct one."


def _later_epochs(row: Row) -> Iterator[tuple[str, str]]:
    mean, sd, check = (
        row.get(n) for n in ("later_epoch_mean_s", "later_epoch_sd_s", "validation_s")
    )
    later = (row.get("epochs_measured") or 1) - 1
    if mean is not None and sd is not None and later > 1:
        most = mean * math.sqrt(later - 1)  # one long epoch, the others next to nothing
        if sd > SLACK * most:
            text = f"is {sd} s; {later} epochs of {mean} s on average reach {most:.6g} s at most."
            yield "later_epoch_sd_s", text
    name = "later_epoch_mean_s" if mean is not None else "first_epoch_s"
    epoch = row.get(name)
    if check is not None and epoch is not None and check > SLACK * epoch:
        text = f"is {check} s, but an epoch with its validation is {epoch} s ({name}). Correct one."
        yield "validation_s", text
    for entry in row.get("epochs") or ():
        check, epoch = entry.get("validation_s"), entry["epoch_s"]
        if check is not None and check > SLACK * epoch:
            text = f"epoch {entry['epoch']} took {epoch} s, but its validation {check} s."
            yield "epochs", f"{text} Correct one."
            break


def _steps(row: Row) -> Iterator[tuple[str, str]]:
    low, middle, high = (row.get(f"step_p{n}_s") for n in (10, 50, 90))
    outer = high if middle is None else middle
    named = (("step_p10_s", low, "step_p90_s" if middle is None else "step_p50_s", outer),
             ("step_p50_s", middle, "step_p90_s", high))  # fmt: skip
    for name, less, other, more in named:
        if less is not None and more is not None and less > more:
            yield name, f"is {less} s, above {other} of {more} s. Correct one."
    step, steps, mean = (row.get(n) for n in ("step_s", "steps_per_epoch", "later_epoch_mean_s"))
    if step is not None and steps and mean is not None and step * steps > SLACK * mean:
        text = f"is {step} s, so {steps} steps take {step * steps:.6g} s, but an epoch "
        yield "step_s", f"{text}takes {mean} s (later_epoch_mean_s). Correct one."


def _samples(row: Row) -> Iterator[tuple[str, str]]:
    samples, steps, batch = (
        row.get(n) for n in ("samples_per_epoch", "steps_per_epoch", "global_batch_size")
    )
    if samples and steps and batch:
        # The last batch may be a partial one, or the feed drops it.
        most, least = max(SLACK * steps * batch, (steps + 1) * batch - 1), (steps - 1) * batch
        if samples > most or SLACK * samples < least:
            processed = steps * batch
            text = f"is {samples}, but {steps} steps of {batch} are {processed}. Correct one."
            yield "samples_per_epoch", text
    for entry in row.get("epochs") or ():
        timed = entry.get("samples")
        if samples and timed and not 1.0 / SLACK <= timed / samples <= SLACK:
            text = f"epoch {entry['epoch']} has {timed} samples, but samples_per_epoch is {samples}"
            yield "epochs", f"{text}. Correct one."
            break


def _speed(row: Row) -> Iterator[tuple[str, str]]:
    """Yield samples/s against the samples and the time of an epoch, without its validation."""
    speed, samples, mean = (
        row.get(n) for n in ("throughput", "samples_per_epoch", "later_epoch_mean_s")
    )
    if speed is None or not samples or mean is None:
        return
    check = row.get("validation_s")
    slowest, training = samples / mean, mean - min(check or 0.0, mean)
    fastest = samples / training if training > 0.0 else math.inf
    stated = check is not None or row.get("validation") is False
    if SLACK * speed < slowest or (stated and speed > OUTSIDE_STEPS * fastest):
        text = f"is {speed} samples/s, but {samples} samples in {mean} s make {slowest:.6g}."
        yield "throughput", f"{text} Correct one."


def _whole_run(row: Row) -> Iterator[tuple[str, str]]:
    """Yield contradictions of the whole run and its parts, of which any may be missing."""
    total, until = row.get("total_s"), row.get("until_first_epoch_end_s")
    if total is None:
        return
    first = (row.get("pre_train_s") or 0.0) + (row.get("first_epoch_s") or 0.0)
    later = (row.get("epochs_measured") or 1) - 1
    parts = (row.get("startup_s") or 0.0) + (first if until is None else until)
    parts += (row.get("later_epoch_mean_s") or 0.0) * later
    if parts > SLACK * total:
        text = f"is {total} s, but start-up and epochs add up to {parts:.6g} s. Correct one."
        yield "total_s", text
