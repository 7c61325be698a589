"""The shipped sets are what their printed tables say, and can be made again to the byte."""

from __future__ import annotations

import csv
import functools
import json
import subprocess
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
import pytest

from planner.runs import run_id
from planner.store import queries
from planner.store.sealed.commit import compact_name
from tests.each import each
from tests.faults.outcomes import FULL
from tests.fork_server import executable
from tests.shipped import library

ROOT: Final = Path(__file__).resolve().parents[2]
RESULTS: Final = ROOT / "data" / "results"
TABLES: Final = ROOT / "data" / "tables"
PUBLIC: Final = ROOT.parent / "shared" / "datasets" / "koshian2_tpu_benchmark"
COUNTS: Final = {
    "article-000-throughput": 2,
    "article-002-feed": 15,
    "article-002-pattern-3": 10,
    "article-002-projection": 10,
    "article-003-driver-or-workers": 12,
}
LIBRARY: Final = tuple(
    sorted(p.parent.name for p in RESULTS.glob("*/set.toml") if "NOTICE.md" in p.read_text("utf-8"))
)
PROJECTED: Final = ("10", "20", "50", "100", "200", "500", "1000", "2000")
Row = dict[str, Any]
needs_public = pytest.mark.skipif(
    not PUBLIC.is_dir(), reason="the public data sets are not beside this checkout"
)


def _build(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [executable("planner"), "-m", "data.build", *arguments]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )


@functools.cache
def _rows(slug: str) -> tuple[Row, ...]:
    (path,) = (RESULTS / slug).glob("*.parquet")
    return tuple(pq.ParquetFile(path).read().to_pylist())


def _table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _cells(slug: str) -> list[dict[str, str]]:
    return _table(TABLES / f"{slug}.csv")


def _by_case(slug: str) -> dict[tuple[str, int], Row]:
    return {(row["device_kind"], row["global_batch_size"]): row for row in _rows(slug)}


def _seconds(printed: str) -> int:
    return sum(int(p) * u for p, u in zip(printed.split(":"), (3600, 60, 1), strict=True))


ARTICLE: Final = tuple(word for slug in COUNTS for word in ("--set", slug))
"""The sets of the article alone: the build treats all alike, and they are few."""


def _files(place: Path) -> dict[str, bytes]:
    return {str(p.relative_to(place)): p.read_bytes() for p in place.rglob("*") if p.is_file()}


# -- the files -----------------------------------------------------------------------------------


def test_a_rebuild_makes_the_committed_files_to_the_byte(tmp_path: Path) -> None:
    parts = () if FULL else (*ARTICLE, "--set", LIBRARY[0])
    assert _build(str(tmp_path), *parts).returncode == 0
    made = _files(tmp_path)
    assert len(made) == 2 * (len(COUNTS) + (len(LIBRARY) if FULL else 1))
    assert made == {name: (RESULTS / name).read_bytes() for name in made}


def test_check_finds_nothing_in_the_committed_files() -> None:
    done = _build("--check", *ARTICLE)  # `make faults` builds all
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_check_names_what_differs_and_changes_nothing(tmp_path: Path) -> None:
    _build(str(tmp_path), *ARTICLE)
    changed = next((tmp_path / "article-002-feed").glob("*.parquet"))
    changed.write_bytes(b"other bytes")
    (tmp_path / "article-000-throughput" / "stray.txt").touch()
    before = _files(tmp_path)
    done = _build(str(tmp_path), "--check", *ARTICLE)
    assert done.returncode == 1
    assert f"article-002-feed/{changed.name}" in done.stdout
    assert "article-000-throughput/stray.txt" in done.stdout
    assert _files(tmp_path) == before


def test_a_build_replaces_what_differs_and_what_is_stale(tmp_path: Path) -> None:
    _build(str(tmp_path), *ARTICLE)
    good = _files(tmp_path)
    changed = next((tmp_path / "article-002-feed").glob("*.parquet"))
    changed.write_bytes(b"other bytes")
    (changed.parent / "compact-of-an-older-table.parquet").touch()
    assert _build(str(tmp_path), *ARTICLE).returncode == 0
    assert _files(tmp_path) == good


@each("slug", COUNTS)
def test_a_set_is_one_file_of_runs_named_by_them_in_their_order(slug: str) -> None:
    ids = [row["run_id"] for row in _rows(slug)]
    assert sorted(p.name for p in (RESULTS / slug).iterdir()) == [compact_name(ids), "set.toml"]
    assert ids == sorted(ids)
    assert ids == [run_id(row) for row in _rows(slug)]
    assert compact_name(reversed(ids)) == compact_name(ids)


