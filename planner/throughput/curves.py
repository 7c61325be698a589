"""Curves of systems' step times, their sentences, and step times of runs that state only epochs.

An epoch of s samples at batch b has s/b steps, so a step takes epoch time * b/s. Where no run of a
workload states s, it is the size of the workload's epoch (`planner.epochs.epoch_size`). Beside
runs that state theirs a run without s has no step time: its part of an epoch is unknown.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from planner.core import (
    GIGA,
    Estimate,
    Floats,
    Record,
    Refusal,
    Text,
    cell,
    estimate_cells,
    message_of,
    or_refusal,
    paragraph,
    percent,
    plain,
    plural,
    rounded_ends,
    with_range,
)
from planner.epochs import ADD_TIMED, MOST_LINES, PREFERRED, UNLIKE, EpochSize, timed_samples
from planner.runs import Run
from planner.throughput.crossover import crossover_batch
from planner.throughput.fit import ThroughputCurve, fit_throughput, published_curve

GRID: Final = 81
"""Points of a drawn curve."""
LOCATED: Final = 1_000.0
"""A crossover is located if the ends of its interval are at most this ratio apart."""
ROUNDING_OF_A_FIT: Final = 1e-9
"""Relative residuals below it are rounding: a fit in doubles leaves some 1e-15 to 1e-12."""
NOTHING_LEFT: Final = Refusal(
    reason="Every run of it is suspect, and suspect runs are left out.",
    measure_next="Measure these batches again, or keep the suspect runs in the fit.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemCurve:
    """The points of one system under one pattern, and their curve or a refusal.

    `key` identifies the curve; `label` has only its differences from the other shown ones. `points`
    are the runs of `batch` [samples] and `step_s` [s], in rising batch; `left_out` are those
    excluded from the fit, in the same order. `too_large` is the smallest batch [samples] above them
    that ran out of memory, None where none did.
    """

    key: str
    label: str
    device_kind: str
    runs: tuple[Run, ...]
    points: tuple[Run, ...]
    left_out: tuple[Run, ...]
    batch: Floats
    step_s: Floats
    curve: ThroughputCurve | Refusal
    too_large: int | None = None

    def beyond_memory(self, batch: float) -> Refusal | None:
        """Return why there is no answer at a batch: it did not fit into memory; None if it may."""
        if self.too_large is None or batch < self.too_large:
            return None
        return Refusal(
            reason=Text("Batch {batch} did not fit into memory.", batch=size(self.too_large)),
            measure_next="Choose a smaller batch, or more memory.",
        )


def curves_of(runs: Sequence[Run], left_out: Collection[str] = ()) -> list[SystemCurve]:
    """Return one curve per workload, system, pattern and software of the runs, in their order.

    A run needs a batch and a step time, or published parameters of a curve. Patterns are named by
    their differences. Runs in `left_out` are kept as separate points and not fitted.
    """
    groups: dict[tuple[str, str, str, str], list[Run]] = {}
    failed: dict[tuple[str, str, str, str], list[int]] = {}
    for run in runs:
        key = (run.workload, run.system, run.pattern, run.software)
        if _usable(run):
            groups.setdefault(key, []).append(run)
        elif run.status == "oom" and run.global_batch_size:
            failed.setdefault(key, []).append(run.global_batch_size)
    workloads = list(dict.fromkeys(w for w, _, _, _ in groups))
    patterns = {w: pattern_labels([p for x, _, p, _ in groups if x == w]) for w in workloads}
    several = len({s for _, _, _, s in groups}) > 1
    curves = []
    for key, members in groups.items():
        workload, system, pattern, software = key
        parts = (workload if len(workloads) > 1 else "", system, patterns[workload][pattern],
                 software if several else "")  # fmt: skip
        label = " · ".join(p for p in parts if p)
        name = f"{system} / {pattern} / {software}"
        name = f"{workload} / {name}" if len(workloads) > 1 else name
        curve = _curve(name, label, members, left_out)
        most = max((r.global_batch_size or 0 for r in members), default=0)
        larger = [batch for batch in failed.get(key, ()) if batch > most]
        curves.append(replace(curve, too_large=min(larger, default=None)))
    return curves


def curve_sentence(curve: SystemCurve) -> str:
    """Return a curve, or its refusal, as one sentence."""
    sentence = or_refusal(curve.label, lambda: paragraph(_sentence(curve), _too_large(curve)))
    return (
        f"{curve.label}: {sentence.reason} {sentence.measure_next}"
        if isinstance(sentence, Refusal)
        else sentence
    )


def _too_large(curve: SystemCurve) -> str:
    """Return the batch that did not fit; "" where none failed."""
    refusal = curve.beyond_memory(np.inf)
    return refusal.reason if refusal else ""


def _sentence(system: SystemCurve) -> str:
    if isinstance(system.curve, Refusal):
        why = f"{system.label}: {system.curve.reason}"
        return paragraph(why, system.curve.measure_next, without(system))
    v0, half = map(
        rounded_estimate, (system.curve.asymptotic_throughput, system.curve.half_saturation_batch)
    )
    if not np.isfinite(float(v0.value)):
        return paragraph(f"{system.label}: {v0.reasons[0]}", without(system))
    saturates = Text(
        "{system} saturates at {speed}.",
        system=system.label,
        speed=with_interval(Text("{count} samples/s", count=count(v0.value)), v0),
    )
    if float(half.value) == 0.0:
        seen = (
            "No overhead a step was seen: full speed at every measured batch."
            if system.curve.n
            else "No overhead a step was published: full speed at every batch."
        )
        return paragraph(saturates, seen, without(system))
    ninety = rounded_estimate(system.curve.batch_for(0.9))
    reached = Text(
        "It reaches half of that at batch {half} and 90 % at batch {ninety}.",
        half=size(half.value),
        ninety=size(ninety.value),
    )
    if system.batch.size and float(ninety.value) > float(system.batch.max()):
        most = float(system.batch.max())
        share = most / (most + float(system.curve.half_saturation_batch.value))
        reached = Text(
            "It reaches half of that at batch {half} and 90 % at batch {ninety}. The largest "
            "measured batch, {most}, reaches {share}.",
            half=size(half.value),
            ninety=size(ninety.value),
            most=size(most),
            share=percent(share),
        )
    return paragraph(saturates, reached, without(system))


def without(curve: SystemCurve) -> str:
    """Return the count of excluded runs; "" without any."""
    if not curve.left_out:
        return ""
    return plural(
        len(curve.left_out),
        "{count} suspect run is left out of this fit.",
        "{count} suspect runs are left out of this fit.",
    )


def crossover_sentence(a: SystemCurve, b: SystemCurve) -> str:
    """Return above which batch one system is faster than the other, or the refusal."""
    if isinstance(a.curve, Refusal) or isinstance(b.curve, Refusal):
        return "No crossover without both curves."
    crossing = crossover_batch(a.curve, b.curve, names=(a.label, b.label))
    if text := _faster_at_each(crossing, a, b):
        return text
    if isinstance(crossing, Refusal):
        return paragraph(crossing.reason, crossing.measure_next)
    fast, slow = sorted((a, b), key=limit_of, reverse=True)
    crossing = rounded_estimate(crossing)
    text = Text(
        "{fast} is faster than {slow} above batch {crossing}.",
        fast=fast.label,
        slow=slow.label,
        crossing=with_interval(size(crossing.value), crossing, size),
    )
    return paragraph(text, *crossing.reasons)


def crossover_line(a: SystemCurve, b: SystemCurve) -> str:
    """Return above which batch one system is faster, in few words; "" where they do not cross."""
    if isinstance(a.curve, Refusal) or isinstance(b.curve, Refusal):
        return ""
    crossing = crossover_batch(a.curve, b.curve, names=(a.label, b.label))
    if text := _faster_at_each(crossing, a, b):
        return text
    if isinstance(crossing, Refusal):
        return ""
    fast, slow = sorted((a, b), key=limit_of, reverse=True)
    ends = crossing.ends
    value, _, _ = rounded_ends(*ends)
    if "extrapolated" in (a.curve.basis(ends[0]), b.curve.basis(ends[0])):
        return Text(
            "{fast} is faster than {slow} above batch {value}, extrapolated from measured batches.",
            fast=fast.label,
            slow=slow.label,
            value=plain(value),
        )
    return Text(
        "{fast} is faster than {slow} above batch {value}.",
        fast=fast.label,
        slow=slow.label,
        value=plain(value),
    )


def _faster_at_each(crossing: Estimate | Refusal, a: SystemCurve, b: SystemCurve) -> str:
    """Return which system was faster at each batch measured on both, and by how much.

    "" where the crossover is located, there are fewer than two such batches, or neither system was
    the faster one at all of them.
    """
    if isinstance(crossing, Estimate) and float(crossing.high) <= LOCATED * float(crossing.low):
        return ""
    both = np.intersect1d(a.batch, b.batch)
    ratio = np.array([_mean_step_s(b, at) / _mean_step_s(a, at) for at in both])  # of a to b
    if both.size < 2 or not (np.all(ratio > 1.0) or np.all(ratio < 1.0)):
        return ""
    fast, slow, ratio = (a, b, ratio) if ratio[0] > 1.0 else (b, a, 1.0 / ratio)
    ends = float(ratio.min()), float(ratio.max())
    twice = ends[1] >= 2.0
    low, high = (plain(r, 2) if twice else percent(r - 1.0) for r in ends)
    by = low if low == high else Text("{low} to {high}", low=low, high=high)
    return Text(
        "{fast} is {faster} {slow} at every batch measured on both, {smallest} to {largest}.",
        fast=fast.label,
        faster=Text("{by} times as fast as", by=by) if twice else Text("{by} faster than", by=by),
        slow=slow.label,
        smallest=size(both[0]),
        largest=size(both[-1]),
    )


def _mean_step_s(curve: SystemCurve, batch: float) -> float:
    return float(curve.step_s[curve.batch == batch].mean())


def limit_of(curve: SystemCurve) -> float:
    """Return the asymptotic throughput of a curve [samples/s]; 0 where it is refused."""
    law = curve.curve
    return 0.0 if isinstance(law, Refusal) else float(law.asymptotic_throughput.value)


def curve_rows(curves: Sequence[SystemCurve]) -> list[Record]:
    """Return v0, t, b50 and b90 of every curve with intervals, or the refusal."""
    return [_row(c) for c in curves]


def point_rows(curves: Sequence[SystemCurve]) -> list[Record]:
    """Return every measured point with its fit."""
    return [row for curve in curves for row in _points(curve)]


def fitted_step_s(curve: SystemCurve, runs: Sequence[Run]) -> Floats:
    """Return the curve's step times at the batches of `runs` [s], NaN where refused."""
    batch = np.array([r.global_batch_size for r in runs], float)
    estimate = None if isinstance(curve.curve, Refusal) else curve.curve.step_time(batch)
    return (
        np.asarray(estimate.value)
        if isinstance(estimate, Estimate)
        else np.full(batch.shape, np.nan)
    )


