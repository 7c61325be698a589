"""Compare hardware: what the page says is what the planner answers to the same question."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.parts import compare_state
from planner.compare.keeping import keeping_sentence
from planner.compare.reckon import Comparison
from planner.compare.rent_or_buy import rent_or_buy
from planner.compare.sentences import buying, sentence
from planner.compare.tables import option_rows
from planner.compare.undecided import undecided
from planner.store import Store
from planner.store.asking import CompareAnswer, compare_answered
from tests.pages.conftest import figure, show, sound, texts, unfold

WORKLOAD = "wideresnet-103m-cifar-100-adam-float32"
OPTIONS = ["buy-1x-rtx-5090", "mine-rent-h100-sxm-1-1.99", "own-tpu-v2-8"]
LINK: dict[str, str | list[str]] = {
    "options": OPTIONS, "own": "rent|h100-sxm|1|1.99", "deadline": "72", "budget": "500",
    "runs_per_month": "6", "country": "DE",
}  # fmt: skip


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Nobody's own rows of the catalogue, nobody's saved comparisons; the person owns the app."""
    monkeypatch.setenv("EPOCHWISE_CATALOG", str(tmp_path / "catalog"))
    monkeypatch.setenv("EPOCHWISE_SAVED", str(tmp_path / "saved"))
    monkeypatch.setenv("EPOCHWISE_MEASURE", "on")
    yield tmp_path
    compare_state._KEPT.clear()


def _asked(store: Store, **link: str | list[str]) -> CompareAnswer:
    """What a program gets that asks the same."""
    given = {n: [v] if isinstance(v, str) else v for n, v in link.items()}
    catalog = compare_state.catalog().catalog
    return compare_answered(store, catalog, given, compare_state.today())


def _comparison(store: Store, **link: str | list[str]) -> Comparison:
    told = _asked(store, **link).answered.comparison
    assert told is not None
    return told


def _table(shown: AppTest) -> list[dict[str, Any]]:
    rows = shown.dataframe[0].value.to_dict("records")
    return [{str(name): cell for name, cell in row.items()} for row in rows]


def _address(shown: AppTest) -> dict[str, list[str]]:
    told = {name: shown.query_params[name] for name in shown.query_params}
    return {n: [v] if isinstance(v, str) else list(v) for n, v in told.items()}


# -- the answer --------------------------------------------------------------------------------


def test_the_page_answers_without_a_click_in_the_planners_words(store: Store) -> None:
    told = _comparison(store)
    shown = show("compare")
    said = texts(shown)
    assert f"#### {sentence(told)}" in said
    pair = rent_or_buy(told)
    assert pair is not None
    assert buying(pair) in said
    for text in undecided(told):
        assert text in said
    assert "measure next" in said
    assert _address(shown) == {}
    assert not shown.warning


def test_a_link_asks_the_page_what_it_asks_a_program(store: Store) -> None:
    told, shown = _comparison(store, **LINK), show("compare", **LINK)
    assert sentence(told) in texts(shown)
    records = option_rows(told)
    for row, record in zip(_table(shown), records, strict=True):
        assert row["option"] == record["option"]
        assert row["cost"] == pytest.approx(record["cost_per_run"], rel=6e-3)
        assert row["price"].startswith(str(record["price"]))
        assert row["rank"] == f"{record['rank']}{'=' if record['tied'] else ''}"
    assert set(_address(shown)) == set(LINK)


def test_deadline_and_budget_name_the_options_that_keep_to_them(store: Store) -> None:
    told = _comparison(store, **LINK)
    rest = keeping_sentence(told, "x").split("x for", 1)[1]
    shown = show("compare", **LINK)
    assert f" for{rest}" in texts(shown)
    assert "Finish by" in texts(shown)
    assert any(r["in_time"] is not None for r in _table(shown))


