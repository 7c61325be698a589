"""Runs without a recorded start-up time: answered from epoch 1 on, and said to be."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from planner.answers import (
    answer_rows,
    compare_answered,
    hardware_comparison,
    how_long_answered,
    plain,
    projection,
    ratio_rows,
)
from planner.core import Estimate, csv_text
from planner.epochs import START_NOT_INCLUDED
from planner.epochs.how_long import FIRST_EPOCH_BETWEEN
from planner.report._comparison import job_lines
from planner.runs import RecordError, table_from_rows
from planner.store import Store
from planner.store.catalog import read_catalog
from tests.shipped import ROOT
from tests.store.build import a_set, opened, row

CATALOG = read_catalog(ROOT / "data" / "catalog").catalog
TIMES = {"later_epoch_mean_s": 10.0, "later_epoch_sd_s": 0.1, "epochs_measured": 5}
TEN = {"epochs": ["10"]}
KEPT = [{"epoch": n, "epoch_s": s} for n, s in enumerate([12.0, 10.0, 10.1, 9.9, 10.0], start=1)]


def _store(place: Path, rows: Sequence[dict[str, Any]]) -> Store:
    a_set(place, rows)
    return opened(place)


def _table(**times: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - any column
    """Four systems of a paper's table."""
    return [row(system_name=name, **(TIMES | times)) for name in ("T4", "A100", "V100", "P100")]


def _only(store: Store, epochs: int) -> Any:  # noqa: ANN401 - an answer
    output = how_long_answered(store, {"epochs": [str(epochs)]})
    assert output.result is not None
    return output.result.answers[0].total


def test_a_table_without_start_up_times_is_answered_everywhere_and_says_what_is_missing(
    tmp_path: Path,
) -> None:
    store = _store(tmp_path, _table(first_epoch_s=12.0))
    output = how_long_answered(store, {"epochs": ["100"]})
    assert output.result is not None
    for answer in output.result.answers:
        assert isinstance(answer.total, Estimate)
        assert answer.total.value == pytest.approx(12.0 + 99 * 10.0)
        assert START_NOT_INCLUDED in answer.total.reasons
    assert "start-up time not included" in output.result.sentence
    rows = plain(projection(output.result, {}, store.sets, output.query))["rows"]
    assert all(START_NOT_INCLUDED in r["notes"] for r in rows)
    assert all("start-up time not included" in r["basis"] for r in rows)
    assert csv_text(answer_rows(output.result)).count(START_NOT_INCLUDED) == 4
    compared = compare_answered(store, CATALOG, {"epochs": ["100"]}, date(2026, 11, 22))
    comparison = compared.answered.comparison
    assert comparison is not None
    body = plain(hardware_comparison(comparison, compared.display, compared.query))
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


# -- beside runs that state theirs ---------------------------------------------------------------

LEFT_OUT = "Start-up time is left out for all options: "


def _mixed(place: Path, **fast: Any) -> Store:  # noqa: ANN401 - any column
    """The faster system states no start-up time; the other took 600 s."""
    slow = row(system_name="T4", pre_train_s=600.0, first_epoch_s=22.0,
               **TIMES | {"later_epoch_mean_s": 20.0})  # fmt: skip
    return _store(
        place, [slow, row(system_name="A100", **{"first_epoch_s": 12.0, **TIMES, **fast})]
    )


def test_totals_with_and_without_start_up_are_all_compared_from_epoch_1(tmp_path: Path) -> None:
    store = _mixed(tmp_path)
    output = how_long_answered(store, {"epochs": ["10"], "baseline": ["t4-batch-64"]})
    assert output.problems == ()
    assert output.result is not None
    best, slow = output.result.answers
    assert best.speed_ratio is not None
    assert best.speed_ratio.value == pytest.approx((22.0 + 9 * 20.0) / (12.0 + 9 * 10.0))
    for answer in (best, slow):
        assert isinstance(answer.total, Estimate)
        assert START_NOT_INCLUDED in answer.total.reasons
    assert output.result.start_sentence == f"{LEFT_OUT}A100 · batch 64 does not state it."
    assert projection(output.result, {}, (), "").start_up == output.result.start_sentence
    alone = how_long_answered(store, {"epochs": ["10"], "baseline": ["t4-batch-64"],
                                      "systems": ["t4-batch-64"]}).result  # fmt: skip
    assert alone is not None
    assert alone.start_sentence == ""
    assert isinstance(alone.answers[0].total, Estimate)
    assert alone.answers[0].total.value == pytest.approx(600.0 + 22.0 + 9 * 20.0)


