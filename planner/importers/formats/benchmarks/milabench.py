"""milabench: items/s by batch size of many benchmarks on one accelerator, from its scaling YAML.

The file is read by a small reader of its own: names, `observations`, and one flow mapping a line.
Anchors, tags and other YAML are refused, so that nothing can grow.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from planner.core import Text
from planner.importers.formats.source import Row, Source, Stated, number, whole
from planner.importers.formats.source_files import SourceError, SourceFiles, text_of
from planner.importers.formats.times import clocked

_BENCH: Final = re.compile(r"([A-Za-z0-9_.-]{1,80}):\s*")
_ENTRY: Final = re.compile(r"\s+-\s*\{(.*)\}\s*")
_MEMORY: Final = re.compile(r"(\d+(?:\.\d+)?)\s*MiB", re.ASCII)
_PRECISION: Final = re.compile(r"(?P<model>.+?)-(?P<precision>fp16|fp32|tf32|bf16|tf32-fp16)")
_NAMES: Final = {"fp16": "mixed_float16", "fp32": "float32", "tf32": "tf32",
                 "bf16": "mixed_bfloat16", "tf32-fp16": "mixed_float16"}  # fmt: skip
_MIB: Final = 2**20


def _read(files: SourceFiles, stated: Stated) -> Sequence[Row]:
    problems: list[str] = []
    if stated.options.get("items") != "samples":
        problems.append(
            "option items: is missing. An item may be a sample, an image or a token. State "
            "items=samples after a check, or list the benches whose items are samples."
        )
    several = whole(stated.options.get("gpus"))
    only = {name for name in stated.options.get("benches", "").split(",") if name}
    rows: list[dict[str, Any]] = []
    repeats: Counter[tuple[object, ...]] = Counter()
    for at, bench, entry in _observations(files, problems):
        if only and bench not in only:
            continue
        row, wrong = _row(bench, entry, several)
        problems += [f"line {at}, {name}: {text}" for name, text in wrong]
        if row is None:
            continue
        case = tuple(row.get(n) for n in ("model", "precision", "per_device_batch_size", "workers"))
        row["repeat"] = repeats[case]
        repeats[case] += 1
        rows.append(row)
    if problems:
        raise SourceError(files.first, problems)
    return rows


def _observations(
    files: SourceFiles, problems: list[str]
) -> Iterator[tuple[int, str, dict[str, str]]]:
    bench = ""
    for at, line in enumerate(text_of(files).splitlines(), 1):
        text = line.split(" #")[0].rstrip()
        if not text or text.startswith("#") or text.strip() == "observations:":
            continue
        if match := _BENCH.fullmatch(text):
            bench = match[1]
        elif (match := _ENTRY.fullmatch(text)) and bench:
            pairs = [pair.partition(":") for pair in match[1].split(",")]
            entry = {name.strip(): value.strip() for name, colon, value in pairs if colon}
            if len(entry) == len(pairs):
                yield at, bench, entry
            else:
                text = "a name occurs twice, or a number has a comma. Correct it."
                problems.append(Text("line {at}, YAML: {text}", at=at, text=text))
        elif len(problems) < 50:
            problems.append(
                Text("line {at}, YAML: is neither a bench nor an observation. Remove it.", at=at)
            )


def _row(
    bench: str, entry: dict[str, str], several: int | None
) -> tuple[dict[str, Any] | None, list[tuple[str, str]]]:
    batch, speed = whole(entry.get("batch_size")), number(entry.get("perf"))
    wrong: list[tuple[str, str]] = []
    if batch is None:
        wrong.append(
            (
                "batch_size",
                Text("is {batch_size!r}; it must be above 0.", batch_size=entry.get("batch_size")),
            )
        )
    if speed is None or speed < 0.0:
        wrong.append(("perf", Text("is {perf!r}; it must be a speed.", perf=entry.get("perf"))))
    memory = _MEMORY.fullmatch(entry.get("memory", ""))
    if entry.get("memory") and memory is None:
        wrong.append(("memory", Text("is {memory!r}; it must be in MiB.", memory=entry["memory"])))
    workers = number(entry.get("cpu", "0"))
    if workers is None or workers < 0.0 or workers != int(workers):
        wrong.append(("cpu", Text("is {cpu!r}; it must be a whole number.", cpu=entry["cpu"])))
    when = number(entry["time"]) if "time" in entry else None
    if "time" in entry and when is None:
        wrong.append(("time", Text("is {time!r}; it must be s since 1970.", time=entry["time"])))
    parallel = bench.endswith(("-gpus", "-nodes"))
    if parallel and several is None:
        wrong.append((bench, "runs on several devices. State the option gpus=COUNT."))
    if wrong or batch is None or not speed or workers is None:  # 0 stands for a failed run
        return None, wrong
    match = _PRECISION.fullmatch(bench)
    devices = several if parallel and several else 1
    return {
        "model": match["model"] if match else bench,
        "precision": _NAMES[match["precision"]] if match else None,
        "framework": "PyTorch",
        "engine": "milabench",
        "accelerators_per_node": devices,
        "per_device_batch_size": batch,
        "global_batch_size": batch * devices,
        "workers": int(workers) if "cpu" in entry else None,
        "throughput": speed,
        "step_s": batch * devices / speed,
        "peak_memory_bytes": round(float(memory[1]) * _MIB) if memory else None,
        "peak_memory_method": "as milabench reports it" if memory else None,
        "source": "milabench",
        "recorded_at": None if when is None else clocked(when),
    }, []


SOURCE: Final = Source(
    name="milabench",
    title="milabench scaling table",
    files="config/scaling/GPU.yaml",
    reads="items/s, batch of a device, memory, workers and time of each bench",
    derives="the precision from the name of a bench; step time = batch / speed; the day of a run "
    "from its time, as s since 1970 in UTC",
    refuses="items/s without a statement that items are samples; benches on several devices "
    "without their count; 0 as a speed, which is left out",
    read=_read,
    named=r"[A-Za-z0-9-]+\.ya?ml",
    needs=("system_name", "device_kind"),
    options={
        "items": "samples, if an item is a sample in all benches that are read",
        "benches": "NAME,... reads these only",
        "gpus": "devices of benches that end in -gpus",
    },
)
