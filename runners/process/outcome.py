"""How a run ended, and why: from its events, its exit and its last output."""

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
    told: Sequence[Event],
    returncode: int,
    verdict: tuple[Status, str] | None,
    output: str,
    *,
    short_of_memory: bool = False,
) -> tuple[Status, str | None]:
    """How a run ended, and why: from what it told, its exit, our own verdict, its last output.

    A run whose epochs were all timed is measured, whatever happens while FLOPs are counted or the
    interpreter closes down. `short_of_memory` says that the kernel killed somebody meanwhile.
    """
    if any(e["event"] in {"timed", "result"} for e in told):
        return "ok", None
    if verdict:
        return verdict
    if failed := next((e for e in told if e["event"] == "failed"), None):
        return failed["status"], str(failed["reason"])
    return _from_exit(returncode, output, short_of_memory=short_of_memory)


def _from_exit(returncode: int, output: str, *, short_of_memory: bool) -> tuple[Status, str]:
    """The end of a child that said nothing of it: by its exit code or signal and its last lines.

    Earlier output proves nothing: allocators tell of memory they then found elsewhere.
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
    """Processes the kernel has killed for want of memory since it started; 0 where not told."""
    with contextlib.suppress(OSError, ValueError):
        for line in vmstat.read_text(encoding="ascii").splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


def _signal_name(number: int) -> str:
    """SIGSEGV for 11; real-time signals have no names."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
