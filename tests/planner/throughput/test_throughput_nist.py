"""NIST's certified nonlinear regression problem Misra1d is the throughput law.

y = b1*b2*x/(1 + b2*x) equals v(b) = b/(b/v0 + t) with v0 = b1 and t = 1/(b1*b2).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.testing import assert_allclose

from planner.throughput import ThroughputCurve, fit_in_throughput_space, fit_throughput

V0, T, RSS = 437.36970754, 7.5640012531828, 5.6419295283e-02
X, Y = np.loadtxt(Path(__file__).parent.parent / "data" / "misra1d.csv", delimiter=",").T


def test_misra1d_has_its_fourteen_points() -> None:
    assert X.shape == Y.shape == (14,)


def test_misra1d_matches_nist_to_eight_digits() -> None:
    assert_allclose(fit_in_throughput_space(X, Y), [V0, T], rtol=1e-8)


def test_misra1d_leaves_the_certified_sum_of_squares() -> None:
    v0, t = fit_in_throughput_space(X, Y)
    assert_allclose(((X / (X / v0 + t) - Y) ** 2).sum(), RSS, rtol=1e-8)


def test_least_squares_of_the_time_minimises_another_error_and_answers_differently() -> None:
    slope, _ = np.polyfit(X, X / Y, 1)
    assert round(float(1 / slope), 2) == 428.14
    assert abs(1 / slope / V0 - 1) > 0.02


def test_relative_errors_of_the_time_are_a_third_question() -> None:
    curve = fit_throughput(X, X / Y)
    assert isinstance(curve, ThroughputCurve)
    v0 = curve.asymptotic_throughput
    assert 427 < float(v0.value) < 428
    assert v0.low < V0 < v0.high
