"""The answer of Scaling out at a glance: one line, then the fastest device count as tiles."""

import math
from collections.abc import Sequence

import streamlit as st

from pages.common import tiles, widgets
from pages.scaling_out.lines import batch_label
from planner import figures
from planner.answers.records import ScalingRow
from planner.core import LEAST_DIGITS, Estimate, Refusal, Text, percent, plain, rounded_ends
from planner.core.slugs import BADGE
from planner.scaling_out import CountAnswer, SeriesAnswer, best_of, devices, host_sentence


def draw(answer: SeriesAnswer) -> None:
    """Draw whether more devices pay: the fastest count, its gain, and from which batch."""
    best = best_of(answer)
    if best is None or isinstance(best.speed_up, Refusal):
        refused = next((r.step for r in answer.shown if isinstance(r.step, Refusal)), None)
        refused = best.speed_up if best and isinstance(best.speed_up, Refusal) else refused
        tiles.draw("No answer", [], line=refused.reason if refused else "", tied=False,
                   line_first=True)  # fmt: skip
        return
    where = batch_label(answer, answer.batches[-1])
    tied = _tied(answer, best)
    tiles.draw(
        f"{devices(best.devices)} at {where}{BADGE if answer.standing else ''}",
        _tiles(answer, best),
        badge="" if tied else "fastest measured count",
        line=_line(answer, best, tied=tied),
        tied=tied,
        line_first=True,
    )
    if host := host_sentence(answer):
        st.markdown(widgets.answer_text(host))


def _tied(answer: SeriesAnswer, best: CountAnswer) -> bool:
    gain = best.speed_up
    between = not isinstance(gain, Refusal) and float(gain.low) <= 1.0 <= float(gain.high)
    return between and best.devices != answer.series.base


def _tiles(answer: SeriesAnswer, best: CountAnswer) -> list[figures.Tile]:
    base = devices(answer.series.base)
    made = [figures.time_tile("Step time", best.step, most=_digits(best.step))]
    if best.devices == answer.series.base:
        last = next((r for r in answer.shown if r.devices == answer.series.counts[-1]), best)
        return [
            *made,
            figures.number_tile(
                Text("Speed of {devices} against it", devices=devices(last.devices)),
                last.speed_up,
                "times",
                most=_digits(last.speed_up),
            ),
        ]
    made.append(
        figures.number_tile(
            Text("Speed against {base}", base=base),
            best.speed_up,
            "times",
            most=_digits(best.speed_up),
        )
    )
    made.append(figures.number_tile("Efficiency", best.efficiency, "%", factor=100.0))
    crossing = _crossing(answer, best)
    if crossing is not None:
        made.append(figures.number_tile("Pays from batch", crossing, "samples"))
    return made


def _digits(answer: Estimate | Refusal) -> int:
    """Return the most digits of a value: fewer where a published law gives no interval."""
    if isinstance(answer, Estimate) and math.isnan(float(answer.low)):
        return LEAST_DIGITS
    return figures.DIGITS


def _crossing(answer: SeriesAnswer, best: CountAnswer) -> Estimate | None:
    batches = (c.batch for c in answer.crossings if c.devices == best.devices and not c.is_driver)
    batch = next(batches, None)
    if not isinstance(batch, Estimate) or answer.hold != "global" or batch.low == batch.high:
        return None  # no batch, or every batch that the devices can share
    return batch


def _line(answer: SeriesAnswer, best: CountAnswer, *, tied: bool) -> str:
    base = devices(answer.series.base)
    if tied:
        return Text(
            "{best} and {base} are too close to call.", best=devices(best.devices), base=base
        )
    if best.devices == answer.series.base:
        return "More devices do not pay at this batch."
    crossing = _crossing(answer, best)
    if crossing is None:
        return "More devices pay at this batch."
    value = plain(rounded_ends(*crossing.ends)[0])
    return Text(
        "{devices} are faster than {base} from global batch {value} on.",
        devices=devices(best.devices),
        base=base,
        value=value,
    )


def cards(rows: Sequence[ScalingRow], cells: Sequence[tuple[str, str]]) -> list[figures.Card]:
    """Return the device counts as cards; `cells` are their steps and speed-ups as text."""
    return [
        figures.Card(
            title=f"{devices(int(row.devices))} · batch {plain(float(row.global_batch_size))}",
            values=(
                (f"{step} s" if row.refused is None else "refused", "a step"),
                (speed_up, "times as fast"),
                ("" if row.efficiency is None else percent(float(row.efficiency)), "efficiency"),
            ),
            note=str(row.basis or row.refused or ""),
        )
        for row, (step, speed_up) in zip(rows, cells, strict=True)
    ]
