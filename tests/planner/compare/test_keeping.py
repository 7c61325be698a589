"""Which options keep to the deadline and the budget, as a sentence one can read out."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from itertools import permutations

import pytest

from planner.compare import budget_words, limits_sentence, sentence
from planner.compare._summary import keeping
from planner.compare.comparison import Comparison, Limits, Row
from planner.core import Estimate
from planner.cost import Display
from tests.each import each
from tests.planner.compare.answers import compared
from tests.planner.compare.made import called

DEADLINE = Limits(deadline_s=72 * 3600.0)


def _with(shares: list[float], limits: Limits = DEADLINE) -> Comparison:
    """A comparison whose rows keep to what is wanted in these shares of the draws."""
    result = compared(limits)
    row = result.rows[0]
    rows = tuple(_row(row, n, share) for n, share in enumerate(shares, start=1))
    return replace(result, rows=rows)


def _row(row: Row, rank: int, share: float) -> Row:
    one = called(replace(row.candidate, id=f"c{rank}"), f"card {rank}")
    return replace(row, candidate=one, rank=rank, in_time=share)


def test_up_to_three_that_keep_to_it_are_named_best_ranked_first() -> None:
    result = _with([0.97, 0.4, 0.95, 1.0, 0.99])
    assert [r.rank for r in keeping(result)] == [1, 3, 4]
    assert limits_sentence(result, "Fri 27 Nov 2026, 09:00") == (
        "Finish by Fri 27 Nov 2026, 09:00: four of five do with at least 90 % probability, best "
        "first: Rent card 1 with 97 %, Rent card 3 with 95 %, Rent card 4 with > 99 %."
    )


def test_one_alone_is_reported_as_the_only_one() -> None:
    result = _with([0.94, 0.2])
    assert limits_sentence(result) == (
        "Finish within 72 h: of two only one does with at least 90 % probability: Rent card 1 with "
        "94 %."
    )


def test_where_none_is_sure_the_likely_ones_are_named_as_such() -> None:
    result = _with([0.6, 0.55, 0.1])
    assert limits_sentence(result) == (
        "Finish within 72 h: none for sure; more likely than not: Rent card 1 with 60 %, "
        "Rent card 2 with 55 %."
    )


def test_where_none_keeps_to_it_the_closest_is_named() -> None:
    result = _with([0.1, 0.3, 0.0])
    assert keeping(result) == ()
    assert limits_sentence(result) == (
        "Finish within 72 h: none of these does. Rent card 2 comes closest, with 30 %."
    )


SIZES = [(3.0, 7.0), (2.0, 6.0), (4.0, 5.0)]
"""Hours and USD of three options."""


def _sized(shares: list[float], limits: Limits) -> Comparison:
    found = _with(shares, limits)
    rows = [
        replace(r, time=_exactly(3600.0 * hours), cost=_exactly(usd), to_pay=_exactly(usd))
        for r, (hours, usd) in zip(found.rows, SIZES, strict=True)
    ]
    return replace(found, rows=tuple(rows))


@each(
    ("limits", "within", "result"),
    [
        (Limits(deadline_s=3600.0), "within 1 h", "2 comes closest, in 2 h 0 min for 6 USD"),
        (
            Limits(deadline_s=3600.0, budget_usd=1.0),
            "within 1 h for at most 1 USD",
            "3 comes closest, in 4 h 0 min for 5 USD",
        ),
        (
            Limits(deadline_s=3600.0, budget_usd=4.5),
            "within 1 h for at most 4.50 USD",
            "2 comes closest, in 2 h 0 min for 6 USD",
        ),
        (Limits(budget_usd=1.0), "for at most 1 USD", "3 comes closest, in 4 h 0 min for 5 USD"),
        (Limits(budget_usd=0.0), "for at most 0 USD", "3 comes closest, in 4 h 0 min for 5 USD"),
    ],
)
@each("noise", [0.0, 0.0044])
def test_where_none_has_a_chance_the_answer_begins_so_with_the_one_that_exceeds_least(
    limits: Limits, within: str, result: str, noise: float
) -> None:
    """Shares below what is told, 0.44 % of the one farthest off, decide nothing."""
    found = _sized([noise, 0.0039 if noise else 0.0, 0.0], limits)
    for order in permutations(found.rows):
        one = replace(found, rows=order)
        first = f"None of these finishes 360 epochs of Net {within}"
        assert sentence(one) == f"{first}: Rent card {result}."
        assert limits_sentence(one) == ""


def test_one_option_alone_that_misses_is_reported_as_one() -> None:
    assert limits_sentence(_with([0.0])) == "Finish within 72 h: Rent card 1 is very unlikely to."
    assert (
        limits_sentence(_with([0.3])) == "Finish within 72 h: Rent card 1 has only a 30 % chance."
    )
    assert sentence(_with([0.0])).endswith("; very unlikely to finish in time.")


def test_of_unknown_cost_none_is_said_to_miss() -> None:
    """An option without an estimate may meet the limit."""
    found = _sized([0.0, 0.0, 0.0], Limits(budget_usd=1.0))
    unknown = replace(found.rows[0], in_time=None)
    result = replace(found, rows=(unknown, *found.rows[1:]))
    assert not sentence(result).startswith("None of these")
    assert limits_sentence(result) == "Finish for at most 1 USD: none of these is known to."


def _exactly(value: float) -> Estimate:
    return Estimate(value=value, low=value, high=value)


@pytest.mark.parametrize(
    ("shares", "result"),
    [
        (
            [1.0] * 6,
            ": all six do with at least 90 % probability, best first: Rent card 1 with > 99 %, ",
        ),
        ([1.0, 0.9], ": both do with at least 90 % probability, best first: "),
        ([1.0] * 11 + [0.1], ": 11 of 12 do with at least 90 % probability, best first: "),
    ],
)
def test_how_many_keep_to_it_is_reported_as_one_would_say_it(
    shares: list[float], result: str
) -> None:
    assert result in limits_sentence(_with(shares))


def test_deadline_and_budget_are_both_reported() -> None:
    result = _with([1.0], Limits(deadline_s=3600.0, budget_usd=500.0))
    assert limits_sentence(result) == (
        "Finish within 1 h for at most 500 USD: Rent card 1 does, with > 99 %."
    )


def test_a_budget_is_reported_to_the_cent_and_with_its_tax() -> None:
    euro = Display(currency="EUR", per_usd=0.5, as_of=date(2026, 11, 1), tax_share=0.2)
    assert budget_words(1234.56 / 0.6, euro) == "1,234.56 EUR with tax"
    assert budget_words(500.0) == "500 USD"


def test_nothing_is_said_where_nothing_is_asked() -> None:
    assert limits_sentence(compared(Limits())) == ""


def test_a_first_that_hardly_ever_keeps_to_it_is_not_the_answer_where_another_may() -> None:
    result = sentence(_with([0.001, 0.09, 0.02]))
    assert result.startswith("None of these ")
    assert "Rent card 2 comes closest, in " in result
    assert result.endswith(", with 9 % probability.")
    assert limits_sentence(_with([0.001, 0.09, 0.02])) == ""
    assert not sentence(_with([0.02, 0.09, 0.001])).startswith("None")
