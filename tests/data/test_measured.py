"""The sets we measured ourselves: whole, small, and honest about the machine."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
import pytest

from data.ship import MOST_BYTES, ship
from planner.core import Refusal
from planner.runs import SUMMARY, run_id
from planner.scaling import ring_step_s
from planner.store.disk.folders import OWN, SHIPPED
from planner.store.sealed.commit import commit_runs
from planner.store.sealed.result_set import read_set
from planner.throughput import fit_throughput
from runners.converge import spec as target_spec
from runners.plan import spec
from runners.plan.expand import Host, expand
from tests.each import each
from tests.store.build import row

ROOT: Final = Path(__file__).parent.parent.parent
RESULTS: Final = ROOT / "data" / "results"
SETS: Final = sorted(p.name for p in RESULTS.iterdir() if "-2-core-" in p.name)
each_set = pytest.mark.parametrize("slug", SETS)

FAMILIES: Final = "families-2-core-epyc"
BACKENDS: Final = "backends-2-core-epyc"
PATTERNS: Final = "patterns-wideresnet-2m-2-core-epyc"
FEEDS: Final = "feeds-2-core-epyc"
INFERENCE: Final = "inference-2-core-epyc"
DIGITS: Final = "digits-2-core-epyc"
TARGET: Final = "steps-to-target-digits-2-core-epyc"
STRATEGIES: Final = "strategies-2-core-xeon"
TO_FIVE_PER_CENT: Final = "steps-to-target-families-2-core-xeon"
SPLIT: Final = "model-parallel-2-core-intel-xeon"
LINKS: Final = "links-2-core-amd-epyc"
SERVER: Final = "links-server-2-core-amd-epyc"
OF_LINKS: Final = {LINKS, SERVER}
"""Sets of the command `links`, which has no sweep."""
ON_RAY: Final = "quick-two-ray-nodes-2-core-xeon"
UNEVEN: Final = "uneven-workers-2-core-amd-epyc"
WAITING: Final = "waiting-stages-2-core-amd-epyc"
TENSOR: Final = "tensor-parallel-2-core-amd-epyc"
STALE: Final = "digits-stale-gradients-2-core-amd-epyc"
ON_H100: Final = "one-gpu-nvidia-h100"
LIMITS: Final = "one-gpu-limits-nvidia-h100"
ON_H200: Final = "one-gpu-nvidia-h200"
NETWORKS: Final = "one-gpu-networks-nvidia-h200"
ON_GPU: Final = {
    ON_H100: "NVIDIA H100 80GB HBM3",
    ON_H200: "NVIDIA H200",
    NETWORKS: "NVIDIA H200",
}
"""Names of the cards by set; the sets of GPUs are not among SETS."""
ON_XEON: Final = {STRATEGIES, TO_FIVE_PER_CENT, SPLIT, ON_RAY}
TRIALS: Final = {TARGET, TO_FIVE_PER_CENT, STALE}
"""Sets of trials that trained side by side, so they were not timed."""


@cache
def _rows(slug: str) -> list[dict[str, Any]]:
    (path,) = (RESULTS / slug).glob("*.parquet")
    held = pq.read_schema(path).names
    read = pq.read_table(path, columns=[name for name in SUMMARY if name in held]).to_pylist()
    absent = dict.fromkeys(SUMMARY)  # columns that came with a later version of the table
    return [absent | row for row in read]


def _good(slug: str) -> list[dict[str, Any]]:
    return [r for r in _rows(slug) if r["status"] == "ok"]


@each("slug", [s for s in SETS if s not in {*TRIALS, *OF_LINKS}])
def test_a_set_holds_the_runs_of_the_shipped_sweep_and_no_others(slug: str) -> None:
    """Who runs the sweep again measures the very same cases."""
    [name] = {r["sweep"] for r in _rows(slug)}
    planned = expand(spec.read(spec.find(name)), Host(device="cpu", backends=("tensorflow", "jax")))
    cases = {json.loads(r["extra"])["case_id"] for r in _rows(slug)}
    assert cases == {case.case_id for case in planned.cases}


@each("slug", sorted(TRIALS))
def test_steps_to_target_are_those_of_the_shipped_sweep(slug: str) -> None:
    [name] = {r["sweep"] for r in _rows(slug)}
    plans = {json.loads(r["extra"])["plan"] for r in _rows(slug)}
    assert plans == {plan.digest for plan in target_spec.read(spec.find(name))}


def test_all_sets_are_there() -> None:
    sets = {
        FAMILIES,
        BACKENDS,
        PATTERNS,
        FEEDS,
        INFERENCE,
        DIGITS,
        TARGET,
        UNEVEN,
        WAITING,
        TENSOR,
        STALE,
        *OF_LINKS,
    }
    assert set(SETS) == sets | ON_XEON


def test_the_link_of_100_mbit_s_is_predicted_within_15_per_cent() -> None:
    """The prediction is that of `runners links`, from the run over the unlimited link."""
    by_link = {r["host_networking"]: r for r in _good(LINKS)}
    free, limited = by_link[None], by_link["100 Mbit/s, limited by tc"]
    size = json.loads(limited["extra"])["gradient_bytes"]
    predicted_s = ring_step_s(free["step_p50_s"], 2, size, 100e6, 0.0)
    assert predicted_s == pytest.approx(limited["step_p50_s"], rel=0.15)
    assert len(by_link) == 4
    rates = {json.loads(r["extra"]).get("network_bits_per_s") for r in _good(LINKS)}
    assert rates == {None, 10e9, 1e9, 100e6}, "the rate of the link, not of the interface"


def test_stages_that_wait_have_the_bubble_of_the_formula() -> None:
    steps = {(r["pipeline_parallel"], r["micro_batch_size"]): r["step_s"] for r in _good(WAITING)}
    assert len(steps) == 8
    for (stages, size), step_s in steps.items():
        micro_batches = 16 // size
        filled = (micro_batches + stages - 1) / (micro_batches * stages)
        predicted_s = steps[stages, 16] * filled  # a call of a stage adds its overhead
        assert 0.97 * predicted_s < step_s < 1.1 * predicted_s


def test_a_divided_network_holds_its_part_and_sends_more_than_a_copy_of_it() -> None:
    rows = [r for r in _good(TENSOR) if r["model"].startswith("Transformer 4x256")]
    assert len(rows) == 8
    facts = {(r["strategy"], r["accelerators_per_node"], r["global_batch_size"]):
             json.loads(r["extra"]) for r in rows}  # fmt: skip
    for batch in (4, 16):
        whole, *parts = [facts["tensor", n, batch]["step_argument_bytes"] for n in (1, 2, 4)]
        assert parts == pytest.approx([whole / 2, whole / 4], rel=0.02)
        assert facts["tensor", 1, batch]["step_sent_bytes"] == 0
    for n in (2, 4):
        assert facts["mirrored", n, 16]["step_collectives"].keys() == {"all-reduce"}
        sent = [facts[s, n, 16]["step_sent_bytes"] for s in ("tensor", "mirrored")]
        assert sent[0] > 1.2 * sent[1]


def test_micro_batches_fill_the_bubble_of_two_stages() -> None:
    speeds = {
        r["micro_batch_size"]: r["throughput"] for r in _good(SPLIT) if r["pipeline_parallel"] == 2
    }
    assert speeds[4] > 1.3 * speeds[16]
    shares = [json.loads(r["extra"])["bubble_share"] for r in _good(SPLIT)
              if r["parallelism"] == "stage"]  # fmt: skip
    assert min(shares) == 0.0
    assert max(shares) == 0.75


def test_runs_over_ray_are_on_both_nodes_once_each() -> None:
    cases = [json.loads(r["extra"])["case_id"] for r in _good(ON_RAY)]
    assert len(set(cases)) == len(cases) == 12


@each("slug", sorted(ON_GPU))
def test_the_runs_of_a_gpu_are_of_the_shipped_sweep_and_possible_on_that_card(slug: str) -> None:
    [name] = {r["sweep"] for r in _rows(slug)}
    planned = expand(spec.read(spec.find(name)), Host(device="gpu", backends=("jax",)))
    cases = {json.loads(r["extra"])["case_id"] for r in _rows(slug)}
    assert cases < {case.case_id for case in planned.cases}, "the rest is named in set.toml"
    for r in _good(slug):
        assert (r["accelerator_model_name"], r["framework"]) == (ON_GPU[slug], "JAX")
        assert r["energy_source"] == "NVML counter"
        assert 100 < r["mean_power_watts"] < 700
        assert r["peak_memory_bytes"] < r["accelerator_memory_bytes"]
        if r["gemm_flops_per_s"]:
            peak = 494.7e12 if r["precision"] == "float32" else 989.4e12  # dense TF32 and BF16
            rate = r["throughput"] * r["train_flops_per_sample"]
            assert rate < r["gemm_flops_per_s"] < peak, "data sheet of the H100 and the H200"


def test_the_batch_that_did_not_fit_is_more_than_its_memory_line_leaves_room_for() -> None:
    [failed] = [r for r in _rows(ON_H100) if r["status"] == "oom"]
    assert (failed["model"], failed["global_batch_size"]) == ("Transformer 12x768, 12 heads", 2048)
    assert "Out of memory while trying to allocate 108.27GiB" in failed["status_reason"]
    peaks = {
        r["global_batch_size"]: r["peak_memory_bytes"]
        for r in _good(ON_H100)
        if (r["model"], r["precision"]) == (failed["model"], failed["precision"])
    }
    slope = (peaks[512] - peaks[128]) / (512 - 128)
    assert peaks[512] + slope * (2048 - 512) > 1.5 * failed["accelerator_memory_bytes"]
    assert peaks[512] < 0.5 * failed["accelerator_memory_bytes"]


def test_article_002_s_network_does_not_fit_where_its_memory_line_has_no_room() -> None:
    rows = [r for r in _rows(LIMITS) if r["model"] == "WideResNet-103M"]
    assert {r["global_batch_size"]: r["status"] for r in rows} == {
        8: "ok", 64: "ok", 15_604: "oom", 31_144: "oom", 62_225: "oom",
    }  # fmt: skip
    assert all(r["throughput"] is None and "speed is left out" in r["note"] for r in rows)
    peaks = {r["global_batch_size"]: r["peak_memory_bytes"] for r in _good(ON_H100)
             if r["model"] == "WideResNet-103M"}  # fmt: skip
    slope = (peaks[1024] - peaks[256]) / (1024 - 256)
    [memory] = {r["accelerator_memory_bytes"] for r in rows}
    assert 4_000 < (memory - peaks[1024]) / slope + 1024 < 15_604


def test_single_steps_of_a_gpu_add_up_to_its_epochs() -> None:
    [path] = (RESULTS / LIMITS).glob("*.parquet")
    rows = [r for r in pq.read_table(path).to_pylist() if r["steps"]]
    assert {(r["model"], r["global_batch_size"]) for r in rows} == {
        ("Transformer 12x768, 12 heads", 64),
        ("Transformer 12x768, 12 heads", 256),
        ("ResNet-50", 128),
    }
    for r in rows:
        seconds = [s["step_s"] for s in r["steps"]]
        assert len(seconds) == 300
        assert sum(seconds[100:]) == pytest.approx(2 * r["later_epoch_mean_s"], rel=0.05)


def test_the_h100_is_predicted_from_the_h200_within_15_per_cent(tmp_path: Path) -> None:
    """The prediction uses the runs of the H200 and the data sheets; the H100's are set aside."""
    shutil.copytree(RESULTS / ON_H200, tmp_path / ON_H200)
    environment = os.environ | {SHIPPED: str(tmp_path), OWN: str(tmp_path / "none")}
    called = subprocess.run(
        [sys.executable, "-c", FROM_H200], cwd=ROOT, env=environment, check=True,
        capture_output=True, text=True,
    )  # fmt: skip
    predicted = json.loads(called.stdout)
    assert len(predicted) == 4
    for model, batch, speed, low, high in predicted:
        # WideResNet-103M was not run at the H200's 2,048 there; its speed hardly grows from 1,024.
        runs = [r for r in _good(ON_H100) if r["model"] == model]
        true = max(r["throughput"] for r in runs if r["global_batch_size"] <= batch)
        assert low < true < high
        assert speed == pytest.approx(true, rel=0.15), model


