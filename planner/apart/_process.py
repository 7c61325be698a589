"""A process apart: messages over pipes, and limits of the operating system for itself."""

import contextlib
import ctypes
import os
import resource
import select
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Final

_HEAD: Final = struct.Struct(">Q")


def read(stream: IO[bytes]) -> bytes:
    """Return the next message.

    Raises:
        EOFError: the other side has gone.
    """
    (size,) = _HEAD.unpack(_exactly(stream, _HEAD.size))
    return _exactly(stream, size)


def write(stream: IO[bytes], message: bytes) -> None:
    """Send a message."""
    stream.write(_HEAD.pack(len(message)))
    stream.write(message)
    stream.flush()


def _exactly(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if data is None or len(data) < size:
        raise EOFError
    return data


def started(script: Path) -> subprocess.Popen[bytes]:
    """Return a process that sees neither this program's environment nor its folder."""
    return subprocess.Popen(
        [sys.executable, "-I", str(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={"OPENBLAS_NUM_THREADS": "1"},
        cwd="/",
        start_new_session=True,  # Ctrl-C in the terminal ends the server, which ends this
    )


def ended(process: subprocess.Popen[bytes] | None) -> None:
    """End a process and those it started."""
    if process is None:
        return
    with contextlib.suppress(OSError):
        os.killpg(process.pid, 9)
    with contextlib.suppress(OSError):
        process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):
            if pipe is not None:
                pipe.close()


class Pipes:
    """Messages to and from the process; a process that is silent for too long has failed."""

    def __init__(self, process: subprocess.Popen[bytes], most_bytes: int = 1 << 31) -> None:
        if process.stdin is None or process.stdout is None:
            raise EOFError
        self._to, self._from = process.stdin, process.stdout.fileno()
        self._most_bytes = most_bytes
        self._poll = select.poll()  # `select.select` knows file numbers below 1,024 only
        self._poll.register(self._from, select.POLLIN)

    def send(self, *messages: bytes) -> None:
        """Send messages."""
        for message in messages:
            write(self._to, message)

    def receive(self, within_s: float) -> bytes:
        """Return the next message.

        Raises:
            EOFError: the process has gone, is silent, or sends more than it may.
        """
        deadline_s = time.monotonic() + within_s
        size = int.from_bytes(self._read(_HEAD.size, deadline_s), "big")
        if size > self._most_bytes:
            raise EOFError
        return self._read(size, deadline_s)

    def _read(self, size: int, deadline_s: float) -> bytes:
        parts, left = [], size
        while left:
            ready = self._poll.poll(max(0.0, deadline_s - time.monotonic()) * 1000.0)
            part = os.read(self._from, min(left, 1 << 20)) if ready else b""
            if not part:
                raise EOFError
            parts.append(part)
            left -= len(part)
        return b"".join(parts)


_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000
_PAGE: Final = resource.getpagesize()


def leave_network() -> bool:
    """Move this process to a network without any link; whether the system allowed it."""
    library = ctypes.CDLL(None, use_errno=True)
    return hasattr(library, "unshare") and not library.unshare(_NEW_USER | _NEW_NETWORK)


def no_more_than(*, seconds: int, memory_bytes: int) -> None:
    """Limit this process, and all that it starts, from now on and for good.

    Processor time [s] and memory beside what it has [bytes]. It opens no further file or socket,
    writes no byte to a file, and leaves no core.
    """
    pages = 0
    statm = Path("/proc/self/statm")
    if statm.exists():
        pages = int(statm.read_text(encoding="ascii").split()[0])
    most = pages * _PAGE + memory_bytes if pages else resource.RLIM_INFINITY
    for what, soft, hard in (
        (resource.RLIMIT_CPU, seconds, seconds + 1),
        (resource.RLIMIT_AS, most, most),
        (resource.RLIMIT_FSIZE, 0, 0),
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_NOFILE, 0, 0),
    ):
        resource.setrlimit(what, (soft, hard))
