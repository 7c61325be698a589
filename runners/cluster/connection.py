"""A connection to a Ray cluster: its nodes, and tasks that run on a given node.

The nodes get a copy of `planner/` and `runners/` of this machine, so all run the same version. Ray,
Keras and its backend are installed on each node.
"""

import contextlib
import hashlib
import io
import os
import signal
import socket
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from planner.core import Text, paragraph
from planner.store.disk.files import write_whole
from runners.cluster.nodes import Board, Node, nodes_of
from runners.process.supervise import ROOT

_SENT: Final = ("planner", "runners")
_REACH_S: Final = 5.0
"""Time limit for a connection to the cluster's address [s]."""
_END_S: Final = 15.0
"""Time limit for cancelled tasks to end their children [s]."""
_REASON: Final = 300
_AUTO: Final = "auto"
_START: Final = "Start one with `ray start --head` and give its address with --address HOST:PORT."

Ref = Any
"""A running task of Ray."""


class ClusterError(Exception):
    """A cluster that cannot be used; the message has the reason and the next step."""


@dataclass(frozen=True, slots=True)
class Loss:
    """A task that ended without a result: its node or worker was lost, or it raised an error."""

    reason: str
    raised: bool = False


@dataclass(frozen=True, slots=True)
class SharedText:
    """A text in Ray's object store: arguments, logs and the dashboard have its reference only."""

    ref: Ref

    def read(self) -> str:
        """Return the text, in a task of the process that made it."""
        return str(_ray().get(self.ref))


class Cluster:
    """The connection; `connected` opens it."""

    def __init__(self, ray: Any) -> None:  # noqa: ANN401 - Ray ships no types that hold
        self._ray = ray
        self._board: Any = None
        self._waiting: Any = None

    def board(self) -> Any:  # noqa: ANN401 - an actor of Ray
        """Return the actor that runs report to, on the node of this process; start it once."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        if self._board is None:
            here = self._ray.get_runtime_context().get_node_id()
            near = NodeAffinitySchedulingStrategy(here, soft=True)
            made = self._ray.remote(Board).options(num_cpus=0, scheduling_strategy=near)
            self._board = made.remote()
        return self._board

    def heard(self) -> dict[str, int]:
        """Return the last epoch of each case that has reported since the last call.

        It never waits. A board that is lost with its node is replaced; runs that report to it
        show no progress.
        """
        if self._waiting is None:
            self._waiting = self.board().take.remote()
        ready, _ = self._ray.wait([self._waiting], timeout=0)
        if not ready:
            return {}
        request, self._waiting = self._waiting, None
        try:
            return dict(self._ray.get(request))
        except self._ray.exceptions.RayError:
            self._board = None
            return {}

    def nodes(self) -> dict[str, Node]:
        """Return the living nodes that can measure, by id."""
        return nodes_of(self._ray.nodes())

    def submit(
        self,
        node_id: str,
        function: Callable[..., Any],
        arguments: Sequence[Any],
        resources: Mapping[str, float],
    ) -> Ref:
        """Start a task on a node with these resources. Ray does not retry it: the caller does."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        custom = {k: v for k, v in resources.items() if k not in {"CPU", "GPU"}}
        remote = self._ray.remote(function).options(
            num_cpus=resources.get("CPU", 0.0),
            num_gpus=resources.get("GPU", 0.0),
            resources=custom,
            max_retries=0,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node_id, soft=False),
        )
        return remote.remote(*arguments)

    def secret(self, text: str) -> SharedText:
        """Return a text that tasks can read and that is no argument of theirs."""
        return SharedText(self._ray.put(text))

    def ended(self, tasks: Sequence[Ref], timeout_s: float) -> list[Ref]:
        """Return the tasks that have ended; wait for the first one up to a time limit."""
        if not tasks:
            return []
        self._ray.wait(list(tasks), num_returns=1, timeout=timeout_s)
        ready, _ = self._ray.wait(list(tasks), num_returns=len(tasks), timeout=0)
        return list(ready)

    def result(self, task: Ref) -> Any:  # noqa: ANN401 - of any task
        """Return the result of an ended task, or its `Loss`."""
        errors = self._ray.exceptions
        try:
            return self._ray.get(task)
        except errors.RayTaskError as error:
            return Loss(f"{type(error.cause).__name__}: {error.cause}"[:_REASON], raised=True)
        except errors.RayError as error:
            return Loss(_first_line(error))

    def cancel(self, tasks: Sequence[Ref]) -> None:
        """Interrupt tasks and wait until their children have ended."""
        for task in tasks:
            with contextlib.suppress(self._ray.exceptions.RayError):
                self._ray.cancel(task)
        if tasks:
            self._ray.wait(list(tasks), num_returns=len(tasks), timeout=_END_S)


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)[:_REASON]


