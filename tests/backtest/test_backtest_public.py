"""The back-test on the public data: what docs/accuracy.md says is what is measured.

The question of devices is left to `python -m planner backtest`: its rivals take most of the time.
"""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq
import pytest

from backtest import QUESTIONS
from backtest.accuracy.page import accuracy_page
from backtest.accuracy.public_data import parquet_bytes, public_tables
from backtest.accuracy.targets import TARGETS
from backtest.choose.choice import NOTHING
from backtest.choose.constants import choices
from backtest.data.cases import TextRows
from backtest.data.columns import COLUMNS
from backtest.questions.batch import SIA_SEVERAL
from backtest.questions.devices import QUESTION as DEVICES
from backtest.questions.epochs import STEADY
from backtest.questions.figure import (
    MEAN,
    NUMBERS,
    FigureRow,
    columns_of,
)
from backtest.questions.methods import OURS, PLAIN
from backtest.questions.source_table import Origin
from backtest.questions.unmeasured import NUMBERS as NUMBERS_OF_SHEETS
from planner.convergence import PRIOR
from planner.fits.lines import STEP_TIMES
from planner.runs import SETTLED
from planner.scaling import FADING
from tests.faults.outcomes import FULL

ROOT: Final = Path(__file__).parents[2]
DATASETS: Final = ROOT.parent / "shared" / "datasets"
WHOLE: Final = Origin(folder="../shared/datasets")
OPTIONAL: Final = ("mode", "suspect", *NUMBERS_OF_SHEETS)
"""Columns that a file may lack."""
BOTH: Final = ("ours: prior, neighbours, drift", "same total, one prior for all")
FAST: Final = tuple(name for name in QUESTIONS if name != DEVICES)
pytestmark = pytest.mark.skipif(
    not DATASETS.is_dir(), reason="the public data sets are not in ../shared/datasets"
)


@pytest.fixture(scope="module")
def rows() -> list[FigureRow]:
    read = public_tables(DATASETS)
    return [row for name in FAST for row in QUESTIONS[name](read)]


def of(rows: list[FigureRow], task: str, method: str, data_set: str = MEAN) -> FigureRow:
    found = [r for r in rows if (r.task, r.method, r.data_set) == (task, method, data_set)]
    assert found
    return found[0]


def test_the_shipped_figures_are_those_measured_today(rows: list[FigureRow]) -> None:
    shipped = pq.read_table(ROOT / "data" / "accuracy.parquet").to_pylist()
    keys = ("question", "task", "method", "data_set")
    by_key = {tuple(r[k] for k in keys): r for r in shipped if r["question"] != DEVICES}
    assert set(by_key) == {(r.question, r.task, r.method, r.data_set) for r in rows}
    for r in rows:
        kept = by_key[r.question, r.task, r.method, r.data_set]
        now = [getattr(r, name) for name in NUMBERS]
        assert now == pytest.approx([kept[n] for n in NUMBERS], rel=1e-3, abs=1e-6, nan_ok=True)


