"""MLPerf Training: mllog result files with the JSON of their system, or a folder of them."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Final

from planner.core import Text
from planner.importers.formats.source import Row, Source, Stated, cell, finite, number, rises, whole
from planner.importers.formats.source_files import (
    MOST_BYTES,
    MOST_ROWS,
    SourceError,
    SourceFiles,
    json_of,
    json_value,
    refuse_packed,
)
from planner.importers.formats.times import clocked

NOT_STATED: Final = "not stated"
"""Organisation of a log that names none: the rules of MLPerf refuse an empty text."""
_MARK: Final = ":::MLL"
_LINE: Final = re.compile(r":::MLLOG\s+(\{.*\})|:::MLL\s+(\d+\.\d+)\s+(\w+):\s+(\{.*\})")
_MOST_EPOCHS: Final = 1_000
"""Above it, `epoch_num` may count samples, as BERT's logs do."""
_SYSTEM: Final = {
    "system_name": "system_name",
    "accelerator_model_name": "accelerator_model_name",
    "accelerator_interconnect": "accelerator_interconnect",
    "accelerator_host_interconnect": "accelerator_host_interconnect",
    "host_processor_model_name": "host_processor_model_name",
    "host_networking": "host_networking",
    "operating_system": "operating_system",
    "submitter": "submitted_by",
}
_ONCE: Final = ("global_batch_size", "train_samples", "gradient_accumulation_steps")
"""Keys whose value holds for the whole run."""
_COUNTS: Final = ("accelerators_per_node", "number_of_nodes", "host_processors_per_node")
_GPUS: Final = ("nvidia", "tesla", "v100", "a100", "amd ", "mi2", "mi3")


@dataclass(slots=True)
class _Log:
    """Events of one result file: time [s], key, value, metadata."""

    values: dict[str, Any] = field(default_factory=dict)
    times: dict[str, float] = field(default_factory=dict)
    events: list[tuple[float, str, Any, Mapping[str, Any]]] = field(default_factory=list)


def _read(files: SourceFiles, stated: Stated) -> Sequence[Row]:
    logs = [name for name in sorted(files.data) if not name.lower().endswith(".json")]
    rows: list[dict[str, Any]] = []
    problems: list[str] = []
    repeats: Counter[tuple[object, ...]] = Counter()
    for name in logs:
        try:
            row = _row(_log(files, name), _system(files, name), stated)
        except SourceError as error:
            where = f"{name}: " if len(logs) > 1 else ""
            problems += [f"{where}{text}" for text in error.problems]
            continue
        case = tuple(row.get(n) for n in ("model", "system_name", "global_batch_size", "seed"))
        row["repeat"] = repeats[case]
        repeats[case] += 1
        row["source_path"] = name
        rows.append(row)
    if not logs:
        problems.append("there is no result file. Give result_*.txt beside the system's JSON.")
    if problems:
        raise SourceError(files.name, problems)
    return rows


def _log(files: SourceFiles, name: str) -> _Log:
    log = _Log()
    for time_s, key, value, about in _events(files, name):
        if len(log.events) > MOST_ROWS:
            raise SourceError(
                name,
                [Text("it has more than {most_rows:,} events. Split it.", most_rows=MOST_ROWS)],
            )
        if key == "run_start" and "run_stop" in log.times:
            raise SourceError(name, ["it holds several runs. Split it into one file each."])
        if key in _ONCE and log.values.get(key, value) != value:
            raise SourceError(
                name,
                [Text("{key}: is {first} and {value}. Give the file of one run.",
                      key=key, first=str(log.values[key])[:20], value=str(value)[:20])],
            )  # fmt: skip
        log.events.append((time_s, key, value, about))
        log.times.setdefault(key, time_s)
        if value is not None and key != "eval_accuracy":
            log.values.setdefault(key, value)
        if key == "run_stop":
            log.times[key] = time_s
            log.values["status"] = about.get("status", value)
    return log


