"""Two totals: their ratio, and when it is more than doubt."""

from __future__ import annotations

import math

import pytest

from planner.core import Estimate, Refusal
from planner.epochs import session_half_width
from planner.epochs._ratios import apart, speed_up


def total(value: float, half: float = 0.0) -> Estimate:
    return Estimate(value=value, low=value - half, high=value + half)


REFUSED = Refusal(reason="Because.", measure_next="Measure.")


def test_half_the_time_is_twice_as_fast_and_two_sessions_widen_it() -> None:
    found = speed_up(total(100.0), total(50.0))
    assert found is not None
    assert found.value == 2.0
    assert found.high == pytest.approx(2.0 * math.exp(session_half_width(0.9)))
    assert found.low * found.high == pytest.approx(4.0)


def test_a_total_beside_itself_is_exactly_as_fast() -> None:
    same = total(100.0, 5.0)
    found = speed_up(same, same)
    assert found is not None
    assert (found.low, found.value, found.high) == (1.0, 1.0, 1.0)


def test_a_refusal_has_no_ratio_and_is_apart_from_everything() -> None:
    assert speed_up(REFUSED, total(1.0)) is None
    assert speed_up(total(1.0), REFUSED) is None
    assert apart(REFUSED, total(1.0))


def test_totals_within_their_joint_interval_are_not_apart() -> None:
    within = math.exp(session_half_width(0.9))
    assert not apart(total(100.0), total(100.0 * within * 0.999))
    assert apart(total(100.0), total(100.0 * within * 1.001))
    assert not apart(total(100.0, 20.0), total(100.0 * within * 1.001))
