"""How long? and Throughput as rows and sentences, for page, CSV, report and command."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from planner.core import (
    Estimate,
    Floats,
    Record,
    Refusal,
    Text,
    ahead_between,
    ahead_of,
    cell,
    clock,
    estimate_cells,
    hms,
    interval,
    or_refusal,
    percent,
    plural,
)
from planner.epochs import (
    MEASURE_AGAIN,
    QUICK,
    START_NOT_INCLUDED,
    HowLong,
    Option,
    OptionTotal,
    RatioReport,
    RunTimes,
    SpeedUp,
    basis_in_words,
    from_epoch_1,
    is_rough,
    later_epoch_time,
    systems_of,
    timed_samples,
    total_time,
    without_start,
)
from planner.runs import Run, TrialSet
from planner.store.sealed.result_set import ResultSet
from planner.throughput import SystemCurve, crossover_sentence, curve_sentence, limit_of


def answer_rows(result: HowLong, suspect: Mapping[str, str] | None = None) -> list[Record]:
    """Return a row per option: total [s and h:mm:ss], interval, ratio, basis, source.

    `suspect` are the flags of suspect runs by run id.
    """
    odd = suspect or {}
    return [_answer_row(a, result, odd.get(a.option.run.run_id)) for a in result.answers]


def epochs_rows(
    options: Sequence[Option],
    epochs: Sequence[int] = QUICK,
    *,
    another_session: bool = False,
    rest_like_last: bool = False,
) -> list[Record]:
    """Return totals of options by epoch count, as in the projection table of article 002."""
    rows: list[Record] = []
    for option in options:
        cells = [
            total_time(option, n, another_session=another_session, rest_like_last=rest_like_last)
            for n in epochs
        ]
        rows.append({"Option": option.label} | _clock(epochs, cells))
    return rows


def run_sources(options: Iterable[Option], sets: Iterable[ResultSet]) -> list[Record]:
    """Return the source of each option's numbers."""
    by_folder = {(s.folder, s.slug): s for s in sets}
    return [_source_row(o, by_folder.get((o.run.folder, o.run.set_folder))) for o in options]


def half_width(total: Estimate) -> str:
    """Return half the interval relative to the total: '± 2.0 %'; '± 16 %' where rough."""
    share = (float(total.high) - float(total.low)) / (2 * float(total.value))
    return f"± {percent(share, 0 if is_rough(total) else 1)}"


def total_in_words(total: Estimate) -> str:
    """Return 25:21:41, or '54 h (45 to 63 h)' where the interval is too wide for seconds."""
    value, low, high = total.ends
    return interval(value, low, high) if is_rough(total) else clock(value)


def _answer_row(answer: OptionTotal, result: HowLong, suspect: str | None) -> Record:
    run, total = answer.option.run, answer.total
    ratio = answer.speed_ratio
    return {
        "option": answer.option.label,
        "workload": run.workload,
        "input_pattern": run.pattern,
        "system": run.system,
        "global_batch_size": run.global_batch_size,
        "epochs": result.epochs,
        "samples_per_epoch": result.epoch_size.samples,
        "timed_samples_per_epoch": timed_samples(run, result.epoch_size.samples),
        "total_s": None if isinstance(total, Refusal) else _milliseconds(total.value),
        "total_hms": None if isinstance(total, Refusal) else hms(float(total.value)),
        "low_s": None if isinstance(total, Refusal) else _milliseconds(total.low),
        "high_s": None if isinstance(total, Refusal) else _milliseconds(total.high),
        "level": None if isinstance(total, Refusal) else total.level,
        "baseline": result.baseline.label,
        "speed_ratio_to_baseline": None if ratio is None else _significant(ratio.value),
        "speed_ratio_low": None if ratio is None else _significant(ratio.low),
        "speed_ratio_high": None if ratio is None else _significant(ratio.high),
        "another_session": result.another_session,
        "rest_like_last": result.rest_like_last,
        "suspect": suspect,
        "left_out": run.run_id in result.left_out,
        "basis": basis_in_words(answer.option, result.epochs),
        "refused": total.reason if isinstance(total, Refusal) else None,
        "measure_next": total.measure_next if isinstance(total, Refusal) else None,
        "notes": None if isinstance(total, Refusal) else " ".join(total.reasons) or None,
        "result_set": run.result_set,
        "standing": run.standing,
        "run_id": run.run_id,
        "source": run.source,
        "licence": run.licence,
    }


