"""Promises of the ladder: a workload on a card where it was not measured."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from planner.core import Estimate, Floats, Refusal, t_quantile
from planner.epochs import session_half_width
from planner.transfer import (
    Cell,
    DataSheet,
    Library,
    Rung,
    Transferred,
    _ladder,
    _rungs,
    fit_library,
    transfer,
)
from planner.transfer._library import _filled, part_for
from planner.transfer._records import named
from planner.transfer._rungs import (
    FALLBACK_DOF,
    FALLBACK_SD,
    Evidence,
    RungPrediction,
    calibrate,
    evidence_for,
    ladder,
    measured_half_width,
    rank_of,
)
from tests.each import each
from tests.planner.asking import ends

Predict = Callable[[Library, Evidence], RungPrediction]

OTHERS: Final = "workload on other cards"
BENCHMARKS: Final = "benchmarks of the card"
SHEET: Final = "data sheet of the card"
RUNGS: Final[tuple[Rung, ...]] = (OTHERS, BENCHMARKS, SHEET)
PREDICT: Final = (
    _rungs.predict_by_other_cards,
    _rungs.predict_by_benchmarks,
    _rungs.predict_by_data_sheet,
)


def table(log: Floats, *, sheets: Sequence[DataSheet] = (), precisions: int = 2) -> Library:
    """Rows w0 fp16, w0 fp32, w1 fp16 ..., columns c0, c1 ...; NaN where nothing was measured."""
    row, column = np.nonzero(np.isfinite(log))
    return fit_library(
        [f"w{i // precisions}" for i in row],
        [("fp16", "fp32")[i % precisions] for i in row],
        [f"c{j}" for j in column],
        np.exp(log[row, column]),
        sheets,
    )


def additive(
    workloads: int = 8, cards: int = 7, scatter: float = 0.0, seed: int = 0
) -> tuple[Floats, Floats]:
    """Log samples/s that are workload + card, with scatter, and the cards' part."""
    rng = np.random.default_rng(seed)
    card = rng.normal(0.0, 0.5, cards)
    log = rng.normal(3.0, 3.0, (workloads, 1)) + card
    return log + scatter * rng.normal(size=log.shape), card


def sheets_of(speed: Floats, seed: int = 9) -> list[DataSheet]:
    """Data sheets by which sqrt(FLOP/s x bandwidth) is the speed, in logarithms."""
    tilt = np.random.default_rng(seed).normal(0.0, 0.3, speed.size)
    return [
        DataSheet(
            card=f"c{i}",
            peak_flops_per_s={"fp16": 1e14 * np.exp(s + d), "fp32": 2e13 * np.exp(s + d)},
            memory_bandwidth_bytes_per_s=1e12 * np.exp(s - d),
            memory_bytes=16e9 * 2 ** (i % 3),
        )
        for i, (s, d) in enumerate(zip(speed, tilt, strict=True))
    ]


def hidden(log: Floats, *cells: tuple[int | slice, int | slice]) -> Floats:
    log = log.copy()
    for cell in cells:
        log[cell] = np.nan
    return log


def wanted(workload: int = 0, card: int = 0, precision: str = "fp16") -> Cell:
    return Cell(workload=f"w{workload}", precision=precision, card=f"c{card}")


def result(answer: Transferred | Refusal) -> Transferred:
    assert isinstance(answer, Transferred)
    return answer


def refused(answer: Transferred | Refusal) -> Refusal:
    assert isinstance(answer, Refusal)
    return answer


def half_width(answer: Transferred) -> float:
    value, low, high = ends(answer.estimate)
    assert_allclose(value / low, high / value)
    return float(np.log(high / value))


def an_answer(
    value: float, width: float = 0.1, card: str = "c0", level: float = 0.9, **more: str
) -> Transferred:
    """An answer whose interval ends a factor exp(width) away."""
    low, high = value * np.exp(-width), value * np.exp(width)
    cell = Cell(workload=more.get("workload", "w0"), precision=more.get("in_", "fp16"), card=card)
    estimate = Estimate(value=value, low=float(low), high=float(high), level=level)
    return Transferred(cell=cell, estimate=estimate, rung="measured")


# -- what ties two cards ------------------------------------------------------------------------


