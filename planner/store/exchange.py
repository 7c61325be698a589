"""A result set as one file to send: a zip of parquet, set.toml and CSV, or of mllog files."""

import io
import json
import math
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from planner.core import csv_text
from planner.core.slugs import BADGE, folder_slug, slug
from planner.runs import ARROW_SCHEMA, NESTED, Row, as_current
from planner.store import sql
from planner.store.reader import Store
from planner.store.sealed.accept import accepted
from planner.store.sealed.commit import compact_name, write_parquet
from planner.store.sealed.result_set import FIELDS, NAME, ResultSet, set_text
from planner.store.sealed.seal import blank_seal, seal_bytes

NOT_STATED: Final = "not stated"
"""Organisation of a run that names none; the rules refuse an empty text."""
_PLAIN: Final = re.compile(r"\w(?:[\w .~-]*[\w~-])?")
"""Folders whose names every system takes as they are."""
_DAY: Final = (1980, 1, 1, 0, 0, 0)
"""Date of every member, so that equal sets make equal files."""
_SYSTEM: Final = (
    "system_name", "accelerator_model_name", "accelerators_per_node", "number_of_nodes",
    "accelerator_interconnect", "accelerator_host_interconnect", "host_processor_model_name",
    "host_processors_per_node", "host_networking", "operating_system", "framework",
)  # fmt: skip


def table_of(store: Store, of: ResultSet) -> pa.Table:
    """Return the shown runs of a set with all columns, in order of run_id."""
    folder = next(f.path for f in store.folders if f.label == of.folder)
    parts = [ARROW_SCHEMA.empty_table()]
    for (file,) in store.rows(sql.FILES):
        seal = accepted(file) if Path(file).parent == folder / of.slug else ""
        if not isinstance(seal, str):
            whole = as_current(pq.ParquetFile(file).read(use_threads=False), seal.schema_version)
            parts += [] if whole is None else [whole]
    every = pa.concat_tables(parts).sort_by("run_id")
    ids = every["run_id"].to_pylist()
    first = [at for at, run in enumerate(ids) if not at or run != ids[at - 1]]
    return every.take(pa.array(first, pa.int64())).cast(ARROW_SCHEMA)


def set_zip(store: Store, of: ResultSet) -> bytes:
    """Return a zip with a folder that can be put into a folder of results as it is.

    It has one sealed parquet file, set.toml, and runs.csv without the nested columns, for
    spreadsheets: a text that would be run as a formula gets a `'`.
    """
    table = table_of(store, of)
    rows = table.num_rows
    parquet = io.BytesIO()
    write_parquet(parquet, table, blank_seal(table.to_pylist() if rows == 1 else rows))
    texts = {name: str(getattr(of, name)) for name in FIELDS if getattr(of, name)}
    texts["title"] = of.title.removesuffix(BADGE)
    flat = table.drop_columns(list(NESTED))
    if of.standing:
        flat = flat.append_column("standing", pa.array([of.standing] * rows, pa.string()))
    filled = [n for n in flat.column_names if flat[n].null_count < rows]
    ids = table["run_id"].to_pylist()
    name = f"{ids[0]}.parquet" if rows == 1 else compact_name(ids)
    place = of.slug if _PLAIN.fullmatch(of.slug) else folder_slug(of.slug)
    return _zipped(
        {
            f"{place}/{name}": seal_bytes(parquet.getvalue()),
            f"{place}/{NAME}": set_text(texts).encode(),
            f"{place}/runs.csv": csv_text(flat.select(filled).to_pylist()).encode(),
        }
    )


def mllog_zip(store: Store, of: ResultSet) -> bytes:
    """Return a zip of mllog files, a run each, and the JSON of their systems.

    The folders are those of a submission, `results/SYSTEM/MODEL/result_N.txt` and
    `systems/SYSTEM.json`. It is no submission; docs/results.md says which rules it keeps. Times
    begin at `recorded_at`, as measured durations have no clock time.
    """
    files: dict[str, bytes] = {}
    counts: Counter[str] = Counter()
    for row in table_of(store, of).to_pylist():
        system = {name: row[name] for name in _SYSTEM if row.get(name) is not None}
        at = _member(" ".join(str(v) for v in system.values()))
        system |= {"standing": of.standing} if of.standing else {}
        place = f"results/{at}/{_member(row['model'])}"
        files[f"systems/{at}.json"] = json.dumps(system, indent=2, ensure_ascii=False).encode()
        files[f"{place}/result_{counts[place]}.txt"] = _log(row, of).encode()
        counts[place] += 1
    return _zipped(files)


def _member(name: str) -> str:
    """Return a name as a part of a path in a zip: neither a step up nor a hidden file."""
    return slug(name)[:80].strip(".-") or "none"


