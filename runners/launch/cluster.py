"""Parts of the launchers whose cluster places the workers: Ray, Spark and Slurm."""

import contextlib
import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from planner.core import Text
from runners.launch import PLACE
from runners.launch.worker import SIGNALS, start_line
from runners.process.events import EventWriter, parse

WORKER: Final = Path(__file__).parent / "worker.py"
_MARK: Final = "epochwise-failure "
"""Before the JSON of a failure in the text of an error, which a cluster carries to its driver."""
_FAILURE: Final = re.compile(re.escape(_MARK) + r"(\{.*?\})(?=\s|$|'|\\n)")


class WorkerError(RuntimeError):
    """A worker ended early; the text carries status and reason through the cluster."""

    def __init__(self, status: str, reason: str) -> None:
        # Without blanks and quotes inside: clusters wrap the text of an error and quote it.
        body = json.dumps(
            {"status": status, "reason": reason.encode().hex()}, separators=(",", ":")
        )
        super().__init__(f"{_MARK}{body}")


def failure_in(text: str) -> tuple[str, str] | None:
    """Return status and reason of the first `WorkerError` in the text of an error."""
    match = _FAILURE.search(text)
    if not match:
        return None
    body = json.loads(match[1])
    return str(body["status"]), bytes.fromhex(body["reason"]).decode(errors="replace")


def free_port() -> int:
    """Return a free port of this host; another program may take it before its use."""
    with socket.socket() as held:
        held.bind(("", 0))
        return int(held.getsockname()[1])


def variables(launch: str, addresses: Sequence[str], index: int) -> dict[str, str]:
    """Return TF_CONFIG and the placement of a worker; nodes are the distinct hosts.

    Raises:
        ValueError: the workers are spread unevenly, which rows cannot state.
    """
    nodes = len({address.rpartition(":")[0] for address in addresses})
    if len(addresses) % nodes:
        count = len(addresses)
        raise ValueError(Text("{count} workers are spread unevenly over {nodes} nodes.",
                              count=count, nodes=nodes))  # fmt: skip
    task = {"type": "worker", "index": index}
    place = {"launch": launch, "nodes": nodes, "per_node": len(addresses) // nodes}
    config = {"cluster": {"worker": list(addresses)}, "task": task}
    return {"TF_CONFIG": json.dumps(config), PLACE: json.dumps(place)}


def events_of(command: Sequence[str], variables: Mapping[str, str], request: str) -> bytes:
    """Run a worker on this host and return its events once it has ended.

    It ends with this process, whose end closes its standard input.

    Raises:
        WorkerError: it ended early.
    """
    with subprocess.Popen(
        [sys.executable, "-I", "-S", str(WORKER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        if process.stdin is None or process.stdout is None:
            raise WorkerError("crashed", "the worker has no pipes")
        try:
            process.stdin.write(start_line(list(command), variables, request))
            process.stdin.flush()
            events = process.stdout.read()
            code = process.wait()
        finally:
            process.kill()
    if code:
        raise _error(code, events, json.loads(variables["TF_CONFIG"]))
    return events


def _error(code: int, events: bytes, config: Mapping[str, Any]) -> WorkerError:
    for event in map(parse, events.splitlines()):
        if event and event["event"] == "failed":
            return WorkerError(str(event["status"]), str(event["reason"]))
    name, count = f"worker {config['task']['index']}", len(config["cluster"]["worker"])
    how = ending(code, behind_prefix=True)
    return WorkerError("peer_lost", peer_lost(name, count, how))


def ending(code: int, *, behind_prefix: bool) -> str:
    """Return how a process ended: the name of its signal, or its exit code."""
    number = code - SIGNALS if behind_prefix and code > SIGNALS else -code
    with contextlib.suppress(ValueError):
        if number > 0:
            return signal.Signals(number).name
    return Text("exit code {code}", code=code)


def peer_lost(worker: str, count: int, how: str) -> Text:
    """Return the reason of a run that ended with one of its `count` processes."""
    return Text("{worker} of {count} ended: {how}", worker=worker, count=count, how=how)


def report_start(seconds: float) -> None:
    """Send how long the cluster took to accept work [s]."""
    EventWriter().send("imported", extra={"cluster_start_s": round(seconds, 3)})


def report(events: bytes) -> None:
    """Send the events of the first worker."""
    writer = EventWriter()
    for event in filter(None, map(parse, events.splitlines())):
        name = event.pop("event")
        writer.send(name, **event)


def report_failure(error: Exception) -> int:
    """Send the failure that an error of the cluster carries, and return the exit code."""
    status, reason = failure_in(str(error)) or ("crashed", f"{type(error).__name__}: {error}")
    EventWriter().send("failed", status=status, reason=reason)
    return 1
