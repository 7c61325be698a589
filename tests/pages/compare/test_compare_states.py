"""Compare hardware with stale links, without an answer, and with options written by hand."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.common import hardware
from pages.compare import inputs as compare_deadline
from planner.answers.comparison._parameters import HOW_MANY_TOKENS
from planner.compare import sentences
from planner.core.slugs import full_slug
from planner.store import Store
from tests.pages.comparing import LINK, OPTIONS, WORKLOAD, address_of, asked, comparison, table
from tests.pages.conftest import on_tab, show, sound, texts, unfold

pytestmark = pytest.mark.usefixtures("folders")

# -- stale links -------------------------------------------------------------------------------


def test_stale_values_of_a_link_are_reported_and_the_rest_is_kept() -> None:
    shown = show(
        "compare", options=["nope", *OPTIONS[1:]], own=["rent|h100-sxm|1|1.99", "rent|foo|1|2"],
        deadline="soon", view="year", epochs="100", zzz="1",
    )  # fmt: skip
    said = texts(shown)
    assert "options: “nope” is no longer an option." in said
    assert "deadline: “soon” is not a time from 0.001 to 1,000,000 h." in said
    assert "view: “year” is no longer an option." in said
    assert "zzz: unknown setting on this page." in said
    assert "'foo' is not in the catalogue" in said
    assert "finishes 100 epochs" in said


def test_a_currency_without_a_rate_is_reported_and_dollars_are_shown() -> None:
    said = texts(show("compare", **LINK, currency="VND", tab="table"))
    assert "No rate is known for VND." in said
    assert "Amounts in USD" in said


# -- empty and partial -------------------------------------------------------------------------


def test_a_described_workload_without_numbers_asks_for_them_and_gives_an_example() -> None:
    shown = show("compare", workload="described")
    assert "Which network is trained?" in texts(shown)
    shown.button(key="compare.example").click()
    sound(shown.run())
    assert "finishes 100 million tokens of Llama 3 8B" in texts(shown)
    assert not shown.warning
    assert address_of(shown)["params"] == ["8030000000"]
    assert address_of(shown)["total_tokens"] == ["100000000"]


def test_a_network_without_the_size_of_an_epoch_is_asked_for_that_alone() -> None:
    said = texts(show("compare", workload="described", network="resnet-50"))
    assert "How much data is it trained on?" in said
    assert "Enter the samples of an epoch" in said
    assert "Which network" not in said


def test_parameters_without_tokens_are_asked_for_them_and_never_taken_for_one_token() -> None:
    shown = show("compare", workload="described", samples="1.28e6", params="25.6e6")
    assert HOW_MANY_TOKENS in texts(shown)
    assert "finishes" not in texts(shown)
    shown.button(key="compare.example2").click()
    sound(shown.run())
    assert "finishes 90 epochs of ResNet-50, 224 px" in texts(shown)
    address = address_of(shown)
    assert float(address["flops"][0]) == 25e9
    assert "tokens" not in address


def test_an_own_option_of_a_link_is_compared_beside_those_it_names() -> None:
    shown = show(
        "compare", workload=WORKLOAD, options="buy-1x-rtx-5090", own="rent|H100 SXM5 80GB|1|1.99"
    )
    named = "mine-rent-h100-sxm-1-1.99"
    assert address_of(shown)["options"] == [named, "buy-1x-rtx-5090"]
    assert len(table(shown)) == 2
    shown.multiselect(key="compare.options").set_value(["buy-1x-rtx-5090"])
    sound(shown.run())
    assert "own" not in address_of(shown)
    assert len(table(shown)) == 1


def test_the_page_and_a_program_leave_out_the_same_where_ones_own_take_the_room(
    store: Store,
) -> None:
    every = [c.id for c in asked(store).answered.candidates if c.way == "rent"]
    link: dict[str, str | list[str]] = {
        "options": every[:12], "own": ["rent|h100-sxm|1|1.99", "rent|H100-SXM|2|3"],
    }  # fmt: skip
    shown, result = show("compare", **link), asked(store, **link)
    mine = ("mine-rent-h100-sxm-1-1.99", "mine-rent-h100-sxm-2-3")
    assert result.answered.chosen == (*mine, *every[:10])
    assert tuple(shown.multiselect(key="compare.options").value) == result.answered.chosen
    (problem,) = result.problems
    assert str(problem).endswith(f"the last 2 named are left out: {every[10]}, {every[11]}.")
    assert str(problem) in texts(shown)


def test_one_option_of_ones_own_written_twice_is_one() -> None:
    link = ["rent|h100-sxm|1|2", "rent|H100-SXM|1|2.0", "nonsense|", "nonsense"]
    shown = _by_hand(show("compare", own=link))
    assert address_of(shown)["own"] == ["rent|h100-sxm|1|2", "nonsense|", "nonsense"]
    shown.button(key=f"compare.own.remove.{full_slug('nonsense')}").click()
    sound(shown.run())
    assert address_of(shown)["own"] == ["rent|h100-sxm|1|2", "nonsense|"]


def test_an_own_option_that_is_taken_out_with_all_others_is_gone_for_good() -> None:
    shown = show("compare", workload=WORKLOAD, options=OPTIONS[:1], own="rent|h100-sxm|1|1.99")
    shown.multiselect(key="compare.options").set_value([])
    assert "No option is chosen." in texts(sound(shown.run()))
    assert "own" not in address_of(shown)
    assert address_of(shown)["options"] == [""]


def test_a_description_is_kept_where_no_option_is_chosen() -> None:
    shown = show("compare", options="", network="DLRM", samples="1e6")
    assert address_of(shown)["samples"] == ["1000000"]
    assert not shown.warning


QUESTIONS: list[dict[str, str | list[str]]] = [
    {},
    {"deadline": "5", "startup_s": "14000"},
    {"deadline": "5", "startup_s": "1"},
    {"budget": "12", "runs_per_month": "300"},
    {"budget": "12", "tariff_usd_per_kwh": "2", "life_years": "1"},
    {"budget": "40", "order": "time", "country": "DE"},
    {"budget": "0"},
    {"budget": "0", "deadline": "0.001"},
    {"workload": "unnamed-model", "epochs": "50", "deadline": "24"},
    {"goal": "target", "deadline": "1"},
]


@pytest.mark.parametrize("link", QUESTIONS, ids=str)
def test_the_options_that_are_shown_are_those_that_are_compared(
    link: dict[str, str | list[str]], store: Store
) -> None:
    shown, result = show("compare", **link), comparison(store, **link)
    chosen = set(shown.multiselect(key="compare.options").value)
    assert chosen == {r.candidate.id for r in result.rows}
    assert all(text in texts(shown) for text in sentences(result))


def test_hours_until_a_date_count_from_the_same_moment_for_options_and_answer(
    monkeypatch: pytest.MonkeyPatch, store: Store
) -> None:
    then = datetime(2032, 1, 1, 0, 0, tzinfo=UTC)
    monkeypatch.setattr(compare_deadline, "now", lambda: then)
    shown = show("compare", by="2032-01-01T02:00+00:00")
    result = comparison(store, deadline="2")
    chosen = set(shown.multiselect(key="compare.options").value)
    assert chosen == {r.candidate.id for r in result.rows}
    assert chosen != {r.candidate.id for r in comparison(store).rows}


def test_no_option_is_a_choice_with_a_way_back() -> None:
    shown = show("compare", options="")
    assert "No option is chosen." in texts(shown)
    shown.button(key="compare.back").click()
    assert "finishes 100 million tokens" in texts(sound(shown.run()))


def test_one_option_alone_is_answered(store: Store) -> None:
    shown = show("compare", workload=WORKLOAD, options="buy-1x-rtx-5090")
    assert all(
        text in texts(shown)
        for text in sentences(comparison(store, workload=WORKLOAD, options="buy-1x-rtx-5090"))
    )
    assert "No rental is chosen" in texts(on_tab(shown, "use"))


def test_where_everything_is_refused_the_reason_stands_in_the_sentence(store: Store) -> None:
    link: dict[str, str | list[str]] = {
        "workload": "described", "name": "Huge", "samples": "1000", "params": "1e12",
        "tokens": "2048", "network_optimizer": "Adam", "options": "buy-1x-rtx-5090",
    }  # fmt: skip
    shown = show("compare", **link)
    assert all(text in texts(shown) for text in sentences(comparison(store, **link)))
    assert texts(shown).count("Does not fit") == 2  # in line and sentence; its way out below it
    assert "Buy 1 x GeForce RTX 5090: Take " in texts(shown)
    assert "No chart: no option has both" in texts(shown)
    assert "Take " in str(table(shown)[0]["why"])


@pytest.mark.usefixtures("alone")
def test_without_any_run_a_workload_can_be_described() -> None:
    shown = show("compare", goal="epochs")
    assert "No run is measured yet" in texts(shown)
    shown.button(key="compare.example").click()
    assert "finishes 100 million tokens of Llama 3 8B" in texts(sound(shown.run()))


def test_without_a_catalogue_what_was_measured_is_compared(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(hardware, "SHIPPED", tmp_path / "nothing")
    shown = show("compare", goal="epochs")
    assert {r["option"] for r in table(shown)} == {"Own TPU v2-8", "Own GPU"}


@pytest.mark.usefixtures("alone")
def test_without_runs_and_catalogue_the_page_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(hardware, "SHIPPED", tmp_path / "nothing")
    shown = show("compare", workload="described", samples="1e5", flops="1e13")
    assert "There is nothing to compare." in texts(shown)


# -- options by hand ---------------------------------------------------------------------------


def _by_hand(shown: AppTest) -> AppTest:
    return unfold(shown, "compare.by_hand")


def test_an_option_by_hand_is_added_chosen_and_travels(store: Store) -> None:
    shown = _by_hand(show("compare", goal="epochs"))
    shown.selectbox(key="compare.own.accelerator").set_value("h100-sxm")
    shown.number_input(key="compare.own.count").set_value(8)
    shown.number_input(key="compare.own.price").set_value(12.5)
    shown.button(key="compare.own.add").click()
    sound(shown.run())
    address = address_of(shown)
    assert address["own"] == ["rent|h100-sxm|8|12.5"]
    assert "mine-rent-h100-sxm-8-12.5" in address["options"]
    assert "Rent 8 x H100 SXM5 80GB (own entry)" in {r["option"] for r in table(shown)}
    again = show("compare", **{n: list(v) for n, v in address.items()})
    assert table(again) == table(shown) or len(table(again)) == len(table(shown))


def test_a_price_by_hand_is_asked_in_the_currency_shown_and_stays_as_typed() -> None:
    euro = {"currency": "EUR", "rate": "0.5", "rate_as_of": "2026-11-20", "tax": "20"}
    shown = _by_hand(show("compare", workload=WORKLOAD, options=OPTIONS[:1], **euro))
    field = shown.number_input(key="compare.own.price")
    assert field.label == "Price of the whole machine (EUR an hour, without tax)"
    shown.selectbox(key="compare.own.accelerator").set_value("h100-sxm")
    shown.number_input(key="compare.own.count").set_value(8)
    field.set_value(19.9)
    shown.button(key="compare.own.add").click()
    sound(shown.run())
    address = address_of(shown)
    assert address["own"] == ["rent|h100-sxm|8|19.9|EUR|0.5"]
    prices = {r["price"] for r in table(shown)}
    assert "19.90 EUR/h (2.49 EUR/h each) without tax, own entry" in prices
    assert "Rent 8 x H100 SXM5 80GB at 19.90 EUR/h (2.49 EUR/h each) without tax" in texts(shown)
    again = show("compare", **{n: list(v) for n, v in address.items()})
    assert table(again) == table(shown)
    dollars = {n: v for n, v in address.items() if n in ("own", "options")}
    assert prices == {r["price"] for r in table(show("compare", **dollars))}


def test_an_entry_without_a_price_is_reported_and_nothing_is_added() -> None:
    shown = _by_hand(show("compare", goal="epochs"))
    shown.button(key="compare.own.add").click()
    said = texts(sound(shown.run()))
    assert "Give the price per hour." in said
    assert "behind the count" not in said
    assert "own" not in address_of(shown)


def test_the_price_of_a_chosen_option_is_overridden_in_the_link_alone() -> None:
    shown = _by_hand(show("compare", workload=WORKLOAD, options=OPTIONS[:1]))
    shown.selectbox(key="compare.own.instead").set_value("buy-1x-rtx-5090")
    sound(shown.run())
    shown.number_input(key="compare.own.price").set_value(1500.0)
    shown.button(key="compare.own.add").click()
    sound(shown.run())
    assert [r["price"] for r in table(shown)] == ["1,500 USD, own entry"]


def test_an_entry_is_removed_from_link_and_options() -> None:
    shown = _by_hand(show("compare", **LINK))
    shown.button(key="compare.own.remove.rent-h100-sxm-1-1.99").click()
    sound(shown.run())
    assert "own" not in address_of(shown)
    assert len(table(shown)) == 2


def test_the_chart_of_rent_or_buy_says_that_what_is_bought_misses_the_limits() -> None:
    late = "Buying misses the deadline or the budget"
    assert late in texts(show("compare", epochs="2000", deadline="8", tab="use"))
    assert late not in texts(show("compare", goal="epochs", tab="use"))


def test_back_in_dollars_the_rate_of_the_other_currency_is_gone() -> None:
    euro = {"currency": "EUR", "rate": "0.5", "rate_as_of": "2026-11-20"}
    shown = unfold(show("compare", budget="100", **euro), "compare.box")
    shown.selectbox(key="compare.currency").set_value("USD")
    address = address_of(sound(shown.run()))
    assert address["budget"] == ["200"]
    assert {"currency", "rate", "rate_as_of"} & set(address) == set()
    assert "could not be used" not in texts(shown)