FROM_H200: Final = """
import json, planner
models = {
    "wideresnet-103m-synthetic-cifar-100-adam-float32": "WideResNet-103M",
    "transformer-12x768-12-heads-synthetic-tokens-adam-mixed-bfloat16~746216":
        "Transformer 12x768, 12 heads",
    "resnet-50-synthetic-imagenet-adam-mixed-bfloat16~29c83e": "ResNet-50",
    "simple-cnn-32-64-synthetic-cifar-10-adam-float32": "simple CNN 32-64",
}
option = "rent-lambda-any-1x-h100-sxm-on-demand"
rows = []
for workload, model in models.items():
    [row] = planner.compare(workload=workload, options=[option], epochs=1).rows
    assert row.record["basis"] == "transferred from another GPU", row
    speed = row.samples_per_s
    rows.append((model, row.batch, speed.value, speed.low, speed.high))
print(json.dumps(rows))
"""


def test_large_batches_pay_on_a_gpu_until_it_is_full_and_memory_grows_with_them() -> None:
    rows = sorted(
        (r for r in _good(ON_H200) if r["model"] == "WideResNet-103M"),
        key=lambda r: r["global_batch_size"],
    )
    assert [r["global_batch_size"] for r in rows] == [64, 256, 1024, 2048]
    speeds = [r["throughput"] for r in rows]
    assert speeds == sorted(speeds)
    assert speeds[1] > 1.2 * speeds[0]
    assert speeds[3] < 1.02 * speeds[2]
    per_sample = [
        (b["peak_memory_bytes"] - a["peak_memory_bytes"])
        / (b["global_batch_size"] - a["global_batch_size"])
        for a, b in itertools.pairwise(rows)
    ]
    assert max(per_sample) < 1.25 * min(per_sample), "peak memory is a line in the batch size"


