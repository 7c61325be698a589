"""The points of a chart: two numbers of each run, with colour, symbol, size and facet.

`points_of` reads them from a table of runs (`planner.explore._columns.with_derived`). On a grouped
x axis every category has a place, and points are spread around it by the digits of their run's id,
so that a picture is the same every time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from planner.core import Floats, ParameterProblem, Text, message_of
from planner.explore._columns import CATEGORIES, NUMBERS, Category, category_of, numbers_of, titled
from planner.explore._formulas import FormulaError, formula_of

Marks = Literal["points", "lines", "box", "strip"]
MARKS: Final[tuple[Marks, ...]] = ("points", "lines", "box", "strip")
GROUPED: Final = ("box", "strip")
MOST_POINTS: Final = 50_000
"""Points of a chart; of more runs every second, third ... counts."""
MOST_DRAWN: Final = 800
"""Points that are drawn one by one; of more a sample is (docs/decisions/0050)."""
MOST_ON_LINES: Final = 4_000
"""Points of lines that are drawn; of more every second, third ... line is."""
CELLS: Final = 48
"""Cells along each axis, from each of which a sample takes points in turn."""
NOT_STATED: Final = "not stated"
"""Name of the points without a colour."""
MOST_COLOURS: Final = 10
MOST_SYMBOLS: Final = 8
MOST_PANELS: Final = 9
MOST_GROUPS: Final = 24
OTHERS: Final = "others"
SPREAD: Final = 0.6
"""Width over which the points of a group are spread [groups]."""
CASE: Final = ("workload", "system", "pattern", "software")
"""Columns that are equal along a line: its runs differ in batch size."""
DEVICES: Final = "devices"
DEVICES_CASE: Final = ("workload", "system_name", "pattern", "software", "standing")
"""The same along a line over device counts."""
TO_TARGET: Final = frozenset({"steps_to_target", "samples_to_target"})
"""Numbers that depend on the batch, and hardly on the machine."""
TARGET_CASE: Final = ("workload", "target_value", "standing")
"""The same along a line of them."""
Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A number of each run: a column or a formula, with the title of its axis.

    `values` are in the stored unit, shape (runs,); `factor` converts them to the shown one.
    """

    text: str
    title: str
    unit: str
    factor: float
    values: Floats

    @property
    def axis(self) -> str:
        """The title with the unit."""
        return titled(self.title, self.unit)

    @property
    def shown(self) -> Floats:
        """The values in the shown unit."""
        return self.values * self.factor


@dataclass(frozen=True, slots=True, kw_only=True)
class ExploreQuestion:
    """What is drawn: columns or formulas by name, "" for none.

    `brush` are the corners x0, y0, x1, y1 of a box or those of a polygon, in shown units; on a
    chart with facets in the panel `brush_in`. Colours in `hidden` do not count in it. `within` are
    the corners of an area outside of which nothing is drawn. Runs with a symbol in
    `hidden_symbols` are not drawn; the names are those of the chart.
    """

    x: str
    y: str
    colour: str = ""
    symbol: str = ""
    size: str = ""
    facet: str = ""
    marks: Marks = "points"
    log_x: bool = False
    log_y: bool = False
    brush: tuple[float, ...] = ()
    brush_in: str = ""
    hidden: tuple[str, ...] = ()
    within: tuple[float, ...] = ()
    hidden_symbols: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """The points of a chart, one a run, in the order of the table.

    `rows` are the places of the runs in the table, shape (n,); `x` and `y` in shown units. `groups`
    are the names on a grouped x axis, empty otherwise. `colour` is a category or a measure. `hue`,
    `symbol` and `panel` are places in the names, -1 where a run has none. `case` numbers the lines.
    `brushed` marks the runs in the brush. `drawn` are the places of the points that a chart shows
    one by one: all, or a sample. `chosen` marks the runs of the filters in the table, `filtered`
    counts them, `without` those of them that lack a number, `beyond` those that a logarithmic axis
    cannot show.
    """

    question: ExploreQuestion
    x_title: str
    y_title: str
    rows: Indices
    x: Floats
    y: Floats
    groups: tuple[str, ...]
    group: Indices
    colour: Category | None
    shade: Measure | None
    symbol: Category | None
    size: Measure | None
    facet: Category | None
    case: Indices
    brushed: Mask
    drawn: Indices
    chosen: Mask
    filtered: int
    without: int
    beyond: int
    every: int

    @property
    def n(self) -> int:
        """The number of points."""
        return int(self.rows.size)


