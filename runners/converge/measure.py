"""Steps to a target for each optimiser and batch size, the learning rate tuned for each.

Each group of trials (one optimiser, batch size and part of the grid) is one child and one file of
the result set. Killed at any moment, the set holds whole groups; the next call goes on with the
first that is missing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from planner.records import Row, table_from_rows
from planner.store.commit import commit_table, compact_name
from planner.store.files import write_once
from runners.converge import grid, groups, rows, spec
from runners.converge.children import RunChild
from runners.converge.curves import NEVER
from runners.converge.grid import Best
from runners.converge.groups import Group, Kept
from runners.converge.spec import Plan
from runners.result_set import describe
from runners.spec import SpecError
from runners.sweep import slug

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
    run_child: RunChild
    say: Callable[[str], None]


def converge(
    spec_path: Path,
    results: Path,
    facts: Mapping[str, Any],
    run_child: RunChild,
    say: Callable[[str], None],
    *,
    name: str | None = None,
    on_size: Callable[[int], None] = lambda _: None,
) -> int:
    """Measure what is missing of a sweep into `results`/<set>; 0 where every group ended well.

    `facts` are columns of the machine (`runners.machine.facts`), `name` is the result set's,
    otherwise made of sweep and system; `on_size` hears how many pairs of optimiser and batch size
    are done. SpecError where the sweep is wrong or the set holds trials
    of another form of it; CommitError where the disk refuses; whatever `run_child` raises
    (`Stopped`) passes through, with all finished groups kept.
    """
    plan = spec.read(spec_path)
    folder = results / slug(name or f"{plan.name} {facts['system_name']}")
    kept = groups.kept_in(folder, plan.name)
    if kept.plans - {plan.digest}:
        raise SpecError(plan.name, [_OTHER.format(folder=folder.name)])
    bench = _Bench(plan=plan, folder=folder, kept=kept, facts=facts, run_child=run_child, say=say)
    write_once(folder / "set.toml", describe(plan.name, plan.title, plan.about, facts))
    found: dict[tuple[str, int], Best | None] = {}
    for optimizer, batch in itertools.product(plan.optimizers, plan.batch):
        found[optimizer, batch] = _tune(bench, optimizer, batch)
        on_size(len(found))
    _summarise(plan, found, say)
    return OK if all(found.values()) else FAILED


_OTHER: Final = (
    "the result set {folder} holds trials of this name under other settings. Give the set another "
    "name (--name), or the sweep's file."
)


def _tune(bench: _Bench, optimizer: str, batch: int) -> Best | None:
    """The best rate of one batch size, the grid widened as far as allowed; None after a failure."""
    settings = bench.plan.learning_rates
    rates = grid.rates(bench.plan.optimizers[optimizer], settings)
    known: list[Row] = []
    for part in range(settings.widenings + 1):
        group = Group(optimizer=optimizer, batch=batch, part=part, rates=rates)
        known += _rows(bench, group, known)
        if any(row["status"] not in _ENDED for row in known):
            bench.say(f"{group.words}: {known[-1]['status']}, {known[-1].get('status_reason')}")
            return None
        best = grid.best(known)
        bench.say(f"{group.words}: {_words(best, bench.plan)}")
        if best.edge is None:
            break
        rates = grid.wider((row["learning_rate"] for row in known), best.edge, settings)
    return best


def _rows(bench: _Bench, group: Group, before: Sequence[Row]) -> Sequence[Row]:
    """The group's rows: those that are kept, otherwise measured now and committed whole."""
    request = groups.request_of(bench.plan, group)
    key = groups.key_of(request)
    if settled := bench.kept.settled(key):
        return settled
    told = list(bench.run_child(request))
    trials = rows.trials_of(request, told)
    fresh = rows.rows_of(
        bench.plan,
        group,
        trials,
        told,
        request=request,
        best=grid.best([*before, *trials]),
        facts=bench.facts,
        result_set=bench.folder.name,
        recorded_at=datetime.now(UTC),
        attempt=bench.kept.attempt(key),
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