@each_set
def test_a_set_is_one_small_file_whose_runs_are_what_their_ids_say(slug: str) -> None:
    (path,) = (RESULTS / slug).glob("*.parquet")
    assert path.stat().st_size < MOST_BYTES
    assert all(r["run_id"] == run_id(r) for r in _rows(slug)[:50])


@each_set
def test_its_title_names_the_machine_and_the_day_and_its_text_the_load(slug: str) -> None:
    result, problem = read_set(RESULTS / slug, "shipped")
    assert problem is None
    assert re.search(
        r": 2-core (AMD EPYC|Intel Xeon( and AMD EPYC)?), \d+ (and \d+ )?\w+ 20\d\d$", result.title
    )
    assert result.basis == "measured"
    assert all((result.licence, result.source, result.citation, result.author))
    if slug not in {*TRIALS, *OF_LINKS}:
        assert "Load average before the runs" in result.about


@each_set
def test_every_run_says_where_with_what_and_by_which_code_it_was_measured(slug: str) -> None:
    for r in _rows(slug):
        assert r["basis"] == "measured"
        assert r["device_kind"] == "cpu"
        hosts = ["2-core Intel Xeon"] if slug in ON_XEON else ["2-core AMD EPYC"]
        hosts += ["2-core AMD EPYC"] if slug == TO_FIVE_PER_CENT else []
        assert any(host in r["system_name"] for host in hosts)
        assert all(r[n] for n in ("framework_version", "python_version", "git_describe", "params"))
        assert r["synthetic_data"] is not None
        assert "dirty" not in r["git_describe"]
        assert json.loads(r["extra"])["dataset_sha256"]