def test_the_first_row_is_the_baseline_until_another_is_chosen() -> None:
    shown = show("compare", **LINK)
    rows = _table(shown)
    assert rows[0]["cheaper"] == rows[0]["faster"] == 1.0
    last = rows[-1]
    shown.selectbox(key="compare.baseline").set_value(_id(shown, str(last["option"])))
    rows = _table(sound(shown.run()))
    assert rows[-1]["cheaper"] == 1.0
    assert rows[0]["cheaper"] > 1.0
    assert "baseline" in _address(shown)


def _id(shown: AppTest, label: str) -> str:
    box = shown.selectbox(key="compare.baseline")
    return str({"Own TPU v2-8": "own-tpu-v2-8"}.get(label) or next(
        o for o in OPTIONS if label in box.options and _match(o, label)
    ))  # fmt: skip


def _match(option: str, label: str) -> bool:
    return option.startswith("buy") == label.startswith("Buy")


def test_numbers_for_a_month_are_the_runs_numbers_times_the_runs() -> None:
    run = _table(show("compare", **LINK))
    month = _table(show("compare", **LINK, view="month"))
    epoch = _table(show("compare", **LINK, view="epoch"))
    for a, b, c in zip(run, month, epoch, strict=True):
        assert b["cost"] == pytest.approx(6 * a["cost"], rel=0.01)
        assert c["cost"] == pytest.approx(a["cost"] / 2000, rel=0.01)


def test_times_are_shown_as_clock_or_in_hours() -> None:
    clock = _table(show("compare", **LINK))[0]["time"]
    hours = _table(show("compare", **LINK, show="hours"))[0]["time"]
    told = [int(p) for p in clock.split(":")]
    assert float(hours.removesuffix(" h")) == pytest.approx(told[0] + told[1] / 60, abs=0.06)


def test_another_currency_changes_amounts_and_no_order(store: Store) -> None:
    euro = {**LINK, "currency": "EUR", "rate": "0.5", "rate_as_of": "2026-11-20", "tax": "20"}
    dollars, euros = _table(show("compare", **LINK)), _table(show("compare", **euro))
    assert [r["option"] for r in dollars] == [r["option"] for r in euros]
    assert euros[0]["cost"] == pytest.approx(0.6 * dollars[0]["cost"], rel=0.01)
    said = texts(show("compare", **euro))
    assert "1 USD = 0.5 EUR as of 2026-11-20, 20 % tax included" in said


def test_the_charts_hold_the_options_and_the_question() -> None:
    shown = show("compare", **LINK)
    names = {t["name"] for t in figure(shown)["data"] if t.get("mode") == "markers"}
    assert names == {r["option"] for r in _table(shown) if r["cost"] == r["cost"]}
    notes = [n["text"] for n in figure(shown, 1)["layout"]["annotations"]]
    assert "6 asked" in notes
    by_use = show("compare", **LINK, chart="use")
    assert "share of the time" in figure(by_use, 1)["layout"]["xaxis"]["title"]["text"]


def test_a_target_is_asked_where_trials_are_known(store: Store) -> None:
    link: dict[str, str | list[str]] = {
        "workload": "mlp-64-64-digits-sgd-nesterov-0.9-float32", "goal": "target"
    }  # fmt: skip
    shown = show("compare", **link)
    assert sentence(_comparison(store, **link)) in texts(shown)
    assert "% validation error" in texts(shown)
    assert not shown.warning
    assert [c.value for c in shown.segmented_control if c.key == "compare.goal"] == ["target"]


def test_the_country_sets_the_electricity_and_says_so() -> None:
    shown = unfold(show("compare", **LINK), "compare.box")
    field = next(t for t in shown.text_input if (t.key or "").startswith("compare.of.tariff"))
    assert field.disabled
    assert float(str(field.value)) > 0.1
    assert not [n for n in shown.number_input if n.key == "compare.tariff_usd_per_kwh"]


def test_every_assumption_has_a_field_and_travels_in_the_link() -> None:
    shown = unfold(show("compare"), "compare.box")
    shown.number_input(key="compare.life_years").set_value(6.0)
    sound(shown.run())
    assert _address(shown) == {"life_years": ["6"]}
    shown.number_input(key="compare.pue").set_value(None)
    sound(shown.run())
    assert shown.number_input(key="compare.pue").value == 1.3
    shown.button(key="compare.defaults").click()
    assert _address(sound(shown.run())) == {}


