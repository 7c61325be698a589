"""Sources of published results: small files made by hand, and data sets with the same numbers."""

from __future__ import annotations

import csv
import json
import os
import pickle
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from planner.importers import SOURCES, SourceError, SourceFiles, Stated, commit, files_from, read
from planner.store.summaries import summaries

ROOT = Path(__file__).resolve().parents[3]
DATASETS = ROOT.parent / "shared" / "datasets"
needs_datasets = pytest.mark.skipif(
    not DATASETS.is_dir(), reason="the public data sets are not in ../shared/datasets"
)
GPU: dict[str, Any] = {"system_name": "H100", "device_kind": "gpu"}


def rows_of(
    source: str, files: dict[str, str | bytes], facts: dict[str, Any], **options: str
) -> list[dict[str, Any]]:
    """The rows of files as they would be committed."""
    data = {n: t.encode() if isinstance(t, str) else t for n, t in files.items()}
    given = SourceFiles(name=next(iter(data)), data=data)
    return read(source, given, Stated(facts=facts, options=options), "Mine")


def refused(
    source: str, files: dict[str, str | bytes], facts: dict[str, Any], **options: str
) -> str:
    """Why files are not taken."""
    with pytest.raises(SourceError) as error:
        rows_of(source, files, facts, **options)
    return str(error.value)


# -- the table of published measurements ----------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "shipped"), [("timm_train_bench", "timm"), ("milabench_scaling", "milabench")]
)
def test_a_table_of_the_library_gives_the_runs_that_are_shipped(table: str, shipped: str) -> None:
    path = ROOT / "data" / "tables" / "published" / f"{table}.tsv"
    source = SOURCES["published-table"]
    options = {"incomplete": "skip"}
    rows = read(source.name, files_from(path, source), Stated(options=options), shipped)
    ours = {r["run_id"]: r for r in summaries(ROOT / "data" / "results" / shipped)}
    assert len(rows) == len(ours)
    speeds = sorted(r.get("throughput", 0.0) for r in rows)
    assert speeds == sorted(r.get("throughput", 0.0) for r in ours.values())
    assert all(r["licence"] and r["source_url"] for r in rows)


def test_rows_without_a_known_accelerator_are_named(tmp_path: Path) -> None:
    head = "source_id\trepo_or_page\tlicence\tmodel\taccelerator\tn_accelerators\tglobal_batch\t"
    text = head + "samples_per_s_total\na\tgithub.com/a/b\tMIT\tresnet50\tWundercard\t1\t8\t5\n"
    why = refused("published-table", {"a.tsv": text}, {})
    assert "the accelerator is not in the catalogue" in why
    assert "incomplete=skip" in why


# -- MLPerf ---------------------------------------------------------------------------------------


def event(ms: int, key: str, value: object = None, **about: object) -> str:
    body = {"namespace": "", "time_ms": ms, "event_type": "X", "key": key, "value": value}
    return f"0: :::MLLOG {json.dumps(body | {'metadata': about})}\n"


LOG = "".join(
    [
        "noise\n",
        event(0, "submission_benchmark", "resnet"),
        event(0, "global_batch_size", 1000),
        event(0, "train_samples", 100_000),
        event(0, "seed", 7),
        event(0, "init_start"),
        event(20_000, "run_start"),
        *(
            event(at * 10_000 + 20_000, key, value, epoch_num=epoch)
            for epoch in (1, 2, 3)
            for at, key, value in (
                (epoch - 1, "epoch_start", None),
                (epoch, "epoch_stop", None),
                (epoch, "eval_accuracy", 0.5 + epoch / 10),
            )
        ),
        event(51_000, "run_stop", None, status="success"),
    ]
)
SYSTEM = json.dumps(
    {
        "system_name": "DGX H100", "accelerator_model_name": "NVIDIA H100",
        "accelerators_per_node": "8", "number_of_nodes": 2, "framework": "PyTorch",
    }
)  # fmt: skip


def test_a_result_file_gives_start_epochs_target_and_evaluations(tmp_path: Path) -> None:
    [row] = rows_of("mlperf", {"result_0.txt": LOG, "dgx.json": SYSTEM}, {})
    assert (row["pre_train_s"], row["time_to_target_s"]) == (20.0, 31.0)
    assert (row["first_epoch_s"], row["later_epoch_mean_s"], row["epochs_measured"]) == (10, 10, 3)
    assert [e["step"] for e in row["evaluations"]] == [100, 200, 300]
    assert (row["steps_to_target"], row["samples_to_target"]) == (300, 300_000)
    assert (row["accelerators_per_node"], row["number_of_nodes"]) == (8, 2)
    assert (row["device_kind"], row["basis"]) == ("gpu", "measured")
    assert commit(tmp_path / "mine", [row], {"title": "Mine"}).new == 1


def test_systems_are_found_by_their_folder_and_runs_are_numbered() -> None:
    files: dict[str, str | bytes] = {
        "a/results/dgx/resnet/result_0.txt": LOG, "a/results/dgx/resnet/result_1.txt": LOG,
        "a/systems/dgx.json": SYSTEM, "a/systems/other.json": "{}",
    }  # fmt: skip
    rows = rows_of("mlperf", files, {})
    assert [(r["repeat"], r["system_name"]) for r in rows] == [(0, "DGX H100"), (1, "DGX H100")]


