"""Shares of a step that compute, communication and input take, from TensorFlow's profiler.

The profiler records when each operation of the traced steps runs, on every thread. A moment in
which any operation computes counts as compute, whatever runs beside it; of the rest, a moment with
a collective operation or a copy between devices counts as communication, and one that waits for the
next batch as input. What is left is the host's own work between operations.

The steps are traced after the timed epochs, because tracing slows them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import tensorflow as tf

TRACED: Final = 5
"""Calls that are traced."""
COMMUNICATION: Final = ("Collective", "Nccl", "_Send", "_Recv", "_HostSend", "_HostRecv")
INPUT: Final = ("IteratorGetNext", "MultiDeviceIterator", "OptionalGetValue")
"""Beginnings of types of operations."""
Interval = tuple[float, float]
"""Beginning and end of an operation, in one unit."""


def measured(
    calls: Sequence[Callable[[], Any]], arrived: Callable[[Any], float], *, traced: bool
) -> dict[str, float]:
    """Return the shares of a step as entries of `extra`; empty where the profiler gives none.

    Every worker of a run must make the same calls; only the first one is `traced`.
    """
    if not traced:
        for call in calls[:TRACED]:
            arrived(call())
        return {}
    with tempfile.TemporaryDirectory() as folder:
        try:
            tf.profiler.experimental.start(folder)
        except tf.errors.OpError:
            return {}
        try:
            for call in calls[:TRACED]:
                arrived(call())
        finally:
            tf.profiler.experimental.stop()
        return _shares(Path(folder))


def shares_of(
    compute: Iterable[Interval], communication: Iterable[Interval], input_: Iterable[Interval]
) -> dict[str, float]:
    """Return the shares of the time between the first beginning and the last end."""
    kinds = [list(compute), list(communication), list(input_)]
    every = [interval for kind in kinds for interval in kind]
    if not every:
        return {}
    whole = max(end for _, end in every) - min(begin for begin, _ in every)
    if whole <= 0.0:
        return {}
    seen: list[Interval] = []
    shares = []
    for kind in kinds:
        before = _length(seen)
        seen = [*seen, *kind]
        shares.append((_length(seen) - before) / whole)
    names = ("compute_share", "communication_share", "input_share")
    return {name: round(share, 4) for name, share in zip(names, shares, strict=True)}


def _length(intervals: Iterable[Interval]) -> float:
    """Return the time that at least one of the intervals covers."""
    total, reached = 0.0, float("-inf")
    for begin, end in sorted(intervals):
        total += max(end - max(begin, reached), 0.0)
        reached = max(reached, end)
    return total


def _shares(folder: Path) -> dict[str, float]:
    """Return the shares in a trace; the module that reads it is private, so it may be missing."""
    try:
        from tensorflow.tsl.profiler.protobuf import xplane_pb2
    except ImportError:
        return {}
    kinds: tuple[list[Interval], list[Interval], list[Interval]] = ([], [], [])
    for path in folder.rglob("*.xplane.pb"):
        space = xplane_pb2.XSpace()
        space.ParseFromString(path.read_bytes())
        for plane in space.planes:
            for line in plane.lines:
                begin_ps = 1000.0 * line.timestamp_ns
                for event in line.events:
                    name = plane.event_metadata[event.metadata_id].name
                    place = _kind(name, device=plane.name.startswith("/device:"))
                    if place is not None:
                        at = begin_ps + event.offset_ps
                        kinds[place].append((at, at + event.duration_ps))
    return shares_of(*kinds)


def _kind(name: str, *, device: bool) -> int | None:
    """Return 0 for compute, 1 for communication, 2 for input; None for what is no operation.

    Operations are named "place:Type"; on a GPU the names are those of kernels.
    """
    operation = name.rpartition(":")[2]
    if device:
        copies = name.startswith(("Memcpy", "nccl"))
        return 1 if copies else 0
    if ":" not in name or "::" in name or not operation.isidentifier():
        return None
    if operation.startswith(COMMUNICATION):
        return 1
    return 2 if operation.startswith(INPUT) else 0