def test_how_sure_each_time_is_and_where_it_is_from_are_told_in_full() -> None:
    shown = unfold(unfold(show("compare", **LINK), "compare.sure"), "compare.origin")
    said = texts(shown)
    assert "Nobody measured it on" in said
    assert "CC BY 4.0" in said


# -- stale links -------------------------------------------------------------------------------


def test_stale_values_of_a_link_are_told_and_the_rest_is_kept() -> None:
    shown = show(
        "compare", options=["nope", *OPTIONS[1:]], own=["rent|h100-sxm|1|1.99", "rent|foo|1|2"],
        deadline="soon", view="year", epochs="100", zzz="1",
    )  # fmt: skip
    said = texts(shown)
    assert "options: “nope” is not among the options any more." in said
    assert "deadline: “soon” is not a number from 0.001 to 1,000,000." in said
    assert "view: “year” is not among the options any more." in said
    assert "zzz: this page knows no such setting." in said
    assert "'foo' is not in the catalogue" in said
    assert "finishes 100 epochs" in said


def test_a_currency_without_a_rate_is_told_and_dollars_are_shown() -> None:
    said = texts(show("compare", **LINK, currency="EUR"))
    assert "How much EUR is one USD?" in said
    assert "Amounts in USD" in said


# -- empty and partial -------------------------------------------------------------------------


def test_a_described_workload_without_numbers_asks_for_them_and_gives_an_example() -> None:
    shown = show("compare", workload="described")
    assert "How heavy is the workload?" in texts(shown)
    shown.button(key="compare.example").click()
    sound(shown.run())
    assert "finishes 1 epoch of 7B language model" in texts(shown)
    assert not shown.warning
    assert _address(shown)["params"] == ["7000000000"]


def test_no_option_is_a_choice_with_a_way_back() -> None:
    shown = show("compare", options="")
    assert "No option is chosen." in texts(shown)
    shown.button(key="compare.back").click()
    assert "finishes 2000 epochs" in texts(sound(shown.run()))


def test_one_option_alone_is_answered(store: Store) -> None:
    shown = show("compare", options="buy-1x-rtx-5090")
    assert sentence(_comparison(store, options="buy-1x-rtx-5090")) in texts(shown)
    assert "No option is rented" in texts(shown)


def test_where_everything_is_refused_the_reason_stands_in_the_sentence(store: Store) -> None:
    link: dict[str, str | list[str]] = {
        "workload": "described", "name": "Huge", "samples": "1000", "params": "1e12",
        "tokens": "2048", "network_optimizer": "Adam", "options": "buy-1x-rtx-5090",
    }  # fmt: skip
    shown = show("compare", **link)
    assert sentence(_comparison(store, **link)) in texts(shown)
    assert "Does not fit" in texts(shown)
    assert "Nothing to draw" in texts(shown)
    assert "Take " in str(_table(shown)[0]["why"])


@pytest.mark.usefixtures("alone")
def test_without_any_run_a_workload_can_be_described() -> None:
    shown = show("compare")
    assert "No run has been measured yet" in texts(shown)
    shown.button(key="compare.example").click()
    assert "finishes 1 epoch of 7B language model" in texts(sound(shown.run()))


