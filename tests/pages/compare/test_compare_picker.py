"""Options of Compare: chips of the chosen ones, a typed text, and the table of all."""

from __future__ import annotations

from typing import Final

from streamlit.testing.v1 import AppTest

from planner.answers.comparison import MOST_OPTIONS
from tests.pages.comparing import address_of, all_options
from tests.pages.conftest import on_tab, show, sound, texts

KEY: Final = "compare.options"


def _chosen(shown: AppTest) -> list[str]:
    return list(shown.multiselect(key=KEY).value)


def _typed(shown: AppTest, text: str) -> AppTest:
    """The page after a text was typed into the field of options."""
    field = shown.multiselect(key=KEY)
    return sound(field.set_value([*field.value, text]).run())


def test_the_list_holds_the_chosen_options_and_the_way_to_all() -> None:
    field = show("compare").multiselect(key=KEY)
    assert len(field.options) == len(field.value) + 1
    assert field.options[-1].startswith("Choose from all ")


def test_a_text_that_names_one_option_adds_it() -> None:
    shown = show("compare")
    before = _chosen(shown)
    _typed(shown, "buy 8 h100")
    assert _chosen(shown) == before  # among the usual ones
    _typed(shown, "8xL40S CoreWeave")
    assert _chosen(shown) == [*before, "rent-coreweave-north-america-l40s-on-demand"]
    assert address_of(shown)["options"] == _chosen(shown)


def test_a_text_that_names_several_opens_the_table_with_it_as_search() -> None:
    shown = show("compare")
    before = _chosen(shown)
    _typed(shown, "8 x A100")
    assert _chosen(shown) == before
    assert shown.text_input(key="compare.picker.words").value == "8 x A100"
    rows = all_options(shown)
    assert {row["count"] for row in rows} == {8}
    assert all(row["accelerator"].startswith("A100") for row in rows)


def test_the_table_has_maker_memory_terms_provider_and_both_prices() -> None:
    rows = all_options(show("compare"))
    assert len(rows) > 100
    eight = next(r for r in rows if r["label"] == "Rent 8 x H100 SXM5 80GB (Lambda)")
    assert (eight["chosen"], eight["maker"], eight["terms"]) == (True, "NVIDIA", "Rent")
    assert (eight["memory"], eight["memory_of_all"]) == (80.0, 640.0)
    assert eight["per_hour"] == 8 * eight["per_hour_each"]


def test_filters_leave_their_rows_and_one_button_clears_them() -> None:
    shown = show("compare")
    every = len(all_options(shown))
    shown.multiselect(key="compare.picker.maker").set_value(["AMD"])
    shown.button_group(key="compare.picker.terms").set_value(["Rent"])
    left = all_options(sound(shown.run()))
    assert {(r["maker"], r["terms"]) for r in left} == {("AMD", "Rent")}
    shown.selectbox(key="compare.picker.memory").set_value(270e9)
    assert "No option meets all filters." in texts(sound(shown.run()))
    shown.button(key="compare.picker.clear").click().run()
    assert len(all_options(sound(shown))) == every


def test_a_chip_of_the_table_takes_an_option_out() -> None:
    shown = show("compare", own="rent|h100-sxm|1|1.99")
    all_options(shown)
    chips = shown.multiselect(key="compare.picker.chosen")
    left = [o for o in chips.value if not o.startswith("mine-")]
    sound(chips.set_value(left).run())
    assert _chosen(shown) == left
    assert "own" not in address_of(shown)


def test_no_more_than_the_largest_number_of_options_is_added() -> None:
    rows = [str(r["label"]) for r in all_options(show("compare"))]
    assert len(rows) > MOST_OPTIONS
    shown = show("compare")
    for text in ("8xL40S", "8xGaudi 2"):
        _typed(shown, text)
    assert len(_chosen(shown)) <= MOST_OPTIONS


def test_an_own_entry_is_filled_into_the_form_and_replaced() -> None:
    shown = show("compare", own="buy|h100-sxm|8|260000 total")
    shown.session_state["compare.by_hand"] = True
    sound(shown.run())
    shown.button(key="compare.own.edit.buy-h100-sxm-8-260000-total").click().run()
    assert shown.number_input(key="compare.own.price").value == 260_000.0
    assert shown.number_input(key="compare.own.count").value == 8
    assert "32,500.00 USD for each of 8" in texts(sound(shown))
    shown.number_input(key="compare.own.price").set_value(240_000.0)
    shown.button(key="compare.own.add").click().run()
    assert address_of(sound(shown))["own"] == ["buy|h100-sxm|8|240000 total"]
    assert "mine-buy-h100-sxm-8-260000-total" not in _chosen(shown)


def test_the_currency_is_one_click_with_the_rate_of_the_bank() -> None:
    shown = show("compare")
    shown.button_group(key="compare.money").set_value("EUR").run()
    assert address_of(sound(shown))["currency"] == ["EUR"]
    assert " EUR as of 20" in texts(on_tab(shown))
    assert "European Central Bank" in texts(shown)


def test_utilisation_and_years_set_the_runs_a_month_and_the_life() -> None:
    shown = show("compare")
    shown.number_input(key="compare.owning.use").set_value(60.0).run()
    shown.number_input(key="compare.owning.years").set_value(2.0).run()
    assert "2 years at 60 % utilisation: renting " in texts(sound(shown))
    address = address_of(shown)
    assert address["life_years"] == ["2"]
    again = show("compare", **address)
    assert again.number_input(key="compare.owning.use").value == 60.0
    assert "2 years at 60 % utilisation: renting " in texts(again)