def speeds(runs: Sequence[Run]) -> tuple[Floats, Floats]:
    """Return batches [samples] and measured samples/s of runs."""
    batch = np.array([r.global_batch_size for r in runs], float)
    return batch, batch / np.array([r.step_time_s for r in runs], float)


def left_over(curve: SystemCurve, runs: Sequence[Run]) -> Floats:
    """Return measured over fitted step times less 1, one per run; NaN without a fit.

    Values below `ROUNDING_OF_A_FIT` are rounding errors and returned as 0.
    """
    step_s = np.array([r.step_time_s for r in runs], float)
    off = step_s / fitted_step_s(curve, runs) - 1.0
    return np.where(np.abs(off) < ROUNDING_OF_A_FIT, 0.0, off)


def passes_through(curve: SystemCurve) -> bool:
    """Return whether the curve has two points and nothing is left over at either."""
    return len(curve.points) == 2 and not np.any(left_over(curve, curve.points) != 0.0)


def grid_of(curve: SystemCurve) -> Floats:
    """Return batches [samples] to draw a curve at, from half the smallest to its limit."""
    if not curve.batch.size:
        excluded = [float(r.global_batch_size or 1) for r in curve.left_out]
        return np.unique(excluded) if excluded else np.geomspace(1, 8192, GRID)
    if isinstance(curve.curve, Refusal):
        return curve.batch
    low, high = curve.batch.min() / 2, min(curve.curve.answers_up_to_batch, 4 * curve.batch.max())
    high = min(high, curve.too_large or high)
    edges = [curve.batch.min(), curve.batch.max()]
    return np.unique(np.r_[np.geomspace(low, high, GRID), edges])


