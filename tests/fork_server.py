"""A Python that has imported the large libraries: programs run in forks of it, 2 to 4 s sooner.

`executable(imports)` takes what `python` takes: `-c PROGRAM`, `-m MODULE` or `-I -S FILE`, and
arguments. A program sees the arguments, the folder, the environment, the open files and the network
of a fresh Python.
Tests about processes, imports or environments start a fresh one.
"""

from __future__ import annotations

import atexit
import ctypes
import fcntl
import functools
import gc
import json
import os
import runpy
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import traceback
import types
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
JAX: Final = ROOT / ".venv-jax" / "bin" / "python"
"""An environment with JAX and without TensorFlow, as machines with only JAX have it."""
SHARED: Final = "EPOCHWISE_TEST_FORKS"
"""Names the folder of the servers that all processes of a test session share."""
MODULES: Final[dict[str, tuple[str, ...]]] = {
    "nothing": (),
    "planner": ("planner.__main__", "planner.commands", "planner.store", "runners.__main__"),
    "app": ("streamlit.web.cli", "streamlit.web.server.starlette", "uvicorn", "api.guard",
            "api.routes", "pages.common.kept", "planner.figures", "plotly.graph_objects"),
}  # fmt: skip
"""What is imported before programs start."""
CHILD: Final = (
    "runners.child.start", "runners.child.gemm", "runners.child.place",
    "runners.child.forms.flops", "runners.child.forms.variants",
    "runners.child.engines.jax_distribution",
    "runners.workloads.networks", "runners.child.engines.pace",
    "runners.child.engines.predict", "runners.child.samples.feeds",
    "runners.child.samples.datasets", "runners.child.describe", "runners.commands.cli",
)  # fmt: skip
"""What a child imports after Keras."""
TENSORFLOW: Final = (
    "runners.child.engines.fit", "runners.child.engines.links", "runners.child.engines.loop",
    "runners.child.engines.trials", "runners.child.samples.datasets",
)  # fmt: skip
COMPILED: Final = (
    ("runners.child.samples.feeds", "_tf_batches", "epoch"),
    ("runners.child.samples.feeds", "_from_memory", "<lambda>"),
    ("runners.child.engines.loop", "epoch", "single"),
    ("runners.child.engines.loop", "_step", "step"),
    ("runners.child.engines.loop", "_step", "replica_step"),
    ("runners.child.engines.loop", "mean_loss"),
    ("runners.child.forms.flops", "by_profiler", "forward"),
    ("runners.child.forms.flops", "by_profiler", "train"),
    ("runners.child.engines.links", "_sum_on_tensorflow", "step"),
    ("runners.child.engines.links", "_sum_on_tensorflow", "add"),
    ("runners.child.engines.backend", "end_distribution", "meet"),
    ("runners.child.engines.backend", "_sum_of_ones"),
)  # fmt: skip
"""Functions of a small run whose source AutoGraph rewrites."""
STARTERS: Final = ("runners", "runners.launch", "runners.launch.slurm", "-S")
"""Modules, and any file, whose children are forks as well: they start `sys.executable`."""
EVENTS: Final = "EPOCHWISE_EVENTS_FD"
"""Names one more open file of a program: a child writes its events to it."""
LAUNCHER: Final = """#!{python} -IS
import json, os, socket, sys
if any(word.endswith("/guard.py") for word in sys.argv[:4]):
    os.execv(sys.executable, [sys.executable, *sys.argv[1:]])  # it has open files of its own
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
files, events = [0, 1, 2], os.environ.get({events!r})
if events and os.path.exists("/proc/self/fd/" + events):
    files.append(int(events))
text = json.dumps([sys.argv, os.getcwd(), dict(os.environ), files]).encode()
socket.send_fds(server, [len(text).to_bytes(8, "big")], files)
server.sendall(text)
sys.exit(server.recv(1)[0])
"""


@functools.cache
def executable(imports: str) -> str:
    """Return a path to use in place of `python`.

    The test workers of a session share one server for each `imports`; it ends with the last of
    the processes that asked for it.

    Args:
        imports: `tensorflow` or `jax` for Keras with that backend, `planner` for the commands,
            `app` for the pages.
    """
    folder = _folder() / imports
    folder.mkdir(exist_ok=True)
    with _locked(folder):
        if (folder / "holds").exists():
            hold = socket.socket(socket.AF_UNIX)
            hold.connect(str(folder / "holds"))
            atexit.register(hold.close)
        else:
            _start(imports, folder)
    return str(folder / "python")


