"""Curves: throughput over the batch, and total time over epochs."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from planner.core import Floats, Text, in_one_unit, plain, with_ends
from planner.figures.frame import (
    BAND,
    DASHES,
    LAST_MEASURED,
    LEAST_HEIGHT,
    LEFT_OUT,
    MEASURED,
    SECONDS,
    SUSPECT,
    SYMBOLS,
    ChartSpec,
    Drawing,
    LegendEntry,
    Theme,
    batch_axis,
    escape,
    kind_entries,
    last,
    log_ticks,
    whole_epochs,
)

_SPEED: Final = "batch %{x:,}<br>%{y:,.4g} samples/s"
LEAST_SCALE_PERCENT: Final = 0.1
"""Least range of the axis of residuals to either side."""
_OFF: Final = "batch %{x:,}<br>%{y:+.2f} % of the fitted step time"


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredPoints:
    """Measured points: batch [samples], throughput [samples/s], all of shape (n,).

    `residuals` are relative, NaN without a fit; `flags` are those of each point, empty without any;
    `memory_gb` is the memory of each point on a device [GB], None where unknown, or empty.
    """

    batch: Floats
    throughput: Floats
    residuals: Floats
    flags: tuple[str, ...]
    memory_gb: tuple[float | None, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputLine:
    """One system's measured points and fitted curve over batch size, throughput in samples/s.

    `batch`, `value`, `low`, `high` are the curve (NaN where refused or unknown), dashed and grey
    below `smallest` and above `largest`. `measured` are the fitted points, suspect ones open;
    `left_out` the excluded ones, open and grey. `too_large` is a batch that did not fit into
    memory, NaN where none failed.
    """

    label: str
    short: str
    device_kind: str
    slot: int
    measured: MeasuredPoints
    left_out: MeasuredPoints
    batch: Floats
    value: Floats
    low: Floats
    high: Floats
    smallest: float
    largest: float
    too_large: float = math.nan


def throughput(lines: Sequence[ThroughputLine], theme: Theme, *, log: bool) -> ChartSpec:
    """Return samples per second against batch size: points, fitted line, band, dashed beyond."""
    drawing = Drawing(theme)
    for line in lines:
        drawing.fitted(line, dash=DASHES[line.device_kind], unit="%{y:,.4g} samples/s")
        for points in (line.measured, line.left_out):
            _points(drawing, line, points, points.throughput, _SPEED)
        if math.isfinite(line.too_large):
            drawing.points(
                np.array([line.too_large]),
                np.array([_end(line)]),
                name=escape(line.label),
                hovertemplate="<b>%{fullData.name}</b><br>batch %{x:,}<extra>did not fit</extra>",
                marker={
                    "color": theme.colour(line.slot),
                    "size": 11,
                    "symbol": "x",
                },
            )
    drawing.x = _batch_axis(lines, [x.too_large for x in lines])
    drawing.y = {"title": "samples per second", "type": "log" if log else "linear",
                 "rangemode": "tozero", "tickformat": ",~r"}  # fmt: skip
    drawn = [np.r_[x.measured.throughput, x.left_out.throughput, x.value] for x in lines]
    values = np.concatenate(drawn or [np.ones(1)])
    values = values[np.isfinite(values) & (values > 0)]
    if log and values.size:
        drawing.y |= log_ticks(float(values.min()), float(values.max()))
    drawing.legend(*_speed_legend(lines))
    ends = [_end(x) for x in lines]
    drawing.end_labels(lines, ends, log=log)
    return drawing.figure()


_DID_NOT_FIT: Final = LegendEntry(words="did not fit into memory", symbol="x")


def _speed_legend(lines: Sequence[ThroughputLine]) -> list[LegendEntry]:
    """Return what markers and dashes mean, those that are drawn."""
    kinds = kind_entries({x.device_kind for x in lines})
    return [
        MEASURED,
        *(kinds or [LegendEntry(words="fit")]),
        *([SUSPECT] if any(any(x.measured.flags) for x in lines) else []),
        *([LEFT_OUT] if any(x.left_out.batch.size for x in lines) else []),
        *([_DID_NOT_FIT] if any(math.isfinite(x.too_large) for x in lines) else []),
    ]


def residuals(lines: Sequence[ThroughputLine], theme: Theme) -> ChartSpec:
    """Return the residuals of step times [%] against batch size."""
    drawing = Drawing(theme, height=LEAST_HEIGHT)
    with_fit = [x for x in lines if np.isfinite(x.measured.residuals).any()]
    for line in with_fit:
        for points in (line.measured, line.left_out):
            _points(drawing, line, points, 100 * points.residuals, _OFF)
    drawing.x = _batch_axis(with_fit)
    drawing.y = {"title": "measured against fit (%)", "zeroline": True,
                 "zerolinecolor": theme.quiet, "exponentformat": "none"}  # fmt: skip
    drawing.legend(*(
        LegendEntry(words=x.label, symbol=SYMBOLS[x.device_kind], slot=x.slot) for x in with_fit
    ))  # fmt: skip
    values = [np.r_[x.measured.residuals, x.left_out.residuals] for x in with_fit]
    if np.nanmax(100 * np.abs(np.concatenate(values or [np.zeros(1)]))) < LEAST_SCALE_PERCENT:
        drawing.y["range"] = [-LEAST_SCALE_PERCENT, LEAST_SCALE_PERCENT]
    return drawing.figure()


def _points(
    drawing: Drawing, line: ThroughputLine, points: MeasuredPoints, y: Floats, hover: str
) -> None:
    if not np.isfinite(y).any():
        return
    out = points is line.left_out
    colour = drawing.theme.quiet if out else drawing.theme.colour(line.slot)
    drawing.points(
        points.batch,
        y,
        name=escape(line.label),
        customdata=_further(points),
        hovertemplate=f"<b>%{{fullData.name}}</b><br>{hover}%{{customdata}}"
        f"<extra>{'left out of the fit' if out else 'measured'}</extra>",
        marker={"color": colour, "size": 9} | _symbols(SYMBOLS[line.device_kind], points.flags),
    )


def _further(points: MeasuredPoints) -> list[str]:
    """Return the memory and the flag of each point, as lines of its hover text."""
    memory = points.memory_gb or (None,) * len(points.flags)
    return [
        f"{'' if used is None else f'<br>{used:,.3g} GB'}"
        f"{f'<br>suspect: {escape(flag)}' if flag else ''}"
        for used, flag in zip(memory, points.flags, strict=True)
    ]


def _symbols(symbol: str, flags: Sequence[str]) -> dict[str, Any]:
    """Return the markers of points; suspect ones are open, with the system's shape and colour."""
    if not any(flags):
        return {"symbol": symbol}
    return {
        "symbol": [f"{symbol}-open" if f else symbol for f in flags],
        "line": {"width": [2 if f else 0 for f in flags]},
    }