def _source_row(option: Option, result_set: ResultSet | None) -> Record:
    run = option.run
    return {
        "Option": option.label,
        "Result set": result_set.title if result_set else run.result_set,
        "Folder": run.folder,
        "Basis": run.basis,
        "Epochs timed": run.epochs_measured,
        "Source": (result_set.citation or result_set.source) if result_set else run.source,
        "Licence": run.licence,
        "Note": run.note,
    }


def _clock(epochs: Sequence[int], cells: Iterable[Estimate | Refusal]) -> dict[str, str]:
    return {
        f"{n:,}": "–" if isinstance(c, Refusal) else total_in_words(c)
        for n, c in zip(epochs, cells, strict=True)
    }


def _significant(value: float | Floats) -> float | None:
    """Return a ratio with five digits; None if infinite."""
    number = float(value)
    return cell(number, 5)


def _milliseconds(seconds: float | Floats) -> float | None:
    """Return seconds rounded to a millisecond, below 1 s to six digits; None if infinite."""
    number = float(seconds)
    if not math.isfinite(number):
        return None
    return round(number, 3) if number >= 1.0 else float(f"{number:.6g}")


def times_of(option: Option, epochs: int, *, rest_like_last: bool = False) -> RunTimes | None:
    """Return the times of How long?; None for a run that failed or has no batch."""
    run = option.run
    if run.status != "ok" or run.global_batch_size is None:
        return None
    return RunTimes(
        label=option.label,
        batch=run.global_batch_size,
        total=total_time(option, epochs, rest_like_last=rest_like_last),
        later_epoch=later_epoch_time(option, rest_like_last=rest_like_last),
    )


def ratio_rows(
    options: Sequence[Option],
    fast: str,
    slow: str,
    epochs: int,
    *,
    rest_like_last: bool = False,
    left_out: Collection[str] = (),
) -> list[Record]:
    """Return rows of `fast` against `slow`: common batches, best against best, extremes.

    Args:
        options: runs of both systems; others are ignored.
        fast: the system whose speed-up is shown; it may be the slower one.
        slow: the system it is compared with.
        epochs: N.
        rest_like_last: as `planner.epochs.how_long.total_time`.
        left_out: ids of runs to leave out.

    Returns:
        A row per comparison; none where one system has no timed run.
    """
    kept = [o for o in options if o.run.run_id not in left_out]
    kept = _alike(
        [o for o in kept if o.run.system in {fast, slow}], epochs, rest_like_last=rest_like_last
    )
    sides = [
        [t for o in kept if o.run.system == s
         and (t := times_of(o, epochs, rest_like_last=rest_like_last))]
        for s in (fast, slow)
    ]  # fmt: skip
    if not all(sides):
        return []
    report = or_refusal(f"{fast} and {slow}", lambda: systems_of(sides[0], sides[1], epochs))
    if isinstance(report, Refusal):
        return []
    named: list[tuple[str, RatioReport]] = [
        (Text("same batch, {batch}", batch=_batch(r)), r) for r in report.same_batch
    ]
    named += [
        ("best against best", report.best_against_best),
        (_largest(report.largest_speed_up), report.largest_speed_up),
        (_smallest(report.smallest_speed_up), report.smallest_speed_up),
    ]
    rows = [_row(name, r, epochs) for name, r in named]
    noted = any(row["Notes"] for row in rows)
    return [{k: v for k, v in row.items() if noted or k != "Notes"} for row in rows]


def _alike(options: list[Option], epochs: int, *, rest_like_last: bool) -> list[Option]:
    """Return the options; all start at epoch 1 where one states no start-up time."""
    totals = [(o.label, total_time(o, epochs, rest_like_last=rest_like_last)) for o in options]
    return [from_epoch_1(o) for o in options] if without_start(totals) else options


def _largest(report: RatioReport) -> str:
    what = "smallest slowdown" if _slower(report) else "largest speed-up"
    return Text("{what}: fastest against slowest", what=what)


def _smallest(report: RatioReport) -> str:
    what = "largest slowdown" if _slower(report) else "smallest speed-up"
    return Text("{what}: slowest against fastest", what=what)


def _slower(report: RatioReport) -> bool:
    """Return whether the first system takes longer over the epochs."""
    answer = report.over_epochs
    return isinstance(answer, SpeedUp) and float(answer.factor.value) < 1.0


def _row(name: str, report: RatioReport, epochs: int) -> Record:
    return {
        "Comparison": name,
        Text("Over {epochs:,} epochs", epochs=epochs): _factor(report.over_epochs),
        "90 % interval": _interval(report.over_epochs),
        "Per later epoch": _factor(report.asymptotic),
        "Decided": _decided(report.over_epochs),
        "Runs": _runs(report.over_epochs),
        "Notes": _notes(report.over_epochs),
    }


