"""The process group of a child's guard: check whether the guard has ended, kill the group."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from typing import Final

_GONE_S: Final = 10.0
"""Time limit for killed processes to disappear [s]."""


def gone(child: subprocess.Popen[bytes]) -> bool:
    """Return whether the guard has ended; it is not reaped, so its id is not reused."""
    if child.returncode is not None or not hasattr(os, "waitid"):
        return child.poll() is not None
    return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def kill_group(child: subprocess.Popen[bytes]) -> None:
    """Kill the rest of the guard's group, reap the guard, and wait for the others.

    The guard is reaped only here, so its id cannot belong to another group. Killed processes
    hold memory until the kernel frees it; the next run must start after that.
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
    """Return whether a process group still has members."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return False  # the id belongs to another group by now
    return True
