"""Measure steps to a target for each optimiser and batch size, with a tuned learning rate.

Each group of trials (one optimiser, batch size and part of the grid) is one file of the result
set. The grids of all batch sizes are trained first, then their widenings. If a call is killed,
the set holds whole groups, and the next call continues with the first missing one.

The learning rate follows the rule of Shallue et al. 2019, "Measuring the Effects of Data
Parallelism on Neural Network Training" (section 4): the rate is tuned for each batch size, and the
grid is widened while the best rate lies at its edge.
"""

import hashlib
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any, Final, Literal

from planner.core import Text, joined
from planner.runs import Row, table_from_rows
from planner.store.disk.files import write_once
from planner.store.sealed.commit import commit_table, compact_name, try_folder
from planner.store.summaries import summaries
from runners.converge import spec
from runners.converge.curves import NEVER, median_steps
from runners.converge.spec import ConvergePlan, Rates, variant
from runners.machine import environment, facts
from runners.plan.spec import SpecError
from runners.process.events import Event
from runners.process.supervise import Ended, ProcessLimits, supervise
from runners.sweep.rows import INFRASTRUCTURE, OWNERS, describe, extra_of
from runners.sweep.sweep import slug
from runners.workloads import DATASETS, OPTIMIZERS, model_title

Side = Literal["low", "high"]
_Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Best:
    """The best learning rate so far: its median over seeds [steps], and the edge it lies at."""

    rate: float
    steps: float
    """Infinite if no rate reached the target in half of its seeds."""
    edge: Side | None


def rates(lowest: float, grid: Rates) -> tuple[float, ...]:
    """Return the grid before any widening, ascending."""
    return tuple(lowest * grid.factor**i for i in range(grid.count))


def wider(tried: Iterable[float], side: Side, grid: Rates) -> tuple[float, ...]:
    """Return only the new rates, ascending: `widen_by` of them beyond that edge."""
    ascending = sorted(tried)
    steps = range(1, grid.widen_by + 1)
    if side == "high":
        return tuple(ascending[-1] * grid.factor**i for i in steps)
    return tuple(ascending[0] / grid.factor**i for i in reversed(steps))


