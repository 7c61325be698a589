"""Charts and tables as text, for screen readers: a canvas and a picture have none.

Each is a small HTML table of the class `epochwise-text`, which the style sheet takes out of sight.
It has the numbers of the chart or table itself, up to a number of rows that one can listen to.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from html import escape, unescape
from itertools import islice, repeat
from typing import Any, Final

import numpy as np

from planner import core
from planner.core import Record, Text, in_one_unit, paragraph, plain
from planner.figures._tiles import Markup
from planner.figures.frame import SECONDS, ChartSpec

MOST_ROWS: Final = 30
"""Most rows of a table that are read."""
MOST_POINTS: Final = 8
"""Most points of a line that are read, its ends included."""
MOST_SERIES: Final = 12
_DIGITS: Final = 4
_TAG: Final = re.compile(r"<[^>]*>")
_PRINTF: Final = re.compile(r"%(\.\d+)?([dfge])( ?%%)?")
_BREAK: Final = re.compile(r"<br ?/?>")
_Bar = tuple[float, float] | None
_Raw = tuple[Any, Any, _Bar, _Bar]
"""A point with its error bars: below and above."""


def table_text(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], of: int) -> Markup:
    """Return rows as a table out of sight; `of` is how many there are in all."""
    shown = rows[:MOST_ROWS]
    more = (
        Text("The first {shown:,} of {of:,} rows.", shown=len(shown), of=of)
        if of > len(shown)
        else ""
    )
    return _hidden(paragraph(_ended(title), "As text.", more), head, shown)


def chart_text(chart: ChartSpec, title: str) -> Markup:
    """Return the points of a chart as a table out of sight, at most `MOST_POINTS` a series."""
    series = _series(chart["data"])
    head, write = _columns(chart["layout"])
    rows = [
        [name, *write(point)]
        for name, points in islice(series.items(), MOST_SERIES)
        for point in _some(points)
    ]
    left = len(series) - MOST_SERIES
    more = Text("{left:,} more series are in the chart.", left=left) if left > 0 else ""
    words = paragraph(_ended(title), "Points of the chart as text.", more)
    return _hidden(words, ["Series", *head], rows)


def chart_rows(chart: ChartSpec) -> list[Record]:
    """Return every point of a chart as rows of a table.

    Series over the same values are columns beside them; of others each point is a row.
    """
    series = _series(chart["data"])
    head, write = _columns(chart["layout"])
    across = [[str(p[0]) for p in points] for points in series.values()]
    if len(head) > 1 and across and across.count(across[0]) == len(across):
        cells = {name: [write(p) for p in points] for name, points in series.items()}
        first = next(iter(cells.values()))
        names = {name: f"{name}, {head[1]}" if len(cells) > 1 else head[1] for name in cells}
        return [
            {head[0]: row[0], **{names[name]: cells[name][n][1] for name in cells}}
            for n, row in enumerate(first)
        ]
    return [
        {"Series": name, **dict(zip(head, write(point), strict=True))}
        for name, points in series.items()
        for point in points
    ]


def cell_text(value: object, number_format: str = "") -> str:
    """Return a cell of a table as text; a number as `number_format` says, such as '%.2f'."""
    if _is_number(value) and not _missing(value) and (form := _PRINTF.fullmatch(number_format)):
        if form[2] in "ge":  # never 8.89e+03
            return plain(float(value), int((form[1] or ".6")[1:]))  # type: ignore[arg-type]
        return number_format % value
    return core.cell_text(value)


def _columns(layout: dict[str, Any]) -> tuple[list[str], Callable[[_Raw], list[str]]]:
    """Return the titles of the axes, and a function that writes the values of a point on them.

    Durations have their unit in the cell: such an axis has ticks of several units.
    """
    names = ("xaxis", "yaxis")
    titles = [_axis(layout, name) for name in names]
    read = [n for n, title in enumerate(titles) if title] or [0, 1]  # others only place a mark
    seconds = [layout.get("meta", {}).get(SECONDS, {}).get(name) for name in names]

    def write(point: _Raw) -> list[str]:
        x, y, x_bar, y_bar = point
        both = (x, x_bar), (y, y_bar)
        return [_value(*both[n], seconds[n]) for n in read]

    return [titles[n] or ("across", "up")[n] for n in read], write


def _series(traces: Iterable[dict[str, Any]]) -> dict[str, list[_Raw]]:
    """Return the points of each name; bands, and lines that only guide the eye, are left out."""
    series: dict[str, list[_Raw]] = {}
    for trace in traces:
        if trace.get("hoverinfo") == "skip" or "x" not in trace:
            continue
        name = words_of(str(trace.get("name") or "points"))
        series.setdefault(name, []).extend(_points(trace))
    return {name: points for name, points in series.items() if points}


def _points(trace: dict[str, Any]) -> list[_Raw]:
    x, y = trace["x"], trace["y"]
    if all(isinstance(v, np.ndarray) and v.dtype.kind == "f" for v in (x, y)) and not (
        trace.get("error_x") or trace.get("error_y")
    ):  # thousands of points at once
        good = np.isfinite(x) & np.isfinite(y)
        return [
            (*point, None, None) for point in zip(x[good].tolist(), y[good].tolist(), strict=True)
        ]
    raw = zip(x, y, bars_of(trace, "error_x"), bars_of(trace, "error_y"),
              strict=False)  # fmt: skip
    return [point for point in raw if not (_missing(point[0]) or _missing(point[1]))]


def bars_of(trace: dict[str, Any], name: str) -> Iterable[_Bar]:
    """Return the lengths of the error bars of each point: below and above."""
    bar = trace.get(name)
    if not bar or "array" not in bar:
        return repeat(None)
    above = [float(v) for v in bar["array"]]
    return zip([float(v) for v in bar.get("arrayminus", above)], above, strict=True)


def _some(points: Sequence[_Raw]) -> list[_Raw]:
    """Return up to `MOST_POINTS` points, evenly chosen, the ends among them."""
    if len(points) <= MOST_POINTS:
        return list(points)
    at = np.linspace(0, len(points) - 1, MOST_POINTS).round().astype(int)
    return [points[i] for i in at]


def _value(value: object, bar: _Bar, seconds: float | None) -> str:
    if not _is_number(value):
        return words_of(str(value))
    number = float(value)  # type: ignore[arg-type] # a number, also of numpy
    if seconds is not None:
        return in_one_unit(seconds * number)
    if bar is None:
        return plain(number, _DIGITS)
    low, high = plain(number - float(bar[0]), _DIGITS), plain(number + float(bar[1]), _DIGITS)
    return f"{plain(number, _DIGITS)} ({low} to {high})"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _missing(value: object) -> bool:
    return value is None or (_is_number(value) and not math.isfinite(float(value)))  # type: ignore[arg-type]


def _axis(layout: dict[str, Any], name: str) -> str:
    title = layout.get(name, {}).get("title") or ""
    text = title.get("text", "") if isinstance(title, dict) else title
    return words_of(str(text))


def words_of(text: str, between: str = ", ") -> str:
    """Return a text of a chart without its markup; `between` joins its lines."""
    return unescape(_TAG.sub("", _BREAK.sub(between, text)))


def _hidden(caption: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> Markup:
    names = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    lines = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return Markup(
        f'<div class="epochwise-text"><table><caption>{escape(caption)}</caption>'
        f"<thead><tr>{names}</tr></thead><tbody>{lines}</tbody></table></div>"
    )


def _ended(title: str) -> str:
    return title if title.endswith((".", "?", "!")) else Text("{title}.", title=title)


def _cell(text: str) -> str:
    return f"<td>{escape(text)}</td>"
