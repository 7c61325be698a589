"""Nodes of a cluster: what they declare and can measure, what a run requests, what runs there."""

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from planner.runs import Row
from planner.store.disk.sweeps import Turn, state_folder
from runners.cluster.storing import Storage, Stored, store
from runners.machine import facts as machine
from runners.machine.identity import machine_id
from runners.plan.cases import Case, Device
from runners.plan.expand import Host
from runners.plan.host import detect, pythons
from runners.process.events import Event
from runners.process.supervise import Ended
from runners.sweep import rows
from runners.sweep.measure import CHILD, Bench, Hooks, measure

DECLARED: Final = "accelerator:"
"""Start of the resources that a node declares: `accelerator:v100` with its count."""
DETECTED: Final = "accelerator_type:"
"""Start of the resources by which Ray names NVIDIA GPUs that it finds; their value is 1."""
_SOME: Final = 0.001
"""Requested share of a detected accelerator type: the GPUs themselves are counted as GPU."""
_COUNTED: Final[Mapping[Device, str]] = {"cpu": "CPU", "gpu": "GPU", "tpu": "TPU"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a node reports of itself before it measures."""

    device: Device
    backends: tuple[str, ...]
    memory_bytes: int
    system: Mapping[str, Any]
    """System columns of its runs, for a run that leaves no row of its own."""
    niceness: int = 0
    """Above 0, its runs give way to other programs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node of the cluster and its resources, as Ray counts them."""

    node_id: str
    name: str
    resources: Mapping[str, float]
    facts: Facts | None = None
    """None until the node has reported."""

    @property
    def measures(self) -> bool:
        """Whether runs may go there; a node started with 0 CPUs and no accelerator has none."""
        return any(self.resources.get(name, 0.0) >= 1.0 for name in _COUNTED.values())

    @property
    def accelerators(self) -> dict[str, int]:
        """Accelerators by type in lower case; those that Ray detects unless others are declared."""
        counts = {
            name.removeprefix(DECLARED).lower(): int(count)
            for name, count in self.resources.items()
            if name.startswith(DECLARED) and count >= 1.0
        }
        gpus = int(self.resources.get("GPU", 0.0))
        detected = [n for n in self.resources if n.startswith(DETECTED)]
        return counts or {n.removeprefix(DETECTED).lower(): gpus for n in detected if gpus}

    @property
    def device(self) -> Device:
        """Its best device, of those that Ray can hand out."""
        if self.facts and self.resources.get(_COUNTED[self.facts.device], 0.0) >= 1.0:
            return self.facts.device
        return "cpu"

    @property
    def system(self) -> str:
        """Name of its system in results; empty until it has reported."""
        return str(self.facts.system["system_name"]) if self.facts else ""

    @property
    def typed(self) -> str:
        """Its accelerators in words, `8 x v100`; empty where none has a type."""
        return ", ".join(f"{count} x {name}" for name, count in sorted(self.accelerators.items()))

    @property
    def words(self) -> str:
        """Its accelerators in words; its system where none has a type."""
        return self.typed or self.system


def nodes_of(bodies: Iterable[Mapping[str, Any]]) -> dict[str, Node]:
    """Return the living nodes that can measure, by id, from `ray.nodes()`.

    A name is that of `ray start --node-name`, else of the host; equal names get a part of the id.
    """
    living = [b for b in bodies if b["Alive"]]
    names = {b["NodeID"]: _name(b) for b in living}
    uses = Counter(names.values())
    nodes = (
        Node(
            node_id=b["NodeID"],
            name=name if uses[name] == 1 else f"{name} ({b['NodeID'][:4]})",
            resources=b["Resources"],
        )
        for b in living
        for name in (names[b["NodeID"]],)
    )
    return {node.node_id: node for node in nodes if node.measures}


def _name(body: Mapping[str, Any]) -> str:
    stated = body.get("NodeName") or ""
    named = stated and stated != body["NodeManagerAddress"]
    return str(stated if named else body["NodeManagerHostname"])


# -- what the cluster can measure ------------------------------------------------------------------


def host_of(nodes: Sequence[Node]) -> Host:
    """Return the capabilities of the nodes, together and by accelerator type."""
    types = sorted({name for node in nodes for name in node.accelerators})
    by_type = {t: _together([n for n in nodes if t in n.accelerators]) for t in types}
    return replace(_together(nodes), accelerators=by_type)


def _together(nodes: Sequence[Node]) -> Host:
    """Return the best device of the nodes and their backends, those of all nodes first."""
    devices = {n.device for n in nodes}
    device: Device = next((d for d in ("gpu", "tpu") if d in devices), "cpu")
    reports = [n.facts for n in nodes if n.facts and n.device == device]
    every = list(dict.fromkeys(b for facts in reports for b in facts.backends))
    shared = [b for b in every if all(b in facts.backends for facts in reports)]
    return Host(
        device=device,
        backends=tuple(dict.fromkeys([*shared, *every])),
        memory_bytes=max((facts.memory_bytes for facts in reports), default=None),
        accelerators={},
    )


# -- what a run requests ---------------------------------------------------------------------------


def request(case: Case, node: Node) -> dict[str, float]:
    """Return the resources of a run on a node: its devices, or the whole node for a CPU run.

    A run on accelerators requests one CPU beside them, so no CPU run shares the node with it.
    """
    cpus = node.resources.get("CPU", 0.0)
    if case.device == "cpu":
        needed, count = {"CPU": max(cpus, 1.0)}, 1
    else:
        count = case.devices
        needed = {_COUNTED[case.device]: float(count), "CPU": min(cpus, 1.0)}
    return needed | _of_type(case.accelerator, node, count)


def _of_type(accelerator: str | None, node: Node, count: int) -> dict[str, float]:
    """Return the request of an accelerator type, under the name of the node's resource."""
    if accelerator is None:
        return {}
    names = {n.lower(): n for n in node.resources}
    declared, detected = f"{DECLARED}{accelerator}", f"{DETECTED}{accelerator}"
    if declared in names or detected not in names:
        return {names.get(declared, declared): float(count)}
    return {names[detected]: _SOME}


def capable(case: Case, node: Node) -> bool:
    """Return whether a free node can measure the case."""
    return (
        node.facts is not None
        and case.backend in node.facts.backends
        and case.device in {"cpu", node.device}
        and (case.accelerator is None or case.accelerator in node.accelerators)
        and has_room(request(case, node), node, {})
    )


def has_room(needed: Mapping[str, float], node: Node, used: Mapping[str, float]) -> bool:
    """Return whether the node has these resources beside those in use."""
    return all(
        used.get(name, 0.0) + amount <= node.resources.get(name, 0.0)
        for name, amount in needed.items()
    )


def unplaceable(cases: Iterable[Case], nodes: Sequence[Node]) -> list[str]:
    """Return a sentence for each kind of case that no node can measure."""
    kinds = {(c.accelerator, c.device, c.devices, c.backend): c for c in cases}
    return [
        f"No node can measure {case.words}: it needs {needs(case)}. The nodes have: {have(nodes)}."
        for case in kinds.values()
        if not any(capable(case, node) for node in nodes)
    ]


def needs(case: Case) -> str:
    """Return what a case needs of a node, in words: `2 GPU of type v100 with tensorflow`."""
    count = 1 if case.device == "cpu" else case.devices
    of_type = f" of type {case.accelerator}" if case.accelerator else ""
    return f"{count} {_COUNTED[case.device]}{of_type} with {case.backend}"


def have(nodes: Iterable[Node]) -> str:
    """Return the nodes with their devices and backends, in words."""
    return "; ".join(f"{node.name} {_had(node)}" for node in nodes) or "nothing"


def _had(node: Node) -> str:
    counted = [(name, node.resources.get(name, 0.0)) for name in _COUNTED.values()]
    parts = [f"{count:g} {name}" for name, count in counted if count]
    backends = ", ".join(node.facts.backends if node.facts else ()) or "no backend"
    typed = f" ({node.typed})" if node.typed else ""
    return f"{', '.join(parts)}{typed} with {backends}"


_POLL_S = 0.2


EPOCH_S: Final = 0.2
"""Shortest time between two reports of a run [s], as between two writes of a local sweep."""


class Board:
    """The last finished epoch of each case that is being measured; an actor of the cluster."""

    def __init__(self) -> None:
        self._epochs: dict[str, int] = {}

    def put(self, case_id: str, epoch: int) -> None:
        """Note the last epoch of a case."""
        self._epochs[case_id] = epoch

    def take(self) -> dict[str, int]:
        """Return what was noted since the last call."""
        taken, self._epochs = self._epochs, {}
        return taken


def reporting(case: Case, board: Any) -> Callable[[Event], None]:  # noqa: ANN401 - an actor
    """Return a callback that sends the epochs of a case to a board, at most every `EPOCH_S`."""
    sent_s = float("-inf")

    def on_event(event: Event) -> None:
        nonlocal sent_s
        now_s = time.perf_counter()
        if board is None or event["event"] != "epoch" or now_s - sent_s < EPOCH_S:
            return
        sent_s = now_s
        board.put.remote(case.case_id, int(event["epoch"]))

    return on_event


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepTerms:
    """What holds for all runs of a sweep; it is sent to the nodes."""

    result_set: str
    licence: str
    session_started_at: str
    git_describe: str | None
    """Version of the program that starts the sweep; the nodes run a copy of it."""
    pythons: Mapping[str, str]
    """Interpreter paths on the nodes by backend; empty for the one that runs Ray."""
    timeout_s: float
    memory_share: float
    storage: Storage
    memory_bytes: int | None = None
    child: tuple[str, ...] = CHILD


def report(named: Mapping[str, str]) -> Facts:
    """Return the facts of this node; `named` are interpreter paths by backend."""
    # Ray hides the GPUs from a task that requests none.
    environ = {k: v for k, v in os.environ.items() if k != "CUDA_VISIBLE_DEVICES"}
    host = detect(pythons(named, environ), environ)
    columns = machine.facts(host.device, devices=1)
    return Facts(
        niceness=usual_priority(),
        device=host.device,
        backends=host.backends,
        memory_bytes=int(columns["host_memory_bytes"]),
        system=columns,
    )


def usual_priority() -> int:
    """Return the niceness of this process, which is set to 0 where that is allowed.

    Ray starts its workers at 15: a run beside other programs would take longer than a local one.
    """
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, 0)
    return os.getpriority(os.PRIO_PROCESS, 0)