def best_rate(rows: Iterable[_Row]) -> Best:
    """Return the best rate of all rows of one optimiser and batch size; ValueError without rows.

    The rate with the smallest median of steps to the target wins. If no rate reached the target,
    the smallest median of the final error wins. Ties give the middle rate, because evaluations
    are some steps apart.
    """
    by_rate: dict[float, list[_Row]] = {}
    for row in rows:
        by_rate.setdefault(row["learning_rate"], []).append(row)
    scores = {rate: _score(by_rate[rate]) for rate in sorted(by_rate)}
    least = min(scores.values())
    ties = [rate for rate, score in scores.items() if score == least]
    rate = ties[(len(ties) - 1) // 2]
    return Best(rate=rate, steps=least[0], edge=_edge(rate, list(scores)))


def _score(rows: Sequence[_Row]) -> tuple[float, float]:
    """Return median steps, and the median error if the target was not reached."""
    steps = median_steps(row.get("steps_to_target") for row in rows)
    errors = [row.get("final_metric") for row in rows]
    lost = [NEVER if e is None or row["status"] != "ok" else e
            for e, row in zip(errors, rows, strict=True)]  # fmt: skip
    return steps, statistics.median(lost) if steps == NEVER else 0.0


def _edge(rate: float, ascending: Sequence[float]) -> Side | None:
    if rate == ascending[-1]:
        return "high"
    return "low" if rate == ascending[0] else None


ATTEMPTS: Final = 3
"""Number of attempts for a group whose child was killed or crashed."""
Request = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """All rates x seeds of one part of the grid; part 0 is the planned grid."""

    optimizer: str
    batch: int
    part: int
    rates: tuple[float, ...]

    @property
    def words(self) -> str:
        """Description of the group in progress reports."""
        widened = Text("widened {times} times", times=self.part) if self.part > 1 else "widened"
        return joined(", ", (self.optimizer, f"batch {self.batch}", widened if self.part else ""))


def first(plan: ConvergePlan) -> list[Group]:
    """Return the group of each optimiser and batch size before any widening."""
    return [
        Group(optimizer=o, batch=b, part=0, rates=rates(settings.lowest_rate, plan.learning_rates))
        for o, settings in plan.optimizers.items()
        for b in plan.batch
    ]


def request_of(plan: ConvergePlan, group: Group) -> Request:
    """Return the child's request: exactly the settings that determine the numbers."""
    return {
        "workload": plan.workload,
        "options": dict(plan.options),
        "dataset": plan.dataset,
        "train_samples": plan.train_samples,
        "validation_samples": plan.validation_samples,
        "data_seed": plan.data_seed,
        "optimizer": group.optimizer,
        "batch": group.batch,
        "rates": list(group.rates),
        "seeds": list(range(plan.seeds)),
        "target": plan.target,
        "sampling": plan.sampling,
        "interval": plan.interval(group.batch),
        "steps_limit": plan.steps_limit(group.batch),
        "patience": plan.limits.patience,
        "threads": plan.limits.threads,
        "at_once": plan.at_once,
        **({"staleness": plan.staleness} if plan.staleness else {}),
    }


def key_of(request: Request) -> str:
    """Return the first 16 hex digits of the sha256 of the request."""
    text = json.dumps(request, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRuns:
    """Trials in a result set: summary rows by group key, and their plans."""

    groups: Mapping[str, Sequence[_Row]]
    plans: frozenset[str]

    def settled(self, key: str) -> Sequence[_Row]:
        """Return the rows of a group's last attempt; empty if it is still to be measured."""
        rows = self.groups.get(key, ())
        last = [row for row in rows if row.get("attempt", 0) == self.attempt(key) - 1]
        again = any(row["status"] in INFRASTRUCTURE for row in last)
        return () if again and self.attempt(key) < ATTEMPTS else last

    def attempt(self, key: str) -> int:
        """Return the number of the next attempt, from 0."""
        rows = self.groups.get(key, ())
        return 1 + max((row.get("attempt", 0) for row in rows), default=-1)


def kept_in(folder: Path, sweep: str) -> KeptRuns:
    """Return the groups of a sweep in a result set's folder; damaged files are skipped."""
    groups: dict[str, list[_Row]] = {}
    plans = set()
    for row, extra in _of_sweep(folder, sweep):
        groups.setdefault(str(extra.get("group")), []).append(row)
        plans.add(str(extra.get("plan")))
    return KeptRuns(groups=groups, plans=frozenset(plans))


def _of_sweep(folder: Path, sweep: str) -> Iterator[tuple[_Row, Mapping[str, Any]]]:
    for row in summaries(folder):
        if row.get("sweep") == sweep:
            yield row, extra_of(row)


METRIC: Final = "validation error"
ENGINE: Final = "trials"
Trial = dict[str, Any]


def trials_of(request: Request, events: Iterable[Event]) -> list[Trial]:
    """Return the columns of each trial; if the child failed, all trials share its failure."""
    reported = list(events)
    rows = [dict(row) for e in reported if e["event"] == "rows" for row in e["rows"]]
    failed = next((e for e in reported if e["event"] == "failed"), None)
    if rows and not failed:
        return rows
    end = {
        "status": failed["status"] if failed else "crashed",
        "status_reason": str(failed["reason"]) if failed else "the child reported no rows",
    }
    return [
        {"learning_rate": rate, "seed": seed, "target_value": request["target"], **end}
        for rate, seed in product(request["rates"], request["seeds"])
    ]


def rows_of(
    plan: ConvergePlan,
    group: Group,
    trials: Sequence[Trial],
    events: Iterable[Event],
    *,
    request: Request,
    best: Best,
    facts: Mapping[str, Any],
    result_set: str,
    recorded_at: datetime,
    attempt: int,
) -> list[Row]:
    """Return complete rows, without times: trials trained together share their time."""
    columns, more = _merged(events)
    common = {**_planned(plan, group), **facts, **columns, "result_set": result_set,
              "recorded_at": recorded_at, "attempt": attempt}  # fmt: skip
    shared = {**_extra(plan, group, request, best), **more}
    rows: list[Row] = []
    for trial in trials:
        extra = {**shared, **trial.get("extra", {})}
        extra["best_rate_so_far"] = trial["learning_rate"] == best.rate
        row = {**common, **trial, "extra": _json(extra)}
        rows.append({k: v for k, v in row.items() if v is not None})
    return rows


def _merged(events: Iterable[Event]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return columns and extra of all events about the whole group."""
    columns: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for event in events:
        columns |= {k: v for k, v in event.get("columns", {}).items() if v is not None}
        extra |= event.get("extra", {})
    return columns, extra


def _planned(plan: ConvergePlan, group: Group) -> dict[str, Any]:
    data = DATASETS[plan.dataset]
    shape = "x".join(map(str, data.shape))
    return {
        "sweep": plan.name, "repeat": 0, "basis": "measured", "mode": "training",
        "licence": OWNERS,
        "model": model_title(plan.workload, plan.options), "dataset": data.title,
        "synthetic_data": data.synthetic,
        "input_shape": shape if data.task == "images" else f"{shape} tokens",
        "optimizer": OPTIMIZERS[group.optimizer], "precision": "float32",
        "train_samples": plan.train_samples, "validation_samples": plan.validation_samples,
        "framework": "TensorFlow", "backend": "tensorflow", "engine": ENGINE, "jit": False,
        "variant": variant(plan.staleness) or None, "staleness": plan.staleness or None,
        "strategy": "none", "parallelism": "none", "launch": "single process", "sync": "none",
        "global_batch_size": group.batch, "per_device_batch_size": group.batch,
        "augmentation": False, "storage": "memory",
        "drop_remainder": True if plan.sampling == "epochwise" else None,
        "threads": plan.limits.threads, "evaluation_metric": METRIC,
        "evaluation_higher_is_better": False,
    }  # fmt: skip


def _extra(plan: ConvergePlan, group: Group, request: Request, best: Best) -> dict[str, Any]:
    """Return details for judging a trial, and the key that identifies its group."""
    trials = len(request["rates"]) * len(request["seeds"])
    return {
        "group": key_of(request),
        "plan": plan.digest,
        "grid_part": group.part,
        "trials_in_group": trials,
        "trials_at_once": trials if request["at_once"] else 1,
        "evaluate_every_steps": request["interval"],
        "steps_limit": request["steps_limit"],
        "patience": request["patience"],
        "sampling": request["sampling"],
        "data_seed": request["data_seed"],
        "best_rate_at_edge": best.edge,
    }


def _json(extra: Mapping[str, Any]) -> str:
    return json.dumps({k: v for k, v in extra.items() if v is not None}, sort_keys=True)


CHILD: Final = ("-m", "runners.child.converge")
_FOREVER_S: Final = 1e9
Took = Callable[[int, list[Event]], None]
"""Callback for each finished group: its index among the requests, and its events."""
RunChild = Callable[[Sequence[dict[str, Any]], Took], None]
"""Trains one group per request, in order."""


class _Late(Exception):  # noqa: N818 - ends a child; reported as the group's end
    """A group has used up its time."""


@dataclass(slots=True, kw_only=True)
class _GroupWatch:
    """State of a running child; a group's time starts when the previous one ends."""

    first: int
    """Index of its first group among the requests."""
    took: Took
    shared: list[Event] = field(default_factory=list)
    finished: int = 0
    since_s: float = field(default_factory=time.perf_counter)

    def hear(self, event: Event) -> None:
        """Pass on a group's rows, with the events that its groups share."""
        if event["event"] == "rows":
            self.took(self.first + self.finished, [*self.shared, event])
            self.finished += 1
            self.since_s = time.perf_counter()
        elif event["event"] != "failed":
            self.shared.append(event)

    def fail(self, status: str, reason: str) -> None:
        """Report how the current group ended."""
        end = {"event": "failed", "status": status, "reason": reason}
        self.took(self.first + self.finished, [*self.shared, end])
        self.finished += 1


def supervised(
    environ: Mapping[str, str],
    *,
    timeout_s: float,
    memory_bytes: int | None = None,
    device: str = "cpu",
    python: str = sys.executable,
    beat: Callable[[], None] = lambda: None,
    stop: Callable[[], bool] = lambda: False,
) -> RunChild:
    """Return the function that trains requests for `converge`; it raises `Stopped` on a stop.

    One child trains all groups: no times are recorded, and starting TensorFlow takes longer than
    most groups. If a child is killed or runs out of time (`timeout_s` per group) or memory, its
    current group gets the event `failed`, but only as the first group of that child. Otherwise
    the group is trained again as the first of a new child.
    """
    limits = ProcessLimits(
        timeout_s=_FOREVER_S, memory_bytes=memory_bytes or int(0.8 * facts.memory_limit_bytes())
    )

    def run(requests: Sequence[dict[str, Any]], took: Took) -> None:
        done = 0
        while done < len(requests):
            watch = _GroupWatch(first=done, took=took)
            _one_child(requests[done:], watch)
            done += watch.finished

    def _one_child(requests: Sequence[dict[str, Any]], watch: _GroupWatch) -> None:
        def in_time() -> None:
            beat()
            if time.perf_counter() - watch.since_s > timeout_s:
                raise _Late

        variables = environment.for_child(
            environ, backend="tensorflow", threads=requests[0]["threads"], device=device
        )
        try:
            ended = supervise(
                [python, *CHILD], {"groups": list(requests)}, variables, limits,
                on_event=watch.hear, beat=in_time, stop=stop,
            )  # fmt: skip
        except _Late:
            if not watch.finished:
                reason = Text("not finished after {timeout_s:g} s", timeout_s=timeout_s)
                watch.fail("timeout", reason)
            return
        if not watch.finished:
            watch.fail(*_why(ended, environ))

    return run


def _why(ended: Ended, environ: Mapping[str, str]) -> tuple[str, str]:
    """Return the status and reason of a child that sent no rows."""
    if ended.status == "ok":
        return "crashed", "the child reported no rows"
    return ended.status, environment.clean(ended.reason or ended.status, environ)


OK, FAILED = 0, 1
_ENDED: Final = frozenset({"ok", "nan"})
"""Statuses of a trial that count for its learning rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bench:
    """Inputs that all groups of one call share."""

    plan: ConvergePlan
    folder: Path
    kept: KeptRuns
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
    plans = spec.read(spec_path)
    first = plans[0]
    folder = results / slug(name or f"{first.name} {facts['system_name']}")
    kept = kept_in(folder, first.name)
    if kept.plans - {plan.digest for plan in plans}:
        raise SpecError(first.name, [_OTHER.format(folder=folder.name)])
    write_once(folder / "set.toml", describe(first.name, first.title, first.about, facts))
    benches = [
        _Bench(plan=plan, folder=folder, kept=kept, facts=facts, say=_named(plan, plans, say))
        for plan in plans
    ]
    searches = [_searches(plan) for plan in plans]
    every = [search for own in searches for search in own]

    def ended() -> None:
        done = [search for search in every if not search.goes_on]
        on_size(len(done), sum(search.best is None for search in done))

    for optimizers in _stages(plans):
        for bench, own in zip(benches, searches, strict=True):
            _measure_network(bench, [s for s in own if s.optimizer in optimizers], run_child, ended)
    for bench, own in zip(benches, searches, strict=True):
        _summarise(bench.plan, {(s.optimizer, s.batch): s.best for s in own}, bench.say)
    return OK if all(search.best for search in every) else FAILED


def _stages(plans: Sequence[ConvergePlan]) -> list[frozenset[str]]:
    """Return the optimisers of each pass over the networks.

    With several networks each pass has one optimiser, so a stopped sweep can compare networks.
    """
    every = dict.fromkeys(name for plan in plans for name in plan.optimizers)
    return [frozenset(every)] if len(plans) == 1 else [frozenset({name}) for name in every]


def _named(
    plan: ConvergePlan, plans: Sequence[ConvergePlan], say: Callable[[str], None]
) -> Callable[[str], None]:
    """Return `say`, with the network before each line if the sweep has several."""
    if len(plans) == 1:
        return say
    network = model_title(plan.workload, plan.options), variant(plan.staleness)
    title = " ".join(part for part in network if part)
    return lambda text: say(f"{title}: {text}")


def _searches(plan: ConvergePlan) -> "list[_Search]":
    return [_Search(optimizer=g.optimizer, batch=g.batch, rates=g.rates) for g in first(plan)]


def _measure_network(
    bench: _Bench, searches: "Sequence[_Search]", run_child: RunChild, ended: Callable[[], None]
) -> None:
    """Measure all groups of one network; `ended` is called after each."""

    def took(search: _Search, fresh: Sequence[Row]) -> None:
        _judge(bench, search, fresh)
        ended()

    for part in range(bench.plan.learning_rates.widenings + 1):
        _part([s for s in searches if s.goes_on and s.part == part], bench, run_child, took)


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
    requests = [request_of(bench.plan, search.group) for search in searches]
    missing = []
    for search, request in zip(searches, requests, strict=True):
        if settled := bench.kept.settled(key_of(request)):
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
    best = best_rate(search.rows)
    bench.say(f"{words}: {_words(best, bench.plan)}")
    search.best, search.part = best, search.part + 1
    search.goes_on = best.edge is not None and search.part <= settings.widenings
    if best.edge and search.goes_on:
        tried = (row["learning_rate"] for row in search.rows)
        search.rates = wider(tried, best.edge, settings)


def _commit(bench: _Bench, search: _Search, request: Request, events: Sequence[Event]) -> list[Row]:
    """Commit a group's rows as one file of the set; return them."""
    trials = trials_of(request, events)
    fresh = rows_of(
        bench.plan,
        search.group,
        trials,
        events,
        request=request,
        best=best_rate([*search.rows, *trials]),
        facts=bench.facts,
        result_set=bench.folder.name,
        recorded_at=datetime.now(UTC),
        attempt=bench.kept.attempt(key_of(request)),
    )
    table = table_from_rows(fresh)
    commit_table(bench.folder, compact_name(table["run_id"].to_pylist()), table)
    return fresh


def _words(best: Best, plan: ConvergePlan) -> str:
    edge = Text("at the {edge} edge of the rates tried", edge=best.edge) if best.edge else ""
    steps = (
        Text(
            "validation error {target:g} was not reached, nearest at rate {rate:g}",
            target=plan.target,
            rate=best.rate,
        )
        if best.steps == NEVER
        else Text(
            "{steps:g} steps (median of {seeds} seeds) at rate {rate:g}",
            steps=best.steps,
            seeds=plan.seeds,
            rate=best.rate,
        )
    )
    return joined(", ", (steps, edge))


def _summarise(
    plan: ConvergePlan, best: Mapping[tuple[str, int], Best | None], say: Callable[[str], None]
) -> None:
    """Print steps to the target, one line per optimiser."""
    say(
        Text(
            "Steps to a validation error of {target:g}, best learning rate of each batch:",
            target=plan.target,
        )
    )
    say("  ".join([f"{'batch':<10}", *(f"{b:>6}" for b in plan.batch)]))
    for optimizer in plan.optimizers:
        cells = [_cell(best[optimizer, b]) for b in plan.batch]
        say("  ".join([f"{optimizer:<10}", *(f"{c:>6}" for c in cells)]))


def _cell(best: Best | None) -> str:
    if best is None:
        return "failed"
    return "-" if best.steps == NEVER else f"{best.steps:g}"
