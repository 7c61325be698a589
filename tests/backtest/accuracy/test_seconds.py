"""Seconds of the back-test: summed, kept, read back, and told of a thousand answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from backtest.accuracy.page import (
    Timing,
    per_thousand,
    seconds_of,
    seconds_page,
)
from backtest.accuracy.public_data import Stopwatch, read_seconds, write_seconds
from backtest.questions.figure import MEAN
from backtest.questions.source_table import Origin
from tests.backtest.accuracy.test_accuracy import ROW

A: Final = Timing(question=ROW.question, task=ROW.task, method=ROW.method, data_set="A", points=100,
                  seconds=0.5)  # fmt: skip
B: Final = replace(A, data_set="B", points=300, seconds=1.5)


def test_a_thousand_answers_take_a_thousand_times_the_mean() -> None:
    assert per_thousand([A]) == pytest.approx(5.0)
    with pytest.raises(ValueError, match="The timings have no answers"):
        per_thousand([])


def test_a_mean_is_that_of_all_data_sets_together_and_an_untimed_method_has_none() -> None:
    of_a = replace(ROW, data_set="A")
    slow = replace(A, seconds=5.0)
    assert seconds_of([slow, B], of_a, [MEAN]) == pytest.approx(50.0)
    assert seconds_of([slow, B], ROW, [MEAN]) == pytest.approx(1000 * 6.5 / 400)
    assert seconds_of([A], replace(of_a, method="power law"), [MEAN]) is None


def test_what_is_alike_is_summed_and_what_is_nothing_is_left_out() -> None:
    watch, place = Stopwatch(), ("q", "t", "s")
    for asked in (2, 3):
        with watch(place, "m", asked):
            pass
    with watch(place, "none", 0):
        pass
    [only] = watch.timings
    assert (only.method, only.points) == ("m", 5)
    assert only.seconds > 0.0


def test_they_come_back_from_their_file_and_a_broken_one_is_none(tmp_path: Path) -> None:
    path = tmp_path / "accuracy-seconds.parquet"
    assert read_seconds(path) == []
    write_seconds(path, [A, B])
    assert read_seconds(path) == [A, B]
    path.write_bytes(path.read_bytes()[:-9])
    assert read_seconds(path) == []


def test_the_page_has_a_line_a_method_and_says_that_it_changes() -> None:
    page = seconds_page([A, B], Origin(folder="mine"))
    assert f"| {ROW.question} | {ROW.method} | 400 | 2 | 5 |" in page
    assert "backtest mine`" in page
    assert "changes with every run" in page.replace("\n", " ")
