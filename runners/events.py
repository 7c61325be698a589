"""What a measuring child tells its supervisor: one JSON object a line, on a pipe of its own.

    imported  versions of Python, the framework, Keras; device facts only the framework knows
    built     params, dataset sha256, samples of both splits, synthetic; training comes next
    training  pre_train_s: the first step is next, from here on energy counts
    epoch     epoch, epoch_s, validation_s, samples, loss, metric: after each epoch
    trained   peak_memory_bytes, its method, step quantiles: energy no longer counts
    rows      rows: run columns to keep, many at once (steps to target)
    result    columns: whatever else the row holds (FLOPs, GEMM ...), last
    failed    status (oom, nan or crashed) and reason, instead of what did not happen

Times in s. Whatever arrived before a child died is kept in the row of its failure.
"""

from __future__ import annotations

import json
import os
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
    """The event of one line; None for a line that is none (a dying child may cut one)."""
    try:
        body = json.loads(line)
    except ValueError:
        return None
    return body if isinstance(body, dict) and isinstance(body.get("event"), str) else None
