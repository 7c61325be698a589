"""Runs whose start-up time nobody recorded: answered from epoch 1 on, and said to be."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from planner.bodies import compare_body, projection_body
from planner.estimate import Estimate
from planner.export import csv_text
from planner.how_long_tables import answer_rows
from planner.projection import START_NOT_INCLUDED
from planner.records import RecordError, table_from_rows
from planner.store import Store
from planner.store.asking import compare_answered, how_long_answered
from planner.store.catalog import read_catalog
from tests.shipped import ROOT
from tests.store.build import a_set, opened, row

CATALOG = read_catalog(ROOT / "data" / "catalog").catalog
TIMES = {"later_epoch_mean_s": 10.0, "later_epoch_sd_s": 0.1, "epochs_measured": 5}
KEPT = [{"epoch": n, "epoch_s": s} for n, s in enumerate([12.0, 10.0, 10.1, 9.9, 10.0], start=1)]


def _store(place: Path, rows: Sequence[dict[str, Any]]) -> Store:
    a_set(place, rows)
    return opened(place)


def _table(**times: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - any column
    """Four systems of a paper's table."""
    return [row(system_name=name, **(TIMES | times)) for name in ("T4", "A100", "V100", "P100")]


def _only(store: Store, epochs: int) -> Any:  # noqa: ANN401 - an answer
    told = how_long_answered(store, {"epochs": [str(epochs)]})
    assert told.result is not None
    return told.result.answers[0].total


def test_a_table_without_start_up_times_is_answered_everywhere_and_says_what_is_missing(
    tmp_path: Path,
) -> None:
    store = _store(tmp_path, _table(first_epoch_s=12.0))
    told = how_long_answered(store, {"epochs": ["100"]})
    assert told.result is not None
    for answer in told.result.answers:
        assert isinstance(answer.total, Estimate)
        assert answer.total.value == pytest.approx(12.0 + 99 * 10.0)
        assert START_NOT_INCLUDED in answer.total.reasons
    assert "start-up time not included" in told.result.sentence
    rows = projection_body(told.result, {}, store.sets, told.query)["rows"]
    assert all(START_NOT_INCLUDED in r["notes"] for r in rows)
    assert all("start-up time not included" in r["basis"] for r in rows)
    assert csv_text(answer_rows(told.result)).count(START_NOT_INCLUDED) == 4
    compared = compare_answered(store, CATALOG, {"epochs": ["100"]}, date(2026, 11, 22))
    comparison = compared.answered.comparison
    assert comparison is not None
    body = compare_body(comparison, compared.display, compared.query)
    measured = {r.candidate.id for r in comparison.rows if r.candidate.run is not None}
    assert measured
    for line in body["rows"]:
        assert START_NOT_INCLUDED in str(line) or line["option_id"] not in measured


@pytest.mark.parametrize(
    ("times", "total_s"),
    [
        ({"first_epoch_s": 12.0, "until_first_epoch_end_s": 15.0}, 15.0 + 990.0),
        ({"pre_train_s": 3.0, "until_first_epoch_end_s": 15.0}, 15.0 + 990.0),
        ({"first_epoch_s": 12.0, "pre_train_s": 0.0}, 12.0 + 990.0),
        ({"first_epoch_s": 12.0, "later_epoch_sd_s": 0.0}, 12.0 + 990.0),
        ({"first_epoch_s": 12.0, "epochs_measured": 2, "later_epoch_sd_s": None}, 12.0 + 990.0),
        ({"epochs": KEPT, "later_epoch_mean_s": None, "later_epoch_sd_s": None}, 12.0 + 990.0),
        ({"epochs": KEPT, "until_first_epoch_end_s": 15.0}, 15.0 + 990.0),
    ],
)
def test_whatever_is_known_of_the_start_is_counted_once(
    tmp_path: Path, times: dict[str, Any], total_s: float
) -> None:
    total = _only(_store(tmp_path, [row(**(TIMES | times))]), 100)
    assert isinstance(total, Estimate)
    assert total.value == pytest.approx(total_s)
    started = "until_first_epoch_end_s" in times or "pre_train_s" in times
    assert (START_NOT_INCLUDED in total.reasons) is not started


def test_one_epoch_is_answered_by_the_first_alone(tmp_path: Path) -> None:
    store = _store(tmp_path, [row(first_epoch_s=12.0)])
    total = _only(store, 1)
    assert isinstance(total, Estimate)
    assert total.value == pytest.approx(12.0)
    assert "Only the first epoch was measured" in _only(store, 2).reason


def test_with_later_epochs_alone_the_first_is_missing(tmp_path: Path) -> None:
    assert (
        "epoch 1 and the time before it are missing"
        in _only(_store(tmp_path, [row(**TIMES)]), 100).reason
    )


def test_times_that_cannot_all_be_true_are_refused_together_at_commit() -> None:
    bad = row(
        first_epoch_s=12.0, until_first_epoch_end_s=5.0, later_epoch_mean_s=10.0,
        later_epoch_sd_s=90.0, epochs_measured=5, total_s=30.0,
    )  # fmt: skip
    with pytest.raises(RecordError) as caught:
        table_from_rows([bad, row(repeat=1, later_epoch_mean_s=3.0, epochs_measured=1)])
    places = [(p.row, p.column) for p in caught.value.problems]
    assert sorted(places) == [
        (0, "later_epoch_sd_s"), (0, "total_s"), (0, "until_first_epoch_end_s"),
        (1, "epochs_measured"),
    ]  # fmt: skip


def test_times_of_rounded_tables_are_taken() -> None:
    good = row(
        first_epoch_s=12.0, until_first_epoch_end_s=11.9, later_epoch_mean_s=10.0,
        later_epoch_sd_s=17.5, epochs_measured=5, total_s=51.5,
    )  # fmt: skip
    assert table_from_rows([good]).num_rows == 1
