"""Steps to a target for each optimiser and batch size, the learning rate tuned for each.

Each group of trials (one optimiser, batch size and part of the grid) is one file of the result
set. The grids of all batch sizes are trained first, then those parts by which some are widened.
Killed at any moment, the set holds whole groups; the next call goes on with the first that is
missing.
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
"""Ends of a trial that say something of its learning rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bench:
    """What all groups of one call share."""

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
    """Measure what is missing of a sweep into `results`/<set>; 0 where every group ended well.

    `facts` are columns of the machine (`runners.machine.facts`), `name` is the result set's,
    otherwise made of sweep and system; `on_size` hears how many pairs of optimiser and batch size
    are done, and how many of these without a best rate. SpecError where the sweep is wrong or the
    set holds trials of another form of it; CommitError where the disk refuses; whatever
    `run_child` raises (`Stopped`) passes through, with all finished groups kept.
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
    "the result set {folder} holds trials of this name under other settings. Give the set another "
    "name (--name), or the sweep's file."
)


@dataclass(slots=True, kw_only=True)
class _Search:
    """The search for one batch size's best rate; grows part by part, as the grid is widened."""

    optimizer: str
    batch: int
    rates: tuple[float, ...]
    """Of the part that comes next."""
    part: int = 0
    known: list[Row] = field(default_factory=list)
    best: Best | None = None
    """None before the first part has ended, and after a failure."""
    goes_on: bool = True

    @property
    def group(self) -> Group:
        """What is to be trained next."""
        return Group(optimizer=self.optimizer, batch=self.batch, part=self.part, rates=self.rates)


def _part(
    searches: Sequence[_Search],
    bench: _Bench,
    run_child: RunChild,
    took: Callable[[_Search, Sequence[Row]], None],
) -> None:
    """One part of every search: what is kept is taken, the rest measured and committed."""
    requests = [groups.request_of(bench.plan, search.group) for search in searches]
    missing = []
    for search, request in zip(searches, requests, strict=True):
        if settled := bench.kept.settled(groups.key_of(request)):
            took(search, settled)
        else:
            missing.append((search, request))

    def ended(place: int, told: Sequence[Event]) -> None:
        search, request = missing[place]
        took(search, _commit(bench, search, request, told))

    if missing:
        try_folder(bench.folder, len(missing))
        run_child([request for _, request in missing], ended)


def _judge(bench: _Bench, search: _Search, fresh: Sequence[Row]) -> None:
    """Take a group's rows: is the best rate known, or is the grid to be widened?"""
    settings, words = bench.plan.learning_rates, search.group.words
    search.known += fresh
    if any(row["status"] not in _ENDED for row in fresh):
        bench.say(f"{words}: {fresh[-1]['status']}, {fresh[-1].get('status_reason')}")
        search.best, search.goes_on = None, False
        return
    best = grid.best(search.known)
    bench.say(f"{words}: {_words(best, bench.plan)}")
    search.best, search.part = best, search.part + 1
    search.goes_on = best.edge is not None and search.part <= settings.widenings
    if best.edge and search.goes_on:
        tried = (row["learning_rate"] for row in search.known)
        search.rates = grid.wider(tried, best.edge, settings)


def _commit(
    bench: _Bench, search: _Search, request: groups.Request, told: Sequence[Event]
) -> list[Row]:
    """A group's rows, whole, as one file of the set."""
    trials = rows.trials_of(request, told)
    fresh = rows.rows_of(
        bench.plan,
        search.group,
        trials,
        told,
        request=request,
        best=grid.best([*search.known, *trials]),
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
    plan: Plan, found: Mapping[tuple[str, int], Best | None], say: Callable[[str], None]
) -> None:
    """Steps to the target, one line an optimiser."""
    say(f"Steps to a validation error of {plan.target:g}, best learning rate of each batch:")
    say("  ".join([f"{'batch':<10}", *(f"{b:>6}" for b in plan.batch)]))
    for optimizer in plan.optimizers:
        cells = [_cell(found[optimizer, b]) for b in plan.batch]
        say("  ".join([f"{optimizer:<10}", *(f"{c:>6}" for c in cells)]))


def _cell(best: Best | None) -> str:
    if best is None:
        return "failed"
    return "-" if best.steps == NEVER else f"{best.steps:g}"
