"""A stand-in for `runners.child`: no framework, no numbers of anybody, but the same events.

    python -S -m tests.runners.stub_child MARK HOW [STARTS]

HOW is the name of a way to end below, or a JSON object {seed of the case: way}, "" for all
others. STARTS is a file that gets a line for every start. MARK is looked for in command lines: a
process that has it and should be dead is an orphan. What TensorFlow's four seconds of start would
only make slow is tested with it; what depends on the framework is tested with the real child.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Final

from runners.process.events import FD, EventWriter

WRITER: Final = EventWriter()
EPOCH_S: Final = 0.25
"""The stated time of an epoch, which is made up."""


def _begin(epochs: int = 1) -> None:
    WRITER.send("imported", columns={"framework_version": "0"})
    WRITER.send("built", columns={"params": 10}, extra={"dataset_sha256": "0" * 64})
    WRITER.send("training", columns={"pre_train_s": 0.5})
    _epochs(1, epochs)


def _epochs(first: int, last: int) -> None:
    for number in range(first, last + 1):
        WRITER.send("epoch", epoch=number, epoch_s=EPOCH_S, validation_s=None, samples=64,
                    loss=1 / number, metric=None)  # fmt: skip


def _ok(epochs: int = 3) -> None:
    _begin(epochs)
    _end()


def _end() -> None:
    WRITER.send("trained", columns={"first_step_s": 0.1})
    WRITER.send("result", columns={"train_flops_per_sample": 1e6})


def _failed(status: str, reason: str) -> Callable[[], None]:
    def end() -> None:
        _begin()
        WRITER.send("failed", status=status, reason=reason)
        sys.exit(1)

    return end


def _by_signal(number: int) -> Callable[[], None]:
    def end() -> None:
        _begin()
        os.kill(os.getpid(), number)
        signal.pause()

    return end


def _says_and_exits(text: str, code: int) -> Callable[[], None]:
    def end() -> None:
        _begin()
        print(text, flush=True)
        sys.exit(code)

    return end


def _slowly() -> None:
    time.sleep(0.1)
    _ok()


def _waits() -> None:
    """Wait for a file beside the one of the starts, which a test makes."""
    _gate()
    _ok()


def _gate() -> None:
    gate = f"{sys.argv[3]}.go"
    while not os.path.exists(gate):  # noqa: PTH110 - pathlib would double the time of a start
        time.sleep(0.02)


def _waits_after_an_epoch() -> None:
    """The same wait once an epoch has ended."""
    _begin(1)
    _gate()
    _epochs(2, 3)
    _end()


def _kills_its_supervisor() -> None:
    """Kill the process that supervises the guard of this one, as the kernel would."""
    _begin()
    with open(f"/proc/{os.getppid()}/stat", encoding="ascii") as file:  # noqa: PTH123
        supervisor = int(file.read().rpartition(")")[2].split()[1])
    os.kill(supervisor, signal.SIGKILL)
    time.sleep(600)


def _sleeps() -> None:
    _begin()
    time.sleep(600)


def _grows() -> None:
    """Touch 400 MB: the watchdog's limit is below that."""
    _begin()
    held = [bytearray(os.urandom(1 << 20)) for _ in range(400)]
    time.sleep(600)
    del held


def _workers(then: Callable[[], None]) -> Callable[[], None]:
    """Fork three workers that sleep without end, then go on."""

    def end() -> None:
        for _ in range(3):
            if os.fork() == 0:
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                time.sleep(600)
                os._exit(0)
        then()

    return end