def test_a_run_without_its_target_is_kept_as_ended() -> None:
    log = LOG.replace('"success"', '"aborted"')
    [row] = rows_of("mlperf", {"result_0.txt": log, "dgx.json": SYSTEM}, {})
    assert (row["status"], row["target_reached"]) == ("killed", False)
    assert "time_to_target_s" not in row or row["time_to_target_s"] is None


def test_an_epoch_that_may_be_samples_is_asked_for() -> None:
    log = LOG.replace('"epoch_num": 3', '"epoch_num": 300000')
    assert "may count samples" in refused("mlperf", {"result_0.txt": log, "d.json": SYSTEM}, {})


def test_the_older_form_of_a_log_is_read() -> None:
    old = (
        ':::MLL 100.0 global_batch_size: {"value": 64, "metadata": {}}\n'
        ':::MLL 100.0 init_start: {"value": null, "metadata": {}}\n'
        ':::MLL 120.5 run_start: {"value": null, "metadata": {}}\n'
        ':::MLL 220.5 run_stop: {"value": null, "metadata": {"status": "success"}}\n'
    )
    [row] = rows_of("mlperf", {"result_0.txt": old, "d.json": SYSTEM}, {"model": "ssd"})
    assert (row["pre_train_s"], row["time_to_target_s"]) == (20.5, 100.0)


@needs_datasets
def test_times_of_published_mlperf_runs_come_back() -> None:
    """Every 40th run with its start, its time to target and its system."""
    place = DATASETS / "mlperf_training" / "runs.csv"
    needed = ("init_seconds", "time_to_train_min", "accelerators_per_node", "number_of_nodes")
    lines = [r for r in _lines(place, {"status": "success"}) if all(r[n] for n in needed)]
    assert len(lines[::40]) > 20
    for line in lines[::40]:
        kind = "tpu" if "tpu" in line["accelerator_model_name"].lower() else "gpu"
        start, end = (round(1_000 * float(line["init_seconds"])),
                      round(60_000 * float(line["time_to_train_min"])))  # fmt: skip
        log = "".join([
            event(0, "submission_benchmark", line["benchmark"]), event(0, "init_start"),
            event(0, "global_batch_size", int(float(line["global_batch_size"] or 1))),
            event(start, "run_start"), event(start + end, "run_stop", None, status="success"),
        ])  # fmt: skip
        names = ("accelerator_model_name", "accelerators_per_node", "number_of_nodes", "framework")
        system = {n: line[n] for n in names} | {"system_name": line["system"]}
        files: dict[str, str | bytes] = {"result_0.txt": log, "a.json": json.dumps(system)}
        [row] = rows_of("mlperf", files, {"device_kind": kind})
        assert row["time_to_target_s"] == pytest.approx(end / 1_000)
        assert row["pre_train_s"] == pytest.approx(start / 1_000, abs=1e-9)
        found = (row["accelerators_per_node"], row["number_of_nodes"], row["model"])
        assert found == (int(float(line["accelerators_per_node"])),
                         int(float(line["number_of_nodes"])), line["benchmark"])  # fmt: skip


def test_half_a_log_is_refused() -> None:
    half = LOG.partition('"run_stop"')[0].rpartition("\n")[0]
    assert "no run_start before a run_stop" in refused("mlperf", {"r.txt": half}, {})


RCP = {
    "resnet_ref_1632": {
        "Benchmark": "resnet", "Creator": "NVIDIA", "When": "1.0", "Platform": "TPU-v4-32",
        "BS": 1632, "Hyperparams": {"optimizer": "lars", "opt_base_learning_rate": 7.4},
        "Epochs to converge": [34, 34, 34, 35, 35, 37, 35, 35, 33, 35, 35, 37, 37, 35, 35, 34, 35],
    }
}  # fmt: skip
RCP_FACTS: dict[str, Any] = {
    "train_samples": 1_281_167, "evaluation_metric": "top-1 accuracy",
    "evaluation_higher_is_better": True,
}  # fmt: skip


def test_points_of_convergence_need_their_unit() -> None:
    files: dict[str, str | bytes] = {"rcps_resnet.json": json.dumps(RCP)}
    why = refused("mlperf-rcp", files, {})
    assert "option unit: is ''" in why
    assert "option target: is missing" in why
    rows = rows_of("mlperf-rcp", files, RCP_FACTS, unit="epochs", target="0.759")
    assert len(rows) == 17
    assert (rows[0]["device_kind"], rows[0]["learning_rate"]) == ("tpu", 7.4)


@needs_datasets
def test_points_of_convergence_have_the_steps_of_the_data_set() -> None:
    files: dict[str, str | bytes] = {"rcps_resnet.json": json.dumps(RCP)}
    rows = rows_of("mlperf-rcp", files, RCP_FACTS, unit="epochs", target="0.759")
    with (DATASETS / "mlperf_rcp" / "rcp.csv").open(encoding="utf-8", newline="") as file:
        [line] = [r for r in csv.DictReader(file)
                  if (r["workload"], r["batch_size"]) == ("resnet", "1632")]  # fmt: skip
    mean = sum(r["steps_to_target"] for r in rows) / len(rows)
    assert mean == pytest.approx(float(line["steps_to_target_mean"]), rel=1e-4)


