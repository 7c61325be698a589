"""Steps to a target in sentences and rows: the page, the CSV and the report say the same.

"Beyond batch B more data parallelism stops paying" is said of the critical batch size: a batch of
that size takes twice the least number of steps, and twice the least number of samples.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from planner.convergence import ConvergenceCurve
from planner.curves import SystemCurve, cell, interval_text, size
from planner.durations import in_words
from planner.estimate import Estimate, Floats, Refusal
from planner.export import Record
from planner.frontier import SECONDS_PER_HOUR
from planner.optimizer_curves import Comparison, OptimizerCurve, Timing, time_on
from planner.trials import Trials, TrialSet, goal_text, is_stricter, target_text

LAW: Final = (
    "Law: steps S(B) = Smin (1 + Bcrit/B). Up to Bcrit/9 twice the batch takes half of the steps; "
    "at the critical batch size Bcrit half of the samples are spent for nothing; beyond 9 Bcrit a "
    "larger batch saves hardly a step."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What was trained and what it had to reach, as sentences name it."""

    trained: str
    target: str
    stricter_than: str = ""

    def of(self, optimizer: str) -> str:
        """MLP on digits with SGD to 2.5 % validation error."""
        return f"{self.trained} with {optimizer} to {self.target}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where time to target is told: a system, and the workload its step times are of.

    `stand_in` says that it is another workload than the trials'.
    """

    system: str
    workload: str
    stand_in: bool

    @property
    def told(self) -> str:
        """On which system, and with whose step times where they are another workload's."""
        whose = f"with the step times of another workload ({self.workload}) "
        return f"{whose if self.stand_in else ''}on {self.system}"

    @property
    def again(self) -> str:
        """The same in a sentence that follows one with `told`."""
        return "with the same step times" if self.stand_in else f"on {self.system}"


Timings = Mapping[str, Timing]
"""The best batch of every optimiser in one place, by the optimiser's name."""


def goal_of(of: TrialSet, trials: Trials, target: float) -> Goal:
    """The goal of a set of trials; `stricter_than` the recorded target where it asks for more."""
    recorded = target_text(trials.target, in_per_cent=trials.in_per_cent)
    return Goal(
        trained=" on ".join(p for p in (of.network, of.dataset) if p),
        target=goal_text(trials, target),
        stricter_than=recorded if is_stricter(trials, target) else "",
    )


def answer_sentences(
    comparison: Comparison,
    goal: Goal,
    timings: Timings,
    *,
    place: Place | None = None,
    times: SystemCurve | None = None,
    own_times: bool = False,
) -> list[str]:
    """The answer to paste: an optimiser a sentence, what decides between them, what is missing.

    `timings` are those with `times`, the step times in `place`; `own_times` whether the workload
    itself has any. Optimisers refused for one and the same reason share a sentence.
    """
    told, where = [], place.told if place else ""
    for one in comparison.curves:
        if isinstance(one.curve, Refusal):
            continue
        told.append(convergence_sentence(one, one.curve, goal, where, timings.get(one.optimizer)))
        where = place.again if place else ""
    missing = "" if timings or not told else _untimed(goal, place, times, own_times=own_times)
    told += [*_refusals(comparison, goal), fastest_sentence(timings), missing]
    return [sentence for sentence in told if sentence]


def convergence_sentence(
    one: OptimizerCurve, curve: ConvergenceCurve, goal: Goal, where: str, timing: Timing | None
) -> str:
    """Where a larger batch stops paying, and the best batch `where`; or why that is not told."""
    told = _limit(curve, goal.of(one.optimizer))
    if timing is None:
        return f"{told}."
    if isinstance(timing.best, Refusal):
        return f"{told}. No best batch {where}: {_refused(timing.best)}"
    if isinstance(timing.least_s, Refusal):
        return f"{told}. No time to target {where}: {_refused(timing.least_s)}"
    least = interval_text(timing.least_s, _seconds)
    return (
        f"{told}; {where} the best batch is {size(timing.best.value)}"
        f"{interval_text(timing.best, size)}, which takes {_seconds(timing.least_s.value)}{least}."
    )


def timings_of(comparison: Comparison, times: SystemCurve | None) -> dict[str, Timing]:
    """The best batch of every optimiser by its name; empty without a curve of step times."""
    if times is None or isinstance(times.curve, Refusal):
        return {}
    return {c.optimizer: time_on(c, times) for c in comparison.curves}


def fastest_sentence(timings: Timings) -> str:
    """Which optimiser reaches the target soonest, or that it is not decided; empty below two."""
    known = {n: t.least_s for n, t in timings.items() if isinstance(t.least_s, Estimate)}
    if len(known) < 2:
        return ""
    (first, a), (second, b) = sorted(known.items(), key=lambda x: float(x[1].value))[:2]
    times = f"{_seconds(a.value)} against {_seconds(b.value)}"
    if float(a.high) < float(b.low):
        return f"{first} is there first, each at its best batch: {times} with {second}."
    if np.isfinite(float(a.high)) and np.isfinite(float(b.low)):
        why = "closer than their intervals. More seeds at these batches would narrow both"
    else:
        why = "and published step times have no interval. Measure the step times"
    return f"Not decided between {first} and {second}, each at its best batch: {times}, {why}."