def _factor(answer: SpeedUp | Refusal) -> str:
    return ahead_of(None if isinstance(answer, Refusal) else answer.factor)


def _interval(answer: SpeedUp | Refusal) -> str:
    if isinstance(answer, Refusal):
        return answer.reason
    return ahead_between(float(answer.factor.low), float(answer.factor.high))


def _decided(answer: SpeedUp | Refusal) -> str:
    if isinstance(answer, Refusal):
        return "refused"
    return "yes" if answer.decided else f"no. {MEASURE_AGAIN}"


def _runs(answer: SpeedUp | Refusal) -> str:
    return "" if isinstance(answer, Refusal) else f"{answer.a.label} against {answer.b.label}"


def _notes(answer: SpeedUp | Refusal) -> str:
    """Return what the ratio excludes: a start-up time that one of the runs does not state."""
    if isinstance(answer, Refusal) or START_NOT_INCLUDED not in answer.factor.reasons:
        return ""
    without = [r.label for r in (answer.a, answer.b) if START_NOT_INCLUDED in _reasons(r)]
    return Text("Start-up time of {without} is not included.", without=" and ".join(without))


def _reasons(run: RunTimes) -> tuple[str, ...]:
    return () if isinstance(run.total, Refusal) else run.total.reasons


def _batch(report: RatioReport) -> str:
    answer = report.asymptotic if isinstance(report.over_epochs, Refusal) else report.over_epochs
    return "refused" if isinstance(answer, Refusal) else f"{answer.a.batch:,}"


MOST_REFUSED: Final = 3
"""Most refused curves with a sentence each; the table has the reasons of all."""


def answer_sentences(chosen: Sequence[SystemCurve]) -> list[str]:
    """Return a sentence per curve, fastest first, then crossovers of the first pairs."""
    good = [c for c in chosen if not isinstance(c.curve, Refusal)]
    bad = [c for c in chosen if isinstance(c.curve, Refusal)]
    good.sort(key=limit_of, reverse=True)
    texts = [curve_sentence(c) for c in [*good, *bad[:MOST_REFUSED]]]
    if (left := len(bad) - MOST_REFUSED) > 0:
        texts.append(
            plural(
                left,
                "One more curve is refused; the table states the reasons.",
                "{count} more curves are refused; the table states the reasons.",
            )
        )
    pairs = [
        (a, b)
        for a in good
        for b in good
        if a.runs[0].system != b.runs[0].system
        and a.runs[0].pattern == b.runs[0].pattern
        and a.runs[0].workload == b.runs[0].workload
        and limit_of(a) > limit_of(b)
    ]
    return texts + [crossover_sentence(a, b) for a, b in pairs[:2]]


def curve_sources(chosen: Sequence[SystemCurve], sets: Sequence[ResultSet]) -> list[Record]:
    """Return the sources of each curve's points, one row per result set."""
    runs = {(curve.label, run.result_set): run for curve in chosen for run in curve.runs}
    return [{"Curve": label, **source_cells(run, sets), "Note": run.note}
            for (label, _), run in runs.items()]  # fmt: skip


def source_cells(of: Run | TrialSet, sets: Sequence[ResultSet]) -> Record:
    """Return where a run or a set of trials comes from; its own words where its set is unknown."""
    shown = next((s for s in sets if (s.folder, s.slug) == (of.folder, of.set_folder)), None)
    return {
        "Result set": shown.title if shown else of.result_set,
        "Folder": of.folder,
        "Basis": of.basis,
        "Source": (shown.citation or shown.source) if shown else of.source,
        "Licence": of.licence,
    }


def batch_rows(chosen: Sequence[SystemCurve], batches: Sequence[float]) -> list[Record]:
    """Return throughput [samples/s] and step time [s] of each curve at each batch [samples]."""
    return [_at_batch(curve, batch) for curve in chosen for batch in batches]


def _at_batch(curve: SystemCurve, batch: float) -> Record:
    law = curve.beyond_memory(batch) or curve.curve
    speed = law if isinstance(law, Refusal) else law.throughput(batch)
    step = law if isinstance(law, Refusal) else law.step_time(batch)
    row: dict[str, str | float | int | bool | None] = {
        "curve": curve.label,
        "global_batch_size": batch,
    }
    for name, answer in (("samples_per_s", speed), ("step_s", step)):
        row |= estimate_cells(name, answer)
    refused = speed if isinstance(speed, Refusal) else None
    return row | {
        "basis": None if isinstance(speed, Refusal) else speed.basis,
        "notes": None if isinstance(speed, Refusal) else " ".join(speed.reasons) or None,
        "refused": refused.reason if refused else None,
        "measure_next": refused.measure_next if refused else None,
    }