# -- milabench, optimum-benchmark, TensorFlow -----------------------------------------------------

YAML = """\
bert-fp16:
  observations:
  - {batch_size: 16, cpu: 8, memory: 9895 MiB, perf: 359.67, time: 1741955079}
  - {batch_size: 16, cpu: 8, memory: 9895 MiB, perf: 360.1, time: 1741955080}
resnet152-ddp-gpus:
  observations:
  - {batch_size: 1296, cpu: 8, memory: 81533 MiB, perf: 4000.0, time: 1741954746}
  - {batch_size: 2000, cpu: 8, memory: 81533 MiB, perf: 0.0, time: 1741954746}
"""


def test_a_scaling_table_gives_a_run_per_observation(tmp_path: Path) -> None:
    assert "items=samples" in refused("milabench", {"H100.yaml": YAML}, GPU, gpus="4")
    assert "gpus=COUNT" in refused("milabench", {"H100.yaml": YAML}, GPU, items="samples")
    rows = rows_of("milabench", {"H100.yaml": YAML}, GPU, items="samples", gpus="4")
    assert [(r["model"], r["global_batch_size"], r["repeat"]) for r in rows] == [
        ("bert", 16, 0), ("bert", 16, 1), ("resnet152-ddp-gpus", 5184, 0),
    ]  # fmt: skip
    assert rows[0]["peak_memory_bytes"] == 9895 * 2**20
    assert rows[0]["step_s"] == pytest.approx(16 / 359.67)
    assert commit(tmp_path / "mine", rows, {"title": "Mine"}).new == 3


def test_other_yaml_is_refused() -> None:
    bomb = "a: &a [x]\nb: &b [*a, *a]\n"
    assert "neither a bench nor" in refused("milabench", {"a.yaml": bomb}, GPU, items="samples")


OPTIMUM = {
    "config": {
        "backend": {"model": "bert-base", "device": "cuda", "version": "2.4"},
        "scenario": {"training_arguments": {"per_device_train_batch_size": 32}},
        "environment": {"gpu": ["Tesla T4"], "gpu_count": 1, "cpu": " Xeon"},
    },
    "report": {
        "train": {
            "latency": {"unit": "s", "mean": 0.5, "p50": 0.49, "p90": 0.6},
            "throughput": {"unit": "samples/s", "value": 64.0},
            "memory": {"unit": "MB", "max_allocated": 1000.0},
        }
    },
}  # fmt: skip


def test_a_report_gives_steps_speed_and_memory(tmp_path: Path) -> None:
    [row] = rows_of("optimum-benchmark", {"benchmark.json": json.dumps(OPTIMUM)}, {})
    assert (row["step_s"], row["throughput"], row["global_batch_size"]) == (0.5, 64.0, 32)
    assert (row["system_name"], row["peak_memory_bytes"]) == ("Tesla T4", 1_000_000_000)
    assert commit(tmp_path / "mine", [row], {"title": "Mine"}).new == 1
    split: dict[str, str | bytes] = {
        "benchmark_report.json": json.dumps(OPTIMUM["report"]),
        "benchmark_config.json": json.dumps(OPTIMUM["config"]),
    }
    assert rows_of("optimum-benchmark", split, {}) == [row]


def test_inference_and_other_units_are_refused() -> None:
    inference = OPTIMUM | {"report": {"forward": {}}}
    why = refused("optimum-benchmark", {"benchmark.json": json.dumps(inference)}, GPU)
    assert "Reports of inference are not read" in why
    odd = json.loads(json.dumps(OPTIMUM).replace('"samples/s"', '"tokens/s"'))
    why = refused("optimum-benchmark", {"benchmark.json": json.dumps(odd)}, {})
    assert "its unit is 'tokens/s'" in why


TF_LOG = """\
TensorFlow:  1.13
Model:       resnet50
Dataset:     imagenet (synthetic)
Mode:        training
Batch size:  64 global
             32 per device
Devices:     ['/gpu:0', '/gpu:1']
Optimizer:   sgd
Step\tImg/sec\ttotal_loss
1\timages/sec: 180.2 +/- 0.0 (jitter = 0.0)\t8.108
----------------------------------------------------------------
total images/sec: 180.26
"""


def test_a_log_of_tf_cnn_benchmarks_gives_speed_and_devices(tmp_path: Path) -> None:
    [row] = rows_of("tf-benchmarks", {"a.log": TF_LOG}, {"system_name": "2 x K80"})
    assert (row["model"], row["throughput"], row["accelerators_per_node"]) == (
        "resnet50",
        180.26,
        2,
    )
    assert (row["global_batch_size"], row["per_device_batch_size"]) == (64, 32)
    assert (row["dataset"], row["synthetic_data"]) == ("imagenet", True)
    assert commit(tmp_path / "mine", [row], {"title": "Mine"}).new == 1
    twice = {"a.log": TF_LOG + "total images/sec: 3.0\n"}
    assert "2 lines" in refused("tf-benchmarks", {**twice}, GPU)


