from __future__ import annotations

import re
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from planner.cost import Amount, Owned, Range, Rental, likely, ranges_of
from tests.each import each
from tests.planner.cost.made import CLOUD, WORKSTATION


def owned(**more: Amount) -> Owned:
    result: dict[str, Amount] = {
        "price_usd": 1.0, "life_years": 1.0, "power_watts": 1.0, "tariff_usd_per_kwh": 1.0
    }  # fmt: skip
    return Owned(**{**result, **more})


def test_all_that_is_wrong_with_a_rental_is_said_at_once() -> None:
    with pytest.raises(ValueError, match="price_per_hour") as result:
        Rental(price_per_hour=-2, committed_hours_per_month=800, startup_s=float("nan"))
    assert str(result.value).splitlines() == [
        "Rental: price_per_hour is -2. It must be a finite number, at least 0 and at most "
        "10,000,000,000,000. Give USD per hour for the whole instance.",
        "Rental: startup_s is nan. It must be a finite number, at least 0 and at most 31,622,400. "
        "Give seconds per run.",
        "Rental: committed_hours_per_month is 800. It must be a finite number, at least 0 and at "
        "most 744. A month has at most 744 hours.",
    ]


@each(("field", "bad"), [
        ("price_usd", np.inf), ("life_years", -1.0), ("power_watts", np.nan), ("pue", 0.9),
        ("tariff_usd_per_kwh", -0.1), ("overhead_share", 30.0), ("residual_share", 1.1),
        ("rate_of_capital", 8.0), ("upkeep_usd_per_year", -1.0), ("kg_co2_per_kwh", 400.0),
        ("price_usd", 1e14), ("life_years", 101.0), ("power_watts", 2e9),
        ("tariff_usd_per_kwh", 1e3), ("upkeep_usd_per_year", 1e300),
    ])  # fmt: skip
def test_an_impossible_number_of_a_machine_is_named_with_what_to_give(
    field: str, bad: float
) -> None:
    with pytest.raises(
        ValueError, match=rf"Owned: {field} is {re.escape(f'{bad:g}')}\. It must be .*\. \S.*\."
    ):
        owned(**{field: bad})


def test_both_ends_of_a_range_and_every_draw_must_be_possible() -> None:
    with pytest.raises(ValueError, match=r"residual_share is 1\.2\. "):
        owned(residual_share=Range(0.0, 0.5, 1.2))
    with pytest.raises(ValueError, match=r"residual_share is -0\.1\. "):
        owned(residual_share=np.array([0.5, -0.1]))
    with pytest.raises(ValueError, match="residual_share is nan"):
        owned(residual_share=np.array([0.5, np.nan]))


def test_a_machine_draws_no_more_idle_than_busy() -> None:
    with pytest.raises(ValueError, match="idle_watts is 300, power_watts 200"):
        owned(power_watts=200, idle_watts=300)


@pytest.mark.parametrize("ends", [(2.0, 1.0, 3.0), (1.0, 3.0, 2.0), (0.0, 1.0, np.inf)])
def test_a_range_rises_and_is_finite(ends: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="three finite numbers in rising order"):
        Range(*ends)


def test_a_bad_range_says_its_name() -> None:
    with pytest.raises(ValueError, match="tariff goes 3, 2, 1"):
        Range(3, 2, 1, "tariff")


def test_limits_themselves_are_possible() -> None:
    result = owned(price_usd=0, life_years=0, residual_share=1, rate_of_capital=1, pue=1)
    assert result.kg_co2_per_kwh is None
    assert Rental(price_per_hour=0).billing_increment_s == 1.0


def test_a_formula_takes_a_range_at_its_likely_value() -> None:
    assert likely(Range(1, 2, 4)) == 2.0
    assert likely(3) == 3.0
    assert likely(np.array([1.0, 2.0])).tolist() == [1.0, 2.0]


def test_uncertain_quantities_are_listed_by_their_fields() -> None:
    life = Range(3, 4, 5)
    assert ranges_of(owned(life_years=life)) == {"life_years": life}
    assert ranges_of(CLOUD) == {}


def test_records_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        WORKSTATION.price_usd = 1  # type: ignore[misc]