def _events(files: SourceFiles, name: str) -> Iterator[tuple[float, str, Any, Mapping[str, Any]]]:
    """Yield the events of the first process that logs; others repeat them."""
    refuse_packed(files, name)
    text = files.data[name].decode("utf-8", "replace")
    if len(text) > MOST_BYTES:
        raise SourceError(
            name, [Text("it is larger than {most_bytes:,} bytes. Split it.", most_bytes=MOST_BYTES)]
        )
    for at, line in enumerate(text.splitlines(), 1):
        begins = line.find(_MARK)  # a search from each mark would be slow in a line of many
        match = _LINE.match(line, begins) if begins >= 0 else None
        if match is None:
            continue
        try:
            body = json_value(match[1] or match[4])
            if match[1]:
                time_s, key = float(body["time_ms"]) / 1000.0, str(body["key"])
            else:
                time_s, key = float(match[2]), match[3]
            about = body.get("metadata") or {}
        except (ValueError, KeyError, TypeError, RecursionError):
            time_s, key, about = math.nan, "", {}
        if not math.isfinite(time_s):
            raise SourceError(
                name,
                [Text("line {at:,}: is no mllog event. Restore the file from its source.", at=at)],
            )
        yield time_s, key, body.get("value"), about if isinstance(about, dict) else {}


def _system(files: SourceFiles, name: str) -> Mapping[str, Any]:
    """Return the JSON of the system: named as the folder two above, or the only one."""
    systems = files.ending(".json")
    parents = [part.name for part in PurePosixPath(name).parents]
    chosen = [s for s in systems if PurePosixPath(s).stem in parents]
    if not chosen and len(systems) == 1:
        chosen = systems
    if not chosen:
        return {}
    body = json_of(files, chosen[0])
    if not isinstance(body, dict):
        raise SourceError(chosen[0], ["it is no JSON object of a system."])
    return body


def _row(log: _Log, system: Mapping[str, Any], stated: Stated) -> dict[str, Any]:
    start, stop = log.times.get("run_start"), log.times.get("run_stop")
    problems = []
    if start is None or stop is None or stop <= start:
        problems.append("it has no run_start before a run_stop. Give a whole result file.")
    batch = whole(log.values.get("global_batch_size"))
    if batch is None and "global_batch_size" not in stated.facts:
        problems.append("it has no global_batch_size.")
    if problems or start is None or stop is None:
        raise SourceError("", problems)
    batch = batch or int(stated.facts["global_batch_size"])
    reached = log.values.get("status") == "success"
    begun = log.times.get("init_start")
    row: dict[str, Any] = {
        "model": _text(log, "submission_benchmark") or _text(log, "model"),
        "sweep": None,
        "optimizer": str(log.values.get("opt_name") or "") or None,
        "learning_rate": number(log.values.get("opt_base_learning_rate")),
        "global_batch_size": batch,
        "gradient_accumulation_steps": whole(log.values.get("gradient_accumulation_steps")),
        "train_samples": whole(log.values.get("train_samples")),
        "seed": whole(log.values.get("seed")),
        "pre_train_s": start - begun if begun is not None and start >= begun else None,
        "time_to_target_s": stop - start if reached else None,
        "target_reached": reached,
        "status": "ok" if reached else "killed",
        "status_reason": None if reached else "ended without the target",
        "source": "MLPerf Training log, unverified",
        "recorded_at": clocked(start if begun is None else begun),
        "submitted_by": _text(log, "submission_org"),
    }
    row |= {to: str(system[of]) for of, to in _SYSTEM.items() if system.get(of)}
    row |= {name: _count(system, name) for name in _COUNTS}
    if "framework" in system:
        row["framework"] = str(system["framework"])
    if row.get("system_name") is None and log.values.get("submission_platform"):
        row["system_name"] = str(log.values["submission_platform"])
    row["device_kind"] = _kind(row.get("accelerator_model_name") or "")
    row |= _epochs(log)
    return row | _evaluations(log, start, batch, row["train_samples"], stated)


def _text(log: _Log, key: str) -> str | None:
    """Return a text of the log; None where it is missing, empty or not stated."""
    text = str(log.values.get(key) or "")
    return None if text in ("", NOT_STATED) else text


def _count(system: Mapping[str, Any], name: str) -> int | None:
    """Return a count of the system's JSON; None where it has none, SourceError for other texts."""
    count = whole(system.get(name))
    if count is None and system.get(name) not in (None, "") and name != "host_processors_per_node":
        text = Text("{name}: is {count!r} in the system's JSON; it must be a whole number.",
                    name=name, count=str(system[name])[:40])  # fmt: skip
        raise SourceError("", [text])
    return count


