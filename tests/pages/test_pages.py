"""Every page on the shipped results: what it says is what the planner says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.common import kept
from pages.how_long.tiles import total_cells
from pages.results import table as listed
from planner.answers import batch_rows, curve_answered, epochs_rows, ratio_rows
from planner.core.slugs import slugs
from planner.epochs import EPOCHS, MOST_CHOSEN, HowLong, Option, options_of, usual_options
from planner.epochs.how_long import how_long
from planner.figures import cell_text
from planner.figures.frame import LIGHT
from planner.store import Store, commit_runs, queries
from planner.throughput import curve_sentence, curves_of
from tests.pages.conftest import SHELL, figure, lines, show, sound, texts, unfold
from tests.shipped import all_of, runs, some_of
from tests.store.build import row
from tests.titles import PAGES

WORKLOAD = "wideresnet-103m-cifar-100-adam-float32"


def _first(store: Store) -> tuple[str, str]:
    workload = next(iter(queries.workloads(store)))
    return workload, next(iter(queries.patterns(store, workload)))


def _options(store: Store, place: int = 0) -> list[Option]:
    workload, _ = _first(store)
    pattern = list(queries.patterns(store, workload))[place]
    return options_of(queries.runs_of(store, workload, pattern))


def _shown_by_default(store: Store, epochs: int = EPOCHS) -> HowLong:
    options = _options(store)
    by_slug = dict(zip(slugs(o.label for o in options), options, strict=True))
    baseline = options[0]
    chosen = [by_slug[s] for s in usual_options(by_slug)]
    return how_long(list(dict.fromkeys([*chosen, baseline])), epochs, baseline.label)


# -- the frame ---------------------------------------------------------------------------------


@pytest.mark.parametrize("address", PAGES)
def test_every_page_opens_under_its_title_without_an_exception(address: str) -> None:
    shown = show(address)
    assert [t.value for t in shown.title] == [PAGES[address]]
    assert not shown.warning


def test_an_error_has_a_number_that_stands_in_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_: object) -> None:
        raise RuntimeError("/somewhere/secret")

    monkeypatch.setattr(kept, "totals", broken)
    shown = AppTest.from_file(str(SHELL), default_timeout=60).run()
    [error] = shown.error
    number = re.findall(r"under ([0-9a-f]{12})", error.value)[0]
    assert "secret" not in error.value
    assert f"Error {number} follows." in caplog.messages


@pytest.mark.parametrize("address", PAGES)
def test_every_page_says_how_much_there_is_and_how_fresh(address: str, store: Store) -> None:
    known = queries.totals(store)
    foot = [c.value for c in show(address).sidebar.caption]
    assert len(foot) == 1
    assert f"{len(store.sets)} result sets" in foot[0]
    assert f"{known.runs:,} runs" in foot[0]


@pytest.mark.parametrize("address", PAGES)
def test_an_unknown_parameter_is_named_and_disturbs_no_page(address: str) -> None:
    shown = show(address, zzz="1", __proto__="2")
    assert "zzz: unknown setting on this page" in shown.warning[0].value
    assert not shown.exception


# -- how long ----------------------------------------------------------------------------------


def test_how_long_answers_2000_epochs_in_the_planners_words(store: Store) -> None:
    assert _shown_by_default(store).sentence in texts(show())


def test_the_link_asks_for_another_number_of_epochs(store: Store) -> None:
    assert _shown_by_default(store, 500).sentence in texts(show(epochs="500"))


def test_the_ranked_table_holds_the_planners_totals_fastest_first(store: Store) -> None:
    result = _shown_by_default(store)
    table = show(tab="table").dataframe[0].value
    assert list(table["option"]) == [a.option.label for a in result.answers]
    assert list(table["total"]) == [total_cells(a)[0] for a in result.answers]


def test_the_other_numbers_of_epochs_are_the_planners(store: Store) -> None:
    result = _shown_by_default(store)
    rows = epochs_rows([a.option for a in result.answers])
    shown = unfold(show(), "how-long.others")
    assert shown.dataframe[0].value.to_dict("records") == rows


def test_the_ratio_report_is_the_planners(store: Store) -> None:
    rows = ratio_rows(_options(store), "TPU v2-8", "GPU", EPOCHS)
    shown = unfold(show(), "how-long.against")
    assert shown.dataframe[0].value.to_dict("records") == rows


@pytest.mark.parametrize(
    ("address", "key"), [("how-long", "how-long"), ("throughput", "throughput")]
)
def test_every_number_has_a_source_and_a_licence(address: str, key: str) -> None:
    sources = unfold(show(address), f"{key}.origin").dataframe[0].value
    assert sources["Source"].str.contains("koshian2").all()
    assert sources["Licence"].str.len().gt(0).all()


def tiles(shown: AppTest) -> str:
    """The tiles of the answer, as HTML."""
    return next(str(h.proto.body) for h in shown.get("html") if "epochwise-answer" in h.proto.body)


def test_another_session_widens_the_interval_and_says_so() -> None:
    shown = show()
    before = tiles(shown)
    shown.toggle(key="how-long.session").set_value(True).run()
    assert "any session on hardware of this kind" in texts(sound(shown))
    assert before != tiles(shown)


@pytest.mark.parametrize("epochs", [10, 20, 50, 100, 200, 500, 1000])
def test_a_quick_pick_writes_into_the_number_beside_it(epochs: int) -> None:
    shown = show()
    quick = next(b for b in shown.button_group if b.key == "how-long.quick")
    quick.set_value(epochs).run()
    assert shown.number_input(key="how-long.epochs").value == epochs
    assert f"{epochs} epochs of" in texts(sound(shown))


def test_a_number_that_is_no_quick_pick_lights_none() -> None:
    shown = show(epochs="777")
    assert next(b for b in shown.button_group if b.key == "how-long.quick").value is None


def test_the_chart_draws_each_chosen_system_in_a_colour_of_the_palette() -> None:
    drawn = figure(show())["data"]
    curves = [t for t in drawn if t["mode"] == "lines" and t.get("hoverinfo") != "skip"]
    assert len(curves) == 5
    colours = {t["line"]["color"] for t in curves}
    assert len(colours) == 5  # shades of the two systems' hues
    assert len(colours & set(LIGHT)) == 2


def test_a_system_keeps_its_colour_when_others_are_taken_away() -> None:
    def hues(shown: object) -> set[str]:
        drawn = figure(shown)["data"]  # type: ignore[arg-type]
        of_tpus = (t for t in drawn if str(t.get("name")).startswith("TPU") and "line" in t)
        return {str(t["line"].get("color")) for t in of_tpus} & set(LIGHT)

    alone = show(systems="tpu-v2-8-batch-512", baseline="tpu-v2-8-batch-64")
    assert hues(alone) == hues(show()) == {LIGHT[2]}


def test_linear_and_log_scales_are_what_they_are_called() -> None:
    assert figure(show())["layout"]["yaxis"]["type"] == "log"
    assert figure(show(scale="linear"))["layout"]["xaxis"]["type"] == "linear"


def test_no_system_chosen_shows_why_and_one_button_back(store: Store) -> None:
    shown = show(systems="")
    assert "No system is chosen." in texts(shown)
    assert not shown.get("plotly_chart")
    shown.button(key="how-long.back").click().run()
    assert _shown_by_default(store).sentence in texts(sound(shown))


def test_another_workload_shows_its_own_systems() -> None:
    shown = show()
    shown.selectbox(key="how-long.workload").select("unnamed-model").run()
    assert sound(shown).multiselect(key="how-long.systems").value == [
        "gpu",
        "2-x-gpu-without-p2p",
    ]


# -- refusals ----------------------------------------------------------------------------------

FEED = "no-validation-no-augmentation-from-memory-1-worker-fed-by-"


@pytest.mark.parametrize("feed", ["fit", "fit-truncated", "generator"])
def test_where_every_option_is_refused_the_reason_and_the_next_step_are_shown(feed: str) -> None:
    shown = show(pattern=FEED + feed)
    said = texts(shown)
    assert "No total for 2000 epochs of WideResNet-103M: Only the mean of epochs 2 and" in said
    assert "Next: Measure the first epoch and the time before it." in said
    assert "No chart: every option is refused. The table shows why." in said
    assert not shown.get("plotly_chart")


def test_a_refused_option_stands_in_the_table_with_its_reason() -> None:
    table = show(pattern=FEED + "fit", tab="table").dataframe[0].value
    assert set(table["total"]) == {"–"}
    assert all("Measure the first epoch" in why for why in table["why"])


def test_one_epoch_is_answered_where_more_are_refused() -> None:
    assert "1 epoch of WideResNet-103M" in texts(show(epochs="1"))


# -- throughput --------------------------------------------------------------------------------


def test_curves_of_another_workload_stand_beside_with_their_workloads_name() -> None:
    alone = lines(show("throughput", workload=WORKLOAD))
    both = lines(show("throughput", workload=WORKLOAD, beside="unnamed-model"))
    assert len(both) > len(alone)
    assert all("unnamed model" in name or "WideResNet" in name for name in both)
    assert any("unnamed model" in name for name in both)


def test_forms_of_a_network_tell_what_they_lose(own: Path) -> None:
    timed: dict[str, Any] = {
        "mode": "inference",
        "model": "MLP",
        "dataset": "digits",
        "evaluation_metric": "accuracy",
        "step_s": 0.5,
    }
    kept = [
        row(**timed, throughput=100.0, final_metric=0.98),
        row(**timed, variant="int8", throughput=50.0, final_metric=0.97),
    ]
    commit_runs(own / "mine", kept)
    shown = show("throughput", workload="mlp-digits")
    table = next(t.value for t in shown.dataframe if "Form" in t.value)
    assert list(table["Form"]) == ["as trained, float32", "int8"]
    assert list(table["Points lost"]) == [0.0, 1.0]


def test_throughput_speaks_the_planners_sentences(store: Store) -> None:
    curves = curves_of([o.run for o in _options(store)])
    said = texts(show("throughput"))
    assert curves
    assert all(curve_sentence(c) in said for c in curves)


def test_published_parameters_make_a_curve_without_points() -> None:
    shown = show("throughput", workload="unnamed-model")
    assert "saturates at 513.8 samples/s" in texts(shown)
    assert len(shown.get("plotly_chart")) == 1  # no points, so no residuals


def test_two_patterns_of_one_system_are_distinguished(store: Store) -> None:
    patterns = list(slugs(queries.patterns(store, _first(store)[0])))[:2]
    labels = set(lines(show("throughput", workload=WORKLOAD, patterns=patterns)))
    assert len(labels) == 4


def test_no_curve_chosen_shows_one_button_back() -> None:
    shown = show("throughput", systems="")
    assert "No curve is chosen." in texts(shown)
    shown.button(key="throughput.back").click().run()
    assert "saturates at" in texts(sound(shown))


# -- results -----------------------------------------------------------------------------------


def test_all_runs_are_listed_and_counted(store: Store) -> None:
    shown = show("results")
    total = queries.totals(store).runs
    assert f"{total:,} of {total:,} runs" in texts(shown)
    assert len(shown.dataframe[0].value) == min(total, queries.MOST_ROWS)


def test_a_run_says_first_what_it_trains_and_its_numbers_have_three_digits_that_count() -> None:
    shown = show("results").dataframe[0]
    first = ["flag", "system", "global_batch_size", "workload"]
    assert list(shown.proto.column_order[:4]) == first
    columns = json.loads(shown.proto.columns)
    formats = {name: columns[name]["type_config"]["format"] for name in listed.MEASURED}
    for name in listed.MEASURED:
        assert formats[name] == listed.DIGITS
    for name in listed.MEASURED:
        values = shown.value[name].dropna()
        assert (values == [float(f"{v:.3g}") for v in values]).all()
        assert (values > 0.0).all()


def test_numbers_keep_three_digits_and_thousands_stand_apart() -> None:
    values = np.array([423_101.6, 0.0012349, -41.26, 0.0, np.nan, 1139.5])
    answer = listed.three_digits(values)
    np.testing.assert_allclose(answer, [423_000.0, 0.00123, -41.3, 0.0, np.nan, 1140.0])
    assert [cell_text(v, listed.DIGITS) for v in answer] == [
        "423,000", "0.00123", "-41.3", "0", "–", "1,140"
    ]  # fmt: skip


def test_the_smallest_numbers_there_are_stay_what_they_are() -> None:
    tiny = np.array([1e-320, 1e-307, -1e-310])
    np.testing.assert_array_equal(listed.three_digits(tiny), tiny)


def test_a_filter_leaves_the_runs_it_names_and_counts_stand_beside_options() -> None:
    shown = show("results", system="gpu")
    assert some_of(system="GPU") in texts(shown)
    assert set(shown.dataframe[0].value["system"]) == {"GPU"}
    offered = unfold(shown, "results.filters").multiselect(key="results.global_batch_size").options
    assert f"64 ({runs(system='GPU', global_batch_size='64')})" in offered
    assert not any(option.endswith("(0)") for option in offered)


def test_filters_that_leave_nothing_are_named_and_one_button_clears_them() -> None:
    shown = show("results", system="gpu", global_batch_size="512")
    assert "No run to show." in texts(shown)
    assert f"The filters on System, Batch size leave none of {runs():,} runs." in texts(shown)
    shown.button(key="results.clear").click().run()
    assert all_of() in texts(sound(shown))


def test_a_run_opens_by_its_link_and_closes_to_the_same_filters(store: Store) -> None:
    run = _options(store)[0].run
    shown = show("results", run=run.run_id, system="gpu")
    assert "at batch 64: 18 min 28 s an epoch of 49,984 samples, 18 min 51 s for epoch 1." in texts(
        shown
    )
    values = " ".join(shown.dataframe[0].value["Value"])
    assert run.run_id in values
    assert "koshian2" in values
    shown.button(key="results.all").click().run()
    assert some_of(system="GPU") in texts(sound(shown))


def test_every_recorded_column_is_shown_with_its_unit_and_meaning(store: Store) -> None:
    run = _options(store)[0].run
    columns = show("results", run=run.run_id).dataframe[1].value
    answer = columns.set_index("Column").loc["later_epoch_mean_s"]
    assert (answer["Value"], answer["Unit"]) == ("1108.4", "s")


def test_a_run_that_is_nowhere_is_reported_and_the_list_is_shown() -> None:
    said = texts(show("results", run="0" * 32))
    assert "this link's run is not in any result folder." in said
    assert all_of() in said


@pytest.mark.parametrize("run", ["abc", "x'; DROP TABLE runs; --", "../../etc/passwd"])
def test_what_is_no_run_id_is_reported_and_the_list_is_shown(run: str) -> None:
    said = texts(show("results", run=run))
    assert "is malformed." in said
    assert all_of() in said


# -- usual systems -----------------------------------------------------------------------------


def test_of_each_system_the_smallest_and_the_largest_batch_are_usual(store: Store) -> None:
    options = _options(store)
    usual = usual_options(dict(zip(slugs(o.label for o in options), options, strict=True)))
    assert usual == [
        "gpu-batch-64", "gpu-batch-256", "tpu-v2-8-batch-64", "tpu-v2-8-batch-512",
        "tpu-v2-8-batch-4-096",
    ]  # fmt: skip
    assert len(usual) <= MOST_CHOSEN


def test_throughput_answers_at_the_batch_sizes_of_the_link_as_the_command_does(
    store: Store,
) -> None:
    shown = show("throughput", batch=["300", "-1"])
    assert [w.value for w in shown.warning if "batch" in w.value]
    rows = batch_rows(curve_answered(store, {"batch": ["300"]}).chosen, [300.0])
    table = _at_batches(shown)
    assert list(table["Curve"]) == [r["curve"] for r in rows]
    assert list(table["Batch"]) == ["300"] * len(rows)
    shown.multiselect(key="throughput.batch").set_value(["300", "many"])
    again = sound(shown.run())
    assert any("not a number from 1 to" in w.value for w in again.warning)
    assert len(_at_batches(again)) == len(rows)


def _at_batches(shown: AppTest) -> Any:  # noqa: ANN401 - a table of pandas
    return next(t.value for t in shown.dataframe if "Step (s)" in t.value)


def test_columns_of_the_list_are_chosen_and_stand_in_the_link() -> None:
    shown = show("results", columns=["peak_memory_bytes", "energy_kwh"])
    first = ["flag", "system", "global_batch_size", "workload"]
    assert list(shown.dataframe[0].proto.column_order) == [
        *first,
        "peak_memory_bytes",
        "energy_kwh",
    ]
    shown.session_state["results.columns_box"] = True
    sound(shown.run()).button(key="results.columns_usual").click().run()
    assert "columns" not in shown.query_params
    usual = list(sound(shown).dataframe[0].proto.column_order)
    assert {"pre_train_s", "precision", "recorded_at"} <= set(usual)
    assert "energy_kwh" not in usual  # no run has one


def test_an_active_filter_is_a_chip_that_takes_it_out() -> None:
    shown = show("results", system="gpu", status="ok")
    chips = shown.button_group(key="results.active")
    close = ":material/close:"
    assert list(chips.options) == [f"System\\: GPU {close}", f"Status\\: ok {close}"]
    sound(chips.set_value(["status:ok"]).run())
    assert "system" not in shown.query_params
    assert list(shown.query_params["status"]) in (["ok"], list("ok"))
    shown.button_group(key="results.active").set_value([]).run()
    assert all_of() in texts(sound(shown))
