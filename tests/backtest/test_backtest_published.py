"""Promises of the back-test on published tables: natural questions, and it never stops."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Final, get_args

import numpy as np
import pytest

from backtest.published import described as asked
from backtest.published.described import DescribedAnswer, Score, device_hours, scored, whole_jobs
from backtest.published.measured import (
    batch_curves,
    batch_left_out,
    batch_twice,
    device_scaling,
    series_of,
)
from backtest.published.mfu import Centre, _shift
from backtest.published.page import tasks_of
from planner.catalog import Catalog
from planner.published import COLUMNS, PublishedRow, rows_of
from planner.store.catalog import read_catalog

ROOT: Final = Path(__file__).parents[2]
LIBRARY: Final = ROOT.parent / "shared" / "library"
TASKS: Final = {
    "described_dense", "described_dense_over_8_nodes", "described_moe", "described_encoder",
    "described_cnn", "described_vit", "whole_jobs", "pairs", "device_scaling", "batch_left_out",
    "batch_twice",
}  # fmt: skip
CENTRES: Final[tuple[Centre, ...]] = get_args(Centre)
FIGURES: Final = {"asked", "answered", "median", "mean", "held", "width"}
LLAMA: Final = PublishedRow(
    file="made.tsv", line=2, source_id="made", model="Llama 3 8B", family="decoder",
    params=8 * 10**9, seq_len=4096, precision="BF16", accelerator="H100 80GB", n_accelerators=8,
    global_batch=64, tokens_per_s_per_device=9000.0,
)  # fmt: skip


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return read_catalog(ROOT / "data" / "catalog").catalog


def series_rows(speeds: dict[int, float], batch: int = 512, **other: object) -> list[PublishedRow]:
    """One workload at one global batch on several counts."""
    base = replace(LLAMA, model="Net", family="cnn", params=None, seq_len=None, image_px=224)
    return [
        replace(base, n_accelerators=n, nodes=-(-n // 8), global_batch=batch,
                tokens_per_s_per_device=None, samples_per_s_total=v, line=n, **other)  # type: ignore[arg-type]
        for n, v in speeds.items()
    ]  # fmt: skip


# -- figures -------------------------------------------------------------------------------------


def test_figures_are_in_per_cent_and_every_question_counts_the_same() -> None:
    answers = [
        DescribedAnswer(source="a", name="1", truth=1.0, value=1.1, low=0.9, high=1.3),
        DescribedAnswer(source="a", name="2", truth=1.0, value=0.7, low=0.6, high=0.8),
        DescribedAnswer(source="b", name="3", truth=1.0, why="No."),
    ]
    found = scored(answers)
    assert (found.questions, found.answered) == (3, 2)
    assert found.mean == pytest.approx(20.0)
    assert found.held == pytest.approx(50.0)
    assert scored([]) == Score(questions=0, answered=0)


# -- within a series -----------------------------------------------------------------------------


def test_the_larger_half_of_the_counts_is_asked_from_the_smaller() -> None:
    rows = series_rows({8: 800.0, 16: 1500.0, 32: 2800.0, 64: 5000.0, 128: 9000.0})
    answers = device_scaling(rows)
    assert [one.name.rsplit(", ", 1)[1] for one in answers] == ["64 devices", "128 devices"]
    assert all(one.answered for one in answers)
    assert answers[0].truth == pytest.approx(512 / 5000.0)


def test_a_hidden_speed_changes_the_truth_and_not_the_answer() -> None:
    speeds = {8: 800.0, 16: 1500.0, 32: 2800.0}
    (fast,), (slow,) = (device_scaling(series_rows(speeds | {32: v})) for v in (2800.0, 1400.0))
    assert fast.value == slow.value
    assert slow.truth == pytest.approx(2.0 * fast.truth)


def test_a_series_has_one_workload_one_accelerator_and_one_precision() -> None:
    rows = [
        *series_rows({8: 800.0, 16: 1500.0, 32: 2800.0}),
        *series_rows({8: 900.0, 16: 1600.0}, precision="FP8"),
    ]
    (one,) = series_of(rows)
    assert one.runs.devices.tolist() == [8.0, 16.0, 32.0]


def mlperf(n: int, hours: float, note: str = "median epoch_num at stop 40") -> PublishedRow:
    return replace(
        LLAMA, repo_or_page="github.com/mlcommons/training_results_v2.0",
        path=f"Maker/results/system{n}/resnet", model="ResNet-50 v1.5 (MLPerf resnet)",
        family="cnn", params=None, seq_len=None, tokens_per_s_per_device=None, n_accelerators=n,
        global_batch=64 * n, time_to_train_h=hours, note=note, line=n,
    )  # fmt: skip


def test_mlperf_speeds_are_samples_to_the_target_over_the_time() -> None:
    (one,) = series_of([mlperf(8, 1.0), mlperf(16, 0.5), mlperf(32, 0.26)])
    speed = one.runs.batch * one.runs.devices / one.runs.step_s
    images = 40 * 1_281_167 / 3600.0
    np.testing.assert_allclose(speed, [images, images / 0.5, images / 0.26])
    assert one.benchmark == "MLPerf resnet"


def test_the_open_division_makes_no_series() -> None:
    note = "median epoch_num at stop 40; division open"
    rows = [mlperf(8, 1.0), mlperf(16, 0.5), mlperf(32, 0.26, note)]
    assert series_of(rows) == []


def test_batches_are_asked_between_others_and_at_twice_the_largest() -> None:
    base = replace(LLAMA, n_accelerators=1, tokens_per_s_per_device=None)
    rows = [
        replace(base, global_batch=b, samples_per_s_total=b / (0.05 + b / 250), line=b)
        for b in (8, 16, 32, 64, 128)
    ]
    assert [len(c) for c in batch_curves(rows).values()] == [1]
    left, (twice,) = batch_left_out(rows), batch_twice(rows)
    assert len(left) == 3
    assert max(one.error for one in left) < 0.001
    assert twice.truth == pytest.approx(128 / (0.05 + 128 / 250))
    assert twice.held


# -- described workloads -------------------------------------------------------------------------


def test_a_described_question_never_depends_on_the_speed_of_its_row(catalog: Catalog) -> None:
    found = [
        asked.described(
            asked.questions([replace(LLAMA, tokens_per_s_per_device=v)], catalog),
            asked.of_family("dense"),
        )
        for v in (9000.0, 7000.0)
    ]
    (fast,), (slow,) = found
    assert (fast.value, fast.low, fast.high) == (slow.value, slow.low, slow.high)
    assert fast.truth == pytest.approx(4096 / (8 * 9000.0))
    assert slow.truth == pytest.approx(4096 / (8 * 7000.0))


def test_a_pair_is_two_accelerators_with_one_workload_on_one_count(catalog: Catalog) -> None:
    rows = [
        LLAMA,
        replace(LLAMA, accelerator="A100 80GB", tokens_per_s_per_device=3500.0, line=3),
        replace(LLAMA, accelerator="A100 80GB", n_accelerators=16, line=4,
                tokens_per_s_per_device=3400.0),
    ]  # fmt: skip
    (pair,) = asked.pairs(asked.questions(rows, catalog))
    assert pair.answered
    assert pair.right <= pair.decided


def test_a_whole_job_is_its_tokens_on_its_accelerator(catalog: Catalog) -> None:
    row = replace(LLAMA, model="Made 13B", params=13 * 10**9, n_accelerators=None,
                  accelerator="A100-80GB", tokens_per_s_per_device=None, global_batch=None,
                  device_hours=3.7e5, note="tokens 2T; as in model card")  # fmt: skip
    (job,) = whole_jobs([row], catalog)
    assert job.samples * 4096 == pytest.approx(2e12)
    assert job.language
    (answer,) = device_hours([job])
    assert answer.truth == 3.7e5
    assert answer.answered
    repeats = [row, replace(row, device_hours=3.9e5, line=9), replace(row, model="Made 14B")]
    assert [job.device_hours for job in whole_jobs(repeats, catalog)] == [3.8e5, 3.7e5]


@pytest.mark.parametrize(
    ("model", "cells", "images", "network"),
    [
        ("ResNet-50 40 epochs ImageNet", {}, 40 * 1_281_167, "resnet50"),
        ("DETR R50 300 epochs", {"note": "28 min/epoch"}, 300 * 117_266, "detr"),
        ("Barlow Twins ResNet-50 1000 epochs", {}, 2_000 * 1_281_167, "resnet50"),
        ("Stable Diffusion v1", {"family": "diffusion"}, 2048 * 963_250, "stablediffusion"),
        ("OpenCLIP ViT-B/32 LAION-400M", {"family": "vit"}, 12.8e9, "clip-vit-b-32"),
    ],
)
def test_a_whole_image_job_is_its_epochs_or_its_known_images(
    model: str, cells: dict[str, str], images: float, network: str, catalog: Catalog
) -> None:
    base = replace(LLAMA, family="cnn", params=None, seq_len=None, tokens_per_s_per_device=None)
    row = replace(base, model=model, accelerator="A100", device_hours=1000.0, **cells)  # type: ignore[arg-type]
    (job,) = whole_jobs([row], catalog)
    assert job.samples == pytest.approx(images)
    assert (job.workload.network, job.language) == (network, False)


def test_images_that_grow_during_a_job_count_with_their_mean_size(catalog: Catalog) -> None:
    text = "model\tsource_id\tfamily\timage_px\taccelerator\tn_accelerators\tdevice_hours\n"
    row = "ResNet-50 40 epochs ImageNet\tmade\tcnn\t160-192 progressive\tA100\t8\t4.7\n"
    (job,) = whole_jobs(rows_of(text + row, "made.tsv")[0], catalog)
    assert job.workload.image_px == 176


def test_a_job_that_states_no_tokens_is_not_asked_about(catalog: Catalog) -> None:
    row = replace(LLAMA, device_hours=3.7e5, tokens_per_s_per_device=None, note="as in model card")
    assert whole_jobs([row], catalog) == []


# -- the command ---------------------------------------------------------------------------------


def run(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "planner", "backtest", str(folder), "--json"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def table(rows: list[dict[str, object]]) -> bytes:
    lines = ["\t".join(COLUMNS)]
    lines += ["\t".join(str(row.get(name, "")) for name in COLUMNS) for row in rows]
    return ("\n".join(lines) + "\n").encode()


def test_one_object_is_printed_whatever_the_folder_holds(tmp_path: Path) -> None:
    good = {"source_id": "made", "model": "Llama 3 8B", "family": "decoder", "params": 8e9,
            "seq_len": 4096, "precision": "BF16", "accelerator": "H100 80GB",
            "n_accelerators": 8, "global_batch": 64, "tokens_per_s_per_device": 9000}  # fmt: skip
    bad = good | {"params": "many", "tokens_per_s_per_device": "inf"}
    (tmp_path / "made.tsv").write_bytes(table([good, bad]) + b"\xff\xfe\t\t\n")
    (tmp_path / "other.tsv").write_bytes(b"\x00\x01")
    done = run(tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert set(found) >= TASKS
    assert all(set(found[task]) == FIGURES for task in TASKS - {"pairs"})
    assert {"asked", "decided", "right"} <= set(found["pairs"])
    assert found["described_dense"]["asked"] == found["described_dense"]["answered"] == 1
    for way in ("row", "source", "accelerator", "family"):
        for kind in ("dense", "moe", "encoder", "cnn", "vit"):
            empty = dict.fromkeys(FIGURES) | {"asked": 0, "answered": 0}
            assert found[f"{way}_out_{kind}"] == empty  # too few rows for a fit
    assert found["batch_twice"] == dict.fromkeys(FIGURES) | {"asked": 0, "answered": 0}
    assert "made.tsv, line 3" in done.stderr


def test_tables_in_folders_below_are_read_too(tmp_path: Path) -> None:
    below = tmp_path / "sub"
    below.mkdir()
    good = {"source_id": "made", "model": "Llama 3 8B", "family": "decoder", "params": 8e9,
            "seq_len": 4096, "precision": "BF16", "accelerator": "H100 80GB",
            "n_accelerators": 8, "global_batch": 64, "tokens_per_s_per_device": 9000}  # fmt: skip
    (below / "made.tsv").write_bytes(table([good]))
    assert json.loads(run(tmp_path).stdout)["described_dense"]["asked"] == 1


def test_a_folder_without_tables_is_asked_nothing(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.returncode == 0
    assert {task["asked"] for task in json.loads(done.stdout).values()} == {0}


def test_every_skipped_row_and_file_is_named(tmp_path: Path) -> None:
    good = {"source_id": "made", "model": "Llama 3 8B", "family": "decoder", "params": 8e9,
            "seq_len": 4096, "precision": "bananas", "accelerator": "H100 80GB",
            "n_accelerators": 8, "tokens_per_s_per_device": 9000}  # fmt: skip
    unknown = good | {"accelerator": "Z9000", "precision": "BF16"}
    (tmp_path / "made.tsv").write_bytes(table([good, *[unknown] * 3, good, unknown]))
    (tmp_path / "own.csv").write_text("model,accelerator\n")
    said = run(tmp_path).stderr
    assert "made.tsv, lines 3 to 5, 7: 'Z9000' is not in the catalogue." in said
    assert "made.tsv, line 2: precision is 'bananas', no number format." in said
    assert "own.csv: only *.tsv tables are read." in said


def test_a_folder_of_other_tables_alone_says_which_are_read(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("model,accelerator\n")
    assert "own.csv: only *.tsv tables are read." in run(tmp_path).stderr


def test_hidden_rows_are_tasks_where_there_are_enough_rows_for_a_fit(catalog: Catalog) -> None:
    base = replace(LLAMA, tokens_per_s_per_device=None)
    rows = [
        replace(base, source_id=f"made{i % 3}", params=10**9 * 2**i, n_accelerators=n, line=i,
                global_batch=8 * n, accelerator=name,
                samples_per_s_total=2.0 * n * speed / 2**i * (1.1 + 0.1 * math.sin(i * n)))
        for i in range(7) for n in range(8, 136, 8)
        for name, speed in (("H100 80GB", 3.0), ("A100 80GB", 1.5))
    ]  # fmt: skip
    found = tasks_of(rows, catalog)
    assert found.failed == []
    asked_of = {task: len(answers) for task, answers in found.answers.items()}
    assert asked_of["described_dense"] == asked_of["source_out_dense"] == asked_of["row_out_dense"]
    assert asked_of["family_out_dense"] == asked_of["source_out_cnn"] == 0  # nothing left to fit
    assert len(found.unseen_pairs["source_out_pairs"]) > 0
    few = tasks_of(rows[:20], catalog)
    assert few.answers["source_out_dense"] == []
    more = [
        replace(row, file="more.tsv", source_id="more",
                samples_per_s_total=0.6 * (row.samples_per_s_total or 0.0))
        for row in rows[:20]
    ]  # fmt: skip
    beside = tasks_of(rows, catalog, more)
    assert {task: len(answers) for task, answers in beside.answers.items()} == asked_of
    assert beside.answers["described_dense"] == found.answers["described_dense"]
    assert beside.answers["source_out_dense"] != found.answers["source_out_dense"]


def test_rows_that_break_a_task_leave_the_others(catalog: Catalog) -> None:
    strange = [replace(LLAMA, global_batch=2**60, seq_len=1, tokens_per_s_per_device=1e-9)]
    found = tasks_of([*strange, *series_rows({8: 800.0, 16: 1500.0, 32: 2800.0})], catalog)
    assert len(found.answers["device_scaling"]) == 1


# -- what the library says -----------------------------------------------------------------------


@pytest.mark.skipif(not LIBRARY.is_dir(), reason="the published tables are not beside the project")
def test_device_counts_of_published_series_are_answered_within_their_targets() -> None:
    rows = [
        row
        for path in sorted(LIBRARY.glob("*.tsv"))
        for row in rows_of(path.read_text(encoding="utf-8"), path.name)[0]
    ]
    found = scored(device_scaling(rows))
    print(found)
    assert found.questions >= 300
    assert found.answered >= 0.9 * found.questions
    assert found.mean is not None
    assert found.mean <= 14.0
    assert found.held is not None
    assert 85.0 <= found.held <= 95.0
    twice = scored(batch_twice(rows))
    assert twice.held is not None
    assert twice.held >= 85.0


def test_one_slow_source_moves_the_mean_of_sources_and_not_their_median() -> None:
    usual = [(f"source {i}", 0.1 + 0.01 * j) for i in range(4) for j in range(3)]
    slow = [("slow", -2.0)] * 3
    assert _shift(usual, "median source", 1.0) == pytest.approx(0.11, abs=0.01)
    for centre in CENTRES:
        before, after = (_shift(rows, centre, 1.0) for rows in (usual, usual + slow))
        moved = before - after
        assert moved > 0.3 if centre == "mean" else 0.0 <= moved < 0.02


def test_the_centre_of_few_sources_is_used_in_part() -> None:
    rows = [(f"source {i}", 0.3) for i in range(4)]
    assert _shift(rows, "median source", 1.0) == pytest.approx(0.3)
    assert _shift(rows, "median source", 1.0, few=4.0) == pytest.approx(0.15)
    assert _shift(rows * 3, "median source", 1.0, few=4.0) == pytest.approx(
        0.15
    )  # rows do not count


def test_rows_of_one_large_source_count_less_with_a_smaller_power() -> None:
    rows = [("large", 1.0)] * 100 + [("a", 0.0)] * 4 + [("b", 0.0)] * 4
    by_rows, by_roots, by_sources = (_shift(rows, "mean", p) for p in (1.0, 0.5, 0.0))
    assert by_rows > by_roots > by_sources > 0.0
    assert _shift(rows, "median source", 0.0) < _shift(rows, "median source", 1.0)
