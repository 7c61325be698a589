"""tf_cnn_benchmarks' log and PerfZero's JSON: images/s of one training."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from planner.core import Text
from planner.importers.formats.given import Given, SourceError, json_of, text_of
from planner.importers.formats.source import Row, Source, Stated, number, whole

_HEAD: Final = re.compile(
    r"^.{0,200}?(?P<name>Model|Dataset|Batch size|Devices|Optimizer|Mode|Precision):"
    r"\s+(?P<value>.+?)\s*$",
    re.MULTILINE,
)
_EACH: Final = re.compile(r"(\d+)\.?\d* per device")
_TOTAL: Final = re.compile(r"total images/sec: (\d+(?:\.\d+)?)")
_STEP: Final = re.compile(r"images/sec: (\d+(?:\.\d+)?) \+/- ")
_SPEEDS: Final = ("exp_per_second", "avg_exp_per_second", "average_examples_per_second")


def _read(given: Given, stated: Stated) -> Sequence[Row]:
    return _perfzero(given) if given.suffix == ".json" else [_log(given, stated)]


def _log(given: Given, stated: Stated) -> Row:
    text = text_of(given)
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
    if total and not float(total[0]) > 0.0:
        problems.append("total images/sec: is 0. The run failed.")
    if head.get("Mode", "training").lower() not in {"training", "benchmark", "train"}:
        problems.append(Text("mode {mode}: only trainings are read.", mode=head["Mode"]))
    if problems:
        raise SourceError(given.first, problems)
    batch = re.match(r"(\d+)(?:\.0)? global", head.get("Batch size", ""))
    devices = len(re.findall(r"(?:gpu|cpu|tpu):\d+", head.get("Devices", ""))) or None
    each = _EACH.search(text)
    speed = float(total[0])
    whole_batch = int(batch[1]) if batch else stated.facts.get("global_batch_size")
    return {
        "model": head.get("Model"),
        "dataset": (head.get("Dataset") or "").removesuffix(" (synthetic)") or None,
        "synthetic_data": "synthetic" in head["Dataset"] if "Dataset" in head else None,
        "optimizer": head.get("Optimizer"),
        "global_batch_size": whole_batch,
        "per_device_batch_size": int(each[1]) if each else None,
        "accelerators_per_node": devices,
        "device_kind": "gpu" if "gpu:" in head.get("Devices", "") else None,
        "framework": "TensorFlow",
        "engine": "tf_cnn_benchmarks",
        "throughput": speed,
        "step_s": whole_batch / speed if whole_batch else None,
        "note": Text(
            "Mean of the log's steps; {findall} were printed.", findall=len(_STEP.findall(text))
        ),
    }


def _perfzero(given: Given) -> list[Row]:
    body = json_of(given)
    result = body.get("benchmark_result") if isinstance(body, dict) else None
    if not isinstance(result, dict):
        raise SourceError(given.first, ["it has no benchmark_result. Give PerfZero's summary."])
    metrics = result.get("metrics")
    listed = [m for m in metrics if isinstance(m, dict)] if isinstance(metrics, list) else []
    speed = next(
        (number(m.get("value")) for n in _SPEEDS for m in listed if m.get("name") == n), None
    )
    system = _part(body, "system_info") or _part(body, "platform_info")
    problems: list[str] = []
    if not speed or speed <= 0.0:
        problems.append(
            Text("its metrics have none of {speeds} above 0.", speeds=", ".join(_SPEEDS))
        )
    if result.get("succeeded") is False:
        problems.append("benchmark_result: did not succeed.")
    if problems:
        raise SourceError(given.first, problems)
    return [
        {
            "model": str(result.get("name") or "") or None,
            "total_s": number(result.get("wall_time")),
            "throughput": speed,
            "framework": "TensorFlow",
            "engine": "PerfZero",
            "accelerator_model_name": str(system.get("accelerator_model") or "") or None,
            "system_name": str(system.get("accelerator_model") or "") or None,
            "accelerators_per_node": whole(system.get("accelerator_count")),
        }
    ]


def _part(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = body.get(name)
    return part if isinstance(part, dict) else {}


SOURCE: Final = Source(
    name="tf-benchmarks",
    title="tf_cnn_benchmarks log or PerfZero summary",
    files="a log with `total images/sec`, or PerfZero's JSON",
    reads="images/s, model, data set, batch, devices; wall time of PerfZero",
    derives="step time = global batch / images/s; the number of devices from their list",
    refuses="logs of several runs, other modes than training, examples/s under unknown names",
    read=_read,
    needs=("model", "system_name", "device_kind", "global_batch_size"),
)