def _end(line: ThroughputLine) -> float:
    """Return the place of the name: the end of the curve, or of the points without one."""
    parts = (line.value, line.measured.throughput, line.left_out.throughput)
    return last(next((y for y in parts if np.isfinite(y).any()), line.value))


def _batch_axis(lines: Sequence[ThroughputLine], more: Iterable[float] = ()) -> dict[str, Any]:
    batches = [np.r_[x.smallest, x.batch[[0, -1]], x.left_out.batch] for x in lines]
    sizes = [float(v) for each in (*batches, more) for v in each if np.isfinite(v)]
    return batch_axis(min(sizes), max(sizes)) if sizes else batch_axis(1.0, 1024.0)


_TIMES: Final = (
    (1.0, "1 s"), (10.0, "10 s"), (60.0, "1 min"), (600.0, "10 min"), (3600.0, "1 h"),
    (36_000.0, "10 h"), (86_400.0, "1 day"), (604_800.0, "1 week"), (2_592_000.0, "30 days"),
    (31_557_600.0, "1 year"), (315_576_000.0, "10 years"), (3_155_760_000.0, "100 years"),
)  # fmt: skip
"""Ticks of the logarithmic time axis [s]: usual durations."""
_UNITS: Final = (
    (259_200.0, 86_400.0, "days"), (10_800.0, 3600.0, "hours"), (180.0, 60.0, "minutes"),
    (0.0, 1.0, "seconds"),
)  # fmt: skip
"""Units of the linear axis, by the least number of seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeLine:
    """Total time [s] against epochs for one option, with its interval (arrays of one shape).

    `suspect` is the reason of an open marker, empty without one. A line `left_out` of the ranking
    is grey.
    """

    label: str
    short: str
    device_kind: str
    slot: int
    epochs: Floats
    value: Floats
    low: Floats
    high: Floats
    measured_epochs: float
    suspect: str = ""
    left_out: bool = False


def total_time(lines: Sequence[TimeLine], epochs: int, theme: Theme, *, log: bool) -> ChartSpec:
    """Return the total time against epochs, with a line at the requested `epochs`."""
    drawing = Drawing(theme)
    scale, unit = (1.0, "") if log else time_unit([float(np.nanmax(x.value)) for x in lines])
    for line in lines:
        _draw(drawing, line, scale)
    low = min((float(np.nanmin(x.low)) for x in lines), default=1.0)
    high = max((float(np.nanmax(x.high)) for x in lines), default=10.0)
    end = max((float(x.epochs[-1]) for x in lines), default=float(epochs))
    drawing.x = _epochs_axis(end, log=log)
    drawing.y = _log_axis(low, high) if log else _linear_axis(unit)
    drawing.layout = {"meta": {SECONDS: {"yaxis": 1.0}}} if log else {}
    drawing.mark(epochs, f"{epochs:,} epochs", log=log)
    drawing.legend(*_time_legend(lines))
    grey = {x.short for x in lines if x.left_out}
    drawing.end_labels(lines, [float(x.value[-1]) / scale for x in lines], log=log, quiet=grey)
    return drawing.figure()


def _time_legend(lines: Sequence[TimeLine]) -> list[LegendEntry]:
    """Return what markers, bands and dashes mean, those that are drawn."""
    wide = any(bool((x.high > x.low).any()) for x in lines)
    return [
        *kind_entries({x.device_kind for x in lines}),
        LAST_MEASURED,
        *([BAND] if wide else []),
        *([SUSPECT] if any(x.suspect for x in lines) else []),
        *([LEFT_OUT] if any(x.left_out for x in lines) else []),
    ]


def _draw(drawing: Drawing, line: TimeLine, scale: float) -> None:
    colour = drawing.theme.quiet if line.left_out else drawing.theme.colour(line.slot)
    drawing.band(line.epochs, line.low / scale, line.high / scale, colour=colour, name=line.label)
    drawing.line(
        line.epochs,
        line.value / scale,
        name=escape(line.label),
        customdata=list(map(_words, line.value.tolist(), line.low.tolist(), line.high.tolist())),
        line={"color": colour, "width": 2, "dash": DASHES[line.device_kind]},
        hovertemplate="<b>%{fullData.name}</b><br>%{x:,} epochs: %{customdata[0]}<br>"
        "90 %: %{customdata[1]} to %{customdata[2]}<extra></extra>",
    )
    symbol = SYMBOLS[line.device_kind]
    note = f"<br>suspect: {escape(line.suspect)}" if line.suspect else ""
    at = int(np.argmin(np.abs(line.epochs - line.measured_epochs)))
    drawing.points(
        line.epochs[at : at + 1],
        line.value[at : at + 1] / scale,
        marker={"color": colour, "size": 8, "symbol": f"{symbol}-open" if note else symbol}
        | ({"line": {"width": 2}} if note else {}),
        hovertemplate=f"measured up to epoch {plain(line.measured_epochs, 2)}{note}<extra></extra>",
    )


def _epochs_axis(end: float, *, log: bool) -> dict[str, Any]:
    axis = {"title": "epochs", "type": "log" if log else "linear", "tickformat": ",d"}
    decades = [10**k for k in range(13) if 10**k <= end * 1.01]
    ticks = {"tickvals": decades, "ticktext": [f"{d:,}" for d in decades]}
    return axis | (ticks if log else {})


def _log_axis(low: float, high: float) -> dict[str, Any]:
    ticks = [(s, t) for s, t in _TIMES if low * 0.5 <= s <= high * 2]
    return {
        "type": "log",
        "title": "total time",
        "tickvals": [s for s, _ in ticks],
        "ticktext": [t for _, t in ticks],
        "range": [np.log10(low) - 0.1, np.log10(high) + 0.1],
    }


def _linear_axis(unit: str) -> dict[str, Any]:
    return {
        "title": Text("total time ({unit})", unit=unit),
        "rangemode": "tozero",
        "tickformat": ",~r",
    }


def time_unit(values: Sequence[float]) -> tuple[float, str]:
    """Return the unit for the largest of `values` [s]: its seconds and name."""
    most = max(values, default=1.0)
    return next((size, name) for least, size, name in _UNITS if most >= least)


def _words(value_s: float, low_s: float, high_s: float) -> tuple[str, str, str]:
    """Return a time and the ends of its interval in one unit, as tiles and tables have them."""
    if all(map(math.isfinite, (value_s, low_s, high_s))) and low_s < high_s:
        return with_ends(value_s, low_s, high_s)
    value, low, high = (in_one_unit(s) for s in (value_s, low_s, high_s))
    return value, low, high


def epoch_times(
    epoch: Floats,
    epoch_s: Floats,
    mean_s: float | None,
    sd_s: float | None,
    theme: Theme,
    *,
    slot: int = 0,
) -> ChartSpec:
    """Return a chart of the epochs of one run [s], with mean and sd of the later ones.

    `slot` is the colour of the run's system.
    """
    drawing, colour = Drawing(theme, height=LEAST_HEIGHT), theme.colour(slot)
    end = float(epoch[-1]) + 0.6
    if mean_s is not None:
        _later(drawing, mean_s, sd_s, end, colour)
    drawing.line(
        epoch,
        epoch_s,
        mode="markers+lines",
        name="epoch",
        line={"color": colour, "width": 1},
        marker={"color": colour, "size": 8},
        hovertemplate="epoch %{x}<br>%{y:.4g} s<extra></extra>",
    )
    drawing.x = {"title": "epoch", "range": [0.4, end]} | whole_epochs(float(epoch[-1]))
    drawing.y = {"title": "seconds", "rangemode": "tozero"}
    return drawing.figure()


def _with_sd(mean: float, sd: float | None) -> str:
    """Return a mean with its standard deviation, both to the place that the sd allows."""
    if not sd or not math.isfinite(sd):
        return f"{mean:,.4g}"
    places = 1 - math.floor(math.log10(sd))
    digits = max(places, 0)
    return f"{round(mean, places):,.{digits}f} ± {round(sd, places):,.{digits}f}"


def _later(drawing: Drawing, mean_s: float, sd_s: float | None, end: float, colour: str) -> None:
    later = np.array([1.5, end - 0.1])
    if sd_s is not None:
        drawing.band(later, np.full(2, mean_s - sd_s), np.full(2, mean_s + sd_s),
                     colour=colour, name="sd")  # fmt: skip
    label = Text("epochs 2 and later: {mean} s", mean=_with_sd(mean_s, sd_s))
    drawing.line(
        later,
        np.full(2, mean_s),
        name="mean",
        hovertemplate=f"{label}<extra></extra>",
        line={"color": drawing.theme.quiet, "dash": "dash", "width": 1},
    )
    drawing.note(label, x=1, xref="paper", xanchor="right", y=mean_s, yanchor="bottom", yshift=3)
