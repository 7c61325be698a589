"""Run the cases of a sweep on the nodes of a cluster, each on the first free node that can.

A case is a task on one node. A task that is lost with its node or worker starts again on another
node; it leaves a row only if it is lost in every attempt. A worker that was given up may still
store its run: then that is the run of the attempt, and the one of the other node is left out.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from planner.runs import Row
from planner.store.disk.sweeps import NodeState, NodeStatus, Storer
from runners.cluster import nodes as cluster_nodes
from runners.cluster.connection import Loss, Ref
from runners.cluster.nodes import Facts, Node, SweepTerms, capable, has_room, request
from runners.cluster.storing import Stored, WithheldText
from runners.machine import environment
from runners.plan.cases import Case
from runners.process.supervise import Ended, Stopped
from runners.sweep.rows import Destination, Done, worth_another_try
from runners.sweep.sweep import Journal, count, saved

POLL_S: Final = 0.2
"""Longest wait for the end of a task before the loop goes on [s]."""
NODES_S: Final = 2.0
"""Interval between two lists of the nodes [s]."""
REPORT_S: Final = 120.0
"""Time limit for the first reports of all nodes [s]; a large image may load slowly."""
REPORTS: Final = 5
"""Most reports of a node that may be lost before it counts as unusable."""
JOIN_S: Final = 60.0
"""Wait for a node that can measure what is left, while nothing else runs [s]."""
_NICE: Final = (
    "its runs have niceness {}, so other programs slow them. Set RAY_worker_niceness=0 before "
    "`ray start`."
)


class Tasks(Protocol):
    """Tasks on the nodes of a cluster (`runners.cluster.connection.Cluster`)."""

    def nodes(self) -> dict[str, Node]:
        """Return the living nodes that can measure, by id."""

    def submit(
        self,
        node_id: str,
        function: Callable[..., Any],
        arguments: Sequence[Any],
        resources: Mapping[str, float],
    ) -> Ref:
        """Start a task on a node with these resources."""

    def ended(self, tasks: Sequence[Ref], timeout_s: float) -> list[Ref]:
        """Return the tasks that have ended."""

    def result(self, task: Ref) -> Any:  # noqa: ANN401 - of any task
        """Return the result of an ended task, or its `Loss`."""

    def cancel(self, tasks: Sequence[Ref]) -> None:
        """Interrupt tasks."""

    def secret(self, text: str) -> WithheldText:
        """Return a text that tasks can read and that is no argument of theirs."""

    def board(self) -> Any:  # noqa: ANN401 - an actor
        """Return what runs report their epochs to."""

    def heard(self) -> dict[str, int]:
        """Return the last epoch of each case that has reported since the last call."""


class NoNodeError(RuntimeError):
    """No node is left that can measure the rest; the message names what is needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """Callbacks: on each row with its node's name, and on events of nodes, as sentences."""

    on_row: Callable[[Row, Case, str], None] = lambda *_: None
    on_node: Callable[[str], None] = lambda _: None
    stop: Callable[[], bool] = lambda: False