def test_without_a_catalogue_what_was_measured_is_compared(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(compare_state, "SHIPPED", tmp_path / "nothing")
    shown = show("compare")
    assert {r["option"] for r in _table(shown)} == {"Own TPU v2-8", "Own GPU"}


@pytest.mark.usefixtures("alone")
def test_without_runs_and_catalogue_the_page_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(compare_state, "SHIPPED", tmp_path / "nothing")
    shown = show("compare", workload="described", samples="1e5", params="7e9")
    assert "There is nothing to compare." in texts(shown)


# -- options by hand ---------------------------------------------------------------------------


def _by_hand(shown: AppTest) -> AppTest:
    return unfold(shown, "compare.by_hand")


def test_an_option_by_hand_is_added_chosen_and_travels(store: Store) -> None:
    shown = _by_hand(show("compare"))
    shown.selectbox(key="compare.own.accelerator").set_value("h100-sxm")
    shown.number_input(key="compare.own.count").set_value(8)
    shown.number_input(key="compare.own.price").set_value(12.5)
    shown.button(key="compare.own.add").click()
    sound(shown.run())
    address = _address(shown)
    assert address["own"] == ["rent|h100-sxm|8|12.5"]
    assert "mine-rent-h100-sxm-8-12.5" in address["options"]
    assert "Rent 8 x H100 SXM5 80GB (own entry)" in {r["option"] for r in _table(shown)}
    again = show("compare", **{n: list(v) for n, v in address.items()})
    assert _table(again) == _table(shown) or len(_table(again)) == len(_table(shown))


def test_an_entry_without_a_price_is_told_and_nothing_is_added() -> None:
    shown = _by_hand(show("compare"))
    shown.button(key="compare.own.add").click()
    assert "Write the price per hour behind the count" in texts(sound(shown.run()))
    assert _address(shown) == {}


def test_the_price_of_a_chosen_option_is_overridden_in_the_link_alone() -> None:
    shown = _by_hand(show("compare", options=OPTIONS[:1]))
    shown.selectbox(key="compare.own.instead").set_value("buy-1x-rtx-5090")
    sound(shown.run())
    shown.number_input(key="compare.own.price").set_value(1500.0)
    shown.button(key="compare.own.add").click()
    sound(shown.run())
    assert [r["price"] for r in _table(shown)] == ["1,500 USD, own entry"]


def test_an_entry_is_removed_from_link_and_options() -> None:
    shown = _by_hand(show("compare", **LINK))
    shown.button(key="compare.own.remove.rent-h100-sxm-1-1.99").click()
    sound(shown.run())
    assert "own" not in _address(shown)
    assert len(_table(shown)) == 2


# -- coming back -------------------------------------------------------------------------------


def test_the_page_is_as_it_was_left_when_one_comes_back() -> None:
    shown = show("compare", **LINK)
    before, address = _table(shown), _address(shown)
    shown.query_params.clear()
    sound(shown.switch_page("throughput.py").run())
    shown.query_params.clear()
    sound(shown.switch_page("compare.py").run())
    assert _address(shown) == address
    assert [r["cost"] for r in _table(shown)] == [r["cost"] for r in before]


def test_the_report_is_the_planners_and_holds_the_link() -> None:
    shown = show("compare", **LINK)
    button = next(b for b in shown.get("download_button") if "compare.report" in b.proto.id)
    assert button.proto.label == "Report"


def test_an_answer_is_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = show("compare", **LINK)

    def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(compare_state, "answered", never)
    shown.segmented_control(key="compare.view").set_value("month")
    sound(shown.run())


def test_no_markup_comes_in_by_a_description() -> None:
    evil = "<img src=x onerror=alert(1)> **b** [l](http://evil.example)"
    shown = show("compare", workload="described", name=evil, samples="1e5", params="7e9")
    body = json.dumps([str(m.value) for m in shown.markdown])
    assert "<img src=x" not in body
    assert "**b**" not in body


@pytest.mark.parametrize("optimizer", ["sgd", "sgd-momentum-0.9"])
def test_the_usual_optimiser_is_the_workloads_own_as_for_a_program(
    optimizer: str, store: Store
) -> None:
    link: dict[str, str | list[str]] = {
        "workload": f"mlp-64-64-digits-{optimizer}-float32", "goal": "target"
    }  # fmt: skip
    shown = show("compare", **link)
    assert shown.selectbox(key="compare.optimizer").value == optimizer
    assert sentence(_comparison(store, **link)) in texts(shown)
    assert "optimizer" not in _address(shown)
