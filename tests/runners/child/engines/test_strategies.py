"""Several devices in one process, and several processes: the same losses, and one end for all."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import psutil
import pytest

from runners.plan.cases import Case
from runners.plan.host import Python
from runners.process.events import Event
from runners.process.supervise import ROOT
from runners.sweep.measure import Bench, Hooks, measure
from runners.sweep.rows import planned
from tests.faults.outcomes import FULL
from tests.fork_server import JAX
from tests.runners.networks import answer, python
from tests.runners.stubs import HANG_S, new_mark

MARK: Final = "TF_EPOCHWISE_TEST"
"""In the environment of a run's processes, being TensorFlow's by name."""
LEAST_LOST_S: Final = 10.0
"""Time within which a synchronous run ends once a worker is gone [s], by the specification."""
BUSY_S: Final = 30.0
"""The same on a machine with more than `BUSY` runnable processes a core [s].

The end takes 0.1 s on an idle machine and 0.4 s with four runnable processes a core: it is counted
from the kill on one clock, without the start of the workers. So 10 s hold on a shared CI machine
too, and 30 s leave room for one that swaps.
"""
BUSY: Final = 4.0
STAGES: Final = 4 if FULL else 2
full = pytest.mark.skipif(not FULL, reason="`make faults` runs it")
CASE: Final = Case(
    sweep="strategies", workload="mlp", options=(("units", 16),), dataset="digits",
    train_samples=96, validation_samples=0, batch=32, epochs=2,
)  # fmt: skip


def _bench(tmp_path: Path, backend: str, path: str) -> Bench:
    here = Python(path=path, python_version="3.11", versions={})
    environ = {**os.environ, "KERAS_BACKEND": backend, MARK: new_mark()}
    return Bench(
        pythons={backend: here}, environ=environ, cache=tmp_path, memory_share=0.8,
        timeout_s=10 * HANG_S,
    )  # fmt: skip


@pytest.fixture
def fresh(tmp_path: Path) -> Bench:
    """The real child on TensorFlow, each process a fresh one."""
    return _bench(tmp_path, "tensorflow", sys.executable)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """The real child on TensorFlow, in forks of a warm process."""
    return _bench(tmp_path, "tensorflow", python("tensorflow"))


def _losses(row: Mapping[str, Any]) -> list[float]:
    return [epoch["loss"] for epoch in row["epochs"]]


def test_replicas_and_workers_have_the_losses_of_one_device(
    bench: Bench,
) -> None:
    cases = {
        "one": CASE,
        "two": replace(CASE, strategy="mirrored", devices=2),
        "workers": replace(CASE, strategy="multi-worker mirrored", devices=2),
        "four": replace(CASE, strategy="mirrored", devices=4),
        "four workers": replace(CASE, strategy="multi-worker mirrored", devices=4),
    }
    rows = {name: measure(case, bench, "strategies") for name, case in cases.items()}
    assert {name: row["status"] for name, row in rows.items()} == dict.fromkeys(rows, "ok")
    for name in set(rows) - {"one"}:
        assert _losses(rows[name]) == pytest.approx(_losses(rows["one"]), abs=1e-4)
        assert rows[name]["train_flops_per_sample"] == rows["one"]["train_flops_per_sample"]
        devices = cases[name].devices
        assert rows[name]["accelerators_per_node"] == devices
        assert rows[name]["per_device_batch_size"] == 32 // devices
        assert rows[name]["sync"] == "synchronous"
    assert [rows["one"][n] for n in ("accelerators_per_node", "per_device_batch_size", "sync")] == [
        1, 32, "none"]  # fmt: skip
    assert rows["workers"]["launch"] == "one process per worker"
    assert rows["workers"]["startup_s"] > 0.0
    assert rows["two"].get("startup_s") is None
    for name in ("two", "workers"):
        extra = json.loads(rows[name]["extra"])
        shares = [extra[f"{kind}_share"] for kind in ("compute", "communication", "input")]
        assert all(0.0 <= share <= 1.0 for share in shares)
        assert 0.0 < extra["compute_share"] <= sum(shares) <= 1.001
    assert json.loads(rows["workers"]["extra"])["communication_share"] > 0.0
    extras = {name: json.loads(row["extra"]) for name, row in rows.items()}
    assert {extra["gradient_bytes"] for extra in extras.values()} == {4 * rows["one"]["params"]}
    linked = [name for name, extra in extras.items() if "link_latency_s" in extra]
    assert linked == [name for name in cases if "workers" in name]
    link = extras["workers"]
    assert 0.0 < link["link_latency_s"] < 4e6 / link["link_4_mb_bytes_per_s"]
    assert link["link_16_mb_bytes_per_s"] > 0.0
    assert "network_bits_per_s" not in link  # loopback has no speed


def test_stages_and_micro_batches_have_the_losses_of_one_device(bench: Bench) -> None:
    whole = replace(CASE, batch=16, train_samples=48, optimizer="adam")
    if FULL:
        sizes = (("heads", 2), ("layers", STAGES // 2), ("width", 32))
        whole = replace(whole, workload="transformer", dataset="synthetic-tokens", options=sizes)
    cases = {
        "whole": whole,
        **({"cut": replace(whole, strategy="stage", devices=2)} if FULL else {}),
        "micro": replace(whole, strategy="stage", devices=STAGES, micro_batches=STAGES),
    }
    rows = {name: measure(case, bench, "strategies") for name, case in cases.items()}
    assert {name: row["status"] for name, row in rows.items()} == dict.fromkeys(rows, "ok")
    for name in set(rows) - {"whole"}:
        assert _losses(rows[name]) == pytest.approx(_losses(rows["whole"]), abs=1e-4)
    row, extra = rows["micro"], json.loads(rows["micro"]["extra"])
    assert [row[n] for n in ("parallelism", "pipeline_parallel", "micro_batch_size")] == [
        "stage", STAGES, 16 // STAGES]  # fmt: skip
    assert (row["per_device_batch_size"], row["accelerators_per_node"]) == (16, STAGES)
    assert extra["bubble_share"] == pytest.approx((STAGES - 1) / (2 * STAGES - 1))
    assert extra["part_devices"] == [f"CPU:{number}" for number in range(STAGES)]
    assert sum(extra["part_params"]) == rows["whole"]["params"]
    assert all(seconds > 0.0 for seconds in extra["part_s"])
    assert row["system_name"].startswith("stage on a ")


def test_towers_on_two_devices_have_the_losses_of_one(bench: Bench) -> None:
    whole = replace(CASE, workload="towers", options=(("towers", 2), ("width", 4)))
    one = measure(whole, bench, "strategies")
    two = measure(replace(whole, strategy="branch", devices=2), bench, "strategies")
    assert (one["status"], two["status"]) == ("ok", "ok"), two.get("status_reason")
    assert _losses(two) == pytest.approx(_losses(one), abs=1e-4)
    assert json.loads(two["extra"])["part_devices"] == ["CPU:0", "CPU:1", "CPU:0"]
    assert (two["parallelism"], two["params"]) == ("branch", one["params"])


def test_a_network_with_too_few_places_for_its_stages_says_so(bench: Bench) -> None:
    row = measure(replace(CASE, strategy="stage", devices=8), bench, "strategies")
    assert row["status"] == "crashed"
    assert "devices = 8 needs 8. Set devices to fewer" in row["status_reason"]


def test_a_case_for_a_tpu_says_what_is_missing_and_its_row_is_marked(bench: Bench) -> None:
    """No TPU exists here: the error is that of TensorFlow without one."""
    row = measure(replace(CASE, strategy="tpu", device="tpu", devices=8), bench, "strategies")
    assert row["status"] == "crashed"
    assert "cannot use a TPU here" in row["status_reason"]
    assert "install requirements/tpu.txt, or set backend = jax" in row["status_reason"]
    assert row["note"].endswith("have not tried TensorFlow's TPU strategy on a TPU.")
    assert (row["device_kind"], row["strategy"]) == ("tpu", "tpu")


@pytest.fixture
def on_jax(tmp_path: Path) -> Bench:
    """The real child on JAX, in forks; skips without its environment."""
    return _bench(tmp_path, "jax", python("jax"))


@pytest.fixture
def fresh_jax(tmp_path: Path) -> Bench:
    """The real child on JAX, each process a fresh one; skips without its environment."""
    if not JAX.exists():
        pytest.skip("there is no .venv-jax; `make jax` makes it")
    return _bench(tmp_path, "jax", str(JAX))


JAX_CASE: Final = replace(CASE, backend="jax", engine="fit", feed="PyDataset", jit=True)


def test_replicas_workers_and_shards_on_jax_have_the_losses_of_one_device(on_jax: Bench) -> None:
    cases = {
        "one": JAX_CASE,
        "tensor": replace(JAX_CASE, strategy="tensor", devices=2),
    }
    if FULL:
        for name in ("mirrored", "multi-worker mirrored"):
            cases[name] = replace(JAX_CASE, strategy=name, devices=2)
    rows = {name: measure(case, on_jax, "strategies") for name, case in cases.items()}
    assert {name: row["status"] for name, row in rows.items()} == dict.fromkeys(rows, "ok")
    for name in set(rows) - {"one"}:
        assert _losses(rows[name]) == pytest.approx(_losses(rows["one"]), abs=1e-4)
    kinds = {"one": "none", "tensor": "tensor"}
    assert {n: r["parallelism"] for n, r in rows.items()} == {n: kinds.get(n, "data") for n in rows}
    assert (rows["tensor"]["tensor_parallel"], rows["tensor"]["per_device_batch_size"]) == (2, 32)
    if FULL:
        assert rows["multi-worker mirrored"]["startup_s"] > 0.0
    assert rows["tensor"]["system_name"].startswith("shard on a ")


def test_a_split_transformer_sends_four_all_reduces_a_layer_and_two_at_its_ends(
    on_jax: Bench,
) -> None:
    layers, width = 1, 16
    whole = replace(
        JAX_CASE, workload="transformer", dataset="synthetic-tokens", batch=4, train_samples=8,
        options=(("heads", 2), ("layers", layers), ("width", width)), optimizer="adam",
    )  # fmt: skip
    one = measure(whole, on_jax, "strategies")
    two = measure(replace(whole, strategy="tensor", devices=2), on_jax, "strategies")
    assert (one["status"], two["status"]) == ("ok", "ok"), two.get("status_reason")
    assert _losses(two) == pytest.approx(_losses(one), abs=1e-4)
    extra = json.loads(two["extra"])
    hidden = 4 * 4 * 128 * width  # bytes of batch x tokens x width
    # The loss and the accuracy need a few numbers of each token from all words.
    small = 4 * 4 * 128 * (4 + 2)
    assert extra["step_sent_bytes"] == (4 * layers + 2) * hidden + small
    assert 0.5 < extra["step_argument_bytes"] / (12 * two["params"]) < 0.52
    assert extra["vocabulary"] == 8_192
    assert "step_sent_bytes" not in json.loads(one["extra"])


COMPILED: Final = """
import jax, keras, numpy
from runners.child.engines import jax_distribution
from runners.plan.cases import Case
jax_distribution.prepare(Case(sweep="s", workload="mlp", dataset="digits", train_samples=16,
                              validation_samples=0, batch=8, epochs=3, strategy={strategy!r},
                              backend="jax", devices=1), 0)