def measure_of(runs: pa.Table, text: str) -> Measure:
    """Return a column or a formula as a number of each run.

    Raises:
        FormulaError: the text is neither; it says what to do.
    """
    if text in NUMBERS:
        column = NUMBERS[text]
        return Measure(
            text=text,
            title=column.title,
            unit=column.unit,
            factor=column.factor,
            values=numbers_of(runs, text),
        )
    formula = formula_of(text, NUMBERS)
    values = formula.values({name: numbers_of(runs, name) for name in formula.columns})
    return Measure(text=formula.text, title=formula.text, unit="", factor=1.0, values=values)


def check(question: ExploreQuestion) -> list[ParameterProblem]:
    """Return the problems of the names and formulas of a question."""
    problems = []
    grouped = question.marks in GROUPED
    if grouped and question.x not in CATEGORIES:
        message = Text(
            "{marks} needs groups on x. Choose one such as accelerator or family.",
            marks=question.marks,
        )
        problems.append(ParameterProblem(parameter="marks", message=message))
    measured = {"y": question.y, "size": question.size}
    if not is_grouped(question):
        measured["x"] = question.x
    if question.colour not in CATEGORIES:
        measured["colour"] = question.colour
    for name, text in measured.items():
        if wrong := problem_of(text) if text or name in "xy" else "":
            problems.append(ParameterProblem(parameter=name, message=wrong))
    for name, text in {"symbol": question.symbol, "facet": question.facet}.items():
        if text and (wrong := group_problem(text)):
            problems.append(ParameterProblem(parameter=name, message=wrong))
    return problems


def group_problem(text: str) -> str:
    """Return that no group has this name; "" where one has."""
    if text in CATEGORIES:
        return ""
    return Text(
        "{text!r} is no group. Choose one such as accelerator or precision.", text=text[:80]
    )


def problem_of(text: str) -> str:
    """Return what is wrong with the text of a measure; "" where it is a column or a formula."""
    if text in NUMBERS:
        return ""
    try:
        formula_of(text, NUMBERS)
    except FormulaError as error:
        return message_of(error)
    return ""


def is_grouped(question: ExploreQuestion) -> bool:
    """Return whether the x axis has groups instead of numbers."""
    return question.x in CATEGORIES and (question.x not in NUMBERS or question.marks in GROUPED)


def columns_of(question: ExploreQuestion) -> tuple[str, ...]:
    """Return the columns that a question reads, in order of appearance."""
    names: dict[str, None] = {}
    for text in (question.x, question.y, question.colour, question.symbol, question.size,
                 question.facet):  # fmt: skip
        if text in NUMBERS or text in CATEGORIES:
            names[text] = None
        elif text:
            names |= dict.fromkeys(formula_of(text, NUMBERS).columns)
    return tuple(names)


