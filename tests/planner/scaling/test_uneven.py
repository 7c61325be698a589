"""Uneven workers: steps that wait for the slowest, and updates that do not."""

from __future__ import annotations

import numpy as np
import pytest

from planner.scaling import (
    asynchronous,
    expected_slowest,
    over_link,
    server_limit,
    synchronous_step_s,
    time_ratio,
    update_ratio,
    workers,
)
from tests.each import each

NORMAL_MAXIMA = {1: 0.0, 2: 0.5642, 4: 1.0294, 10: 1.5388, 100: 2.5076}
"""Expected maxima of standard normals (Harter 1961, table 1)."""


@each(("count", "expected"), NORMAL_MAXIMA.items())
def test_the_slowest_of_equal_workers_is_the_order_statistic(count: int, expected: float) -> None:
    slowest = expected_slowest(np.full(count, 1.0), np.full(count, 0.1))
    assert slowest == pytest.approx(1.0 + 0.1 * expected, abs=1e-4)


def test_the_expected_maximum_of_unequal_workers_is_that_of_draws() -> None:
    times, sd = np.array([1.0, 1.1, 1.3]), np.array([0.1, 0.2, 0.05])
    draws = np.random.default_rng(1).normal(times, sd, (200_000, 3)).max(axis=1)
    assert expected_slowest(times, sd) == pytest.approx(draws.mean(), abs=2e-3)


def test_without_scatter_a_step_waits_for_the_slow_worker() -> None:
    of = workers(4, batch=32, step_s=0.12, slow=0.5, spread=0.0)
    assert synchronous_step_s(of) == pytest.approx(0.24)


def test_asynchronous_workers_lose_only_the_slow_ones_part() -> None:
    even = asynchronous(workers(4, batch=32, step_s=0.1, slow=0.0, spread=0.0))
    slow = asynchronous(workers(4, batch=32, step_s=0.1, slow=0.5, spread=0.0))
    assert even.samples_per_s == pytest.approx(4 * 32 / 0.1)
    assert slow.samples_per_s == pytest.approx(3.5 * 32 / 0.1)
    assert (even.slowest_staleness, slow.slowest_staleness) == pytest.approx((3.0, 6.0))


@pytest.mark.parametrize("slow", [0.0, 0.3, 0.9])
def test_the_mean_staleness_is_the_number_of_other_workers(slow: float) -> None:
    """Counted in a simulation of updates in their order, for even and uneven workers."""
    of = workers(4, batch=1, step_s=1, slow=slow, spread=0.0)
    clock = of.times_s * np.array([1.0, 0.9, 0.8, 0.7])  # they do not begin together
    read, found = np.zeros(4, dtype=int), []
    for done in range(20_000):
        who = int(clock.argmin())
        found.append(done - read[who])
        read[who], clock[who] = done + 1, clock[who] + of.times_s[who]
    assert asynchronous(of).staleness == 3.0
    assert np.mean(found[100:]) == pytest.approx(3.0, abs=0.05)


def test_a_parameter_server_moves_weights_down_and_gradients_up() -> None:
    limit = server_limit(4e6, servers=2, link_bytes_per_s=1e9)
    assert limit == pytest.approx(250.0)
    of = workers(8, batch=16, step_s=0.01, slow=0.0, spread=0.0)
    bound = asynchronous(of, limit)
    assert bound.server_limits
    assert 0.8 < bound.samples_per_s / (250.0 * 16) < 1.0
    assert not asynchronous(of).server_limits


def test_staleness_costs_nothing_where_noise_rules_and_most_where_it_does_not() -> None:
    assert update_ratio(8, 1e9, 7.0) == pytest.approx(1.0)
    assert update_ratio(1e6, 1.0, 7.0) == pytest.approx(8.0, rel=1e-4)
    assert update_ratio(64, 64, 3.0) == pytest.approx(2.5)


def test_even_workers_without_noise_gain_nothing_from_not_waiting() -> None:
    """At b far below Bcrit both take the same samples; far above, an update is worth a step."""
    of = workers(4, batch=32, step_s=0.1, slow=0.0, spread=0.0)
    least, most = time_ratio(of, 1e9, asynchronous(of), synchronous_step_s(of))
    assert (least, most) == pytest.approx((1.0, 1.0), rel=1e-5)
    least, most = time_ratio(of, 1e-3, asynchronous(of), synchronous_step_s(of))
    assert (least, most) == pytest.approx((0.25, 1.0), rel=1e-3)


def test_one_worker_takes_the_link_down_and_up_and_many_come_near_its_limit() -> None:
    """1 MB of weights over 10 MB/s each way: 0.2 s more an update, at most 10 updates/s."""
    limit = server_limit(1e6, 1, 2 * 1e7)
    speeds = [
        asynchronous(workers(n, batch=1, step_s=0.05, slow=0.0, spread=0.0), limit).updates_per_s
        for n in (1, 2, 4, 64)
    ]
    assert limit == pytest.approx(10.0)
    assert speeds[0] == pytest.approx(4.0)
    assert speeds == sorted(speeds)
    assert 9.0 < speeds[-1] < 10.0


def test_two_workers_without_own_work_share_a_link_as_mean_value_analysis_says() -> None:
    """Two queues of 0.1 s without own work: X(n) = n/((n + 1) 0.1)."""
    assert over_link(2, 0.0, 0.1) == pytest.approx(2 / 0.3)
    assert over_link(4, 0.0, 0.1) == pytest.approx(4 / 0.5)
    assert over_link(4, 0.1, 0.0) == pytest.approx(40.0)


def test_the_law_of_the_link_is_that_of_a_simulation_with_random_times() -> None:
    """Three workers: own work, then a queue down and a queue up, with exponential times."""
    draws = np.random.default_rng(3)
    free_at, ready, done = [0.0, 0.0], [(draws.exponential(0.2), 0, w) for w in range(3)], 0
    while done < 30_000:
        now, station, worker = min(ready)
        ready.remove((now, station, worker))
        end = max(now, free_at[station]) + draws.exponential(0.1)
        free_at[station] = end
        done += station
        ready.append((end + (draws.exponential(0.2) if station else 0.0), 1 - station, worker))
    assert over_link(3, 0.2, 0.1) == pytest.approx(done / max(free_at), rel=0.02)
