"""Times faster and cheaper than a baseline, draw by draw."""

from __future__ import annotations

import math

import pytest

from planner.compare import times_better
from planner.compare.comparison import Row, by_id
from planner.core import Refusal
from tests.planner.compare.answers import compared

ROWS = by_id(compared().rows)
RENT, SPOT, BUY = "rent-cloud-eu-1x-plain-on-demand", "rent-cloud-eu-1x-twice-spot", "buy-1x-plain"


def test_an_option_is_once_as_good_as_itself_without_uncertainty() -> None:
    for order in ("cost", "time"):
        found = times_better(ROWS[RENT], ROWS[RENT], order)
        assert found is not None
        assert (found.value, found.low, found.high) == (1.0, 1.0, 1.0)


def test_the_ratio_turns_round_with_the_baseline() -> None:
    one, other = (times_better(a, b, "cost") for a, b in _both(RENT, SPOT))
    assert one is not None
    assert other is not None
    assert float(one.value) * float(other.value) == pytest.approx(1.0, rel=1e-3)
    assert float(one.low) <= float(one.value) <= float(one.high)


def _both(first: str, second: str) -> list[tuple[Row, Row]]:
    return [(ROWS[first], ROWS[second]), (ROWS[second], ROWS[first])]


def test_the_same_card_rented_or_bought_takes_the_same_time_but_for_its_start() -> None:
    found = times_better(ROWS[RENT], ROWS[BUY], "time")
    assert found is not None
    assert float(found.value) == pytest.approx(36_100 / 36_400, rel=5e-3)
    assert math.log(float(found.high) / float(found.low)) < 0.01  # what they share cancels


def test_what_has_no_answer_has_no_ratio() -> None:
    refused = [r for r in ROWS.values() if isinstance(r.cost, Refusal)]
    assert all(times_better(r, ROWS[RENT], "cost") is None for r in refused if r.drawn is None)
