"""Steps to a target in sentences: what the page, the share button and the report say.

"Beyond batch B larger batches give diminishing returns" is said of the critical batch size: a batch
of that size takes twice the least number of steps, and twice the least number of samples.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from planner.convergence import ConvergenceCurve, goal_text, is_stricter, target_text
from planner.core import Estimate, Floats, Refusal, in_words
from planner.runs import NO_OPTIMIZER, Trials, TrialSet
from planner.throughput import interval_text, size
from planner.time_to_target._optimizer_curves import Comparison, OptimizerCurve, Timing
from planner.time_to_target._placed_times import Placed, PlacedTimes, Timings

LAW: Final = (
    "Law: steps S(B) = Smin (1 + Bcrit/B). Up to Bcrit/9 twice the batch takes half of the steps; "
    "at the critical batch size Bcrit training needs twice the samples; beyond 9 Bcrit a "
    "larger batch saves hardly a step."
)
NOT_CHOSEN: Final = "No best batch is told: no step times are chosen below."


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What was trained and what it had to reach, as sentences name it."""

    trained: str
    target: str
    stricter_than: str = ""

    def of(self, optimizer: str) -> str:
        """MLP on digits with SGD to 2.5 % validation error."""
        how = "" if optimizer == NO_OPTIMIZER else f" with {optimizer}"
        return f"{self.trained}{how} to {self.target}"


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
    times: Placed | None = None,
    *,
    own_times: bool = False,
) -> list[str]:
    """The answer to paste: an optimiser a sentence, what decides between them, what is missing.

    `timings` are those with `times`; `own_times` whether the workload itself has any. Optimisers
    refused for one and the same reason share a sentence.
    """
    told, before = [], None
    for one in comparison.curves:
        if isinstance(one.curve, Refusal):
            continue
        place = times[one.optimizer].place if times and one.optimizer in timings else None
        where = place.again if place and place == before else place.told if place else ""
        told.append(convergence_sentence(one, one.curve, goal, where, timings.get(one.optimizer)))
        before = place or before
    missing = _untimed(comparison, goal, timings, times or {}) if told else []
    if told and not times:
        missing = [NOT_CHOSEN if own_times else _unmeasured(goal.trained)]
    return [
        *told,
        *_refusals(comparison, goal),
        *filter(None, [fastest_sentence(timings)]),
        *missing,
    ]


def convergence_sentence(
    one: OptimizerCurve, curve: ConvergenceCurve, goal: Goal, where: str, timing: Timing | None
) -> str:
    """Where a larger batch stops paying, and the best batch `where` if there is one."""
    told = _limit(curve, goal.of(one.optimizer))
    if timing is None or isinstance(timing.best, Refusal) or isinstance(timing.least_s, Refusal):
        return f"{told}."
    best, least = timing.best, interval_text(timing.least_s, _seconds)
    ends = "" if best.low == best.high else interval_text(best, size)  # clipped: a note says so
    return (
        f"{told}; {where} the best batch is {size(best.value)}{ends}, which takes "
        f"{_seconds(timing.least_s.value)}{least}."
    )


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
    """Gradient noise scales beside critical batch sizes, and where none was measured."""
    told = [c for c in comparison.curves if not isinstance(c.curve, Refusal)]
    known = [c for c in told if c.usual_noise_scale is not None]
    if not known:
        return "Gradient noise scale beside Bcrit: not measured." if told else ""
    pairs = [
        f"{c.optimizer} {size(c.usual_noise_scale)} ({_bcrit(c)})"
        if c.usual_noise_scale is not None
        else f"{c.optimizer} not measured ({_bcrit(c)})"
        for c in told
    ]
    lead = "Gradient noise scale in samples, median over the batches at their best rates (Bcrit): "
    return f"{lead}{'; '.join(pairs)}."


