"""Run one worker of a run on its host, and end it once the launcher is gone.

    python -I -S worker.py

The first line of standard input is a JSON object: `command` (arguments of this interpreter),
`environment` (settings) and `request` (text for the worker's standard input). Events leave by
standard output, all other output by standard error, so both pass through ssh. Standard input
stays open while the launcher lives. At its end the worker and its descendants are killed.

The worker gets the places of programs and libraries of this host, and the settings of the
launcher. Its pre-train time counts from its own start, as clocks of two hosts differ.
"""

import contextlib
import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
PLACES: Final = ("PATH", "HOME", "TMPDIR", "TZ", "LANG", "LC_", "LD_LIBRARY_PATH", "SSL_CERT_FILE",
                 "KERAS_HOME")  # fmt: skip
"""First letters of variables that belong to a host."""
POLL_S: Final = 0.1
_EVENTS: Final = "EPOCHWISE_EVENTS_FD"
SIGNALS: Final = 128
"""A shell adds it to the number of a signal that ended a program."""
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36


def settings(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that every worker gets from its launcher."""
    own = (*PLACES, _EVENTS, "PYTHONPATH", "SSH_AUTH_SOCK", "RAY_", "SPARK_", "PYSPARK_",
           "JAVA_HOME", "HADOOP_", "SLURM_")  # fmt: skip
    return {name: value for name, value in environ.items() if not name.startswith(own)}


def started_here(request: str, began_s: float) -> str:
    """Return the request with the start of the worker on the clock of this host [s]."""
    return json.dumps({**json.loads(request), "spawned_at_s": began_s})


def environment(environ: Mapping[str, str], variables: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of the worker on this host."""
    own = {name: value for name, value in environ.items() if name.startswith(PLACES)}
    return {**own, **variables, "PYTHONPATH": str(ROOT)}


def main() -> int:
    """Run the worker and return its exit code, 128 and more for a signal."""
    began_s = time.perf_counter()
    start = json.loads(_first_line(0))
    events = os.dup(1)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    worker = subprocess.Popen(
        [sys.executable, *start["command"]],
        stdin=subprocess.PIPE,
        stdout=2,
        env={**environment(os.environ, start["environment"]), _EVENTS: str(events)},
        cwd=ROOT,
        pass_fds=[events],
        preexec_fn=_end_with_parent,  # noqa: PLW1509 - this process has one thread
    )
    with contextlib.suppress(BrokenPipeError):  # a dead worker is noticed below
        if worker.stdin:
            worker.stdin.write(started_here(start["request"], began_s).encode())
            worker.stdin.close()
    while worker.poll() is None:
        if select.select([0], [], [], POLL_S)[0]:  # the launcher sends no more: this is its end
            worker.kill()
            worker.wait()
    _kill_rest()
    code = worker.returncode
    return code if code >= 0 else SIGNALS - code


def _first_line(descriptor: int) -> bytes:
    """Return the first line without reading on: what follows is the launcher's end."""
    line = b""
    while not line.endswith(b"\n"):
        data = os.read(descriptor, 1)
        if not data:
            break
        line += data
    return line


def _end_with_parent() -> None:
    """Let the kernel kill the worker if this process is killed (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _kill_rest() -> None:
    """Kill all descendants; orphans have become children of this process (Linux)."""
    own = os.getpid()
    children = Path(f"/proc/{own}/task/{own}/children")
    while True:
        try:
            left = [int(pid) for pid in children.read_text(encoding="ascii").split()]
        except OSError:
            return
        if not left:
            return
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in left:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)


def start_line(command: list[str], variables: Mapping[str, Any], request: str) -> bytes:
    """Return the first line that `main` reads."""
    start = {"command": command, "environment": dict(variables), "request": request}
    return json.dumps(start).encode() + b"\n"


if __name__ == "__main__":
    sys.exit(main())