def _kind(accelerator: str) -> str | None:
    text = accelerator.lower()
    if "tpu" in text:
        return "tpu"
    return "gpu" if any(word in text for word in _GPUS) else None


def _epochs(log: _Log) -> dict[str, Any]:
    """Return the epoch columns where every epoch has a start and a stop, numbered by 1."""
    starts = {a.get("epoch_num"): t for t, key, _, a in log.events if key == "epoch_start"}
    times: list[float] = []
    for time_s, key, _, about in log.events:
        if key == "epoch_stop" and (start := starts.pop(about.get("epoch_num"), None)) is not None:
            times.append(time_s - start)
    if len(times) < 2 or starts or any(t <= 0.0 for t in times):
        return {}
    rest = times[1:]
    mean = math.fsum(rest) / len(rest)
    spread = math.sqrt(math.fsum((t - mean) ** 2 for t in rest) / len(rest))
    return {
        "first_epoch_s": times[0],
        "later_epoch_mean_s": mean,
        "later_epoch_sd_s": spread,
        "epochs_measured": len(times),
    }


def _evaluations(
    log: _Log, start: float, batch: int, train_samples: int | None, stated: Stated
) -> dict[str, Any]:
    counts = stated.options.get("epoch_num", "")
    if counts not in {"", "epochs", "samples", "steps"}:
        text = Text(
            "option epoch_num: is {counts!r}; choose epochs, samples or steps.", counts=counts
        )
        raise SourceError("", [text])
    unit = {"samples": 1.0, "steps": float(batch)}.get(counts, train_samples)
    evaluations: list[dict[str, Any]] = []
    problems: list[str] = []
    for time_s, key, value, about in log.events:
        metric = cell(value, key, problems) if key == "eval_accuracy" else None
        samples = _samples(about, unit, problems, stated=bool(counts)) if metric is not None else 0
        if samples:
            evaluations.append(
                {
                    "step": max(round(samples / batch), 1), "samples": round(samples),
                    "elapsed_s": time_s - start, "value": metric, "loss": None,
                }
            )  # fmt: skip
    if problems:
        raise SourceError("", problems)
    last = evaluations[-1] if evaluations else {"value": None}
    evaluations = [each for each in evaluations if finite(each["value"])]
    if not evaluations or not rises(evaluations):
        return {}
    row: dict[str, Any] = {
        "evaluations": evaluations,
        "evaluation_metric": "eval_accuracy",
        "evaluation_higher_is_better": evaluations[-1]["value"] >= evaluations[0]["value"],
    }
    if finite(last["value"]):
        row["final_metric"] = last["value"]
        if log.values.get("status") == "success":
            row |= {"steps_to_target": last["step"], "samples_to_target": last["samples"]}
    return row


def _samples(
    about: Mapping[str, Any], unit: float | None, problems: list[str], *, stated: bool
) -> float | None:
    """Return the samples at an evaluation; None where it has no count that can be converted."""
    samples = cell(about.get("samples_count"), "samples_count", problems)
    at = cell(about.get("epoch_num"), "epoch_num", problems)
    if finite(samples):
        return samples
    if not finite(at):
        return None
    if not stated and at > _MOST_EPOCHS:
        text = Text(
            "option epoch_num: {at:g} may count samples. State epochs, samples or steps.", at=at
        )
        raise SourceError("", [text])
    return None if unit is None else at * unit


SOURCE: Final = Source(
    name="mlperf",
    title="MLPerf Training result files",
    files="result_*.txt (mllog) with the system's JSON, or a folder with results and systems",
    reads="initialisation, time to target, evaluations, epochs, batch, seed, system",
    derives="samples of an evaluation from samples_count, else epoch_num x train_samples; whether "
    "the metric rises from its first and last value; when the run began from time_ms",
    refuses="files without run_start and run_stop, or of several runs; counts of accelerators and "
    "machines that neither the system's JSON nor you state; an epoch_num that may count samples",
    read=_read,
    named=r"result_?\d*.*\.(txt|log)",
    needs=("model", "system_name", "device_kind", "accelerators_per_node", "number_of_nodes"),
    options={"epoch_num": "what it counts: epochs, samples or steps"},
    endings=(".txt", ".log", ".json"),
)
