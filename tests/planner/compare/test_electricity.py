"""Whose electricity is paid: what was typed counts, what is old is doubted, all of it is told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.answers import hardware_comparison, plain
from planner.answers.comparison import JobFacts, Request
from planner.answers.comparison.question import answered
from planner.catalog import Tariff
from planner.compare import (
    Assumptions,
    assumed_lines,
    electricity_lines,
    electricity_pages,
)
from planner.compare.comparison import Comparison
from planner.core import Estimate
from planner.cost import DOLLARS, Range
from planner.job import Hardware, library_of
from planner.job.rates import rate_on
from planner.transfer import Cell
from tests.planner.compare.made import CATALOG, FRESH, OLD, RUN, TARIFF, TODAY, TWICE, job
from tests.planner.compare.made import row as row_of

SOURCE = "https://example.org/price"
ROW = replace(TARIFF, customer="household", price_source_url=SOURCE)


def _told(tariff: Tariff = ROW, assumed: Assumptions | None = None) -> Comparison:
    facts = JobFacts(job=job(), catalog=replace(CATALOG, tariffs=(tariff,)))
    asked = Request(options=("own-plain",), country="XX", assumed=assumed or Assumptions())
    answer = answered(asked, facts, TODAY)
    assert answer.comparison is not None
    assert not answer.problems
    return answer.comparison


def _tariff(answer: Comparison) -> Range:
    owned = answer.rows[0].candidate.owned
    assert owned is not None
    assert isinstance(owned.tariff_usd_per_kwh, Range)
    return owned.tariff_usd_per_kwh


def test_an_old_tariff_is_uncertain_as_any_old_price_is() -> None:
    fresh, old = (_told(replace(ROW, price_as_of=day)) for day in (FRESH, OLD))
    assert _tariff(fresh).high == pytest.approx(0.5 * 1.25)
    assert _tariff(old).high == pytest.approx(0.5 * 1.3)
    assert _tariff(old).name == _tariff(fresh).name
    assert "older than 12 months" in " ".join(assumed_lines(old))
    assert "older than 12 months" not in " ".join(assumed_lines(fresh))


def test_country_customer_date_and_source_are_reported_and_sent() -> None:
    answer = _told()
    lines = " ".join(assumed_lines(answer))
    assert f"Price of electricity: Nowhere, household, Oct 2026, from {SOURCE}." in lines
    assert "A firm pays less" in lines
    body = plain(hardware_comparison(answer, DOLLARS, ""))["electricity"]
    assert (body["country"], body["customer"]) == ("Nowhere", "household")
    assert (body["price_as_of"], body["price_source"]) == ("2026-10-01", SOURCE)
    assert body["price_is_stale"] is False


def test_the_addresses_in_the_lines_are_listed_to_make_links_of_them() -> None:
    row = replace(ROW, carbon_source_url="https://example.org/carbon")
    used = _told(row).question.electricity
    assert electricity_pages(used) == [SOURCE, "https://example.org/carbon"]
    lines = " ".join(electricity_lines(Assumptions(), used))
    assert all(page in lines for page in electricity_pages(used))
    typed = _told(row, Assumptions(tariff_usd_per_kwh=0.2, kg_co2_per_kwh=0.1))
    assert electricity_pages(typed.question.electricity) == electricity_pages(None) == []


def test_a_country_without_a_price_says_which_default_is_used() -> None:
    answer = _told(replace(ROW, price_usd_per_kwh=None, customer=None))
    assert answer.question.assumed.tariff_usd_per_kwh == 0.15
    assert answer.question.assumed.kg_co2_per_kwh == 0.25
    assert "the default of 0.15 USD/kWh is used" in " ".join(assumed_lines(answer))


def test_a_price_that_was_typed_wins_over_the_country() -> None:
    answer = _told(assumed=Assumptions(tariff_usd_per_kwh=0.2, kg_co2_per_kwh=0.1))
    assert answer.question.assumed.tariff_usd_per_kwh == 0.2
    assert answer.question.assumed.kg_co2_per_kwh == 0.1
    lines = " ".join(assumed_lines(answer))
    assert "is your own, 0.2 USD/kWh, not that of Nowhere" in lines
    assert "A firm pays less" not in lines


def test_a_price_that_was_typed_wins_be_it_the_usual_one() -> None:
    facts = JobFacts(job=job(), catalog=replace(CATALOG, tariffs=(ROW,)))
    asked = Request(options=("own-plain",), country="XX", tariff_typed=True)
    answer = answered(asked, facts, TODAY).comparison
    assert answer is not None
    assert answer.question.assumed.tariff_usd_per_kwh == 0.15
    assert answer.question.assumed.kg_co2_per_kwh == 0.25
    assert "your own, 0.15 USD/kWh, not that of Nowhere" in " ".join(assumed_lines(answer))


def test_offers_without_a_rate_are_reported_and_with_the_rate_shown_they_count() -> None:
    euro = replace(CATALOG.offers[0], currency="VND", instance="dong")
    facts = JobFacts(job=job(), catalog=replace(CATALOG, offers=(*CATALOG.offers, euro)))
    lacking = answered(Request(), facts, TODAY).comparison
    assert lacking is not None
    assert lacking.question.notes == ("One offer priced in VND is hidden. Set an exchange rate.",)
    assert lacking.question.notes[0] in assumed_lines(lacking)
    known = answered(Request(usd_per=(("VND", 1.25),)), facts, TODAY)
    assert known.comparison is not None
    assert known.comparison.question.notes == ()
    assert [c for c in known.candidates if c.offer and c.offer.currency == "VND"]


def test_remarks_name_cards_by_their_names_and_precision_once() -> None:
    library = library_of(CATALOG, [row_of(RUN)])
    answer = rate_on(job(), Hardware(label="1 x Twice", accelerator=TWICE), library).samples_per_s
    assert isinstance(answer, Estimate)
    assert answer.reasons[0].startswith("Not measured on Twice: scaled from Plain by")
    assert "Next measurement: Net · Data float32 on Twice (then" in " ".join(answer.reasons)
    assert (
        str(Cell(workload="Net · float32", precision="float32", card="x")) == "Net · float32 on x"
    )


def test_offers_in_a_currency_with_a_published_rate_are_compared() -> None:
    euro = replace(CATALOG.offers[0], currency="EUR", instance="euro")
    facts = JobFacts(job=job(), catalog=replace(CATALOG, offers=(*CATALOG.offers, euro)))
    found = answered(Request(), facts, TODAY)
    assert found.comparison is not None
    assert not found.comparison.question.notes
    (option,) = [c for c in found.candidates if c.offer and c.offer.currency == "EUR"]
    assert f"({euro.price_per_hour:,.2f} EUR)" in option.price