def test_a_card_with_no_library_workload_ties_nothing() -> None:
    """The own workload alone on c1: what a table fills in for c1 is made of that one run."""
    log, _ = additive()
    alone = hidden(log, (slice(0, 2), slice(None)), (slice(None), 1))
    alone[0, 1] = log[0, 1]
    for rung in (OTHERS, BENCHMARKS):
        answer = refused(transfer(table(alone), wanted(), rung=rung))
        assert "No workload was measured both on c0 and on a card with w0 fp16." in answer.reason
    refused(transfer(table(alone), wanted()))


def test_a_card_with_no_library_workload_is_answered_by_its_data_sheet() -> None:
    log, card = additive()
    alone = hidden(log, (slice(0, 2), slice(None)), (slice(None), 1))
    alone[0, 1] = log[0, 1]
    answer = result(transfer(table(alone, sheets=sheets_of(card)), wanted()))
    assert answer.rung == SHEET
    assert answer.estimate.low <= np.exp(log[0, 0]) <= answer.estimate.high


@pytest.mark.parametrize("shared", [2, 5, 7])
def test_one_library_workload_on_both_cards_ties_them(shared: int) -> None:
    log, _ = additive()
    alone = hidden(log, (slice(0, 2), slice(None)), (slice(None), 1))
    alone[0, 1], alone[shared, 1] = log[0, 1], log[shared, 1]
    answer = result(transfer(table(alone), wanted(), rung=BENCHMARKS))
    assert_allclose(answer.estimate.value, np.exp(log[0, 0]))


def test_of_two_own_cards_only_the_one_with_benchmarks_is_learnt_from() -> None:
    """What c2 alone did, were it ten times too slow, changes nothing."""
    log, _ = additive()
    alone = hidden(log, (slice(0, 2), slice(None)), (slice(None), 2))
    alone[0, 1] = log[0, 1]
    answers = []
    for slower in (0.0, np.log(10.0)):
        alone[0, 2] = log[0, 2] - slower
        answers.append(result(transfer(table(alone), wanted(), rung=BENCHMARKS)))
    assert_allclose(answers[0].estimate.value, np.exp(log[0, 0]))
    assert_allclose(answers[1].estimate.value, answers[0].estimate.value, rtol=1e-6)
    assert "c2" not in answers[0].estimate.reasons[0]


# -- a measurement -----------------------------------------------------------------------------


def test_a_measured_cell_answers_by_itself_give_or_take_another_session() -> None:
    log, _ = additive()
    answer = result(transfer(table(log), wanted()))
    assert_allclose(answer.estimate.value, np.exp(log[0, 0]))
    assert_allclose(half_width(answer), session_half_width(0.9))
    assert (answer.rung, answer.estimate.basis) == ("measured", "measured")
    assert answer.estimate.reasons[0].startswith("1 run on c0; another session")
    assert answer.next_runs == ()


def test_repeated_runs_are_averaged_and_narrow_the_interval_if_they_agree() -> None:
    def runs(*values: float) -> Transferred:
        n = len(values)
        library = fit_library(["w0"] * n, ["fp16"] * n, ["c0"] * n, values)
        return result(transfer(library, wanted()))

    assert_allclose(runs(100.0, 121.0).estimate.value, 110.0)
    assert half_width(runs(110.0, 110.0)) < half_width(runs(110.0))
    assert half_width(runs(90.0, 130.0)) > half_width(runs(110.0))


def test_one_run_has_the_interval_of_two_sessions() -> None:
    assert_allclose(measured_half_width(1, 0.0, 0.9), session_half_width(0.9))


# -- each rung ---------------------------------------------------------------------------------


@pytest.mark.parametrize("rung", [OTHERS, BENCHMARKS])
def test_a_table_of_workload_times_card_is_completed_exactly(rung: Rung) -> None:
    log, _ = additive()
    answer = result(transfer(table(hidden(log, (0, 0))), wanted(), rung=rung))
    assert_allclose(answer.estimate.value, np.exp(log[0, 0]))
    assert answer.rung == rung
    assert answer.estimate.basis == "similar workload"


def test_cards_as_fast_as_the_root_of_flops_times_bandwidth_are_known_from_their_sheets() -> None:
    log, speed = additive()
    library = table(hidden(log, (slice(None), 0)), sheets=sheets_of(speed))
    answer = result(transfer(library, wanted()))
    assert_allclose(answer.estimate.value, np.exp(log[0, 0]))
    assert (answer.rung, answer.estimate.basis) == (SHEET, "transferred from another GPU")