@each_set
def test_no_set_reports_a_path_an_address_or_a_user(slug: str) -> None:
    whole = (RESULTS / slug / "set.toml").read_text() + json.dumps(_rows(slug), default=str)
    assert not re.search(r"/(home|root|tmp|work|Users)\b|\b\d+\.\d+\.\d+\.\d+\b", whole)


def _curves(slug: str, *names: str) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for r in _good(slug):
        if r["step_s"]:
            found[tuple(r[n] for n in names)].append(r)
    return found


def test_at_least_five_families_have_at_least_six_batch_sizes() -> None:
    curves = _curves(FAMILIES, "model")
    long = [k for k, rows in curves.items() if len({r["global_batch_size"] for r in rows}) >= 6]
    assert len(long) >= 5


def test_most_families_follow_the_throughput_law() -> None:
    curves = _curves(FAMILIES, "model")
    fits = [
        fit_throughput([r["global_batch_size"] for r in rows], [r["step_s"] for r in rows])
        for rows in curves.values()
    ]
    assert sum(not isinstance(f, Refusal) for f in fits) >= len(fits) / 2


def test_tensorflow_and_jax_and_jit_on_and_off_are_there_for_the_same_networks() -> None:
    kinds = {(r["model"], r["backend"], r["engine"], r["jit"]) for r in _good(BACKENDS)}
    for model in {k[0] for k in kinds}:
        assert {k[1:] for k in kinds if k[0] == model} == {
            ("tensorflow", "loop", False),
            ("tensorflow", "loop", True),
            ("tensorflow", "fit", False),
            ("tensorflow", "fit", True),
            ("jax", "fit", False),
            ("jax", "fit", True),
        }


