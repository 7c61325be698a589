"""The size of article 001: 168,160 runs, 71.5 million evaluations, in one file.

`python -m tests.bench.store` makes the file in a temporary folder and asks it everything a page
asks, then asks pandas the same of the same file. Each part is a process of its own, so that its
peak memory is its own.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from planner.core import Floats
from planner.runs import ARROW_SCHEMA, SUMMARY, run_id
from planner.store import Store, queries
from planner.store.sealed.commit import commit_table, compact_name
from tests.bench.figures import best_s, figure, heading, peak_gb, timed
from tests.store.build import a_set, folder

RUNS: Final = 168_160
EVALUATIONS: Final = 425
CHUNK: Final = 8_192
GOAL: Final = 0.25
WHEN: Final = datetime(2026, 3, 1, tzinfo=UTC)
WORKLOADS: Final = [
    ("Fully connected", "MNIST"), ("Simple CNN", "MNIST"), ("Simple CNN", "Fashion-MNIST"),
    ("ResNet-8", "CIFAR-10"), ("ResNet-50", "ImageNet"), ("VGG-11", "ImageNet"),
    ("LSTM", "LM1B"), ("Transformer", "LM1B"), ("Transformer", "Common Crawl"),
    ("ResNet-50", "Open Images"),
]  # fmt: skip
OPTIMIZERS: Final = ("SGD", "momentum", "Nesterov")


def records() -> Iterator[dict[str, Any]]:
    """The summary of every run; learning rates and seeds are a study's many trials."""
    for n in range(RUNS):
        model, dataset = WORKLOADS[n % len(WORKLOADS)]
        batch = 2 ** (n // 10 % 17)
        step_s = 0.02 + batch / 4_000
        summary = {
            "schema_version": 1,
            "result_set": "study",
            "status": "ok",
            "basis": "measured",
            "recorded_at": WHEN,
            "model": model,
            "dataset": dataset,
            "optimizer": OPTIMIZERS[n // 170 % 3],
            "learning_rate": 1e-3 * 1.05 ** (n // 510 % 100),
            "precision": "float32",
            "system_name": ("TPU v2", "T4", "V100", "A100")[n // 510 % 4],
            "device_kind": "gpu",
            "mode": "training",
            "global_batch_size": batch,
            "validation": True,
            "storage": "memory",
            "seed": n,
            "epochs_measured": 20,
            "first_epoch_s": 30.0 + batch / 100,
            "later_epoch_mean_s": 50_000 / batch * step_s,
            "later_epoch_sd_s": 0.1,
            "step_s": step_s,
            "steps_per_epoch": -(-50_000 // batch),
            "evaluation_metric": "validation error",
        }
        yield summary | {"run_id": run_id(summary)}


def curves(batch: NDArray[np.int64], draw: np.random.Generator) -> pa.ListArray:
    """425 evaluations of each run: an error that falls, counted in 10,000 samples."""
    runs = batch.size
    step = np.arange(1, EVALUATIONS + 1, dtype=np.int64) * 100
    need = 2_000.0 * (1 + 256 / batch) * draw.lognormal(0, 0.3, runs)
    floor = draw.uniform(0.05, 0.4, runs)
    exact = floor[:, None] + (0.9 - floor[:, None]) * np.exp(-step / need[:, None])
    seen = np.clip(exact + draw.normal(0, 0.004, exact.shape), 0.0, 1.0).round(4)
    loss = (seen * 2.5 + draw.normal(0, 0.01, seen.shape)).round(3)
    columns = {
        "step": pa.array(np.tile(step, runs)),
        "samples": pa.array((step * batch[:, None]).ravel()),
        "value": pa.array(seen.ravel()),
        "loss": pa.array(loss.ravel()),
    }
    item = ARROW_SCHEMA.field("evaluations").type.value_type
    nothing = {f.name: pa.nulls(seen.size, f.type) for f in item if f.name not in columns}
    parts = [(columns | nothing)[f.name] for f in item]
    offsets = pa.array(np.arange(runs + 1, dtype=np.int32) * EVALUATIONS)
    return pa.ListArray.from_arrays(offsets, pa.StructArray.from_arrays(parts, fields=list(item)))


def study() -> pa.Table:
    """The whole run table, in order of run_id as a compaction leaves it."""
    rows = sorted(records(), key=lambda r: str(r["run_id"]))
    draw = np.random.default_rng(20260301)
    parts = []
    for at in range(0, RUNS, CHUNK):
        part = pa.Table.from_pylist(rows[at : at + CHUNK], schema=ARROW_SCHEMA)
        where = ARROW_SCHEMA.get_field_index("evaluations")
        batch = part["global_batch_size"].to_numpy()
        parts.append(part.set_column(where, ARROW_SCHEMA.field(where), curves(batch, draw)))
    return pa.concat_tables(parts)


def make(root: Path) -> None:
    """Write the file through the store."""
    heading(f"{RUNS:,} runs x {EVALUATIONS} evaluations = {RUNS * EVALUATIONS / 1e6:.1f} million")
    made_s, table = timed(study)
    figure("making the numbers", made_s, "s")
    name = compact_name(table["run_id"].to_pylist())
    commit_s, path = timed(lambda: commit_table(a_set(root), name, table))
    figure("committing them as one file", commit_s, "s")
    figure("size of the file", path.stat().st_size / 1e6, "MB")
    figure("peak memory of the writer", peak_gb(), "GB", 8)


def ask(root: Path) -> None:
    """Load the file and ask everything that a page asks."""
    heading("the store (DuckDB in memory, 1 thread)")
    store = Store([folder(root)])
    figure("load (hash, check, take in)", timed(store.refresh)[0], "s")
    figure("look again, nothing new", 1e3 * best_s(store.refresh), "ms")
    figure("peak memory after loading", peak_gb(), "GB")
    asked = _summary_questions(store)
    for name, milliseconds in asked.items():
        figure(name, milliseconds, "ms", 50)
    figure("worst of them", max(asked.values()), "ms", 50)
    [(shown, file)] = store.rows("SELECT run_id, file FROM runs ORDER BY run_id LIMIT 1 OFFSET 9")
    curve_s = best_s(lambda: queries.nested(store, shown, "evaluations"))
    figure("one run's curve", 1e3 * curve_s, "ms", 100)
    taken_s = best_s(lambda: queries.run_file(store, shown))
    figure("one run as a file of its own", 1e3 * taken_s, "ms")
    lower_s, found = timed(lambda: queries.retarget(store, file, GOAL, higher_is_better=False))
    figure("a new target for all evaluations, first time", lower_s, "s", 1.5)
    again_s = best_s(lambda: queries.retarget(store, file, GOAL, higher_is_better=False), 3)
    figure("a new target for all evaluations, best of 3", again_s, "s", 1.0)
    reached = found.num_rows - found["steps_to_target"].null_count
    figure("runs that reach it", reached, "runs")
    figure("peak memory", peak_gb(), "GB")


def _summary_questions(store: Store) -> dict[str, float]:
    """Milliseconds of each question on the summary columns, best of 5."""
    workload, shown = next(iter(queries.workloads(store))), queries.table(store, {}, most=1)
    pattern = next(iter(queries.patterns(store, workload)))
    run = shown["run_id"][0].as_py()
    some = {"workload": [workload], "system": ["T4", "A100"], "global_batch_size": ["64", "128"]}
    questions = {
        "totals": lambda: queries.totals(store),
        "workloads": lambda: queries.workloads(store),
        "patterns": lambda: queries.patterns(store, workload),
        "runs_of (a workload, 2,000 runs)": lambda: queries.runs_of(store, workload, pattern),
        "run": lambda: queries.run(store, run),
        "all_columns": lambda: queries.all_columns(store, run),
        "count, no filter": lambda: queries.count(store, {}),
        "count, three filters": lambda: queries.count(store, some),
        "table, no filter (5,000 rows)": lambda: queries.table(store, {}),
        "table, three filters": lambda: queries.table(store, some),
        "facets, no filter (10 questions)": lambda: queries.facets(store, {}),
        "facets, three filters (10 questions)": lambda: queries.facets(store, some),
    }
    return {name: 1e3 * best_s(partial(_anew, store, q)) for name, q in questions.items()}


def _anew(store: Store, question: Callable[[], object]) -> None:
    """Ask a question whose answer is not kept."""
    store.forget()
    question()


def ask_pandas(root: Path) -> None:
    """The same of the same file with pandas."""
    [path] = (root / "mine").glob("*.parquet")
    heading("pandas on the same file")
    read_s, runs = timed(lambda: pd.read_parquet(path, columns=list(SUMMARY)))
    figure("read the summary columns", read_s, "s")
    figure("count by workload and batch", 1e3 * best_s(lambda: _by_workload(runs)), "ms")
    figure("peak memory after the summary columns", peak_gb(), "GB")
    read_s, flat = timed(lambda: _flat(path))
    figure("read the evaluations", read_s, "s")
    target_s, found = timed(lambda: _steps_to_target(flat))
    figure("a new target for all evaluations", target_s, "s")
    figure("runs that reach it", len(found), "runs")
    figure("one run's curve", 1e3 * best_s(lambda: flat[flat["run"] == 9]), "ms")
    figure("peak memory", peak_gb(), "GB")


def _by_workload(runs: pd.DataFrame) -> object:
    return runs.groupby(["model", "dataset", "optimizer", "global_batch_size"]).size()


def _flat(path: Path) -> pd.DataFrame:
    column = pq.ParquetFile(path).read(["evaluations"])["evaluations"].combine_chunks()
    items = column.flatten()
    return pd.DataFrame(
        {
            "run": pc.list_parent_indices(column).to_numpy(),
            "step": items.field("step").to_numpy(),
            "value": _floats(items.field("value")),
        }
    )


def _floats(values: pa.Array) -> Floats:
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)


def _steps_to_target(flat: pd.DataFrame) -> pd.Series[int]:
    reached = flat[flat["value"] <= GOAL]
    return reached.groupby("run")["step"].min()


PARTS: Final = {"make": make, "ask": ask, "pandas": ask_pandas}


def main() -> None:
    """All parts, each in a process of its own."""
    with tempfile.TemporaryDirectory() as root:
        for part in PARTS:
            subprocess.run([sys.executable, "-m", "tests.bench.store", part, root], check=True)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        PARTS[sys.argv[1]](Path(sys.argv[2]))
    else:
        main()