def test_votes_are_averaged_as_factors() -> None:
    log = np.log([[10.0, np.nan], [1.0, 2.0], [1.0, 8.0]])
    answer = result(transfer(table(log, precisions=1), wanted(card=1), rung=OTHERS))
    assert_allclose(answer.estimate.value, 40.0)
    assert [n.ratio for n in answer.neighbours] == pytest.approx([2.0, 8.0])


def test_another_precision_speaks_with_a_fifth_of_the_voice() -> None:
    log = np.log([[10.0, np.nan], [np.nan, np.nan], [1.0, 2.0], [1.0, 8.0]])
    answer = result(transfer(table(log), wanted(card=1), rung=OTHERS))
    assert_allclose(answer.estimate.value, 10.0 * (2.0 * 8.0**0.2) ** (1 / 1.2))
    assert [n.share for n in answer.neighbours] == pytest.approx([1 / 1.2, 0.2 / 1.2])


def test_the_workload_with_the_same_profile_speaks_loudest() -> None:
    log, _ = additive(workloads=6, scatter=0.5, seed=3)
    log[4] = log[0] + 1.0  # w4 is w0 with another unit
    answer = result(transfer(table(hidden(log, (0, 0)), precisions=1), wanted(), rung=OTHERS))
    nearest = answer.neighbours[0]
    assert (nearest.workload, len(answer.neighbours)) == ("w4", 3)
    assert nearest.share > 0.6
    assert_allclose(nearest.ratio, np.exp(log[4, 0] - log[4, 1:].mean()))
    assert "w4 fp16" in answer.estimate.reasons[1]
    assert abs(np.log(float(answer.estimate.value)) - log[0, 0]) < 0.15


def test_a_workload_that_gains_half_as_much_from_faster_cards_is_seen_by_regression() -> None:
    log, speed = additive(workloads=6, cards=40)
    log[0] = 2.0 + 0.5 * speed
    library = table(hidden(log, (0, 0), (slice(2, None), 0)), precisions=1)
    answer = result(transfer(library, wanted()))
    assert answer.rung == BENCHMARKS
    assert_allclose(np.log(float(answer.estimate.value)), log[0, 0], atol=0.02)


def test_a_hard_ridge_is_the_additive_model(monkeypatch: pytest.MonkeyPatch) -> None:
    log, _ = additive(scatter=0.3)
    library = table(hidden(log, (0, 0), (slice(2, None), 0)), precisions=1)
    monkeypatch.setattr(_rungs, "SLOPE_RIDGE", 1e12)
    answer = result(transfer(library, wanted(), rung=BENCHMARKS))
    expected = log[0, 1:].mean() + log[1, 0] - log[1, 1:].mean()
    assert_allclose(np.log(float(answer.estimate.value)), expected)


@each("predict", PREDICT)
def test_every_cell_is_predicted_as_if_it_had_never_been_measured(
    predict: Callable[[Library, Evidence], RungPrediction],
) -> None:
    log, speed = additive(scatter=0.2)
    sheets = sheets_of(speed)
    whole, lacking = table(log, sheets=sheets), table(hidden(log, (2, 3)), sheets=sheets)
    known = evidence_for(whole, 0, 0)
    at_once = predict(whole, known).log_samples_per_s[2, 3]
    one_by_one = predict(lacking, known).log_samples_per_s[2, 3]
    assert_allclose(at_once, one_by_one)
    assert abs(at_once - log[2, 3]) > 1e-3


def test_a_card_is_left_out_whole_by_the_data_sheet() -> None:
    log, speed = additive(scatter=0.2)
    whole = table(log, sheets=sheets_of(speed))
    lacking = table(hidden(log, (slice(None), 3)), sheets=sheets_of(speed))
    known = evidence_for(whole, 0, 0)
    assert_allclose(
        _rungs.predict_by_data_sheet(whole, known).log_samples_per_s[:, 3],
        _rungs.predict_by_data_sheet(lacking, known).log_samples_per_s[:, 3],
    )


@each("predict", PREDICT[:2])
def test_a_workload_is_left_out_in_all_precisions(
    predict: Callable[[Library, Evidence], RungPrediction],
) -> None:
    log, _ = additive(scatter=0.2)
    library = table(log)
    known = evidence_for(library, 0, 0)
    moved = log.copy()
    moved[3, 4] += 1.0  # w1 fp32 on c4
    before, after = (
        predict(one, known).log_samples_per_s[2, 4] for one in (library, table(moved))
    )  # w1 fp16 on c4
    assert_allclose(before, after)


