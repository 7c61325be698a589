"""Explore: a chart's points, a pivot table, or runs side by side, for any columns of the runs."""

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from planner.answers import parameters
from planner.answers._asking import NO_RUN
from planner.answers._listing import catalog_stamp, filters_of
from planner.answers.parameters import EXPLORE, MOST_CORNERS, NONE_CHOSEN
from planner.answers.records import (
    Explore,
    ExploreAxis,
    ExploreCell,
    ExploreCurve,
    ExploreFact,
    ExplorePoint,
)
from planner.answers.runs import suspects_of
from planner.catalog import Catalog
from planner.core import (
    Cell,
    Floats,
    ParameterProblem,
    QueryTexts,
    Text,
    cell,
    estimate_cells,
    listed_words,
    looked_up,
    no_match,
    number_of,
    plural,
    query_of,
    read,
    several,
)
from planner.core.slugs import slugs
from planner.explore import (
    CATEGORIES,
    COUNT,
    LEAST,
    STATISTIC_WORDS,
    Category,
    ExploreQuestion,
    Fact,
    Fits,
    Law,
    Measure,
    Pivot,
    Points,
    category_of,
    check,
    chosen_runs,
    facts_of,
    fastest_runs,
    fits_of,
    group_problem,
    is_grouped,
    measure_of,
    pair_facts,
    pivot_of,
    points_of,
    problem_of,
    provenance_of,
    with_derived,
    without_values,
)
from planner.store import queries
from planner.store.reader import Store

_RUN: Final = re.compile(r"[0-9a-f]{32}")
_BAR: Final = "|"
CHART, PIVOT, SIDE = parameters.EXPLORED


@dataclass(frozen=True, slots=True, kw_only=True)
class PivotAnswer:
    """A pivot table with its measure and statistic; cells in the shown unit."""

    table: Pivot
    rows: str
    columns: str
    measure: Measure
    statistic: str

    @property
    def title(self) -> str:
        """What the cells are."""
        words = STATISTIC_WORDS[self.statistic]
        if self.statistic == COUNT:
            return words
        return Text("{statistic} of {measure}", statistic=words, measure=self.measure.axis)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExploreAnswer:
    """The answer of a view: points with curves, a pivot table, or facts side by side.

    `names` are the runs or pairs that `facts` compare, in the order of their cells. `query` is the
    question as a link. `runs` are those that `points` refer to.
    """

    view: str
    runs: pa.Table
    question: ExploreQuestion
    points: Points | None
    fits: Fits | None
    pivot: PivotAnswer | None
    names: tuple[str, ...]
    facts: tuple[Fact, ...]
    provenance: tuple[Fact, ...]
    sentence: str
    notes: tuple[str, ...]
    query: str
    problems: tuple[ParameterProblem, ...]


def explore_runs(
    store: Store, catalog: Catalog, filters: queries.Filters | None = None
) -> pa.Table:
    """Return all runs with their derived columns, cached until a run, a peak or a price changes.

    A store with a summary file returns the filtered runs only, or a sample of them.
    """
    suspect = suspects_of(store)
    chosen = _key(filters or {}) if store.in_file else ()

    def made() -> pa.Table:
        runs = (
            queries.sampled_runs(store, filters or {}) if store.in_file else queries.all_runs(store)
        )
        return with_derived(runs, catalog, suspect.names)

    return store.once(("explored runs", chosen, catalog_stamp(catalog)), made)


def _key(filters: queries.Filters) -> Hashable:
    return tuple((name, tuple(values)) for name, values in sorted(filters.items()))


def _sample_note(store: Store, runs: pa.Table, filters: queries.Filters) -> list[str]:
    """Return which share of the filtered runs is used; nothing where all are."""
    if not store.in_file:
        return []
    matching = store.once(("explored", _key(filters)), lambda: queries.count(store, filters))
    if matching <= len(runs):
        return []
    return [
        Text(
            "A random sample is used: {used:,} of {matching:,} filtered runs. Filter to see all of "
            "fewer.",
            used=len(runs), matching=matching,
        )
    ]  # fmt: skip


