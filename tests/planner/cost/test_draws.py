from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner.cost import Amount, Range, draw_amount, draw_range, draw_record
from planner.cost._draws import order
from tests.planner.cost.made import CLOUD, WORKSTATION

TARIFF = Range(0.10, 0.15, 0.22)


def test_draws_follow_the_triangular_distribution_exactly() -> None:
    drawn = np.sort(draw_range(TARIFF, "tariff"))
    share = (np.arange(4096) + 0.5) / 4096
    below = (drawn - 0.10) ** 2 / (0.12 * 0.05)
    above = 1 - (0.22 - drawn) ** 2 / (0.12 * 0.07)
    np.testing.assert_allclose(np.where(drawn < 0.15, below, above), share, atol=1e-12)
    assert drawn.mean() == pytest.approx((0.10 + 0.15 + 0.22) / 3, abs=1e-6)


@pytest.mark.parametrize("ends", [(0, 0, 1), (0, 1, 1), (2, 2, 2), (-3, -2, 5)])
def test_no_draw_leaves_its_range(ends: tuple[float, float, float]) -> None:
    drawn = draw_range(Range(*ends), "price")
    assert drawn.shape == (4096,)
    assert ends[0] <= drawn.min() <= drawn.max() <= ends[2]


def test_draws_follow_from_the_key_alone() -> None:
    first = draw_range(TARIFF, "a")
    draw_range(TARIFF, "b")
    assert (draw_range(TARIFF, "a") == first).all()
    assert (draw_range(TARIFF, "b") != first).any()


def test_the_order_of_a_key_is_the_same_on_every_machine() -> None:
    assert order("a")[:8].tolist() == [1399, 4004, 1869, 1682, 305, 1370, 1962, 66]


def test_ranges_of_one_name_are_one_quantity_and_others_are_independent() -> None:
    named = Range(0.10, 0.15, 0.22, "tariff")
    assert (draw_range(named, "a") == draw_range(named, "b")).all()
    apart = np.corrcoef(draw_range(TARIFF, "a"), draw_range(TARIFF, "b"))[0, 1]
    assert abs(apart) < 0.05


def test_numbers_and_draws_are_taken_as_they_are() -> None:
    given: Amount = np.array([1.0, 2.0])
    assert draw_amount(3.0, "x") == 3.0
    assert draw_amount(given, "x") is given


def test_a_record_is_drawn_where_it_is_uncertain() -> None:
    drawn = draw_record(replace(WORKSTATION, tariff_usd_per_kwh=TARIFF), "own")
    tariff = draw_range(TARIFF, "own.tariff_usd_per_kwh")
    assert isinstance(drawn.tariff_usd_per_kwh, np.ndarray)
    assert (drawn.tariff_usd_per_kwh == tariff).all()
    assert drawn.price_usd == WORKSTATION.price_usd
    assert draw_record(CLOUD, "cloud") is CLOUD


def test_draws_of_idle_and_busy_power_may_cross() -> None:
    crossing = replace(
        WORKSTATION, power_watts=Range(100, 400, 500), idle_watts=Range(50, 300, 450)
    )
    assert isinstance(draw_record(crossing, "own").idle_watts, np.ndarray)