def test_only_the_wanted_workload_hears_its_sibling() -> None:
    may_speak = evidence_for(table(additive()[0]), 0, 0).may_speak
    assert may_speak[0, 1]
    assert not may_speak[1, 0]
    assert not may_speak[2, 3]
    assert not may_speak.diagonal().any()


# -- the ladder --------------------------------------------------------------------------------


def test_the_longer_side_of_the_table_goes_first() -> None:
    log, _ = additive()
    many_cards = table(hidden(log, (0, 0), (slice(3, None), 0)))
    many_benchmarks = table(hidden(log, (0, slice(0, 5))))
    assert ladder(evidence_for(many_cards, 0, 0)) == (BENCHMARKS, OTHERS, SHEET)
    assert ladder(evidence_for(many_benchmarks, 0, 0)) == (OTHERS, BENCHMARKS, SHEET)


def test_a_rung_that_cannot_be_checked_gives_way_to_one_that_can() -> None:
    log, speed = additive(workloads=8, cards=6, scatter=0.05)
    lacking = hidden(log, (slice(0, 7), 0), (7, slice(2, None)))  # one benchmark, run on two cards
    library = table(lacking, sheets=sheets_of(speed))
    answer = result(transfer(library, wanted()))
    assert result(transfer(library, wanted(), rung=OTHERS)).residuals == 0
    assert answer.rung == SHEET
    assert answer.residuals > 9


@each("rung", RUNGS)
def test_the_wanted_cell_cannot_leak_into_its_own_answer(rung: Rung) -> None:
    log, speed = additive(scatter=0.2)
    moved = log.copy()
    moved[0, 0] += 5.0
    before, after = (
        result(transfer(table(one, sheets=sheets_of(speed)), wanted(), rung=rung))
        for one in (log, moved)
    )
    assert_allclose(before.estimate.value, after.estimate.value)


def test_a_workload_measured_nowhere_is_refused() -> None:
    answer = refused(transfer(table(additive()[0]), wanted(workload=99)))
    assert answer.reason == "w99 fp16 was measured on no card, so its speed cannot be estimated."
    assert answer.measure_next == ("Measure w99 fp16 on any measured card, best on c0.")


def test_a_card_nothing_is_known_about_is_refused() -> None:
    answer = refused(transfer(table(additive()[0]), wanted(card=99)))
    assert answer.reason.startswith("c99 has no measurements")
    assert "add the data sheet of c99" in answer.measure_next


def test_a_card_without_measurement_in_a_precision_its_sheet_omits_is_refused() -> None:
    log, speed = additive()
    sheets = [replace(s, peak_flops_per_s={"fp16": 1e14}) for s in sheets_of(speed)]
    library = table(hidden(log, (slice(None), 0)), sheets=sheets)
    answer = refused(transfer(library, wanted(precision="fp32")))
    assert "No workload was measured both on c0 and on a card with w0 fp32." in answer.reason
    assert "lacks a data sheet with fp32 FLOP/s" in answer.reason
    assert isinstance(transfer(library, wanted()), Transferred)


def test_a_rung_without_what_it_needs_is_refused_by_name() -> None:
    log, _ = additive()
    library = table(hidden(log, (0, 0)))
    assert "not measured on c0" in refused(transfer(library, wanted(), rung="measured")).reason
    assert "data sheet" in refused(transfer(library, wanted(), rung=SHEET)).reason
    alone = table(hidden(log, (0, slice(1, None))))
    assert "on no other card" in refused(transfer(alone, wanted(), rung=OTHERS)).reason


@pytest.mark.parametrize("library", [table(additive()[0]), table(hidden(additive()[0], (0, 0)))])
def test_a_rung_that_does_not_exist_is_an_error_that_lists_the_rungs(library: Library) -> None:
    with pytest.raises(ValueError, match=r"'foo' is not a rung\. Use one of measured, workload on"):
        transfer(library, wanted(), rung="foo")  # type: ignore[arg-type]


# -- the interval ------------------------------------------------------------------------------


@each(
    ("level", "n", "rank"),
    [(0.9, 9, 9), (0.9, 10, 10), (0.9, 19, 18), (0.9, 99, 90), (0.5, 1, 1), (0.9, 8, 9)],
)
def test_the_rank_of_the_error_is_that_of_split_conformal_prediction(
    level: float, n: int, rank: int
) -> None:
    assert rank_of(level, n) == rank