# -- nodes -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class Roster:
    """The nodes of a sweep: ready ones, those that cannot measure, lost ones."""

    cluster: Tasks
    pythons: Mapping[str, str]
    ready: dict[str, Node] = field(default_factory=dict)
    unusable: dict[str, tuple[Node, str]] = field(default_factory=dict)
    lost: dict[str, Node] = field(default_factory=dict)
    suspended: dict[str, Node] = field(default_factory=dict)
    """Nodes whose last run was lost; they report again before the next one."""
    reports: dict[Ref, Node] = field(default_factory=dict)
    lost_reports: Counter[str] = field(default_factory=Counter)
    _listed_s: float = float("-inf")

    def update(self, on_node: Callable[[str], None] = lambda _: None) -> None:
        """List the nodes if the last list is old, ask new ones for a report, and read reports."""
        now_s = time.perf_counter()
        if now_s - self._listed_s >= NODES_S:
            self._listed_s = now_s
            self._list(self.cluster.nodes(), on_node)
        for ref in self.cluster.ended(list(self.reports), 0.0):
            self._read(self.reports.pop(ref), self.cluster.result(ref), on_node)

    def suspend(self, node: Node) -> None:
        """Give a node no run until it has reported again: Ray notices a lost node late."""
        if self.ready.pop(node.node_id, None):
            self.suspended[node.node_id] = node

    def _list(self, living: Mapping[str, Node], on_node: Callable[[str], None]) -> None:
        for group in (self.ready, self.suspended):
            for node_id in group.keys() - living.keys():
                self.lost[node_id] = group.pop(node_id)
                on_node(f"{self.lost[node_id].name} is lost.")
        for node_id in self.unusable.keys() - living.keys():
            self.lost[node_id], _ = self.unusable.pop(node_id)
        reporting = {node.node_id for node in self.reports.values()}
        for node in living.values():
            if node.node_id not in {*self.ready, *self.unusable, *reporting}:
                ref = self.cluster.submit(
                    node.node_id, cluster_nodes.report, [dict(self.pythons)], {}
                )
                self.reports[ref] = node

    def _read(self, node: Node, report: Facts | Loss, on_node: Callable[[str], None]) -> None:
        reason = None
        if isinstance(report, Loss):
            self.lost_reports[node.node_id] += 1
            if not report.raised and self.lost_reports[node.node_id] < REPORTS:
                return  # with the next list, if the node is still there
            reason = report.reason
        elif not report.backends:
            reason = "no backend can be started there. Install TensorFlow or JAX beside Ray"
        if reason is not None:
            self.suspended.pop(node.node_id, None)
            self.unusable[node.node_id] = (node, reason)
            on_node(f"{node.name} cannot measure: {reason}.")
        elif isinstance(report, Facts):
            self.lost_reports.pop(node.node_id, None)
            self.ready[node.node_id] = replace(node, facts=report)
            if not self.suspended.pop(node.node_id, None):
                words = self.ready[node.node_id].words
                on_node(f"{node.name}: {words}, {', '.join(report.backends)}")
            if report.niceness > 0:
                on_node(f"{node.name}: {_NICE.format(report.niceness)}")

    def first_reports(
        self, on_node: Callable[[str], None], stop: Callable[[], bool]
    ) -> dict[str, Node]:
        """Return the nodes once all have reported; raise `Stopped` on a stop."""
        end_s = time.perf_counter() + REPORT_S
        self.update(on_node)
        while self.reports and time.perf_counter() < end_s:
            if stop():
                raise Stopped
            self.cluster.ended(list(self.reports), POLL_S)
            self.update(on_node)
        return self.ready


# -- runs ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Flight:
    """A case that is being measured."""

    case: Case
    node: Node
    needed: Mapping[str, float]
    began_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """A sweep over a cluster: what to measure, on which terms, where rows go."""

    cases: Sequence[Case]
    done: Done
    terms: SweepTerms
    destination: Destination
    attempts: int = 3
    join_s: float = JOIN_S
    acknowledged: Callable[[Row], None] = lambda _: None
    """Called on each row that the app has taken from its node."""


def run(sweep: Sweep, roster: Roster, book: Journal, listener: Listener) -> list[Row]:
    """Measure every case without a final row on the cluster; return the new rows.

    Raises:
        Stopped: on a stop; the tasks have ended and finished runs are stored.
        NoNodeError: no node that can measure the rest has joined in time.
        CommitError: the disk refuses a row; a resume continues.
    """
    left = [c for c in sweep.cases if not sweep.done.settled(c, sweep.attempts)]
    tries = {c.case_id: list(sweep.done.attempts_left(c, sweep.attempts)) for c in left}
    course = _Course(sweep=sweep, roster=roster, book=book, listener=listener, tries=tries)
    course.waiting = [course.next_attempt(c) for c in left]
    count(book, sweep.cases, sweep.done, sweep.attempts, len(left))
    try:
        while course.waiting or course.flying:
            course.turn()
    finally:
        roster.cluster.cancel(list(course.flying))
        course.flying.clear()
        course.report()
    return course.made


