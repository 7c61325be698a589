"""Odd files of every source: a number is read as it is written, or the file is refused.

Cells with a decimal comma, a unit, NaN or another encoding; names that occur twice; parts missing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import pytest

from planner.importers import SourceError, SourceFiles, Stated, rows_of
from tests.each import each

GPU: Final = {"system_name": "S", "device_kind": "gpu"}
JOB: Final = {**GPU, "model": "M", "global_batch_size": 32, "samples_per_epoch": 3_200}


def read(
    source: str, files: Mapping[str, str], facts: Mapping[str, Any], **options: str
) -> list[dict[str, Any]]:
    """The rows of files, read in this process."""
    data = {name: text.encode() for name, text in files.items()}
    given = SourceFiles(name=next(iter(files)), data=data)
    return rows_of(source, given, Stated(facts=facts, options=options), "x")


def refusal(source: str, files: Mapping[str, str], facts: Mapping[str, Any], **options: str) -> str:
    """Why files are not taken."""
    with pytest.raises(SourceError) as error:
        read(source, files, facts, **options)
    return str(error.value)


# -- a sound file of each source, and what becomes of it ------------------------------------------

KERAS: Final = "epoch,loss,val_acc,s\n0,1.0,0.5,10\n1,0.9,0.6,11\n2,0.8,0.7,12\n"
TRAINER: Final = json.dumps(
    {
        "global_step": 300,
        "epoch": 3.0,
        "log_history": [
            {"eval_acc": 0.5, "step": 100}, {"eval_acc": 0.625, "step": 200},
            {"train_runtime": 100.0, "step": 300},
        ],
    }
)  # fmt: skip
STEPS: Final = "step 1 took 0.50 s\nstep 2 took 0.60 s\n"
TABLE: Final = (
    "model,system_name,device_kind,global_batch_size,throughput,note\nM,S,gpu,32,10.5,a\n"
)
HOURS: Final = "epoch\thours\ttop5Accuracy\n1\t0.1\t50\n2\t0.2\t60\n3\t0.3\t93\n"
ENTRY: Final = json.dumps({"model": "ResNet50", "hardware": "8 x V100", "timestamp": "2018-04-16"})
LAMBDA: Final = "name_gpu,num_gpu,watt,price,a_fp16\nA100,1,400,9000,900.5\n"
YAML: Final = (
    "bert-fp16:\n  observations:\n  - {batch_size: 8, cpu: 4, memory: 38 MiB, perf: 123.5}\n"
)
POINTS: Final = json.dumps(
    {"p": {"BS": 4096, "Hyperparams": {"opt_base_learning_rate": 1.5}, "epochs to converge": [40]}}
)
REPORT: Final = json.dumps(
    {
        "config": {
            "backend": {"model": "gpt2", "device": "cuda"},
            "environment": {"gpu": ["A100"], "gpu_count": 1},
            "scenario": {"training_arguments": {"per_device_train_batch_size": 8}},
        },
        "report": {
            "train": {
                "latency": {"unit": "s", "mean": 0.5},
                "throughput": {"unit": "samples/s", "value": 16.5},
                "memory": {"unit": "MB", "max_allocated": 1000},
            }
        },
    }
)  # fmt: skip
TF_LOG: Final = (
    "Model:       resnet50\nBatch size:  512 global\n             64 per device\n"
    "Devices:     ['/gpu:0', '/gpu:1']\ntotal images/sec: 1234.56\n"
)
PERFZERO: Final = json.dumps(
    {
        "benchmark_result": {
            "name": "R.benchmark_1_gpu", "wall_time": 100.5,
            "metrics": [{"name": "exp_per_second", "value": 500.5}],
        },
        "system_info": {"accelerator_count": 8, "accelerator_model": "V100"},
    }
)  # fmt: skip
STUDY: Final = {
    "w/s/study.json": json.dumps({"batch_size": 64, "model": "cnn", "dataset": "mnist"}),
    "w/s/1/metadata.json": json.dumps(
        {"trial_id": 1, "status": "COMPLETE", "parameters": {"learning_rate": 0.5}}
    ),
    "w/s/1/measurements.csv": "step,val\n0,0.9\n10,0.5\n20,0.25\n",
}
SYSTEM: Final = json.dumps(
    {"system_name": "dgx", "accelerator_model_name": "NVIDIA A100", "accelerators_per_node": 8,
     "number_of_nodes": "2"}
)  # fmt: skip


def event(key: str, value: object, ms: float, **about: object) -> str:
    """A line of an mllog file."""
    body = {"key": key, "value": value, "time_ms": ms, "metadata": about}
    return f":::MLLOG {json.dumps(body)}\n"


MLLOG: Final = (
    event("submission_benchmark", "resnet", 0) + event("global_batch_size", 4096, 1)
    + event("train_samples", 1_000_000, 1) + event("run_start", None, 60_000)
    + event("eval_accuracy", 0.5, 100_000, epoch_num=1)
    + event("eval_accuracy", 0.75, 200_000, epoch_num=2)
    + event("run_stop", None, 210_000, status="success")
)  # fmt: skip
STEP_OPTIONS: Final = {"pattern": r"took (?P<step_s>[0-9.]+)", "unit": "s"}

SOUND: Final[Mapping[str, tuple[str, Mapping[str, str], Mapping[str, Any], Mapping[str, str]]]] = {
    "keras": ("keras-history", {"log.csv": KERAS}, JOB, {"time": "s:s"}),
    "trainer": ("hugging-face", {"trainer_state.json": TRAINER}, {**GPU, "model": "M",
                "global_batch_size": 32}, {}),
    "steps": ("step-log", {"a.log": STEPS}, JOB, STEP_OPTIONS),
    "table": ("template", {"a.csv": TABLE}, {}, {}),
    "dawnbench": ("dawnbench", {"a.json": ENTRY, "a.tsv": HOURS}, {}, {}),
    "lambda": ("lambda", {"a.csv": LAMBDA}, {}, {}),
    "milabench": ("milabench", {"a.yaml": YAML}, GPU, {"items": "samples"}),
    "rcp": ("mlperf-rcp", {"rcps_a.json": POINTS}, {"device_kind": "gpu", "evaluation_metric": "a",
            "evaluation_higher_is_better": True, "train_samples": 1_000_000},
            {"unit": "epochs", "target": "0.75"}),
    "optimum": ("optimum-benchmark", {"benchmark.json": REPORT}, {}, {}),
    "tf": ("tf-benchmarks", {"a.log": TF_LOG}, {"system_name": "S"}, {}),
    "perfzero": ("tf-benchmarks", {"a.json": PERFZERO}, {"device_kind": "gpu",
                 "global_batch_size": 64}, {}),
    "shallue": ("shallue", STUDY, GPU, {"metric": "val"}),
    "mllog": ("mlperf", {"result_0.txt": MLLOG, "dgx.json": SYSTEM}, {}, {}),
}  # fmt: skip
"""Source, files, facts and options."""


def changed(name: str, old: str, new: str) -> tuple[str, dict[str, str], Mapping[str, Any]]:
    """A sound file with a part replaced."""
    source, files, facts, _ = SOUND[name]
    found = {path: text.replace(old, new) for path, text in files.items()}
    assert found != dict(files), old
    return source, found, facts


@each(
    ("name", "column", "value"),
    [
        ("keras", "later_epoch_mean_s", 11.5), ("keras", "final_metric", 0.7),
        ("trainer", "total_s", 100.0), ("trainer", "final_metric", 0.625),
        ("steps", "step_s", 0.55), ("table", "throughput", 10.5),
        ("dawnbench", "final_metric", 93.0), ("lambda", "throughput", 900.5),
        ("milabench", "throughput", 123.5), ("milabench", "workers", 4),
        ("rcp", "learning_rate", 1.5), ("optimum", "throughput", 16.5),
        ("tf", "throughput", 1234.56), ("tf", "per_device_batch_size", 64),
        ("perfzero", "throughput", 500.5), ("shallue", "final_metric", 0.25),
        ("shallue", "learning_rate", 0.5), ("mllog", "steps_to_target", 488),
        ("mllog", "accelerators_per_node", 8), ("mllog", "number_of_nodes", 2),
    ],
)  # fmt: skip
def test_a_sound_file_is_read_with_or_without_a_mark_and_either_line_end(
    name: str, column: str, value: float
) -> None:
    source, files, facts, options = SOUND[name]
    ends = {path: "\ufeff" + text.replace("\n", "\r\n") for path, text in files.items()}
    for each_files in (files, ends):
        [row] = read(source, each_files, facts, **options)
        assert row[column] == pytest.approx(value, rel=1e-12)


@each(
    ("name", "old", "new", "why"),
    [
        ("keras", "0.7", '"0,7"', "row 3, val_acc: is '0,7'"),
        ("keras", "0.7", "70%", "row 3, val_acc: is '70%'"),
        ("keras", "0.7", "1e400", "row 3, val_acc: is '1e400'"),
        ("keras", ",11\n", ",11 ms\n", "row 2, s: is '11 ms'"),
        ("keras", ",11\n", ",nan\n", "row 2, s: has no time above 0"),
        ("keras", "\n1,", "\n0,", "several trainings"),
        ("keras", "\n2,", "\n5,", "do not count up by 1"),
        ("keras", "loss", "val_acc", "columns occur twice"),
        ("trainer", "0.625", '"0,625"', "item 2, eval_acc: is '0,625'"),
        ("trainer", "100.0", '"100,5"', "train_runtime is '100,5'"),
        ("trainer", "100.0", "-5", "train_runtime is -5"),
        ("trainer", "100.0", '1, "train_runtime": 9', "'train_runtime' occurs twice"),
        ("trainer", '{"eval_acc": 0.5', '{"train_runtime": 7, "eval_acc": 0.5', "resumed"),
        ("trainer", '"step": 200', '"step": 200.5', "item 2, step: is '200.5'"),
        ("steps", "0.50", "1,50", "takes '1' of"),
        ("steps", "0.50", "1.5e-3", "takes '1.5' of"),
        ("steps", "0.60 s", "600 ms", "the log says ms, the option unit says s"),
        ("table", "10.5", '"10,5"', "line 2, throughput: is '10,5'"),
        ("table", "10.5", "10.5 s", "line 2, throughput: is '10.5 s'"),
        ("dawnbench", "93", "93,1", "row 3, top5Accuracy: is '93,1'"),
        ("dawnbench", "0.3", "0,3", "without epoch or hours"),
        ("lambda", "900.5", '"1,900"', "line 2, a_fp16: is '1,900'"),
        ("milabench", "123.5", "1,123.5", "a number has a comma"),
        ("milabench", "cpu: 4", "perf: 4", "a name occurs twice"),
        ("milabench", "cpu: 4", "cpu: four", "cpu: is 'four'"),
        ("milabench", "38 MiB", "3.8.5 MiB", "memory: is '3.8.5 MiB'"),
        ("rcp", "1.5", '"1,5"', "opt_base_learning_rate: is '1,5'"),
        ("rcp", '"epochs to', '"samples to converge": [5], "epochs to', "not one list"),
        ("rcp", '"BS": 4096', '"BS": 4096, "BS": 8', "'BS' occurs twice"),
        ("optimum", "16.5", '"16,5"', "throughput.value: is '16,5'"),
        ("optimum", '"MB"', '"pages"', "train.memory: its unit is 'pages'"),
        ("tf", "1234.56", "1,234.56", "total images/sec: is '1,234.56'"),
        ("tf", "1234.56", "nan", "total images/sec: is 'nan'"),
        ("tf", "512 global", "1,024 global", "batch size: is '1,024 global'"),
        ("perfzero", "100.5", '"100,5"', "wall_time: is '100,5'"),
        ("perfzero", "500.5}", '500.5}, {"name": "exp_per_second", "value": 7}', "a name twice"),
        ("perfzero", '"accelerator_count": 8', '"accelerator_count": "eight"',
         "accelerator_count: is 'eight'"),
        ("shallue", "20,0.25", '20,"0,25"', "row 3, val: is '0,25'"),
        ("shallue", "20,0.25", '"2,000",0.25', "row 3, step: is '2,000'"),
        ("shallue", '"learning_rate": 0.5', '"learning_rate": "0,5"', "learning_rate: is '0,5'"),
        ("mllog", "0.75", '"0,75"', "eval_accuracy: is '0,75'"),
        ("mllog", '"epoch_num": 2', '"samples_count": "2,000,000"', "samples_count: is"),
        ("mllog", '"time_ms": 210000', '"time_ms": 210000, "time_ms": 9', "is no mllog event"),
        ("mllog", '"time_ms": 210000', '"time_ms": Infinity', "is no mllog event"),
        ("mllog", '"accelerators_per_node": 8', '"accelerators_per_node": "8 (2 cards)"',
         "accelerators_per_node: is '8 (2 cards)'"),
        ("mllog", '"accelerators_per_node": 8, ', "", "accelerators_per_node: is not in the file"),
        ("mllog", event("train_samples", 1_000_000, 1), event("global_batch_size", 8, 1),
         "global_batch_size: is 4096 and 8"),
    ],
)  # fmt: skip
def test_a_cell_that_is_no_number_is_refused_with_its_place(
    name: str, old: str, new: str, why: str
) -> None:
    source, files, facts = changed(name, old, new)
    assert why in refusal(source, files, facts, **SOUND[name][3])


def test_a_second_run_in_a_result_file_is_refused() -> None:
    again = event("run_start", None, 500_000) + event("run_stop", None, 900_000, status="success")
    files = {"result_0.txt": MLLOG + again, "dgx.json": SYSTEM}
    assert "several runs" in refusal("mlperf", files, {})


@each(
    ("name", "old", "points"),
    [("keras", "0.7", 2), ("trainer", "0.625", 1), ("shallue", "0.25", 1), ("mllog", "0.75", 1)],
)
def test_a_metric_that_ends_as_nan_leaves_its_last_value_open(
    name: str, old: str, points: int
) -> None:
    source, files, facts = changed(name, old, "NaN")
    [row] = read(source, files, facts, **SOUND[name][3])
    assert len(row["evaluations"]) == points
    assert "final_metric" not in row
    assert "steps_to_target" not in row


# -- commas of a step log, and columns that are mapped --------------------------------------------


@each(
    ("text", "comma", "read_as"),
    [
        ("1,250.5", "thousands", 1_250.5), ("1,250", "thousands", 1_250.0),
        ("1,25", "decimal", 1.25), ("1,250", "decimal", 1.25), ("7.5", "decimal", 7.5),
        ("1,250", "", None), ("1,25", "thousands", None), ("0,125", "thousands", None),
        ("1.250,5", "decimal", None), ("-1", "", None), ("nan", "", None),
    ],
)  # fmt: skip
def test_a_comma_is_read_as_it_is_stated(text: str, comma: str, read_as: float | None) -> None:
    options = {"pattern": r"took (?P<step_s>[0-9.,na]+)", "unit": "s", "comma": comma}
    files = {"a.log": f"took {text} s\n"}
    if read_as is None and text != "-1":
        assert repr(text) in refusal("step-log", files, JOB, **options)
    elif read_as is None:
        assert "no line matches" in refusal("step-log", files, JOB, **options)
    else:
        assert read("step-log", files, JOB, **options)[0]["step_s"] == read_as


@each(
    ("pattern", "line", "why"),
    [
        (r"took .*(?P<step_s>[0-9.]+)", "took 123.4 s", "takes '4' of"),
        (r"took .(?P<step_s>[0-9.]+)", "took -5 s", "takes '5' of"),
        (r"took (?P<step_s>\d+)", "took 0:05:12", "takes '0' of"),
        (r"step (?P<step>\S+) val (?P<value>\S+)", "step 1.5 val 2", "must be a whole number"),
    ],
)
def test_a_part_of_a_number_is_not_read(pattern: str, line: str, why: str) -> None:
    assert why in refusal("step-log", {"a.log": line}, JOB, pattern=pattern, unit="s")


def test_steps_that_fall_and_lines_that_are_no_count_are_refused() -> None:
    options = {"pattern": r"step (?P<step>\d+) val (?P<value>\S+)"}
    falling = {"a.log": "step 2 val 0.5\nstep 1 val 0.6\n"}
    assert "do not rise" in refusal("step-log", falling, JOB, **options)
    for skip in ("-1", "1.5", "ten"):
        files = {"a.log": STEPS}
        assert "option skip" in refusal("step-log", files, JOB, **STEP_OPTIONS, skip=skip)


def test_two_columns_for_one_are_refused() -> None:
    files = {"a.csv": TABLE.replace("note", "other").replace(",a\n", ",99\n")}
    why = refusal("template", files, {}, columns="other:throughput")
    assert "column throughput: is that of several columns" in why


MANY: Final = ("dawnbench", "mllog", "shallue", "optimum")
"""Sources that read several files at once."""


@each("name", sorted(set(SOUND) - set(MANY)))
def test_a_second_file_is_never_left_out_in_silence(name: str) -> None:
    source, files, facts, options = SOUND[name]
    [(path, text)] = files.items()
    why = refusal(source, {path: text, f"b-{path}": text}, facts, **options)
    assert "it reads one file at a time; 2 were given" in why


def test_files_of_two_runs_are_not_mixed() -> None:
    other = REPORT.replace("16.5", "99.5")
    why = refusal("optimum-benchmark", {"benchmark.json": REPORT, "b.json": other}, {})
    assert "benchmark.json: has another report than the files before it" in why
    [row] = read("optimum-benchmark", {"benchmark.json": REPORT, "b.json": REPORT}, {})
    assert row["throughput"] == 16.5
    why = refusal("dawnbench", {"a.json": ENTRY, "a.tsv": HOURS, "b.tsv": HOURS}, {})
    assert "b.tsv: has no JSON file of its name" in why


def test_a_long_name_is_refused_and_no_problem_repeats_it() -> None:
    """What a problem repeats of a file goes to the browser."""
    files = {"a.json": ENTRY.replace("ResNet50", "a" * 1_000_000), "a.tsv": HOURS}
    with pytest.raises(SourceError) as error:
        read("dawnbench", files, {"model": "M"})
    assert "run 1, model: has 1,000,000 characters; at most 200 are read" in str(error.value)
    assert max(map(len, error.value.problems)) < 1_100
