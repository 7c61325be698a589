"""Totals against epochs as the chart draws them."""

from collections.abc import Mapping, Sequence

import numpy as np

from planner import figures
from planner.core import LONGEST_S, Refusal
from planner.epochs import (
    Answer,
    HowLong,
    Option,
    chart_epochs,
    first_projected,
    timed_ratio,
    total_time,
)


def lines(
    result: HowLong, options: Sequence[Option], suspect: Mapping[str, str]
) -> list[figures.TimeLine]:
    """Return a line per option with a total, in the colour of its system."""
    colour = figures.option_slots(
        [(a.option.label, a.option.run.system) for a in result.answers],
        [o.run.system for o in options],
    )
    drawn = [_line(a, result, colour[a.option.label], suspect) for a in result.answers]
    return [line for line in drawn if line]


def _line(
    answer: Answer, result: HowLong, slot: int, suspect: Mapping[str, str]
) -> figures.TimeLine | None:
    option, run, grid = answer.option, answer.option.run, chart_epochs(result.epochs)
    epochs = grid[grid >= first_projected(option, rest_like_last=result.rest_like_last)]
    total = total_time(
        option,
        epochs.astype(int),
        another_session=result.another_session,
        rest_like_last=result.rest_like_last,
    )
    if isinstance(total, Refusal):
        return None
    short = np.asarray(total.value) <= LONGEST_S  # the line ends where answers do
    if not short.any():
        return None
    return figures.TimeLine(
        label=option.label,
        short=option.short,
        device_kind=run.device_kind,
        slot=slot,
        epochs=epochs[short],
        value=np.asarray(total.value)[short],
        low=np.asarray(total.low)[short],
        high=np.asarray(total.high)[short],
        measured_epochs=(run.epochs_measured or 1) / timed_ratio(option),
        suspect=suspect.get(run.run_id, ""),
        left_out=run.run_id in result.left_out,
    )