def test_one_more_error_of_the_same_kind_is_held_as_often_as_promised() -> None:
    rng = np.random.default_rng(4)
    for n in (9, 19, 60):
        errors = np.abs(rng.standard_t(3, (4000, n + 1)))
        bound = np.sort(errors[:, :n], axis=1)[:, rank_of(0.9, n) - 1]
        assert 0.885 < (errors[:, n] <= bound).mean() < 0.925


def test_the_interval_is_the_ranked_error_times_difficulty() -> None:
    log, _ = additive(scatter=0.2)
    library = table(hidden(log, (0, 0)))
    answer = result(transfer(library, wanted(), rung=OTHERS))
    prediction = _rungs.predict_by_other_cards(library, evidence_for(library, 0, 0))
    error = np.abs(prediction.log_samples_per_s - library.log_samples_per_s)
    errors = np.sort((error / prediction.difficulty)[np.isfinite(error)])
    assert answer.residuals == errors.size == 55
    told_of = (
        "Tested on 55 measured cases (4 workloads, 7 cards), each left out in turn, this method "
        "was off by no more than the interval in 51."
    )
    assert told_of in reasons(answer)
    expected = errors[rank_of(0.9, 55) - 1] * prediction.difficulty[0, 0]
    assert_allclose(half_width(answer), expected)


def test_scattered_libraries_tell_wider_intervals() -> None:
    def width(scatter: float) -> float:
        log, _ = additive(scatter=scatter)
        return half_width(result(transfer(table(hidden(log, (0, 0))), wanted())))

    assert width(0.02) < width(0.1) < width(0.5)


@each("rung", RUNGS)
def test_no_transferred_answer_is_surer_than_a_measurement(rung: Rung) -> None:
    log, speed = additive(scatter=0.001)
    answer = result(transfer(table(log, sheets=sheets_of(speed)), wanted(), rung=rung))
    assert_allclose(half_width(answer), session_half_width(0.9))
    assert answer.next_runs == ()
    assert reasons(answer)[-1].endswith("the interval is the variation between sessions.")


@each("rung", RUNGS)
def test_a_higher_level_is_a_wider_interval(rung: Rung) -> None:
    log, speed = additive(scatter=0.2)
    library = table(hidden(log, (0, 0)), sheets=sheets_of(speed))
    narrow, wide = (
        half_width(result(transfer(library, wanted(), level=level, rung=rung)))
        for level in (0.5, 0.95)
    )
    assert narrow < wide


def test_a_level_is_a_share() -> None:
    for library in (table(additive()[0]), table(hidden(additive()[0], (0, 0)))):
        with pytest.raises(ValueError, match="not 90"):
            transfer(library, wanted(), level=90)


def test_a_library_too_small_to_check_an_interval_gives_a_wide_one_and_says_so() -> None:
    log = np.log([[10.0, np.nan], [1.0, 2.0], [1.0, 3.0]])
    answer = result(transfer(table(log, precisions=1), wanted(card=1)))
    assert_allclose(half_width(answer), t_quantile(0.9, FALLBACK_DOF) * FALLBACK_SD)
    assert answer.residuals == 0
    said = reasons(answer)[-2]
    assert said.startswith(
        "The error of this method cannot be measured. There are only 2 measured case"
    )
    assert "an interval at 90 % needs 9, of at least 3 workloads and 3 cards" in said


def reasons(answer: Transferred) -> tuple[str, ...]:
    return answer.estimate.reasons


def test_the_wide_interval_holds_every_error_that_was_seen() -> None:
    log = np.log([[10.0, np.nan], [1.0, 2.0], [1.0, 800.0]])
    library = table(log, precisions=1)
    prediction = _rungs.predict_by_other_cards(library, evidence_for(library, 0, 1))
    assert calibrate(library, prediction, 0.9).quantile >= np.log(400.0)


def test_where_nothing_can_be_tried_no_jargon_and_no_zeros_are_reported() -> None:
    log = np.log([[10.0, np.nan]])
    sheets = [
        DataSheet(card=c, peak_flops_per_s={"fp16": 1e14, "fp32": 1e13}, memory_bytes=8e10,
                  memory_bandwidth_bytes_per_s=1e12) for c in ("c0", "c1")
    ]  # fmt: skip
    answer = result(transfer(table(log, precisions=1, sheets=sheets), wanted(card=1)))
    said = " ".join(reasons(answer))
    assert "cannot be measured. There are no measured cases, and an interval at 90 %" in said
    assert "memory bandwidth and memory, as throughput depends on them" in said
    assert not re.search(r"leave-out|rung|library|\b0 (cases|errors|workloads)", said)


