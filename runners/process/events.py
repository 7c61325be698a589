"""Events of a measuring child: one JSON object a line, on a pipe of its own.

    imported  versions of Python, the framework, Keras; device facts only the framework knows
    built     params, dataset sha256, samples of both splits, synthetic; training comes next
    training  pre_train_s: the first step is next, from here on energy counts
    epoch     epoch, epoch_s, validation_s, samples, loss, metric, step_seconds: after each epoch
    timed     all epochs have been timed: the run is measured, energy no longer counts
    trained   peak_memory_bytes, its method, step quantiles
    rows      rows: run columns to keep, many at once (steps to target)
    result    columns: whatever else the row holds (FLOPs, GEMM ...), last
    failed    status (oom, nan or crashed) and reason, instead of what did not happen

Times in s. Whatever arrived before a child died is kept in the row of its failure.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

FD: Final = "EPOCHWISE_EVENTS_FD"
"""Environment variable with the number of the pipe the child writes events to."""

Event = dict[str, Any]


class Teller:
    """Writes events to the pipe; without a pipe (a child started by hand) to standard output."""

    def __init__(self, fd: int | None = None) -> None:
        told = os.environ.get(FD)
        self._fd = fd if fd is not None else int(told) if told else 1

    def tell(self, event: str, **fields: Any) -> None:  # noqa: ANN401 - any JSON
        """Send one event whole."""
        data = (json.dumps({"event": event, **fields}) + "\n").encode()
        while data:
            data = data[os.write(self._fd, data) :]


def parse(line: bytes) -> Event | None:
    """The event of one line; None for a line that is none (a dying child may cut one).

    An event that lacks what it must say is none either: nobody after this looks again.
    """
    try:
        body = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) and _is_sound(body) else None


def _is_sound(event: Event) -> bool:
    """Whether it is one of the events above, with every field that others will read."""
    name = event.get("event")
    if not isinstance(name, str) or name not in _NEEDS:
        return False
    needed = all(holds(event.get(field)) for field, holds in _NEEDS[name].items())
    return needed and all(isinstance(event.get(field, {}), dict) for field in ("columns", "extra"))


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _number(value: object) -> bool:
    """Also what is not finite: a lost loss is a fact."""
    return isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**63)


def _seconds(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and _finite(value)


def _finite(value: float) -> bool:
    return _number(value) and math.isfinite(value) and value >= 0


def _or_nothing(holds: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or holds(value)


def _rows(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(row, dict) for row in value)


Needs = Mapping[str, Callable[[object], bool]]
_NEEDS: Final[Mapping[str, Needs]] = MappingProxyType(
    {
        "imported": {},
        "built": {},
        "training": {},
        "epoch": {
            "epoch": _whole,
            "epoch_s": _seconds,
            "validation_s": _or_nothing(_seconds),
            "samples": _whole,
            "loss": _or_nothing(_number),
            "metric": _or_nothing(_number),
        },
        "timed": {},
        "trained": {},
        "rows": {"rows": _rows},
        "result": {},
        "failed": {
            "status": lambda value: value in ("oom", "nan", "crashed"),
            "reason": lambda value: isinstance(value, str) and bool(value.strip()),
        },
    }
)
"""Fields that events must have, and what these may hold."""
