"""The batch from which more devices are faster than fewer, or than a driver."""

from __future__ import annotations

import numpy as np
import pytest

from planner.core import Estimate, Refusal
from planner.scaling import CountCurve, crossover, fit_scaling, growth, step_parts
from planner.scaling._runs import at_count
from planner.throughput import ThroughputCurve, fit_throughput, published_curve

V0, T, A1, A2 = 1000.0, 0.02, 0.004, 0.003
NOISE = 0.03


def link_s(devices: int) -> float:
    return A1 + A2 * float(growth(devices, 0.85)) if devices > 1 else 0.0


def curve(devices: int, seed: int | None = None, slow: float = 1.0) -> CountCurve:
    """The law at a count, from runs on 1, 2 and 4 devices at four batches."""
    each, n = (x.ravel() for x in np.meshgrid([8.0, 32, 128, 512], [1.0, 2, 4]))
    step = np.array([slow * (T + b / V0) + link_s(int(d)) for b, d in zip(each, n, strict=True)])
    if seed is not None:
        step *= np.exp(NOISE * np.random.default_rng(seed).standard_normal(step.size))
    fit = fit_scaling(each, n, np.ones(n.size), step)
    assert not isinstance(fit, Refusal)
    law = at_count(fit, devices, 1)
    assert isinstance(law, CountCurve)
    return law


@pytest.mark.parametrize("devices", [2, 4])
def test_more_devices_win_where_the_shared_work_outweighs_the_link(devices: int) -> None:
    law = curve(devices)
    first = at_count(law.scaling, 1, 1)
    assert isinstance(first, CountCurve)
    found = crossover(first, law)
    assert isinstance(found, Estimate)
    exact = link_s(devices) * V0 * devices / (devices - 1)
    assert found.value == pytest.approx(exact, rel=1e-6)
    below, above = (law.step_time(exact * f) for f in (0.5, 2.0))
    alone = [first.step_time(exact * f) for f in (0.5, 2.0)]
    assert isinstance(below, Estimate)
    assert isinstance(above, Estimate)
    assert isinstance(alone[0], Estimate)
    assert isinstance(alone[1], Estimate)
    assert below.value > alone[0].value
    assert above.value < alone[1].value


def test_its_interval_holds_the_truth_as_often_as_it_promises() -> None:
    exact, held = link_s(4) * V0 * 4 / 3, 0.0
    for seed in range(200):
        law = curve(4, seed)
        first = at_count(law.scaling, 1, 1)
        assert isinstance(first, CountCurve)
        found = crossover(first, law)
        held += isinstance(found, Estimate) and float(found.low) <= exact <= float(found.high)
    assert held >= 170


def test_a_driver_of_another_fit_has_its_own_uncertainty() -> None:
    batch = np.array([8.0, 32, 128, 512])
    driver = fit_throughput(batch, 0.01 + batch / 1500.0)
    assert isinstance(driver, ThroughputCurve)
    found = crossover(driver, curve(4))
    assert isinstance(found, Estimate)
    exact = (T + link_s(4) - 0.01) / (1 / 1500.0 - 1 / 4000.0)
    assert found.value == pytest.approx(exact, rel=1e-3)
    assert found.low < exact < found.high


def test_article_000s_two_gpus_win_from_batch_50_on() -> None:
    one, two = published_curve(258.1, 0.054), published_curve(513.8, 0.15)
    found = crossover(one, two)
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(49.8, abs=0.1)
    parts = step_parts(two, 100.0, 0.054)
    assert parts is not None
    assert parts.link_s == pytest.approx(0.096)
    assert (parts.overhead_s + parts.link_s) / 0.054 == pytest.approx(2.8, abs=0.03)
    refused = crossover(two, one)
    assert isinstance(refused, Refusal)
    assert "small batches only" in refused.reason


def test_devices_that_never_win_are_refused_with_what_to_measure() -> None:
    slow, fast = published_curve(100.0, 0.1), published_curve(200.0, 0.05)
    refused = crossover(fast, slow)
    assert isinstance(refused, Refusal)
    assert "slower at every batch" in refused.reason
    always = crossover(slow, fast)
    assert isinstance(always, Refusal)
    assert "faster at every batch" in always.reason


def test_the_parts_of_a_step_are_its_terms() -> None:
    parts = step_parts(curve(4), 512.0)
    assert parts is not None
    assert parts.compute_s == pytest.approx(0.128, rel=1e-6)
    assert parts.overhead_s == pytest.approx(T, rel=1e-6)
    assert parts.link_s == pytest.approx(link_s(4), rel=1e-6)