def noise_sentence(comparison: Comparison) -> str:
    """Gradient noise scales beside critical batch sizes; empty where none was measured."""
    pairs = []
    for one in comparison.curves:
        known = one.noise_scale[np.isfinite(one.noise_scale)]
        if known.size and not isinstance(one.curve, Refusal):
            critical = float(one.curve.critical_batch_size.value)
            beside = size(critical) if np.isfinite(critical) else "no limit"
            pairs.append(f"{one.optimizer} {size(np.median(known))} ({beside})")
    told = "Gradient noise scale in samples, median over the batches at their best rates (Bcrit): "
    return f"{told}{'; '.join(pairs)}." if pairs else ""


def notes_of(comparison: Comparison, timings: Timings | None = None) -> dict[str, tuple[str, ...]]:
    """What to read beside the numbers of every optimiser, by its name."""
    return {c.optimizer: _notes(c, (timings or {}).get(c.optimizer)) for c in comparison.curves}


def note_lines(notes: Mapping[str, Sequence[str]]) -> list[str]:
    """Each note once: with the names of its optimisers, unless all of them have it."""
    whose: dict[str, list[str]] = {}
    for name, told in notes.items():
        for note in told:
            whose.setdefault(note, []).append(name)
    return [
        note if len(names) == len(notes) else f"{_listed(names)}: {note}"
        for note, names in whose.items()
    ]


def caution_of(comparison: Comparison, goal: Goal) -> str:
    """What a target stricter than the recorded one means for what was not reached."""
    missed = sum(int((c.reached < c.seeds).any()) for c in comparison.curves)
    if not goal.stricter_than or not missed:
        return ""
    return (
        f"Stricter than the {goal.stricter_than} these trials were trained for: they were stopped "
        "soon after it, so a trial that did not get there may only have been stopped too early."
    )


def fit_rows(
    comparison: Comparison, goal: Goal, place: Place | None = None, timings: Timings | None = None
) -> list[Record]:
    """Smin, Emin, Bcrit, the borders and the best batch of every optimiser, or the refusal."""
    notes = notes_of(comparison, timings)
    return [
        _fit_row(c, notes[c.optimizer], place, (timings or {}).get(c.optimizer))
        | {"target": goal.target}
        for c in comparison.curves
    ]


def device_rows(
    comparison: Comparison, systems: Iterable[tuple[str, int, SystemCurve]]
) -> list[Record]:
    """Best batch, time and device-hours of every optimiser on every (system, devices, curve)."""
    return [
        _device_row(c, name, devices, curve)
        for name, devices, curve in systems
        for c in comparison.curves
    ]


def batch_rows(comparison: Comparison) -> list[Record]:
    """Every batch of every optimiser: best rate, median steps, seeds, noise scale, fit."""
    return [r for c in comparison.curves for r in _batches(c)]


def seed_rows(comparison: Comparison) -> list[Record]:
    """Single seeds at the best rates; the steps are empty where the target was not reached."""
    return [
        {"optimizer": c.optimizer, "global_batch_size": int(b), "steps_to_target": cell(s)}
        for c in comparison.curves
        for b, s in zip(c.seed_batch, c.seed_steps, strict=True)
    ]


def _refusals(comparison: Comparison, goal: Goal) -> list[str]:
    """Why optimisers have no curve, those of one reason together."""
    names: dict[str, list[str]] = {}
    for one in comparison.curves:
        if isinstance(one.curve, Refusal):
            names.setdefault(_refused(one.curve), []).append(one.optimizer)
    return [f"{goal.of(_listed(those))}: {why}" for why, those in names.items()]


def _listed(names: Sequence[str]) -> str:
    return " and ".join(p for p in (", ".join(names[:-1]), names[-1]) if p)


def _untimed(goal: Goal, place: Place | None, times: SystemCurve | None, *, own_times: bool) -> str:
    """Why no best batch is told, and what to measure for one."""
    if place is None or times is None:
        if own_times:
            return "No best batch is told: no step times are chosen below."
        return (
            f"No best batch is told: nobody measured a step of {goal.trained} yet. Measure it on "
            "the system in question at two batch sizes or more, or choose the step times of "
            "another workload below."
        )
    why = _refused(times.curve) if isinstance(times.curve, Refusal) else ""
    return f"No best batch is told {place.told}: {why}" if why else ""