@contextmanager
def connected(address: str | None) -> Iterator[Cluster]:
    """Connect to the cluster at an address; None is RAY_ADDRESS, else that of this machine.

    Raises:
        ClusterError: Ray is not installed, or there is no cluster.
    """
    ray = _ray()
    address = address or os.environ.get("RAY_ADDRESS") or _AUTO
    address = _own_address() if address == _AUTO else address
    _check(address)
    try:
        with _interruptible(), tempfile.TemporaryDirectory(prefix="epochwise-") as folder:
            _init(ray, address, Path(folder))
        yield Cluster(ray)
    finally:
        ray.shutdown()


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end the process: Ray may wait in native code, where no handler runs.

    The handlers are set again afterwards; Ray sets one of its own.
    """
    handlers = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)}
    for number in handlers:
        signal.signal(number, signal.SIG_DFL)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _ray() -> Any:  # noqa: ANN401 - the module
    os.environ.setdefault("RAY_NUM_REDIS_GET_RETRIES", "2")  # 20 take 14 minutes
    try:
        import ray
    except ModuleNotFoundError as error:
        raise ClusterError(
            "Ray is not installed here. Install it: "
            ".venv/bin/python -m pip install -r requirements/ray.txt"
        ) from error
    return ray


def _init(ray: Any, address: str, folder: Path) -> None:  # noqa: ANN401 - the module
    code = archive()
    path = folder / f"epochwise-{hashlib.sha256(code).hexdigest()[:16]}.zip"
    write_whole(path, code)
    try:
        ray.init(
            address=address,
            logging_level="ERROR",
            log_to_driver=False,
            runtime_env={"working_dir": str(path)},
        )
    except (ConnectionError, RuntimeError, ValueError, AssertionError) as error:
        raise ClusterError(
            Text(
                "The Ray cluster at {address} cannot be used: {error}. This machine must be one of "
                "its nodes and have its token (docs/measure.md).",
                address=address,
                error=_first_line(error),
            )
        ) from error


def _own_address() -> str:
    """Return the address of the cluster of this machine, which Ray keeps in a private place."""
    from ray._private.services import canonicalize_bootstrap_address_or_die

    try:
        return str(canonicalize_bootstrap_address_or_die(_AUTO))
    except ConnectionError as error:
        raise ClusterError(paragraph("No Ray cluster runs on this machine.", _START)) from error


def _check(address: str) -> None:
    """Raise ClusterError if nothing listens at HOST:PORT: Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isdecimal() or int(port) > 65_535:
        raise ClusterError(
            Text("{address!r} is not an address of a cluster. Give HOST:PORT.", address=address)
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_REACH_S).close()
    except OSError as error:
        none = Text(
            "No Ray cluster answers at {address}: {error}.",
            address=address,
            error=error.strerror or str(error),
        )
        raise ClusterError(paragraph(none, _START)) from error


def archive(root: Path = ROOT) -> bytes:
    """Return the zip file of the program for the nodes; equal files give equal bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for path in sorted(p for name in _SENT for p in (root / name).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                entry = zipfile.ZipInfo(path.relative_to(root).as_posix())
                entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
                file.writestr(entry, path.read_bytes())
    return buffer.getvalue()
