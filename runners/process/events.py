"""Events of a measuring child: one JSON object per line, on its own pipe.

    imported  versions of Python, the framework, Keras; device facts from the framework
    built     params, dataset sha256, samples of both splits, synthetic; before training
    training  pre_train_s: just before the first step; energy counts from here
    epoch     epoch, epoch_s, validation_s, samples, loss, metric, step_seconds: after each epoch
    timed     all epochs are timed: the run is measured, energy no longer counts
    trained   peak_memory_bytes, its method, step quantiles
    rows      rows: run columns of several trials (steps to target)
    result    columns: the remaining columns (FLOPs, GEMM ...), last
    failed    status (oom, nan, crashed or peer_lost) and reason, in place of later events

Times in s. Events before a crash are kept in the row of the failed run.
"""

import json
import math
import os
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

FD: Final = "EPOCHWISE_EVENTS_FD"
"""Environment variable: file descriptor of the pipe for events."""

Event = dict[str, Any]


class EventWriter:
    """Writes events to the pipe; in a child started by hand, to standard output."""

    def __init__(self, fd: int | None = None) -> None:
        number = os.environ.get(FD)
        self._fd = fd if fd is not None else int(number) if number else 1

    def send(self, event: str, **fields: Any) -> None:  # noqa: ANN401 - any JSON
        """Send one event whole."""
        data = (json.dumps({"event": event, **fields}) + "\n").encode()
        while data:
            data = data[os.write(self._fd, data) :]


def parse(line: bytes) -> Event | None:
    """Return the event of one line; None if it is invalid (a dying child may cut a line).

    An event without its required fields is invalid too, as no later code checks them.
    """
    try:
        body = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) and _is_sound(body) else None


def _is_sound(event: Event) -> bool:
    """Return whether the event is one of the above and has its required fields."""
    name = event.get("event")
    if not isinstance(name, str) or name not in _NEEDS:
        return False
    needed = all(holds(event.get(field)) for field, holds in _NEEDS[name].items())
    return needed and all(isinstance(event.get(field, {}), dict) for field in ("columns", "extra"))


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _number(value: object) -> bool:
    """Return whether it is a number, finite or not: a NaN loss is a valid value."""
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
            "status": lambda value: value in ("oom", "nan", "crashed", "peer_lost"),
            "reason": lambda value: isinstance(value, str) and bool(value.strip()),
        },
    }
)
"""Required fields of each event, with tests of their values."""
