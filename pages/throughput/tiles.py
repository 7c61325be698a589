"""The answer of Throughput at a glance: the fastest curve as tiles, and one line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pages.common import tiles
from planner import figures
from planner.core import Record, Refusal, Text, plain
from planner.throughput import SystemCurve, crossover_line, curve_sentence, limit_of

Chosen = Sequence[SystemCurve]


@dataclass(frozen=True, slots=True, kw_only=True)
class Glance:
    """Title, tiles, badge and line of the answer."""

    title: str
    tiles: list[figures.Tile]
    badge: str
    line: str


def draw(glance: Glance) -> None:
    """Draw the answer at a glance."""
    tiles.draw(glance.title, glance.tiles, badge=glance.badge, line=glance.line, tied=False)


def of(chosen: Chosen) -> Glance:
    """Return the fastest curve: its limit, the batch that reaches 90 % of it, its overhead."""
    good = sorted((c for c in chosen if not isinstance(c.curve, Refusal)), key=limit_of,
                  reverse=True)  # fmt: skip
    if not good:
        return Glance(title="No answer", tiles=[], badge="", line=curve_sentence(chosen[0]))
    best = good[0]
    badge = Text("fastest of {good} curves", good=len(good)) if len(good) > 1 else _points(best)
    return Glance(title=best.label, tiles=_tiles(best), badge=badge, line=_line(good))


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
    return (
        Text(
            "No batch above {largest_measured} was measured.",
            largest_measured=plain(law.largest_measured),
        )
        if beyond
        else ""
    )


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
