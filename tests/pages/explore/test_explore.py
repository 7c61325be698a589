"""The page Explore: its views, and what its link holds."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from pages.common.narrow import MOST_CARDS
from pages.explore import state
from pages.explore.doors import EPOCH
from pages.explore.page import VIEWS
from planner.answers import facet_names
from planner.core import slug as slug_of
from planner.explore import PRESETS
from planner.store import Store, queries
from tests.each import each
from tests.pages.conftest import figure, legend, on_tab, show, sound, texts, unfold
from tests.pages.scaling_out.test_own_runs import run
from tests.store.build import EPOCHS, a_set, row


@pytest.mark.parametrize("view", list(VIEWS))
def test_each_view_opens_from_its_link(view: str) -> None:
    shown = show("explore", view=[view])
    assert shown.title[0].value == "Explore"
    assert ("view" in shown.query_params) == (view != "chart")
    assert not shown.warning


def test_a_formula_is_drawn_and_a_hostile_one_is_refused_in_words() -> None:
    shown = show("explore", x="params", y="peak_memory_bytes / params")
    assert not shown.warning
    assert len(shown.get("plotly_chart")) == 1
    refused = show("explore", x="params", y="9**9**9")
    assert "exponent" in texts(refused)
    assert not refused.get("plotly_chart")


def test_runs_are_listed_in_a_tab_and_those_of_a_marked_area_below_the_chart() -> None:
    asked = {"x": "global_batch_size", "y": "samples_per_s"}
    chart, listed = show("explore", **asked), show("explore", **asked, tab="table")
    assert [len(part.dataframe) for part in (chart, listed)] == [0, 1]
    assert [len(part.get("plotly_chart")) for part in (chart, listed)] == [1, 0]
    assert "runs on the chart" in texts(listed)
    marked = show("explore", **asked, brush="0,0,100,1e9")
    assert len(marked.dataframe) == len(marked.get("plotly_chart")) == 1
    assert "runs marked" in texts(marked)
    assert "runs marked" in texts(show("explore", **asked, brush="0,0,100,1e9", tab="table"))


def test_a_pivot_table_shows_its_totals_in_the_tab_table() -> None:
    asked = {"view": "pivot", "rows": "software", "columns": "mode", "measure": "samples_per_s"}
    heat, table = show("explore", **asked), show("explore", **asked, tab="table")
    assert [len(part.get("plotly_chart")) for part in (heat, table)] == [1, 0]
    assert not heat.dataframe
    assert table.dataframe[0].value["Software"].tolist()[-1] == "All"


@each("preset", list(PRESETS))
def test_a_pivot_table_opened_from_a_preset_has_runs(preset: str, library_pages: None) -> None:
    """A preset filters one workload, whose runs may state no MFU."""
    shown = show("explore")
    sound(shown.pills("explore.preset").set_value(preset).run())
    sound(shown.segmented_control[0].set_value("pivot").run())
    assert shown.get("plotly_chart"), texts(shown)
    assert ": 0 runs" not in texts(shown)


def test_closed_boxes_draw_no_field_and_lose_no_choice() -> None:
    chosen = {"symbol": "precision", "mode": "training"}
    shown = show("explore", x="global_batch_size", y="samples_per_s", **chosen)
    assert not shown.multiselect
    assert {box.label for box in shown.selectbox} == {"x", "y", "Colour"}
    assert "Mode: training" in texts(shown)
    shown.button("explore.clear").click().run()
    assert "Mode: training" not in texts(shown)
    assert shown.query_params["symbol"] == "precision"


def test_marked_runs_of_several_workloads_say_which_one_a_page_opens_with() -> None:
    asked = {"x": "global_batch_size", "y": "samples_per_s", "tab": "table"}
    several = texts(show("explore", **asked))
    assert "Pages about one workload open with " in several
    assert "Results opens with the first 60." in several
    one = texts(show("explore", **asked, workload="wideresnet-103m-cifar-100-adam-float32"))
    assert "Pages about one workload" not in one
    assert "Results opens with" not in one


def test_the_open_markers_of_suspect_runs_are_in_the_legend() -> None:
    assert "suspect run" in legend(show("explore", x="global_batch_size", y="later_epoch_mean_s"))


def test_without_a_suspect_run_the_legend_names_none(alone: Path) -> None:
    a_set(alone, [run(1, b) for b in (64, 256, 1024)])
    shown = show("explore", x="global_batch_size", y="samples_per_s", colour="accelerator")
    assert "suspect run" not in legend(shown)


def test_runs_with_a_speed_alone_open_on_how_long_too(alone: Path) -> None:
    """How long? has a field for the samples of an epoch, which the runs do not state."""
    a_set(alone, [run(1, b) for b in (64, 256, 1024)])
    shown = show("explore", x="global_batch_size", y="samples_per_s", tab="table")
    opened = [str(link.proto.page) for link in shown.get("page_link")]
    assert opened == ["throughput", "how-long", "compare", "results"]


@each("preset", ["memory", "price"])
def test_marked_runs_of_a_preset_open_with_an_answer(preset: str, library_pages: None) -> None:
    """Their samples per epoch are not stated; the links bring a size, which the page says."""
    shown = show("explore")
    sound(shown.pills("explore.preset").set_value(preset).run())
    runs = on_tab(shown)
    links = {str(p.proto.page): p.proto.query_string for p in runs.get("page_link")}
    for page in ("how-long", "compare"):
        asked = parse_qs(links[page])
        assert asked.get("samples_per_epoch", [str(EPOCH)]) == [str(EPOCH)]
        opened = show(page, **asked)
        assert opened.get("plotly_chart"), (page, texts(opened))
    assert ("samples_per_epoch" in links["compare"]) == ("open with 1,000,000" in texts(runs))


def test_on_a_telephone_listed_runs_are_cards_that_open_them(store: Store) -> None:
    shown = show("explore", x="global_batch_size", y="samples_per_s", tab="table")
    bodies = [str(h.proto.body) for h in shown.get("html")]
    [cards] = [body for body in bodies if "epochwise-cards" in body]
    listed = re.findall(r'href="results\?run=([0-9a-f]{32})"', cards)
    assert 1 < len(listed) <= MOST_CARDS
    assert {*listed} <= {*state.runs_of(store)["run_id"].to_pylist()}
    assert "Batch size" in cards


def test_fitted_curves_over_devices_are_drawn_and_listed(alone: Path) -> None:
    a_set(alone, [run(n, n * b) for n in (1, 2, 4, 8) for b in (64, 256)])
    shown = show("explore", x="devices", y="samples_per_s")
    assert "Lines: fitted scaling law with its 90 % band" in texts(shown)
    opened = unfold(shown, "explore.fitted")
    listed = "".join(str(html.proto.body) for html in opened.get("html"))
    assert "batch 256 per device" in listed
    assert "1 to 8 devices" in listed
    without = show("explore", x="devices", y="samples_per_s", fit="off")
    assert "Lines: fitted" not in texts(without)
    assert without.query_params["fit"] == "off"


@pytest.mark.parametrize(("y", "noted"), [("time_to_target_s", True), ("samples_per_s", False)])
def test_times_to_target_over_devices_say_why_they_have_no_curve(y: str, *, noted: bool) -> None:
    assert ("No fitted curve:" in texts(show("explore", x="devices", y=y))) == noted


def test_a_preset_without_values_says_so() -> None:
    assert "No run states Energy." in texts(show("explore", x="global_batch_size", y="energy_kwh"))


def test_the_marked_area_can_be_drawn_alone_and_left_again() -> None:
    shown = show("explore", x="global_batch_size", y="samples_per_s", brush="0,0,100,1e9")
    marked = re.findall(r"([\d,]+) runs marked", texts(shown))
    shown.button("explore.nearer").click().run()
    assert shown.query_params["within"] == "0,0,100,1e9"
    assert "brush" not in shown.query_params
    assert re.findall(r"([\d,]+) runs on the chart", texts(shown)) == marked
    shown.button("explore.all").click().run()
    assert "within" not in shown.query_params
    assert not shown.dataframe


def test_a_query_without_numbers_to_draw_says_so() -> None:
    none = "SELECT system, NULL::DOUBLE AS speed FROM runs LIMIT 3"
    shown = show("explore", view="sql", sql=none, sql_form="points")
    assert "No row states speed." in texts(shown)
    assert not shown.get("plotly_chart")


def test_the_legend_of_symbols_hides_and_shows_their_runs() -> None:
    asked = {"x": "global_batch_size", "y": "samples_per_s", "symbol": "precision"}
    shown = show("explore", **asked)
    every = re.findall(r": ([\d,]+) runs", texts(shown))
    legend = shown.pills("explore.symbols")
    first, *others = legend.value or []
    legend.set_value(others).run()
    assert shown.query_params["hidden_symbols"] == first
    fewer = re.findall(r": ([\d,]+) runs", texts(shown))
    assert int(fewer[0].replace(",", "")) < int(every[0].replace(",", ""))
    assert fewer == re.findall(
        r": ([\d,]+) runs", texts(show("explore", **asked, hidden_symbols=[first]))
    )
    shown.pills("explore.symbols").set_value([first, *others]).run()
    assert "hidden_symbols" not in shown.query_params
    assert re.findall(r": ([\d,]+) runs", texts(shown)) == every
    shown.pills("explore.symbols").set_value([]).run()
    assert not shown.exception
    assert not shown.get("plotly_chart")
    assert shown.pills("explore.symbols").value == []


def test_symbols_that_the_colours_name_have_one_legend() -> None:
    shown = show("explore", x="global_batch_size", y="samples_per_s", colour="precision",
                 symbol="precision")  # fmt: skip
    assert not [p for p in shown.pills if p.key == "explore.symbols"]


@pytest.mark.parametrize("count", [2, 3, 6])
def test_pairs_side_by_side_have_facts_pictures_and_provenance(store: Store, count: int) -> None:
    runs = state.runs_of(store)
    both = zip(runs["workload"].to_pylist(), runs["system"].to_pylist(), strict=True)
    facets = facet_names(store)
    slug = {kind: {name: s for s, name in facets[kind].items()} for kind in ("workload", "system")}
    pairs = list(dict.fromkeys(both))[:count]
    texts_of = [f"{slug['workload'][w]}|{slug['system'][s]}" for w, s in pairs]
    shown = show("explore", view="side", pair=texts_of)
    assert not shown.warning
    chips = shown.multiselect("explore.pairs")
    assert chips.value == texts_of
    assert list(chips.options)[:count] == [f"{w} · {s}" for w, s in pairs]
    heads = [name for name in shown.table[0].value.columns if " · " in str(name)]
    assert [str(head)[0] for head in heads] == list("ABCDEF"[:count])
    said = texts(shown)
    assert "the run of each pair with the highest throughput" in said
    assert re.search(r"\d+ of \d+ facts differ", said)
    provenance = shown.dataframe[-1].value
    [ids] = [row for row in provenance.to_dict("records") if row["Fact"] == "Run"]
    assert len({value for name, value in ids.items() if " · " in str(name)}) == count


def test_pictures_side_by_side_name_what_no_run_states(store: Store) -> None:
    ids = (str(run) for run in state.runs_of(store)["run_id"].to_pylist())
    timed = (run for run in ids if queries.nested(store, run, "epochs"))
    shown = show("explore", view="side", run=list(itertools.islice(timed, 2)))
    assert len(shown.get("plotly_chart")) == 1
    assert "None of these runs has single step times stored." in texts(shown)


def test_the_legend_of_pairs_names_their_systems(alone: Path) -> None:
    """Their own names begin with the workload, so that a legend would cut what differs."""
    systems = ("NVIDIA H100 80GB HBM3", "NVIDIA H200")
    a_set(alone, [row(system_name=s, epochs=EPOCHS, epochs_measured=2) for s in systems])
    shown = show("explore", view="side", pair=[f"resnet-50|{slug_of(s)}" for s in systems])
    names = [trace["name"] for trace in figure(shown)["data"]]
    assert names == ["A · NVIDIA H100 80GB HBM3", "B · NVIDIA H200"]


def test_a_seventh_pair_is_named_as_too_many(store: Store) -> None:
    runs = state.runs_of(store)
    both = zip(runs["workload"].to_pylist(), runs["system"].to_pylist(), strict=True)
    pairs = [f"{slug_of(w)}|{slug_of(s)}" for w, s in list(dict.fromkeys(both))[:7]]
    assert (
        "7 values; the first 6 are used"
        in show("explore", view="side", pair=pairs).warning[0].value
    )
