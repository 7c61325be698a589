"""A program in a fork of a warm Python behaves as in a fresh one."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.fork_server import ROOT, SHARED, executable

PROGRAM = """
import json, os, sys
print(json.dumps([sys.argv, os.getcwd(), os.environ["MARK"], sys.stdin.read()]))
"""


def _run(python: str, *words: str, place: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [python, *words], cwd=place, env={**os.environ, "MARK": "\u00fc"}, input="in",
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    "program",
    [PROGRAM, "import sys; sys.exit(7)", "import sys; sys.exit('said')", "raise SystemExit",
     "import os; os._exit(5)"],
)  # fmt: skip
def test_a_fork_answers_as_a_fresh_python(program: str, tmp_path: Path) -> None:
    fresh, forked = (
        _run(python, "-c", program, "a", "-b", place=tmp_path)
        for python in (sys.executable, executable("planner"))
    )
    assert (forked.returncode, forked.stdout) == (fresh.returncode, fresh.stdout)
    assert forked.stderr == fresh.stderr


def test_a_file_runs_as_in_a_fresh_python(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    words = ("-I", "-S", str(tmp_path / "program.py"), "a", "-b")
    fresh, forked = (
        _run(python, *words, place=tmp_path) for python in (sys.executable, executable("planner"))
    )
    assert forked.stdout == fresh.stdout != ""


def test_an_error_is_one_exit_code_and_a_traceback(tmp_path: Path) -> None:
    done = _run(executable("planner"), "-c", "1 / 0", place=tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "ZeroDivisionError: division by zero"


def test_a_signal_is_reported_as_a_shell_reports_it(tmp_path: Path) -> None:
    done = _run(executable("planner"), "-c", "import os; os.kill(os.getpid(), 15)", place=tmp_path)
    assert done.returncode == 128 + 15


def test_a_program_ends_with_its_launcher(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    program = f"import os, time; open({str(mark)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    launcher = subprocess.Popen([executable("planner"), "-c", program])
    end = time.monotonic() + 60.0
    while not (mark.exists() and mark.read_text()):
        assert time.monotonic() < end
        time.sleep(0.02)
    launcher.kill()
    launcher.wait()
    while Path(f"/proc/{mark.read_text()}").exists():
        assert time.monotonic() < end
        time.sleep(0.02)


HOLDER = """
import sys
from tests.fork_server import executable
print(executable("nothing"), flush=True)
sys.stdin.read()
"""


def test_processes_of_a_session_share_a_server_that_ends_with_the_last_of_them(
    tmp_path: Path,
) -> None:
    environment = {**os.environ, SHARED: str(tmp_path)}
    holders = [
        subprocess.Popen([sys.executable, "-c", HOLDER], cwd=ROOT, env=environment, text=True,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(3)
    ]  # fmt: skip
    [python] = {h.stdout.readline().strip() for h in holders if h.stdout}
    servers = set()
    for holder in holders:
        program = "import psutil; print(psutil.Process().parents()[1].pid)"
        servers.add(int(_run(python, "-c", program, place=tmp_path).stdout))
        holder.communicate()
    [server] = servers
    end = time.monotonic() + 60.0
    while Path(f"/proc/{server}").exists():
        assert time.monotonic() < end
        time.sleep(0.02)
    assert {p.name for p in (tmp_path / "nothing").iterdir()} == {"lock", "python"}