def test_the_store_reads_all_49_runs_and_refuses_nothing() -> None:
    store = library()
    found = dict(store.rows("SELECT result_set, count(*) FROM runs GROUP BY result_set"))
    assert store.refused == ()
    assert {slug: found.get(slug) for slug in COUNTS} == COUNTS
    assert sum(COUNTS.values()) == 49


def test_files_of_an_older_version_are_still_shipped_and_read() -> None:
    """The measured sets were written before the columns of published runs."""
    [path] = (RESULTS / "digits-2-core-epyc").glob("*.parquet")
    seen = pq.ParquetFile(path).read()
    assert "repository" not in seen.column_names
    store = library()
    shown = store.rows("SELECT count(*), count(repository) FROM runs WHERE file = ?", [str(path)])
    assert shown == [(seen.num_rows, 0)]


def test_measured_workloads_are_offered_before_published_ones() -> None:
    store = library()
    names = list(queries.workloads(store))
    measured = {w for (w,) in store.rows("SELECT workload FROM runs WHERE repository IS NULL")}
    is_trained = queries.trained(store)
    trained = [n for n in names if n in is_trained]
    first = [n in measured for n in trained]
    assert names[0] == "WideResNet-103M · CIFAR-100 · Adam · float32"
    assert first == sorted(first, reverse=True)
    assert sum(not known for known in first) > 1000


def test_submissions_state_their_time_to_the_target_by_device_count() -> None:
    store = library()
    sets = queries.trial_sets(store)
    assert sets[0].basis == "measured"
    [of] = [
        t for t in sets if t.network == "ResNet-50 MLPerf" and t.result_set == "mlperf-training"
    ]
    times = queries.target_times(store, of)
    devices = [t["devices"] for t in times]
    assert devices == sorted(devices)
    assert devices[0] < 8
    assert devices[-1] > 1000
    fastest = {n: min(t["time_to_target_s"] for t in times if t["devices"] == n) for n in devices}
    assert fastest[8] > fastest[64] > fastest[devices[-1]]


@each("slug", LIBRARY)
def test_every_run_of_the_library_names_its_source(slug: str) -> None:
    for row in _rows(slug):
        assert row["basis"] == "published"
        assert all(row[n] for n in ("repository", "licence", "published_on", "source"))
        assert row["throughput"] or row["time_to_target_s"]
        assert "NC" not in row["licence"]
        assert "page terms" not in row["licence"]


def test_speeds_that_a_source_prints_in_millions_are_in_samples_per_second() -> None:
    rows = [r for r in _rows("nvidia-deep-learning-examples") if r["model"] == "NCF"]
    speeds = {
        (
            r["system_name"],
            r["accelerators_per_node"] * r["number_of_nodes"],
            r["precision"],
            r["throughput"],
        )
        for r in rows
        if r["throughput"]
    }
    assert len(speeds) == 18
    assert min(speed for *_, speed in speeds) == 10.14e6
    assert ("A100 SXM4 40GB", 8, "tensorfloat32", 110.16e6) in speeds
    assert ("A100 SXM4 40GB", 8, "mixed_float16", 142.9e6) in speeds
    assert ("V100 SXM2 32GB", 16, "float32", 92.2e6) in speeds


def test_no_shipped_step_takes_hours_and_no_bert_trial_has_a_few_samples() -> None:
    rows = [row for slug in LIBRARY for row in _rows(slug)]
    assert max(row["step_s"] or 0.0 for row in rows) < 3600.0
    bert = [r for r in rows if r["variant"] == "MLPerf" and r["model"] == "BERT large"]
    assert min(r["samples_to_target"] for r in bert if r["samples_to_target"]) > 500_000
    assert min(r["throughput"] for r in bert if r["throughput"]) > 10.0


def test_every_set_says_title_licence_source_citation_and_author() -> None:
    store = library()
    sets = [s for s in store.sets if s.slug in COUNTS]
    assert len(sets) == len(COUNTS)
    for s in sets:
        assert s.title != s.slug
        assert all((s.about, s.licence, s.source, s.citation, s.author))
        assert s.basis == "published"


