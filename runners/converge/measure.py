"""Measure steps to a target for each optimiser and batch size, with a tuned learning rate.

Each group of trials (one optimiser, batch size and part of the grid) is one file of the result
set. The grids of all batch sizes are trained first, then their widenings. If a call is killed,
the set holds whole groups, and the next call continues with the first missing one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from planner.runs import Row, table_from_rows
from planner.store.disk.files import write_once
from planner.store.sealed.commit import commit_table, compact_name, try_folder
from runners.converge import grid, groups, rows, spec
from runners.converge.children import RunChild
from runners.converge.curves import NEVER
from runners.converge.grid import Best
from runners.converge.groups import Group, Kept
from runners.converge.spec import Plan
from runners.plan.spec import SpecError
from runners.process.events import Event
from runners.sweep.result_set import describe
from runners.sweep.sweep import slug

OK, FAILED = 0, 1
_ENDED: Final = frozenset({"ok", "nan"})
"""Statuses of a trial that count for its learning rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bench:
    """Inputs that all groups of one call share."""

    plan: Plan
    folder: Path
    kept: Kept
    facts: Mapping[str, Any]
    say: Callable[[str], None]


def converge(
    spec_path: Path,
    results: Path,
    facts: Mapping[str, Any],
    run_child: RunChild,
    say: Callable[[str], None],
    *,
    name: str | None = None,
    on_size: Callable[[int, int], None] = lambda *_: None,
) -> int:
    """Measure the missing groups of a sweep into `results`/<set>; return 0 if all succeeded.

    `facts` are columns of the machine (`runners.machine.facts`). `name` is the name of the
    result set, by default sweep and system. `on_size` gets the number of finished pairs of
    optimiser and batch size, and how many of these have no best rate. Exceptions of `run_child`
    (`Stopped`) pass through; finished groups are kept.

    Raises:
        SpecError: the sweep is invalid, or the set holds trials under other settings.
        CommitError: the disk refuses a group.
    """
    plan = spec.read(spec_path)
    folder = results / slug(name or f"{plan.name} {facts['system_name']}")
    kept = groups.kept_in(folder, plan.name)
    if kept.plans - {plan.digest}:
        raise SpecError(plan.name, [_OTHER.format(folder=folder.name)])
    bench = _Bench(plan=plan, folder=folder, kept=kept, facts=facts, say=say)
    write_once(folder / "set.toml", describe(plan.name, plan.title, plan.about, facts))
    searches = [
        _Search(optimizer=g.optimizer, batch=g.batch, rates=g.rates) for g in groups.first(plan)
    ]

    def took(search: _Search, fresh: Sequence[Row]) -> None:
        _judge(bench, search, fresh)
        ended = [s for s in searches if not s.goes_on]
        on_size(len(ended), sum(s.best is None for s in ended))

    for part in range(plan.learning_rates.widenings + 1):
        _part([s for s in searches if s.goes_on and s.part == part], bench, run_child, took)
    _summarise(plan, {(s.optimizer, s.batch): s.best for s in searches}, say)
    return OK if all(s.best for s in searches) else FAILED


_OTHER: Final = (
    "the result set {folder} holds trials of this name under other settings. Rename the set "
    "(--name) or the sweep's file."
)


@dataclass(slots=True, kw_only=True)
class _Search:
    """Search for the best rate of one batch size; it grows as the grid is widened."""

    optimizer: str
    batch: int
    rates: tuple[float, ...]
    """Rates of the next part."""
    part: int = 0
    rows: list[Row] = field(default_factory=list)
    best: Best | None = None
    """None before the end of the first part, and after a failure."""
    goes_on: bool = True

    @property
    def group(self) -> Group:
        """Group to train next."""
        return Group(optimizer=self.optimizer, batch=self.batch, part=self.part, rates=self.rates)


def _part(
    searches: Sequence[_Search],
    bench: _Bench,
    run_child: RunChild,
    took: Callable[[_Search, Sequence[Row]], None],
) -> None:
    """Run one part of every search: reuse stored groups, measure and commit the rest."""
    requests = [groups.request_of(bench.plan, search.group) for search in searches]
    missing = []
    for search, request in zip(searches, requests, strict=True):
        if settled := bench.kept.settled(groups.key_of(request)):
            took(search, settled)
        else:
            missing.append((search, request))

    def ended(place: int, events: Sequence[Event]) -> None:
        search, request = missing[place]
        took(search, _commit(bench, search, request, events))

    if missing:
        try_folder(bench.folder, len(missing))
        run_child([request for _, request in missing], ended)


def _judge(bench: _Bench, search: _Search, fresh: Sequence[Row]) -> None:
    """Add a group's rows; set the best rate, or widen the grid."""
    settings, words = bench.plan.learning_rates, search.group.words
    search.rows += fresh
    if any(row["status"] not in _ENDED for row in fresh):
        bench.say(f"{words}: {fresh[-1]['status']}, {fresh[-1].get('status_reason')}")
        search.best, search.goes_on = None, False
        return
    best = grid.best(search.rows)
    bench.say(f"{words}: {_words(best, bench.plan)}")
    search.best, search.part = best, search.part + 1
    search.goes_on = best.edge is not None and search.part <= settings.widenings
    if best.edge and search.goes_on:
        tried = (row["learning_rate"] for row in search.rows)
        search.rates = grid.wider(tried, best.edge, settings)


def _commit(
    bench: _Bench, search: _Search, request: groups.Request, events: Sequence[Event]
) -> list[Row]:
    """Commit a group's rows as one file of the set; return them."""
    trials = rows.trials_of(request, events)
    fresh = rows.rows_of(
        bench.plan,
        search.group,
        trials,
        events,
        request=request,
        best=grid.best([*search.rows, *trials]),
        facts=bench.facts,
        result_set=bench.folder.name,
        recorded_at=datetime.now(UTC),
        attempt=bench.kept.attempt(groups.key_of(request)),
    )
    table = table_from_rows(fresh)
    commit_table(bench.folder, compact_name(table["run_id"].to_pylist()), table)
    return fresh


def _words(best: Best, plan: Plan) -> str:
    edge = f", at the {best.edge} edge of the rates tried" if best.edge else ""
    if best.steps == NEVER:
        text = f"validation error {plan.target:g} was not reached, nearest at rate"
        return f"{text} {best.rate:g}{edge}"
    return f"{best.steps:g} steps (median of {plan.seeds} seeds) at rate {best.rate:g}{edge}"


def _summarise(
    plan: Plan, best: Mapping[tuple[str, int], Best | None], say: Callable[[str], None]
) -> None:
    """Print steps to the target, one line per optimiser."""
    say(f"Steps to a validation error of {plan.target:g}, best learning rate of each batch:")
    say("  ".join([f"{'batch':<10}", *(f"{b:>6}" for b in plan.batch)]))
    for optimizer in plan.optimizers:
        cells = [_cell(best[optimizer, b]) for b in plan.batch]
        say("  ".join([f"{optimizer:<10}", *(f"{c:>6}" for c in cells)]))


def _cell(best: Best | None) -> str:
    if best is None:
        return "failed"
    return "-" if best.steps == NEVER else f"{best.steps:g}"