def test_the_eight_patterns_are_there_with_the_small_network() -> None:
    names = ("validation", "augmentation", "storage", "workers", "multiprocessing")
    found = _curves(PATTERNS, *names)
    assert len(found) == 8
    assert {r["model"] for r in _rows(PATTERNS)} == {"WideResNet-2M"}


def test_samples_are_fed_in_every_way_and_whole_batches_are_counted_as_such() -> None:
    assert {r["feed"] for r in _good(FEEDS)} == {
        "numpy", "generator", "PyDataset", "tf.data", "directory"}  # fmt: skip
    for r in _good(FEEDS):
        batch = r["global_batch_size"]
        whole = r["train_samples"] // batch * batch
        assert r["samples_per_epoch"] == (whole if r["drop_remainder"] else r["train_samples"])


def test_every_form_of_a_network_on_real_data_reports_its_accuracy() -> None:
    real = [r for r in _good(INFERENCE) if not r["synthetic_data"]]
    assert {"int8", "distilled"} < {r["variant"] for r in real}
    assert {"float32", "bfloat16", "float16"} <= {r["precision"] for r in real}
    assert any((r["variant"] or "").startswith("pruned") for r in real)
    assert any((r["variant"] or "").startswith("structured") for r in real)
    for r in real:
        assert r["evaluation_metric"] == "accuracy"
        assert 0.5 < r["final_metric"] <= 1


def test_steps_to_the_target_fall_with_the_batch_for_three_optimisers() -> None:
    rows = _rows(TARGET)
    cells = {(r["optimizer"], r["global_batch_size"]) for r in rows}
    assert len({o for o, _ in cells}) == 3
    assert len({b for _, b in cells}) >= 9
    assert len({r["seed"] for r in rows}) == 5
    for optimizer in {o for o, _ in cells}:
        small, large = (_median_steps(rows, optimizer, b) for b in (8, 512))
        assert small > 4 * large


