from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given

from planner.core import Estimate
from planner.cost import Display, currency_problem, in_usd, money, money_with_interval, price, shown
from tests.each import each
from tests.planner.cost.made import amounts, unhurried

YEN = Display(currency="JPY", per_usd=150, as_of=dt.date(2026, 3, 1), tax_share=0.1)


@each(("amount", "result"), [
        (34.86, "35 USD"), (1237, "1,240 USD"), (0.01234, "0.0123 USD"), (2.49, "2.49 USD"),
        (2.5, "2.50 USD"), (9.994, "9.99 USD"), (9.996, "10 USD"), (99.5, "100 USD"),
        (999.6, "1,000 USD"), (123_456, "123,000 USD"), (1_234_567, "1,230,000 USD"),
        (0, "0 USD"), (-34.86, "-35 USD"), (0.1, "0.10 USD"), (1e-7, "0.0000001 USD"),
        (100, "100 USD"), (7, "7 USD"), (float("inf"), "no limit"), (float("nan"), "not known"),
        (float("-inf"), "-no limit"), (0.125, "0.125 USD"), (1235, "1,240 USD"),
    ])  # fmt: skip
def test_money_has_three_digits_and_no_cents_from_10_on(amount: float, result: str) -> None:
    assert money(amount) == result


@each(("amount", "result"), [
        (2.49, "2.49 USD"), (98.32, "98.32 USD"), (98, "98 USD"), (0.125, "0.125 USD"),
        (1240.5, "1,240.50 USD"), (0.16, "0.16 USD"), (0, "0 USD"), (float("nan"), "not known"),
    ])  # fmt: skip
def test_a_quoted_price_keeps_its_cents(amount: float, result: str) -> None:
    assert price(amount) == result


def test_an_interval_has_the_same_words_or_is_left_out_where_it_is_too_small() -> None:
    assert money_with_interval(Estimate(value=34.9, low=29.6, high=41.2)) == "35 USD (30 to 41 USD)"
    assert money_with_interval(Estimate(value=34.9, low=34.8, high=35.1)) == "35 USD"
    ends_below_10 = Estimate(value=6.0, low=3.9, high=9.3)
    assert money_with_interval(ends_below_10) == "6.00 USD (3.90 to 9.30 USD)"
    assert money_with_interval(Estimate(value=11.0, low=7.0, high=15.0)) == "11 USD (7 to 15 USD)"
    endless = Estimate(value=34.9, low=29.6, high=float("inf"))
    assert money_with_interval(endless) == "35 USD (30 to no limit)"


def test_another_currency_and_tax_are_added_when_shown() -> None:
    assert shown(10, YEN) == pytest.approx(1650)
    assert money(10, YEN) == "1,650 JPY"
    assert in_usd(300, YEN) == 2
    assert YEN.note == "amounts in JPY, 1 USD = 150 JPY as of 2026-03-01, 10 % tax included"
    assert Display().note == "amounts in USD, without tax"


def test_an_old_rate_is_reported_as_old_where_amounts_are_explained() -> None:
    old = Display(currency="EUR", per_usd=0.9, as_of=dt.date(2020, 1, 1), stale=True)
    assert old.note == (
        "amounts in EUR, 1 USD = 0.9 EUR as of 2020-01-01 (older than 12 months), without tax"
    )


@each("text", ["E1R", "XXXX", "eur", "", "ÄÖÜ", "EU", "EUR\n"])
def test_a_currency_is_three_capital_letters_and_named_as_it_was_typed(text: str) -> None:
    result = f"Currency {text!r} is not three capital letters. Write USD, EUR or JPY."
    assert currency_problem(text) == result
    assert currency_problem("JPY") == ""


def test_all_that_is_wrong_with_a_display_is_said_at_once() -> None:
    with pytest.raises(ValueError, match="three capital letters") as result:
        Display(currency="yen", per_usd=0, tax_share=10)
    assert str(result.value).splitlines() == [
        "Currency 'yen' is not three capital letters. Write USD, EUR or JPY.",
        "Exchange rate 0 is not a positive number. Give units of the currency per US dollar.",
        "The rate of yen has no date. Give the date it was read.",
        "tax_share is 10. Give 0.1 for 10 %.",
    ]
    with pytest.raises(ValueError, match="Exchange rate of USD is 2"):
        Display(per_usd=2)


@unhurried
@given(amounts(1e-6, 1e12))
def test_what_is_said_is_within_half_of_its_last_digit(amount: float) -> None:
    said = float(money(amount).removesuffix(" USD").replace(",", ""))
    assert said == pytest.approx(amount, rel=0.0501 if amount >= 9.995 else 0.00501)