def measured(case: Case, terms: SweepTerms, board: Any = None) -> Stored:  # noqa: ANN401 - an actor
    """Measure a case in a fresh child as in a local sweep; store its row where that is possible.

    Its epochs are reported to the board. A sweep of this machine alone that measures now is waited
    for, and the other way round.
    """
    environ = dict(os.environ)
    state = state_folder(environ)
    bench = Bench(
        pythons=pythons(terms.pythons, environ),
        environ=environ,
        cache=state / "cache",
        timeout_s=terms.timeout_s,
        memory_share=terms.memory_share,
        memory_bytes=terms.memory_bytes,
        child=terms.child,
    )
    turn = Turn(state)
    niceness = usual_priority()
    try:
        while not turn.share():
            time.sleep(_POLL_S)
        row = measure(case, bench, terms.result_set, Hooks(on_event=reporting(case, board)))
    finally:
        turn.give_back()
    own = _with(row, niceness=niceness or None, attempt_id=terms.storage.attempt_id(case))
    return store({**own, **_columns(terms, state)}, terms.storage, state)


def _with(row: Row, **values: Any) -> Row:  # noqa: ANN401 - of JSON
    """Return the row with further values in `extra`; None is left out."""
    kept = {name: value for name, value in values.items() if value is not None}
    return {**row, "extra": json.dumps({**rows.extra_of(row), **kept}, sort_keys=True)}


def _columns(terms: SweepTerms, state: Path | None) -> Row:
    columns = {
        "licence": terms.licence,
        "session_started_at": terms.session_started_at,
        "machine_id": None if state is None else machine_id(state),
        "git_describe": terms.git_describe,
    }
    return {name: value for name, value in columns.items() if value is not None}


def lost(case: Case, terms: SweepTerms, facts: Facts, ended: Ended, attempts: int) -> Row:
    """Return the row of a case that left none in any of its attempts."""
    row = rows.row_of(
        case,
        ended,
        result_set=terms.result_set,
        recorded_at=datetime.now(UTC),
        facts=facts.system,
        around={},
    )
    own = _with(row, lost_attempts=attempts, attempt_id=terms.storage.attempt_id(case))
    return {**own, **_columns(terms, None)}