@needs_datasets
def test_published_speeds_of_tf_cnn_benchmarks_come_back() -> None:
    path = DATASETS / "tensorflow_benchmarks_2017" / "throughput.csv"
    with path.open(encoding="utf-8", newline="") as file:
        lines = [r for r in csv.DictReader(file) if int(r["n_nodes"]) == 1][:12]
    for line in lines:
        log = TF_LOG.replace("180.26", line["images_per_s"]).replace("resnet50", line["model"])
        log = log.replace("64 global", f"{line['global_batch']} global")
        log = log.replace("32 per device", f"{line['batch_per_gpu']} per device")
        devices = ", ".join(f"'/gpu:{i}'" for i in range(int(line["n_gpus"])))
        log = log.replace("'/gpu:0', '/gpu:1'", devices)
        [row] = rows_of("tf-benchmarks", {"a.log": log}, {"system_name": line["system"]})
        assert row["throughput"] == float(line["images_per_s"])
        assert row["accelerators_per_node"] == int(line["n_gpus"])


@pytest.mark.parametrize(
    ("devices", "per_node", "nodes"),
    [
        ("['job:worker/replica:0/task0/gpu:0', 'job:worker/replica:0/task1/gpu:0']", 1, 2),
        ("['job:worker/task0/gpu:0', 'job:worker/task0/gpu:1', 'job:worker/task1/gpu:0', "
         "'job:worker/task1/gpu:1']", 2, 2),
    ],
)  # fmt: skip
def test_devices_of_several_machines_are_counted_by_machine(
    devices: str, per_node: int, nodes: int
) -> None:
    log = TF_LOG.replace("['/gpu:0', '/gpu:1']", devices)
    [row] = rows_of("tf-benchmarks", {"a.log": log}, {"system_name": "K80s"})
    assert (row["accelerators_per_node"], row["number_of_nodes"]) == (per_node, nodes)
    assert (row["device_kind"], row["framework_version"]) == ("gpu", "1.13")


def test_a_log_of_horovod_needs_the_number_of_machines() -> None:
    devices = str([f"horovod/gpu:{n}" for n in range(4)])
    files: dict[str, str | bytes] = {"a.log": TF_LOG.replace("['/gpu:0', '/gpu:1']", devices)}
    facts = {"system_name": "K80s"}
    assert "number_of_nodes" in refused("tf-benchmarks", files, facts)
    [row] = rows_of("tf-benchmarks", files, {**facts, "number_of_nodes": 2})
    assert (row["accelerators_per_node"], row["number_of_nodes"]) == (2, 2)


PERFZERO: dict[str, Any] = {
    "execution_id": "2019-07-01-00-00-00-000000",
    "execution_timestamp": 1550040322.8991697,
    "benchmark_result": {
        "name": "official.benchmark.keras_imagenet_benchmark.Resnet50KerasBenchmarkReal."
        "benchmark_8_gpu",
        "succeeded": True, "wall_time": 100.0,
        "metrics": [
            {"name": "accuracy_top_1", "value": 0.76, "min_value": 0.75},
            {"name": "exp_per_second", "value": 3000.0},
            {"name": "avg_exp_per_second", "value": 2900.0},
        ],
    },
    "benchmark_info": {"harness_name": "perfzero", "has_exception": False},
    "setup_info": {},
    "ml_framework_info": {"name": "tensorflow", "version": "1.14.0"},
    "system_info": {
        "platform_name": "gcp", "accelerator_model": "V100", "accelerator_count": 8,
        "accelerator_driver_version": "418.67", "cpu_model": "Xeon", "cpu_socket_count": 2,
        "physical_cpu_count": 48, "hostname": "a-host",
    },
}  # fmt: skip
"""A perfzero_summary.json: fields of tensorflow/benchmarks, perfzero/README.md, report_utils.py."""
PERFZERO_FACTS = {"device_kind": "gpu", "global_batch_size": 1024}


def perfzero(**result: object) -> str:
    about = PERFZERO["benchmark_result"] | result
    return json.dumps(PERFZERO | {"benchmark_result": about})


def perfzero_of(method: str, in_system: int) -> str:
    body = json.loads(perfzero(name=f"official.a_benchmark.ABenchmark.{method}"))
    body["system_info"]["accelerator_count"] = in_system
    return json.dumps(body)


def test_a_summary_of_perfzero_gives_speed_time_versions_and_host(tmp_path: Path) -> None:
    [row] = rows_of("tf-benchmarks", {"a.json": perfzero()}, PERFZERO_FACTS)
    assert (row["throughput"], row["total_s"], row["accelerators_per_node"]) == (3000.0, 100.0, 8)
    assert (row["framework_version"], row["host_processor_model_name"]) == ("1.14.0", "Xeon")
    assert row["recorded_at"] == datetime(2019, 2, 13, 6, 45, 22, 899169, UTC)
    assert "a-host" not in str(row)
    assert commit(tmp_path / "mine", [row], {"title": "Mine"}).new == 1


