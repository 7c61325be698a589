"""A result set as one file: what is sent is what comes back."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from planner.__main__ import main
from planner.importers import SourceFiles, Stated, read
from planner.store import commit_runs
from planner.store.exchange import mllog_zip, set_zip, table_of
from planner.store.sealed.result_set import NAME, WITHDRAWN, restore, withdraw
from tests.store.build import EVALUATIONS, a_set, full_row, ids, opened, row, rows, together

TIMES = {"epochs_measured": 3, "first_epoch_s": 30.0, "later_epoch_mean_s": 11.173,
         "later_epoch_sd_s": 1.1726}  # fmt: skip


def unpacked(data: bytes, into: Path) -> Path:
    """The files of a zip."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        archive.extractall(into)
    return into


@pytest.mark.parametrize("count", [1, 3])
def test_a_zip_put_into_another_folder_shows_the_same_runs(tmp_path: Path, count: int) -> None:
    a_set(
        tmp_path / "here", [full_row() | {"result_set": "mine", "repeat": i} for i in range(count)]
    )
    here = opened(tmp_path / "here")
    data = set_zip(here, here.sets[0])
    there = opened(unpacked(data, tmp_path / "there"))
    assert there.refused == ()
    assert table_of(there, there.sets[0]).equals(table_of(here, here.sets[0]))
    assert there.sets[0].title == here.sets[0].title
    assert data == set_zip(here, here.sets[0])


def test_single_and_merged_files_are_sent_together(tmp_path: Path) -> None:
    place = a_set(tmp_path / "here", rows(2))
    together(place, [row(model="B"), row(model="C")])
    here = opened(tmp_path / "here")
    there = opened(unpacked(set_zip(here, here.sets[0]), tmp_path / "there"))
    assert ids(there) == ids(here)


def test_the_csv_runs_no_formula(tmp_path: Path) -> None:
    a_set(tmp_path, [row(note="=cmd|' /C calc'!A0", pre_train_s=0.5)])
    store = opened(tmp_path)
    with zipfile.ZipFile(io.BytesIO(set_zip(store, store.sets[0]))) as archive:
        [line] = csv.DictReader(io.StringIO(archive.read("mine/runs.csv").decode()))
    assert line["note"].startswith("'=")
    assert float(line["pre_train_s"]) == 0.5


def test_log_lines_come_back_through_the_importer(tmp_path: Path) -> None:
    epochs = [
        {"epoch": i, "epoch_s": s, "validation_s": None, "samples": None, "loss": None,
         "metric": None} for i, s in enumerate((30.0, 10.0, 12.0), 1)
    ]  # fmt: skip
    counts = {"accelerators_per_node": 8, "number_of_nodes": 2}
    times = {"first_epoch_s": 30.0, "later_epoch_mean_s": 11.0, "later_epoch_sd_s": 1.0}
    a_set(
        tmp_path,
        [row(pre_train_s=5.0, epochs_measured=3, epochs=epochs, seed=7, **counts, **times)],
    )
    store = opened(tmp_path)
    with zipfile.ZipFile(io.BytesIO(mllog_zip(store, store.sets[0]))) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    [back] = read(
        "mlperf", SourceFiles(name="z", data=files), Stated(facts={"device_kind": "gpu"}), "z"
    )
    assert {n: back[n] for n in times} == pytest.approx(times)
    assert back["pre_train_s"] == pytest.approx(5.0)
    assert (back["global_batch_size"], back["seed"], back["model"]) == (64, 7, "ResNet-50")


ONCE = ("submission_org", "submission_platform", "submission_division", "init_stop", "run_start",
        "run_stop", "train_samples", "eval_samples")  # fmt: skip
"""Keys that occur once in a log by the rules of MLPerf Training 6.0 (`training_6.0.0`)."""
SOME = ("cache_clear", "init_start", "block_start", "block_stop")
"""Keys that occur at least once; blocks stand for epochs and evaluations too."""
LONGEST_INIT_MS = 240 * 60_000
EPOCHS = [
    {"epoch": i, "epoch_s": s, "validation_s": None, "samples": None, "loss": None, "metric": None}
    for i, s in ((1, 30.0), (2, 10.0004), (3, 12.3456))
]  # fmt: skip
RUNS = {
    "whole": row(pre_train_s=5.25, epochs=EPOCHS, evaluations=EVALUATIONS, train_samples=50_000,
                 evaluation_metric="loss", submitted_by="A lab", **TIMES),
    "a speed alone": row(step_s=0.125),
    "failed": row(status="oom", status_reason="too large"),
    "a benchmark": row(model="llama31_8b", evaluations=EVALUATIONS, evaluation_metric="loss"),
}  # fmt: skip


