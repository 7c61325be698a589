"""The answer of How long? as rows, for table, CSV and report."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from planner.core import Estimate, Floats, Record, Refusal, clock, hms, interval
from planner.epochs import (
    QUICK,
    Answer,
    HowLong,
    Option,
    basis_in_words,
    is_rough,
    timed_samples,
    total_time,
)
from planner.store.sealed.result_set import ResultSet


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


def source_rows(options: Iterable[Option], sets: Iterable[ResultSet]) -> list[Record]:
    """Return the source of each option's numbers."""
    by_folder = {(s.folder, s.slug): s for s in sets}
    return [_source_row(o, by_folder.get((o.run.folder, o.run.set_folder))) for o in options]


def half_width(total: Estimate) -> str:
    """Return half the interval relative to the total: '± 2.0 %'; '± 16 %' where rough."""
    share = (float(total.high) - float(total.low)) / (2 * float(total.value))
    return f"± {share:{',.0%' if is_rough(total) else '.1%'}}".replace("%", " %")


def total_in_words(total: Estimate) -> str:
    """Return 25:21:41, or '54 h (45 to 63 h)' where the interval is too wide for seconds."""
    value, low, high = float(total.value), float(total.low), float(total.high)
    return interval(value, low, high) if is_rough(total) else clock(value)


def _answer_row(answer: Answer, result: HowLong, suspect: str | None) -> Record:
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
    return float(f"{number:.5g}") if math.isfinite(number) else None


def _milliseconds(seconds: float | Floats) -> float | None:
    """Return seconds rounded to a millisecond, below 1 s to six digits; None if infinite."""
    number = float(seconds)
    if not math.isfinite(number):
        return None
    return round(number, 3) if number >= 1.0 else float(f"{number:.6g}")
