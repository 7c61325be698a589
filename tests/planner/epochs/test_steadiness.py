"""Promises about epochs of one kind: what is a change, what is not, and what a projection does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from planner.core import Estimate, Floats, Refusal
from planner.epochs import Steadiness, project
from planner.epochs.projection import LIKE_LAST, UNSETTLED
from planner.epochs.steadiness import steadiness
from tests.each import each

STEADY = [300.0, 50.0, 50.4, 49.8, 50.1, 50.3, 49.9, 50.2, 50.0, 49.7]
"""Ten epochs of one kind; the first, as ever, is unlike the others."""
TWO_KINDS = [300.0, *[50.0, 50.4, 49.8, 50.1, 50.3], *[95.0, 75.1, 75.4, 74.8]]
"""Larger images from epoch 7 on, whose first epoch is slow."""


def spans(found: Steadiness) -> list[tuple[int, int]]:
    return [(s.first_epoch, s.last_epoch) for s in found.segments]


def with_change(at: int, factor: float) -> list[float]:
    """STEADY with all epochs from number `at` on multiplied."""
    return [s * factor if i >= at else s for i, s in enumerate(STEADY, start=1)]


# -- what is a change --------------------------------------------------------------------------


def test_epochs_of_one_kind_are_one_segment_with_their_mean() -> None:
    found = steadiness(STEADY)
    assert found.steady
    assert found.tested
    assert spans(found) == [(2, 10)]
    assert_allclose(found.segments[0].mean_s, np.mean(STEADY[1:]))
    assert found.hiccups == ()
    assert found.sentence == "Epochs 2 to 10 are of one kind: 50 s on average."


def test_the_first_epoch_never_counts() -> None:
    for first in (1.0, 50.0, 5000.0):
        assert steadiness([first, *STEADY[1:]]).segments == steadiness(STEADY).segments


@each("at", [4, 6, 8, 9])
@each("factor", [1.5, 1.25, 0.75])
def test_a_change_of_more_than_20_percent_is_found_at_its_epoch(at: int, factor: float) -> None:
    found = steadiness(with_change(at, factor))
    assert spans(found) == [(2, at - 1), (at, 10)]
    assert not found.steady
    assert_allclose(found.segments[1].mean_s, factor * np.mean(STEADY[at - 1 :]))
    assert f"epochs 2 to {at - 1} took 50" in found.sentence


@pytest.mark.parametrize("factor", [1.15, 0.87])
def test_a_change_of_less_is_none(factor: float) -> None:
    assert steadiness(with_change(6, factor)).steady


@each("epoch", range(2, 11))
@each("factor", [0.5, 1.4, 30.0])
def test_a_single_hiccup_is_no_change_wherever_it_comes(epoch: int, factor: float) -> None:
    times = [s * factor if i == epoch else s for i, s in enumerate(STEADY, start=1)]
    found = steadiness(times)
    assert found.steady
    assert found.hiccups == (epoch,)
    assert f" Epoch {epoch} alone took " in found.sentence
    assert found.unsettled is (epoch == 10)


def test_several_hiccups_are_counted_and_are_no_change() -> None:
    found = steadiness([9, *[50, 90, 50, 51, 50, 88, 50, 50]])
    assert found.steady
    assert found.hiccups == (3, 7)
    assert found.sentence.endswith("2 single epochs were more than 20 % off; single ones are not a "
                                   "change.")  # fmt: skip


def test_two_slow_epochs_in_a_row_are_a_change_and_back() -> None:
    times = [*STEADY, *STEADY[1:]]
    times[7:9] = [80.0, 81.0]
    assert spans(steadiness(times)) == [(2, 7), (8, 9), (10, 19)]


def test_the_slow_first_epoch_of_a_new_kind_belongs_to_it() -> None:
    found = steadiness(TWO_KINDS)
    assert spans(found) == [(2, 6), (7, 10)]
    assert found.hiccups == (7,)
    assert not found.unsettled


def test_progressive_resizing_is_reported_kind_by_kind_and_many_kinds_are_shortened() -> None:
    sizes = [24.0] * 7 + [40.0] * 6 + [70.0] * 4
    found = steadiness([60.0, *sizes])
    assert spans(found) == [(2, 8), (9, 14), (15, 18)]
    assert found.sentence == (
        "Epoch times change during the run: epochs 2 to 8 took 24 s each, epochs 9 to 14 took 40 s "
        "each, epochs 15 to 18 took 1 min 10 s each."
    )
    more = steadiness([60.0, *sizes, *[130.0] * 5, *[20.0] * 5, *[44.0] * 3])
    assert len(more.segments) == 6
    assert "then others, epochs 29 to 31 took 44 s each." in more.sentence


def test_epochs_that_creep_by_more_than_20_percent_are_not_of_one_kind() -> None:
    assert not steadiness([60.0, *np.linspace(50.0, 75.0, 60)]).steady
    assert steadiness([60.0, *np.linspace(50.0, 55.0, 60)]).steady


def test_fewer_than_four_later_epochs_cannot_show_a_change() -> None:
    found = steadiness([90.0, 50.0, 80.0, 80.0])
    assert found.steady
    assert not found.tested
    assert found.sentence.startswith("It takes 4 later epochs to see a change; 3 are known.")
    assert "1 is known" in steadiness([90.0, 50.0]).sentence
    assert steadiness([90.0, 50.0, 50.0, 80.0, 80.0]).tested


@pytest.mark.parametrize("times", [[], [50.0]])
def test_without_a_later_epoch_there_is_no_segment(times: list[float]) -> None:
    found = steadiness(times)
    assert (found.segments, found.hiccups) == ((), ())
    assert not found.tested
    assert not found.unsettled
    assert found.sentence == "No epoch after the first was measured."


@given(scale=st.floats(1e-3, 1e3), at=st.integers(4, 9), factor=st.sampled_from([1.0, 1.5]))
@settings(max_examples=25, deadline=None)
def test_seconds_or_milliseconds_make_no_difference(scale: float, at: int, factor: float) -> None:
    times = np.array(with_change(at, factor))
    assert spans(steadiness(times * scale)) == spans(steadiness(times))


@given(at=st.integers(4, 9), factor=st.sampled_from([0.6, 1.3, 2.0]))
@settings(max_examples=25, deadline=None)
def test_read_backwards_the_changes_are_the_same(at: int, factor: float) -> None:
    later = np.array(with_change(at, factor))[1:]
    there = spans(steadiness([1.0, *later]))
    back = spans(steadiness([1.0, *later[::-1]]))
    assert [(12 - b, 12 - a) for a, b in back[::-1]] == there


@given(times=st.lists(st.floats(1e-6, 1e6), max_size=40))
@settings(max_examples=50, deadline=None)
def test_segments_follow_one_another_and_keep_every_later_epoch(times: list[float]) -> None:
    found = steadiness(times)
    firsts = [s.first_epoch for s in found.segments]
    lasts = [s.last_epoch for s in found.segments]
    assert firsts == [2, *(last + 1 for last in lasts)][: len(firsts)]
    assert not lasts or lasts[-1] == len(times)
    total = sum(s.mean_s * (s.last_epoch - s.first_epoch + 1) for s in found.segments)
    assert_allclose(total, sum(times[1:]))


def scattered(runs: int, epochs: int, scatter: float) -> Floats:
    noise = np.random.default_rng(20261121).standard_normal((runs, epochs))
    return np.asarray(50.0 * np.exp(scatter * noise))


@pytest.mark.parametrize("epochs", [8, 20, 60])
def test_scatter_of_5_percent_is_taken_for_a_change_in_none_of_200_runs(epochs: int) -> None:
    assert all(steadiness(times).steady for times in scattered(200, epochs, 0.05))


def test_scatter_of_10_percent_is_taken_for_a_change_in_3_percent_at_most() -> None:
    assert np.mean([steadiness(times).steady for times in scattered(200, 8, 0.10)]) >= 0.97


def test_a_change_by_30_percent_in_2_percent_of_scatter_is_always_found() -> None:
    times = scattered(200, 20, 0.02)
    times[:, 17:] *= 1.3
    assert not any(steadiness(row).steady for row in times)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_an_impossible_epoch_is_named(bad: float) -> None:
    with pytest.raises(ValueError, match=f"Epoch 2 took {bad:g} s. A time must be above 0"):
        steadiness([50.0, bad, 50.0])


def test_epochs_are_one_flat_list() -> None:
    with pytest.raises(ValueError, match="one flat list"):
        steadiness([[50.0, 50.0]])


# -- what a projection does with it ------------------------------------------------------------


def test_a_projection_across_a_change_is_refused_with_the_kinds_it_saw() -> None:
    refused = project(1.0, with_change(8, 1.25), 100)  # varies by 14 %: no reason by itself
    assert isinstance(refused, Refusal)
    assert "epochs 2 to 7 took 50.1 s each, epochs 8 to 10 took 1 min 2 s each" in refused.reason
    assert "37 % off" in refused.reason
    assert "each phase" in refused.measure_next


def test_epochs_that_vary_too_much_are_reported_with_their_kinds_too() -> None:
    refused = project(1.0, with_change(6, 2.0), 100)
    assert isinstance(refused, Refusal)
    assert "Epochs 2 to 10 vary by" in refused.reason
    assert "epochs 6 to 10 took 1 min 40 s each" in refused.reason


def test_one_epoch_needs_no_kind() -> None:
    result = project(1.0, TWO_KINDS, 1)
    assert isinstance(result, Estimate)
    assert result.value == 301.0


def test_on_the_callers_word_the_rest_goes_on_like_the_last_kind() -> None:
    result = project(1.0, TWO_KINDS, 30, rest_like_last=True)
    assert isinstance(result, Estimate)
    until = 1.0 + sum(TWO_KINDS[:7])  # the slow first epoch of the new kind counts once
    assert_allclose(result.value, until + 23 * np.mean(TWO_KINDS[7:]))
    assert result.reasons[-1].endswith(LIKE_LAST)
    assert result.basis == "extrapolated"


def test_the_measured_epochs_of_two_kinds_are_their_measured_total() -> None:
    result = project(1.0, TWO_KINDS, [10, 30], rest_like_last=True, continuing=True)
    assert isinstance(result, Estimate)
    low, high = np.asarray(result.low), np.asarray(result.high)
    assert_allclose(np.asarray(result.value)[0], 1.0 + sum(TWO_KINDS))
    assert_allclose(low[0], high[0])
    assert low[1] < high[1]


def test_fewer_epochs_than_came_before_the_last_kind_are_refused() -> None:
    refused = project(1.0, TWO_KINDS, [6, 30], rest_like_last=True)
    assert isinstance(refused, Refusal)
    assert "Fewer than 7 epochs end before the last kind begins" in refused.reason
    assert isinstance(project(1.0, TWO_KINDS, 7, rest_like_last=True), Estimate)


def test_a_last_kind_that_varies_too_much_is_refused_by_its_own_numbers() -> None:
    times = [300.0, *[50.0] * 5, *[100.0, 100.0, 100.0, 180.0, 100.0]]
    refused = project(1.0, times, 30, rest_like_last=True)
    assert isinstance(refused, Refusal)
    assert "Epochs 8 to 11 vary by" in refused.reason


def test_of_steady_epochs_the_callers_word_changes_nothing() -> None:
    assert project(1.0, STEADY, 30, rest_like_last=True) == project(1.0, STEADY, 30)


def test_a_last_epoch_unlike_the_others_is_reported_beside_the_answer() -> None:
    result = project(1.0, [*STEADY[:9], 65.0], 30)
    assert isinstance(result, Estimate)
    assert UNSETTLED in result.reasons
    earlier = project(1.0, [*STEADY[:7], 65.0, *STEADY[8:]], 30)
    assert isinstance(earlier, Estimate)
    assert earlier.reasons == ()
