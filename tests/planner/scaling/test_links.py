"""The step time over a link of a stated rate."""

from __future__ import annotations

import math

import pytest

from planner.scaling import ring_step_s, ring_traffic_bytes


def test_two_devices_send_their_gradients_once_and_many_almost_twice() -> None:
    assert ring_traffic_bytes(1, 4e6) == 0.0
    assert ring_traffic_bytes(2, 4e6) == 4e6
    assert ring_traffic_bytes(4, 4e6) == 6e6
    assert ring_traffic_bytes(1000, 4e6) == pytest.approx(8e6, rel=2e-3)


def test_the_published_example_of_two_hosts_at_100_mbit_s() -> None:
    """1.11 MB of gradients take 88.8 ms of a link of 100 Mbit/s."""
    assert ring_step_s(0.0124, 2, 1.11e6, 100e6) == pytest.approx(0.0124 + 0.0888)
    assert ring_step_s(0.0124, 2, 1.11e6, math.inf, 0.001) == pytest.approx(0.0134)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((-1.0, 2, 1.0, 1.0), "step_s is -1; it must be a number of at least 0.0."),
        ((1.0, 0, 1.0, 1.0), "devices is 0; it must be a number of at least 1.0."),
        ((1.0, 2, math.inf, 1.0), "gradient_bytes is inf; it must be a number of at least 0.0."),
        ((1.0, 2, 1.0, 0.0), "rate_bits_per_s is 0; it must be above 0."),
        ((1.0, 2, 1.0, math.nan), "rate_bits_per_s is nan; it must be above 0."),
    ],
)
def test_a_wrong_argument_is_refused(
    arguments: tuple[float, int, float, float], problem: str
) -> None:
    with pytest.raises(ValueError, match="must be") as error:
        ring_step_s(*arguments)
    assert str(error.value) == problem