@dataclass(slots=True, kw_only=True)
class _Course:
    """A sweep that is being measured."""

    sweep: Sweep
    roster: Roster
    book: Journal
    listener: Listener
    tries: dict[str, list[int]]
    """Numbers of further attempts by case."""
    waiting: list[Case] = field(default_factory=list)
    """In their order, with the number of their next attempt."""
    flying: dict[Ref, _Flight] = field(default_factory=dict)
    losses: Counter[str] = field(default_factory=Counter)
    """Lost attempts by case."""
    finished: Counter[str] = field(default_factory=Counter)
    """Runs with a row, by node."""
    stored_by: dict[str, Storer] = field(default_factory=dict)
    """Who stored the last run of a node."""
    epochs: dict[str, int] = field(default_factory=dict)
    """Last finished epoch of each case that is being measured."""
    made: list[Row] = field(default_factory=list)
    idle_since_s: float | None = None

    def next_attempt(self, case: Case) -> Case:
        """Return the case with the number of its next attempt, which is used up."""
        return replace(case, attempt=self.tries[case.case_id].pop(0))

    def turn(self) -> None:
        """Start what can start, and store what has ended."""
        if self.listener.stop():
            raise Stopped
        self.roster.update(self.listener.on_node)
        self._place()
        self.epochs.update(self.roster.cluster.heard())
        self.report()
        self._check_hope()
        if not self.flying:
            time.sleep(POLL_S)
        for ref in self.roster.cluster.ended(list(self.flying), POLL_S):
            flight = self.flying.pop(ref)
            stored = self._stored(flight, self.roster.cluster.result(ref))
            if stored is not None:
                self._settle(flight, stored)
        self.book.beat()

    def _place(self) -> None:
        """Start waiting cases in their order, as long as nodes are free."""
        used: dict[str, Counter[str]] = {node_id: Counter() for node_id in self.roster.ready}
        for flight in self.flying.values():
            used.setdefault(flight.node.node_id, Counter()).update(flight.needed)
        full: set[tuple[object, ...]] = set()
        kept: list[Case] = []
        for case in self.waiting:
            kind = (case.accelerator, case.device, case.devices, case.backend)
            node = None if kind in full else _free(case, self.roster.ready.values(), used)
            if node is None:
                full.add(kind)
                kept.append(case)
                continue
            self.sweep.terms.storage.witness.renew()
            needed = request(case, node)
            used[node.node_id].update(needed)
            arguments = [case, self.sweep.terms, self.roster.cluster.board()]
            self.epochs.pop(case.case_id, None)
            ref = self.roster.cluster.submit(
                node.node_id, cluster_nodes.measured, arguments, needed
            )
            self.flying[ref] = _Flight(case, node, needed, time.perf_counter())
        self.waiting = kept

    def _stored(self, flight: _Flight, result: Stored | Loss) -> Stored | None:
        """Return the run of an ended task; None if the case is to start again."""
        if not isinstance(result, Loss):
            return result
        case, node = flight.case, flight.node
        if not result.raised:
            self.roster.suspend(node)
        self.losses[case.case_id] += 1
        number = self.losses[case.case_id]
        reason = environment.clean(result.reason, {})
        self.listener.on_node(f"{case.words} on {node.name} was lost: {reason}")
        attempt = self.sweep.terms.storage.attempt_id(case)
        if (row := self.sweep.destination.run_of(attempt)) is not None:
            return Stored(row=row, by="node in folder")  # its node was lost after that
        if number < self.sweep.attempts:
            self.waiting.insert(0, case)
            return None
        assert node.facts is not None  # noqa: S101 - a run goes to a node that has reported
        ended = Ended(
            status="crashed" if result.raised else "killed",
            reason=f"lost with its node or worker in each of {number} attempts: {reason}",
            events=(),
            wall_s=time.perf_counter() - flight.began_s,
            peak_rss_bytes=0,
        )
        row = cluster_nodes.lost(case, self.sweep.terms, node.facts, ended, number)
        return Stored(row=row, by="start")

    def _settle(self, flight: _Flight, stored: Stored) -> None:
        """Count a run, stored here unless its node has done it; or try its case again."""
        if stored.by == "node in app":
            self.sweep.acknowledged(stored.row)
        row = saved(self.sweep.destination, stored.row, self.book.status)
        if not self.losses[flight.case.case_id]:  # else a worker may still be measuring it
            self.sweep.destination.release(self.sweep.terms.storage.attempt_id(flight.case))
        self.stored_by[flight.node.node_id] = stored.by
        self.made.append(row)
        self.finished[flight.node.node_id] += 1
        self.book.taken_s.append(time.perf_counter() - flight.began_s)
        self.listener.on_row(row, flight.case, flight.node.name)
        if worth_another_try(row) and self.tries[flight.case.case_id]:
            self.waiting.insert(0, self.next_attempt(flight.case))
            return
        status = self.book.status
        self.book.update(
            finished=status.finished + 1, failed=status.failed + (row["status"] != "ok")
        )

    def _check_hope(self) -> None:
        """Raise NoNodeError if no node has been able to measure the rest for a while."""
        if self.flying or self.roster.reports or not self.waiting:
            self.idle_since_s = None
            return
        now_s = time.perf_counter()
        self.idle_since_s = now_s if self.idle_since_s is None else self.idle_since_s
        if now_s - self.idle_since_s > self.sweep.join_s:
            needed = ", ".join(sorted({cluster_nodes.needs(c) for c in self.waiting}))
            runs = f"{len(self.waiting)} run{'s' * (len(self.waiting) > 1)}"
            raise NoNodeError(
                f"No node is left for {runs} on {needed}. Start a node that has it, then continue"
            )

    def report(self) -> None:
        """Report what runs where, if it has changed."""
        flights = list(self.flying.values())
        alone = flights[0].case if len(flights) == 1 else None
        current = alone.words if alone else f"{len(flights)} runs"
        waits = self.waiting and not flights and not self.roster.reports
        changes: dict[str, Any] = {
            "nodes": tuple(self._statuses()),
            "current": current if flights else None,
            "current_epoch": self.epochs.get(alone.case_id) if alone else None,
            "current_epochs": alone.epochs if alone else None,
            "message": "waits for a node that can measure the rest" if waits else None,
        }
        if any(getattr(self.book.status, name) != value for name, value in changes.items()):
            self.book.update(**changes, left_s=self._left_s())

    def _words(self, case: Case) -> str:
        """Return a case that is being measured in words, with its last epoch if it has one."""
        epoch = self.epochs.get(case.case_id)
        return f"{case.words}, epoch {epoch} of {case.epochs}" if epoch else case.words

    def _left_s(self) -> float | None:
        """Return the time left [s], with as many runs at once as now; None before the first."""
        left_s = self.book.left_s(len(self.waiting) + len(self.flying))
        return None if left_s is None else left_s / max(1, len(self.flying))

    def _statuses(self) -> Iterable[NodeStatus]:
        """Yield the nodes by name, with their runs."""
        runs: dict[str, list[str]] = {}
        for flight in self.flying.values():
            runs.setdefault(flight.node.node_id, []).append(self._words(flight.case))
        roster = self.roster
        reasons = {node_id: reason for node_id, (_, reason) in roster.unusable.items()}
        nodes = {**roster.ready, **roster.suspended, **roster.lost}
        nodes |= {node_id: node for node_id, (node, _) in roster.unusable.items()}
        for node in sorted(nodes.values(), key=lambda node: node.name):
            now = tuple(sorted(runs.get(node.node_id, ())))
            reason = reasons.get(node.node_id)
            gone = node.node_id in roster.lost or node.node_id in roster.suspended
            there: NodeState = "running" if now else "lost" if gone else "free"
            yield NodeStatus(
                name=node.name,
                accelerators=node.typed,
                system=node.system,
                runs=now,
                finished=self.finished[node.node_id],
                state="unusable" if reason else there,
                message=reason,
                stored_by=self.stored_by.get(node.node_id, ""),
            )


def _free(
    case: Case, nodes: Iterable[Node], used: Mapping[str, Mapping[str, float]]
) -> Node | None:
    """Return the node with room for a case that is least in use; None if all are full."""
    free = [n for n in nodes if capable(case, n) and has_room(request(case, n), n, used[n.node_id])]
    return min(free, key=lambda n: sum(used[n.node_id].values()), default=None)
