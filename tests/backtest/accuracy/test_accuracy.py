"""What is said first of the accuracy table, on rows made up for it and on those that ship."""

from __future__ import annotations

import math
import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from backtest.accuracy import verdicts
from backtest.accuracy.public_data import read_accuracy
from backtest.accuracy.targets import INTERIOR, TARGETS, TWICE
from backtest.accuracy.verdicts import (
    BY_FLOPS,
    FIRST,
    FROM_FLOPS,
    SHEET,
    accuracy_of,
    ours,
    per_cent,
    shown_rows,
    verdicts_of,
)
from backtest.questions import (
    batch,
    described,
    epochs,
    regret,
    unmeasured,
)
from backtest.questions.figure import (
    MEAN,
    REFUSED,
    UNREFUSED,
    FigureRow,
)
from planner.answers import RULES_BY_SUBJECT
from planner.fits import BASES
from tests.each import each

SHIPPED: Final = Path(__file__).parents[3] / "data" / "accuracy.parquet"
ROW: Final = FigureRow(
    question=batch.QUESTION, task=INTERIOR, method="ours: made up", data_set=MEAN, curves=3,
    hidden=13, points=12, answered=0.9, median_error=0.03, mean_error=0.05, p90_error=0.1,
    coverage=0.9, median_width=0.2,
)  # fmt: skip


@pytest.fixture(scope="module")
def shipped() -> list[FigureRow]:
    return read_accuracy(SHIPPED)


# -- what is said --------------------------------------------------------------------------------


def test_errors_and_intervals_are_those_of_the_rows() -> None:
    sentences = accuracy_of([ROW]).sentences
    assert "was 3.0 % off at a batch between measured ones (medians)." in sentences[1]
    assert sentences[2] == "Its 90 % intervals contained 90 % of the measurements."


def test_a_part_whose_data_set_is_missing_is_left_out() -> None:
    assert accuracy_of([]).sentences == ()
    summary = " ".join(accuracy_of([ROW]).sentences)
    assert "twice the largest" not in summary
    assert "devices" not in summary


def test_choices_cost_from_the_least_to_the_most_of_all_targets() -> None:
    costs = {"regret in time, target 0.9": 0.0, "regret in time, target 0.75": 0.16,
             "regret in device-hours, target 1": 0.056}  # fmt: skip
    rows = [
        replace(ROW, question=regret.QUESTION, task=task, mean_error=cost, curves=4)
        for task, cost in costs.items()
    ]
    summary = " ".join(accuracy_of(rows).sentences)
    assert (
        "took 0 to 16 % longer, and used 5.6 % more device-hours than the best measured" in summary
    )
    assert "means of 4 workloads" in summary


def test_the_worst_miss_is_the_one_furthest_outside_and_says_why() -> None:
    of = next(t for t in TARGETS if t.high is not None and t.field == "coverage")
    bad = replace(
        ROW, question=of.question, task=of.task, method=of.method, data_set=of.data_set,
        coverage=0.2,
    )  # fmt: skip
    known = accuracy_of([bad])
    [worst] = [v for v in known.missed if v.what == of.what]
    assert worst.short_by == pytest.approx(of.low - 0.2)
    assert f"The worst miss: “{of.what}” is 20 %, target {worst.target}" in " ".join(
        known.sentences
    )


def test_where_nothing_is_missed_it_says_so() -> None:
    target = next(t for t in TARGETS if t.task == INTERIOR and t.field == "coverage")
    good = replace(ROW, method=target.method, coverage=0.9, median_error=0.001)
    assert not accuracy_of([good]).missed
    assert "and none misses it." in " ".join(accuracy_of([good]).sentences)


def test_furthest_off_is_the_largest_median_of_ours_on_one_data_set() -> None:
    rows = [
        ROW,
        replace(ROW, data_set="A", median_error=0.2, coverage=0.7),
        replace(ROW, data_set="B", median_error=0.4, coverage=math.nan),
        replace(ROW, data_set="C", median_error=0.9, method="power law"),
        replace(ROW, data_set=MEAN, median_error=0.8),
    ]
    summary = " ".join(accuracy_of(rows).sentences)
    assert "Its largest median error was 40 %, on one question" in summary
    assert "(data: B)." in summary