@pytest.mark.parametrize(
    ("workload", "precision", "expected"),
    [
        ("Net · float32", "float32", "Net · float32"),
        ("Net · bfloat16", "float16", "Net · bfloat16"),
        ("Net · Data", "float32", "Net · Data float32"),
        ("Net", "p", "Net p"),
    ],
)
def test_a_number_format_is_reported_once(workload: str, precision: str, expected: str) -> None:
    assert named(workload, precision) == expected


def test_errors_of_two_cards_are_not_enough_however_many() -> None:
    log, _ = additive(workloads=40, cards=2, scatter=0.1)
    answer = result(transfer(table(hidden(log, (0, 1))), wanted(card=1)))
    assert answer.residuals == 0
    assert any("workloads and 3 cards. A wide interval is" in reason for reason in reasons(answer))


def test_one_measurement_and_two_data_sheets_are_scaled_by_the_root_rule() -> None:
    sheets = sheets_of(np.array([0.0, 1.0]))
    library = fit_library(["w0"], ["fp16"], ["c0"], [100.0], sheets)
    answer = result(transfer(library, wanted(card=1)))
    assert_allclose(answer.estimate.value, 100.0 * np.e)
    assert answer.residuals == 0


def test_numbers_outside_what_the_library_has_seen_are_pointed_out() -> None:
    log, speed = additive()
    sheets = sheets_of(speed)
    sheets[0] = replace(sheets[0], memory_bytes=160e9, memory_bandwidth_bytes_per_s=1e11)
    answer = result(transfer(table(hidden(log, (slice(None), 0)), sheets=sheets), wanted()))
    outside = next(
        reason
        for reason in reasons(answer)
        if reason.startswith("Outside the range of the measured cards")
    )
    assert "its memory is 2.5 times the largest" in outside
    assert "its memory bandwidth is " in outside
    assert "of the smallest" in outside


# -- the next run ------------------------------------------------------------------------------


def test_measuring_the_cell_itself_narrows_most() -> None:
    log, _ = additive(scatter=0.2)
    answer = result(transfer(table(hidden(log, (0, slice(0, 4)))), wanted()))
    first = answer.next_runs[0]
    assert (first.run, first.rung) == (wanted(), "measured")
    assert_allclose(first.factor, np.exp(session_half_width(0.9)))
    assert_allclose(first.width, 2.0 * np.sinh(session_half_width(0.9)))
    assert reasons(answer)[-2].startswith("Next measurement: w0 fp16 on c0 (then")


def test_next_runs_are_reported_narrowest_first_and_only_if_they_narrow() -> None:
    log, _ = additive(workloads=10, cards=9, scatter=0.2)
    answer = result(transfer(table(hidden(log, (0, slice(0, 7)))), wanted()))
    factors = [run.factor for run in answer.next_runs]
    assert factors == sorted(factors)
    assert max(factors) < np.exp(half_width(answer))


def test_the_workload_on_another_card_and_a_benchmark_on_this_one_are_weighed_too() -> None:
    log, _ = additive(workloads=12, cards=12, scatter=0.05)
    log[1::2] += 0.4 * np.random.default_rng(8).normal(size=12)  # fp32 is another world
    library = table(hidden(log, (0, slice(0, 11)), (slice(0, 9), 0)))
    answer = result(transfer(library, wanted()))
    assert {run.rung for run in answer.next_runs} >= {"measured", OTHERS}
    elsewhere = next(run for run in answer.next_runs if run.rung == OTHERS)
    assert (elsewhere.run.workload, elsewhere.run.precision) == ("w0", "fp16")
    assert elsewhere.run.card not in {"c0", "c11"}
    new = table(hidden(log, (slice(0, 11), 0)))
    runs = result(transfer(new, wanted())).next_runs
    assert any(run.rung == BENCHMARKS and run.run.card == "c0" for run in runs)


# -- what does not matter ----------------------------------------------------------------------


@pytest.mark.parametrize("rung", RUNGS)
@given(seed=st.integers(0, 2**32 - 1), unit=st.floats(1e-6, 1e6))
@settings(max_examples=10, deadline=None)
def test_units_of_a_workload_change_nothing_but_its_units(
    rung: Rung, seed: int, unit: float
) -> None:
    log, speed = additive(scatter=0.2, seed=seed)
    other = log + np.log(unit) * (np.arange(8) == 0)[:, None] + 2.0 * (np.arange(8) > 3)[:, None]
    plain, scaled = (
        result(transfer(table(one, sheets=sheets_of(speed)), wanted(), rung=rung))
        for one in (log, other)
    )
    assert_allclose(ends(scaled.estimate), unit * ends(plain.estimate), rtol=1e-8)


