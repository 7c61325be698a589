"""In which currency money is shown: what was typed is named, an old rate is called old."""

from __future__ import annotations

from datetime import date

import pytest

from planner.answers.comparison._parameters import display_of
from planner.cost import SOURCE, reference_rates

TODAY = date(2026, 11, 22)


def _told(**values: object) -> dict[str, object]:
    return {"currency": "USD", "rate": None, "rate_as_of": None, "tax": 0.0} | values


def test_dollars_need_nothing_and_tax_is_a_share() -> None:
    display, problems = display_of(_told(tax=10.0), TODAY)
    assert problems == ()
    assert (display.currency, display.per_usd, display.tax_share) == ("USD", 1.0, 0.1)


@pytest.mark.parametrize("text", ["XXXX", "E1R", "euro"])
def test_what_is_no_currency_is_named_whole_before_its_rate_is_asked_for(text: str) -> None:
    for rate in (None, 0.9):
        display, (problem,) = display_of(_told(currency=text, rate=rate), TODAY)
        assert str(problem) == (
            f"currency: Currency {text.upper()!r} is not three capital letters. Write USD, EUR or "
            "JPY."
        )
        assert display.currency == "USD"


def test_everything_that_is_wrong_is_reported_at_once() -> None:
    result = _told(currency="XXXX", rate_as_of=date(2027, 1, 1))
    assert [p.parameter for p in display_of(result, TODAY)[1]] == ["rate_as_of", "currency"]


@pytest.mark.parametrize(
    ("day", "stale"),
    [(date(2020, 1, 1), True), (date(2025, 11, 21), True), (date(2025, 11, 22), False)],
)
def test_a_rate_is_stale_after_twelve_months_as_prices_are(day: date, stale: bool) -> None:  # noqa: FBT001
    display, problems = display_of(_told(currency="eur", rate=0.9, rate_as_of=day), TODAY)
    assert problems == ()
    assert display.stale is stale
    assert ("older than 12 months" in display.note) is stale
    assert not display_of(_told(rate_as_of=day), TODAY)[0].stale  # dollars have no rate


def test_a_rate_without_its_day_is_refused() -> None:
    _, (problem,) = display_of(_told(currency="EUR", rate=0.9), TODAY)
    assert "The rate of EUR has no date" in str(problem)


def test_twenty_currencies_and_more_have_a_rate_with_its_date_and_publisher() -> None:
    rates = reference_rates()
    assert len(rates.per_usd) >= 21
    assert {"USD", "EUR", "JPY", "GBP", "CHF", "CNY", "INR", "KRW"} <= set(rates.per_usd)
    for code, rate in rates.per_usd.items():
        display, problems = display_of(_told(currency=code), TODAY)
        assert problems == ()
        assert display.per_usd == rate
        if code != "USD":
            assert display.as_of == rates.as_of
            assert f"1 USD = {rate:g} {code} as of {rates.as_of}, {SOURCE}" in display.note


def test_a_typed_rate_replaces_the_published_one() -> None:
    typed = _told(currency="EUR", rate=0.5, rate_as_of=date(2026, 11, 20))
    display, problems = display_of(typed, TODAY)
    assert (display.per_usd, display.source, problems) == (0.5, "", ())


def test_a_rate_date_without_its_rate_is_refused() -> None:
    _, (problem,) = display_of(_told(currency="EUR", rate_as_of=date(2026, 1, 5)), TODAY)
    assert problem.parameter == "rate_as_of"
    assert "2026-01-05 has no rate" in problem.message


def test_a_currency_without_a_published_rate_needs_a_typed_one() -> None:
    _, (problem,) = display_of(_told(currency="VND"), TODAY)
    assert "No rate is known for VND." in str(problem)