def test_furthest_off_is_said_as_a_person_would_say_it(shipped: list[FigureRow]) -> None:
    summary = " ".join(accuracy_of(shipped).sentences)
    assert re.search(
        r"Its largest median error was \d+ %, on several nodes estimated from a single device "
        r"\(data: [^)]+\); its 90 % intervals contained \d+ % of the measurements\.",
        summary,
    )
    elsewhere = " ".join(accuracy_of([replace(ROW, data_set="B", median_error=0.4)]).sentences)
    assert "largest median error was 40 %, on one question" in elsewhere
    assert f"{INTERIOR}”) (data: B)" in elsewhere


# -- verdicts ------------------------------------------------------------------------------------


def test_as_good_as_the_best_other_means_the_best_other_on_the_same_points() -> None:
    of = next(t for t in TARGETS if t.high is None)
    mine = replace(ROW, question=of.question, task=of.task, data_set=of.data_set)
    result = ((of.method, 0.10), ("AdaptDL", 0.3), ("Ernest", 0.08))
    rows = [replace(mine, method=method, mean_error=error) for method, error in result]
    [verdict] = [v for v in verdicts_of(rows) if v.what == of.what]
    assert not verdict.reached
    assert verdict.short_by == pytest.approx(0.02)
    assert "the best other method" in verdict.target


def test_verdicts_that_ship_are_counted_as_the_docs_count_them(shipped: list[FigureRow]) -> None:
    known = accuracy_of(shipped)
    page = (SHIPPED.parents[1] / "docs" / "accuracy.md").read_text(encoding="utf-8")
    result = f"{len(known.verdicts) - len(known.missed)} are reached, {len(known.missed)} missed"
    assert result in " ".join(page.split())
    for verdict in known.missed:
        assert f"| {verdict.what} | {verdict.target} |" in page
        assert verdict.short_by > 0.0


def test_every_part_is_said_of_what_ships(shipped: list[FigureRow]) -> None:
    summary = " ".join(accuracy_of(shipped).sentences)
    for words, *_ in (*verdicts.FIRST, *verdicts.THEN):
        assert words in summary
    assert "longer, and used" in summary
    assert "Its largest median error was" in summary
    assert "refused points included" not in summary
    assert "nan" not in summary


# -- filters -------------------------------------------------------------------------------------


def _named(rows: list[FigureRow]) -> list[str]:
    return [r.method for r in rows]


def test_sides_are_ours_with_its_variants_and_all_others() -> None:
    methods = ["power law", REFUSED, "ours: made up", UNREFUSED, "corrected line"]
    rows = [replace(ROW, method=m) for m in methods]

    def shown(side: verdicts.Side) -> list[str]:
        return _named(shown_rows(rows, batch.QUESTION, INTERIOR, [MEAN], side))

    assert shown("ours") == ["ours: made up", REFUSED, UNREFUSED]
    assert shown("others") == ["power law", "corrected line"]
    assert shown("all") == ["ours: made up", "power law", "corrected line", REFUSED, UNREFUSED]


def test_rows_stand_by_data_set_in_the_order_asked_for() -> None:
    rows = [replace(ROW, data_set=d, method=m) for d in "AB" for m in ("power law", "ours: x")]
    shown = shown_rows(rows, batch.QUESTION, INTERIOR, ["B", "A"], "all")
    assert [(r.data_set, r.method) for r in shown] == [
        ("B", "ours: x"), ("B", "power law"), ("A", "ours: x"), ("A", "power law"),
    ]  # fmt: skip


def test_the_mean_is_the_first_data_set_of_a_task() -> None:
    rows = [replace(ROW, data_set=d) for d in ("A", MEAN, "B")]
    assert verdicts.data_sets_of(rows, batch.QUESTION, INTERIOR) == [MEAN, "A", "B"]


def test_ours_is_what_ships_where_it_answers() -> None:
    rows = [replace(ROW, method=m) for m in (REFUSED, "power law", "ours: made up")]
    found = ours(rows, batch.QUESTION, INTERIOR, MEAN)
    assert found is not None
    assert found.method == "ours: made up"
    assert ours(rows, epochs.QUESTION, INTERIOR, MEAN) is None


def test_every_question_that_ships_has_a_title_tasks_and_ours(shipped: list[FigureRow]) -> None:
    for question, (title, about) in verdicts.titles(shipped).items():
        assert title
        assert about
        for task in verdicts.tasks_of(shipped, question):
            sets = verdicts.data_sets_of(shipped, question, task)
            assert any(ours(shipped, question, task, name) for name in sets)