def points_of(runs: pa.Table, question: ExploreQuestion, chosen: Mask) -> Points:
    """Return the points of the chosen runs.

    Args:
        runs: all runs, with the derived columns.
        question: without problems (`check`).
        chosen: runs that the filters leave, shape (runs,).
    """
    y = measure_of(runs, question.y)
    grouped = is_grouped(question)
    if grouped:
        name = CATEGORIES[question.x].title
        groups, group = _groups(category_of(runs, question.x), y.values, chosen)
        at = np.where(group >= 0, group + _spread(runs["run_id"].to_pylist()), np.nan)
        x = Measure(text=question.x, title=name, unit="", factor=1.0, values=at)
    else:
        groups, group = (), np.full(chosen.shape, -1, dtype=np.int64)
        x = measure_of(runs, question.x)
    stated = chosen & np.isfinite(x.values) & np.isfinite(y.values)
    on_log = np.ones(chosen.shape, dtype=np.bool_)
    if question.log_x and not grouped:
        on_log &= x.values > 0
    if question.log_y:
        on_log &= y.values > 0
    drawn = stated & on_log
    if question.within and not grouped:
        drawn &= _inside(question, question.within, x.shown, y.shown)
    facet = _limited(runs, question.facet, drawn, MOST_PANELS)
    symbol = _limited(runs, question.symbol, drawn, MOST_SYMBOLS)
    colours = _limited(runs, question.colour, drawn, MOST_COLOURS)
    rows = np.flatnonzero(drawn & ~_hidden(symbol, question.hidden_symbols, drawn))
    every = max(1, -(-rows.size // MOST_POINTS))
    rows = rows[::every]
    colour = _at(colours, rows)
    panels, case = _at(facet, rows), _cases(runs, rows, case_of(question))
    at_x, at_y = x.shown[rows], y.shown[rows]
    return Points(
        question=question,
        x_title=x.axis,
        y_title=y.axis,
        rows=rows,
        x=at_x,
        y=at_y,
        groups=groups,
        group=group[rows],
        colour=colour,
        shade=_of_rows(runs, question.colour if question.colour not in CATEGORIES else "", rows),
        symbol=_at(symbol, rows),
        size=_of_rows(runs, question.size, rows),
        facet=panels,
        case=case,
        brushed=_brushed(question, at_x, at_y, panels, colour),
        drawn=_whole_cases(case)
        if question.marks == "lines"
        else _sample(question, at_x, at_y, (panels, colour)),
        chosen=chosen,
        filtered=int(chosen.sum()),
        without=int((chosen & ~stated).sum()),
        beyond=int((stated & ~on_log).sum()),
        every=every,
    )


def stated_counts(runs: pa.Table) -> dict[str, int]:
    """Return how many runs state each number, by column."""
    return {name: len(runs) - runs[name].null_count for name in NUMBERS}


def usual_workload(runs: pa.Table, question: ExploreQuestion) -> str:
    """Return the workload with most accelerators among the points of a question; "" without any.

    Of several the one with most different values on x, then with most runs. A system without an
    accelerator counts only where no workload has one.
    """
    x = None if is_grouped(question) else measure_of(runs, question.x).values
    good = np.isfinite(measure_of(runs, question.y).values)
    good &= np.ones(good.shape, np.bool_) if x is None else np.isfinite(x)
    if not good.any():
        return ""
    workloads = category_of(runs, "workload")
    codes, size = workloads.codes[good], len(workloads.labels)
    cards = category_of(runs, "accelerator_model_name").codes[good]
    kinds = _distinct(codes[cards >= 0], cards[cards >= 0], size)
    values = _distinct(codes, np.zeros(codes.shape) if x is None else x[good], size)
    counts = np.bincount(codes, minlength=size)
    return workloads.labels[int(np.lexsort((counts, values, kinds))[-1])]


def _distinct(codes: Indices, values: NDArray[np.generic], size: int) -> Indices:
    """Return the count of different values of each code, shape (size,)."""
    numbers = np.unique(values, return_inverse=True)[1]
    pairs = np.unique(np.stack([codes, numbers]), axis=1)[0]
    return np.bincount(pairs, minlength=size).astype(np.int64)


def inside(x: Floats, y: Floats, corners: Sequence[float]) -> Mask:
    """Return which points are in a box (x0, y0, x1, y1) or a polygon (x0, y0, x1, y1, x2, ...).

    Points on the edge of a box are inside. A polygon is closed; it follows the even-odd rule.
    """
    if len(corners) == 4:
        x0, y0, x1, y1 = corners
        within_x = (x >= min(x0, x1)) & (x <= max(x0, x1))
        return within_x & (y >= min(y0, y1)) & (y <= max(y0, y1))
    ends = np.asarray(corners, dtype=np.float64).reshape(-1, 2)
    odd = np.zeros(x.shape, dtype=np.bool_)
    for (ax, ay), (bx, by) in zip(ends, np.roll(ends, -1, axis=0), strict=True):
        if ay != by:
            crosses = (ay > y) != (by > y)
            odd ^= crosses & (x < (bx - ax) * (y - ay) / (by - ay) + ax)
    return odd


def marked(points: Points, question: ExploreQuestion) -> Mask:
    """Return which points are in the marked area of a question about the same axes."""
    return _brushed(question, points.x, points.y, points.facet, points.colour)


def _brushed(
    question: ExploreQuestion, x: Floats, y: Floats, facet: Category | None, colour: Category | None
) -> Mask:
    if not question.brush:
        return np.zeros(x.shape, dtype=np.bool_)
    inside = _inside(question, question.brush, x, y)
    if facet is not None and question.brush_in:
        inside &= facet.codes == _place(facet.labels, question.brush_in)
    if colour is not None:
        for name in question.hidden:
            inside &= colour.codes != (-1 if name == NOT_STATED else _place(colour.labels, name))
    return inside


def _hidden(symbol: Category | None, names: Sequence[str], drawn: Mask) -> Mask:
    hidden = np.zeros(drawn.shape, dtype=np.bool_)
    if symbol is not None:
        for name in names:
            hidden |= symbol.codes == (-1 if name == NOT_STATED else _place(symbol.labels, name))
    return hidden


def _place(labels: Sequence[str], name: str) -> int:
    """Return the place of a name; -2, which no point has, where it is none of the labels."""
    return labels.index(name) if name in labels else -2


def _inside(question: ExploreQuestion, area: Sequence[float], x: Floats, y: Floats) -> Mask:
    """Return which points are in an area; a polygon has straight edges on the axes as shown."""
    corners = list(area)
    if len(corners) > 4:
        x, corners[::2] = _as_drawn(x, corners[::2], log=question.log_x)
        y, corners[1::2] = _as_drawn(y, corners[1::2], log=question.log_y)
    return inside(x, y, corners)


def _sample(
    question: ExploreQuestion, x: Floats, y: Floats, kinds: Sequence[Category | None]
) -> Indices:
    """Return the places of at most `MOST_DRAWN` points, from each cell of the chart in turn.

    A cell holds the points of one panel and colour in a part of both axes. So a lonely point is
    always drawn, and a crowd is thinned. Beside boxes, which show the crowd, half as many are.
    """
    most = MOST_DRAWN // 2 if question.marks == "box" else MOST_DRAWN
    if x.size <= most:
        return np.arange(x.size)
    parts = [_part(x, log=question.log_x), _part(y, log=question.log_y)]
    parts += [kind.codes for kind in kinds if kind is not None]
    cell = np.unique(np.stack(parts), axis=1, return_inverse=True)[1].reshape(-1)
    order = np.argsort(cell, kind="stable")
    sizes = np.bincount(cell)
    turn = np.empty(x.size, dtype=np.int64)
    turn[order] = np.arange(x.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.sort(np.argsort(turn, kind="stable")[:most])


def _part(values: Floats, *, log: bool) -> Indices:
    """Return the part of the axis that each value is in, as a number below `CELLS`."""
    with np.errstate(all="ignore"):
        at = np.log10(values) if log else values
    good = np.where(np.isfinite(at), at, np.nan)
    low, high = float(np.nanmin(good)), float(np.nanmax(good))
    share = (good - low) / (high - low or 1.0)
    return np.clip(np.nan_to_num(share) * CELLS, 0, CELLS - 1).astype(np.int64)


def _whole_cases(case: Indices) -> Indices:
    """Return the places of the points of as many whole lines as `MOST_ON_LINES` points allow."""
    if case.size <= MOST_ON_LINES:
        return np.arange(case.size)
    every = -(-case.size // MOST_ON_LINES)
    return np.flatnonzero(case % every == 0)[:MOST_ON_LINES]


def _as_drawn(values: Floats, ends: Sequence[float], *, log: bool) -> tuple[Floats, list[float]]:
    if not log:
        return values, list(ends)
    with np.errstate(all="ignore"):
        lowest = np.nanmin(values) if values.size else 1.0
        return np.log10(values), [float(np.log10(e if e > 0 else lowest)) for e in ends]


def _groups(category: Category, y: Floats, chosen: Mask) -> tuple[tuple[str, ...], Indices]:
    """Return the names on a grouped axis in order of their median, and the place of each run.

    Numbers stay in their order; of many groups those with most runs stay.
    """
    good = chosen & np.isfinite(y) & (category.codes >= 0)
    codes = category.codes[good]
    counts = np.bincount(codes, minlength=len(category.labels))
    kept = np.argsort(-counts, kind="stable")[:MOST_GROUPS]
    kept = kept[counts[kept] > 0]
    if all(label.replace(",", "").replace(".", "").isdigit() for label in category.labels):
        order = np.sort(kept)
    else:
        values = y[good]
        medians = [float(np.median(values[codes == code])) for code in kept]
        order = kept[np.argsort(-np.array(medians), kind="stable")] if kept.size else kept
    place = np.full(len(category.labels) + 1, -1, dtype=np.int64)
    place[order] = np.arange(order.size)
    return tuple(category.labels[i] for i in order), place[category.codes]


def _spread(ids: Sequence[str]) -> Floats:
    """Return the place of each point beside the middle of its group, from its run's id."""
    digits = np.array([int(i[:4], 16) for i in ids], dtype=np.float64)
    return (digits / 65_535.0 - 0.5) * SPREAD


def limited(category: Category, chosen: Mask, most: int) -> Category:
    """Return a category with its `most` most frequent names; the rest are `OTHERS`.

    Only names of the chosen runs remain, in their order.
    """
    codes = category.codes[chosen & (category.codes >= 0)]
    counts = np.bincount(codes, minlength=len(category.labels))
    present = np.flatnonzero(counts)
    kept = present
    if present.size > most:
        kept = np.sort(np.argsort(-counts, kind="stable")[: most - 1])
    place = np.full(len(category.labels) + 1, -1, dtype=np.int64)
    names = [category.labels[i] for i in kept]
    if present.size > kept.size:
        place[present] = len(names)
        names.append(OTHERS)
    place[kept] = np.arange(kept.size)
    return Category(codes=place[category.codes], labels=tuple(names))


def _limited(runs: pa.Table, name: str, chosen: Mask, most: int) -> Category | None:
    if name not in CATEGORIES:
        return None
    return limited(category_of(runs, name), chosen, most)


def _at(category: Category | None, rows: Indices) -> Category | None:
    if category is None:
        return None
    return Category(codes=category.codes[rows], labels=category.labels)


def _of_rows(runs: pa.Table, text: str, rows: Indices) -> Measure | None:
    """Return a measure at some runs only; None without a text."""
    if not text:
        return None
    whole = measure_of(runs, text)
    return Measure(text=whole.text, title=whole.title, unit=whole.unit, factor=whole.factor,
                   values=whole.values[rows])  # fmt: skip


def case_of(question: ExploreQuestion) -> tuple[str, ...]:
    """Return the columns that are equal along a line of a chart."""
    if question.x == DEVICES:
        return DEVICES_CASE
    return TARGET_CASE if question.y in TO_TARGET else CASE


def _cases(runs: pa.Table, rows: Indices, columns: Sequence[str]) -> Indices:
    """Return the number of each run's case: its runs are equal in these columns."""
    codes = np.stack([category_of(runs, name).codes[rows] for name in columns])
    if not rows.size:
        return np.zeros(0, dtype=np.int64)
    return np.unique(codes, axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)


Filters = Mapping[str, Sequence[str]]


def chosen_runs(runs: pa.Table, filters: Filters) -> Mask:
    """Return which runs the filters leave: values by column, run ids under `only` and `but`."""
    chosen = np.ones(len(runs), dtype=np.bool_)
    for name, values in filters.items():
        if name in ("only", "but"):
            among = _among(runs["run_id"], values)
            chosen &= among if name == "only" else ~among
        elif values:
            chosen &= _among(runs[name], values)
    return chosen


def _among(column: pa.ChunkedArray, values: Sequence[str]) -> Mask:
    texts = pa.compute.cast(column, pa.string())
    is_in = pa.compute.is_in(texts, value_set=pa.array(list(values), pa.string()))
    return np.asarray(is_in.to_numpy(), dtype=np.bool_)