@each("rung", RUNGS)
def test_the_order_of_rows_does_not_matter(rung: Rung) -> None:
    log, speed = additive(scatter=0.2)
    row, column = np.nonzero(np.isfinite(hidden(log, (0, 0))))
    order = np.random.default_rng(2).permutation(row.size)
    row, column, sheets = row[order], column[order], sheets_of(speed)[::-1]
    shuffled = fit_library(
        [f"w{i // 2}" for i in row],
        [("fp16", "fp32")[i % 2] for i in row],
        [f"c{j}" for j in column],
        np.exp(log[row, column]),
        sheets,
    )
    straight = table(hidden(log, (0, 0)), sheets=sheets[::-1])
    one, other = (result(transfer(x, wanted(), rung=rung)) for x in (straight, shuffled))
    assert_allclose(ends(one.estimate), ends(other.estimate))


def test_unmeasured_cards_change_no_other_answer() -> None:
    log, speed = additive(scatter=0.2)
    lacking = hidden(log, (slice(None), 0))
    seven = sheets_of(speed)
    more = [*seven, replace(seven[1], card="unheard of")]
    one, other = (result(transfer(table(lacking, sheets=s), wanted())) for s in (seven, more))
    assert_allclose(ends(one.estimate), ends(other.estimate))


# -- the library -------------------------------------------------------------------------------


def test_rows_and_columns_are_in_alphabetical_order_and_sheets_are_columns() -> None:
    sheet = replace(sheets_of(np.zeros(1))[0], card="a")
    library = fit_library(
        ["y", "x", "x"], ["fp32", "fp32", "fp16"], ["c", "b", "c"], [1, 2, 3], [sheet]
    )
    assert library.workloads == (("x", "fp16"), ("x", "fp32"), ("y", "fp32"))
    assert library.cards == ("a", "b", "c")
    assert library.measured.tolist() == [
        [False, False, True],
        [False, True, False],
        [False, False, True],
    ]
    assert str(library.cell(1, 1)) == "x fp32 on b"
    assert np.isfinite(library.sheets[0, 0]).all()
    assert np.isnan(library.sheets[:, 1:]).all()


def test_gaps_are_filled_by_row_and_column_effects() -> None:
    log, _ = additive()
    library = table(hidden(log, (0, 0), (3, 2)))
    assert_allclose(library.filled, log)
    assert np.isnan(library.log_samples_per_s[0, 0])


def sheet_with(**changes: object) -> DataSheet:
    return replace(sheets_of(np.zeros(1))[0], **changes)  # type: ignore[arg-type]


@each(
    ("samples_per_s", "sheets", "result"),
    [
        ([1.0], [], "have shapes"),
        ([1.0, -2.0], [], "samples_per_s: value 2 of 2 is -2"),
        ([np.nan, np.inf], [], "value 1 of 2 is nan, value 2 of 2 is inf"),
        ([1.0, 0.0], [sheet_with(memory_bytes=0.0)], "of c0: memory .bytes. is 0"),
        ([1.0, 2.0], [sheet_with(peak_flops_per_s={"fp16": np.nan})], "FLOP/s .fp16. is nan"),
        ([1.0, 2.0], [sheet_with(memory_bandwidth_bytes_per_s=-1.0)], "bandwidth .bytes/s. is -1"),
        ([1.0, 2.0], [sheet_with(memory_bytes=None)], "of c0: memory .bytes. is None"),
        ([1.0, 2.0], [sheet_with(peak_flops_per_s={"fp16": None})], "FLOP/s .fp16. is None"),
        ([1.0, 2.0], [sheet_with(memory_bytes="16")], "of c0: memory .bytes. is '16'"),
        ([1.0, 2.0], [sheet_with(card=None)], "of None: the name of the card is None"),
        ([1.0, 2.0], [sheet_with(), sheet_with()], "c0 has more than one data sheet"),
    ],
)
def test_bad_input_is_named_with_its_place_and_the_way_out(
    samples_per_s: list[float], sheets: list[DataSheet], result: str
) -> None:
    with pytest.raises(ValueError, match=result):
        fit_library(["w0", "w1"], ["fp16"] * 2, ["c0"] * 2, samples_per_s, sheets)


