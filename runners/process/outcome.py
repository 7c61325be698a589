"""How a run ended and why, from its events, its exit and its last output."""

from __future__ import annotations

import contextlib
import re
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

from runners.process.events import Event

_LAST_LINES: Final = 5
_OUT_OF_MEMORY: Final = re.compile(
    r"bad_alloc|out of memory|resource[_ ]?exhausted|MemoryError|cannot allocate memory"
    r"|OOM when allocating",
    re.IGNORECASE,
)
Status = Literal["ok", "oom", "timeout", "nan", "killed", "crashed"]


def classify(
    events: Sequence[Event],
    returncode: int,
    verdict: tuple[Status, str] | None,
    output: str,
    *,
    short_of_memory: bool = False,
) -> tuple[Status, str | None]:
    """Return status and reason of a run from its events, exit, verdict and last output.

    A run whose epochs were all timed is measured, even if counting FLOPs or the interpreter's
    exit fails. `short_of_memory`: the kernel killed a process meanwhile.
    """
    if any(e["event"] in {"timed", "result"} for e in events):
        return "ok", None
    if verdict:
        return verdict
    if failed := next((e for e in events if e["event"] == "failed"), None):
        return failed["status"], str(failed["reason"])
    return _from_exit(returncode, output, short_of_memory=short_of_memory)


def _from_exit(returncode: int, output: str, *, short_of_memory: bool) -> tuple[Status, str]:
    """Return the end of a child without events, from its exit code or signal and last lines.

    Earlier output is ignored: allocators report shortages that they then resolve.
    """
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    last = lines[-1] if lines else "no output"
    how = f"exit code {returncode}" if returncode >= 0 else _signal_name(-returncode)
    if returncode == -signal.SIGKILL and short_of_memory:
        return "oom", f"{how} by the kernel, which was short of memory"
    if -returncode in {signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP}:
        return "killed", f"{how} from outside"
    if _OUT_OF_MEMORY.search("\n".join(lines[-_LAST_LINES:])):
        return "oom", f"{how}: {last}"
    return "crashed", f"{how}: {last}"


def kernel_kills(vmstat: Path = Path("/proc/vmstat")) -> int:
    """Return how many processes the kernel killed for lack of memory since boot; 0 if unknown."""
    with contextlib.suppress(OSError, ValueError):
        for line in vmstat.read_text(encoding="ascii").splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


def _signal_name(number: int) -> str:
    """Return the name of a signal, as SIGSEGV for 11; real-time signals have none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