@each("slug", COUNTS)
def test_every_row_carries_the_source_and_licence_of_its_set(slug: str) -> None:
    for row in _rows(slug):
        assert row["result_set"] == slug
        assert (row["status"], row["basis"], row["mode"]) == ("ok", "published", "training")
        assert row["source"]
        assert "remains its author's" in row["licence"]
        assert row["note"]


# -- the values ----------------------------------------------------------------------------------


def test_pattern_3_is_as_printed() -> None:
    rows = _by_case("article-002-pattern-3")
    for cells in _cells("article-002-pattern-3"):
        row = rows.pop((cells["device"], int(cells["batch"])))
        names = ("pre_train_s", "first_epoch_s", "later_epoch_mean_s", "later_epoch_sd_s")
        printed = tuple(float(cells[c]) for c in ("pre", "ep1", "mean", "sd"))
        assert tuple(row[n] for n in names) == printed
        assert row["total_s"] == _seconds(cells["total"])
        assert json.loads(row["extra"])["printed"] == cells
    assert rows == {}


def test_pattern_3_totals_follow_from_their_parts_within_what_rounding_allows() -> None:
    for row in _rows("article-002-pattern-3"):
        parts = row["pre_train_s"] + row["first_epoch_s"] + 19 * row["later_epoch_mean_s"]
        assert row["total_s"] == pytest.approx(parts, abs=0.05 * 21 + 0.5)


def test_the_projection_gives_back_its_10_and_20_epochs_and_keeps_the_others() -> None:
    rows = _by_case("article-002-projection")
    for cells in _cells("article-002-projection"):
        row = rows.pop((cells["device"], int(cells["batch"])))
        start, mean = row["until_first_epoch_end_s"], row["later_epoch_mean_s"]
        assert start + 9 * mean == pytest.approx(_seconds(cells["10"]), abs=1e-6)
        assert start + 19 * mean == pytest.approx(_seconds(cells["20"]), abs=1e-6)
        assert row["total_s"] == _seconds(cells["20"])
        assert json.loads(row["extra"])["printed"] == cells
        assert (row["pre_train_s"], row["first_epoch_s"], row["later_epoch_sd_s"]) == (None,) * 3
    assert rows == {}


def test_the_projection_reaches_the_printed_longer_totals_within_its_rounding() -> None:
    rows = _by_case("article-002-projection")
    for cells in _cells("article-002-projection"):
        row = rows[cells["device"], int(cells["batch"])]
        for n in PROJECTED:
            total = row["until_first_epoch_end_s"] + row["later_epoch_mean_s"] * (int(n) - 1)
            assert total == pytest.approx(_seconds(cells[n]), abs=0.1 * int(n) + 2)


def test_the_projection_says_that_it_is_pattern_8_headed_pattern_6() -> None:
    for row in _rows("article-002-projection"):
        assert "pattern 8" in row["note"]
        assert "pattern 6" in row["note"]
        assert (row["workers"], row["multiprocessing"], row["storage"]) == (4, True, "storage")


def test_the_feed_means_are_as_printed() -> None:
    feeds = {"fit": "mode1", "fit truncated": "mode2", "generator": "mode3"}
    rows = {(r["feed"], r["global_batch_size"]): r for r in _rows("article-002-feed")}
    for cells in _cells("article-002-feed"):
        for name, mode in feeds.items():
            row = rows.pop((name, int(cells["batch"])))
            assert row["later_epoch_mean_s"] == float(cells[mode])
            assert row["total_s"] is None
    assert rows == {}


def test_the_printed_ratios_of_the_feed_table_follow_from_its_means() -> None:
    for cells in _cells("article-002-feed"):
        for mode in ("mode2", "mode3"):
            ratio = float(cells[mode]) / float(cells["mode1"])
            assert ratio == pytest.approx(float(cells[f"{mode}/mode1"]), abs=0.0025)


def test_the_throughput_law_is_as_printed() -> None:
    rows = {str(r["accelerators_per_node"]): r for r in _rows("article-000-throughput")}
    for cells in _cells("article-000-throughput"):
        row = rows.pop(cells["gpus"])
        assert row["asymptotic_throughput"] == float(cells["v0"])
        assert row["overhead_s"] == float(cells["t"])
        assert row["peer_to_peer"] is (False if cells["peer_to_peer"] == "no" else None)
        assert (row["global_batch_size"], row["dataset"]) == (None, None)
        assert row["model"] == "unnamed model"
        assert "model and data set are not named" in row["note"]
    assert rows == {}


