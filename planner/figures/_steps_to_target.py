"""Steps to a target against batch size, and the time they take on a system."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from planner.core import LEAST_DIGITS, Floats, Text, in_one_unit, plain, plural, rounded
from planner.figures._curves import time_unit
from planner.figures.frame import (
    LEAST_HEIGHT,
    ChartSpec,
    Drawing,
    LegendEntry,
    Theme,
    batch_axis,
    escape,
    last,
    log_ticks,
)

MARKS: Final = (
    "circle", "square", "diamond", "triangle-up", "cross", "x", "triangle-down", "pentagon",
    "hexagon", "star",
)  # fmt: skip
"""Marker of each colour, so that optimisers differ without colour too."""
_NAMED: Final = 0.14
"""Least share of the width that a regime's name needs."""
_ROW: Final = 16
"""Pixels between two rows of names."""
_NAMES: Final = ("perfect", "diminishing", "maximal")
_MEDIAN_OF_RUNS: Final = LegendEntry(words="median of published runs", symbol="circle")
_FASTEST_TO_SLOWEST: Final = LegendEntry(words="fastest to slowest run", width=1.0)
_MEDIAN: Final = LegendEntry(words="median at the best learning rate", symbol="circle")
_SEED: Final = LegendEntry(words="one seed", symbol="circle-open")
_PERFECT: Final = LegendEntry(words="perfect scaling", dash="dash", width=1.0)
_BORDER: Final = LegendEntry(words="90 % interval of a border", shade=0.25)
_BEST: Final = LegendEntry(words="best batch", symbol="star")
_SHADES: Final = (0.03, 0.08, 0.13)
"""Darker where a larger batch saves less; the intervals of the borders come on top."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepsLine:
    """Steps to the target of one optimiser over batch size [samples].

    `seed_batch` and `seed_steps` are single seeds, `measured_batch` and `measured` their medians;
    `batch`, `value`, `low`, `high` the fitted law (empty where refused), measured from `smallest`
    to `largest`; `min_samples` the samples of perfect scaling, NaN if unknown.
    """

    label: str
    short: str
    slot: int
    seed_batch: Floats
    seed_steps: Floats
    measured_batch: Floats
    measured: Floats
    batch: Floats
    value: Floats
    low: Floats
    high: Floats
    smallest: float
    largest: float
    min_samples: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Borders:
    """Borders of regimes: value, low and high end of each [samples], infinite where open.

    `critical` is Bcrit [samples], between the two; NaN where it is not drawn.
    """

    perfect_up_to: tuple[float, float, float]
    maximal_from: tuple[float, float, float]
    critical: float = np.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetTimeLine:
    """Time to the target [s] over batch size on one system, and the best batch (NaN if none)."""

    label: str
    short: str
    slot: int
    batch: Floats
    value: Floats
    low: Floats
    high: Floats
    smallest: float
    largest: float
    best_batch: float
    least_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedLine:
    """Stated times to the target [s] of one accelerator over its count, rising.

    `low` and `high` are the fastest and the slowest run, `runs` their number.
    """

    label: str
    short: str
    slot: int
    count: Floats
    value: Floats
    low: Floats
    high: Floats
    runs: Floats


def stated_times(lines: Sequence[StatedLine], theme: Theme) -> ChartSpec:
    """Return stated times to the target over the number of accelerators, both logarithmic.

    Markers are medians, upright bars run from the fastest to the slowest run.
    """
    drawing = Drawing(theme)
    counts = np.concatenate([x.count for x in lines])
    low, high = (float(f(np.r_[[f(getattr(x, n)) for x in lines]])) for f, n in (
        (np.min, "low"), (np.max, "high")))  # fmt: skip
    scale, unit = time_unit([high])
    drawing.x = batch_axis(float(counts.min()), float(counts.max())) | {"title": "accelerators"}
    ends = 0.8 * low / scale, 1.25 * high / scale
    drawing.y = {
        "title": Text("time to target ({unit})", unit=unit),
        "type": "log",
        "range": list(np.log10(ends)),
    }
    drawing.y |= log_ticks(*ends)
    drawing.legend(_MEDIAN_OF_RUNS, _FASTEST_TO_SLOWEST)
    for line in lines:
        _stated(drawing, line, scale)
    drawing.end_labels(lines, [float(x.value[-1]) / scale for x in lines], log=True)
    return drawing.figure()


def _stated(drawing: Drawing, line: StatedLine, scale: float) -> None:
    colour = drawing.theme.colour(line.slot)
    thin = {"color": colour, "width": 1}
    drawing.line(line.count, line.value / scale, name=escape(line.label), opacity=0.5, line=thin,
                 hoverinfo="skip")  # fmt: skip
    drawing.points(
        line.count,
        line.value / scale,
        name=escape(line.label),
        marker={"color": colour, "size": 9, "symbol": MARKS[line.slot % len(MARKS)]},
        error_y={
            "type": "data", "symmetric": False, "thickness": 1, "width": 3, "color": colour,
            "array": (line.high - line.value) / scale,
            "arrayminus": (line.value - line.low) / scale,
        },
        text=[
            plural(
                runs,
                "{time}, 1 run",
                "{time}, median of {count:,.0f} runs",
                time=in_one_unit(value),
            )
            for value, runs in zip(line.value.tolist(), line.runs.tolist(), strict=True)
        ],
        hovertemplate="<b>%{x:,} × %{fullData.name}</b><br>%{text}<extra></extra>",
    )  # fmt: skip


def steps_to_target(
    lines: Sequence[StepsLine],
    theme: Theme,
    *,
    borders: Borders | None = None,
    best_batch: float | None = None,
    noise_scale: float | None = None,
) -> ChartSpec:
    """Return steps over batch size, both logarithmic.

    Medians, single seeds, law, band, perfect scaling.

    `borders` shades the regimes of one of them and the intervals of their borders; its Bcrit, its
    gradient noise scale and `best_batch` [samples] are marked by upright lines with their names.
    """
    drawing = Drawing(theme)
    x, y = _batches(lines), _steps_range(lines)
    drawing.x = batch_axis(*x)
    drawing.y = {"title": "steps to target", "type": "log", "range": list(np.log10(y))}
    drawing.y |= log_ticks(*y)
    if borders is not None:
        _regimes(drawing, borders, x)
    for line in lines:
        _steps(drawing, line, x)
    critical = np.nan if borders is None else borders.critical
    marks = {"best batch": best_batch, "Bcrit": critical, "noise scale": noise_scale}
    _marks(drawing, {n: v for n, v in marks.items() if v is not None and x[0] <= v <= x[1]})
    named = [x for x in lines if x.value.size or x.measured.size]
    drawing.end_labels(named, [last(x.value if x.value.size else x.measured) for x in named],
                       log=True)  # fmt: skip
    return drawing.figure()


def time_to_target(lines: Sequence[TargetTimeLine], theme: Theme) -> ChartSpec:
    """Return the time to the target over batch size, logarithmic, with a star at best batches."""
    drawing = Drawing(theme, height=LEAST_HEIGHT)
    times = np.concatenate([np.r_[x.value, x.low, x.high] for x in lines] or [np.ones(1)])
    times = times[np.isfinite(times) & (times > 0.0)]
    low, high = (float(times.min()), float(times.max())) if times.size else (1.0, 10.0)
    scale, unit = time_unit([high])
    for line in lines:
        _time(drawing, line, scale, unit)
    ends = [v for x in lines for v in (*x.batch[[0, -1]], x.smallest, x.largest)]
    drawing.x = batch_axis(min(ends), max(ends)) if ends else batch_axis(1.0, 1024.0)
    drawing.y = {"title": Text("time to target ({unit})", unit=unit), "type": "log"}
    drawing.y |= log_ticks(low / scale, high / scale)
    drawing.end_labels(lines, [last(x.value) / scale for x in lines], log=True)
    return drawing.figure()


def _steps(drawing: Drawing, line: StepsLine, x: tuple[float, float]) -> None:
    colour, mark = drawing.theme.colour(line.slot), MARKS[line.slot % len(MARKS)]
    if np.isfinite(line.min_samples) and line.min_samples > 0.0:
        drawing.legend(_PERFECT)
        ends = np.array(x)
        drawing.line(
            ends,
            line.min_samples / ends,
            name=escape(line.label),
            opacity=0.7,
            line={"color": colour, "width": 1, "dash": "dash"},
            hovertemplate="<b>%{fullData.name}</b><br>perfect scaling<extra></extra>",
        )
    if line.value.size:
        drawing.fitted(line, dash="solid", unit="%{y:,.4g} steps")
    drawing.legend(_MEDIAN, *([_SEED] if np.isfinite(line.seed_steps).any() else []))
    seed = {"color": colour, "size": 5, "symbol": f"{mark}-open", "opacity": 0.55}
    _points(drawing, line.label, (line.seed_batch, line.seed_steps), "one seed", seed)
    median = {"color": colour, "size": 9, "symbol": mark}
    _points(drawing, line.label, (line.measured_batch, line.measured), "median of seeds", median)


def _points(
    drawing: Drawing, label: str, points: tuple[Floats, Floats], what: str, marker: object
) -> None:
    batch, steps = points
    there = np.isfinite(steps)
    if there.any():
        drawing.points(
            batch[there],
            steps[there],
            name=escape(label),
            marker=marker,
            hovertemplate="<b>%{fullData.name}</b><br>batch %{x:,}<br>%{y:,.4g} steps"
            f"<extra>{what}</extra>",
        )


def _regimes(drawing: Drawing, borders: Borders, x: tuple[float, float]) -> None:
    """Draw three shades of grey, the intervals of their borders, and their names.

    A regime outside the chart is named at its edge, a narrow one in the second row, since Bcrit is
    in the middle of the wide second regime. An unseen regime has no name.
    """
    ends = 0.0, borders.perfect_up_to[0], borders.maximal_from[0], np.inf
    for name, left, right, shade in zip(_NAMES, ends[:-1], ends[1:], _SHADES, strict=True):
        if left < right:
            _regime(drawing, name, (left, right), x, shade)
    for _, low, high in (borders.perfect_up_to, borders.maximal_from):
        within = np.clip((low, high), *x)
        if within[0] < within[1]:
            drawing.legend(_BORDER)
            drawing.zone(float(within[0]), float(within[1]))


def _regime(
    drawing: Drawing, name: str, ends: tuple[float, float], x: tuple[float, float], shade: float
) -> None:
    """Draw one shade and its name; `ends` [samples] may be outside the chart."""
    left, right = np.clip(ends, *x)
    width = np.log10(right / left) / np.log10(x[1] / x[0]) if x[0] < x[1] else 0.0
    if width > 0.0:
        drawing.zone(float(left), float(right), shade)
    beyond = f"← {name}" if right <= x[0] else f"{name} →" if left >= x[1] else name
    at_end = right >= x[1] and width <= _NAMED
    drawing.note(
        beyond, x=float(np.log10(right if at_end else left)), y=1, yref="paper", yanchor="top",
        xanchor="right" if at_end else "left", xshift=-4 if at_end else 4,
        yshift=-_ROW if name == _NAMES[1] else 0,  # narrow shades are side by side
    )  # fmt: skip


def _marks(drawing: Drawing, marks: dict[str, float]) -> None:
    """Upright lines; each has its name in a row of its own: on a telephone they would meet."""
    for row, (name, batch) in enumerate(marks.items()):
        drawing.mark(batch, f"{name} {plain(rounded(batch, LEAST_DIGITS))}", log=True, row=row)


def _time(drawing: Drawing, line: TargetTimeLine, scale: float, unit: str) -> None:
    shown = replace(line, value=line.value / scale, low=line.low / scale, high=line.high / scale)
    drawing.fitted(shown, dash="solid", unit=f"%{{y:,.4g}} {unit}")
    if np.isfinite(line.best_batch):
        drawing.legend(_BEST)
        drawing.points(
            np.array([line.best_batch]),
            np.array([line.least_s / scale]),
            name=escape(line.label),
            marker={"color": drawing.theme.colour(line.slot), "size": 14, "symbol": "star"},
            hovertemplate=f"<b>%{{fullData.name}}</b><br>best batch {line.best_batch:,.0f}: "
            f"{in_one_unit(line.least_s)}<extra></extra>",
        )


def _batches(lines: Sequence[StepsLine]) -> tuple[float, float]:
    """Return the smallest and largest batch shown."""
    sizes = np.concatenate([np.r_[x.measured_batch, x.batch] for x in lines] or [np.empty(0)])
    return (float(sizes.min()), float(sizes.max())) if sizes.size else (1.0, 1024.0)


def _steps_range(lines: Sequence[StepsLine]) -> tuple[float, float]:
    """Return the fewest and most steps shown, with room around them."""
    parts = [np.r_[x.measured, x.seed_steps, x.value] for x in lines] or [np.empty(0)]
    values = np.concatenate(parts)
    values = values[np.isfinite(values) & (values > 0.0)]
    return (0.7 * float(values.min()), 1.5 * float(values.max())) if values.size else (1.0, 10.0)