def test_the_page_has_every_question_and_as_many_misses_as_figures_miss() -> None:
    page = (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8")
    assert page.count("\n## ") == len(["In short"]) + len(QUESTIONS) + len(
        ["Published measurements"]
    )
    assert "10 missed" in page
    own = page.partition("\n## Published measurements\n")[0]
    assert own.count("**missed**") == 10
    assert "| none of " not in page
    assert str(ROOT) not in page


def test_most_of_what_is_wanted_is_reached_and_these_are_not(rows: list[FigureRow]) -> None:
    missed = {t.what for t in TARGETS if t.measured(rows) is not None and not t.reached(rows)}
    assert missed == {
        "after 3 epochs, DAWNBench, changing later on, coverage",
        "samples to target from 3 batches, Shallue (digitised), mean error",
        f"samples to target from 3 batches, {MEAN}, mean error",
        "card known by own workload on one other card, mean error",
        "choice of devices and batch, regret in time, target 0.75",
    }


@pytest.mark.parametrize("data_set", [MEAN, SIA_SEVERAL])
def test_ours_is_better_than_the_plain_line_inside_and_beyond(
    rows: list[FigureRow], data_set: str
) -> None:
    for task in ("one batch left out between others", "twice the largest"):
        ours, plain = (of(rows, task, method, data_set) for method in (OURS, PLAIN))
        assert ours.median_error < plain.median_error
        assert ours.mean_error < plain.mean_error
        assert ours.coverage > min(plain.coverage, 0.85)


def test_four_times_away_ours_is_no_worse_than_the_plain_line(rows: list[FigureRow]) -> None:
    for data_set in ("Colab TPU", MEAN):
        ours, plain = (of(rows, "four times the largest", m, data_set) for m in (OURS, PLAIN))
        assert ours.mean_error <= 1.001 * plain.mean_error


def test_textbook_intervals_hold_less_outside_than_they_say(rows: list[FigureRow]) -> None:
    assert of(rows, "twice the largest", "line, textbook interval").coverage < 0.75
    assert of(rows, "after 5 epochs", "same total, textbook interval",
              "Colab TPU and GPU").coverage < 0.75  # fmt: skip


def test_other_runs_widen_no_interval_of_a_quiet_set_and_hold_more_of_the_others(
    rows: list[FigureRow],
) -> None:
    for k in (2, 3, 5):
        quiet, one = (of(rows, f"after {k} epochs", m, "Colab TPU and GPU") for m in BOTH)
        assert (quiet.median_width, quiet.coverage) == (one.median_width, one.coverage)
        steady, one = (of(rows, f"after {k} epochs", m, STEADY) for m in BOTH)
        assert steady.coverage > one.coverage + 0.04
        assert steady.median_width < 1.2 * one.median_width


def test_what_is_refused_would_have_been_further_off_than_what_is_answered(
    rows: list[FigureRow],
) -> None:
    task = "one batch left out between others"
    for data_set in ("Sia, 1 device", "Gavel, 1 device"):
        refused = of(rows, task, "ours, where it refuses", data_set)
        assert refused.mean_error > of(rows, task, OURS, data_set).mean_error


def test_between_many_batches_of_pollux_what_is_refused_would_be_as_near_now(
    rows: list[FigureRow],
) -> None:
    """Refused are its v0 and t: they scatter too much about the law, and the correction follows."""
    where = "one batch left out between others", "Pollux T4, several"
    refused = of(rows, where[0], "ours, where it refuses", where[1])
    assert refused.mean_error == pytest.approx(of(rows, where[0], OURS, where[1]).mean_error, 0.02)


@pytest.mark.skipif(not FULL, reason="`make faults` chooses all constants again")
def test_constants_chosen_without_each_data_set_are_near_those_that_ship() -> None:
    found = choices(public_tables(DATASETS))
    result = {(c.use, c.left_out): c.chosen for c in found}
    assert result["step times", NOTHING].startswith(f"sd {STEP_TIMES.sd:g}, ")
    assert result["samples to target", NOTHING].startswith(f"sd {PRIOR.sd:g}, dof {PRIOR.dof:g}, ")
    chosen = [float(c.chosen.split()[1].rstrip(",")) for c in found if c.use == "samples to target"]
    assert min(chosen) == 0.06
    assert max(chosen) == 0.1
    corrected = [c for c in found if c.use.startswith("when")]
    assert [c.left_out for c in corrected if c.chosen != c.ships] == ["Pollux T4, 1 device"]
    assert result["fading of doublings", NOTHING] == f"{FADING:g}"
    assert result["drift of epochs", NOTHING] == f"wanders for {SETTLED:g} epochs"
    other_runs = [c.chosen == c.ships for c in found if c.use == "scatter of other runs"]
    assert sum(other_runs) == len(other_runs) - 1 == 5  # only the runs with neighbours matter


def test_questions_asked_again_read_declared_columns_only_and_give_the_same_bytes(
    rows: list[FigureRow],
) -> None:
    whole = public_tables(DATASETS)

    def declared_only(path: str) -> TextRows:
        if path not in COLUMNS or path.startswith("nvidia"):  # every column of it names a sweep
            return whole(path)
        kept = {*chain.from_iterable(COLUMNS[path]), *OPTIONAL}
        return [{k: v for k, v in row.items() if k in kept} for row in whole(path)]

    again = [row for name in FAST for row in QUESTIONS[name](declared_only)]
    assert parquet_bytes(columns_of(again)) == parquet_bytes(columns_of(rows))
    assert accuracy_page(again, WHOLE) == accuracy_page(rows, WHOLE)