def test_perfzero_of_tf_cnn_benchmarks_has_the_time_of_a_step() -> None:
    metrics = [{"name": "examples_per_sec", "value": 400.0}]
    name = "leading_indicators_test.Resnet50Benchmarks.benchmark_synth_1gpu_gpuparams"
    text = perfzero(name=name, metrics=metrics, wall_time=0.32)
    [row] = rows_of("tf-benchmarks", {"a.json": text}, PERFZERO_FACTS)
    assert (row["throughput"], row["step_s"], row.get("total_s")) == (400.0, 0.32, None)
    why = refused(
        "tf-benchmarks",
        {"a.json": perfzero(name=name.replace("Benchmarks.", "BenchmarksInference."))},
        PERFZERO_FACTS,
    )
    assert "only trainings" in why


@pytest.mark.parametrize(
    ("method", "in_system", "used"),
    [("benchmark_1_gpu_mrpc", 8, 1), ("benchmark_8_gpu_fp16", 8, 8), ("benchmark_xla_2_gpu", 2, 2),
     ("benchmark_synth_1gpu_gpuparams_batch64", 8, 1), ("benchmark_cpu", 1, 1)],
)  # fmt: skip
def test_perfzero_counts_the_accelerators_of_the_system_the_name_those_in_use(
    method: str, in_system: int, used: int
) -> None:
    [row] = rows_of("tf-benchmarks", {"a.json": perfzero_of(method, in_system)}, PERFZERO_FACTS)
    assert row["accelerators_per_node"] == used


def test_accelerators_in_use_are_stated_where_no_name_has_them() -> None:
    text = perfzero_of("unit_test", 2)
    why = refused("tf-benchmarks", {"a.json": text}, PERFZERO_FACTS)
    assert "its system has 2 accelerators, and no name says how many it used" in why
    facts = PERFZERO_FACTS | {"accelerators_per_node": 2}
    [row] = rows_of("tf-benchmarks", {"a.json": text}, facts)
    assert row["accelerators_per_node"] == 2
    why = refused("tf-benchmarks", {"a.json": perfzero_of("benchmark_8_gpu", 2)}, PERFZERO_FACTS)
    assert "is for 8 GPUs; its system has 2" in why


def test_a_summary_of_perfzero_without_a_speed_is_refused() -> None:
    metrics = [{"name": "accuracy_top_1", "value": 0.26}, {"name": "accuracy_top_5", "value": 0.76}]
    why = refused("tf-benchmarks", {"a.json": perfzero(metrics=metrics)}, PERFZERO_FACTS)
    assert "its metrics have none of exp_per_second" in why


def test_a_failed_benchmark_of_perfzero_is_refused() -> None:
    text = perfzero(succeeded=False, wall_time=-1, metrics=[])
    why = refused("tf-benchmarks", {"a.json": text}, PERFZERO_FACTS)
    assert "did not succeed" in why


# -- Shallue et al. -------------------------------------------------------------------------------


def study(status: str = "COMPLETE") -> dict[str, str | bytes]:
    """A study with one trial: fields, columns and numbers of the README of batch_science."""
    about = {
        "batch_size": 256, "dataset": "imagenet", "early_stopping": False, "model": "resnet_50",
        "optimizer": "nesterov_momentum", "train_steps": 600_000,
        "parameter_configs": {
            "end_learning_rate_factor": {"min_value": 1e-4, "max_value": 0.1, "type": "DOUBLE"},
            "learning_rate": {"min_value": 1e-4, "max_value": 10.0, "type": "DOUBLE"},
        },
    }  # fmt: skip
    trial = {
        "_internal_study_name": "a", "_internal_trial_id": 2,
        "parameters": {
            "end_learning_rate_factor": 0.0003, "label_smoothing": 0.01, "learning_rate": 0.0125,
            "learning_rate_decay_steps": 522_526, "momentum": 0.978,
        },
        "status": status, "steps": 600_000, "trial_id": 2,
    }  # fmt: skip
    parts = ("train", "val", "test")
    names = [
        f"{part}/{kind}_error" for part in parts for kind in ("cross_entropy", "classification")
    ]
    table = "\n".join([
        ",".join(["step", *names]), "0,6.90948,0.999223,6.90956,0.99904,6.90984,0.999301",
        "1000,6.79853,0.993921,6.84734,0.99416,6.81384,0.993566",
        "600000,0.592377,0.119519,1.13728,0.24406,1.00498,0.213268",
    ])  # fmt: skip
    return {
        "w/256/study.json": json.dumps(about),
        "w/256/2/metadata.json": json.dumps(trial),
        "w/256/2/measurements.csv": table,
    }


METRIC = "val/classification_error"


def test_a_study_gives_a_run_per_trial(tmp_path: Path) -> None:
    facts = {"system_name": "not stated", "device_kind": "tpu"}
    [row] = rows_of("shallue", study(), facts, metric=METRIC)
    assert (row["model"], row["global_batch_size"], row["optimizer"]) == (
        "resnet_50", 256, "nesterov_momentum",
    )  # fmt: skip
    assert row["learning_rate"] == 0.0125  # not the factor or the decay, which come first
    assert [(e["step"], e["samples"]) for e in row["evaluations"]] == [
        (1000, 256_000), (600_000, 153_600_000),
    ]  # fmt: skip
    assert row["evaluation_higher_is_better"] is False
    assert (row["final_metric"], row["sweep"]) == (0.24406, "trial 2")
    assert commit(tmp_path / "mine", [row], {"title": "Mine"}).new == 1
    ends = {"INFEASIBLE": "nan", "INCOMPLETE": "killed"}
    for status, expected in ends.items():
        [row] = rows_of("shallue", study(status), facts, metric=METRIC)
        assert row["status"] == expected
    assert "do not say why" in row["status_reason"]
    assert "option metric: is missing" in refused("shallue", study(), facts)
    assert "is unknown" in refused("shallue", study("STOPPED"), facts, metric=METRIC)


