"""DAWNBench training entries: NAME.json with NAME.tsv beside it, or a folder of them."""

import itertools
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from planner.core import Text
from planner.importers.formats.source import Row, Source, Stated, cell, finite, number
from planner.importers.formats.source_files import SourceError, SourceFiles, json_of, table_of
from planner.importers.formats.times import clocked

_TASKS: Final = {
    "top5Accuracy": ("ImageNet", 1_281_167),
    "top1Accuracy": ("CIFAR-10", 50_000),
    "f1Score": ("SQuAD", 87_599),
}
"""Data set and training samples by the metric of the table."""
_EPOCH: Final = "epoch"
_KINDS: Final = {"tpu": "tpu", "gpu": "gpu", "v100": "gpu", "p100": "gpu", "k80": "gpu",
                 "gtx": "gpu", "titan": "gpu", "m60": "gpu", "xeon": "cpu"}  # fmt: skip


def _read(files: SourceFiles, stated: Stated) -> Sequence[Row]:
    entries = files.ending(".json")
    rows: list[Row] = []
    problems = [
        Text("{name}: has no JSON file of its name beside it. Give both.", name=table)
        for table in files.ending(".tsv")
        if files.beside(table, ".json") is None
    ]
    for entry in entries:
        try:
            rows.append(_entry(files, entry, stated))
        except SourceError as error:
            where = f"{entry}: " if len(entries) > 1 else ""
            problems += [Text("{where}{text}", where=where, text=text) for text in error.problems]
    if problems:
        raise SourceError(files.name, problems)
    return rows


def _entry(files: SourceFiles, entry: str, stated: Stated) -> Row:
    body = json_of(files, entry)
    if not isinstance(body, dict) or not body.get("model") or not body.get("hardware"):
        raise SourceError(entry, ["it has no model or hardware. Give an entry of DAWNBench."])
    table = table_of(files, "\t", files.beside(entry, ".tsv") or entry.replace(".json", ".tsv"))
    metric = next((name for name in _TASKS if name in table[0]), None)
    hours = [number(line.get("hours")) for line in table]
    at = [number(line.get(_EPOCH)) for line in table]
    problems: list[str] = []
    if metric is None:
        problems.append(Text("its table has none of {tasks}.", tasks=", ".join(_TASKS)))
    if any(h is None for h in hours) or any(e is None for e in at):
        problems.append("its table has a line without epoch or hours.")
    last = cell(table[-1][metric], f"row {len(table)}, {metric}", problems) if metric else None
    if problems or metric is None:
        raise SourceError(entry, problems)
    seconds = [3600.0 * (h or 0.0) for h in hours]
    dataset, samples = _TASKS[metric]
    hardware = str(body["hardware"])
    kind = next((k for word, k in _KINDS.items() if word in hardware.lower()), None)
    row: dict[str, Any] = {
        "model": str(body["model"]),
        "dataset": dataset,
        "train_samples": samples,
        "samples_per_epoch": samples,
        "framework": str(body.get("framework") or "") or None,
        "system_name": hardware,
        "device_kind": stated.facts.get("device_kind", kind),
        "submitted_by": str(body.get("author") or "") or None,
        "source": "DAWNBench",
        "source_path": "/".join(f"{files.name}/{entry}".split("/")[-2:]),
        "published_on": str(body.get("timestamp") or "")[:7] or None,
        "recorded_at": _day(str(body.get("timestamp") or "")),
        "total_s": seconds[-1] or None,
        "evaluation_metric": metric,
        "evaluation_higher_is_better": True,
        "final_metric": last if finite(last) else None,
        "note": _NOTE,
    }
    return {**row, **_epochs([float(e or 0.0) for e in at], seconds)}


def _day(text: str) -> str | None:
    """Return the beginning of a day in UTC; None for any other text."""
    try:
        day = datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        return None
    return clocked(day.timestamp())


def _epochs(at: Sequence[float], seconds: Sequence[float]) -> dict[str, Any]:
    """Return the epoch columns if the table has a line for every epoch."""
    steps = [b - a for a, b in itertools.pairwise(at)]
    times = [b - a for a, b in itertools.pairwise(seconds)]
    if len(at) < 2 or any(s != 1.0 for s in steps) or any(t <= 0.0 for t in times):
        return {}
    mean = sum(times) / len(times)
    return {
        "until_first_epoch_end_s": seconds[0] or None,
        "later_epoch_mean_s": mean,
        "later_epoch_sd_s": (sum((t - mean) ** 2 for t in times) / len(times)) ** 0.5,
        "epochs_measured": len(at),
    }


_NOTE: Final = "Hours may include evaluation; some entries change image or batch size on the way."
SOURCE: Final = Source(
    name="dawnbench",
    title="DAWNBench training entry",
    files="NAME.json with NAME.tsv beside it, or a folder with many",
    reads="hours and metric by epoch, model, hardware, framework, author, day",
    derives="data set from the metric (top-5: ImageNet, top-1: CIFAR-10, F1: SQuAD); epoch times "
    "from differences of hours; the time of a run from its day, at 0:00 UTC",
    refuses="the number of accelerators and the batch, which stand in free text: state them",
    read=_read,
    basis="published",
    url="https://github.com/stanford-futuredata/dawn-bench-entries",
    citation="Coleman et al.: DAWNBench: An End-to-End Deep Learning Benchmark and Competition, "
    "2017",
    endings=(".json", ".tsv"),
    beside=(".tsv",),
)
