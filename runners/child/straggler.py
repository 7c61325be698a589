"""Uneven workers on purpose: one that is stopped a share of the time, or all that wait at random.

`begin_stopping` makes the last worker of a run slow under every launcher: a helper process stops
and continues it by signals, as other load of a machine would. `waiting` puts a wait of random
length before each step, as steps of uneven data would.
"""

import contextlib
import ctypes
import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

PERIOD_S: Final = 0.02
"""Period of a slow worker [s]: shorter than most steps, longer than a switch of processes."""
_PR_SET_PDEATHSIG: Final = 1


def is_last(config: str | None) -> bool:
    """Return whether TF_CONFIG names the last of several workers."""
    if not config:
        return False
    body = json.loads(config)
    count = len(body["cluster"]["worker"])
    return count > 1 and body["task"] == {"type": "worker", "index": count - 1}


def begin_stopping(share: float) -> None:
    """Let a helper stop this process for a share of the time, if it is the last worker.

    Call it before other threads exist. The helper ends with this process.
    """
    if not share or not is_last(os.environ.get("TF_CONFIG")):
        return
    worker = os.getpid()
    if os.fork():
        return
    try:
        _stop(worker, share)
    finally:
        os._exit(0)


def _stop(worker: int, share: float) -> None:
    """Stop and continue a process until it is gone; the pipes of a run are not kept open."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    os.closerange(0, 1024)
    with contextlib.suppress(ProcessLookupError):
        while os.getppid() == worker:
            os.kill(worker, signal.SIGSTOP)
            time.sleep(PERIOD_S * share)
            os.kill(worker, signal.SIGCONT)
            time.sleep(PERIOD_S * (1.0 - share))


def waiting(
    calls: Sequence[Callable[[], Any]], mean_s: float, sd_s: float, seed: int
) -> tuple[Callable[[], Any], ...]:
    """Return the calls, each after a wait from a normal distribution of this mean and sd [s].

    Waits below 0 are none. Every worker needs a seed of its own.
    """
    drawn = random.Random(seed)  # noqa: S311 - no secret

    def after_wait(call: Callable[[], Any]) -> Callable[[], Any]:
        def waited() -> Any:  # noqa: ANN401 - a handle of the framework
            time.sleep(max(drawn.gauss(mean_s, sd_s), 0.0))
            return call()

        return waited

    return tuple(after_wait(call) for call in calls)
