"""A child goes at once, and loses nothing it said."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def _ended(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize("code", [0, 1])
def test_the_exit_status_and_all_that_was_said_arrive(code: int) -> None:
    said = "print('x' * 100_000); print('why', end='', file=sys.stderr)"
    done = _ended(f"import sys; from runners.child.start import leave; {said}; leave({code})")
    assert done.returncode == code
    assert done.stdout == "x" * 100_000 + "\n"
    assert done.stderr == "why"


def test_nothing_is_taken_apart() -> None:
    late = "atexit.register(print, 'taken apart')"
    assert (
        _ended(f"import atexit; from runners.child.start import leave; {late}; leave(0)").stdout
        == ""
    )


def test_workers_are_awaited(tmp_path: Path) -> None:
    script = tmp_path / "with_a_worker.py"
    script.write_text(
        "import multiprocessing, pathlib, sys, time\n"
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        "from runners.child.start import leave\n"
        "def work(path):\n"
        "    time.sleep(0.5)\n"
        "    pathlib.Path(path).write_text('done')\n"
        "if __name__ == '__main__':\n"
        f"    multiprocessing.Process(target=work, args=({str(tmp_path / 'told')!r},)).start()\n"
        "    leave(3)\n"
    )
    assert subprocess.run([sys.executable, str(script)], timeout=60).returncode == 3
    assert (tmp_path / "told").read_text() == "done"