def _zipped(files: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name, _DAY), files[name])
    return out.getvalue()


_BENCHMARKS: Final = frozenset({
    "deepseekv3_671b", "dlrm_dcnv2", "flux1", "gpt_oss_20b", "llama2_70b_lora", "llama31_405b",
    "llama31_8b",
})  # fmt: skip
"""Benchmarks of MLPerf Training 6.0; its checker ends with an error for any other name."""


class _Event(NamedTuple):
    """An event of a run, `at_s` after its initialisation began."""

    at_s: float
    kind: str
    key: str
    value: object = None
    about: Mapping[str, object] = MappingProxyType({})


def _log(row: Row, of: ResultSet) -> str:
    """Return the events of a run in the order of their times, in whole milliseconds."""
    recorded: datetime = row["recorded_at"]
    zero_ms = round(recorded.timestamp() * 1000.0)
    start_s = row.get("pre_train_s") or 0.0
    timed = [*_epochs(row, start_s), *_evaluations(row, start_s)]
    end_s = max((event.at_s for event in timed), default=start_s)
    took_s = row.get("time_to_target_s") or (end_s - start_s) or row.get("total_s") or 0.0
    stop_s = start_s + took_s
    status = {"status": "success" if row["status"] == "ok" else "aborted"}
    count = row.get("epochs_measured")
    block = {"first_epoch_num": 1, "epoch_count": count} if count else {"samples_count": 0}
    events = [
        *(_Event(0.0, "POINT_IN_TIME", key, value) for key, value in _stated(row, of).items()),
        _Event(0.0, "INTERVAL_START", "init_start"),
        _Event(start_s, "INTERVAL_END", "init_stop"),
        _Event(start_s, "INTERVAL_START", "run_start"),
        _Event(start_s, "INTERVAL_START", "block_start", None, block),
        *timed,
        _Event(stop_s, "INTERVAL_END", "block_stop", None, block),
        _Event(stop_s, "INTERVAL_END", "run_stop", None, status),
    ]
    return "".join(_line(zero_ms, e) for e in sorted(events, key=lambda event: event.at_s))


def _stated(row: Row, of: ResultSet) -> dict[str, object]:
    """Return what a run states; what the rules require is null where it is unknown."""
    model = "submission_benchmark" if row["model"] in _BENCHMARKS else "model"
    required = {
        model: row["model"],
        "submission_org": row.get("submitted_by") or of.author or NOT_STATED,
        "submission_platform": row["system_name"],
        "submission_division": "open",
        "cache_clear": None,
        "train_samples": row.get("samples_per_epoch") or row.get("train_samples"),
        "eval_samples": row.get("validation_samples"),
    }
    optional = {
        "global_batch_size": row.get("global_batch_size"),
        "gradient_accumulation_steps": row.get("gradient_accumulation_steps"),
        "opt_name": row.get("optimizer"),
        "opt_base_learning_rate": row.get("learning_rate"),
        "seed": row.get("seed"),
        "evaluation_metric": row.get("evaluation_metric"),
        "throughput": row.get("throughput"),
        "step_time_s": row.get("step_s"),
        "standing": of.standing or None,
    }
    return required | {key: value for key, value in optional.items() if value is not None}


def _epochs(row: Row, start_s: float) -> Iterator[_Event]:
    """Yield begin and end of each epoch, counted from 1."""
    end_s = start_s
    for number, epoch in enumerate(row.get("epochs") or (), 1):
        about = {"epoch_num": number}
        yield _Event(end_s, "INTERVAL_START", "epoch_start", None, about)
        end_s += epoch["epoch_s"]
        yield _Event(end_s, "INTERVAL_END", "epoch_stop", None, about)


def _evaluations(row: Row, start_s: float) -> Iterator[_Event]:
    """Yield the values of the metric, with the samples that were seen until then."""
    batch = row.get("global_batch_size")
    for entry in row.get("evaluations") or ():
        samples = entry.get("samples") or (batch and batch * entry["step"])
        if entry.get("elapsed_s") is not None and samples and _is_finite(entry["value"]):
            at_s = start_s + entry["elapsed_s"]
            about = {"samples_count": samples}
            yield _Event(at_s, "POINT_IN_TIME", "eval_accuracy", entry["value"], about)


def _is_finite(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def _line(zero_ms: int, event: _Event) -> str:
    body = {
        "namespace": "", "time_ms": zero_ms + round(1000.0 * event.at_s), "event_type": event.kind,
        "key": event.key, "value": event.value, "metadata": dict(event.about),
    }  # fmt: skip
    return f":::MLLOG {json.dumps(body)}\n"
