"""Result sets can be hidden and asked about as public data can."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from backtest.accuracy.public_data import read_accuracy, read_seconds
from backtest.commands import backtest as command
from backtest.questions import (
    batch,
    convergence,
    devices,
    epochs,
)
from backtest.questions.own import MEAN_OF_SETS, has_result_sets, own_rows, result_sets
from planner.__main__ import main
from planner.store.disk import folders
from tests.faults.outcomes import FULL
from tests.store.build import a_set, row

SHIPPED: Final = command.ROOT / "data" / "results" if FULL else Path(os.environ[folders.SHIPPED])
"""Published sets hold nothing that is hidden here, and take ten seconds to read."""
BATCHES: Final = (8, 16, 32, 64, 128)
Out = pytest.CaptureFixture[str]


def _timed(size: int, **changes: object) -> dict[str, Any]:
    return row(global_batch_size=size, step_s=0.01 + size / 1000, **changes)


def _several(size: int, count: int) -> dict[str, Any]:
    """A run of the same batch per device: nodes of 8, a link that costs 2 ms a doubling."""
    step_s = 0.01 + size / 1000 + 0.002 * np.log2(count)
    return row(
        global_batch_size=size * count, per_device_batch_size=size, step_s=step_s,
        accelerators_per_node=count, number_of_nodes=1, parallelism="data" if count > 1 else "none",
    )  # fmt: skip


def _whole(repeat: int) -> dict[str, Any]:
    epoch_s = [12.0, *(10.0 + 0.01 * ((repeat + i) % 3) for i in range(11))]
    kept = [{"epoch": i + 1, "epoch_s": s} for i, s in enumerate(epoch_s)]
    return row(
        repeat=repeat, epochs=kept, epochs_measured=12, pre_train_s=1.0, first_epoch_s=12.0,
        later_epoch_mean_s=float(np.mean(epoch_s[1:])),
    )  # fmt: skip


def test_every_question_that_a_result_set_answers_has_figures(tmp_path: Path) -> None:
    a_set(tmp_path, [_timed(b) for b in BATCHES], slug="sweep")
    a_set(tmp_path, [_whole(i) for i in range(3)], slug="runs")
    a_set(tmp_path, [_several(b, n) for b in (8, 32) for n in (1, 2, 4, 8)], slug="machine")
    sets, refused = result_sets(tmp_path)
    assert not refused
    rows = own_rows(sets)
    assert {r.question for r in rows} == {batch.QUESTION, devices.QUESTION, epochs.QUESTION}
    inside = [r for r in rows if r.task.startswith("one batch left out") and r.points == 3]
    assert inside
    assert all(r.median_error < 1e-6 for r in inside if r.method.startswith("ours"))
    more = next(r for r in rows if r.question == devices.QUESTION)
    assert (more.task, more.points) == ("5 to 8 devices from at most 4", 2)


def test_one_result_set_alone_may_be_named(tmp_path: Path) -> None:
    a_set(tmp_path, [_timed(b) for b in BATCHES], slug="one")
    a_set(tmp_path, [_whole(1)], slug="other")
    assert [m.runs for m in result_sets(tmp_path / "one")[0]] == [[]]
    assert has_result_sets(tmp_path / "one")
    assert not has_result_sets(tmp_path / "none")


def test_sets_of_one_title_are_distinguished(tmp_path: Path) -> None:
    for name in ("one", "other"):
        a_set(tmp_path, [_timed(b, result_set=name) for b in BATCHES], slug=name)
    titles = [m.title for m in result_sets(tmp_path)[0]]
    assert len(set(titles)) == len(titles) == 2


def test_what_ships_answers_its_questions_and_replaces_nothing(
    tmp_path: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    ships = [command.ROOT / "docs" / name for name in ("accuracy.md", "constants.md")]
    before = [p.read_bytes() for p in ships]
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "results"
    shutil.copytree(SHIPPED, place)
    a_set(place, [_several(b, n) for b in (8, 32) for n in (1, 2, 4, 8)], slug="machine")
    assert main(["backtest", str(place)]) == 0
    assert "in build/backtest\n" in capsys.readouterr().out
    rows = read_accuracy(tmp_path / "build" / "backtest" / "data" / "accuracy.parquet")
    asked = {r.question for r in rows}
    assert asked == {
        batch.QUESTION, convergence.QUESTION, devices.QUESTION, epochs.QUESTION
    }  # fmt: skip
    assert {r.task for r in rows} > {"one batch left out between others", "after 3 epochs",
                                     "3 batches (ends, middle), the rest"}  # fmt: skip
    assert MEAN_OF_SETS in {r.data_set for r in rows}
    page = (tmp_path / "build" / "backtest" / "docs" / "accuracy.md").read_text(encoding="utf-8")
    assert "`python -m planner backtest results`" in page.replace("\n", " ")
    assert "In short" not in page  # what is wanted is wanted of the public data
    assert "koshian2" not in page
    assert read_seconds(tmp_path / "build" / "backtest" / "data" / "accuracy-seconds.parquet")
    assert [p.read_bytes() for p in ships] == before


def test_a_result_set_without_anything_to_hide_is_said_so_and_nothing_is_written(
    tmp_path: Path, capsys: Out
) -> None:
    a_set(tmp_path / "sets", [_timed(8)], slug="few")
    assert main(["backtest", str(tmp_path / "sets"), "--into", str(tmp_path / "into")]) == 1
    assert "has nothing that can be hidden and predicted" in capsys.readouterr().err
    assert not (tmp_path / "into").exists()


def test_on_the_shared_machine_nine_of_ten_totals_are_inside_with_the_prior_of_other_runs() -> None:
    """Nothing was chosen on these sets; one prior for all held 27 and 68 %."""
    sets, _ = result_sets(SHIPPED)
    rows = [r for one in sets for r in epochs.rows_of(one.title, one.runs)]
    for k, alone in ((2, 0.35), (3, 0.75)):
        held = {
            method: np.mean([r.coverage for r in rows if (r.task, r.method) == (task, method)])
            for task in (f"after {k} epochs",)
            for method in ("ours: prior, neighbours, drift", "same total, one prior for all")
        }
        assert held["ours: prior, neighbours, drift"] >= 0.88
        assert held["same total, one prior for all"] < alone
