"""Nodes of a cluster: what they declare, what they can measure, what a run requests. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from runners.plan.cases import Case, Device
from runners.plan.expand import Host

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
        found = {
            name.removeprefix(DECLARED).lower(): int(count)
            for name, count in self.resources.items()
            if name.startswith(DECLARED) and count >= 1.0
        }
        gpus = int(self.resources.get("GPU", 0.0))
        detected = [n for n in self.resources if n.startswith(DETECTED)]
        return found or {n.removeprefix(DETECTED).lower(): gpus for n in detected if gpus}

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
    found = (
        Node(
            node_id=b["NodeID"],
            name=name if uses[name] == 1 else f"{name} ({b['NodeID'][:4]})",
            resources=b["Resources"],
        )
        for b in living
        for name in (names[b["NodeID"]],)
    )
    return {node.node_id: node for node in found if node.measures}


def _name(body: Mapping[str, Any]) -> str:
    given = body.get("NodeName") or ""
    named = given and given != body["NodeManagerAddress"]
    return str(given if named else body["NodeManagerHostname"])


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