def explore_answered(store: Store, catalog: Catalog, question: QueryTexts) -> ExploreAnswer:
    """Return the answer of a link of the page Explore."""
    parsed = read(EXPLORE, question, parameters.FOR_THE_EYE)
    values, problems = dict(parsed.values), list(parsed.problems)
    if not queries.totals(store).runs:
        problems.append(NO_RUN)
    of = question_of(values, problems)
    filters = filters_of(store, values, problems)
    query = query_of(EXPLORE, values)
    if values["view"] == SIDE:
        pairs = _pairs(_named(store, catalog), values["pair"], problems) if values["pair"] else None
        runs = explore_runs(store, catalog, _compared(values, pairs))
    else:
        pairs, runs = None, explore_runs(store, catalog, filters)
    answer = _Parts(view=values["view"], runs=runs, question=of, query=query)
    if values["view"] == SIDE:
        names, facts, provenance = _side(runs, values, pairs, problems)
        return answer.with_facts(names, facts, provenance, problems)
    chosen = chosen_runs(runs, filters)
    if values["view"] == PIVOT:
        wrong = _pivot_problems(values)
        pivot = None if wrong else _pivot(runs, values, chosen)
        before = (*_sample_note(store, runs, filters), *_standing_note(runs, chosen))
        return answer.with_pivot(pivot, before, [*problems, *wrong])
    wrong = check(of)
    if wrong:
        return answer.with_points(None, None, (), [*problems, *wrong])
    points = points_of(runs, of, chosen)
    fits = fits_of(runs, points) if values["fit"] else None
    empty = without_values(runs, of)
    before = (*_sample_note(store, runs, filters), *_standing_note(runs, chosen))
    notes = (*before, *_notes(points, fits, empty))
    return answer.with_points(points, fits, notes, problems)


