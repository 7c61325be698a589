"""The training itself, in real TensorFlow children: as few as the promises need."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
import pytest

from runners.converge.measure import RunChild, converge, supervised
from runners.machine import environment
from runners.process import events
from runners.process.events import Event
from runners.process.supervise import ROOT
from tests.faults.outcomes import FULL
from tests.runners import converge_stand_in as stand_in
from tests.runners.networks import answer, python

REQUEST: Final[dict[str, Any]] = {
    "workload": "mlp",
    "options": {"units": 16},
    "dataset": "digits",
    "train_samples": 600,
    "validation_samples": 200,
    "data_seed": 0,
    "optimizer": "momentum",
    "batch": 32,
    "rates": [0.02, 0.1],
    "seeds": [0, 3],
    "target": 0.001,
    "sampling": "epochwise",
    "interval": 4,
    "steps_limit": 24,
    "patience": 2.0,
    "threads": 1,
    "at_once": True,
}
SPEC: Final = """
title = "Small grid"
workload = "mlp"
options = { units = 32 }
dataset = "digits"
batch = [16, 256]
seeds = 2
target = 0.12
[learning_rates]
count = 3
widenings = 1
widen_by = 3
[optimizers.sgd]
lowest_rate = 0.03125
"""
AGAINST_KERAS: Final = """
import json
import keras
import numpy as np
import tensorflow as tf
from runners.child.samples import datasets
from runners.child.engines import trials
from runners.workloads import networks
from runners.child.samples.datasets import Orders
from runners.workloads import build

data = datasets.load("digits", 200, 100, 0)
make = lambda: build("mlp", data.dataset, {"units": 8})
keras.utils.set_random_seed(0)
model = make()
weights = [trials.initial_weights(make, seed) for seed in (0, 1)]
places = Orders([0, 1], 200, 16, "epochwise").take(6)
entropy = tf.nn.sparse_softmax_cross_entropy_with_logits

def put(values):
    for variable, value in zip(model.trainable_variables, values):
        variable.assign(value)

def by_keras(name, rate, trial, staleness=0):
    put(weights[trial][0])
    rule = networks.optimizer(name, rate)
    seen = [[v.numpy() for v in model.trainable_variables]]
    for step, at in enumerate(places[trial]):
        put(seen[max(step - staleness, 0)])
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(entropy(data.train_y[at], model(data.train_x[at])))
        gradients = tape.gradient(loss, model.trainable_variables)
        put(seen[-1])
        rule.apply(gradients, model.trainable_variables)
        seen.append([v.numpy() for v in model.trainable_variables])
    logits = model(data.validation_x).numpy()
    wrong = float((logits.argmax(1) != data.validation_y).mean())
    return [wrong, float(tf.reduce_mean(entropy(data.validation_y, logits)))]

def norms_by_keras(at):
    for variable, value in zip(model.trainable_variables, weights[0][0]):
        variable.assign(value)
    found = []
    for part in at:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(entropy(data.train_y[part], model(data.train_x[part])))
        grads = tape.gradient(loss, model.trainable_variables)
        found.append(np.concatenate([g.numpy().ravel() for g in grads]))
    return [float(np.mean([g @ g for g in found])), float((m := np.mean(found, axis=0)) @ m)]

def stack(name, staleness=0):
    made = trials.make(model, data, name, 2, staleness=staleness)
    made.start([0.01, 0.1], [w[0] for w in weights], [w[1] for w in weights])
    return made

told = {}
for name in NAMES:
    made = stack(name)
    made.train(tf.constant(places))
    errors, losses = (n.numpy().tolist() for n in made.evaluate())
    ours = [list(pair) for pair in zip(errors, losses)]
    told[name] = [ours, [by_keras(name, 0.01, 0), by_keras(name, 0.1, 1)]]
for staleness in STALE:
    made = stack("momentum", staleness)
    made.train(tf.constant(places[:, :3]))
    made.norms(tf.constant(places[:, :2]))  # a look changes nothing
    made.train(tf.constant(places[:, 3:]))
    errors, losses = (n.numpy().tolist() for n in made.evaluate())
    ours = [list(pair) for pair in zip(errors, losses)]
    told[f"{staleness} old"] = [
        ours, [by_keras("momentum", 0.01, 0, staleness), by_keras("momentum", 0.1, 1, staleness)]]
draws = Orders([0, 1], 200, 16, "epochwise").draw(4, 8)
told["norms"] = [[float(n[0]) for n in stack("sgd").norms(tf.constant(draws))],
                 norms_by_keras(draws[0])]
print(json.dumps(told))
"""


STAND_IN: Final = """#!{python}
import json, os, sys, time
from pathlib import Path
log, plan = Path({log!r}), {plan!r}
groups = json.load(sys.stdin)["groups"]
with log.open("a") as file:
    file.write(json.dumps([g["batch"] for g in groups]) + "\\n")