def test_the_driver_and_its_workers_have_the_order_that_the_article_states() -> None:
    slug = "article-003-driver-or-workers"
    rows = {
        (row["number_of_nodes"], row["launch"] == "driver only", row["global_batch_size"]): row
        for row in _rows(slug)
    }
    assert len(rows) == len(_cells(slug))
    for cells in _cells(slug):
        alone = cells["place"] == "driver"
        row = rows[int(cells["workers"]), alone, int(cells["batch"])]
        assert abs(int(cells["np"])) == int(cells["gpus"])
        assert row["accelerators_per_node"] * row["number_of_nodes"] == int(cells["gpus"])
        extra, places = json.loads(row["extra"]), [int(cells["first"]), int(cells["last"])]
        assert extra.get("rank") == (int(cells["rank"] or 0) or None)
        assert extra["places"] == places
        assert (places[0] == places[1]) == (cells["rank"] != "")
        assert 1 <= places[0] <= places[1] <= 4
        assert (row["step_s"], row["later_epoch_mean_s"], row["throughput"]) == (None, None, None)
    first = {r["global_batch_size"]: r for r in rows.values() if '"rank": 1' in r["extra"]}
    assert first[64]["launch"] == "driver only"
    assert (first[512]["number_of_nodes"], 256 in first) == (3, False)


def test_a_workload_without_any_time_is_not_offered() -> None:
    store = library()
    assert "ResNet-50 · CIFAR-10" not in queries.workloads(store)
    assert queries.count(store, {"workload": ["ResNet-50 · CIFAR-10"]}) == 12


@each("slug", [s for s in COUNTS if s.startswith("article-002")])
def test_an_epoch_has_the_samples_that_its_feed_really_sees(slug: str) -> None:
    for row in _rows(slug):
        steps, batch = row["steps_per_epoch"], row["global_batch_size"]
        if row["drop_remainder"]:
            assert row["samples_per_epoch"] == steps * batch
            assert 0 <= 50_000 - steps * batch < batch
        else:
            assert row["feed"] == "fit"
            assert row["samples_per_epoch"] == 50_000
            assert (steps - 1) * batch < 50_000 <= steps * batch


# -- against the author's raw files --------------------------------------------------------------


def _summary(pattern: int) -> dict[tuple[str, int], dict[str, str]]:
    table = _table(PUBLIC / "published_summary_main.csv")
    return {(c["device"], int(c["batch_size"])): c for c in table if int(c["pattern"]) == pattern}


@needs_public
def test_pattern_3_agrees_with_the_authors_own_summary() -> None:
    pairs = {
        "pre_train_s": "before_training",
        "first_epoch_s": "first_epoch",
        "later_epoch_mean_s": "second_epoch_mean",
        "later_epoch_sd_s": "second_epoch_sd",
    }
    summary, rows = _summary(3), _by_case("article-002-pattern-3")
    assert summary.keys() == rows.keys()
    for case, row in rows.items():
        assert {n: row[n] for n in pairs} == {n: float(summary[case][c]) for n, c in pairs.items()}
        assert row["total_s"] == pytest.approx(float(summary[case]["total_second"]), abs=0.55)


@needs_public
def test_the_projection_agrees_with_pattern_8_and_not_with_pattern_6() -> None:
    eight, six = _summary(8), _summary(6)
    for case, row in _by_case("article-002-projection").items():
        assert row["total_s"] == pytest.approx(float(eight[case]["total_second"]), abs=0.55)
        assert abs(row["total_s"] - float(six[case]["total_second"])) > 5
        mean = float(eight[case]["second_epoch_mean"])
        assert row["later_epoch_mean_s"] == pytest.approx(mean, abs=0.1 + 0.05)


@needs_public
def test_all_80_printed_totals_follow_from_the_raw_epochs_of_pattern_8() -> None:
    epochs: dict[tuple[str, int], list[dict[str, str]]] = {}
    for line in _table(PUBLIC / "epochs_main.csv"):
        if line["pattern"] == "8":
            epochs.setdefault((line["device"], int(line["batch_size"])), []).append(line)
    for cells in _cells("article-002-projection"):
        run = sorted(epochs[cells["device"], int(cells["batch"])], key=lambda e: int(e["epoch"]))
        first, *later = (float(e["epoch_seconds"]) for e in run)
        mean = sum(later) / len(later)
        for n in PROJECTED:
            total = float(run[0]["pre_train_seconds"]) + first + mean * (int(n) - 1)
            assert total == pytest.approx(_seconds(cells[n]), abs=1)