def test_six_families_reach_five_per_cent_with_fewer_steps_at_larger_batches() -> None:
    rows = _rows(TO_FIVE_PER_CENT)
    assert {r["target_value"] for r in rows} == {0.05}
    assert {r["seed"] for r in rows} == set(range(5))
    models: dict[str, set[str]] = defaultdict(set)
    for r in rows:
        models[r["optimizer"]].add(r["model"])
    assert len(models) == 3
    assert all(len(names) == 6 for names in models.values())
    groups = {(r["optimizer"], r["model"], r["global_batch_size"]) for r in rows}
    assert len(groups) == 3 * 6 * 9
    for optimizer, names in models.items():
        for name in names:
            mine = [r for r in rows if r["model"] == name]
            small, large = (_median_steps(mine, optimizer, b) for b in (4, 512))
            assert 4 * large < small < float("inf"), (name, optimizer)


def test_older_gradients_need_more_steps_at_every_batch() -> None:
    rows = _rows(STALE)
    assert {r["seed"] for r in rows} == set(range(5))
    ages = {r["variant"]: r["staleness"] or 0 for r in rows}
    assert sorted(ages.values()) == [0, 1, 3, 7]
    for batch in (8, 32, 128, 512):
        steps = [
            _median_steps([r for r in rows if r["variant"] == name], "SGD", batch)
            for name in sorted(ages, key=ages.__getitem__)
        ]
        assert steps == sorted(set(steps)), batch


def _median_steps(rows: list[dict[str, Any]], optimizer: str, batch: int) -> float:
    """Of the best rate: the smallest median over five seeds, not reached counting as never."""
    by_rate: dict[float, list[float]] = defaultdict(list)
    for r in rows:
        if (r["optimizer"], r["global_batch_size"]) == (optimizer, batch):
            by_rate[r["learning_rate"]].append(r["steps_to_target"] or float("inf"))
    return min(sorted(steps)[len(steps) // 2] for steps in by_rate.values())


def test_shipping_keeps_every_run_and_says_how_busy_the_machine_was(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    facts = {"framework": "TensorFlow", "framework_version": "2.21.0", "git_describe": "abc"}
    commit_runs(mine, [row(repeat=i, load_average_before=0.5 + i, **facts) for i in range(3)])
    (mine / "set.toml").write_text(
        'title = "A \\"set\\""\nabout = "x"\nlicence = "CC0"\nsource = "s"\n'
    )
    path = ship(mine, tmp_path / "shipped" / "mine")
    result, problem = read_set(path.parent, "")
    assert problem is None
    assert result.title == 'A "set"'
    assert (
        "3 runs (ok) with TensorFlow 2.21.0. Load average before the runs: median 1.5"
        in result.about
    )
    assert pq.read_metadata(path).num_rows == 3
    assert ship(mine, tmp_path / "shipped" / "mine") == path


def _speeds(strategy: str, slow: str = "") -> dict[tuple[int, int], float]:
    """Samples/s by workers and batch, of runs whose slow worker is stopped so much of the time."""
    return {
        (r["accelerators_per_node"], r["global_batch_size"]): r["throughput"]
        for r in _good(STRATEGIES)
        if r["strategy"] == strategy and (f"stopped {slow}" in r["system_name"]) == bool(slow)
    }


def test_two_synchronous_workers_beat_one_only_above_a_batch() -> None:
    speeds = _speeds("multi-worker mirrored")
    assert speeds[2, 32] < speeds[1, 32]
    assert speeds[2, 512] > speeds[1, 512]


def test_a_slow_worker_costs_a_synchronous_run_more_than_an_asynchronous_one() -> None:
    kept = {
        strategy: _speeds(strategy, "50 %")[2, 128] / _speeds(strategy)[2, 128]
        for strategy in ("multi-worker mirrored", "parameter server")
    }
    assert kept["multi-worker mirrored"] < kept["parameter server"]


def test_updates_of_several_workers_are_stale_and_those_of_one_are_not() -> None:
    stale = {
        r["accelerators_per_node"]: r["staleness"] for r in _good(STRATEGIES) if r["staleness"]
    }
    assert set(stale) == {2, 4}
    alone = [r for r in _good(STRATEGIES) if r["strategy"] == "parameter server"]
    assert {r["staleness"] for r in alone if r["accelerators_per_node"] == 1} == {0}