def _standing_note(runs: pa.Table, chosen: NDArray[np.bool_]) -> list[str]:
    """Return how many of the filtered runs are unofficial; nothing where none is."""
    unofficial = runs["standing"].is_valid().to_numpy() & chosen
    if not (count := int(unofficial.sum())):
        return []
    return [
        plural(
            count,
            "{count} of {filtered:,} filtered runs is unofficial.",
            "{count:,} of {filtered:,} filtered runs are unofficial.",
            filtered=int(chosen.sum()),
        )
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """What all views of an answer share."""

    view: str
    runs: pa.Table
    question: ExploreQuestion
    query: str

    def with_points(
        self, points: Points | None, fits: Fits | None, notes: Sequence[str],
        problems: Sequence[ParameterProblem],
    ) -> ExploreAnswer:  # fmt: skip
        sentence = "" if points is None else _sentence(points)
        return self._answer(problems, points=points, fits=fits, notes=notes, sentence=sentence)

    def with_pivot(
        self, pivot: PivotAnswer | None, before: Sequence[str], problems: Sequence[ParameterProblem]
    ) -> ExploreAnswer:
        sentence, notes = ("", ()) if pivot is None else _pivot_words(pivot)
        return self._answer(problems, pivot=pivot, notes=(*before, *notes), sentence=sentence)

    def with_facts(
        self, names: Sequence[str], facts: Sequence[Fact], provenance: Sequence[Fact],
        problems: Sequence[ParameterProblem],
    ) -> ExploreAnswer:  # fmt: skip
        differing = sum(fact.differs for fact in facts)
        sentence = (
            Text("{differing} of {facts} facts differ.", differing=differing, facts=len(facts))
            if facts
            else ""
        )
        return self._answer(
            problems, names=names, facts=facts, provenance=provenance, sentence=sentence
        )

    def _answer(
        self,
        problems: Sequence[ParameterProblem],
        *,
        points: Points | None = None,
        fits: Fits | None = None,
        pivot: PivotAnswer | None = None,
        names: Sequence[str] = (),
        facts: Sequence[Fact] = (),
        provenance: Sequence[Fact] = (),
        sentence: str = "",
        notes: Sequence[str] = (),
    ) -> ExploreAnswer:
        return ExploreAnswer(
            view=self.view, runs=self.runs, question=self.question, points=points, fits=fits,
            pivot=pivot,
            names=tuple(names), facts=tuple(facts), provenance=tuple(provenance),
            sentence=sentence, notes=tuple(notes), query=self.query, problems=tuple(problems),
        )  # fmt: skip


def question_of(values: Mapping[str, Any], problems: list[ParameterProblem]) -> ExploreQuestion:
    """Return the question of parameters' values; adds a malformed brush to `problems`."""
    return ExploreQuestion(
        x=values["x"].strip(),
        y=values["y"].strip(),
        colour=_chosen(values["colour"]),
        symbol=_chosen(values["symbol"]),
        size=_chosen(values["size"]),
        facet=_chosen(values["facet"]),
        marks=values["marks"],
        log_x=values["log_x"],
        log_y=values["log_y"],
        brush=_area("brush", values["brush"] or "", problems),
        brush_in=values["brush_in"] or "",
        hidden=tuple(values["hidden"]),
        within=_area("within", values["within"] or "", problems),
        hidden_symbols=tuple(values["hidden_symbols"]),
    )


def _chosen(text: str) -> str:
    return "" if text.strip() == NONE_CHOSEN else text.strip()


def _area(name: str, text: str, problems: list[ParameterProblem]) -> tuple[float, ...]:
    if not text:
        return ()
    corners = tuple(number_of(part) for part in text.split(","))
    right = len(corners) >= 4 and len(corners) % 2 == 0 and len(corners) <= 2 * MOST_CORNERS
    if not right or any(c != c for c in corners):  # noqa: PLR0124 - NaN is not equal to itself
        message = "The area is not a list of corners. Write x0,y0,x1,y1, such as 0,0,128,40."
        problems.append(ParameterProblem(parameter=name, message=message))
        return ()
    return corners


def _sentence(points: Points) -> str:
    runs = several(points.n, "run")
    y, x = points.y_title, points.x_title
    if not points.groups:
        return Text("{y} against {x}: {runs}.", y=y, x=x, runs=runs)
    groups = plural(len(points.groups), "{count} group", "{count} groups")
    return Text("{y} by {x}: {runs} in {groups}.", y=y, x=x, runs=runs, groups=groups)


def _notes(points: Points, fits: Fits | None, empty: str) -> tuple[str, ...]:
    notes = [empty] if empty else []
    if points.without and not empty:
        notes.append(
            plural(
                points.without,
                "{count} of {filtered:,} filtered runs lacks a value for an axis.",
                "{count:,} of {filtered:,} filtered runs lack a value for an axis.",
                filtered=points.filtered,
            )
        )
    if points.beyond:
        notes.append(
            Text("Not on a logarithmic axis: {beyond:,} runs at 0 or below.", beyond=points.beyond)
        )
    if points.every > 1:
        notes.append(Text("Of every {every} runs one counts.", every=points.every))
    if points.drawn.size < points.n:
        notes.append(
            Text(
                "{size:,} of {number:,} runs are drawn as points, those that stand "
                "alone first. Marked areas count all.",
                size=points.drawn.size,
                number=points.n,
            )
        )
    if fits is not None:
        notes += _fit_notes(fits)
    if (points.question.x, points.question.y) == _TIME_OVER_DEVICES:
        notes.append(_NO_CURVE)
    return tuple(notes)


_TIME_OVER_DEVICES: Final = ("devices", "time_to_target_s")
_NO_CURVE: Final = Text(
    "No fitted curve: steps to a target depend on the batch, which usually grows with the devices."
)


def _fit_notes(fits: Fits) -> list[str]:
    notes: list[str] = []
    if fits.curves:
        notes.append(_LINES[fits.law])
    if fits.few:
        what = "device counts" if fits.law == "scaling" else "batch sizes"
        notes.append(
            plural(
                fits.few,
                "{count} case has fewer than 3 {what}, so no curve.",
                "{count:,} cases have fewer than 3 {what}, so no curve.",
                what=what,
            )
        )
    if fits.refused:
        notes.append(
            plural(
                fits.refused,
                "{count} fit is refused; the page {page} shows why.",
                "{count:,} fits are refused; the page {page} shows why.",
                page=_PAGES[fits.law],
            )
        )
    if fits.beyond:
        notes.append(
            Text("{beyond:,} further curves are not drawn. Filter to see them.", beyond=fits.beyond)
        )
    return notes


_LINES: Final[Mapping[Law, str]] = {
    "throughput": Text(
        "Lines: fitted throughput law with its 90 % band; dashed beyond the measured batches."
    ),
    "scaling": Text(
        "Lines: fitted scaling law with its 90 % band; dashed beyond the measured device counts."
    ),
    "steps": Text(
        "Lines: fitted law of steps to the target with its 90 % band, each batch at its best "
        "learning rate; dashed beyond the measured batches."
    ),
}
_PAGES: Final[Mapping[Law, str]] = {
    "throughput": "Throughput", "scaling": "Scaling out", "steps": "Steps to target"
}  # fmt: skip


# -- pivot ---------------------------------------------------------------------------------------


def _pivot_problems(values: Mapping[str, Any]) -> list[ParameterProblem]:
    problems = []
    for name in ("rows", "columns"):
        text = values[name].strip()
        if not (name == "columns" and text == NONE_CHOSEN) and (wrong := group_problem(text)):
            problems.append(ParameterProblem(parameter=name, message=wrong))
    if wrong := problem_of(values["measure"].strip()):
        problems.append(ParameterProblem(parameter="measure", message=wrong))
    return problems


def _pivot(runs: pa.Table, values: Mapping[str, Any], chosen: Any) -> PivotAnswer:  # noqa: ANN401 - an array
    measure = measure_of(runs, values["measure"].strip())
    across = _chosen(values["columns"])
    table = pivot_of(
        category_of(runs, values["rows"].strip()),
        category_of(runs, across) if across else None,
        measure.shown,
        chosen,
        values["statistic"],
    )
    return PivotAnswer(
        table=table,
        rows=CATEGORIES[values["rows"].strip()].title,
        columns=CATEGORIES[across].title if across else "",
        measure=measure,
        statistic=values["statistic"],
    )


def _pivot_words(pivot: PivotAnswer) -> tuple[str, tuple[str, ...]]:
    table = pivot.table
    by = listed_words([title for title in (pivot.rows, pivot.columns) if title])
    notes = []
    if not table.runs:
        notes.append(Text("No filtered run states {title}.", title=pivot.measure.title))
    if table.left_out:
        notes.append(Text("{left_out:,} runs state no {by}.", left_out=table.left_out, by=by))
    said = Text(
        "{title} by {by}: {runs}.", title=pivot.title, by=by, runs=several(table.runs, "run")
    )
    return said, tuple(notes)


# -- side by side --------------------------------------------------------------------------------

_Side = tuple[list[str], tuple[Fact, ...], tuple[Fact, ...]]


def _side(
    runs: pa.Table,
    values: Mapping[str, Any],
    pairs: Sequence[tuple[str, str]] | None,
    problems: list[ParameterProblem],
) -> _Side:
    if pairs is not None:
        names = [f"{workload} on {system}" for workload, system in pairs]
        if not pairs:
            return names, (), ()
        return names, pair_facts(runs, pairs), provenance_of(fastest_runs(runs, pairs))
    ids = [text for text in values["run"] if _RUN.fullmatch(text)]
    place = {run: at for at, run in enumerate(runs["run_id"].to_pylist())}
    at = [place[run] for run in ids if run in place]
    for text in values["run"]:
        if text not in place:
            message = Text(
                "There is no run {text!r}. Copy an id of 32 digits from a row.", text=text[:40]
            )
            problems.append(ParameterProblem(parameter="run", message=message))
    if not problems and 0 < len(at) < LEAST:
        problems.append(
            ParameterProblem(parameter="run", message="Only one run. Choose a second one.")
        )
    rows = runs.take(pa.array(at, pa.int64())).to_pylist()
    names = [run_name(row) for row in rows]
    return names, facts_of(rows) if rows else (), provenance_of(rows) if rows else ()


def run_name(row: Mapping[str, Any]) -> str:
    """Return a run's name: system and batch."""
    batch = row["global_batch_size"]
    return (
        str(row["system"])
        if batch is None
        else Text("{system} at batch {batch:,}", system=row["system"], batch=batch)
    )


def _compared(
    values: Mapping[str, Any], pairs: Sequence[tuple[str, str]] | None
) -> dict[str, list[str]]:
    """Return the filters of the runs that are compared side by side."""
    if pairs is None:
        return {"only": list(values["run"])}
    return {
        "workload": sorted({workload for workload, _ in pairs}),
        "system": sorted({system for _, system in pairs}),
    }


def _named(store: Store, catalog: Catalog) -> dict[str, dict[str, str]]:
    kinds = ("workload", "system")
    if store.in_file:
        options = queries.facets(store, {})
        return {kind: slugs(sorted(options[kind])) for kind in kinds}
    runs = explore_runs(store, catalog)
    return {kind: slugs(sorted(set(runs[kind].to_pylist()))) for kind in kinds}


def _pairs(
    names: Mapping[str, dict[str, str]], texts: Sequence[str], problems: list[ParameterProblem]
) -> list[tuple[str, str]]:
    pairs = []
    for text in texts:
        parts = text.split(_BAR)
        if len(parts) != 2:
            message = Text(
                "{text!r} is no pair. Write workload|system, each as its slug.", text=text[:80]
            )
            problems.append(ParameterProblem(parameter="pair", message=message))
            continue
        pair = []
        for kind, part in zip(names, parts, strict=True):
            meant = looked_up(part, names[kind])
            if isinstance(meant, str):
                pair.append(names[kind][meant])
            else:
                wrong = no_match(kind, part, names[kind])
                problems.append(ParameterProblem(parameter="pair", message=wrong))
        if len(pair) == 2:
            pairs.append((pair[0], pair[1]))
    return pairs


# -- the record ----------------------------------------------------------------------------------


def explored(answer: ExploreAnswer) -> Explore:
    """Return an answer as a record, for the command line and the HTTP interface."""
    points, runs = answer.points, answer.runs
    return Explore(
        query=answer.query,
        view=answer.view,
        sentence=answer.sentence,
        notes=answer.notes,
        x=None if points is None else ExploreAxis(name=answer.question.x, title=points.x_title),
        y=None if points is None else ExploreAxis(name=answer.question.y, title=points.y_title),
        points=() if points is None else tuple(point_records(runs, points)),
        curves=() if answer.fits is None else tuple(_curves(answer.fits)),
        cells=() if answer.pivot is None else tuple(_cells(answer.pivot.table)),
        names=answer.names,
        facts=tuple(_fact(fact) for fact in (*answer.facts, *answer.provenance)),
    )


def point_records(runs: pa.Table, points: Points) -> list[ExplorePoint]:
    """Return the points of a chart with the names of their runs."""
    texts = {
        name: runs[name].take(points.rows).to_pylist()
        for name in ("run_id", "workload", "system", "suspect", "standing")
    }
    colour = _texts(points.colour, points.n) if points.shade is None else _floats(points.shade)
    symbol, facet = _texts(points.symbol, points.n), _texts(points.facet, points.n)
    size = [None] * points.n if points.size is None else _floats(points.size)
    group = [points.groups[g] if 0 <= g < len(points.groups) else None for g in points.group]
    return [
        ExplorePoint(
            run_id=texts["run_id"][i],
            workload=texts["workload"][i],
            system=texts["system"][i],
            x=group[i] if is_grouped(points.question) else cell(points.x[i]),
            y=cell(points.y[i]),
            colour=colour[i],
            symbol=symbol[i],
            size=size[i],
            facet=facet[i],
            marked=bool(points.brushed[i]),
            suspect=texts["suspect"][i],
            standing=texts["standing"][i],
        )
        for i in range(points.n)
    ]


def _texts(category: Category | None, size: int) -> list[str | None]:
    if category is None:
        return [None] * size
    return [category.labels[c] if c >= 0 else None for c in category.codes]


def _floats(measure: Measure) -> list[Any]:
    shown: Floats = measure.shown
    return [cell(v) for v in shown]


def _curves(fits: Fits) -> list[ExploreCurve]:
    scaling = fits.law == "scaling"
    return [
        ExploreCurve(
            curve=fit.label,
            points=fit.points,
            smallest_batch=None if scaling else fit.smallest,
            largest_batch=None if scaling else fit.largest,
            fewest_devices=int(fit.smallest) if scaling else None,
            most_devices=int(fit.largest) if scaling else None,
            batch=fit.held,
            per_device=fit.per_device if scaling else None,
            **estimate_cells("asymptotic_throughput", fit.asymptotic_throughput),
            **estimate_cells("overhead_s", fit.overhead_s),
            **estimate_cells("min_steps", fit.min_steps),
            **estimate_cells("critical_batch_size", fit.critical_batch_size),
        )
        for fit in fits.curves
    ]


def _cells(table: Pivot) -> list[ExploreCell]:
    return [
        ExploreCell(
            row=row, column=column, value=cell(table.cells[i, j]), runs=int(table.counts[i, j])
        )
        for i, row in enumerate(table.rows)
        for j, column in enumerate(table.columns)
        if table.counts[i, j]
    ]


def _fact(fact: Fact) -> ExploreFact:
    cells: tuple[Cell, ...] = tuple(
        None if isinstance(c, float) and cell(c) is None else c for c in fact.cells
    )
    return ExploreFact(fact=fact.title, unit=fact.unit, cells=cells, difference=fact.difference)
