"""One run in one fresh child process: watched, limited, and always ended with a reason.

The child gets its request as JSON on standard input and writes events to its own pipe
(`runners.process.events`). The supervisor, a single loop without threads, reads them and watches
resident memory and the clock. `runners.process.outcome` classifies the end. RLIMIT_AS is not
used: it counts virtual memory, and TensorFlow reserves far more than it touches (a cap of 8 GB
failed a run that used 4 GB).
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

import psutil

from runners.process import events
from runners.process.events import Event
from runners.process.outcome import Status, classify, kernel_kills
from runners.process.process_group import gone, kill_group

__all__ = [
    "FAMILY_S", "GUARD", "POLL_S", "ROOT", "Ended", "Limits", "Status", "Stopped", "classify",
    "kernel_kills", "supervise",
]  # fmt: skip

ROOT: Final = Path(__file__).parents[2]
GUARD: Final = Path(__file__).parent / "guard.py"
POLL_S: Final = 0.05
"""Interval between memory readings of a running child [s]; a reading takes about 0.1 ms."""
FAMILY_S: Final = 1.0
"""Interval between searches for grandchildren [s]: each lists all processes of the machine."""
_TAIL_BYTES: Final = 65_536
_LINE_BYTES: Final = 1 << 26
"""Longest accepted event; longer ones are dropped as broken."""
_DRAIN_S: Final = 5.0
"""Time limit for reading the rest of the pipes, in case a process goes on writing [s]."""


class Stopped(Exception):  # noqa: N818 - not an error: a stop was requested
    """A stop was requested: the child and its group are gone, and no row follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one run: wall time [s] and resident memory of all its processes [bytes]."""

    timeout_s: float
    memory_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a child ended, its events, and readings from outside."""

    status: Status
    reason: str | None
    events: tuple[Event, ...]
    wall_s: float
    peak_rss_bytes: int

    @property
    def self_reported(self) -> bool:
        """Whether the program itself reported the error; a retry would repeat it."""
        return self.status != "ok" and any(e["event"] == "failed" for e in self.events)


@dataclass(slots=True)
class _Watch:
    """State of a running child."""

    child: subprocess.Popen[bytes]
    limits: Limits
    started_s: float
    events: list[Event] = field(default_factory=list)
    rest: bytearray = field(default_factory=bytearray)
    tail: bytes = b""
    peak_rss_bytes: int = 0
    family: list[psutil.Process] = field(default_factory=list)
    family_at_s: float = float("-inf")
    verdict: tuple[Status, str] | None = None
    kernel_kills: int = 0


def supervise(
    command: Sequence[str],
    request: Mapping[str, Any],
    environment: Mapping[str, str],
    limits: Limits,
    *,
    on_event: Callable[[Event], None] = lambda _: None,
    beat: Callable[[], None] = lambda: None,
    stop: Callable[[], bool] = lambda: False,
) -> Ended:
    """Run `command` on `request` and return how it ended; raise Stopped on a stop.

    `on_event` gets every event on arrival; `beat` is called about every 50 ms. On any exception
    the child's whole process group is killed first.
    """
    lifeline, hold = os.pipe()
    reading, writing = os.pipe()
    started_s = time.perf_counter()
    try:
        child = _start(command, environment, lifeline, writing)
    except BaseException:
        os.close(hold)
        os.close(reading)
        raise
    finally:
        os.close(lifeline)
        os.close(writing)
    watch = _Watch(child=child, limits=limits, started_s=started_s, kernel_kills=kernel_kills())
    try:
        _hand_over(child, {**request, "spawned_at_s": started_s})
        _follow(watch, reading, on_event, beat, stop)
    finally:
        os.close(hold)
        kill_group(child)
        os.close(reading)
        if child.stdout:
            child.stdout.close()
    return _ended(watch)


def _start(
    command: Sequence[str], environment: Mapping[str, str], lifeline: int, writing: int
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-I", "-S", str(GUARD), str(lifeline), *command],
        env={**environment, events.FD: str(writing)},
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=(lifeline, writing),
        start_new_session=True,
    )