def test_records_have_every_column_and_no_nan(shipped: list[FigureRow]) -> None:
    for record in verdicts.records(shipped):
        assert list(record) == [f.name for f in fields(FigureRow)]
        assert all(not (isinstance(v, float) and np.isnan(v)) for v in record.values())


@each(
    ("share", "text"),
    [(0.0, "0 %"), (0.0054, "0.54 %"), (0.0298, "3.0 %"), (0.0996, "10 %"), (0.122, "12 %"),
     (1.0, "100 %"), (8.37, "837 %")],
)  # fmt: skip
def test_two_digits_that_count(share: float, text: str) -> None:
    assert per_cent(share) == text


# -- what other pages say of it ------------------------------------------------------------------


def test_what_is_reported_of_refusals_beyond_twice_is_what_was_measured(
    shipped: list[FigureRow],
) -> None:
    rules = RULES_BY_SUBJECT["Throughput and epochs"]
    [rule] = [r for r in rules if "dashed" in r.then and "largest measured" in r.when]
    for task in (TWICE, "four times the largest"):
        row = ours(shipped, batch.QUESTION, task, MEAN)
        assert row is not None
        assert per_cent(row.median_error) in rule.why
        assert per_cent(row.coverage) in rule.why


def test_one_sentence_says_what_refusing_changes_and_the_headline_stays_plain() -> None:
    every = replace(ROW, method=UNREFUSED, median_error=0.09)
    far = replace(ROW, task=TWICE, median_error=0.07)
    rows = [ROW, every, far, replace(far, method=UNREFUSED, median_error=0.08)]
    headline, first, then, *_ = accuracy_of(rows).sentences
    assert headline == "Median error on hidden public data: 3.0 % between measured batch sizes."
    assert first == (
        "On hidden public measurements, Epochwise was 3.0 % off at a batch between "
        "measured ones and 7.0 % at twice the largest (medians)."
    )
    assert then.endswith(
        "With refused answers included, it would have been 9.0 % off at a batch between "
        "measured ones and 8.0 % at twice the largest."
    )


def test_where_refusing_changes_nothing_nothing_is_said_of_it() -> None:
    sentences = accuracy_of([ROW, replace(ROW, method=UNREFUSED)]).sentences
    assert "refused" not in " ".join(sentences)


def test_where_nothing_is_answered_nothing_is_said(shipped: list[FigureRow]) -> None:
    silent = replace(ROW, points=0, median_error=math.nan, coverage=math.nan)
    assert accuracy_of([silent]).sentences == ()
    assert all(math.isfinite(v.measured) for v in verdicts_of(shipped))


def test_the_headline_says_how_wrong_described_workloads_are(shipped: list[FigureRow]) -> None:
    row = ours(shipped, described.QUESTION, described.DESCRIBED, MEAN)
    assert row is not None
    headline, first, held, *_ = accuracy_of(shipped).sentences
    assert f"{per_cent(row.median_error)} {BY_FLOPS}." in headline
    assert f"{per_cent(row.median_error)} {FROM_FLOPS} (medians)" in first
    assert f"One in ten {FROM_FLOPS} was more than {per_cent(row.p90_error)} off" in first
    assert per_cent(row.coverage) in held
    sheet = ours(shipped, unmeasured.QUESTION, SHEET, unmeasured.DATA_SET)
    assert sheet is not None
    assert f"{per_cent(sheet.median_error)} transferred from another GPU" in first


def test_a_headline_without_described_workloads_says_nothing_of_them() -> None:
    worse = replace(
        ROW, question=described.QUESTION, task=described.DESCRIBED, median_error=0.9, p90_error=3.0
    )
    assert "FLOPs" not in accuracy_of([ROW]).sentences[0]
    assert f"90 % {BY_FLOPS}" in accuracy_of([ROW, worse]).sentences[0]
    assert "was more than 300 % off" in accuracy_of([ROW, worse]).sentences[1]


def test_no_two_bases_of_unmeasured_hardware_share_a_name() -> None:
    names = [words for words, *_ in FIRST[-2:]]
    assert names == ["transferred from another GPU", FROM_FLOPS]
    assert {name.split(" (")[0] for name in names} <= set(BASES)