@needs_datasets
def test_trials_and_steps_to_target_of_the_paper_come_back(tmp_path: Path) -> None:
    """Trials as the authors count them, one of each batch at the target in the paper's steps."""
    place = DATASETS / "shallue_digitised"
    workload = {
        "dataset": "common_crawl", "model": "transformer_base", "optimizer": "nesterov_momentum",
    }  # fmt: skip
    counts = _lines(place / "trial_counts.csv", workload)[-3:]
    reached = _lines(place / "steps_to_target.csv", workload)
    steps = {line["batch_size"]: int(line["steps_to_target_digitised"]) for line in reached}
    goal = float(reached[0]["goal_value"])
    files: dict[str, str | bytes] = {}
    expected: Counter[tuple[int, str]] = Counter()
    for line in counts:
        batch = line["batch_size"]
        files[f"w/{batch}/study.json"] = json.dumps(workload | {"batch_size": int(batch)})
        trial = 0
        for status, ended in (("complete", "ok"), ("incomplete", "killed"), ("infeasible", "nan")):
            for _ in range(int(line[status])):
                trial += 1
                about = {"status": status.upper(), "trial_id": trial, "parameters": {}}
                files[f"w/{batch}/{trial}/metadata.json"] = json.dumps(about)
                last = goal * (0.99 if trial == 1 and status == "complete" else 1.5)
                table = f"step,val/cross_entropy_error\n0,9.9\n{steps[batch]},{last}\n"
                files[f"w/{batch}/{trial}/measurements.csv"] = table
                expected[int(batch), ended] += 1
    facts = {"system_name": "not stated", "device_kind": "tpu"}
    rows = rows_of("shallue", files, facts, metric="val/cross_entropy_error")
    assert Counter((r["global_batch_size"], r["status"]) for r in rows) == expected
    assert commit(tmp_path / "mine", rows, {"title": "Mine"}).new == expected.total()
    first = {r["global_batch_size"]: min(e["step"] for e in r["evaluations"] if e["value"] < goal)
             for r in rows if r["status"] == "ok" and r["final_metric"] < goal}  # fmt: skip
    assert first == {int(line["batch_size"]): steps[line["batch_size"]] for line in counts}


def _lines(path: Path, like: Mapping[str, str]) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return [r for r in csv.DictReader(file) if all(r[n] == v for n, v in like.items())]


# -- tables of Lambda and DAWNBench ---------------------------------------------------------------


@needs_datasets
@pytest.mark.parametrize("precision", ["fp16", "fp32"])
def test_published_speeds_of_lambda_come_back_and_missing_ones_do_not(precision: str) -> None:
    every = _lines(DATASETS / "lambda_pytorch_benchmark" / "throughput_v1.csv", {})
    lines = [r for r in every if r["precision"] == precision]
    models = sorted({r["model"] for r in lines})
    cells = {(r["name_gpu"], int(float(r["num_gpu"])), r["model"]): r["throughput"] for r in lines}
    table = [",".join(["name_gpu", "num_gpu", *(f"{m}_{precision}" for m in models)])]
    for gpu, count in sorted({key[:2] for key in cells}):
        speeds = (cells.get((gpu, count, m), "0.0") for m in models)
        table.append(",".join([f'"{gpu}"', str(count), *speeds]))
    rows = rows_of("lambda", {"pytorch-train-throughput.csv": "\n".join(table)}, {})
    found = {(r["accelerator_model_name"], r["accelerators_per_node"], r["model"]): r["throughput"]
             for r in rows}  # fmt: skip
    assert found == {key: float(cell) for key, cell in cells.items()}
    assert len(rows) > 200
    assert {r["precision"] for r in rows} == {"mixed_float16" if precision == "fp16" else "float32"}


@needs_datasets
def test_published_epochs_of_dawnbench_come_back() -> None:
    place = DATASETS / "dawnbench_train"
    files: dict[str, str | bytes] = {}
    expected: dict[str, tuple[float, int]] = {}
    for entry in _lines(place / "entries.csv", {"task": "CIFAR10"}):
        epochs = _lines(place / "epochs.csv", {"task": "CIFAR10", "entry": entry["entry"]})
        body = {"model": entry["model"], "hardware": entry["hardware"], "author": "A",
                "framework": entry["framework"], "timestamp": entry["timestamp"]}  # fmt: skip
        files[f"{entry['entry']}.json"] = json.dumps(body)
        table = [f"{e['epoch']}\t{e['hours']}\t{e['top1Accuracy']}" for e in epochs]
        files[f"{entry['entry']}.tsv"] = "\n".join(["epoch\thours\ttop1Accuracy", *table])
        expected[entry["entry"]] = (3_600.0 * float(epochs[-1]["hours"]), len(epochs))
    rows = rows_of("dawnbench", files, {"device_kind": "gpu"})
    assert len(rows) == len(expected) > 10
    for row in rows:
        total_s, count = expected[row["source_path"].rpartition("/")[2].removesuffix(".json")]
        assert row["total_s"] == pytest.approx(total_s)
        if "later_epoch_mean_s" in row:  # the table has a line for every epoch
            assert row["epochs_measured"] == count
            later_s = row["later_epoch_mean_s"] * (count - 1)
            assert row["until_first_epoch_end_s"] + later_s == pytest.approx(total_s)
    assert sum("later_epoch_mean_s" in row for row in rows) > 10