def test_everything_bad_is_named_at_once() -> None:
    with pytest.raises(ValueError, match=r"value 1 of 1 is 0; the data sheet of c0: memory"):
        fit_library(["w0"], ["fp16"], ["c0"], [0.0], [sheet_with(memory_bytes=-1.0)])


@each("column", ["workload", "precision", "card"])
@each("name", [None, "", 3])
def test_a_name_that_is_none_is_an_error_and_no_workload_called_none(
    column: str, name: object
) -> None:
    names: dict[str, list[object]] = {"workload": ["w0"] * 2, "precision": ["fp16"] * 2}
    names = {**names, "card": ["c0"] * 2, column: ["w0", name]}
    with pytest.raises(ValueError, match=rf"^{column}.1. is {name!r}\. Each must be a name"):
        fit_library(**names, samples_per_s=[1.0, 2.0])  # type: ignore[arg-type]


def test_many_missing_names_are_counted() -> None:
    with pytest.raises(ValueError, match="2 more of card"):
        fit_library(["w"] * 5, ["fp16"] * 5, [None] * 5, [1.0] * 5)  # type: ignore[arg-type]


@pytest.mark.parametrize("share", [0.05, 0.3, 0.9])
def test_gaps_of_a_table_are_filled_as_least_squares_over_all_cells_would(share: float) -> None:
    draw = np.random.default_rng(7)
    known = draw.random((30, 12)) < share
    log = np.where(known, draw.normal(3.0, 2.0, known.shape), np.nan)
    row, column = np.nonzero(known)
    design = np.zeros((row.size, 42))
    design[np.arange(row.size), row] = design[np.arange(row.size), 30 + column] = 1.0
    effects = np.linalg.lstsq(design, log[known], rcond=None)[0]
    result = np.where(known.any(axis=0), effects[:30, None] + effects[30:], np.nan)
    assert_allclose(_filled(log, known), np.where(known, log, result), atol=1e-9)


# -- a table of thousands of workloads ---------------------------------------------------------


def _counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the cells of each table that a rung will read; a large one is not read."""
    cells: list[int] = []

    def counted(predict: Predict) -> Predict:
        def predicted(library: Library, evidence: Evidence) -> RungPrediction:
            cells.append(library.runs.size)
            assert len(library.workloads) <= 64, "It reads too much."
            return predict(library, evidence)

        return predicted

    rungs = {rung: counted(predict) for rung, predict in _rungs.PREDICTS.items()}
    monkeypatch.setattr(_rungs, "PREDICTS", rungs)
    monkeypatch.setattr(_ladder, "PREDICTS", rungs)
    return cells


@each("share", [0.03, 0.9])
def test_an_answer_from_thousands_of_workloads_reads_few_of_them(
    share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each was predicted for each run that could be next: minutes an answer."""
    log, speed = additive(workloads=4_000, cards=40, scatter=0.1)
    there = np.random.default_rng(3).random(log.shape) < share
    there[0], there[:, 0] = np.arange(40) % 4 == 1, np.arange(4_000) % 3 == 1
    library = table(np.where(there, log, np.nan), sheets=sheets_of(speed))
    cells = _counted(monkeypatch)
    answer = result(transfer(library, wanted()))
    assert len(cells) <= 64 + 40 + len(RUNGS)
    assert (answer.rung, answer.residuals > 100) == (OTHERS, True)
    assert abs(np.log(answer.estimate.value) - log[0, 0]) < 0.3
    assert answer.next_runs[0].run == wanted()


def test_only_workloads_that_say_least_are_left_out_of_an_answer() -> None:
    log, _ = additive(workloads=60, cards=8, scatter=0.1)
    own = hidden(log, (0, 0))
    elsewhere, _ = additive(workloads=400, cards=8, scatter=0.1, seed=5)
    elsewhere[:, :6] = np.nan  # neither on the card nor on most of the others
    small, large = table(own), table(np.concatenate([own, elsewhere]))
    part, place = part_for(large, large.workloads.index(("w0", "fp16")), 0)
    assert set(small.workloads) <= set(part.workloads)
    assert (part.workloads[place[0]], part.cards[place[1]]) == (("w0", "fp16"), "c0")
    assert len(part.workloads) == 64
    whole, row = part_for(small, 0, 0)
    assert (whole is small, row) == (True, (0, 0))
    one, other = (result(transfer(x, wanted())) for x in (small, large))
    assert_allclose(one.estimate.value, other.estimate.value, rtol=0.02)
    assert one.rung == other.rung
