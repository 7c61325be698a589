"""Sentences and tables of chosen curves, the same on a page and in a command."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from planner.core import Record, Refusal, Text
from planner.store.sealed.result_set import ResultSet
from planner.throughput import SystemCurve, cell, crossover_sentence, curve_sentence

MOST_REFUSED: Final = 3
"""Most refused curves with a sentence each; the table has the reasons of all."""


def answer_sentences(chosen: Sequence[SystemCurve]) -> list[str]:
    """Return a sentence per curve, fastest first, then crossovers of the first pairs."""
    good = [c for c in chosen if not isinstance(c.curve, Refusal)]
    bad = [c for c in chosen if isinstance(c.curve, Refusal)]
    good.sort(key=_speed, reverse=True)
    texts = [curve_sentence(c) for c in [*good, *bad[:MOST_REFUSED]]]
    if (left := len(bad) - MOST_REFUSED) > 0:
        more = Text("{left} more curves are", left=left) if left > 1 else "One more curve is"
        texts.append(Text("{more} refused; the table states the reasons.", more=more))
    pairs = [
        (a, b)
        for a in good
        for b in good
        if a.runs[0].system != b.runs[0].system
        and a.runs[0].pattern == b.runs[0].pattern
        and a.runs[0].workload == b.runs[0].workload
        and _speed(a) > _speed(b)
    ]
    return texts + [crossover_sentence(a, b) for a, b in pairs[:2]]


def curve_sources(chosen: Sequence[SystemCurve], sets: Iterable[ResultSet]) -> list[Record]:
    """Return the sources of each curve's points, one row per result set."""
    titles = {(s.folder, s.slug): s for s in sets}
    rows: dict[tuple[str, str], Record] = {}
    for curve in chosen:
        for run in curve.runs:
            result_set = titles.get((run.folder, run.set_folder))
            rows[(curve.label, run.result_set)] = {
                "Curve": curve.label,
                "Result set": result_set.title if result_set else run.result_set,
                "Folder": run.folder,
                "Basis": run.basis,
                "Source": (result_set.citation or result_set.source) if result_set else run.source,
                "Licence": run.licence,
                "Note": run.note,
            }
    return list(rows.values())


def _speed(curve: SystemCurve) -> float:
    return (
        0.0 if isinstance(curve.curve, Refusal) else float(curve.curve.asymptotic_throughput.value)
    )


def batch_rows(chosen: Sequence[SystemCurve], batches: Sequence[float]) -> list[Record]:
    """Return throughput [samples/s] and step time [s] of each curve at each batch [samples]."""
    return [_at_batch(curve, batch) for curve in chosen for batch in batches]


def _at_batch(curve: SystemCurve, batch: float) -> Record:
    law = curve.curve
    speed = law if isinstance(law, Refusal) else law.throughput(batch)
    step = law if isinstance(law, Refusal) else law.step_time(batch)
    row: dict[str, str | float | int | bool | None] = {
        "curve": curve.label,
        "global_batch_size": batch,
    }
    for name, answer in (("samples_per_s", speed), ("step_s", step)):
        ends = (
            (None,) * 3 if isinstance(answer, Refusal) else (answer.value, answer.low, answer.high)
        )
        for key, end in zip((name, f"{name}_low", f"{name}_high"), ends, strict=True):
            row[key] = None if end is None else cell(end)
    refused = speed if isinstance(speed, Refusal) else None
    return row | {
        "basis": None if isinstance(speed, Refusal) else speed.basis,
        "notes": None if isinstance(speed, Refusal) else " ".join(speed.reasons) or None,
        "refused": refused.reason if refused else None,
        "measure_next": refused.measure_next if refused else None,
    }