# -- step logs ------------------------------------------------------------------------------------

STEPS = "".join(f"step {i} loss {5 - i / 10:.1f} took {100 + i} ms\n" for i in range(1, 12))
STEP_FACTS: dict[str, Any] = {**GPU, "model": "GPT", "global_batch_size": 32}
PATTERN = r"step (?P<step>\d+) .* took (?P<step_s>\d+) ms"


def test_an_expression_reads_the_steps_of_a_log(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"a.log": STEPS}
    assert "option unit: is ''" in refused("step-log", files, STEP_FACTS, pattern=PATTERN)
    [row] = rows_of("step-log", files, STEP_FACTS, pattern=PATTERN, unit="ms", skip="1")
    assert row["step_s"] == pytest.approx(0.1065)
    assert row["throughput"] == pytest.approx(32 / 0.1065)
    assert commit(tmp_path / "mine", [row], {"title": "Mine"}).new == 1


def test_a_wrong_or_endless_expression_is_refused() -> None:
    files: dict[str, str | bytes] = {"a.log": STEPS}
    assert "Correct it" in refused("step-log", files, STEP_FACTS, pattern="(", unit="s")
    assert "no line matches" in refused(
        "step-log", files, STEP_FACTS, pattern="(?P<step_s>x)", unit="s"
    )
    endless = {"a.log": "a" * 200 + "\n"}
    why = refused("step-log", {**endless}, STEP_FACTS, pattern="(a|aa)+(?P<step_s>b)", unit="s")
    assert "reading was stopped" in why


# -- koshian2 -------------------------------------------------------------------------------------


def dat(trials: list[dict[str, Any]] | dict[str, Any]) -> bytes:
    """A pickle as Python 3.6 and numpy 1 wrote them."""
    data = pickle.dumps(trials, protocol=3)
    return data.replace(b"numpy._core.multiarray", b"numpy.core.multiarray")


def trial(times: list[float], **about: Any) -> dict[str, Any]:  # noqa: ANN401 - as they are
    usual = {"device": "gpu", "batch_size": 64, "use_validation": False, "use_augmentation": False,
             "from_storage": False, "num_workers": 1}  # fmt: skip
    history = {"loss": [np.float64(1.0)] * len(times), "initial_time": 7.1, "times": times}
    return usual | about | {"result": history}


def test_a_pickle_of_numbers_is_read(tmp_path: Path) -> None:
    files = {"gpu_batchsize_64_sep0.dat": dat([trial([993.6, 982.0, 982.4])])}
    [row] = rows_of("koshian2", {**files}, {})
    assert (row["pre_train_s"], row["first_epoch_s"]) == (7.1, 993.6)
    assert row["later_epoch_mean_s"] == pytest.approx(982.2)
    assert (row["licence"], row["samples_per_epoch"]) == ("MIT", 50_000)
    assert commit(tmp_path / "mine", [row], {"title": "Mine"}).new == 1


def test_a_file_of_one_trial_need_not_hold_a_list() -> None:
    one = trial([2.0, 1.0, 1.0])
    files = {"a.dat": dat(one), "b.dat": dat([one])}
    assert [row["repeat"] for row in rows_of("koshian2", {**files}, {})] == [0, 1]


PRINTED = {
    "pre_train_s": "before_training", "first_epoch_s": "first_epoch",
    "later_epoch_mean_s": "second_epoch_mean", "later_epoch_sd_s": "second_epoch_sd",
    "total_s": "total_second",
}  # fmt: skip
"""Columns of a run, and of the author's table."""


FLAGS = ("use_validation", "use_augmentation", "from_storage")
CHECKOUT = os.environ.get("EPOCHWISE_KOSHIAN2", "")
"""A checkout of github.com/koshian2/TPU-Benchmark, for the two tests that need the real files."""


def published_rows(text: str) -> dict[tuple[str, ...], list[float]]:
    """The numbers of result.md by device, batch, validation, augmentation, storage and workers."""
    lines = [[c.strip() for c in x.strip("| \n").split("|")] for x in text.splitlines()[2:]]
    return {tuple(cells[:6]): [float(c) for c in cells[6:]] for cells in lines if len(cells) == 11}


