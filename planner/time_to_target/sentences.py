"""Steps to a target in sentences, for the page, the share button and the report.

"Beyond batch B larger batches give diminishing returns" refers to the critical batch size: it takes
twice the least number of steps, and twice the least number of samples.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from planner.convergence import ConvergenceCurve, goal_text, is_stricter, target_text
from planner.core import Estimate, Floats, Refusal, Text, in_words, paragraph, percent
from planner.core.slugs import BADGE
from planner.runs import NO_OPTIMIZER, Trials, TrialSet
from planner.throughput import rounded_estimate, size, with_interval
from planner.time_to_target.goodput import (
    BatchTiming,
    OptimizerComparison,
    OptimizerCurve,
    Placed,
    PlacedTimes,
    Timings,
)

LAW: Final = (
    "Law: steps S(B) = Smin (1 + Bcrit/B). Up to Bcrit/9 twice the batch takes half of the steps; "
    "at the critical batch size Bcrit training needs twice the samples; beyond 9 Bcrit a "
    "larger batch saves almost no steps."
)
NOT_CHOSEN: Final = "No best batch: choose step times below."


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetWords:
    """Model, data set and target in words."""

    trained: str
    target: str
    stricter_than: str = ""

    def of(self, optimizer: str) -> str:
        """Return the goal in words: MLP on digits with SGD to 2.5 % validation error."""
        how = "" if optimizer == NO_OPTIMIZER else f" with {optimizer}"
        return f"{self.trained}{how} to {self.target}"


def goal_of(of: TrialSet, trials: Trials, target: float) -> TargetWords:
    """Return the goal of a set of trials; `stricter_than` the recorded target if it is."""
    recorded = target_text(trials.target, in_per_cent=trials.in_per_cent)
    badge = BADGE if of.standing else ""
    return TargetWords(
        trained=f"{' on '.join(p for p in (of.network, of.dataset) if p)}{badge}",
        target=goal_text(trials, target),
        stricter_than=recorded if is_stricter(trials, target) else "",
    )


def answer_sentences(
    comparison: OptimizerComparison,
    goal: TargetWords,
    timings: Timings,
    times: Placed | None = None,
    *,
    own_times: bool = False,
) -> list[str]:
    """Return the answer to paste: each optimiser, which is fastest, what is missing.

    `timings` are those with `times`; `own_times` is whether the workload itself has any. Optimisers
    refused for the same reason share a sentence.
    """
    sentences, before = [], None
    for optimizer in comparison.curves:
        if isinstance(optimizer.curve, Refusal):
            continue
        place = (
            times[optimizer.optimizer].place if times and optimizer.optimizer in timings else None
        )
        where = place.again if place and place == before else place.phrase if place else ""
        sentences.append(
            convergence_sentence(
                optimizer, optimizer.curve, goal, where, timings.get(optimizer.optimizer)
            )
        )
        before = place or before
    missing = _untimed(comparison, goal, timings, times or {}) if sentences else []
    if sentences and not times:
        missing = [NOT_CHOSEN if own_times else _unmeasured(goal.trained)]
    return [
        *sentences,
        *_refusals(comparison, goal),
        *filter(None, [fastest_sentence(timings)]),
        *missing,
    ]


def headline(goal: TargetWords, timings: Timings, times: Placed | None) -> str:
    """Return the shortest time to the target and its batch; "" without step times.

    Of several optimisers the one with the shortest time is named.
    """
    timed = [
        (name, best, least)
        for name, timing in timings.items()
        if isinstance(best := timing.best, Estimate)
        and isinstance(least := timing.least_s, Estimate)
        and times
        and name in times
    ]
    if not timed or times is None:
        return ""
    name, best, least = min(timed, key=lambda t: float(t[2].value))
    best = rounded_estimate(best)
    return Text(
        "{of} is fastest at batch {batch}, {phrase}: {time}.",
        of=goal.of(name),
        batch=with_interval(size(best.value), best, size),
        phrase=times[name].place.phrase,
        time=with_interval(_seconds(least.value), least, _seconds),
    )


def convergence_sentence(
    optimizer: OptimizerCurve,
    curve: ConvergenceCurve,
    goal: TargetWords,
    where: str,
    timing: BatchTiming | None,
) -> str:
    """Return where larger batches give diminishing returns, and the best batch `where`."""
    limit = _limit(curve, goal.of(optimizer.optimizer))
    if timing is None or isinstance(timing.best, Refusal) or isinstance(timing.least_s, Refusal):
        return Text("{limit}.", limit=limit)
    best, least = rounded_estimate(timing.best), timing.least_s
    return Text(
        "{limit}; {where} the best batch is {best}, which takes {time}.",
        limit=limit,
        where=where,
        best=with_interval(size(best.value), best, size),
        time=with_interval(_seconds(least.value), least, _seconds),
    )


def fastest_sentence(timings: Timings) -> str:
    """Return which optimiser is fastest to the target, or that it is a tie; "" below two."""
    least = {n: t.least_s for n, t in timings.items() if isinstance(t.least_s, Estimate)}
    if len(least) < 2:
        return ""
    (first, a), (second, b) = sorted(least.items(), key=lambda x: float(x[1].value))[:2]
    times = f"{_seconds(a.value)} against {_seconds(b.value)}"
    if float(a.high) < float(b.low):
        return Text(
            "{first} is fastest, each at its best batch: {times} with {second}.",
            first=first,
            times=times,
            second=second,
        )
    if np.isfinite(float(a.high)) and np.isfinite(float(b.low)):
        why = "within their intervals. More seeds at these batches would narrow both"
    else:
        why = "and published step times have no interval. Measure the step times"
    return Text(
        "{first} and {second} are tied, each at its best batch: {times}, {why}.",
        first=first,
        second=second,
        times=times,
        why=why,
    )


def fastest_two(timings: Timings) -> tuple[str, str, bool] | None:
    """Return the fastest optimiser, the next one, and whether they are tied; None below two."""
    least = {n: t.least_s for n, t in timings.items() if isinstance(t.least_s, Estimate)}
    if len(least) < 2:
        return None
    (first, a), (second, b) = sorted(least.items(), key=lambda x: float(x[1].value))[:2]
    return first, second, not float(a.high) < float(b.low)


def noise_sentence(comparison: OptimizerComparison) -> str:
    """Return gradient noise scales beside critical batch sizes, as a sentence."""
    curves = [c for c in comparison.curves if not isinstance(c.curve, Refusal)]
    measured = [c for c in curves if c.usual_noise_scale is not None]
    if not measured:
        return "Gradient noise scale beside Bcrit: not measured." if curves else ""
    pairs = [
        f"{c.optimizer} {size(c.usual_noise_scale)} ({_bcrit(c)})"
        if c.usual_noise_scale is not None
        else Text("{optimizer} not measured ({bcrit})", optimizer=c.optimizer, bcrit=_bcrit(c))
        for c in curves
    ]
    return Text(
        "Gradient noise scale in samples, median over the batches at their best rates (Bcrit): "
        "{pairs}.",
        pairs="; ".join(pairs),
    )


def caution_of(comparison: OptimizerComparison, goal: TargetWords) -> str:
    """Return the caution for a target stricter than the recorded one; "" if none applies."""
    missed = sum(int((c.reached < c.seeds).any()) for c in comparison.curves)
    if not goal.stricter_than or not missed:
        return ""
    return Text(
        "Stricter than the {stricter_than} these trials were trained for. They "
        "stopped soon after it, so a trial that missed this target may only have "
        "stopped too early.",
        stricter_than=goal.stricter_than,
    )


def notes_of(
    comparison: OptimizerComparison, timings: Timings | None = None
) -> dict[str, tuple[str, ...]]:
    """Return the notes on every optimiser, by its name."""
    return {c.optimizer: _notes(c, (timings or {}).get(c.optimizer)) for c in comparison.curves}


def note_lines(notes: Mapping[str, Sequence[str]]) -> list[str]:
    """Return each note once, with the names of its optimisers unless all have it."""
    whose: dict[str, list[str]] = {}
    for name, texts in notes.items():
        for note in texts:
            whose.setdefault(note, []).append(name)
    return [
        note if len(names) == len(notes) else f"{_listed(names)}: {note}"
        for note, names in whose.items()
    ]


def refused_text(why: Refusal) -> str:
    """Return a refusal as one text: the reason, and what to measure next."""
    return paragraph(why.reason, why.measure_next)


def _refusals(comparison: OptimizerComparison, goal: TargetWords) -> list[str]:
    """Return why optimisers have no curve, those of one reason together."""
    names: dict[str, list[str]] = {}
    for optimizer in comparison.curves:
        if isinstance(optimizer.curve, Refusal):
            names.setdefault(refused_text(optimizer.curve), []).append(optimizer.optimizer)
    return [f"{goal.of(_listed(those))}: {why}" for why, those in names.items()]


def _untimed(
    comparison: OptimizerComparison, goal: TargetWords, timings: Timings, times: Placed
) -> list[str]:
    """Return why there is no best batch and what to measure, grouped by reason."""
    names = [c.optimizer for c in comparison.curves if not isinstance(c.curve, Refusal)]
    why: dict[tuple[str, str], list[str]] = {}
    for name in (n for n in names if n in times):
        if refusal := _no_best(times[name], timings.get(name)):
            why.setdefault((times[name].place.phrase, refused_text(refusal)), []).append(name)
    sentences: list[str] = [
        Text("No best batch{for_} {where}: {text}", for_=_for(those, names), where=where, text=text)
        for (where, text), those in why.items()
    ]
    if times and (missing := [n for n in names if n not in times]):
        sentences.append(
            Text(
                "No best batch{for_} there: {trained} with {listed} was not timed on "
                "that system under that input pattern.",
                for_=_for(missing, names),
                trained=goal.trained,
                listed=_listed(missing),
            )
        )
    return sentences


def _no_best(times: PlacedTimes, timing: BatchTiming | None) -> Refusal | None:
    """Return the first refusal on the way to a best batch."""
    estimates = (times.curve, timing.best, timing.least_s) if timing else (times.curve,)
    return next((t for t in estimates if isinstance(t, Refusal)), None)


def _unmeasured(trained: str) -> str:
    return Text(
        "No best batch: steps of {trained} were not timed. Measure it on this "
        "system at two or more batch sizes, or choose the step times of another "
        "workload below.",
        trained=trained,
    )


def _for(those: Sequence[str], names: Sequence[str]) -> str:
    """Return ' for' with the names, unless they are all of them."""
    return "" if len(those) == len(names) else f" for {_listed(those)}"


def _limit(curve: ConvergenceCurve, goal: str) -> str:
    """Return where larger batches give diminishing returns, without a full stop."""
    critical, largest = curve.critical_batch_size, curve.largest_measured
    if not curve.perfect_scaling_seen:
        why = "a larger batch takes the same number of steps"
        if float(critical.value) > 0.0:
            why = "the intervals allow a constant number of steps"
        first = size(curve.batch[0])
        return Text(
            "Batches above {first} showed no gain for {goal}: {why}",
            first=first,
            goal=goal,
            why=why,
        )
    if not np.isfinite(float(critical.high)):
        level = percent(critical.level)
        return Text(
            "Larger batches still save steps at the largest measured batch "
            "({largest}) for {goal}: the limit is above batch {low} ({level})",
            largest=size(largest),
            goal=goal,
            low=size(critical.low),
            level=level,
        )
    return _beyond(curve, goal)


def _beyond(curve: ConvergenceCurve, goal: str) -> str:
    critical = rounded_estimate(curve.critical_batch_size)
    batch = with_interval(size(critical.value), critical, size)
    value, smallest, largest = curve.critical_batch_size.value, curve.batch[0], curve.batch[-1]
    if value > largest:
        return Text(
            "Beyond batch {batch} larger batches give diminishing returns for {goal} (the largest "
            "measured batch is {largest})",
            batch=batch,
            goal=goal,
            largest=size(largest),
        )
    if value < smallest:
        return Text(
            "Beyond batch {batch} larger batches give diminishing returns for {goal} (the "
            "smallest measured batch is {smallest})",
            batch=batch,
            goal=goal,
            smallest=size(smallest),
        )
    return Text(
        "Beyond batch {batch} larger batches give diminishing returns for {goal}",
        batch=batch,
        goal=goal,
    )


def _bcrit(optimizer: OptimizerCurve) -> str:
    critical = (
        np.nan
        if isinstance(optimizer.curve, Refusal)
        else optimizer.curve.critical_batch_size.value
    )
    return size(critical) if np.isfinite(float(critical)) else "no limit"


def _notes(optimizer: OptimizerCurve, timing: BatchTiming | None) -> tuple[str, ...]:
    notes: tuple[str, ...] = optimizer.warnings
    if not isinstance(optimizer.curve, Refusal):
        notes = optimizer.curve.warnings + optimizer.curve.critical_batch_size.reasons + notes
    if timing is not None and isinstance(timing.best, Estimate):
        notes = timing.best.reasons + notes
    return tuple(dict.fromkeys(notes))


def _listed(names: Iterable[str]) -> str:
    *others, last = names
    return " and ".join(p for p in (", ".join(others), last) if p)


def _seconds(seconds: float | Floats) -> str:
    return in_words(float(seconds))
