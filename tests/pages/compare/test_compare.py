"""Compare hardware: what the page says is what the planner answers to the same question."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from pages.common import hardware
from pages.common import kept as asked
from pages.common import kept as state
from pages.compare import answer
from pages.compare import state as compare_state
from pages.compare.inputs import MORE
from planner.answers.comparison import option_rows
from planner.catalog._records import Terms
from planner.compare import buying, limits_sentence, sentences
from planner.compare.rent_or_buy import rent_or_buy
from planner.compare.undecided import undecided
from planner.core import Estimate, interval, rounded_ends
from planner.core.slugs import slugs
from planner.cost import reference_rates
from planner.epochs import INFERENCE
from planner.job import Candidate, Hardware
from planner.report import comparison_charts
from planner.store import Store
from tests import shipped
from tests.faults.outcomes import FULL
from tests.pages.comparing import LINK, OPTIONS, WORKLOAD, address_of, comparison, table
from tests.pages.conftest import as_tables, figure, on_tab, show, sound, texts, unfold

pytestmark = pytest.mark.usefixtures("folders")

# -- the answer --------------------------------------------------------------------------------


def test_the_page_opens_on_fine_tuning_a_language_model_and_offers_whole_servers() -> None:
    shown = show("compare")
    assert "100 million tokens of Llama 3 8B" in texts(shown)
    options = [str(row["option"]) for row in table(shown)]
    assert any(o.startswith("Rent 8 x H100") for o in options)
    assert any(o.startswith("Rent 8 x MI300X") for o in options)
    assert any(o.startswith("Buy 8 x H100") and o.endswith("(server)") for o in options)
    prices = " ".join(str(row["price"]) for row in table(shown))
    assert "317,000 USD (39,625 USD each)" in prices
    assert address_of(shown)["network"] == ["llama-3-8b"]


def test_the_measured_workload_chosen_first_has_an_address_of_its_own() -> None:
    shown = show("compare", goal="epochs")
    address = address_of(shown)
    assert list(address) == ["workload"]
    again = show("compare", workload=address["workload"][0])
    assert "Llama" not in texts(again)


def test_the_page_answers_without_a_click_in_the_planners_words(store: Store) -> None:
    result = comparison(store, goal="epochs")
    shown = show("compare", goal="epochs")
    said = texts(shown)
    assert sentences(result)[0] in said
    assert "“Likely” compares the two options that are named" in said
    pair = rent_or_buy(result)
    assert pair is not None
    assert buying(pair) in said
    for text in undecided(result):
        assert text in said
    assert "measure next" in said
    assert list(address_of(shown)) == ["workload"]
    assert not shown.warning


def test_a_link_asks_the_page_what_it_asks_a_program(store: Store) -> None:
    result, shown = comparison(store, **LINK), show("compare", **LINK)
    assert all(text in texts(shown) for text in sentences(result))
    records = option_rows(result)
    for row, record in zip(table(shown), records, strict=True):
        assert row["option"] == record["option"]
        ends = [float(str(record[f"cost_per_run{end}"])) for end in ("", "_low", "_high")]
        assert row["cost"] == rounded_ends(ends[0], ends[1], ends[2], 3)[0]
        assert row["price"].endswith(str(record["price"]))
        assert row["price"].startswith("stale") == record["price_is_stale"]
        assert row["rank"] == f"{record['rank']}{'=' if record['tied'] else ''}"
    assert set(address_of(shown)) == {*LINK, "workload", "tab"}


def test_deadline_and_budget_name_the_options_that_keep_to_them(store: Store) -> None:
    result = comparison(store, **LINK)
    rest = limits_sentence(result, "x").split("x for", 1)[1]
    shown = show("compare", **LINK)
    assert f" for{rest}" in texts(shown)
    assert "Finish by" in texts(shown)
    assert any(r["in_time"] is not None for r in table(shown))


def test_the_first_row_is_the_baseline_until_another_is_chosen() -> None:
    shown = show("compare", **LINK)
    rows = table(shown)
    assert (rows[0]["cheaper"], rows[0]["faster"]) == ("equally expensive", "equally fast")
    last = rows[-1]
    shown.selectbox(key="compare.baseline").set_value(_id(shown, str(last["option"])))
    rows = table(sound(shown.run()))
    assert rows[-1]["cheaper"] == "equally expensive"
    assert str(rows[0]["cheaper"]).endswith("x cheaper")
    assert "baseline" in address_of(shown)


def _id(shown: AppTest, label: str) -> str:
    box = shown.selectbox(key="compare.baseline")
    return str({"Own TPU v2-8": "own-tpu-v2-8"}.get(label) or next(
        o for o in OPTIONS if label in box.options and _match(o, label)
    ))  # fmt: skip


def _match(option: str, label: str) -> bool:
    return option.startswith("buy") == label.startswith("Buy")


def test_numbers_for_a_month_are_the_runs_numbers_times_the_runs() -> None:
    run = table(show("compare", **LINK))
    month = table(show("compare", **LINK, view="month"))
    epoch = table(show("compare", **LINK, view="epoch"))
    for a, b, c in zip(run, month, epoch, strict=True):
        assert b["cost"] == pytest.approx(6 * a["cost"], rel=0.06)  # two digits are shown
        assert c["cost"] == pytest.approx(a["cost"] / 2000, rel=0.06)


def test_a_time_and_its_interval_have_cells_of_their_own_in_one_unit(store: Store) -> None:
    result = comparison(store, **LINK)
    units, hours = table(show("compare", **LINK)), table(show("compare", **LINK, show="hours"))
    for row, other, known in zip(units, hours, result.rows, strict=True):
        if isinstance(known.time, Estimate):
            ends = [float(end) for end in (known.time.value, known.time.low, known.time.high)]
            cells = f"{row['time']} ({row['time_range']})"
            assert cells == interval(ends[0], ends[1], ends[2])
            assert ":" not in row["time"]
            shown_h = float(other["time"].split(" h")[0].replace(",", ""))
            assert shown_h == pytest.approx(ends[0] / 3600, rel=0.06)


def test_what_decides_is_in_the_first_columns_and_the_rest_follows() -> None:
    link = {k: v for k, v in LINK.items() if k not in {"deadline", "budget"}}
    shown = show("compare", tab="table", **link)
    order = list(shown.dataframe[0].proto.column_order)
    assert order[:6] == ["rank", "short", "time", "time_range", "cost", "cost_range"]
    for name in ("cost_range", "finishes", "basis", "price"):
        assert order.index(name) < order.index("cheaper")
    odds = order[: order.index("cheapest") + 1]
    columns = json.loads(shown.dataframe[0].proto.columns)
    assert sum(columns[n]["width"] for n in odds) <= 700  # of 1,000 at 1,440 px
    seen = order[: order.index("price") + 1]
    assert sum(columns[n]["width"] for n in seen) <= 960  # at 1,400 px
    assert sum(columns[n]["width"] for n in ("rank", "short", "time")) <= 250  # of 335 at 400 px


def _offered(accelerator: str, provider: str, terms: Terms = "on demand") -> Candidate:
    every = hardware.catalog().catalog
    card = next(a for a in every.accelerators if a.id == accelerator)
    offer = replace(every.offers[0], accelerator=accelerator, provider=provider, terms=terms)
    return Candidate(id=f"{accelerator}-{provider}-{terms}", way="rent",
                     hardware=Hardware(label=card.name, accelerator=card, count=1),
                     offer=offer)  # fmt: skip


def test_two_offers_of_one_card_differ_within_the_room_of_their_column() -> None:
    every = [_offered("h100-sxm", p) for p in ("Lambda Labs", "CoreWeave", "RunPod")]
    names = list(comparison_charts.short_names(every).values())
    assert names == ["1 x H100, Lambda", "1 x H100, CoreWe.", "1 x H100, RunPod"]
    assert max(map(len, names)) <= 17
    forms = comparison_charts.short_names([*every, _offered("h100-pcie", "RunPod")])
    assert list(forms.values())[2:] == ["1 x H100 SXM5, RunPod", "1 x H100 PCIe, RunPod"]
    spot = comparison_charts.short_names([every[2], _offered("h100-sxm", "RunPod", "spot")])
    assert list(spot.values())[1] == "1 x H100 SXM5, RunPod spot"


def test_what_grey_means_is_in_the_legend_of_the_chart() -> None:
    def legend(**more: str) -> set[str]:
        spec = show("compare", **LINK, **more).get("plotly_chart")[0].proto.spec
        return {t["name"] for t in json.loads(spec)["data"] if t.get("showlegend")}

    assert "too late" in legend()  # one is bought: it is paid whole
    assert "too late or too dear" in legend(cost_limit="20")


def test_what_to_measure_is_listed_once_with_the_uncertainty_either_way(store: Store) -> None:
    result = comparison(store, **LINK)
    row = next(r for r in result.rows if isinstance(r.time, Estimate) and r.timed.measure_next)
    assert isinstance(row.time, Estimate)
    either_way = math.sqrt(float(row.time.high) / float(row.time.low))
    (line,) = answer._lines([row, row])
    assert line.replace("\\", "").endswith(f"(now within a factor of {either_way:.2g})")
    assert answer._with_factor("Time one step.", 1.01) == "Time one step."


def test_times_are_called_measured_only_where_every_one_was(store: Store) -> None:
    result = comparison(store, workload=WORKLOAD, options="own-tpu-v2-8")
    (row,) = result.rows
    assert isinstance(row.time, Estimate)
    assert row.time.basis == "extrapolated"
    said = texts(show("compare", workload=WORKLOAD, options="own-tpu-v2-8"))
    assert "Every time here was measured." not in said
    assert (
        "Every time is based on runs on that machine, some extrapolated to your settings." in said
    )
    measured = replace(result, rows=(replace(row, time=replace(row.time, basis="measured")),))
    assert answer._nothing_to_run(measured) == "Every time here was measured."
    published = replace(result, rows=(replace(row, time=replace(row.time, basis="published")),))
    assert answer._nothing_to_run(published).startswith("There is no run to propose")


def test_table_and_charts_call_an_option_the_same() -> None:
    link = {**LINK, "options": ["own-tpu-v2-8", "buy-1x-rtx-5090"]}
    shown = show("compare", **link)
    notes = {n["text"] for n in figure(shown)["layout"]["annotations"]}
    short = {r["short"] for r in table(shown) if r["cost"] == r["cost"]}
    assert "Own TPU v2-8" in {r["short"] for r in table(shown)}
    assert short <= notes


EURO: dict[str, str | list[str]] = {
    "currency": "EUR", "rate": "0.5", "rate_as_of": "2026-11-20", "tax": "20",
}  # fmt: skip


def test_a_budget_is_asked_kept_and_echoed_as_it_was_typed() -> None:
    shown = show("compare", **LINK, **EURO)
    field = shown.number_input(key="compare.budget")
    assert (field.value, field.label) == (500.0, "Budget (EUR, 20 % tax)")
    assert "for at most 500 EUR with tax" in texts(shown)
    field.set_value(1234.56)
    sound(shown.run())
    assert address_of(shown)["budget"] == ["1234.56"]
    assert "for at most 1,234.56 EUR with tax" in texts(shown)
    shown.number_input(key="compare.budget").set_value(None)
    assert "budget" not in address_of(sound(shown.run()))


def test_a_purchase_meets_a_budget_only_where_it_pays_the_whole_machine() -> None:
    """A card for 1,599 USD met a budget of 500 USD, since a run costs only a part of its price."""
    buy = {
        "workload": WORKLOAD, "options": "buy-1x-rtx-4090", "own": "rent|h100-sxm|1|1.99",
    }  # fmt: skip
    few, much = (texts(show("compare", **{**buy, "budget": b})) for b in ("500", "5000"))
    assert "only one does" in few
    assert "both do" in much
    shown = unfold(show("compare", **{**buy, "budget": "500", "cost_limit": "400"}), MORE)
    assert shown.number_input(key="compare.cost_limit").label == (
        "Cost per run at most (USD, no tax)"
    )


def test_each_probability_names_what_it_is_compared_with() -> None:
    shown = show("compare", **LINK, tab="table")
    columns = json.loads(shown.dataframe[0].proto.columns)
    assert columns["cheapest"]["label"] == "Cheapest of 3"
    assert columns["fastest"]["label"] == "Fastest of 3"
    assert "The answer compares two options" in columns["cheapest"]["help"]
    assert columns["in_time"]["label"] == "Meets limits"


def test_another_currency_or_tax_keeps_what_the_budget_is_worth(store: Store) -> None:
    shown = unfold(show("compare", **LINK, **EURO), "compare.box")
    shown.number_input(key="compare.tax").set_value(0.0)
    sound(shown.run())
    assert float(address_of(shown)["budget"][0]) == pytest.approx(500.0 / 1.2)
    shown.selectbox(key="compare.currency").set_value("USD")
    shown.number_input(key="compare.rate").set_value(None)
    sound(shown.run())
    assert float(address_of(shown)["budget"][0]) == pytest.approx(500.0 / 1.2 / 0.5)
    assert shown.number_input(key="compare.budget").label == "Budget (USD, no tax)"
    usd = comparison(store, **LINK, **EURO)
    assert usd.question.limits.budget_usd == pytest.approx(500.0 / 1.2 / 0.5)


def test_no_workload_that_is_offered_breaks_the_page(store: Store) -> None:
    names = slugs(asked.workloads(store))
    kept = set(shipped.every(names.values()))
    offered = [slug for slug, name in names.items() if name in kept]
    for slug in offered[:: 1 if FULL else 3]:  # `make faults` opens each
        show("compare", workload=slug)


def test_a_workload_with_inference_runs_only_is_refused_alike_on_both_pages() -> None:
    shown = show("compare", workload="mlp-512-512-digits-float32")
    assert shown.selectbox(key="compare.workload").value == "mlp-512-512-digits-float32"
    assert not shown.warning
    for page in (shown, show("how-long", workload="mlp-512-512-digits-float32")):
        assert INFERENCE.reason in texts(page)
        assert INFERENCE.measure_next in texts(page)
    shown.button(key="compare.trained").click().run()
    assert shown.selectbox(key="compare.workload").value in slugs(asked.workloads(state.store()))
    assert INFERENCE.reason not in texts(shown)


def test_a_link_to_a_workload_that_is_gone_says_so() -> None:
    shown = show("compare", workload="no-such-workload")
    assert "is no longer an option" in shown.warning[0].value


def test_another_currency_changes_amounts_and_no_order(store: Store) -> None:
    euro = {**LINK, "currency": "EUR", "rate": "0.5", "rate_as_of": "2026-11-20", "tax": "20"}
    dollars, euros = table(show("compare", **LINK)), table(show("compare", **euro))
    assert [r["option"] for r in dollars] == [r["option"] for r in euros]
    assert euros[0]["cost"] == pytest.approx(0.6 * dollars[0]["cost"], rel=0.06)
    said = texts(show("compare", **euro, tab="table"))
    assert "1 USD = 0.5 EUR as of 2026-11-20, 20 % tax included" in said


def test_the_rate_of_a_chosen_currency_stands_beside_it_with_its_date() -> None:
    rates = reference_rates()
    said = texts(unfold(show("compare", **LINK | {"currency": "CZK"}), "compare.box"))
    rate = f"1 USD = {rates.per_usd['CZK']:g} CZK as of {rates.as_of}, European Central Bank."
    assert rate in said
    assert "1 USD =" not in texts(unfold(show("compare", **LINK), "compare.box"))


def test_the_charts_hold_the_options_and_the_question() -> None:
    shown = show("compare", **LINK)
    names = {t["name"] for t in figure(shown)["data"] if t.get("mode") == "markers"}
    assert names == {r["option"] for r in table(shown) if r["cost"] == r["cost"]}
    notes = [n["text"] for n in figure(on_tab(shown, "use"))["layout"]["annotations"]]
    assert "6 requested" in notes
    by_use = show("compare", **LINK, chart="use", tab="use")
    assert "share of the time" in figure(by_use)["layout"]["xaxis"]["title"]["text"]


def test_what_matters_is_a_chart_and_a_table() -> None:
    shown = show("compare", **LINK)
    charts = len(shown.get("plotly_chart"))
    assert len(as_tables(shown, "tornado").get("plotly_chart")) == charts - 1
    [rows] = [t.value for t in shown.dataframe if "Input" in t.value.columns]
    assert list(rows.columns) == [
        "Input", "At its low end (USD)", "At its high end (USD)",
    ]  # fmt: skip
    assert len(rows) > 1


def test_a_target_is_asked_where_trials_are_known(store: Store) -> None:
    link: dict[str, str | list[str]] = {
        "workload": "mlp-64-64-digits-sgd-nesterov-0.9-float32", "goal": "target"
    }  # fmt: skip
    shown = show("compare", **link)
    assert all(text in texts(shown) for text in sentences(comparison(store, **link)))
    assert "% validation error" in texts(shown)
    assert not shown.warning
    assert [c.value for c in shown.segmented_control if c.key == "compare.goal"] == ["target"]


def test_the_country_sets_the_electricity_and_says_so() -> None:
    shown = unfold(show("compare", **LINK), "compare.box")
    field = shown.number_input(key="compare.tariff_usd_per_kwh")
    assert field.value is None
    assert field.placeholder.endswith(", Germany")
    assert "Used here: the price of Germany; enter your own to replace it" in texts(shown)


def test_ones_own_tariff_wins_over_the_country_be_it_the_usual_one(store: Store) -> None:
    shown = unfold(show("compare", **LINK), "compare.box")
    shown.number_input(key="compare.tariff_usd_per_kwh").set_value(0.15)
    sound(shown.run())
    assert address_of(shown)["tariff_usd_per_kwh"] == ["0.15"]
    said = texts(shown)
    assert "Used here: your own price; carbon is that of Germany." in said
    assert "is your own, 0.15 USD/kWh, not that of Germany" in said
    assumed = comparison(store, **LINK, tariff_usd_per_kwh="0.15").question.assumed
    assert assumed.tariff_usd_per_kwh == 0.15
    assert assumed.kg_co2_per_kwh == comparison(store, **LINK).question.assumed.kg_co2_per_kwh
    assert all(
        text in said for text in sentences(comparison(store, **LINK, tariff_usd_per_kwh="0.15"))
    )


def test_every_assumption_has_a_field_and_travels_in_the_link() -> None:
    shown = unfold(show("compare", goal="epochs"), "compare.box")
    shown.number_input(key="compare.life_years").set_value(6.0)
    sound(shown.run())
    assert address_of(shown)["life_years"] == ["6"]
    shown.session_state["compare.box"] = False
    sound(shown.run())
    sound(shown.run())
    assert address_of(shown)["life_years"] == ["6"]
    unfold(shown, "compare.box")
    assert shown.number_input(key="compare.life_years").value == 6.0
    shown.number_input(key="compare.pue").set_value(None)
    sound(shown.run())
    assert shown.number_input(key="compare.pue").value == 1.3
    shown.button(key="compare.defaults").click()
    assert list(address_of(sound(shown.run()))) == ["workload"]


def test_how_sure_each_time_is_and_where_it_is_from_are_reported_in_full() -> None:
    shown = unfold(unfold(show("compare", **LINK), "compare.sure"), "compare.origin")
    said = texts(shown)
    assert "Not measured on" in said
    assert "CC BY 4.0" in said


def test_how_sure_says_once_what_holds_for_several_options() -> None:
    before = show("compare")
    shown = unfold(before, "compare.sure")
    said = texts(shown)
    assert said.count("The start of the training program is not included.") == 1
    assert "**Rent 8 x MI300X (DigitalOcean)**, **Buy 8 x MI300X (server)** · estimated" in said
    captions = [c.value for c in shown.caption if "precision peak of the" in c.value]
    assert len(captions) == len(set(captions)) >= 5


# -- coming back -------------------------------------------------------------------------------


def test_the_page_is_as_it_was_left_when_one_comes_back() -> None:
    shown = show("compare", **LINK)
    before, address = table(shown), address_of(shown)
    shown.query_params.clear()
    sound(shown.switch_page("throughput/page.py").run())
    shown.query_params.clear()
    sound(shown.switch_page("compare/page.py").run())
    assert address_of(shown) == address
    assert [r["cost"] for r in table(shown)] == [r["cost"] for r in before]


def test_the_report_is_the_planners_and_holds_the_link() -> None:
    shown = show("compare", **LINK)
    button = next(b for b in shown.get("download_button") if "compare.report" in b.proto.id)
    assert button.proto.label == "Report"


def test_an_answer_is_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = show("compare", **LINK, tab="table")

    def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(compare_state, "answered_whole", never)
    shown.segmented_control(key="compare.view").set_value("month")
    sound(shown.run())


def test_no_markup_comes_in_by_a_description() -> None:
    evil = "<img src=x onerror=alert(1)> **b** [l](http://evil.example)"
    shown = show("compare", workload="described", name=evil, samples="1e5", flops="1e13")
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
    assert all(text in texts(shown) for text in sentences(comparison(store, **link)))
    assert "optimizer" not in address_of(shown)