def count(value: float | Floats) -> str:
    """Return a size with at most four digits that mean something: 1,471 or 258.1 or 0.054."""
    number = float(value)
    return f"{number:,.0f}" if number >= 1000 else f"{number:.4g}"


def size(batch: float | Floats) -> str:
    """Return a batch size: whole samples, thousands apart."""
    number = float(batch)
    return f"{number:,.0f}" if number >= 1 else f"{number:.2g}"


def rounded_estimate(e: Estimate) -> Estimate:
    """Return a number and its interval with the digits that the interval allows."""
    ends = e.ends
    if not all(map(np.isfinite, ends)):
        return e
    value, low, high = rounded_ends(*ends)
    return replace(e, value=value, low=low, high=high)


def with_interval(shown: str, e: Estimate, write: Callable[[float | Floats], str] = count) -> str:
    """Return a written number with its interval in brackets, where it has one."""
    low, high, level = float(e.low), float(e.high), percent(e.level)
    if not np.isfinite(low) or low == high:
        return shown
    if not np.isfinite(high):
        return Text("{shown} ({level}: at least {low})", shown=shown, level=level, low=write(low))
    return Text("{shown} ({level}: {low} to {high})",
                shown=shown, level=level, low=write(low), high=write(high))  # fmt: skip


def rounded_cell(row: Record, name: str) -> str:
    """Return a cell with its interval for a table, rounded to it: 258 (250 to 266)."""
    value, low, high = row[name], row[f"{name}_low"], row[f"{name}_high"]
    if value is None and low is not None:
        return Text("no limit (from {low})", low=plain(float(low), 2))
    if value is None or low is None:
        return "no limit" if value is None else plain(float(value), 4)
    return with_range(float(value), float(low), np.inf if high is None else float(high))


