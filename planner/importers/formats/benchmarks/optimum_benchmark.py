"""optimum-benchmark: benchmark.json of a training, with its configuration and report."""

from collections.abc import Sequence
from typing import Any, Final

from planner.core import Text
from planner.importers.formats.source import Row, Source, Stated, cell, finite, whole
from planner.importers.formats.source_files import SourceError, SourceFiles, json_of, part_of

_MEMORY_UNITS: Final = {"MB": 1e6, "MiB": 2.0**20, "GB": 1e9, "GiB": 2.0**30}


def _read(files: SourceFiles, stated: Stated) -> Sequence[Row]:
    merged: dict[str, Any] = {}
    problems: list[str] = []
    for name in files.ending(".json"):
        body = json_of(files, name)
        if not isinstance(body, dict):
            raise SourceError(name, ["it is no JSON object."])
        reports = {"config": body} if "backend" in body else {"report": body}
        parts = body if "report" in body else reports
        problems += [
            Text("{name}: has another {part} than the files before it. Give those of one run.",
                 name=name, part=part)
            for part in ("config", "report")
            if part in parts and merged.get(part, parts[part]) != parts[part]
        ]  # fmt: skip
        merged |= parts
    report, config = part_of(merged, "report"), part_of(merged, "config")
    train = part_of(report, "train")
    latency, speed = part_of(train, "latency"), part_of(train, "throughput")
    memory, unit = part_of(train, "memory"), part_of(train, "memory").get("unit")
    if not train:
        problems.append("it has no training. Reports of inference are not read.")
    if latency and latency.get("unit") != "s":
        problems.append(
            Text("train.latency: its unit is {unit!r}; it must be s.", unit=latency.get("unit"))
        )
    if speed and speed.get("unit") != "samples/s":
        problems.append(
            Text(
                "train.throughput: its unit is {unit!r}; must be samples/s.", unit=speed.get("unit")
            )
        )
    if train and not (latency or speed):
        problems.append("train: has neither latency nor throughput.")
    numbers = {
        f"{part}.{name}": cell(of.get(name), f"{part}.{name}", problems)
        for part, of, names in (
            ("latency", latency, ("mean", "p50", "p90")), ("throughput", speed, ("value",)),
            ("memory", memory, ("max_allocated", "max_ram")),
        )
        for name in names
    }  # fmt: skip
    numbers = {name: value if finite(value) else None for name, value in numbers.items()}
    peak = numbers["memory.max_allocated"] or numbers["memory.max_ram"]
    if peak and unit not in _MEMORY_UNITS:
        problems.append(
            Text("train.memory: its unit is {unit!r}; it must be {units}.",
                 unit=unit, units=", ".join(_MEMORY_UNITS))
        )  # fmt: skip
    if problems:
        raise SourceError(files.first, problems)
    backend, here = part_of(config, "backend"), part_of(config, "environment")
    names = here.get("gpu")
    devices = [str(n) for n in names] if isinstance(names, list) and names else []
    on_cpu = backend.get("device") == "cpu"
    count = whole(here.get("gpu_count")) if devices and not on_cpu else None
    arguments = part_of(part_of(config, "scenario"), "training_arguments")
    each = whole(arguments.get("per_device_train_batch_size"))
    return [
        {
            "model": _text(backend.get("model")),
            "framework": "PyTorch",
            "framework_version": _text(backend.get("version")),
            "precision": _text(backend.get("torch_dtype") or backend.get("dtype")),
            "device_kind": "cpu" if on_cpu else ("gpu" if devices else None),
            "system_name": _text(here.get("cpu")) if on_cpu else next(iter(devices), None),
            "accelerator_model_name": None if on_cpu else next(iter(devices), None),
            "accelerators_per_node": count or stated.facts.get("accelerators_per_node"),
            "host_processor_model_name": _text(here.get("cpu")),
            "per_device_batch_size": each,
            "global_batch_size": each if count == 1 or on_cpu else None,
            "step_s": numbers["latency.mean"],
            "step_p50_s": numbers["latency.p50"],
            "step_p90_s": numbers["latency.p90"],
            "throughput": numbers["throughput.value"],
            "peak_memory_bytes": round(peak * _MEMORY_UNITS[str(unit)]) if peak else None,
            "engine": "optimum-benchmark",
        }
    ]  # fmt: skip


def _text(value: object) -> str | None:
    return str(value).strip() or None if value is not None else None


SOURCE: Final = Source(
    name="optimum-benchmark",
    title="optimum-benchmark report",
    files="benchmark.json, benchmark_report.json with benchmark_config.json, or a folder of them",
    reads="mean and quantiles of the step time, samples/s, memory, model, device",
    derives="the global batch from that of the device, where there is one device",
    refuses="inference; other units than s and samples/s",
    read=_read,
    named=r"benchmark(_report|_config)?\.json",
    needs=("model", "system_name", "device_kind", "global_batch_size"),
    endings=(".json",),
)
