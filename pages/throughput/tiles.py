"""The answer of Throughput at a glance: the fastest curve as tiles, and one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pages.common import tiles
from planner import figures
from planner.core import Record, Refusal, plain
from planner.throughput import SystemCurve, crossover_line, curve_sentence

Chosen = Sequence[SystemCurve]


def draw(chosen: Chosen) -> None:
    """Draw the fastest curve: its limit, the batch that reaches 90 % of it, its overhead."""
    good = sorted((c for c in chosen if not isinstance(c.curve, Refusal)), key=_speed, reverse=True)
    if not good:
        tiles.draw("No answer", [], line=curve_sentence(chosen[0]), tied=False)
        return
    best = good[0]
    badge = f"fastest of {len(good)} curves" if len(good) > 1 else _points(best)
    tiles.draw(best.label, _tiles(best), badge=badge, line=_line(good), tied=False)


def _speed(curve: SystemCurve) -> float:
    law = curve.curve
    return 0.0 if isinstance(law, Refusal) else float(law.asymptotic_throughput.value)


def _points(curve: SystemCurve) -> str:
    return f"{len(curve.points)} points" if curve.points else "published"


def _tiles(curve: SystemCurve) -> list[figures.Tile]:
    law = curve.curve
    assert not isinstance(law, Refusal)  # noqa: S101 - refused curves are left out
    most = law.largest_measured if law.n else None
    return [
        figures.number_tile("Asymptotic throughput", law.asymptotic_throughput, "samples/s"),
        figures.number_tile("90 % of it at batch", law.batch_for(0.9), "samples", limit=most,
                            limit_word="measured to"),
        figures.time_tile("Overhead per step", law.overhead_s),
    ]  # fmt: skip


def _line(good: Chosen) -> str:
    """Return where two systems cross, or whether the batch of 90 % was measured."""
    best = good[0]
    for other in good[1:]:
        if other.runs[0].system != best.runs[0].system and (text := crossover_line(best, other)):
            return text
    law = best.curve
    assert not isinstance(law, Refusal)  # noqa: S101
    beyond = law.n and float(law.batch_for(0.9).value) > law.largest_measured
    return f"No batch above {plain(law.largest_measured)} was measured." if beyond else ""


def cards(
    rows: Sequence[Mapping[str, object]], records: Sequence[Record], slots: Mapping[str, int]
) -> list[figures.Card]:
    """Return the curves as cards; `slots` are their colours by label."""
    return [
        figures.Card(
            title=str(record["curve"]),
            slot=slots.get(str(record["curve"])),
            values=(
                (str(row.get("v0 (samples/s)", "")), "samples/s"),
                (str(row.get("t (s)", "")), "s a step"),
                (str(row.get("b90 (samples)", "")), "for 90 %"),
            ),
            note=str(row.get("Notes") or row.get("Basis") or ""),
        )
        for row, record in zip(rows, records, strict=True)
    ]
