"""The local launcher: addresses and environment for every worker, and one end for all of them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

import pytest

from runners.launch import LOCAL, SERVER
from runners.launch.__main__ import addresses
from runners.process.supervise import Ended, ProcessLimits, supervise
from tests.runners.stubs import HANG_S

WORKER: Final = """
import json, os, signal, sys, time
from runners.process.events import EventWriter
cluster = json.loads(os.environ["TF_CONFIG"])
rank, how = cluster["task"]["index"], json.load(sys.stdin)["how"]
send = EventWriter().send
send("imported", columns={"rank": rank, "addresses": cluster["cluster"]["worker"]})
if how == "killed" and rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
if how == "first killed" and rank == 0:
    os.kill(os.getpid(), signal.SIGKILL)
if how == "wrong" and rank == 1:
    send("failed", status="crashed", reason="ValueError: no such layer")
    sys.exit(1)
if how == "silent" and rank == 2:
    sys.exit(3)
if how != "ok":
    time.sleep(600)
send("timed")
"""


def _ended(how: str, mark: str, workers: int = 3) -> Ended:
    command = [sys.executable, *LOCAL, str(workers), "-c", WORKER, mark]
    limits = ProcessLimits(timeout_s=HANG_S, memory_bytes=1 << 40)
    return supervise(command, {"how": how}, dict(os.environ), limits)


def test_every_worker_has_the_request_and_the_addresses_and_the_first_one_reports(
    mark: str,
) -> None:
    ended = _ended("ok", mark)
    assert (ended.status, ended.reason) == ("ok", None)
    [first] = [e["columns"] for e in ended.events if e["event"] == "imported"]
    assert first["rank"] == 0
    assert len(set(first["addresses"])) == 3


@pytest.mark.parametrize(
    ("how", "status", "reason"),
    [
        ("killed", "peer_lost", "worker 1 of 3 ended: SIGKILL"),
        ("first killed", "peer_lost", "worker 0 of 3 ended: SIGKILL"),
        ("silent", "peer_lost", "worker 2 of 3 ended: exit code 3"),
        ("wrong", "crashed", "ValueError: no such layer"),
    ],
)
def test_a_worker_that_ends_early_ends_the_run_with_the_reason(
    mark: str, how: str, status: str, reason: str
) -> None:
    ended = _ended(how, mark)
    assert (ended.status, ended.reason) == (status, reason)


def test_addresses_are_different_ports_of_this_machine() -> None:
    found = addresses(8)
    assert len(set(found)) == 8
    assert all(one.startswith("127.0.0.1:") for one in found)


CHIEF: Final = """
import json, os, pathlib, signal, sys, time
from runners.process.events import EventWriter
task = json.loads(os.environ["TF_CONFIG"])["task"]
request = json.load(sys.stdin)
place = pathlib.Path(request["place"])
starts = place / f"{task['type']}{task['index']}"
with starts.open("a") as file:
    file.write("x")
if task["type"] == "chief":
    while (place / "worker1").exists() is False or len((place / "worker1").read_text()) < 2:
        time.sleep(0.01)
    EventWriter().send("timed")
elif task["type"] == request["victim"] and task["index"] == 1 and len(starts.read_text()) < 2:
    os.kill(os.getpid(), signal.SIGKILL)
elif task["type"] == request["victim"] == "ps":
    sys.exit(0)
else:
    time.sleep(600)
"""


def _with_server(mark: str, request: dict[str, str]) -> Ended:
    command = [sys.executable, *LOCAL, SERVER, "2", "-c", CHIEF, mark]
    limits = ProcessLimits(timeout_s=HANG_S, memory_bytes=1 << 40)
    return supervise(command, request, dict(os.environ), limits)


def test_a_killed_worker_of_an_asynchronous_run_is_started_again(mark: str, tmp_path: Path) -> None:
    ended = _with_server(mark, {"place": str(tmp_path), "victim": "worker"})
    assert (ended.status, ended.reason) == ("ok", None)
    starts = {file.name: len(file.read_text()) for file in tmp_path.iterdir()}
    assert starts == {"chief0": 1, "ps0": 1, "worker0": 1, "worker1": 2}


def test_a_run_without_its_parameter_server_is_over(mark: str, tmp_path: Path) -> None:
    ended = _with_server(mark, {"place": str(tmp_path), "victim": "ps"})
    assert (ended.status, ended.reason) == ("peer_lost", "ps 0 of 1 ended: exit code 0")