def _folder() -> Path:
    """Return the folder of this session's servers."""
    if SHARED in os.environ:
        return Path(os.environ[SHARED])
    folder = Path(tempfile.mkdtemp(prefix="epochwise-fork-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """No server starts or ends meanwhile."""
    with (folder / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _start(imports: str, folder: Path) -> None:
    """Start a server and wait until it has imported."""
    launcher, address = folder / "python", folder / "programs"
    launcher.write_text(LAUNCHER.format(python=sys.executable, address=str(address), events=EVENTS))
    launcher.chmod(0o755)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "KERAS_BACKEND": imports}
    environment |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    server = subprocess.Popen(
        [str(JAX) if imports == "jax" else sys.executable, "-m", "tests.fork_server", imports,
         str(folder)],
        cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert server.stdin is not None
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"
    server.stdout.close()
    atexit.register(_leave, server)


def _leave(server: subprocess.Popen[bytes]) -> None:
    """Hold the server no longer; it may serve others on."""
    if server.stdin:
        server.stdin.close()


def _serve(imports: str, folder: Path) -> None:
    """Fork for each program until no process holds this server."""
    _import(imports)
    gc.collect()
    gc.freeze()  # a collection in a fork would copy the pages of all that was imported
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the forks are not waited for
    programs, holds = (_listening(folder / name) for name in ("programs", "holds"))
    print("ready", flush=True)
    held: set[socket.socket | int] = {0}  # the standard input, a pipe from who started it
    while held or not _ended(folder, holds):
        for ready in select.select([programs, holds, *held], [], [])[0]:
            if ready is programs:
                connection, _ = programs.accept()
                if os.fork() == 0:
                    for other in (programs, holds, *held - {0}):
                        other.close()  # type: ignore[union-attr]  # 0 is none of them
                    _follow(connection)
                connection.close()
            elif ready is holds:
                held.add(holds.accept()[0])
            else:
                held.remove(ready)


def _import(imports: str) -> None:
    """Import what programs import, and prepare what they compile."""
    if imports in MODULES:
        for name in MODULES[imports]:
            import_module(name)
    else:
        import_module("runners.child.start").import_keras()
        for name in (*CHILD, *(TENSORFLOW if imports == "tensorflow" else ())):
            import_module(name)
        if imports == "tensorflow":
            _rewrite()


def _rewrite() -> None:
    """Let AutoGraph rewrite the functions of a small run, which takes a third of that run.

    It keeps what it wrote by the code of a function, and needs no operation of TensorFlow.
    """
    from tensorflow.python.autograph.core.converter import ConversionOptions, ProgramContext
    from tensorflow.python.autograph.impl.api import _TRANSPILER

    named = ConversionOptions(recursive=True, user_requested=True, optional_features=None)
    for module, outer, *inner in COMPILED:
        function = getattr(import_module(module), outer)
        code = function.__code__
        for name in inner:
            code = next(c for c in code.co_consts if getattr(c, "co_name", None) == name)
        cells = tuple(types.CellType(None) for _ in code.co_freevars)
        copy = types.FunctionType(code, function.__globals__, code.co_name, None, cells)
        for options in (named, named.call_options()):
            _TRANSPILER.transform(copy, ProgramContext(options=options))


def _listening(address: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(address))
    listener.listen()
    return listener


def _ended(folder: Path, holds: socket.socket) -> bool:
    """Take the addresses away, unless somebody has come to hold the server."""
    with suppress(FileNotFoundError), _locked(folder):  # the session's folder may be gone
        if select.select([holds], [], [], 0)[0]:
            return False
        (folder / "programs").unlink()
        (folder / "holds").unlink()
    return True


def _follow(connection: socket.socket) -> None:
    """Run the program that the launcher sent, and send its exit code; never returns.

    The program ends where the launcher was killed.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    size, received, _, _ = socket.recv_fds(connection, 8, 4)
    text = b""
    while len(text) < int.from_bytes(size, "big"):
        text += connection.recv(1 << 20)
    program = os.fork()
    if program == 0:
        _join_namespaces(connection)
        connection.close()
        _run(received, *json.loads(text))
    ended = os.pidfd_open(program)
    if ended not in select.select([connection.fileno(), ended], [], [])[0]:
        os.kill(program, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(program, 0)[1])
    with suppress(BrokenPipeError):
        connection.sendall(bytes([code if code >= 0 else 128 - code]))
    os._exit(0)


def _join_namespaces(connection: socket.socket) -> None:
    """Enter the namespaces of network and mounts of the launcher, where they are others."""
    peer = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
    for name in ("net", "mnt"):
        there, here = Path(f"/proc/{peer}/ns/{name}"), Path(f"/proc/self/ns/{name}")
        with suppress(FileNotFoundError):  # the launcher was killed
            if there.readlink() != here.readlink():
                with there.open() as file:
                    assert ctypes.CDLL(None).setns(file.fileno(), 0) == 0


def _run(
    received: list[int],
    words: list[str],
    folder: str,
    environment: dict[str, str],
    numbers: list[int],
) -> None:
    """Become the program; never returns."""
    _take_files(received, numbers)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:0] = ["", *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
    code = 0
    try:
        _program(words)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:  # noqa: BLE001 - as Python itself does
        traceback.print_exc()
        code = 1
    atexit._run_exitfuncs()  # temporary files of the program
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _take_files(received: list[int], numbers: list[int]) -> None:
    """Give the launcher's open files their numbers."""
    free = max(numbers) + 100
    sources = [fcntl.fcntl(file, fcntl.F_DUPFD, free) for file in received]
    for source, number in zip(sources, numbers, strict=True):
        os.dup2(source, number)
        os.close(source)


def _program(words: list[str]) -> None:
    """Run `-c PROGRAM` or `-m MODULE` as Python does."""
    launcher, kind, what, *rest = words
    sys.argv = [kind, *rest]
    if what in STARTERS and Path(launcher).parent.name not in MODULES:
        sys.executable = launcher
    if kind == "-I":
        sys.argv = rest
        runpy.run_path(rest[0], run_name="__main__")
    elif kind == "-c":
        main: dict[str, Any] = {"__name__": "__main__"}
        exec(compile(what, "<string>", "exec"), main)  # noqa: S102 - a test's program
    else:
        runpy.run_module(what, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _serve(sys.argv[1], Path(sys.argv[2]))