tell = os.fdopen(int(os.environ[{fd!r}]), "w", buffering=1)
print(json.dumps({{"event": "imported", "columns": {{"framework_version": "0"}}}}), file=tell)
for place, group in enumerate(groups):
    what = plan.get(str(group["batch"]), "")
    if what == "hangs" or (what == "dies in company" and place):
        time.sleep(60) if what == "hangs" else os._exit(3)
    row = {{"learning_rate": 0.1, "seed": group["batch"], "status": "ok"}}
    print(json.dumps({{"event": "rows", "rows": [row]}}), file=tell)
print(json.dumps({{"event": "result", "columns": {{}}}}), file=tell)
"""


def _environment() -> dict[str, str]:
    return environment.for_child(os.environ, backend="tensorflow", threads=1, device="cpu")


def _child() -> RunChild:
    return supervised(dict(os.environ), timeout_s=300, python=python("tensorflow"))


def _trials(**changes: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - entries of a request
    command = [python("tensorflow"), "-m", "runners.child.converge"]
    request = json.dumps({"groups": [{**REQUEST, **changes}]})
    done = subprocess.run(
        command, input=request, cwd=ROOT, env=_environment(), capture_output=True, text=True
    )
    result = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert [e["event"] for e in result] == ["imported", "built", "rows", "result"]
    rows: list[dict[str, Any]] = result[2]["rows"]
    return rows


GROUPS: Final[dict[str, dict[str, Any]]] = {
    "adam": {"optimizer": "adam"},
    **({"another batch": {"optimizer": "adam", "batch": 100}} if FULL else {}),
    "side by side": {},
    "one by one": {"at_once": False},
    "diverged": {"optimizer": "sgd", "rates": [0.1, 1e20]},
}
OTHERS: Final[dict[str, dict[str, Any]]] = {
    "simple-cnn": {"width": 4}, "row-lstm": {"units": 8},
    "row-transformer": {"layers": 1, "width": 8, "heads": 2},
    "vgg5": {"width": 4}, "resnet8-unnormalised": {"width": 8},
} if FULL else {}  # fmt: skip
"""Networks whose tracing takes longest."""
Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def mlp() -> dict[str, Rows]:
    """The rows of all groups of one network, trained by one child."""
    result = _told(_child(), [{**REQUEST, **changes} for changes in GROUPS.values()])
    return {name: result[place][-1]["rows"] for place, name in enumerate(GROUPS)}


def _other(workload: str) -> dict[str, Rows]:
    """The same of another network."""
    network = {"workload": workload, "options": OTHERS[workload]}
    names = ("side by side", "one by one")
    result = _told(_child(), [{**REQUEST, **network, **GROUPS[name]} for name in names])
    return {name: result[place][-1]["rows"] for place, name in enumerate(names)}


@pytest.mark.parametrize("network", ["mlp", *OTHERS])
def test_trials_side_by_side_have_the_curves_of_trials_alone(
    network: str, mlp: dict[str, Rows]
) -> None:
    rows = mlp if network == "mlp" else _other(network)
    together, alone = rows["side by side"], rows["one by one"]
    for a, b in zip(together, alone, strict=True):
        assert (a["learning_rate"], a["seed"]) == (b["learning_rate"], b["seed"])
        assert [e["step"] for e in a["evaluations"]] == [4, 8, 12, 16, 20, 24]
        for name, tolerance in (("loss", 1e-3), ("value", 0.0051)):  # one sample of 200
            ours = [e[name] for e in a["evaluations"]]
            assert ours == pytest.approx([e[name] for e in b["evaluations"]], rel=1e-3,
                                         abs=tolerance)  # fmt: skip
        assert a["gradient_noise_scale"] == pytest.approx(b["gradient_noise_scale"], rel=4e-2)
    losses = [tuple(e["loss"] for e in t["evaluations"]) for t in together]
    assert len(set(losses)) == 4


def test_updates_and_gradient_norms_are_those_of_keras() -> None:
    names = ["sgd", "momentum", "nesterov", "adam"] if FULL else ["momentum", "adam"]
    stale = [1, 4] if FULL else [4]
    result = answer(f"NAMES, STALE = {names}, {stale}\n{AGAINST_KERAS}", "tensorflow")
    assert set(result) == {*names, *(f"{updates} old" for updates in stale), "norms"}
    assert result["4 old"][0] != result["momentum"][0]
    for name, (ours, by_keras) in result.items():
        for a, b in zip(ours, by_keras, strict=True):
            assert a == pytest.approx(b, rel=1e-4), name


def test_a_diverged_trial_is_nan_with_its_step_and_harms_no_other(mlp: dict[str, Rows]) -> None:
    rows = mlp["diverged"]
    assert [r["status"] for r in rows] == ["ok", "ok", "nan", "nan"]
    assert all("learning rate 1e+20" in r["status_reason"] for r in rows[2:])
    assert all(len(r["evaluations"]) == 6 for r in rows[:2])
    assert not any(r["target_reached"] for r in rows)


@pytest.mark.skipif(not FULL, reason="`make faults` runs it")
def test_a_network_that_cannot_be_stacked_trains_one_trial_after_the_other() -> None:
    rows = _trials(workload="resnet8", options={"width": 4}, rates=[0.05], at_once=False,
                   steps_limit=4, train_samples=64, validation_samples=32)  # fmt: skip
    assert [r["seed"] for r in rows] == [0, 3]
    assert all(r["status"] == "ok" and len(r["evaluations"]) == 1 for r in rows)


def test_steps_fall_with_the_batch_and_a_cut_grid_is_widened(tmp_path: Path) -> None:
    spec = tmp_path / "small.toml"
    spec.write_text(SPEC)
    said = list[str]()
    assert converge(spec, tmp_path, stand_in.FACTS, _child(), said.append, name="set") == 0
    rows = [r for p in (tmp_path / "set").glob("*.parquet") for r in pq.ParquetFile(p).read()
            .to_pylist()]  # fmt: skip
    few, many = (int(cell) for cell in said[-1].split()[1:])
    assert few > 1.5 * many
    large = {r["learning_rate"] for r in rows if r["global_batch_size"] == 256}
    assert large > {0.03125, 0.0625, 0.125}
    reached = [r for r in rows if r["target_reached"]]
    assert all(r["evaluations"][-1]["step"] >= r["steps_to_target"] for r in reached)
    assert any(r["target_reached"] is False for r in rows)
    assert {r["params"] for r in rows} == {64 * 32 + 32 + 32 * 32 + 32 + 32 * 10 + 10}
    assert all(r["step_s"] is None and r["framework_version"] for r in rows)


def test_a_child_that_cannot_load_its_data_is_a_row_with_the_reason(tmp_path: Path) -> None:
    result = _told(_child(), [{**REQUEST, "train_samples": 100_000}])[0]
    assert result[-1]["event"] == "failed"
    assert result[-1]["status"] == "crashed"
    assert "digits has 1,280 training samples" in result[-1]["reason"]


def _told(run: RunChild, requests: Sequence[dict[str, Any]]) -> dict[int, list[Event]]:
    """What is told of each request; none is told of twice."""
    result: dict[int, list[Event]] = {}

    def took(place: int, events: list[Event]) -> None:
        assert place not in result
        result[place] = events

    run(requests, took)
    return result


def _stand_in(
    folder: Path, plan: dict[str, str], *, timeout_s: float = 300.0
) -> tuple[dict[int, list[Event]], list[list[int]]]:
    """What is told of batches 8, 16 and 32, and the batches each child was asked for."""
    program, log = folder / "python", folder / "log"
    program.write_text(
        STAND_IN.format(python=sys.executable, log=str(log), plan=plan, fd=events.FD)
    )
    program.chmod(0o755)
    run = supervised(dict(os.environ), timeout_s=timeout_s, python=str(program))
    result = _told(run, [{"batch": b, "threads": 1} for b in (8, 16, 32)])
    return result, [json.loads(line) for line in log.read_text().splitlines()]


def test_one_child_trains_all_groups_and_each_is_reported_with_what_they_share(
    tmp_path: Path,
) -> None:
    result, children = _stand_in(tmp_path, {})
    assert children == [[8, 16, 32]]
    assert [[e["event"] for e in result[i]] for i in range(3)] == [["imported", "rows"]] * 3
    assert [result[i][-1]["rows"][0]["seed"] for i in range(3)] == [8, 16, 32]


def test_a_group_that_fails_in_company_is_tried_as_the_first_of_a_fresh_child(
    tmp_path: Path,
) -> None:
    result, children = _stand_in(tmp_path, {"16": "dies in company"})
    assert children == [[8, 16, 32], [16, 32]]
    assert [result[i][-1]["event"] for i in range(3)] == ["rows"] * 3


def test_a_group_out_of_time_is_reported_so_and_the_others_go_on(tmp_path: Path) -> None:
    result, children = _stand_in(tmp_path, {"16": "hangs"}, timeout_s=6.0)
    assert children == [[8, 16, 32], [16, 32], [32]]
    assert [result[i][-1]["event"] for i in range(3)] == ["rows", "failed", "rows"]
    assert result[1][-1]["status"] == "timeout"
    assert result[1][-1]["reason"] == "not finished after 6 s"


@pytest.mark.parametrize("name", ["another batch", "side by side"] if FULL else ["side by side"])
def test_groups_of_one_child_have_the_numbers_of_children_of_their_own(
    name: str, mlp: dict[str, Rows]
) -> None:
    """The trace, the first weights and the variables are shared: nothing else may be."""
    assert mlp[name] == _trials(**GROUPS[name])
