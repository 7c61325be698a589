"""tf_cnn_benchmarks' log and PerfZero's JSON: images/s of one training."""

import re
from collections.abc import Sequence
from typing import Final

from planner.core import Text
from planner.importers.formats.source import Row, Source, Stated, cell, finite, number, whole
from planner.importers.formats.source_files import (
    SourceError,
    SourceFiles,
    json_of,
    part_of,
    text_of,
)
from planner.importers.formats.times import moment

_HEAD: Final = re.compile(
    r"^.{0,200}?(?P<name>TensorFlow|Model|Dataset|Batch size|Devices|Optimizer|Mode):"
    r"\s+(?P<value>.+?)\s*$",
    re.MULTILINE,
)
_DEVICE: Final = re.compile(r"(?:task:?(\d+)/)?(gpu|cpu|tpu):\d+")
"""A device of the log's list, and the task that has it in a training of several machines."""
_EACH: Final = re.compile(r"(?<![\d,.])(\d+)(?:\.0+)? per device")
_TOTAL: Final = re.compile(r"total images/sec: *(\S*)")
_STEP: Final = re.compile(r"images/sec: (\d+(?:\.\d+)?) \+/- ")
_GPUS: Final = re.compile(r"(?<![\da-z])(\d{1,4})_?gpus?(?![a-z])")
"""GPUs in the name of a benchmark's method: benchmark_8_gpu, benchmark_synth_1gpu_gpuparams."""
_OF_RUNS: Final = ("exp_per_second", "avg_exp_per_second")
"""Speeds of the official models, whose wall time is that of the whole run."""
_OF_STEPS: Final = "examples_per_sec"
"""Speed of tf_cnn_benchmarks, whose wall time is the mean of a step."""


def _read(files: SourceFiles, stated: Stated) -> Sequence[Row]:
    return _perfzero(files, stated) if files.suffix == ".json" else [_log(files, stated)]


def _log(files: SourceFiles, stated: Stated) -> Row:
    text = text_of(files)
    head: dict[str, str] = {}
    for match in _HEAD.finditer(text):
        head.setdefault(match["name"], match["value"])
    total = _TOTAL.findall(text)
    problems: list[str] = []
    if len(total) != 1:
        count = "no line" if not total else f"{len(total)} lines"
        problems.append(
            Text("it has {count} `total images/sec`. Give the whole log of one run.", count=count)
        )
    speed = number(total[0]) if total else None
    if total and not (speed and speed > 0.0):
        problems.append(
            Text("total images/sec: is {speed!r}; it must be above 0.", speed=total[0][:40])
        )
    if head.get("Mode", "training").lower() not in {"training", "benchmark", "train"}:
        problems.append(Text("mode {mode}: only trainings are read.", mode=head["Mode"]))
    if "horovod" in head.get("Devices", "") and "number_of_nodes" not in stated.facts:
        text = "Horovod lists the devices of all machines. State the fact number_of_nodes."
        problems.append(text)
    size = head.get("Batch size", "")
    batch = re.match(r"(\d+)(?:\.0)? global", size)
    if "global" in size and not batch:
        problems.append(Text("batch size: is {size!r}; it must be a whole number.", size=size[:40]))
    if problems or not speed:
        raise SourceError(files.first, problems)
    listed = _DEVICE.findall(head.get("Devices", ""))
    stated_nodes = stated.facts.get("number_of_nodes")
    nodes = len({task for task, _ in listed if task}) or stated_nodes or 1
    devices = len(listed) // nodes or None
    each = _EACH.search(text)
    whole_batch = int(batch[1]) if batch else stated.facts.get("global_batch_size")
    return {
        "model": head.get("Model"),
        "dataset": (head.get("Dataset") or "").removesuffix(" (synthetic)") or None,
        "synthetic_data": "synthetic" in head["Dataset"] if "Dataset" in head else None,
        "optimizer": head.get("Optimizer"),
        "global_batch_size": whole_batch,
        "per_device_batch_size": int(each[1]) if each else None,
        "accelerators_per_node": devices,
        "number_of_nodes": nodes,
        "device_kind": "gpu" if any(kind == "gpu" for _, kind in listed) else None,
        "framework": "TensorFlow",
        "framework_version": head.get("TensorFlow"),
        "engine": "tf_cnn_benchmarks",
        "throughput": speed,
        "step_s": whole_batch / speed if whole_batch else None,
        "note": Text(
            "Mean of the log's steps; {findall} were printed.", findall=len(_STEP.findall(text))
        ),
    }