def as_published(row: dict[str, Any]) -> tuple[tuple[str, ...], list[float]]:
    """A run under the key of result.md, with the same five numbers."""
    flags = (row["validation"], row["augmentation"], row["storage"] == "storage")
    key = (row["device_kind"], row["global_batch_size"], *flags, row["workers"])
    return tuple(str(k).upper() if isinstance(k, bool) else str(k) for k in key), [
        row[name] for name in PRINTED
    ]


def as_result_md(lines: list[dict[str, str]]) -> str:
    """result.md as its author wrote it, from lines of the published table."""
    head = ["device", "batch_size", *FLAGS, "num_workers", *PRINTED.values()]
    rows = [
        [line["device"], line["batch_size"], *(["FALSE", "TRUE"][int(line[f])] for f in FLAGS),
         line["num_workers"], *(line[n] for n in PRINTED.values())]
        for line in lines
    ]  # fmt: skip
    cells = [head, [":---:"] * len(head), *rows]
    return "".join(f"|{'|'.join(f' {c} ' for c in line)}|\n" for line in cells)


def checkout_of(folder: Path, place: Path) -> list[dict[str, str]]:
    """Write the files of the repository from the public data set; return the published lines.

    Names, nesting, order and types are those of its script: `sep` files of two trials a file.
    """
    trials: dict[tuple[str, str, str], list[dict[str, str]]] = {}
    with (folder / "epochs_main.csv").open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            key = line["source_file"], line["batch_size"], line["pattern"]
            trials.setdefault(key, []).append(line)
    files: dict[str, list[dict[str, Any]]] = {}
    for (name, batch, _), lines in trials.items():
        scores = [np.float64(x["train_loss"]) for x in lines]
        history = {
            "loss": scores, "acc": scores, "initial_time": float(lines[0]["pre_train_seconds"]),
            "times": [float(x["epoch_seconds"]) for x in lines],
        }  # fmt: skip
        about = {
            "device": lines[0]["device"], "batch_size": int(batch),
            **{f: lines[0][f] == "1" for f in FLAGS},
            "result": history, "num_workers": int(lines[0]["num_workers"]),
        }  # fmt: skip
        files.setdefault(name, []).append(about)
    for name, made in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(dat(made))
    with (folder / "published_summary_main.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def imported(place: Path) -> list[dict[str, Any]]:
    """The runs of a checkout, as the command reads them."""
    source = SOURCES["koshian2"]
    return read(source.name, files_from(place / "raw_result" / "main", source), Stated(), "Mine")


def differences(rows: list[dict[str, Any]], text: str, within_s: float = 0.0501) -> list[str]:
    """Rows of result.md that the import does not give, to its rounding of 0.1 s."""
    ours = dict(as_published(row) for row in rows)
    expected = published_rows(text)
    assert ours.keys() == expected.keys()
    return [
        f"{key}: {ours[key]} {numbers}"
        for key, numbers in expected.items()
        if any(abs(a - b) > within_s for a, b in zip(ours[key], numbers, strict=True))
    ]


@needs_datasets
def test_a_checkout_reproduces_its_result_table_to_its_rounding(tmp_path: Path) -> None:
    lines = checkout_of(DATASETS / "koshian2_tpu_benchmark", tmp_path)
    rows = imported(tmp_path)
    assert len(rows) == len(lines)
    rounded_s = 0.06  # the data set has six digits of each epoch
    assert differences(rows, as_result_md(lines), rounded_s) == []
    assert max(row["later_epoch_sd_s"] for row in rows) == pytest.approx(57.8, abs=0.05)
    one = rows[0] | {"later_epoch_mean_s": rows[0]["later_epoch_mean_s"] + 0.2}
    assert len(differences([one, *rows[1:]], as_result_md(lines), rounded_s)) == 1


@pytest.mark.skipif(not CHECKOUT, reason="EPOCHWISE_KOSHIAN2 names no checkout of TPU-Benchmark")
def test_the_80_runs_of_the_real_checkout_are_those_of_its_result_table() -> None:
    rows = imported(Path(CHECKOUT))
    text = (Path(CHECKOUT) / "result" / "result.md").read_text(encoding="utf-8")
    assert (len(rows), len(published_rows(text))) == (80, 80)
    assert differences(rows, text) == []


@pytest.mark.parametrize(
    ("augment", "storage", "batch", "checked"),
    [(False, False, 256, 10_000), (True, False, 256, 39 * 32), (True, True, 256, 39 * 256)],
)
def test_images_of_a_validation_are_those_that_the_script_feeds(
    *, augment: bool, storage: bool, batch: int, checked: int
) -> None:
    made = trial([2.0, 1.0, 1.0], batch_size=batch, use_validation=True,
                 use_augmentation=augment, from_storage=storage)  # fmt: skip
    [row] = rows_of("koshian2", {"a.dat": dat([made])}, {})
    assert (row["validation_samples"], row["validation_samples_per_epoch"]) == (10_000, checked)


def test_published_data_keep_their_address_and_citation() -> None:
    known = {name for name, source in SOURCES.items() if source.citation}
    assert known == {"koshian2", "shallue", "dawnbench", "lambda"}
    assert all(SOURCES[name].url.startswith("https://github.com/") for name in known)


def test_pickles_are_for_the_command_line_only() -> None:
    assert [s.name for s in SOURCES.values() if not s.on_page] == ["koshian2"]