def _hand_over(child: subprocess.Popen[bytes], request: Mapping[str, Any]) -> None:
    """Send the child its request; a dead child is noticed later."""
    pipe: IO[bytes] | None = child.stdin
    with contextlib.suppress(BrokenPipeError):
        if pipe:
            pipe.write(json.dumps(request).encode())
            pipe.close()


def _follow(
    watch: _Watch,
    reading: int,
    on_event: Callable[[Event], None],
    beat: Callable[[], None],
    stop: Callable[[], bool],
) -> None:
    """Read, watch and wait until the child has ended and both its pipes are empty."""
    output = watch.child.stdout
    assert output is not None  # noqa: S101 - Popen got stdout=PIPE
    with selectors.DefaultSelector() as selector:
        for pipe in (reading, output.fileno()):
            os.set_blocking(pipe, False)
            selector.register(pipe, selectors.EVENT_READ)
        while True:
            ended = gone(watch.child)
            for key, _ in selector.select(0 if ended else POLL_S):
                _read(watch, key.fd, reading, on_event)
            if ended:
                kill_group(watch.child)  # a remaining worker could write without end
                _drain(watch, reading, output.fileno(), on_event)
                return
            beat()
            if stop():
                raise Stopped
            _check_limits(watch)


def _read(watch: _Watch, fd: int, reading: int, on_event: Callable[[Event], None]) -> bool:
    """Read one pipe; return False if it is empty."""
    try:
        data = os.read(fd, 1 << 20)
    except BlockingIOError:
        return False
    if fd != reading:
        watch.tail = (watch.tail + data)[-_TAIL_BYTES:]
        return bool(data)
    for line in _lines(watch, data):
        if event := events.parse(line):
            watch.events.append(event)
            on_event(event)
    return bool(data)


def _lines(watch: _Watch, data: bytes) -> Iterator[bytes]:
    """Yield the lines that `data` completes; the start of the next one is kept."""
    *ended, rest = data.split(b"\n")
    for line in ended:
        yield bytes(watch.rest + line)
        watch.rest.clear()
    watch.rest += rest
    if len(watch.rest) > _LINE_BYTES:
        watch.rest.clear()


def _drain(watch: _Watch, reading: int, output: int, on_event: Callable[[Event], None]) -> None:
    end_s = time.perf_counter() + _DRAIN_S
    for fd in (reading, output):
        while _read(watch, fd, reading, on_event) and time.perf_counter() < end_s:
            pass


def _check_limits(watch: _Watch) -> None:
    """Kill a child that exceeds its memory or time limit."""
    rss = _resident(watch)
    watch.peak_rss_bytes = max(watch.peak_rss_bytes, rss)
    limit, age_s = watch.limits, time.perf_counter() - watch.started_s
    if rss > limit.memory_bytes:
        text = f"watchdog: {_gb(rss)} resident, the limit is {_gb(limit.memory_bytes)}"
        watch.verdict = ("oom", text)
    elif age_s > limit.timeout_s:
        watch.verdict = ("timeout", f"not finished after {limit.timeout_s:g} s")
    if watch.verdict:
        kill_group(watch.child)


def _resident(watch: _Watch) -> int:
    """Return the resident memory of the child and all its descendants [bytes]."""
    now_s = time.perf_counter()
    if now_s - watch.family_at_s > FAMILY_S:
        with contextlib.suppress(psutil.Error):
            watch.family = psutil.Process(watch.child.pid).children(recursive=True)
        # A new child process appears late: in the first second, look again soon.
        young = now_s - watch.started_s < FAMILY_S
        watch.family_at_s = now_s - (FAMILY_S * 0.9 if young else 0)
    return sum(_rss(process) for process in watch.family)


def _rss(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0


def _ended(watch: _Watch) -> Ended:
    status, reason = classify(
        watch.events,
        watch.child.returncode,
        watch.verdict,
        watch.tail.decode(errors="replace"),
        short_of_memory=kernel_kills() > watch.kernel_kills,
    )
    return Ended(
        status=status,
        reason=reason,
        events=tuple(watch.events),
        wall_s=time.perf_counter() - watch.started_s,
        peak_rss_bytes=watch.peak_rss_bytes,
    )


def _gb(size: float) -> str:
    return f"{size / 1e9:.2f} GB"
