"""What a process apart may not do once it has its limits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.each import each

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = """
import os, resource, socket, subprocess, sys
sys.path.insert(0, {root!r})
from planner.apart import leave_network, no_more_than
leave_network()
no_more_than(seconds=1, memory_bytes=100_000_000)
try:
    {attempt}
except BaseException as error:
    os.write(1, type(error).__name__.encode() + b" " + str(error).encode())
else:
    os.write(1, b"DONE")
"""


def outcome(attempt: str) -> tuple[int, str]:
    """Exit status and words of a process that attempts something behind the limits."""
    text = PROGRAM.format(root=str(ROOT), attempt=attempt)
    done = subprocess.run([sys.executable, "-I", "-c", text], capture_output=True, timeout=120)
    return done.returncode, done.stdout.decode()


@each(
    "attempt",
    [
        "open('/etc/hostname')",
        "open('/tmp/epochwise-never', 'w')",
        "socket.socket()",
        "socket.create_connection(('127.0.0.1', 1))",
        "subprocess.run(['/bin/true'])",
        "resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))",
        "bytearray(500_000_000)",
        "os.listdir('/')",
    ],
)
def test_it_opens_nothing_and_grows_little(attempt: str) -> None:
    status, words = outcome(attempt)
    assert "DONE" not in words
    assert status == 0


def test_it_is_ended_when_it_computes_too_long() -> None:
    status, words = outcome("exec('while True: pass')")
    assert status < 0
    assert not words


def test_a_program_that_it_starts_cannot_load_anything() -> None:
    _, words = outcome("print(1 / (os.system('/bin/true') == 0))")
    assert words.startswith("ZeroDivisionError")
