"""The answer read aloud: nobody says "only 49 % likely", "0 %" or "2 of 1 x"."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner.compare.assumptions import Assumptions
from planner.compare.memory import gigabytes
from planner.compare.rent_or_buy import RentOrBuy, rent_or_buy
from planner.compare.sentences import buying, subject, time_with_interval
from planner.compare.undecided import undecided
from planner.cost import BreakEven, Display
from planner.estimate import Estimate, Refusal
from tests.planner.compare.answers import compared
from tests.planner.compare.made import TODAY

EURO = Display(currency="EUR", per_usd=0.5, as_of=TODAY, tax_share=0.2)


def _estimate(value: float, low: float, high: float) -> Estimate:
    return Estimate(value=value, low=low, high=high, level=0.9, basis="published", reasons=())


def _pair(use: Estimate, runs: Estimate) -> RentOrBuy:
    found = rent_or_buy(compared())
    assert found is not None
    even = BreakEven(utilisation=use, hours_per_year=use, probability_it_can_pay=1.0)
    return replace(found, use=even, runs_per_month=runs)


@pytest.mark.parametrize(
    ("use", "runs", "told"),
    [
        ((0.001, 0.0008, 0.002), (2710.0, 2150.0, 3380.0),
         "even below 1 % utilisation, or from 2,710 (2,150 to 3,380) such runs a month on."),
        ((0.32, 0.1, np.inf), (6.8, 2.1, np.inf),
         "above 32 % utilisation, or from 6.8 such runs a month on (at least 10 % or 2.1 runs, "
         "perhaps never)."),
        ((0.5, 0.4, 0.6), (6.0, 5.0, 7.0),
         "above 50 % utilisation (40 % to 60 %), or from 6 (5 to 7) such runs a month on."),
    ],
)  # fmt: skip
def test_a_break_even_is_told_as_one_would_say_it(
    use: tuple[float, float, float], runs: tuple[float, float, float], told: str
) -> None:
    said = buying(_pair(_estimate(*use), _estimate(*runs)))
    assert f": pays off {told}" in said


def test_several_machines_are_counted_in_words() -> None:
    row = next(r for r in compared().rows if r.candidate.way == "buy")
    what = row.candidate.label.removeprefix("Buy ")
    assert subject(replace(row, machines=2)) == f"Buying two machines with {what}"
    assert subject(replace(row, machines=12)) == f"Buying 12 machines with {what}"


def test_of_many_that_are_tied_two_are_named_and_the_rest_counted() -> None:
    told = compared()
    first = told.rows[0]
    rows = tuple(
        replace(first, rank=1, candidate=replace(first.candidate, label=f"Rent {n}"))
        for n in "ABCDE"
    )
    assert undecided(replace(told, rows=rows))[0] == (
        "Rent A, Rent B and three more cannot be told apart yet."
    )


def test_a_refused_break_even_is_told_in_the_currency_that_is_shown() -> None:
    found = rent_or_buy(compared(assumed=Assumptions(tariff_usd_per_kwh=5.0)), EURO)
    assert found is not None
    assert isinstance(found.use, Refusal)
    assert " EUR per hour of work" in buying(found)
    assert "USD" not in buying(found)


@pytest.mark.parametrize(
    ("size", "told"), [(3.1e6, "3.1 MB"), (12.3e9, "12.3 GB"), (64e10, "640 GB")]
)
def test_small_memory_is_told_in_megabytes(size: float, told: str) -> None:
    assert gigabytes(size) == told


@pytest.mark.parametrize(
    ("hours", "told"),
    [(9.0, "9 h 0 min"), (48.0, "48 h"), (17_000.0, "17,000 h"), (157_524.0, "18 years")],
)
def test_a_time_is_told_in_the_unit_that_a_person_would_use(hours: float, told: str) -> None:
    exact = 3600.0 * hours
    assert time_with_interval(Estimate(value=exact, low=exact, high=exact)) == told
