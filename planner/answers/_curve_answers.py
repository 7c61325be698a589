"""What chosen curves say together, the same on a page and in a command."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from planner.core import Record, Refusal
from planner.store.sealed.result_set import ResultSet
from planner.throughput import SystemCurve, cell, crossover_sentence, curve_sentence

MOST_REFUSED: Final = 3
"""Refused curves that have a sentence each; the table has the reasons of all."""


def answer_sentences(chosen: Sequence[SystemCurve]) -> list[str]:
    """A sentence per curve, fastest first and few refused; then the crossing of the first two."""
    good = [c for c in chosen if not isinstance(c.curve, Refusal)]
    bad = [c for c in chosen if isinstance(c.curve, Refusal)]
    good.sort(key=_speed, reverse=True)
    texts = [curve_sentence(c) for c in [*good, *bad[:MOST_REFUSED]]]
    if (left := len(bad) - MOST_REFUSED) > 0:
        more = f"{left} more curves are" if left > 1 else "One more curve is"
        texts.append(f"{more} refused; the table states the reasons.")
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


def source_rows(chosen: Sequence[SystemCurve], sets: Iterable[ResultSet]) -> list[Record]:
    """Where each curve's points come from, one row per result set."""
    titles = {(s.folder, s.slug): s for s in sets}
    rows: dict[tuple[str, str], Record] = {}
    for one in chosen:
        for run in one.runs:
            found = titles.get((run.folder, run.set_folder))
            rows[(one.label, run.result_set)] = {
                "Curve": one.label,
                "Result set": found.title if found else run.result_set,
                "Folder": run.folder,
                "Basis": run.basis,
                "Source": (found.citation or found.source) if found else run.source,
                "Licence": run.licence,
                "Note": run.note,
            }
    return list(rows.values())


def _speed(one: SystemCurve) -> float:
    return 0.0 if isinstance(one.curve, Refusal) else float(one.curve.asymptotic_throughput.value)


def batch_rows(chosen: Sequence[SystemCurve], batches: Sequence[float]) -> list[Record]:
    """Throughput [samples/s] and time of a step [s] of every curve at every batch [samples]."""
    return [_at_batch(one, batch) for one in chosen for batch in batches]


def _at_batch(one: SystemCurve, batch: float) -> Record:
    law = one.curve
    speed = law if isinstance(law, Refusal) else law.throughput(batch)
    step = law if isinstance(law, Refusal) else law.step_time(batch)
    row: dict[str, str | float | int | bool | None] = {
        "curve": one.label,
        "global_batch_size": batch,
    }
    for name, told in (("samples_per_s", speed), ("step_s", step)):
        ends = (None,) * 3 if isinstance(told, Refusal) else (told.value, told.low, told.high)
        for key, end in zip((name, f"{name}_low", f"{name}_high"), ends, strict=True):
            row[key] = None if end is None else cell(end)
    refused = speed if isinstance(speed, Refusal) else None
    return row | {
        "basis": None if isinstance(speed, Refusal) else speed.basis,
        "notes": None if isinstance(speed, Refusal) else " ".join(speed.reasons) or None,
        "refused": refused.reason if refused else None,
        "measure_next": refused.measure_next if refused else None,
    }
