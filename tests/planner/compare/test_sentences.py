"""The answer read aloud, without "only 49 % likely", "0 %" or "2 of 1 x"."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner.compare import Assumptions, RentOrBuy, buying, limits_sentence, sentence
from planner.compare._sentences import subject, time_with_interval
from planner.compare.comparison import Limits
from planner.compare.rent_or_buy import rent_or_buy
from planner.compare.undecided import undecided
from planner.core import Estimate, Floats, Refusal
from planner.cost import DRAWS, Display
from planner.job import gigabytes
from tests.each import each
from tests.planner.compare.answers import compared
from tests.planner.compare.made import TODAY, called
from tests.planner.compare.test_ranking import asked_of, made

EURO = Display(currency="EUR", per_usd=0.5, as_of=TODAY, tax_share=0.2)


def _estimate(value: float, low: float, high: float) -> Estimate:
    return Estimate(value=value, low=low, high=high, level=0.9, basis="published", reasons=())


def _pair(use: Estimate, runs: Estimate) -> RentOrBuy:
    found = rent_or_buy(compared())
    assert found is not None
    return replace(found, use=use, runs_per_month=runs)


@pytest.mark.parametrize(
    ("use", "runs", "result"),
    [
        ((0.001, 0.0008, 0.002), (2710.0, 2150.0, 3380.0),
         "even below 1 % utilisation, 2,700 (2,200 to 3,400) runs a month."),
        ((0.004, 0.001, 0.012), (27.0, 7.0, 81.0),
         "even below 1 % utilisation (at most 1 %), 27 (7 to 81) runs a month."),
        ((0.004, 0.001, np.inf), (27.0, 7.0, np.inf),
         "even below 1 % utilisation, 27 runs a month (from 7 runs to never)."),
        ((0.32, 0.1, np.inf), (6.8, 2.1, np.inf),
         "above 32 % utilisation, 6.8 runs a month (from 10 % or 2.1 runs to never)."),
        ((0.5, 0.4, 0.6), (6.0, 5.0, 7.0),
         "above 50 % utilisation (40 % to 60 %), 6 (5 to 7) runs a month."),
    ],
)  # fmt: skip
def test_a_break_even_is_reported_as_one_would_say_it(
    use: tuple[float, float, float], runs: tuple[float, float, float], result: str
) -> None:
    said = buying(_pair(_estimate(*use), _estimate(*runs)))
    assert f": pays off {result}" in said


@pytest.mark.parametrize(
    ("months", "result"),
    [
        ((0.3, 0.2, 0.4), "has paid for itself in less than a month."),
        ((0.3, 0.2, 2.2), "has paid for itself in less than a month (90 %: at most 2 months)."),
        ((0.3, 0.2, np.inf), "has paid for itself in less than a month (or never)."),
        ((5.0, 4.0, 6.0), "has paid for itself after 5 months (90 %: 4 to 6)."),
    ],
)
def test_a_payback_time_is_never_0_months(months: tuple[float, float, float], result: str) -> None:
    found = _pair(_estimate(0.5, 0.4, 0.6), _estimate(6.0, 5.0, 7.0))
    said = buying(replace(found, payback=_estimate(*months), requested_per_month=4.0))
    assert said.endswith(f". At 4 runs a month it {result}")


def test_several_machines_are_counted_in_words() -> None:
    row = next(r for r in compared().rows if r.candidate.way == "buy")
    what = row.candidate.what
    price = "10,000 USD each"
    assert subject(replace(row, machines=2)) == f"Buying two machines with {what} at {price}"
    assert subject(replace(row, machines=12)) == f"Buying 12 machines with {what} at {price}"


@pytest.mark.parametrize(
    ("way", "machines", "result"),
    [
        ("rent", 1, "Renting 8 x Plain (Cloud) at 8 USD/h (1.00 each)"),
        ("buy", 1, "Buying 8 x Plain at 10,000 USD (1,250 each)"),
        ("buy", 2, "Buying two machines with 8 x Plain at 10,000 USD each (1,250 per accelerator)"),
    ],
)
def test_the_price_of_a_machine_has_that_of_one_accelerator_beside_it(
    way: str, machines: int, result: str
) -> None:
    row = next(r for r in compared().rows if r.candidate.way == way)
    hardware = replace(row.candidate.hardware, label="8 x Plain", count=8)
    eight = replace(row.candidate, hardware=hardware)
    assert subject(replace(row, candidate=eight, machines=machines)) == result


def test_of_many_that_are_tied_two_are_named_and_the_rest_counted() -> None:
    result = compared()
    first = result.rows[0]
    rows = tuple(replace(first, rank=1, candidate=called(first.candidate, n)) for n in "ABCDE")
    assert undecided(replace(result, rows=rows))[0] == (
        "Rent A, Rent B and three more are too close to call."
    )


def test_a_refused_break_even_is_reported_in_the_currency_that_is_shown() -> None:
    found = rent_or_buy(compared(assumed=Assumptions(tariff_usd_per_kwh=5.0)), EURO)
    assert found is not None
    assert isinstance(found.use, Refusal)
    assert " EUR rented" in buying(found)
    assert "USD" not in buying(found)


@pytest.mark.parametrize(
    ("size", "result"), [(3.1e6, "3.1 MB"), (12.3e9, "12.3 GB"), (64e10, "640 GB")]
)
def test_small_memory_is_reported_in_megabytes(size: float, result: str) -> None:
    assert gigabytes(size) == result


@pytest.mark.parametrize(
    ("hours", "result"),
    [(9.0, "9 h 0 min"), (48.0, "48 h 0 min"), (17_000.0, "708.3 d"), (157_524.0, "17.98 years")],
)
def test_a_time_is_reported_in_the_unit_that_a_person_would_use(hours: float, result: str) -> None:
    exact = 3600.0 * hours
    assert time_with_interval(Estimate(value=exact, low=exact, high=exact)) == result


# -- how sure ------------------------------------------------------------------------------------


def _cheaper_in(share: float) -> Floats:
    """Costs of which so many are below 10 and the median is."""
    return np.where(np.arange(DRAWS) < share * DRAWS, 9.0, 11.0)


@each(
    ("share", "result"),
    [
        (0.52, "It is as good as tied with renting other."),
        (0.59, "It is as good as tied with renting other."),
        (0.61, "It is 61 % likely cheaper than renting other, not decided."),
        (0.87, "It is 87 % likely cheaper than renting other, not decided."),
        (0.946, "It is 94 % likely cheaper than renting other, not decided."),
        (0.9499, "It is 94 % likely cheaper than renting other, not decided."),
        (0.951, "It is 95 % likely cheaper than renting other."),
        (0.97, "It is 97 % likely cheaper than renting other."),
        (1.0, "It is > 99 % likely cheaper than renting other."),
    ],
)
def test_from_60_percent_on_the_chance_is_reported_and_whether_that_decides(
    share: float, result: str
) -> None:
    rows = [made("first", 3600.0, _cheaper_in(share)), made("other", 3600.0, 10.0)]
    assert sentence(asked_of(rows, Limits())).endswith(result)


def test_of_two_tied_in_cost_a_far_faster_one_is_reported_with_its_time() -> None:
    rows = [made("first", 36_000.0, _cheaper_in(0.55)), made("other", 18_000.0, 10.0)]
    result = "It is as good as tied in cost with renting other, which takes 5 h 0 min"
    assert sentence(asked_of(rows, Limits())).endswith(f"{result}.")
    later = Limits(deadline_s=48 * 3600.0)
    assert sentence(asked_of(rows, later)).endswith(f"; in time with > 99 % probability. {result}.")
    rows[1] = made("other", 30_000.0, 10.0)
    assert sentence(asked_of(rows, Limits())).endswith("It is as good as tied with renting other.")


def test_of_two_tied_in_time_a_far_cheaper_one_is_reported_with_its_cost() -> None:
    rows = [made("first", 36_000.0, 30.0), made("other", 36_000.0, 15.0)]
    assert sentence(asked_of(rows, Limits(order="time"))).endswith(
        "It is as good as tied in time with renting other, which costs 15 USD."
    )


# -- deadline and budget -------------------------------------------------------------------------


def _late_in(share: float) -> Floats:
    return np.where(np.arange(DRAWS) < share * DRAWS, 90_000.0, 70_000.0)


def test_where_the_first_may_be_late_one_that_is_certain_is_named() -> None:
    day = Limits(deadline_s=86_400.0)
    sure = made("sure", 10_000.0, 15.0)
    result = sentence(asked_of([made("first", _late_in(0.2), 14.0), sure], day))
    assert "; in time with 80 % probability. It is" in result
    assert result.endswith(" Rent sure: 15 USD, in time with > 99 % probability.")
    for late in (0.05, 0.0):
        one = made("first", _late_in(late), 14.0)
        assert "Rent sure:" not in sentence(asked_of([one, sure], day))


def test_one_that_is_not_quite_sure_is_reported_with_its_chance_as_everywhere() -> None:
    day = Limits(deadline_s=86_400.0)
    nearly = made("sure", _late_in(0.008), 15.0)
    result = asked_of([made("first", _late_in(0.2), 14.0), nearly], day)
    assert sentence(result).endswith(" Rent sure: 15 USD, in time with 99 % probability.")
    assert "Rent sure with 99 %" in limits_sentence(result)


def test_an_unknown_cost_has_an_unknown_probability_of_meeting_the_budget() -> None:
    row = made("first", _late_in(0.2), 14.0)
    assert row.drawn is not None
    refused = Refusal(reason="No price.", measure_next="Ask for one.")
    unknown = replace(row, drawn=replace(row.drawn, cost=None, to_pay=None), cost=refused)
    budget = Limits(order="time", budget_usd=10.0)
    open_still = "; its cost is unknown, so 10 USD may not be enough."
    assert sentence(asked_of([unknown], budget)).endswith(open_still)
    assert sentence(asked_of([unknown], budget), EURO).endswith(
        " so 6 EUR with tax may not be enough."
    )
    limit = Limits(order="time", cost_limit_usd=10.0)
    assert sentence(asked_of([unknown], limit)).endswith(open_still)
    both = replace(budget, deadline_s=86_400.0)
    assert sentence(asked_of([unknown], both)).endswith(
        f"; in time with 80 % probability{open_still}"
    )
