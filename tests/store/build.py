"""Rows, files and stores for the tests: made here, in full view, from nothing."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from planner.runs import COLUMNS, Row, table_from_rows
from planner.runs._records import complete
from planner.store import Folder, Store, commit_runs
from planner.store.sealed.commit import commit_table, compact_name, write_parquet
from planner.store.sealed.seal import ZEROS, blank_seal, seal_bytes

NOON: Final = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
ABOUT: Final = 'title = "A set"\nlicence = "CC0-1.0"\nsource = "made for a test"\n'
_ENTRY: Final = {"samples": 50_000, "validation_s": 1.25}
EPOCHS: Final = [
    _ENTRY | {"epoch": 1, "epoch_s": 12.5, "loss": 2.5, "metric": 0.25},
    _ENTRY | {"epoch": 2, "epoch_s": 10.1, "loss": 1.5, "metric": 0.5},
]
EVALUATIONS: Final = [
    {"step": 100, "samples": 6_400, "elapsed_s": 1.5, "value": 0.9, "loss": 2.25},
    {"step": 200, "samples": 12_800, "elapsed_s": 3.0, "value": 0.4, "loss": 1.125},
    {"step": 300, "samples": 19_200, "elapsed_s": 4.5, "value": 0.2, "loss": 0.5},
]
STEPS: Final = [{"step": 1, "step_s": 0.75}, {"step": 2, "step_s": 0.0625}]


def row(**changes: object) -> dict[str, Any]:
    """A small sound row with `changes`; the same arguments are the same run."""
    return {
        "result_set": "mine",
        "status": "ok",
        "basis": "measured",
        "recorded_at": NOON,
        "model": "ResNet-50",
        "system_name": "T4",
        "device_kind": "gpu",
        "mode": "training",
        "global_batch_size": 64,
    } | changes


def rows(count: int, **changes: object) -> list[dict[str, Any]]:
    """`count` different runs: repeats of one case."""
    return [row(repeat=i, **changes) for i in range(count)]


def full_row() -> dict[str, Any]:
    """A sound row in which every column has a value, the nested ones too."""
    filled = {c.name: _filler(c.name, c.type, c.choices) for c in COLUMNS if c.group != "nested"}
    chosen = {
        "global_batch_size": 512,
        "per_device_batch_size": 32,
        "accelerators_per_node": 4,
        "number_of_nodes": 2,
        "gradient_accumulation_steps": 2,
        "parallelism": "data",
        "epochs_measured": 2,
        "pre_train_s": 1.5,
        "first_epoch_s": 12.5,
        "until_first_epoch_end_s": 14.0,
        "later_epoch_mean_s": 10.1,
        "later_epoch_sd_s": 0.0,
        "total_s": 26.0,
        "samples_per_epoch": 50_000,
        "steps_per_epoch": 98,
        "step_s": 0.09,
        "step_p10_s": 0.0625,
        "step_p90_s": 1.5,
        "throughput": 5_600.0,
        "extra": '{"temperature_c": 61.5}',
        "epochs": EPOCHS,
        "evaluations": EVALUATIONS,
        "steps": STEPS,
    }
    made = filled | chosen
    del made["run_id"], made["schema_version"]
    return made


def _filler(name: str, kind: pa.DataType, choices: tuple[str, ...]) -> object:
    number = len(name)
    if pa.types.is_string(kind):
        return choices[0] if choices else f"{name} · 日本語 \"'"
    if pa.types.is_boolean(kind):
        return number % 2 == 0
    if pa.types.is_timestamp(kind):
        return NOON
    return number if pa.types.is_integer(kind) else number / 7


def a_set(root: Path, records: Sequence[Row] = (), *, slug: str = "mine") -> Path:
    """A result set under `root` with its set.toml and `records` committed."""
    place = root / slug
    place.mkdir(parents=True, exist_ok=True)
    (place / "set.toml").write_text(ABOUT, encoding="utf-8")
    if records:
        commit_runs(place, records)
    return place


def together(place: Path, records: Sequence[Row]) -> Path:
    """`records` committed to the set `place` as one file of many."""
    table = table_from_rows(records).sort_by("run_id")
    return commit_table(place, compact_name(table["run_id"].to_pylist()), table)


def folder(path: Path, label: str = "yours") -> Folder:
    """A folder of result sets as the app knows it."""
    return Folder(path=path, label=label, kind="own")


def opened(*paths: Path) -> Store:
    """A refreshed store on the folders, labelled by their names."""
    store = Store([folder(p, p.name) for p in paths])
    store.refresh()
    return store


def reasons(store: Store) -> dict[str, str]:
    """Why files are refused, by file name."""
    return {Path(r.path).name: r.reason for r in store.refused}


def ids(store: Store) -> list[str]:
    """All run ids shown, in order."""
    return sorted(r[0] for r in store.rows("SELECT run_id FROM runs"))


def sealed_table(table: pa.Table, seal: str | None = None) -> bytes:
    """Any table as a parquet file with a seal that fits its bytes."""
    buffer = io.BytesIO()
    write_parquet(buffer, table, blank_seal(table.num_rows) if seal is None else seal)
    return seal_bytes(buffer.getvalue())


def sealed_with(record: Row, **changes: object) -> bytes:
    """A file of one run whose seal's JSON body is changed before it is sealed."""
    full = complete(record)
    body = json.loads(blank_seal([full]))
    body |= changes
    return sealed_table(table_from_rows([record]), json.dumps(body, separators=(",", ":")))


def blank_hash(data: bytes) -> bytes:
    """A sealed file whose hash is all zeros again."""
    at = data.rindex(b'{"sha256":"') + len(b'{"sha256":"')
    return data[:at] + ZEROS + data[at + 64 :]


def listed(place: Path) -> list[str]:
    """Names in a folder, hidden ones too, but for set.toml."""
    return sorted(p.name for p in place.iterdir() if p.name != "set.toml")
