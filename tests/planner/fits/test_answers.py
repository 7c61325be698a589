"""Promises of how a line over the batch is asked, whichever law it stands for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from planner.convergence import ConvergenceCurve, fit_convergence
from planner.core import Estimate, Refusal
from planner.fits import (
    BASES,
    answer,
    as_given,
    basis_of,
    batch_basis,
    estimate_of,
    line_without_points,
    predict,
    ratio_estimate,
    ratio_interval,
    refusal_outside,
)
from planner.throughput import ThroughputCurve, fit_throughput

BATCH = np.array([8.0, 32, 128])


def throughput() -> ThroughputCurve:
    curve = fit_throughput(BATCH, 0.1 + BATCH / 400)
    assert isinstance(curve, ThroughputCurve)
    return curve


def convergence() -> ConvergenceCurve:
    curve = fit_convergence(BATCH, 0.1 + BATCH / 400)
    assert isinstance(curve, ConvergenceCurve)
    return curve


@pytest.mark.parametrize("curve", [throughput(), convergence()], ids=["time", "steps"])
def test_the_same_points_are_answered_alike_by_both_laws(
    curve: ThroughputCurve | ConvergenceCurve,
) -> None:
    result = answer(curve, np.array(64.0), predict(curve, np.array(64.0)), "so wrong.")
    same = answer(throughput(), np.array(64.0), predict(throughput(), np.array(64.0)), "so wrong.")
    assert isinstance(result, Estimate)
    assert isinstance(same, Estimate)
    # Their intervals differ: each law has a prior of its own.
    assert (result.value, result.basis, result.reasons) == (same.value, same.basis, same.reasons)
    assert isinstance(result, Estimate)
    assert_allclose(float(result.value), 0.1 + 64 / 400)


def test_the_farthest_batch_speaks_for_an_array() -> None:
    curve, sizes = throughput(), np.array([4.0, 64.0, 400.0])
    result = answer(curve, sizes, predict(curve, sizes), "so wrong.")
    assert isinstance(result, Estimate)
    assert result.reasons == (
        "Batch 400 is more than twice the largest measured one (128): so wrong.",
        "Below the measured range: the smallest batch was 8.",
    )


def test_a_refusal_names_who_refuses_and_its_range() -> None:
    result = refusal_outside(throughput(), 600.0, "the GPU")
    assert isinstance(result, Refusal)
    assert result.reason.startswith("Batch 600 is outside 0 to 512, where the GPU answers: ")
    assert refusal_outside(throughput(), 512.0) is None


def test_the_ratio_of_a_line_is_a_batch_with_its_interval() -> None:
    result, (low, high) = (
        ratio_estimate(throughput().lines, 0.9),
        ratio_interval(throughput().lines),
    )
    assert_allclose(
        [float(result.value), float(result.low), float(result.high)], [40.0, low[0], high[0]]
    )
    flat = replace(throughput().lines, slope=np.array([0.0]), slope_clamped=np.array([True]))
    assert ratio_estimate(flat, 0.9).value == np.inf


def test_the_weakest_batch_gives_the_basis_of_all() -> None:
    lines = throughput().lines
    found = [
        basis_of(lines, np.array(batch), BATCH) for batch in ([8.0, 32.0], [8.0, 9.0], [8.0, 200.0])
    ]
    assert found == list(BASES[:3])
    assert basis_of(lines, np.array([8.0])) == "interpolated"


def test_batches_named_by_the_fit_say_where_they_lie() -> None:
    basis, result = batch_basis(throughput().lines, np.array([1.0, 1000.0]))
    assert basis == "extrapolated"
    assert [reason.split(":")[0] for reason in result] == [
        "Above the measured range", "Below the measured range",
    ]  # fmt: skip


def test_a_line_without_points_is_published_and_has_no_interval() -> None:
    lines = line_without_points(0.1, 0.0025)
    assert basis_of(lines, np.array([1e9])) == "published"
    result = ratio_estimate(lines, 0.9)
    assert_allclose(float(result.value), 40.0)
    assert np.isnan(float(result.low))
    assert "their scatter is unknown" in result.reasons[0]


def test_an_answer_without_axes_is_made_of_floats() -> None:
    parts = np.array(1.0), np.array(0.5), np.array(2.0)
    assert isinstance(estimate_of(parts, 0.9, "measured", ()).value, float)
    many = estimate_of((np.ones(1), np.ones(1), np.ones(1)), 0.9, "measured", ())
    assert isinstance(many.value, np.ndarray)


def test_two_batches_that_differ_never_read_the_same() -> None:
    assert [as_given(b) for b in (1024.0, 1024.4, 2_560.4, 1_048_576.0, 12.5)] == [
        "1,024", "1,024.4", "2,560.4", "1,048,576", "12.5",
    ]  # fmt: skip
