"""Options somebody wrote by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.answers.comparison import JobFacts, Request
from planner.answers.comparison.question import answered
from planner.compare import Entry, entry_of, entry_text, entry_words, wrong_in_form
from tests.each import each
from tests.planner.compare.made import CATALOG, TODAY, job


@each("text", [
        "rent|plain|8|19.9", "buy|twice|2|1800", "own|huge|4", "buy|plain|1",
        "rent|plain|8|19.9|EUR|0.86", "buy|twice|3|3600 total", "buy|twice|3|100|EUR|0.86",
        "buy|plain|8|250000 total|EUR|0.86",
    ])  # fmt: skip
def test_an_entry_reads_back_what_it_wrote(text: str) -> None:
    entry = entry_of(text, CATALOG)
    assert isinstance(entry, Entry)
    assert entry_text(entry) == text


@each(
    ("text", "said"),
    [
        ("lease|plain|1|2", "is no option"),
        ("rent|plain", "is no option"),
        ("rent|unheard|1|2", "unheard"),
        ("rent|plain|0|2", "not a whole number"),
        ("rent|plain|1", "price per hour"),
        ("rent|plain|1|cheap", "not a price"),
        ("rent|plain|1|-2", "'-2' is not a price from 0 to less than 1,000,000,000,000."),
        ("rent|plain|1|inf", "not a price"),
        ("buy|plain|1|1e308", "'1e308' is not a price from 0 to less than 1,000,000,000,000."),
        ("rent|plain|1|2|VND", "how much VND one USD is"),
        ("rent|plain|1|2|EUR|0", "how much EUR one USD is"),
        ("rent|plain|1|2|euro|1", "not another currency"),
        ("rent|plain|1|2|USD|1", "not another currency"),
        ("buy|huge|1", "has no list price"),
        ("rent|unheard|zero|much", "not a whole number"),
    ],
)
def test_what_is_wrong_is_said_all_at_once(text: str, said: str) -> None:
    answer = entry_of(text, CATALOG)
    assert isinstance(answer, str)
    assert said in answer


def test_a_price_in_another_currency_is_what_it_was_by_its_own_rate_or_that_which_is_shown() -> (
    None
):
    alone = entry_of("rent|plain|8|19.9|EUR|0.5", CATALOG)
    shown = entry_of("rent|plain|8|19.9|EUR|0.5", CATALOG, {"EUR": 1.25})
    only = entry_of("rent|plain|8|19.9|eur", CATALOG, {"EUR": 1.25})
    assert isinstance(alone, Entry)
    assert isinstance(shown, Entry)
    assert isinstance(only, Entry)
    assert alone.price == pytest.approx(39.8)
    assert shown.price == only.price == pytest.approx(24.875)
    assert entry_text(shown) == entry_text(alone)
    assert entry_words(shown, CATALOG) == (
        "Rent 8 x Plain at 19.90 EUR/h (2.49 EUR/h each) without tax"
    )


def test_an_option_reports_its_price_as_it_was_quoted() -> None:
    texts = ("rent|plain|8|19.9|EUR|0.5", "buy|plain|1|5")
    answer = answered(Request(entries=texts), JobFacts(job=job(), catalog=CATALOG), TODAY)
    prices = {c.id: c.price for c in answer.candidates if c.id.startswith("mine-")}
    rented = prices["mine-rent-plain-8-19.9-eur-0.5"]
    assert rented == "19.90 EUR/h (2.49 EUR/h each) without tax, own entry"
    assert prices["mine-buy-plain-1-5"] == "5 USD, own entry"


def test_the_price_of_several_is_shown_for_all_and_for_each() -> None:
    texts = ("rent|plain|8|30", "buy|plain|8|31250", "own|plain|8")
    answer = answered(Request(entries=texts), JobFacts(job=job(), catalog=CATALOG), TODAY)
    prices = {c.id: c.price for c in answer.candidates if c.id.startswith("mine-")}
    assert prices["mine-rent-plain-8-30"] == "30.00 USD/h (3.75 USD/h each) without tax, own entry"
    assert (
        prices["mine-buy-plain-8-31250"]
        == "250,000.00 USD (31,250.00 USD each) without tax, own entry"
    )
    assert prices["mine-own-plain-8"] == "electricity only"
    bought = next(c for c in answer.candidates if c.id == "mine-buy-plain-8-31250")
    assert bought.owned is not None
    assert bought.owned.price_usd == 8 * 31_250.0


def test_a_price_with_total_is_that_of_the_machine_and_an_older_link_means_what_it_did() -> None:
    texts = ("buy|plain|8|250000 total", "buy|plain|8|31250", "buy|plain|8|240000 total|EUR|0.96")
    answer = answered(Request(entries=texts), JobFacts(job=job(), catalog=CATALOG), TODAY)
    mine = {c.id: c for c in answer.candidates if c.id.startswith("mine-")}
    prices = [c.owned.price_usd for c in mine.values() if c.owned]
    assert prices == pytest.approx([250_000.0, 250_000.0, 250_000.0])
    in_euro = mine["mine-buy-plain-8-240000-total-eur-0.96"].price
    assert in_euro == "240,000.00 EUR (30,000.00 EUR each) without tax, own entry"
    assert answer.comparison is not None
    notes = [n for n in answer.comparison.question.notes if "total" in n]
    assert len(notes) == 1
    assert "buy|plain|8|31250 is for each of 8: 250,000.00 USD (31,250.00 USD each)" in notes[0]


@pytest.mark.parametrize(
    ("marked", "plain"),
    [("buy|plain|1|5 total", "buy|plain|1|5"), ("rent|plain|8|30 total", "rent|plain|8|30")],
)
def test_total_says_nothing_new_of_one_accelerator_or_of_a_rental(marked: str, plain: str) -> None:
    assert entry_of(marked, CATALOG) == entry_of(plain, CATALOG)
    entry = entry_of(marked, CATALOG)
    assert isinstance(entry, Entry)
    assert entry_text(entry) == plain


def test_an_accelerator_that_is_not_known_is_reported_in_whole_sentences() -> None:
    answer = entry_of("rent|nonsense|1|2", CATALOG)
    assert isinstance(answer, str)
    assert "catalogue Choose" not in answer
    assert answer.endswith(".")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("buy|plain|1|2e9", "2e+09 USD is more than any price: it is at most 1,000,000,000 USD."),
        ("buy|plain|8|9e9 total", "9e+09 USD is more than any price: it is at most 8,000,000,000"),
        ("rent|plain|1|1e11|EUR|1e-9", "Check the rate too."),
        ("buy|plain|1|5e-324", "'5e-324' is not a price from 0 to less than 1,000,000,000,000."),
    ],
)  # fmt: skip
def test_a_price_beyond_all_bounds_is_refused_with_the_bound(text: str, said: str) -> None:
    answer = entry_of(text, CATALOG)
    assert isinstance(answer, str)
    assert said in answer


def test_a_large_price_in_a_small_currency_is_allowed() -> None:
    answer = entry_of("buy|plain|1|900000000000|VND|25000", CATALOG)
    assert isinstance(answer, Entry)
    assert answer.price == pytest.approx(36e6)


@given(st.text(max_size=60))
def test_no_text_breaks_it(text: str) -> None:
    assert isinstance(entry_of(text, CATALOG), str | Entry)


@each(("entry", "said"), [
        (Entry(way="rent", accelerator="plain", count=1), "Give the price per hour."),
        (Entry(way="buy", accelerator="huge", count=1),
         "The Huge has no list price. Give the price of the machine."),
        (Entry(way="rent", accelerator="plain", count=1, price=1e12),
         "'1e+12' is not a price from 0 to less than 1,000,000,000,000."),
        (Entry(way="rent", accelerator="plain", count=1, price=2.0), ""),
        (Entry(way="buy", accelerator="plain", count=1), ""),
        (Entry(way="own", accelerator="huge", count=1), ""),
    ])  # fmt: skip
def test_what_is_wrong_in_a_form_is_said_without_the_signs_of_a_link(
    entry: Entry, said: str
) -> None:
    assert wrong_in_form(entry, CATALOG) == said