def _worker_escapes() -> None:
    """A worker in a session of its own, which no signal to the group reaches."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(600)
        os._exit(0)
    time.sleep(0.1)
    _ok()


def _worker_grows() -> None:
    """The memory is not the child's but its worker's."""
    _begin()
    if os.fork() == 0:
        held = [bytearray(os.urandom(1 << 20)) for _ in range(400)]
        time.sleep(600)
        del held
    time.sleep(600)


def _prints_megabytes() -> None:
    _begin(3)
    for _ in range(64):
        os.write(1, b"x" * (1 << 18) + b"\n")
    WRITER.send("result")


def _worker_floods() -> None:
    """Ends well, but leaves a process that prints for ever."""
    _begin(3)
    WRITER.send("result")
    if os.fork() == 0:
        while True:
            os.write(1, b"y" * 65_536)
    time.sleep(0.05)
    os._exit(0)


def _worker_floods_events() -> None:
    _begin(3)
    WRITER.send("result")
    if os.fork() == 0:
        while True:
            WRITER.send("tick")
    time.sleep(0.05)
    os._exit(0)


def _closes_pipes() -> None:
    _begin(3)
    WRITER.send("result")
    for fd in (0, 1, 2, int(os.environ[FD])):
        os.close(fd)
    time.sleep(0.3)
    os._exit(0)


def _closes_pipes_and_hangs() -> None:
    for fd in (0, 1, 2, int(os.environ[FD])):
        os.close(fd)
    time.sleep(600)


def _half_a_line() -> None:
    _begin(2)
    os.write(int(os.environ[FD]), b'{"event": "result", "colu')
    os.kill(os.getpid(), signal.SIGKILL)


GARBAGE: Final = (
    b"", b"\x00\xff\xfe", b"null", b"[]", b"3", b'"text"', b"{}", b'{"event": 1}',
    b'{"event": "failed"}', b'{"event": "failed", "status": "banana", "reason": "r"}',
    b'{"event": "failed", "status": ["oom"], "reason": 3}', b'{"event": "epoch"}',
    b'{"event": "epoch", "epoch": "first", "epoch_s": 1.0, "samples": 1}',
    b'{"event": "epoch", "epoch": 4, "epoch_s": "fast", "samples": 1}',
    b'{"event": "epoch", "epoch": 4, "epoch_s": null, "samples": 1}',
    b'{"event": "epoch", "epoch": 4, "epoch_s": true, "samples": 1}',
    b'{"event": "epoch", "epoch": 4, "epoch_s": 1.0, "samples": "all"}',
    b'{"event": "epoch", "epoch": 4, "epoch_s": 1e999, "samples": 1}',
    b'{"event": "epoch", "epoch": 4, "epoch_s": NaN, "samples": 1}',
    b'{"event": "epoch", "epoch": 4, "epoch_s": 1.0, "samples": 1, "validation_s": "x"}',
    b'{"event": "trained", "columns": 5}', b'{"event": "trained", "columns": ["params"]}',
    b'{"event": "trained", "extra": 5}', b'{"event": "result", "columns": "none"}',
    b'{"event": "built", "columns": {"params": {"a": [1]}}, "extra": []}',
    b"[" * 100_000, b'{"event":' + b'{"a":' * 100_000, b"9" * 10_000,
)  # fmt: skip


def _garbage() -> None:
    """Lines that are no events, or events without what they must say, among good ones."""
    _begin(3)
    for line in GARBAGE:
        data = line + b"\n"
        while data:
            data = data[os.write(int(os.environ[FD]), data) :]
    WRITER.send("result")


def _floods_events() -> None:
    """A hundred thousand unknown events, and as many unplanned epochs."""
    _begin(3)
    for number in range(100_000):
        WRITER.send("tick", number=number)
    WRITER.send("result")


def _line_without_end() -> None:
    _begin(3)
    with contextlib.suppress(OSError):
        for _ in range(600):
            os.write(int(os.environ[FD]), b"z" * (1 << 20))
    os.write(int(os.environ[FD]), b"\n")
    WRITER.send("result")


def _columns(**columns: object) -> Callable[[], None]:
    def end() -> None:
        _begin(3)
        WRITER.send("result", columns=columns)

    return end


def _leaks() -> None:
    """An error that repeats everything it should not: told, and printed on both outputs."""
    secret = os.environ.get("TF_LEAKED", "") or sys.argv[4]
    text = f"RuntimeError: {secret}"
    print(text, flush=True)
    os.write(2, text.encode() + b"\n")
    _begin()
    WRITER.send("failed", status="crashed", reason=text)
    sys.exit(1)


def _leaks_by_dying() -> None:
    _begin()
    os.write(2, f"Fatal: {sys.argv[4]}\n".encode())
    os.abort()


WAYS: Final[dict[str, Callable[[], None]]] = {
    "": _ok,
    "ok": _ok,
    "slowly": _slowly,
    "oom": _failed("oom", "framework: ResourceExhaustedError: OOM when allocating tensor"),
    "nan": _failed("nan", "the loss is no longer a number"),
    "crashed": _failed("crashed", "ValueError: no"),
    "exit 3": _says_and_exits("a last word", 3),
    "exit 0": _says_and_exits("nothing to tell", 0),
    "bad_alloc": _says_and_exits("terminate called after throwing 'std::bad_alloc'", 134),
    "segmentation fault": _by_signal(signal.SIGSEGV),
    "abort": _by_signal(signal.SIGABRT),
    "kill": _by_signal(signal.SIGKILL),
    "terminate": _by_signal(signal.SIGTERM),
    "signal without a name": _by_signal(40),
    "waits": _waits,
    "waits after an epoch": _waits_after_an_epoch,
    "kills its supervisor": _kills_its_supervisor,
    "sleeps": _sleeps,
    "grows": _grows,
    "a worker grows": _worker_grows,
    "workers": _workers(_ok),
    "a worker escapes": _worker_escapes,
    "workers and sleeps": _workers(_sleeps),
    "prints megabytes": _prints_megabytes,
    "a worker floods": _worker_floods,
    "a worker floods events": _worker_floods_events,
    "closes its pipes": _closes_pipes,
    "closes its pipes and hangs": _closes_pipes_and_hangs,
    "half a line": _half_a_line,
    "garbage": _garbage,
    "floods events": _floods_events,
    "a line without end": _line_without_end,
    "negative parameters": _columns(params=-5),
    "unknown column": _columns(banana=1),
    "names itself": _columns(run_id="0" * 32, result_set="elsewhere", status="ok", attempt=7),
    "text for a number": _columns(first_step_s="fast", backend=5),
    "leaks": _leaks,
    "leaks by dying": _leaks_by_dying,
}


def main() -> None:
    """Read the request (unless the way is to ignore it), note the start, end as asked."""
    how = sys.argv[2]
    if how == "ignores stdin":
        _ok()
        return
    case = json.load(sys.stdin)["case"]
    if how.startswith("{"):
        how = json.loads(how).get(str(case["seed"]), "")
    if len(sys.argv) > 3 and sys.argv[3]:
        handle = os.open(sys.argv[3], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(handle, f"{case['seed']} {case['attempt']}\n".encode())
        os.close(handle)
    WAYS[how]()


if __name__ == "__main__":
    main()