def test_ratios_of_two_systems_start_with_epoch_1_for_both(tmp_path: Path) -> None:
    store = _mixed(tmp_path)
    output = how_long_answered(store, {"epochs": ["10"]}).result
    assert output is not None
    options = [a.option for a in output.answers]
    [best] = [r for r in ratio_rows(options, "A100", "T4", 10) if "best" in str(r["Comparison"])]
    assert str(best["Over 10 epochs"]).startswith("1.98")


def test_a_sum_of_start_up_and_epoch_1_reaches_from_a_later_epoch_to_the_sum(
    tmp_path: Path,
) -> None:
    both = {"first_epoch_s": None, "until_first_epoch_end_s": 110.0}
    slow = row(system_name="T4", **both, **TIMES)
    store = _store(tmp_path, [slow, row(system_name="A100", first_epoch_s=12.0, **TIMES)])
    output = how_long_answered(store, {"epochs": ["10"]}).result
    assert output is not None
    [total] = [a.total for a in output.answers if a.option.run.system == "T4"]
    assert isinstance(total, Estimate)
    assert total.value == pytest.approx(60.0 + 90.0)
    assert total.low <= 100.0
    assert total.high >= 200.0
    assert FIRST_EPOCH_BETWEEN in total.reasons


def test_a_refused_run_without_start_up_leaves_nothing_out(tmp_path: Path) -> None:
    store = _mixed(tmp_path, status="oom", status_reason="out of memory")
    output = how_long_answered(store, {"epochs": ["10"]}).result
    assert output is not None
    assert output.start_sentence == ""


def test_compare_starts_with_epoch_1_for_all_options_too(tmp_path: Path) -> None:
    store = _mixed(tmp_path)
    every = compare_answered(store, CATALOG, TEN, date(2026, 11, 22)).answered.candidates
    given = {**TEN, "options": [c.id for c in every if c.way == "own"]}
    compared = compare_answered(store, CATALOG, given, date(2026, 11, 22))
    comparison = compared.answered.comparison
    assert comparison is not None
    notes = [n for n in comparison.question.notes if n.startswith(LEFT_OUT)]
    assert len(notes) == 1
    assert "A100" in notes[0]
    assert notes[0] in hardware_comparison(comparison, compared.display, compared.query).assumed
    ranked = how_long_answered(store, {"epochs": ["10"], "session": ["on"]}).result
    assert ranked is not None
    totals = {a.option.run.run_id: a.total for a in ranked.answers}
    own = [r for r in comparison.rows if r.candidate.way == "own" and r.candidate.run]
    assert len(own) == 2
    for line in own:
        assert isinstance(line.timed.total, Estimate)
        here = totals[line.candidate.run.run.run_id]  # type: ignore[union-attr]
        assert isinstance(here, Estimate)
        assert (line.timed.total.value, line.timed.total.low) == (here.value, here.low)
    for line in comparison.answered:
        assert isinstance(line.timed.total, Estimate)
        assert START_NOT_INCLUDED in line.timed.total.reasons


def test_a_precision_that_no_run_states_is_not_stated_in_the_report(tmp_path: Path) -> None:
    for said in ("not stated", "float16"):
        more = {} if said == "not stated" else {"precision": said}
        store = _store(tmp_path / said, [row(first_epoch_s=12.0, **TIMES, **more)])
        output = compare_answered(store, CATALOG, TEN, date(2026, 11, 22)).answered.comparison
        assert output is not None
        assert dict(job_lines(output))["Precision"] == said