def _point(run: Run) -> bool:
    """Return whether it is a point of a curve; a step time can be so small that it is kept as 0."""
    return run.global_batch_size is not None and 0.0 < (run.step_time_s or 0.0) < np.inf


def _usable(run: Run) -> bool:
    return run.status == "ok" and (_point(run) or bool(run.asymptotic_throughput))


def _curve(key: str, label: str, runs: Sequence[Run], left_out: Collection[str]) -> SystemCurve:
    points = sorted(filter(_point, runs), key=lambda r: (r.global_batch_size or 0, _step_s(r)))
    fitted = [r for r in points if r.run_id not in left_out]
    batch = np.array([r.global_batch_size for r in fitted], float)
    step = np.array([_step_s(r) for r in fitted], float)
    return SystemCurve(
        key=key,
        label=label,
        device_kind=runs[0].device_kind,
        runs=tuple(runs),
        points=tuple(fitted),
        left_out=tuple(r for r in points if r.run_id in left_out),
        batch=batch,
        step_s=step,
        curve=or_refusal(label or key, lambda: _fitted(batch, step, runs)),
    )


def _step_s(run: Run) -> float:
    return run.step_time_s or 0.0


def _fitted(batch: Floats, step: Floats, runs: Sequence[Run]) -> ThroughputCurve | Refusal:
    if batch.size:
        try:
            return fit_throughput(batch, step)
        except ValueError as problem:  # a file may have any number: the page stays
            return Refusal(reason=message_of(problem), measure_next="Measure these batches again.")
    published = next((r for r in runs if r.asymptotic_throughput is not None), None)
    if published is None:
        return NOTHING_LEFT
    return published_curve(
        float(published.asymptotic_throughput or 0), float(published.overhead_s or 0)
    )


def pattern_labels(patterns: Sequence[str]) -> dict[str, str]:
    """Return each pattern without the parts that all of them share."""
    parts = {p: p.split(", ") for p in patterns}
    shared = set.intersection(*(set(v) for v in parts.values())) if parts else set()
    alone = len(parts) < 2
    return {
        p: "" if alone else ", ".join(x for x in v if x not in shared) for p, v in parts.items()
    }