def caution_of(comparison: Comparison, goal: Goal) -> str:
    """What a target stricter than the recorded one means for what was not reached."""
    missed = sum(int((c.reached < c.seeds).any()) for c in comparison.curves)
    if not goal.stricter_than or not missed:
        return ""
    return (
        f"Stricter than the {goal.stricter_than} these trials were trained for: they were stopped "
        "soon after it, so a trial that did not get there may only have been stopped too early."
    )


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


def refused_text(why: Refusal) -> str:
    """A refusal as one text: the reason, and what to measure next."""
    return f"{why.reason} {why.measure_next}"


def _refusals(comparison: Comparison, goal: Goal) -> list[str]:
    """Why optimisers have no curve, those of one reason together."""
    names: dict[str, list[str]] = {}
    for one in comparison.curves:
        if isinstance(one.curve, Refusal):
            names.setdefault(refused_text(one.curve), []).append(one.optimizer)
    return [f"{goal.of(_listed(those))}: {why}" for why, those in names.items()]


def _untimed(comparison: Comparison, goal: Goal, timings: Timings, times: Placed) -> list[str]:
    """Why no best batch is told and what to measure for one; optimisers of one reason together."""
    names = [c.optimizer for c in comparison.curves if not isinstance(c.curve, Refusal)]
    why: dict[tuple[str, str], list[str]] = {}
    for name in (n for n in names if n in times):
        if refusal := _no_best(times[name], timings.get(name)):
            why.setdefault((times[name].place.told, refused_text(refusal)), []).append(name)
    sentences = [
        f"No best batch is told{_for(those, names)} {where}: {text}"
        for (where, text), those in why.items()
    ]
    if times and (missing := [n for n in names if n not in times]):
        sentences.append(
            f"No best batch is told{_for(missing, names)} there: nobody measured a step of "
            f"{goal.trained} with {_listed(missing)} on that system under that input pattern yet."
        )
    return sentences


def _no_best(times: PlacedTimes, timing: Timing | None) -> Refusal | None:
    """The first refusal on the way to a best batch."""
    told = (times.curve, timing.best, timing.least_s) if timing else (times.curve,)
    return next((t for t in told if isinstance(t, Refusal)), None)


def _unmeasured(trained: str) -> str:
    return (
        f"No best batch is told: nobody measured a step of {trained} yet. Measure it on "
        "the system in question at two batch sizes or more, or choose the step times of "
        "another workload below."
    )


def _for(those: Sequence[str], names: Sequence[str]) -> str:
    """For whom, unless for all."""
    return "" if len(those) == len(names) else f" for {_listed(those)}"


def _limit(curve: ConvergenceCurve, goal: str) -> str:
    """Where larger batches give diminishing returns, without a full stop."""
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
    told = f"Beyond batch {batch} larger batches give diminishing returns for {goal}"
    return f"{told}{_outside(curve)}"


def _outside(curve: ConvergenceCurve) -> str:
    """What to say of a critical batch size that was not itself measured."""
    value, smallest, largest = curve.critical_batch_size.value, curve.batch[0], curve.batch[-1]
    if value > largest:
        return f" (the largest measured batch is {size(largest)})"
    if value < smallest:
        return f" (the smallest measured batch is {size(smallest)})"
    return ""


def _bcrit(one: OptimizerCurve) -> str:
    critical = np.nan if isinstance(one.curve, Refusal) else one.curve.critical_batch_size.value
    return size(critical) if np.isfinite(float(critical)) else "no limit"


def _notes(one: OptimizerCurve, timing: Timing | None) -> tuple[str, ...]:
    told: tuple[str, ...] = one.warnings
    if not isinstance(one.curve, Refusal):
        told = one.curve.warnings + one.curve.critical_batch_size.reasons + told
    if timing is not None and isinstance(timing.best, Estimate):
        told = timing.best.reasons + told
    return tuple(dict.fromkeys(told))


def _listed(names: Iterable[str]) -> str:
    *others, last = names
    return " and ".join(p for p in (", ".join(others), last) if p)


def _seconds(seconds: float | Floats) -> str:
    return in_words(float(seconds))
