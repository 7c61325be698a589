"""The real app as a child process on a port of its own; ended by its own process id."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from planner.store.disk.folders import SHIPPED
from tests.fork_server import executable

ROOT: Final = Path(__file__).parent.parent.parent
_PATIENCE_S: Final = 300.0
"""Far above what a start takes on a busy machine: a hang is a failure."""


Serve = Callable[[int], Sequence[str]]
"""The module that serves the app, with its arguments, on a port."""


def streamlit(*further: str, script: str = "app.py") -> Serve:
    """As `make app` starts it."""
    return lambda port: [
        "streamlit", "run", script, "--server.port", str(port),
        "--server.address", "127.0.0.1", "--server.headless", "true", *further,
    ]  # fmt: skip


def uvicorn(*further: str) -> Serve:
    """As those start it who put it behind other things."""
    return lambda port: ["uvicorn", "app:app", "--port", str(port), *further]


@contextmanager
def served(
    results: Path,
    serve: Serve | None = None,
    *,
    further: Path | None = None,
    settings: Mapping[str, str] | None = None,
    fresh: bool = False,
) -> Iterator[str]:
    """The app's address, with `results` as the person's own folder instead of theirs.

    What its sweeps do is told in the folder `state` beside it. `settings` are further variables
    of the server's environment. `fresh` starts a Python that has imported nothing, as `make app`
    does: for figures.
    """
    port = free_port()
    log = results.parent / f"{results.name}-server-{port}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable if fresh else executable("app"), "-m", *(serve or streamlit())(port)],
            cwd=ROOT,
            env=_environment(results, further) | dict(settings or {}),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        _wait(port, process, log)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        said = log.read_text(errors="replace")
        if "Traceback" in said:  # pages do not tell; a failed test shows it
            sys.stderr.write(said[-4000:])


def _environment(results: Path, further: Path | None) -> dict[str, str]:
    """This process' environment without anybody's own Epochwise settings."""
    kept = {
        k: v
        for k, v in os.environ.items()
        if k == SHIPPED or not k.startswith(("EPOCHWISE_", "STREAMLIT_"))
    }
    names = {"STATE": "state", "CATALOG": "catalog", "SAVED": "saved"}
    mine = {f"EPOCHWISE_{name}": str(results.parent / place) for name, place in names.items()}
    mine["EPOCHWISE_RESULTS"] = str(results)
    if further is not None:
        mine["EPOCHWISE_FURTHER_RESULTS"] = str(further)
    return kept | mine


def free_port() -> int:
    """Return a free port of this machine."""
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return int(asked.getsockname()[1])


def _wait(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    """Until the server says ok; its own words where it does not."""
    end = time.monotonic() + _PATIENCE_S
    while process.poll() is None and time.monotonic() < end:
        if _healthy(port):
            return
        time.sleep(0.1)
    said = log.read_text(errors="replace")[-2000:]
    raise RuntimeError(f"The app did not start on port {port}. It said:\n{said}")


def _healthy(port: int) -> bool:
    asked = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        asked.request("GET", "/_stcore/health")
        return asked.getresponse().read() == b"ok"
    except (OSError, http.client.HTTPException):
        return False
    finally:
        asked.close()