@pytest.mark.parametrize("name", RUNS)
def test_a_log_keeps_the_rules_of_mlperf_that_apply_to_it(tmp_path: Path, name: str) -> None:
    a_set(tmp_path, [RUNS[name]])
    store = opened(tmp_path)
    with zipfile.ZipFile(io.BytesIO(mllog_zip(store, store.sets[0]))) as archive:
        [log] = [n for n in archive.namelist() if n.startswith("results/")]
        lines = archive.read(log).decode().splitlines()
    events = [json.loads(line.removeprefix(":::MLLOG ")) for line in lines]
    assert all(type(e["time_ms"]) is int and "value" in e and "metadata" in e for e in events)
    times = [e["time_ms"] for e in events]
    assert times == sorted(times)
    counts = Counter(e["key"] for e in events)
    assert {key: counts[key] for key in ONCE} == dict.fromkeys(ONCE, 1)
    assert all(counts[key] for key in SOME)
    at = {e["key"]: (place, e) for place, e in reversed(list(enumerate(events)))}
    order = ["init_start", "init_stop", "run_start", "block_start", "block_stop", "run_stop"]
    assert [at[key][0] for key in order] == sorted(at[key][0] for key in order)
    begin, end = (at[key][1]["time_ms"] for key in ("init_start", "init_stop"))
    assert 0 <= end - begin < LONGEST_INIT_MS
    assert all(at[key][1]["value"] for key in ("submission_org", "submission_platform"))
    assert at["submission_division"][1]["value"] == "open"
    assert at["run_stop"][1]["metadata"]["status"] == ("aborted" if name == "failed" else "success")
    about = at["block_start"][1]["metadata"]
    assert about.get("epoch_count", 1) > 0 <= about.get("samples_count", 0)
    assert "first_epoch_num" in about or "samples_count" in about
    evaluated = [e["metadata"] for e in events if e["key"] == "eval_accuracy"]
    assert all("samples_count" in e for e in evaluated)
    numbers = [e["metadata"]["epoch_num"] for e in events if e["key"] == "epoch_start"]
    assert numbers == list(range(1, len(numbers) + 1))
    # Rules that cannot apply: the name of a benchmark, and an evaluation where none was made.
    assert counts["submission_benchmark"] == (name == "a benchmark")
    assert bool(evaluated) is (name in {"whole", "a benchmark"})


def test_the_command_writes_a_file_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a_set(tmp_path / "results", rows(2))
    out = tmp_path / "mine.zip"
    words = ["export", "mine", "--out", str(out), "--results", str(tmp_path / "results")]
    assert main(words) == 0
    assert zipfile.is_zipfile(out)
    assert main(words) == 2
    assert "exists" in capsys.readouterr().err
    assert main(["export", "no-such-set", "--out", str(tmp_path / "b.zip")]) == 1
    assert "no result set no-such-set" in capsys.readouterr().err


# -- withdrawal -----------------------------------------------------------------------------------


def test_a_withdrawn_set_shows_no_run_and_loses_no_file(tmp_path: Path) -> None:
    place = a_set(tmp_path, rows(2))
    store = opened(tmp_path)
    assert withdraw(place, "wrong clock", "2026-11-25")
    assert not withdraw(place, "again", "2026-11-26")
    store.refresh()
    assert ids(store) == []
    assert store.refused == ()
    assert store.sets[0].withdrawn == "2026-11-25: wrong clock"
    assert len(list(place.glob("*.parquet"))) == 2
    assert restore(place, "2026-11-27")
    assert not restore(place, "2026-11-27")
    store.refresh()
    assert len(ids(store)) == 2
    assert store.sets[0].withdrawn == ""


@pytest.mark.parametrize("record", [b"", b"[]", b"{", b"\xff", b"9" * 400_000])
def test_a_damaged_record_of_a_withdrawal_still_hides_the_set(
    tmp_path: Path, record: bytes
) -> None:
    place = a_set(tmp_path, rows(1))
    (place / WITHDRAWN).write_bytes(record)
    store = opened(tmp_path)
    assert ids(store) == []
    assert store.sets[0].withdrawn == "withdrawn"


@pytest.mark.parametrize("name", ["..", ".", "../..", "..\\..", "/", ".hidden", "C:", "日本"])
def test_no_file_of_a_zip_leaves_its_folder(tmp_path: Path, name: str) -> None:
    a_set(tmp_path / "here", [row(model=name, system_name=name)])
    store = opened(tmp_path / "here")
    for make in (set_zip, mllog_zip):
        with zipfile.ZipFile(io.BytesIO(make(store, store.sets[0]))) as archive:
            parts = [part for each in archive.namelist() for part in each.split("/")]
        assert not any(part.startswith(".") or part in {"", "C:"} for part in parts), parts


@pytest.mark.parametrize(
    ("folder", "inside"),
    [("mine-2", "mine-2"), ("日本 2026", "日本 2026"), ("C:evil", "c-evil~"), ("a\nb", "a-b~"),
     ("\u202egpj", "gpj~"), ("-rf", "rf~"), ("trail ", "trail")],
)  # fmt: skip
def test_the_folder_in_a_zip_has_a_name_for_every_system(
    tmp_path: Path, folder: str, inside: str
) -> None:
    commit_runs(tmp_path / folder, [row()])
    (tmp_path / folder / NAME).write_text('title = "T"\nlicence = "MIT"\nsource = "S"\n')
    store = opened(tmp_path)
    with zipfile.ZipFile(io.BytesIO(set_zip(store, store.sets[0]))) as archive:
        [name] = {each.partition("/")[0] for each in archive.namelist()}
    assert name == inside or (inside.endswith("~") and name.startswith(inside))
