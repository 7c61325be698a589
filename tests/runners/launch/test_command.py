"""The launcher `command`: workers behind a prefix, their addresses, and their end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Final

import psutil
import pytest

from runners.launch.__main__ import addresses_on, prefixed
from runners.launch.cluster import ending
from runners.launch.launcher import Launcher, from_table, port_range
from runners.launch.worker import environment, settings, start_line
from runners.machine import environment as environment_of_machine
from runners.plan.cases import Case
from runners.plan.expand import Expanded
from runners.plan.host import Python, placed
from runners.plan.spec import SpecError
from runners.process.supervise import ROOT, Ended, ProcessLimits, supervise
from runners.sweep.measure import Bench, measure
from tests.each import each
from tests.faults.outcomes import FULL
from tests.runners.launch.test_local import WORKER
from tests.runners.networks import python
from tests.runners.stubs import HANG_S

HOSTS: Final = ("a=127.0.0.1", "b=127.0.0.1")
ENV: Final = Launcher(launcher="command", hosts=HOSTS, prefix="env HOST={host}")
SHELL: Final = replace(ENV, prefix='sh -c \'echo "Welcome to {host}"; "$@"\' sh')
"""A shell between launcher and worker that greets on standard output, as a login may."""


def _ended(how: str, mark: str, launcher: Launcher, workers: int = 4) -> Ended:
    start = launcher.arguments(workers, server=False)
    command = [sys.executable, *start, "-c", WORKER, mark]
    limits = ProcessLimits(timeout_s=HANG_S, memory_bytes=1 << 40)
    return supervise(command, {"how": how}, dict(os.environ), limits)


@pytest.mark.parametrize("launcher", [ENV, SHELL], ids=["env", "sh"])
def test_workers_behind_a_prefix_have_addresses_and_the_first_one_reports(
    mark: str, launcher: Launcher
) -> None:
    ended = _ended("ok", mark, launcher)
    assert (ended.status, ended.reason) == ("ok", None)
    [first] = [e["columns"] for e in ended.events if e["event"] == "imported"]
    assert first["rank"] == 0
    assert len(set(first["addresses"])) == 4
    assert all(int(a.rpartition(":")[2]) in range(20000, 30000) for a in first["addresses"])


@pytest.mark.parametrize(
    ("how", "status", "reason"),
    [
        ("killed", "peer_lost", "worker 1 of 4 ended: SIGKILL"),
        ("first killed", "peer_lost", "worker 0 of 4 ended: SIGKILL"),
        ("silent", "peer_lost", "worker 2 of 4 ended: exit code 3"),
        ("wrong", "crashed", "ValueError: no such layer"),
    ],
)
@pytest.mark.parametrize("launcher", [*([ENV] if FULL else []), SHELL], ids=lambda one: one.prefix)
def test_a_worker_behind_a_prefix_that_ends_early_ends_the_run_with_the_reason(
    mark: str, launcher: Launcher, how: str, status: str, reason: str
) -> None:
    ended = _ended(how, mark, launcher)
    assert (ended.status, ended.reason) == (status, reason)


def test_a_prefix_that_cannot_connect_ends_the_run(mark: str) -> None:
    ended = _ended("ok", mark, replace(ENV, prefix="sh -c 'exit 255'"))
    assert (ended.status, ended.reason) == ("peer_lost", "worker 0 of 4 ended: exit code 255")


def test_a_timeout_ends_the_workers_behind_a_shell(mark: str) -> None:
    start = SHELL.arguments(2, server=False)
    command = [sys.executable, *start, "-c", WORKER, mark]
    limits = ProcessLimits(timeout_s=2.0, memory_bytes=1 << 40)
    ended = supervise(command, {"how": "waits"}, dict(os.environ), limits)
    assert ended.status == "timeout"


def _worker(mark: str) -> subprocess.Popen[bytes]:
    """A worker of another session, as sshd starts one; only its input connects it."""
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", str(ROOT / "runners" / "launch" / "worker.py")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    code = "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', sys.argv[1], "
    code += "sys.argv[2]]); print('noise'); print('up', file=open('/dev/fd/' + "
    code += "__import__('os').environ['EPOCHWISE_EVENTS_FD'], 'w')); time.sleep(600)"
    assert process.stdin
    process.stdin.write(start_line(["-c", code, "import time; time.sleep(600)", mark], {}, "{}"))
    process.stdin.flush()
    return process


def test_a_worker_and_its_children_end_once_the_input_is_closed(mark: str) -> None:
    process = _worker(mark)
    assert process.stdin
    assert process.stdout
    assert process.stdout.readline() == b"up\n"  # the worker's own output is not in between
    process.stdin.close()
    assert process.wait(HANG_S) == 128 + signal.SIGKILL
    process.stdout.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux kills a child with its parent")
def test_a_worker_ends_with_a_killed_wrapper(mark: str) -> None:
    process = _worker(mark)
    assert process.stdin
    assert process.stdout
    process.stdout.readline()
    family = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.wait(HANG_S)
    end_s = time.monotonic() + HANG_S
    while family[0].is_running() and time.monotonic() < end_s:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)  # its grandchild: sshd would end it with the session
    process.stdin.close()
    process.stdout.close()


def test_a_worker_gets_the_settings_of_its_launcher_and_the_places_of_its_host() -> None:
    here = {"PATH": "/here", "HOME": "/root", "KERAS_BACKEND": "jax", "SSH_AUTH_SOCK": "/s",
            "PYTHONPATH": "/x", "OMP_NUM_THREADS": "1"}  # fmt: skip
    there = {"PATH": "/there", "HOME": "/home/b", "XLA_FLAGS": "--other", "LC_ALL": "C"}
    assert environment(there, settings(here)) == {
        "PATH": "/there", "HOME": "/home/b", "LC_ALL": "C", "KERAS_BACKEND": "jax",
        "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT),
    }  # fmt: skip


def test_workers_are_dealt_to_the_hosts_and_server_and_chief_are_on_the_first() -> None:
    launcher = Launcher(launcher="command", hosts=("me@a", "b=10.0.0.2"), ports="5000-5004")
    kinds = ["chief", "ps", *["worker"] * 4]
    assert addresses_on(launcher, kinds, 2) == [
        "a:5002", "a:5003", "a:5004", "10.0.0.2:5000", "a:5001", "10.0.0.2:5002",
    ]  # fmt: skip
    apart = replace(launcher, server_host="c=10.0.0.3")
    assert addresses_on(apart, kinds, 2)[:3] == ["10.0.0.3:5002", "10.0.0.3:5003", "a:5004"]
    assert prefixed(launcher, "b=10.0.0.2")[:2] == ["ssh", "b"]
    assert prefixed(replace(launcher, python="/p"), "me@a") == [
        "ssh", "me@a", "/p", "-I", "-S", f"{ROOT}/runners/launch/worker.py"
    ]  # fmt: skip


def test_an_exit_code_behind_a_prefix_may_be_a_signal() -> None:
    assert ending(-9, behind_prefix=False) == "SIGKILL"
    assert ending(137, behind_prefix=True) == "SIGKILL"
    assert ending(137, behind_prefix=False) == "exit code 137"
    assert ending(255, behind_prefix=True) == "exit code 255"


@each(("table", "problem"), [
        ({"launcher": "mpi"}, "launch.launcher: 'mpi' is unknown. Choose from: local, command, "
         "ray, spark, slurm."),
        ({"launcher": "command"}, "launch.hosts: is missing. Name the hosts of the workers, as "
         "a,b."),
        ({"hosts": "a"}, 'launch.hosts: launcher local takes no hosts. Set launcher = "command".'),
        ({"launcher": "command", "hosts": ["a", "a"]},
         "launch.hosts: a host is named twice. Workers are spread over distinct hosts."),
        ({"launcher": "command", "hosts": ["a b"]},
         "launch.hosts: 'a b' is not a name or name=address."),
        ({"launcher": "command", "hosts": "a", "ports": "9-8"},
         "launch.ports: '9-8' is not a range of ports, as 20000-29999."),
        ({"launcher": "command", "hosts": "a", "prefix": "ssh 'x"},
         "launch.prefix: \"ssh 'x\" is not a command, as ssh {host}."),
        ({"launcher": "command", "hosts": "a", "directory": "/a b"},
         "launch.directory: '/a b' contains characters that a shell changes."),
        ({"launcher": 3}, "launch.launcher: is 3; it must be text."),
        ({"hosts": [3]}, "launch.hosts: is [3]; it must be a list of names."),
        ({"launcher": "command", "server_host": "a"}, "launch.hosts: is missing. Name the hosts of "
         "the workers, as a,b."),
        ({"launcher": "command", "hosts": "a", "server_host": "b c"},
         "launch.hosts: 'b c' is not a name or name=address."),
        ({"host": "a"}, "launch.host: is unknown. Choose from: launcher, hosts, server_host, "
         "prefix, ports, directory, python."),
    ])  # fmt: skip
def test_a_wrong_table_is_refused_with_what_to_change(
    table: dict[str, object], problem: str
) -> None:
    assert from_table(table)[1] == [problem]


def test_a_range_of_ports_is_within_those_of_users() -> None:
    assert port_range("20000-20009") == range(20000, 20010)
    assert port_range("1000-2000") is None
    assert port_range("60000-70000") is None


CASE: Final = Case(
    sweep="strategies", workload="mlp", options=(("units", 16),), dataset="digits",
    train_samples=96, validation_samples=0, batch=32, epochs=2, strategy="multi-worker mirrored",
    devices=2,
)  # fmt: skip


def test_cases_of_several_processes_get_their_launcher_and_nodes() -> None:
    alone = replace(CASE, strategy="none", devices=1)
    cases = placed("x", Expanded(cases=(alone, CASE)), ENV).cases
    assert [(c.launcher, c.nodes) for c in cases] == [("local", 1), ("command", 2)]
    assert cases[0].case_id == alone.case_id
    assert cases[1].case_id != CASE.case_id


@pytest.mark.parametrize(
    ("case", "launcher", "problem"),
    [
        (replace(CASE, devices=3), ENV, "devices = 3 cannot be spread evenly over 2 hosts."),
        (replace(CASE, strategy="parameter server"), Launcher(launcher="ray"),
         "launcher ray starts synchronous workers only."),
        (replace(CASE, devices=4), replace(ENV, ports="20000-20001"),
         "launch.ports: 20000-20001 has 2 ports for 4 processes. Give a longer range."),
        (replace(CASE, strategy="mirrored"), ENV,
         "launcher command starts runs of several processes; this sweep has none."),
    ],
)  # fmt: skip
def test_cases_that_a_launcher_cannot_start_are_refused(
    case: Case, launcher: Launcher, problem: str
) -> None:
    with pytest.raises(SpecError, match=problem.replace(".", r"\.")):
        placed("x", Expanded(cases=(case,)), launcher)


@pytest.mark.parametrize(
    "strategy", ["multi-worker mirrored", *(["parameter server"] if FULL else [])]
)
def test_a_run_behind_a_prefix_is_a_row_of_two_nodes(strategy: str, tmp_path: Path) -> None:
    here = Python(path=python("tensorflow"), python_version="3.11", versions={})
    bench = Bench(
        pythons={"tensorflow": here}, environ=dict(os.environ), cache=tmp_path, memory_share=0.8,
        timeout_s=10 * HANG_S, launcher=ENV,
    )  # fmt: skip
    case = replace(CASE, strategy=strategy)  # type: ignore[arg-type]
    [case] = placed("x", Expanded(cases=(case,)), ENV).cases
    row = measure(case, bench, "strategies")
    assert (row["status"], row.get("status_reason")) == ("ok", None)
    assert (row["launch"], row["number_of_nodes"], row["accelerators_per_node"]) == (
        "command", 2, 1,
    )  # fmt: skip
    assert row["per_device_batch_size"] == 16
    assert 0.0 < row["pre_train_s"] < HANG_S
    assert "energy_kwh" not in row
    assert row["peak_memory_method"] == "resident memory"


def test_names_of_hosts_are_in_no_row(tmp_path: Path) -> None:
    here = Python(path=sys.executable, python_version="3.11", versions={})
    launcher = Launcher(launcher="command", hosts=("secret-node-7",), prefix="sh -c 'exit 255'")
    bench = Bench(
        pythons={"tensorflow": here}, environ=dict(os.environ), cache=tmp_path, memory_share=0.8,
        timeout_s=HANG_S, launcher=launcher,
    )  # fmt: skip
    row = measure(replace(CASE, launcher="command"), bench, "strategies")
    assert row["status"] == "peer_lost"
    assert "secret" not in str(row)
    texts = launcher.host_names()
    assert texts == {"HOST_0": "secret-node-7"}
    assert environment_of_machine.clean("no route to secret-node-7", texts) == "no route to ..."
