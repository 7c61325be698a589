"""Promises of the line that bends where its own points say so."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from planner.core import Floats
from planner.fits import (
    BEND,
    LEAST,
    WIDER,
    Process,
    fit_corrected,
    fit_lines,
    never_corrected,
    predict_corrected,
    predict_lines,
)
from planner.fits.corrected import MOST

SWEEP = np.array([8.0, 16, 32, 64, 128, 256])
ONE = np.zeros(SWEEP.size, dtype=np.int64)


def law(batch: Floats) -> Floats:
    return 0.05 + batch / 250.0


def ask(batch: Floats, step_s: Floats, at: Floats) -> tuple[Floats, Floats, Floats]:
    fit = fit_corrected(np.zeros(batch.size, dtype=np.int64), batch, step_s)
    return predict_corrected(fit, np.zeros(at.size, dtype=np.int64), at)


def test_exact_lines_are_not_bent() -> None:
    at = np.array([8.0, 50.0, 300.0, 1000.0])
    assert_allclose(ask(SWEEP, law(SWEEP), at)[0], law(at))


def test_fewer_than_four_points_get_the_plain_line_and_its_interval() -> None:
    batch, step_s = SWEEP[: LEAST - 1], law(SWEEP[: LEAST - 1]) * np.array([1.0, 1.1, 0.95])
    at = np.array([10.0, 40.0, 100.0])
    plain = predict_lines(fit_lines([0] * (LEAST - 1), batch, step_s).of(np.zeros(3, int)), at)
    assert_allclose(ask(batch, step_s, at), plain)


def test_a_bend_is_followed_where_it_is_and_forgotten_far_away() -> None:
    bent = law(SWEEP) * np.array([1.0, 1.0, 1.2, 1.2, 1.0, 1.0])
    lines = fit_lines(ONE, SWEEP, bent)
    at = np.array([45.0, 1e9])
    plain = lines.intercept + lines.slope * at
    mid = ask(SWEEP, bent, at)[0]
    assert mid[0] > 1.05 * plain[0]
    assert_allclose(mid[1], plain[1], rtol=1e-3)


def test_the_interval_is_narrowest_among_the_points_and_widens_outside() -> None:
    step_s = law(SWEEP) * np.array([1.02, 0.97, 1.01, 1.03, 0.98, 1.0])
    mid, low, high = ask(SWEEP, step_s, np.array([50.0, 512.0, 4096.0]))
    width = high / low
    assert (low < mid).all()
    assert (mid < high).all()
    assert width[0] < width[1] < width[2]


def test_a_level_is_asked_for() -> None:
    fit = fit_corrected(ONE, SWEEP, law(SWEEP) * 1.01)
    wide, narrow = (predict_corrected(fit, [0], [50.0], level) for level in (0.99, 0.5))
    assert wide[2] > narrow[2]


def test_groups_of_different_lengths_answer_as_alone() -> None:
    rng = np.random.default_rng(3)
    parts = [(SWEEP[:n], law(SWEEP[:n]) * np.exp(0.05 * rng.standard_normal(n))) for n in (6, 2, 5)]
    group = np.repeat([0, 1, 2], [6, 2, 5])
    batch, step_s = (np.concatenate(column) for column in zip(*parts, strict=True))
    together = predict_corrected(fit_corrected(group, batch, step_s), [2, 0, 1], [50.0, 70.0, 12.0])
    for i, (number, at) in enumerate(((2, 50.0), (0, 70.0), (1, 12.0))):
        alone = ask(*parts[number], np.array([at]))
        assert_allclose([part[i] for part in together], [part[0] for part in alone])


def test_the_order_of_the_points_changes_nothing() -> None:
    step_s = law(SWEEP) * np.array([1.02, 0.97, 1.01, 1.03, 0.98, 1.0])
    order, at = np.array([3, 0, 5, 1, 4, 2]), np.array([50.0, 600.0])
    assert_allclose(ask(SWEEP[order], step_s[order], at), ask(SWEEP, step_s, at))


@given(unit_s=st.floats(1e-3, 1e3), unit_b=st.floats(1e-3, 1e3))
@settings(max_examples=20, deadline=None)
def test_units_change_nothing(unit_s: float, unit_b: float) -> None:
    step_s, at = law(SWEEP) * np.array([1.02, 0.97, 1.01, 1.03, 0.98, 1.0]), np.array([50.0, 600.0])
    scaled = ask(SWEEP * unit_b, step_s * unit_s, at * unit_b)
    assert_allclose(np.array(scaled) / unit_s, ask(SWEEP, step_s, at), rtol=1e-8)


def test_one_batch_size_has_no_answer() -> None:
    mid, low, high = ask(np.full(5, 8.0), np.full(5, 0.1), np.array([8.0]))
    assert np.isnan([mid, low, high]).all()


def test_repeats_of_a_batch_are_welcome() -> None:
    batch = np.array([8.0, 8, 8, 64, 64, 64])
    mid, _, _ = ask(batch, law(batch) * np.array([1.01, 1.0, 0.99, 1.01, 1.0, 0.99]), SWEEP)
    assert_allclose(mid, law(SWEEP), rtol=0.01)


def test_intervals_hold_new_measurements_of_simulated_lines_at_least_as_often_as_they_say() -> None:
    rng = np.random.default_rng(11)
    group, batch = np.repeat(np.arange(400), SWEEP.size), np.tile(SWEEP, 400)
    fit = fit_corrected(group, batch, law(batch) * np.exp(0.04 * rng.standard_normal(batch.size)))
    at = np.full(400, 90.0)
    _, low, high = predict_corrected(fit, np.arange(400), at)
    truth = law(at) * np.exp(0.04 * rng.standard_normal(400))
    assert 0.87 <= np.mean((low <= truth) & (truth <= high)) <= 0.99


def test_bad_values_are_refused_as_by_the_plain_line() -> None:
    with pytest.raises(ValueError, match="value 2 of 2 is -1"):
        fit_corrected([0, 0], [1.0, -1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="value 1 of 1 is 0"):
        predict_corrected(fit_corrected(ONE, SWEEP, law(SWEEP)), [0], [0.0])


# -- where it ends -------------------------------------------------------------------------------

BENT = np.array([1.02, 0.97, 1.08, 1.05, 0.98, 1.0])


def test_the_correction_counts_in_full_to_twice_the_range_and_is_gone_at_four_times() -> None:
    at = np.array([512.0, 1024.0, 4.0, 2.0])
    lines = fit_lines(ONE, SWEEP, law(SWEEP) * BENT).of(np.zeros(at.size, int))
    plain, result = predict_lines(lines, at), ask(SWEEP, law(SWEEP) * BENT, at)
    fit = fit_corrected(ONE, SWEEP, law(SWEEP) * BENT)
    full = predict_corrected(fit, np.zeros(at.size, int), at, gone=np.inf)
    assert_allclose(np.array(result)[:, [0, 2]], np.array(full)[:, [0, 2]])
    assert_allclose(np.array(result)[:, 3], np.array(plain)[:, 3])
    assert_allclose(result[0][1], plain[0][1] * np.exp(BEND * fit.above[0]))
    assert np.abs(result[0][0] / plain[0][0] - 1) > 1e-4


def test_above_the_range_answers_bend_as_the_last_point_does_and_only_upwards() -> None:
    at = np.array([100.0, 512.0, 1024.0])
    for last in (1.2, 0.8):
        factors = np.array([1.0, 1.0, 1.0, 1.0, 1.0, last])
        straight = fit_corrected(ONE, SWEEP, law(SWEEP) * factors, Process(bend=0.0))
        bent = ask(SWEEP, law(SWEEP) * factors, at)[0]
        ratio = bent / predict_corrected(straight, np.zeros(at.size, int), at)[0]
        assert_allclose(ratio, [1.0, *[max(last, 1.0) ** BEND] * 2])


def test_intervals_are_a_quarter_wider_one_octave_above_the_range() -> None:
    at = np.array([100.0, 512.0, 1024.0, 4.0])
    fit = fit_corrected(ONE, SWEEP, law(SWEEP) * BENT, Process(wider=0.0))
    narrow = predict_corrected(fit, np.zeros(at.size, int), at)
    wide = ask(SWEEP, law(SWEEP) * BENT, at)
    ratio = np.log(wide[2] / wide[0]) / np.log(narrow[2] / narrow[0])
    assert_allclose(ratio, [1.0, 1.0 + WIDER, 1.0 + WIDER, 1.0])
    assert_allclose(wide[0] / wide[1], wide[2] / wide[0])


def test_values_and_interval_pass_from_one_to_the_other_without_a_jump() -> None:
    at = np.geomspace(1.0, 2048.0, 50_000)
    for part in ask(SWEEP, law(SWEEP) * BENT, at):
        assert np.abs(np.diff(np.log(part))).max() < 1e-3


def test_batch_sizes_count_not_points() -> None:
    batch = np.array([8.0, 8, 64, 64, 256, 256])
    step_s = law(batch) * np.array([1.03, 0.99, 1.1, 1.08, 0.97, 0.99])
    plain = predict_lines(fit_lines(ONE, batch, step_s).of(np.zeros(1, int)), [40.0])
    assert_allclose(ask(batch, step_s, np.array([40.0])), plain)


def test_repeats_count_as_the_process_of_all_points_says() -> None:
    """The same as one matrix with every repeat in a row of its own."""
    rng = np.random.default_rng(5)
    batch = np.repeat(SWEEP, [1, 3, 1, 2, 1, 1])
    step_s = law(batch) * np.exp(0.05 * rng.standard_normal(batch.size))
    lines = fit_lines(np.zeros(batch.size, int), batch, step_s)
    residual = np.log(step_s / (lines.intercept + lines.slope * batch))
    process, x = Process(), np.log(batch)
    covariance = process.covariance(x[:, None] - x) + process.nugget**2 * np.eye(batch.size)
    weight = np.linalg.solve(covariance, residual)
    toward = process.covariance(np.log(50.0) - x)
    expected = (lines.intercept + lines.slope * 50.0) * np.exp(toward @ weight)
    fit = fit_corrected(np.zeros(batch.size, int), batch, step_s)
    assert_allclose(predict_corrected(fit, [0], [50.0])[0], expected)
    assert_allclose(fit.scale, (4.0 + residual @ weight) / (4.0 + batch.size - 2))


def test_more_batch_sizes_than_any_sweep_has_get_the_plain_line() -> None:
    batch = np.arange(1.0, MOST + 2)
    step_s = law(batch) * np.exp(0.05 * np.sin(batch))
    many = predict_lines(fit_lines(np.zeros(batch.size, int), batch, step_s), [30.0])
    assert_allclose(ask(batch, step_s, np.array([30.0])), many)
    assert fit_corrected(np.zeros(batch.size, int), batch, step_s).inverse.shape == (1, 0, 0)


def test_lines_without_points_are_never_corrected() -> None:
    lines = fit_lines(ONE, SWEEP, law(SWEEP) * BENT)
    assert_allclose(predict_corrected(never_corrected(lines), [0], [50.0]),
                    predict_lines(lines, [50.0]))  # fmt: skip
