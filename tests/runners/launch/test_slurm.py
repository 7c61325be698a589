"""The launcher `slurm`, with the variables of srun set here: no Slurm cluster was at hand."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from runners.launch.launcher import Launcher
from runners.launch.slurm import expanded, tasks_per_node, variables, workers
from runners.machine import environment
from runners.plan import cases
from runners.plan.cases import Case
from runners.plan.expand import Expanded
from runners.plan.host import Python, placed
from runners.process.events import parse
from runners.process.supervise import ROOT
from runners.sweep.measure import Bench, measure
from tests.each import each
from tests.faults.outcomes import FULL
from tests.runners.networks import python
from tests.runners.stubs import HANG_S

CASE: Final = Case(
    sweep="strategies", workload="mlp", options=(("units", 16),), dataset="digits",
    train_samples=96, validation_samples=0, batch=32, epochs=2, strategy="multi-worker mirrored",
    devices=2,
)  # fmt: skip
STEP: Final = {"SLURM_NTASKS": "2", "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0"}


@pytest.mark.parametrize(
    ("nodes", "names"),
    [
        ("a", ["a"]),
        ("node[01-03,07],gpu1", ["node01", "node02", "node03", "node07", "gpu1"]),
        ("a[9-11]", ["a9", "a10", "a11"]),
        ("r[1-2]n[1-2]-ib", ["r1n1-ib", "r1n2-ib", "r2n1-ib", "r2n2-ib"]),
        ("10.0.0.[1-2]", ["10.0.0.1", "10.0.0.2"]),
    ],
)
def test_a_node_list_is_expanded(nodes: str, names: list[str]) -> None:
    assert expanded(nodes) == names


@each("nodes", ["", ",", "a[1-", "a[x]", "a[1-999999999]", "a]"])
def test_a_damaged_node_list_is_refused(nodes: str) -> None:
    with pytest.raises(ValueError, match="node list"):
        expanded(nodes)


def test_tasks_per_node_are_those_of_slurm() -> None:
    assert tasks_per_node("2(x3),1", 4, 7) == [2, 2, 2, 1]
    assert tasks_per_node(None, 2, 4) == [2, 2]
    with pytest.raises(ValueError, match="7 tasks on 2 nodes do not fit '3' tasks per node"):
        tasks_per_node("3", 2, 7)


def test_addresses_are_in_the_order_of_the_tasks_and_agree() -> None:
    step = {**STEP, "SLURM_NTASKS": "4", "SLURM_STEP_NODELIST": "n[1-2]"}
    made = [variables({**step, "SLURM_PROCID": str(i)}) for i in range(4)]
    configs = [json.loads(one["TF_CONFIG"]) for one in made]
    addresses = configs[0]["cluster"]["worker"]
    assert all(one["cluster"]["worker"] == addresses for one in configs)
    assert [one["task"]["index"] for one in configs] == [0, 1, 2, 3]
    assert [a.partition(":")[0] for a in addresses] == ["n1", "n1", "n2", "n2"]
    assert len({a.partition(":")[2] for a in addresses}) == 4
    place = json.loads(made[0]["EPOCHWISE_PLACE"])
    assert place == {"launch": "slurm", "nodes": 2, "per_node": 2}


def test_without_srun_the_missing_variables_are_named() -> None:
    with pytest.raises(ValueError, match="SLURM_PROCID, SLURM_NTASKS is not set"):
        workers({"SLURM_STEP_NODELIST": "a"})
    with pytest.raises(ValueError, match="3 workers are spread unevenly over 2 nodes"):
        variables({**STEP, "SLURM_NTASKS": "3", "SLURM_STEP_NODELIST": "a,b",
                   "SLURM_PROCID": "0", "SLURM_STEP_TASKS_PER_NODE": "2,1"})  # fmt: skip


def _environ() -> dict[str, str]:
    plain = environment.for_child(os.environ, backend="tensorflow", threads=1, device="cpu")
    return {**plain, **STEP, "SLURM_STEP_NODELIST": "127.0.0.[1-2]"}


@pytest.mark.skipif(not FULL, reason="`make faults` runs it; the next test starts the same tasks")
def test_two_tasks_train_together_and_the_first_one_reports(tmp_path: Path) -> None:
    request = json.dumps({"case": cases.to_json(CASE), "cache": str(tmp_path)}).encode()
    command = [python("tensorflow"), "-m", "runners.launch.slurm", "-m", "runners.child"]
    began_s = time.perf_counter()
    tasks = [
        subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         env={**_environ(), "SLURM_PROCID": str(i)})
        for i in range(2)
    ]  # fmt: skip
    try:
        for task in tasks:
            assert task.stdin
            task.stdin.write(request)
            task.stdin.close()
        output = [task.stdout.read() for task in tasks if task.stdout]
        assert [task.wait(10 * HANG_S) for task in tasks] == [0, 0]
    finally:
        for task in tasks:
            task.kill()
            if task.stdout:
                task.stdout.close()
    assert output[1] == b""
    events = {e["event"]: e for line in output[0].splitlines() if (e := parse(line))}
    assert events.keys() >= {"imported", "training", "epoch", "timed", "result"}
    columns = events["imported"]["columns"]
    assert (columns["launch"], columns["number_of_nodes"], columns["accelerators_per_node"]) == (
        "slurm", 2, 1,
    )  # fmt: skip
    assert 0.0 < events["training"]["columns"]["pre_train_s"] < time.perf_counter() - began_s


SRUN: Final = """#!/bin/sh
# Sets the variables of srun for two tasks on this machine, each with the same input.
while [ "${1#--}" != "$1" ]; do [ "$1" = --ntasks ] && shift; shift; done
export SLURM_NTASKS=2 SLURM_JOB_ID=9 SLURM_STEP_ID=1 SLURM_STEP_NODELIST=localhost
read -r request
for rank in 0 1; do
  printf '%s\\n' "$request" | SLURM_PROCID=$rank "$@" &
done
wait
"""


@pytest.mark.skipif(not FULL, reason="`make faults` runs it; test_command.py has two real tasks")
def test_a_run_through_srun_is_a_row(tmp_path: Path) -> None:
    (tmp_path / "srun").write_text(SRUN)
    (tmp_path / "srun").chmod(0o755)
    here = Python(path=python("tensorflow"), python_version="3.11", versions={})
    launcher = Launcher(launcher="slurm")
    bench = Bench(
        pythons={"tensorflow": here}, cache=tmp_path, memory_share=0.8, timeout_s=10 * HANG_S,
        environ={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}, launcher=launcher,
    )  # fmt: skip
    [case] = placed("x", Expanded(cases=(CASE,)), launcher).cases
    row = measure(case, bench, "strategies")
    assert (row["status"], row.get("status_reason")) == ("ok", None)
    assert (row["launch"], row["number_of_nodes"], row["accelerators_per_node"]) == (
        "slurm", 1, 2,
    )  # fmt: skip


def test_without_srun_the_run_says_so(tmp_path: Path) -> None:
    here = Python(path=sys.executable, python_version="3.11", versions={})
    bench = Bench(
        pythons={"tensorflow": here}, cache=tmp_path, memory_share=0.8, timeout_s=HANG_S,
        environ={**os.environ, "PATH": str(tmp_path)}, launcher=Launcher(launcher="slurm"),
    )  # fmt: skip
    row = measure(replace(CASE, launcher="slurm"), bench, "strategies")
    assert row["status"] == "crashed"
    assert row["status_reason"] == (
        "srun cannot be started: No such file or directory. Run this in a Slurm allocation."
    )
