"""Step times of runs that state only epochs, and why a run has no point on a curve.

An epoch of s samples at batch b has s/b steps, so a step takes epoch time * b/s. Where no run of a
workload states s, it is the size of the workload's epoch (`planner.epochs.epoch_size`). Beside
runs that state theirs a run without s has no step time: its part of an epoch is unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from planner.core import Refusal
from planner.epochs import ADD_TIMED, MOST_LINES, PREFERRED, UNLIKE, EpochSize, timed_samples
from planner.runs import Run
from planner.throughput.curves import curves_of

NO_SAMPLES: Final = Refusal(
    reason="The samples per epoch are not stated, so epoch times give no step time.",
    measure_next="Enter the samples per epoch (samples_per_epoch), or add samples_per_epoch to "
    "the runs.",
)
UNLIKE_OTHERS: Final = Refusal(reason=UNLIKE, measure_next=ADD_TIMED)
NO_BATCH: Final = Refusal(
    reason="The batch sizes are not stated.",
    measure_next="Add global_batch_size to the runs.",
)
NO_TIME: Final = Refusal(
    reason="No step time, samples/s or mean of later epochs is stated.",
    measure_next="Measure two epochs or more at three batch sizes.",
)
NO_GOOD_RUN: Final = Refusal(
    reason="No run ended well.",
    measure_next="Run these cases again at smaller batches, or choose another input pattern.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedSteps:
    """Runs with step times where possible, and remarks.

    `note` states the size of an epoch if step times follow from it, else it is empty. `missing`
    says why systems have no point, one sentence per reason. `refused` is the reason if no run has
    one.
    """

    runs: tuple[Run, ...]
    note: str = ""
    missing: tuple[str, ...] = ()
    refused: Refusal | None = None

    @property
    def needs_samples(self) -> bool:
        """Whether the samples per epoch would give step times that are missing."""
        return any(NO_SAMPLES.reason in text for text in self.missing)


def with_step_times(runs: Sequence[Run], size: EpochSize) -> TimedSteps:
    """Return runs with step times from epoch times and the samples of an epoch.

    Args:
        runs: of one workload; those that state a step time keep it.
        size: of an epoch of the workload.
    """
    filled_runs = [_filled(r, size) for r in runs]
    filled = any(
        new.samples_per_s != old.samples_per_s for new, old in zip(filled_runs, runs, strict=True)
    )
    why = [(r.system, _why_not(r, size)) for r in filled_runs]
    has = {system for system, refusal in why if refusal is None}
    lacking: dict[Refusal, list[str]] = {}
    for system, refusal in dict.fromkeys(why):
        if refusal is not None and system not in has:
            lacking.setdefault(refusal, []).append(system)
    return TimedSteps(
        runs=tuple(filled_runs),
        note=f"Step times follow from epoch times. {size.sentence}" if filled else "",
        missing=tuple(
            f"No curve for {', '.join(systems)}. {refusal.reason} {refusal.measure_next}"
            for refusal, systems in lacking.items()
        ),
        refused=None if has else next(iter(lacking), NO_GOOD_RUN),
    )


def systems_of(runs: Sequence[Run]) -> list[str]:
    """Return systems to choose from.

    Those with a curve first, then those that lack only a number.
    """
    good = [r for r in runs if r.status == "ok"]
    first = dict.fromkeys(c.runs[0].system for c in curves_of(good))
    return list(dict.fromkeys([*first, *(r.system for r in good)]))


def usual_systems(runs: Sequence[Run]) -> list[str]:
    """Return the initial systems, in the order of `systems_of`.

    All of them up to `MOST_LINES`. Of more, those with the most batch sizes; where each has one,
    which gives no curve, the first `PREFERRED`.
    """
    names = systems_of(runs)
    if len(names) <= MOST_LINES:
        return names
    batches: dict[str, set[int | None]] = {}
    for run in runs:
        if run.status == "ok":
            batches.setdefault(run.system, set()).add(run.global_batch_size)
    several = [name for name in names if len(batches[name]) > 1]
    ranked = sorted(several, key=lambda name: -len(batches[name]))[:MOST_LINES]
    return [name for name in names if name in ranked] or names[:PREFERRED]


def _filled(run: Run, size: EpochSize) -> Run:
    batch, mean_s = run.global_batch_size, run.later_epoch_mean_s
    if run.step_time_s is not None or not batch:
        return run
    if run.samples_per_s:
        return replace(run, step_time_s=batch / run.samples_per_s)
    samples = timed_samples(run, size.samples) or (None if size.some_state else size.samples)
    if not mean_s or not samples:
        return run
    speed = samples / mean_s
    return replace(run, step_time_s=batch / speed, samples_per_s=speed)


def _why_not(run: Run, size: EpochSize) -> Refusal | None:
    """Return why a run has no point on a curve; None where it has."""
    if run.status != "ok":
        return NO_GOOD_RUN
    if run.asymptotic_throughput is not None:
        return None
    timed = run.step_time_s is not None or bool(run.samples_per_s)
    if not timed and not run.later_epoch_mean_s:
        return NO_TIME
    if not run.global_batch_size:
        return NO_BATCH
    if timed:
        return None
    return UNLIKE_OTHERS if size.some_state else NO_SAMPLES
