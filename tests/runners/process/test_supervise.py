"""Every end of a child is told with its reason; no child can hang or end its supervisor."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.process import events
from runners.process.events import parse
from runners.process.supervise import (
    ROOT,
    Ended,
    ProcessLimits,
    Stopped,
    classify,
    kernel_kills,
    supervise,
)
from tests.each import each
from tests.faults.outcomes import FULL
from tests.runners.stub_child import GARBAGE
from tests.runners.stubs import HANG_S, ended, marked, orphans

MEGABYTE = 1 << 20


# -- every end has its name ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "status", "reason"),
    [
        ("ok", "ok", None),
        ("ignores stdin", "ok", None),
        ("oom", "oom", "framework: ResourceExhaustedError: OOM when allocating tensor"),
        ("nan", "nan", "the loss is no longer a number"),
        ("crashed", "crashed", "ValueError: no"),
        ("exit 3", "crashed", "exit code 3: a last word"),
        ("exit 0", "crashed", "exit code 0: nothing to tell"),
        ("bad_alloc", "oom", "exit code 134: terminate called after throwing 'std::bad_alloc'"),
        ("segmentation fault", "crashed", "SIGSEGV: no output"),
        ("abort", "crashed", "SIGABRT: no output"),
        ("kill", "killed", "SIGKILL from outside"),
        ("terminate", "killed", "SIGTERM from outside"),
        ("signal without a name", "crashed", "signal 40: no output"),
        ("half a line", "killed", "SIGKILL from outside"),
    ],
)  # fmt: skip
def test_every_end_is_reported_with_its_reason(
    mark: str, how: str, status: str, reason: str | None
) -> None:
    end = ended(how, mark)
    assert (end.status, end.reason) == (status, reason)


def test_a_command_that_does_not_exist_is_a_crash_with_its_name(mark: str) -> None:
    end = supervise(
        ["/nowhere/python", mark], {}, {}, ProcessLimits(timeout_s=60, memory_bytes=1 << 40)
    )
    assert end.status == "crashed"
    assert end.reason == "exit code 127: /nowhere/python: No such file or directory"


@each(
    "text",
    [
        "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  bad_alloc",
        "RESOURCE_EXHAUSTED: Out of memory allocating 1 bytes",
        "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 1 TiB\nMemoryError",
        "mmap failed: Cannot allocate memory",
        "OOM when allocating tensor with shape[1,2]",
    ],
)
@each("code", [-6, -11, 1, 134])
def test_a_death_with_words_of_lost_memory_is_out_of_memory(text: str, code: int) -> None:
    status, reason = classify([], code, None, text)
    assert (status, text.splitlines()[-1].strip() in str(reason)) == ("oom", True)


@pytest.mark.parametrize("how", ["grows", "a worker grows"])
def test_memory_above_the_limit_ends_the_run_worker_processes_counted(mark: str, how: str) -> None:
    end = ended(how, mark, memory_bytes=200 * MEGABYTE)
    assert end.status == "oom"
    assert re.fullmatch(r"watchdog: 0\.\d\d GB resident, the limit is 0\.21 GB", str(end.reason))
    assert end.peak_rss_bytes > 200 * MEGABYTE
    assert [e["event"] for e in end.events][-1] == "epoch"


def test_time_above_the_limit_ends_the_run_and_its_epochs_are_kept(mark: str) -> None:
    end = ended("sleeps", mark, timeout_s=6.0)  # its first epoch comes within a second
    assert (end.status, end.reason) == ("timeout", "not finished after 6 s")
    assert [e["epoch"] for e in end.events if e["event"] == "epoch"] == [1]


# -- a child cannot hurt its supervisor ----------------------------------------------------------


@pytest.mark.parametrize(
    "how",
    [
        "prints megabytes", "a worker floods", "a worker floods events", "closes its pipes",
        "floods events", "workers", "a worker escapes",
    ],
)  # fmt: skip
def test_what_a_child_does_beside_its_work_costs_neither_result_nor_supervisor(
    mark: str, how: str
) -> None:
    end = ended(how, mark)
    assert end.status == "ok"
    assert [e["epoch"] for e in end.events if e["event"] == "epoch"] == [1, 2, 3]


@pytest.mark.parametrize("end", ["os._exit(3)", "os.kill(os.getpid(), 9)"])
def test_no_temporary_file_of_a_run_is_left_however_it_ends(tmp_path: Path, end: str) -> None:
    program = f"import os, tempfile; print(tempfile.mkstemp()[1], flush=True); {end}"
    limits = ProcessLimits(timeout_s=HANG_S, memory_bytes=1 << 40)
    result = supervise([sys.executable, "-c", program], {}, {"TMPDIR": str(tmp_path)}, limits)
    assert result.status in ("crashed", "killed")
    assert end.startswith("os.kill") or str(tmp_path) in str(result.reason)
    assert list(tmp_path.iterdir()) == []


def test_garbage_among_events_is_passed_over(mark: str) -> None:
    seen: list[str] = []
    end = ended("garbage", mark, on_event=lambda e: seen.append(e["event"]))
    assert end.status == "ok"
    assert [e["epoch"] for e in end.events if e["event"] == "epoch"] == [1, 2, 3]
    assert seen == [e["event"] for e in end.events]


def test_a_line_without_end_is_not_kept_in_memory(mark: str) -> None:
    before = psutil.Process().memory_info().rss
    most = 0

    def beat() -> None:
        nonlocal most
        most = max(most, psutil.Process().memory_info().rss - before)

    end = ended("a line without end", mark, beat=beat)
    assert end.status == "ok"
    assert most < 256 * MEGABYTE


def test_a_child_that_closes_its_pipes_and_hangs_is_ended_by_the_clock(mark: str) -> None:
    beats = 0

    def beat() -> None:
        nonlocal beats
        beats += 1

    assert ended("closes its pipes and hangs", mark, timeout_s=1.0, beat=beat).status == "timeout"
    assert beats < 100  # twenty a second, not as many as the processor can


@each("line", [g for g in GARBAGE if b'"epoch"' in g or b'"columns"' in g])
def test_events_that_do_not_say_what_they_must_are_none(line: bytes) -> None:
    assert parse(line) is None


@settings(max_examples=300 if FULL else 100)
@given(st.binary() | st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(
        st.sampled_from(["event", "epoch", "epoch_s", "columns", "extra", "status", "reason"]),
        inner | st.sampled_from(["epoch", "failed", "result", "oom"])),
    max_leaves=20).map(lambda body: __import__("json").dumps(body).encode()))  # fmt: skip
def test_any_bytes_are_an_event_or_none(line: bytes) -> None:
    event = parse(line)
    assert event is None or isinstance(event["event"], str)


def test_what_a_teller_reports_is_read_as_it_was() -> None:
    reading, writing = os.pipe()
    events.EventWriter(writing).send("epoch", epoch=1, epoch_s=0.5, samples=3, loss=float("nan"))
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        event = parse(pipe.read())
    assert event is not None
    assert (event["epoch"], event["epoch_s"], event["samples"]) == (1, 0.5, 3)


# -- stopping ------------------------------------------------------------------------------------


def test_a_run_that_is_stopped_leaves_no_process(mark: str) -> None:
    begun = time.monotonic()
    with pytest.raises(Stopped):
        ended("workers and sleeps", mark, stop=lambda: time.monotonic() - begun > 0.5)
    assert orphans(mark) == []


def test_an_error_of_a_listener_leaves_no_process(mark: str) -> None:
    def on_event(event: events.Event) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        ended("workers and sleeps", mark, on_event=on_event)
    assert orphans(mark) == []


def test_no_descriptor_is_left_open_however_a_child_ends(mark: str) -> None:
    me = psutil.Process()
    ended("ok", mark)
    before = me.num_fds()
    for how in ("ok", "kill", "closes its pipes", "exit 3"):
        ended(how, mark)
    assert me.num_fds() == before


# -- no kill leaves a process behind -----------------------------------------------------------

SUPERVISOR = """
import sys
from tests.runners.stubs import ended
end = ended(sys.argv[2], sys.argv[1])
print(end.status, flush=True)
"""


def _supervisor(mark: str, how: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SUPERVISOR, mark, how]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def _family(mark: str, supervisor: int) -> tuple[int, list[int]]:
    """Guard, and the child with its three workers, once all of them are there."""
    end = time.monotonic() + HANG_S
    while time.monotonic() < end:
        others = [p for p in marked(mark) if p.pid != supervisor]
        guards = [p.pid for p in others if p.ppid() == supervisor]
        if len(others) == 5 and guards:
            return guards[0], [p.pid for p in others if p.pid != guards[0]]
        time.sleep(0.01)
    raise AssertionError("the child never started")


@pytest.mark.parametrize("victim", ["supervisor", "guard", "child"])
def test_no_kill_leaves_a_process_workers_included(mark: str, victim: str) -> None:
    supervisor = _supervisor(mark, "workers and sleeps")
    guard, others = _family(mark, supervisor.pid)
    child = next(p for p in others if psutil.Process(p).ppid() == guard)
    os.kill({"supervisor": supervisor.pid, "guard": guard, "child": child}[victim], signal.SIGKILL)
    said = supervisor.communicate(timeout=HANG_S)[0]
    assert said.strip() == ("" if victim == "supervisor" else "killed")
    assert orphans(mark) == []


@pytest.mark.parametrize(
    "number", [signal.SIGINT, *([signal.SIGTERM, signal.SIGHUP] if FULL else [])]
)
def test_a_signal_to_guard_and_supervisor_does_not_separate_them(
    mark: str, number: signal.Signals
) -> None:
    supervisor = _supervisor(mark, "workers and sleeps")
    guard, _ = _family(mark, supervisor.pid)
    os.kill(guard, number)
    os.kill(supervisor.pid, number)
    supervisor.communicate(timeout=HANG_S)
    assert orphans(mark) == []


def test_a_crash_writes_no_core_file(mark: str, tmp_path: Path) -> None:
    """A core of TensorFlow holds gigabytes; the guard that dies alike must not write one either."""
    program = (
        "import os, resource, subprocess, sys\n"
        "hard = resource.getrlimit(resource.RLIMIT_CORE)[1]\n"
        "resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))\n"
        "from tests.runners import stubs\n"
        "import runners.process.supervise as s\n"
        "seen = []\n"
        "def beat():\n"
        "    seen.extend(resource.prlimit(p.pid, resource.RLIMIT_CORE)[0]\n"
        "                for p in stubs.marked(sys.argv[1]))\n"
        "try:\n"
        "    stubs.ended('sleeps', sys.argv[1], beat=beat, stop=lambda: len(seen) > 12)\n"
        "except s.Stopped:\n"
        "    pass\n"
        "finally:\n"
        "    print(set(seen[len(seen) // 2:]))\n"
    )
    done = subprocess.run([sys.executable, "-c", program, mark], cwd=ROOT, capture_output=True,
                          text=True, timeout=HANG_S)  # fmt: skip
    assert done.stdout.strip() == "{0}", done.stderr


# -- what counts as measured, and what as memory ---------------------------------------------------

TIMED: list[events.Event] = [{"event": "epoch"}, {"event": "timed"}]


def test_a_run_whose_epochs_were_timed_is_measured_whatever_comes_after() -> None:
    late: list[events.Event] = [
        *TIMED,
        {"event": "failed", "status": "oom", "reason": "while counting"},
    ]
    assert classify(late, 1, None, "") == ("ok", None)
    assert classify(TIMED, -9, ("timeout", "too long"), "") == ("ok", None)
    assert classify(TIMED[:1], -9, ("timeout", "too long"), "")[0] == "timeout"


def test_memory_an_allocator_found_elsewhere_is_no_end_by_memory() -> None:
    output = "ran out of memory, but this is not a failure\n" + "step\n" * 50 + "Segmentation fault"
    assert classify([], -11, None, output)[0] == "crashed"
    assert classify([], -9, None, output)[0] == "killed"
    assert classify([], -6, None, "step\nstd::bad_alloc\nAborted")[0] == "oom"


def test_a_kill_by_a_kernel_short_of_memory_is_memory_and_other_kills_are_not() -> None:
    assert classify([], -9, None, "", short_of_memory=True)[0] == "oom"
    assert classify([], -15, None, "", short_of_memory=True)[0] == "killed"


def test_the_kernel_s_kills_are_counted_where_it_reports_them(tmp_path: Path) -> None:
    (tmp_path / "vmstat").write_text("nr_free_pages 1\noom_kill 3\n")
    assert kernel_kills(tmp_path / "vmstat") == 3
    assert kernel_kills(tmp_path / "missing") == 0


def test_an_error_the_program_reported_itself_is_marked_so() -> None:
    result = {"event": "failed", "status": "crashed", "reason": "ValueError: shape"}
    crashed = Ended(
        status="crashed", reason="x", events=(result,), wall_s=1.0, peak_rss_bytes=0
    )  # fmt: skip
    assert crashed.self_reported
    assert not replace(crashed, status="killed", events=()).self_reported
    assert not replace(crashed, status="ok").self_reported
