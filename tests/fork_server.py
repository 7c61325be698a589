"""A Python that has imported the large libraries: programs run in forks of it, 2 to 4 s sooner.

`executable(imports)` takes what `python` takes: `-c PROGRAM` or `-m MODULE`, and arguments. A
program sees the arguments, the folder, the environment and the open files of a fresh Python.
Tests about processes, imports or environments start a fresh one.
"""

from __future__ import annotations

import atexit
import fcntl
import functools
import json
import os
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
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
EVENTS: Final = "EPOCHWISE_EVENTS_FD"
"""Names one more open file of a program: a child writes its events to it."""
LAUNCHER: Final = """#!{python} -IS
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
files = [0, 1, 2] + [int(os.environ[name]) for name in [{events!r}] if name in os.environ]
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
    if imports in MODULES:
        for name in MODULES[imports]:
            import_module(name)
    else:
        import_module("runners.child.engines.lean").import_keras()
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
        connection.close()
        _run(received, *json.loads(text))
    ended = os.pidfd_open(program)
    if ended not in select.select([connection.fileno(), ended], [], [])[0]:
        os.kill(program, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(program, 0)[1])
    with suppress(BrokenPipeError):
        connection.sendall(bytes([code if code >= 0 else 128 - code]))
    os._exit(0)


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
    if what == "runners.launch":  # the workers that it starts are forks as well
        sys.executable = launcher
    if kind == "-c":
        main: dict[str, Any] = {"__name__": "__main__"}
        exec(compile(what, "<string>", "exec"), main)  # noqa: S102 - a test's program
    else:
        runpy.run_module(what, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _serve(sys.argv[1], Path(sys.argv[2]))
