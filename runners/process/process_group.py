"""The process group that a child's guard leads: whether the guard has ended, and the end of all."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from typing import Final

_GONE_S: Final = 10.0
"""How long the killed are waited for at most [s]."""


def gone(child: subprocess.Popen[bytes]) -> bool:
    """Whether the guard has ended; it is not reaped yet, so its id stays its own."""
    if child.returncode is not None or not hasattr(os, "waitid"):
        return child.poll() is not None
    return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def kill_group(child: subprocess.Popen[bytes]) -> None:
    """Kill whatever is left of the group the guard leads, reap the guard, and wait for the rest.

    The guard is not reaped before, so its id cannot have been given to somebody else's group. What
    was killed holds its memory until the kernel has taken it back; the next run must not meet it.
    """
    if child.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    end_s = time.perf_counter() + _GONE_S
    while _left(child.pid) and time.perf_counter() < end_s:
        time.sleep(0.01)


def _left(group: int) -> bool:
    """Whether a process group still has members."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return False  # the id is somebody else's by now
    return True
