"""A result set as one file to send: a zip of parquet, set.toml and CSV, or of mllog files."""

import io
import json
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from planner.core import csv_text
from planner.core.slugs import BADGE, slug
from planner.runs import ARROW_SCHEMA, NESTED, Row, as_current
from planner.store import sql
from planner.store.reader import Store
from planner.store.sealed.accept import accepted
from planner.store.sealed.commit import compact_name, write_parquet
from planner.store.sealed.result_set import FIELDS, NAME, ResultSet, set_text
from planner.store.sealed.seal import blank_seal, seal_bytes

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
    return _zipped(
        {
            f"{of.slug}/{name}": seal_bytes(parquet.getvalue()),
            f"{of.slug}/{NAME}": set_text(texts).encode(),
            f"{of.slug}/runs.csv": csv_text(flat.select(filled).to_pylist()).encode(),
        }
    )


def mllog_zip(store: Store, of: ResultSet) -> bytes:
    """Return a zip of mllog files, a run each, and the JSON of their systems.

    The folders are those of a submission, `results/SYSTEM/MODEL/result_N.txt` and
    `systems/SYSTEM.json`. It is no submission: nothing is checked against the rules of MLPerf.
    Times begin at `recorded_at`, as measured durations have no clock time.
    """
    files: dict[str, bytes] = {}
    counts: Counter[str] = Counter()
    for row in table_of(store, of).to_pylist():
        system = {name: row[name] for name in _SYSTEM if row.get(name) is not None}
        system |= {"standing": of.standing} if of.standing else {}
        at = slug(" ".join(str(v) for v in system.values()))[:80]
        place = f"results/{at}/{slug(row['model'])[:80]}"
        files[f"systems/{at}.json"] = json.dumps(system, indent=2, ensure_ascii=False).encode()
        files[f"{place}/result_{counts[place]}.txt"] = "".join(_lines(row)).encode()
        counts[place] += 1
    return _zipped(files)


def _zipped(files: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name, _DAY), files[name])
    return out.getvalue()


def _lines(row: Row) -> Iterator[str]:
    """Yield the events of a run."""
    recorded: datetime = row["recorded_at"]
    zero_ms = recorded.timestamp() * 1000.0
    stated = {
        "submission_benchmark": row["model"],
        "submission_org": row.get("submitted_by"),
        "global_batch_size": row.get("global_batch_size"),
        "gradient_accumulation_steps": row.get("gradient_accumulation_steps"),
        "train_samples": row.get("samples_per_epoch") or row.get("train_samples"),
        "opt_name": row.get("optimizer"),
        "opt_base_learning_rate": row.get("learning_rate"),
        "seed": row.get("seed"),
        "evaluation_metric": row.get("evaluation_metric"),
        "throughput": row.get("throughput"),
        "step_time_s": row.get("step_s"),
    }
    for key, value in stated.items():
        if value is not None:
            yield _event(zero_ms, "POINT_IN_TIME", key, value)
    yield _event(zero_ms, "INTERVAL_START", "init_start")
    start_s = row.get("pre_train_s") or 0.0
    yield _event(zero_ms + 1000.0 * start_s, "INTERVAL_START", "run_start")
    end_s = start_s
    for epoch in row.get("epochs") or ():
        about = {"epoch_num": epoch["epoch"]}
        yield _event(zero_ms + 1000.0 * end_s, "INTERVAL_START", "epoch_start", None, about)
        end_s += epoch["epoch_s"]
        yield _event(zero_ms + 1000.0 * end_s, "INTERVAL_END", "epoch_stop", None, about)
    for evaluation in row.get("evaluations") or ():
        if evaluation.get("elapsed_s") is not None:
            at_ms = zero_ms + 1000.0 * (start_s + evaluation["elapsed_s"])
            about = {"samples_count": evaluation.get("samples")}
            yield _event(at_ms, "POINT_IN_TIME", "eval_accuracy", evaluation["value"], about)
    stop_s = row.get("time_to_target_s") or (end_s - start_s) or row.get("total_s")
    if stop_s:
        status = "success" if row["status"] == "ok" else "aborted"
        at_ms = zero_ms + 1000.0 * (start_s + stop_s)
        yield _event(at_ms, "INTERVAL_END", "run_stop", None, {"status": status})


def _event(
    time_ms: float, kind: str, key: str, value: object = None, about: Row | None = None
) -> str:
    body = {"namespace": "", "time_ms": round(time_ms, 3), "event_type": kind, "key": key,
            "value": value, "metadata": dict(about or {})}  # fmt: skip
    return f":::MLLOG {json.dumps(body)}\n"
