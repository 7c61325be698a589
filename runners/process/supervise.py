"""One run in one fresh child process: watched, limited, and always ended with a reason.

The child gets its request as JSON on standard input and writes events to its own pipe
(`runners.process.events`). The supervisor, a single loop without threads, reads them and watches
resident memory and the clock. `classify` classifies the end. RLIMIT_AS is not
used: it counts virtual memory, and TensorFlow reserves far more than it touches (a cap of 8 GB
failed a run that used 4 GB).
"""

import contextlib
import json
import os
import re
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final, Literal

import psutil

from planner.core import Text
from runners.process import events
from runners.process.events import Event

_GONE_S: Final = 10.0
"""Time limit for killed processes to disappear [s]."""


def gone(child: subprocess.Popen[bytes]) -> bool:
    """Return whether the guard has ended; it is not reaped, so its id is not reused."""
    if child.returncode is not None or not hasattr(os, "waitid"):
        return child.poll() is not None
    return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def kill_group(child: subprocess.Popen[bytes]) -> None:
    """Kill the rest of the guard's group, reap the guard, and wait for the others.

    The guard is reaped only here, so its id cannot belong to another group. Killed processes
    hold memory until the kernel frees it; the next run must start after that.
    """
    if child.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    end_s = time.perf_counter() + _GONE_S
    while _left(child.pid) and time.perf_counter() < end_s:
        time.sleep(0.01)


def _left(group: int) -> bool:
    """Return whether a process group still has members."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return False  # the id belongs to another group by now
    return True


_LAST_LINES: Final = 5
_OUT_OF_MEMORY: Final = re.compile(
    r"bad_alloc|out of memory|resource[_ ]?exhausted|MemoryError|cannot allocate memory"
    r"|OOM when allocating",
    re.IGNORECASE,
)
Status = Literal["ok", "oom", "timeout", "nan", "killed", "crashed", "peer_lost"]


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
        if failed["status"] == "peer_lost" and short_of_memory:
            return "oom", Text("{reason}; the kernel was short of memory", reason=failed["reason"])
        return failed["status"], str(failed["reason"])
    return _from_exit(returncode, output, short_of_memory=short_of_memory)


def _from_exit(returncode: int, output: str, *, short_of_memory: bool) -> tuple[Status, str]:
    """Return the end of a child without events, from its exit code or signal and last lines.

    Earlier output is ignored: allocators report shortages that they then resolve.
    """
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    last = lines[-1] if lines else "no output"
    how: str = Text("exit code {code}", code=returncode)
    if returncode < 0:
        how = _signal_name(-returncode)
    if returncode == -signal.SIGKILL and short_of_memory:
        return "oom", Text("{signal} by the kernel, which was short of memory", signal=how)
    if -returncode in {signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP}:
        return "killed", Text("{signal} from outside", signal=how)
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
class ProcessLimits:
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
    limits: ProcessLimits
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
    limits: ProcessLimits,
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
    with _scratch(environment) as own:
        try:
            child = _start(command, own, lifeline, writing)
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


@contextlib.contextmanager
def _scratch(environment: Mapping[str, str]) -> Iterator[Mapping[str, str]]:
    """Give a run its own folder for temporary files: TensorFlow leaves some at each exit.

    Where there is no room for a folder, the run says so itself.
    """
    with contextlib.ExitStack() as stack:
        own = dict(environment)
        with contextlib.suppress(OSError):
            own["TMPDIR"] = stack.enter_context(
                tempfile.TemporaryDirectory(
                    prefix="epochwise-run-",
                    dir=environment.get("TMPDIR"),
                    ignore_cleanup_errors=True,
                )
            )
        yield own


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
    rss = _resident(watch)
    watch.peak_rss_bytes = max(watch.peak_rss_bytes, rss)
    limit, age_s = watch.limits, time.perf_counter() - watch.started_s
    if rss > limit.memory_bytes:
        text = Text(
            "watchdog: {used} resident, the limit is {most}",
            used=_gb(rss),
            most=_gb(limit.memory_bytes),
        )
        watch.verdict = ("oom", text)
    elif age_s > limit.timeout_s:
        text = Text("not finished after {timeout_s:g} s", timeout_s=limit.timeout_s)
        watch.verdict = ("timeout", text)
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