def _row(curve: SystemCurve) -> Record:
    if isinstance(curve.curve, Refusal):
        return {
            "curve": curve.label,
            "points": int(curve.batch.size),
            "left_out": len(curve.left_out),
            "standing": curve.runs[0].standing,
            "refused": curve.curve.reason,
            "measure_next": curve.curve.measure_next,
        }
    c = curve.curve
    row: dict[str, str | float | int | bool | None] = {
        "curve": curve.label,
        "points": c.n,
        "left_out": len(curve.left_out),
        "standing": curve.runs[0].standing,
    }
    for name, e in (
        ("asymptotic_throughput", c.asymptotic_throughput),
        ("overhead_s", c.overhead_s),
        ("batch_50", c.half_saturation_batch),
        ("batch_90", c.batch_for(0.9)),
    ):
        row |= estimate_cells(name, e)
    notes = (*c.warnings, *c.asymptotic_throughput.reasons, _too_large(curve).strip())
    scatter = None if np.isnan(c.scatter) else round(100 * c.scatter, 3)
    return row | {
        "scatter_percent": scatter,
        "basis": c.asymptotic_throughput.basis if c.n == 0 else curve.runs[0].basis,
        "notes": " ".join(filter(None, dict.fromkeys(notes))) or None,
    }


def memory_gb(run: Run) -> float | None:
    """Return the largest memory in use on one device [GB]; None where the run does not state it."""
    used = run.device_memory_bytes
    return None if used is None else cell(used / GIGA, 4)


def _points(curve: SystemCurve) -> list[Record]:
    runs = (*curve.points, *curve.left_out)
    rows: list[Record] = []
    for run, fit, off in zip(runs, fitted_step_s(curve, runs), left_over(curve, runs), strict=True):
        batch, step, fitted = run.global_batch_size or 0, _step_s(run), bool(np.isfinite(fit))
        rows.append(
            {
                "curve": curve.label,
                "global_batch_size": batch,
                "step_s": round(step, 6),
                "samples_per_s": round(batch / step, 4),
                "fitted_step_s": round(float(fit), 6) if fitted else None,
                "measured_against_fit_percent": round(100 * float(off), 3) + 0.0
                if fitted
                else None,
                "in_fit": run not in curve.left_out,
                "peak_memory_gb": memory_gb(run),
                "run_id": run.run_id,
            }
        )
    return rows


NO_SAMPLES: Final = Refusal(
    reason="The samples per epoch are not stated, so epoch times give no step time.",
    measure_next="Enter the samples per epoch (samples_per_epoch), or add samples_per_epoch to "
    "the runs.",
)
UNLIKE_OTHERS: Final = Refusal(reason=UNLIKE, measure_next=ADD_TIMED)
NO_BATCH: Final = Refusal(
    reason="The batch sizes are not stated.", measure_next="Add global_batch_size to the runs."
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
    one. `needs_samples` if the samples per epoch would give step times that are missing.
    """

    runs: tuple[Run, ...]
    note: str = ""
    missing: tuple[str, ...] = ()
    refused: Refusal | None = None
    needs_samples: bool = False


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
        note=Text("Step times follow from epoch times. {sentence}", sentence=size.sentence)
        if filled
        else "",
        missing=tuple(
            Text(
                "No curve for {systems}. {reason} {measure_next}",
                systems=", ".join(systems),
                reason=refusal.reason,
                measure_next=refusal.measure_next,
            )
            for refusal, systems in lacking.items()
        ),
        refused=None if has else next(iter(lacking), NO_GOOD_RUN),
        needs_samples=NO_SAMPLES in lacking,
    )


def systems_of(runs: Sequence[Run]) -> list[str]:
    """Return systems to choose from.

    Those with a curve first, then those that lack only a number.
    """
    good = (r.system for r in runs if r.status == "ok")
    return list(dict.fromkeys([*systems_with_curves(runs), *good]))


def systems_with_curves(runs: Sequence[Run]) -> list[str]:
    """Return the systems of `curves_of` these runs, in its order, without a fit."""
    return list(dict.fromkeys(r.system for r in runs if _usable(r)))


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