def _limit(curve: ConvergenceCurve, goal: str) -> str:
    """Where more data parallelism stops paying, without a full stop."""
    critical, largest = curve.critical_batch_size, curve.largest_measured
    if not curve.perfect_scaling_seen:
        why = "a larger batch takes as many steps"
        if float(critical.value) > 0.0:
            why = "steps that do not fall with the batch are not excluded"
        first = size(curve.batch[0])
        return f"No larger batch was seen to pay for {goal} from batch {first} on: {why}"
    if not np.isfinite(float(critical.high)):
        level = f"{critical.level:.0%}".replace("%", " %")
        return (
            f"More data parallelism still pays at the largest measured batch ({size(largest)}) for "
            f"{goal}: no limit was seen, only that it lies above batch {size(critical.low)} "
            f"({level})"
        )
    batch = f"{size(critical.value)}{interval_text(critical, size)}"
    told = f"Beyond batch {batch} more data parallelism stops paying for {goal}"
    return f"{told}{_outside(curve)}"


def _outside(curve: ConvergenceCurve) -> str:
    """What to say of a critical batch size that was not itself measured."""
    value, smallest, largest = curve.critical_batch_size.value, curve.batch[0], curve.batch[-1]
    if value > largest:
        return f" (the largest measured batch is {size(largest)})"
    if value < smallest:
        return f" (the smallest measured batch is {size(smallest)})"
    return ""


def _notes(one: OptimizerCurve, timing: Timing | None) -> tuple[str, ...]:
    told: tuple[str, ...] = one.warnings
    if not isinstance(one.curve, Refusal):
        told = one.curve.warnings + one.curve.critical_batch_size.reasons + told
    if timing is not None and isinstance(timing.best, Estimate):
        told = timing.best.reasons + told
    return tuple(dict.fromkeys(told))


def _fit_row(
    one: OptimizerCurve, notes: Iterable[str], place: Place | None, timing: Timing | None
) -> dict[str, str | float | int | bool | None]:
    row: dict[str, str | float | int | bool | None] = {
        "optimizer": one.optimizer,
        "batches": int(np.isfinite(one.median_steps).sum()),
    }
    if isinstance(one.curve, Refusal):
        return row | {"refused": one.curve.reason, "measure_next": one.curve.measure_next}
    c = one.curve
    row |= _cells("critical_batch_size", c.critical_batch_size)
    row |= _cells("min_steps", c.min_steps) | _cells("min_samples", c.min_samples)
    row |= _cells("perfect_up_to_batch", c.regimes.perfect_up_to)
    row |= _cells("maximal_from_batch", c.regimes.maximal_from)
    row["scatter_percent"] = None if np.isnan(c.scatter) else round(100 * c.scatter, 3)
    known = one.noise_scale[np.isfinite(one.noise_scale)]
    row["noise_scale_median"] = cell(np.median(known)) if known.size else None
    if place and timing:
        row |= {"system": place.system, "step_times_of": place.workload}
        row |= _cells("best_batch", timing.best) | _cells("least_s", timing.least_s)
    return row | {"basis": c.critical_batch_size.basis, "notes": " ".join(notes) or None}


def _device_row(one: OptimizerCurve, system: str, devices: int, curve: SystemCurve) -> Record:
    told = time_on(one, curve)
    refused = next((t.reason for t in (told.best, told.least_s) if isinstance(t, Refusal)), None)
    hours = None
    if isinstance(told.least_s, Estimate):
        hours = cell(devices * float(told.least_s.value) / SECONDS_PER_HOUR)
    row: dict[str, str | float | int | bool | None] = {
        "system": system,
        "devices": devices,
        "optimizer": one.optimizer,
    }
    row |= _cells("best_batch", told.best) | _cells("least_s", told.least_s)
    return row | {"device_hours": hours, "refused": refused}


def _batches(one: OptimizerCurve) -> list[Record]:
    fitted = np.full(one.batch.shape, np.nan)
    if isinstance(one.curve, ConvergenceCurve):
        told = one.curve.steps(one.batch)
        fitted = fitted if isinstance(told, Refusal) else np.asarray(told.value)
    return [
        {
            "optimizer": one.optimizer,
            "global_batch_size": int(one.batch[i]),
            "learning_rate": cell(one.learning_rate[i]),
            "median_steps": cell(one.median_steps[i]),
            "samples_to_target": cell(one.median_steps[i] * one.batch[i]),
            "fitted_steps": cell(fitted[i]),
            "seeds_reached": int(one.reached[i]),
            "seeds": int(one.seeds[i]),
            "noise_scale": cell(one.noise_scale[i]),
        }
        for i in range(one.batch.size)
    ]


def _cells(name: str, told: Estimate | Refusal) -> dict[str, float | None]:
    if isinstance(told, Refusal):
        return dict.fromkeys((name, f"{name}_low", f"{name}_high"))
    return {
        name: cell(told.value), f"{name}_low": cell(told.low), f"{name}_high": cell(told.high)
    }  # fmt: skip


def _refused(why: Refusal) -> str:
    return f"{why.reason} {why.measure_next}"


def _seconds(seconds: float | Floats) -> str:
    return in_words(float(seconds))