net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
net.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
net.fit(numpy.zeros((16, 4)), numpy.zeros(16), batch_size=8, epochs=3, verbose=0)
names = [e.hlo_modules()[0].name for e in jax.devices()[0].client.live_executables()]
print(sum("train_step" in name for name in names))
"""


@pytest.mark.parametrize("strategy", ["mirrored", "tensor"])
def test_a_step_of_one_device_is_compiled_once(strategy: str) -> None:
    """With a distribution over one device it was compiled in epochs 1 and 2, which was timed."""
    assert answer(COMPILED.format(strategy=strategy), "jax") == 1


def test_a_network_without_a_matrix_for_so_many_shards_says_so(on_jax: Bench) -> None:
    row = measure(replace(JAX_CASE, strategy="tensor", devices=3), on_jax, "strategies")
    assert row["status"] == "crashed"
    assert "can be divided by 3 devices: their shapes are 16x10, 16x16" in row["status_reason"]


def test_what_was_never_tried_on_its_hardware_is_marked() -> None:
    """No GPU and no Slurm cluster exist here, so only the planned columns are looked at."""
    workers = replace(CASE, strategy="multi-worker mirrored", devices=2)
    untried = {
        "workers on GPUs": replace(workers, device="gpu"),
        "several GPUs": replace(CASE, strategy="mirrored", devices=2, device="gpu"),
        "the launcher slurm on a Slurm cluster": replace(workers, launcher="slurm"),
    }
    for name, case in untried.items():
        assert planned(case)["note"] == f"Epochwise's authors have not tried {name}."
    for case in (workers, replace(CASE, device="gpu")):
        assert planned(case)["note"] is None


def test_workers_are_placed_on_their_host_in_turn() -> None:
    program = "from runners.child.engines.backend import place_on_host; print(place_on_host())"
    found = []
    for index, place in ((0, None), (1, None), (2, {"nodes": 2}), (3, {"nodes": 2})):
        config = {"task": {"type": "worker", "index": index}}
        environ = {**os.environ, "TF_CONFIG": json.dumps(config)}
        environ |= {"EPOCHWISE_PLACE": json.dumps(place)} if place else {}
        done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environ,
                              capture_output=True, text=True, check=True)  # fmt: skip
        found.append(int(done.stdout))
    assert found == [0, 1, 1, 1]


def _workers(bench: Bench, index: int | None = 1) -> Iterator[psutil.Process]:
    """One of the workers of a run, or all; of a fork, the process that it ends with."""
    task = '"task": {"type": "worker", "index": ' + ("" if index is None else f"{index}}}")
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            environ = process.environ()
            ours = environ.get(MARK) == bench.environ[MARK]
            if ours and task in environ.get("TF_CONFIG", ""):
                yield process


@pytest.mark.parametrize(
    ("place", "whole"),
    [("fresh", CASE), ("fresh_jax", JAX_CASE)] if FULL else [("bench", CASE)],
)
def test_a_killed_worker_ends_a_synchronous_run_and_leaves_no_process(
    place: str, whole: Case, request: pytest.FixtureRequest
) -> None:
    bench: Bench = request.getfixturevalue(place)
    killed_s: list[float] = []

    def kill(event: Event) -> None:
        if event["event"] == "epoch" and not killed_s:
            for worker in list(_workers(bench)):
                worker.kill()
                killed_s.append(time.monotonic())

    case = replace(whole, strategy="multi-worker mirrored", devices=2, epochs=100_000)
    row = measure(case, bench, "strategies", Hooks(on_event=kill))
    assert len(killed_s) == 1
    lost_s = time.monotonic() - killed_s[0]
    load = psutil.getloadavg()[0] / (psutil.cpu_count() or 1)
    assert lost_s < (LEAST_LOST_S if FULL or load < BUSY else BUSY_S), f"load a core: {load:.1f}"
    assert row["status"] == "peer_lost", row.get("status_reason")
    assert list(_workers(bench, None)) == []


def test_an_asynchronous_run_goes_on_and_takes_its_restarted_worker_back(bench: Bench) -> None:
    killed: list[int] = []
    restarted: list[int] = []

    def kill(event: Event) -> None:
        awaited = event["event"] == "epoch" and not restarted
        workers = [w.pid for w in _workers(bench)] if awaited else []
        if workers and not killed:
            psutil.Process(workers[0]).kill()
            killed.extend(workers)
        restarted.extend(pid for pid in workers if pid not in killed)

    case = replace(CASE, strategy="parameter server", devices=2, epochs=100)
    row = measure(case, bench, "strategies", Hooks(on_event=kill))
    assert row["status"] == "ok"
    assert len(row["epochs"]) == 100
    assert len(killed) == 1
    assert restarted
    assert (row["sync"], row["staleness"] >= 0) == ("asynchronous", True)
    assert list(_workers(bench)) == []


@full
def test_an_asynchronous_run_of_one_worker_is_finished_by_the_restarted_one(bench: Bench) -> None:
    killed: list[int] = []

    def kill(event: Event) -> None:
        if event["event"] == "epoch" and not killed:
            for worker in list(_workers(bench, 0)):
                worker.kill()
                killed.append(worker.pid)

    row = measure(
        replace(CASE, strategy="parameter server", epochs=20), bench, "strategies",
        Hooks(on_event=kill),
    )  # fmt: skip
    assert (row["status"], row.get("status_reason")) == ("ok", None)
    assert len(killed) == 1
    assert len(row["epochs"]) == 20


def test_updates_of_one_worker_are_never_stale_and_those_of_four_are(bench: Bench) -> None:
    rows = {}
    for workers in (1, 4) if FULL else (1,):
        case = replace(CASE, strategy="parameter server", devices=workers, epochs=20)
        row = rows[workers] = measure(case, bench, "strategies")
        assert (row["status"], row["sync"]) == ("ok", "asynchronous"), row.get("status_reason")
        assert len(row["epochs"]) == 20
    assert rows[1]["staleness"] == 0
    assert not FULL or rows[4]["staleness"] > 0