def _perfzero(files: SourceFiles, stated: Stated) -> list[Row]:
    body = json_of(files)
    result = body.get("benchmark_result") if isinstance(body, dict) else None
    if not isinstance(result, dict):
        raise SourceError(files.first, ["it has no benchmark_result. Give PerfZero's summary."])
    metrics = result.get("metrics")
    listed = [m for m in metrics if isinstance(m, dict)] if isinstance(metrics, list) else []
    problems: list[str] = []
    named = {
        name: cell(m.get("value"), f"metric {name}", problems)
        for m in listed
        if (name := str(m.get("name"))) in (*_OF_RUNS, _OF_STEPS)
    }
    if len(named) < sum(str(m.get("name")) in named for m in listed):
        problems.append("its metrics have a name twice. Give the summary of one benchmark.")
    by_step = not any(name in named for name in _OF_RUNS)
    speeds = (_OF_STEPS,) if by_step else _OF_RUNS
    speed = next((named[name] for name in speeds if name in named), None)
    name = str(result.get("name") or "")
    system = part_of(body, "system_info") or part_of(body, "platform_info")
    if not finite(speed) or speed <= 0.0:
        problems.append(
            Text(
                "its metrics have none of {speeds} above 0.",
                speeds=", ".join((*_OF_RUNS, _OF_STEPS)),
            )
        )
    if result.get("succeeded") is False:
        problems.append("benchmark_result: did not succeed.")
    if any(word in name.lower() for word in ("inference", "forward")):
        problems.append(Text("{name}: only trainings are read.", name=name[:80]))
    in_system = system.get("accelerator_count")
    devices, unclear = _used(name, whole(in_system), stated)
    problems += [unclear] if unclear else []
    if in_system not in (None, "") and cell(in_system, "accelerator_count", problems) is None:
        devices = None
    stamp = body.get("execution_timestamp")
    when, unread = moment(str(stamp), "s") if stamp is not None else (None, None)
    problems += [Text("execution_timestamp: {why}", why=unread)] if unread else []
    wall_s = cell(result.get("wall_time"), "wall_time", problems)
    wall_s = wall_s if finite(wall_s) and wall_s > 0.0 else None
    framework = part_of(body, "ml_framework_info")
    if problems:
        raise SourceError(files.first, problems)
    return [
        {
            "model": name or None,
            "recorded_at": when,
            "total_s": None if by_step else wall_s,
            "step_s": wall_s if by_step else None,
            "throughput": speed,
            "framework": "TensorFlow",
            "framework_version": str(framework.get("version") or "") or None,
            "engine": "PerfZero",
            "accelerator_model_name": str(system.get("accelerator_model") or "") or None,
            "system_name": str(system.get("accelerator_model") or "") or None,
            "accelerators_per_node": devices,
            "accelerator_driver_version": str(system.get("accelerator_driver_version") or "")
            or None,
            "host_processor_model_name": str(system.get("cpu_model") or "") or None,
            "host_processors_per_node": whole(system.get("cpu_socket_count")),
        }
    ]


def _used(name: str, in_system: int | None, stated: Stated) -> tuple[int | None, str | None]:
    """Return the accelerators a benchmark used, and why they are unclear.

    PerfZero writes the number in the system; a method's name says how many of them it uses.
    """
    named = {int(count) for count in _GPUS.findall(name.rpartition(".")[2].lower())}
    if len(named) == 1:
        used = named.pop()
        if in_system and not 0 < used <= in_system:
            return None, Text(
                "{name}: is for {used} GPUs; its system has {in_system}.",
                name=name[:80],
                used=used,
                in_system=in_system,
            )
        return used or None, None
    if in_system is None or in_system == 1 or "accelerators_per_node" in stated.facts:
        return in_system if in_system == 1 else None, None
    return None, Text(
        "its system has {in_system} accelerators, and no name says how many it used. State the "
        "fact accelerators_per_node.",
        in_system=in_system,
    )


SOURCE: Final = Source(
    name="tf-benchmarks",
    title="tf_cnn_benchmarks log or PerfZero summary",
    files="a log with `total images/sec`, or PerfZero's JSON",
    reads="images/s, model, data set, batch, devices; PerfZero's wall time, day, versions and host",
    derives="step time = global batch / images/s; machines and their devices from the list; "
    "PerfZero's devices from the method's name, as benchmark_8_gpu",
    refuses="logs of several runs, other modes than training, speeds under unknown names",
    read=_read,
    needs=("model", "system_name", "device_kind", "global_batch_size"),
)
