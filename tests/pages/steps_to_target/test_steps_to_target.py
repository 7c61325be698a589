"""Steps to target: the planner's sentences, targets chosen afterwards, step times, empty states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from streamlit.testing.v1 import AppTest

from pages.common.link import as_text
from planner.convergence import targets_of
from planner.core import Estimate, slug
from planner.runs import Trials, TrialSet, table_from_rows
from planner.store import Store, queries
from planner.throughput import curves_of
from planner.time_to_target import PlacedTimes, ReferenceSystem, compare, goal_of, timings_of
from planner.time_to_target.sentences import answer_sentences, note_lines, notes_of
from planner.time_to_target.tables import batch_rows, fit_rows
from tests.pages.conftest import as_tables, figure, lines, on_tab, show, sound, texts, unfold
from tests.pages.test_stores import HOSTILE, step
from tests.planner.made_trials import BATCHES, TARGET, sweep
from tests.store.build import a_set, opened, row, sealed_table, together

PAGE = "steps-to-target"
MADE = "net-data-validation-error"
STAND_IN = "lstm-1x128-synthetic-tokens-sgd-momentum-0.9-float32"


def _first(store: Store) -> tuple[TrialSet, Trials]:
    of = queries.trial_sets(store)[0]
    return of, queries.trials(store, of)


def _told(store: Store, target: float, optimizers: list[str] | None = None) -> list[str]:
    """The sentences with each optimiser's own step times."""
    of, trials = _first(store)
    compared = compare(trials, target, optimizers or trials.optimizers)
    times = {c.optimizer: _own_times(store, of, c.optimizer) for c in compared.curves}
    goal = goal_of(of, trials, target)
    return answer_sentences(compared, goal, timings_of(compared, times), times)


def _own_times(store: Store, of: TrialSet, optimizer: str) -> PlacedTimes:
    workload = f"{of.subject} · {optimizer} · {of.precision}"
    timed = queries.timed_systems(store, workload)[0]
    [curve] = curves_of(queries.runs_of(store, workload, timed.pattern))
    place = ReferenceSystem(system=curve.runs[0].system, workload=workload)
    return PlacedTimes(place=place, curve=curve.curve)


def made(own: Path, *more: dict[str, Any]) -> None:
    """A set of trials of one's own, with further runs."""
    together(a_set(own), [*sweep(), *more])


def answer(shown: AppTest) -> str:
    return "\n".join(texts(shown).splitlines()[1:])


# -- the answer ----------------------------------------------------------------------------------


def test_the_shipped_trials_are_answered_in_the_planners_words(store: Store) -> None:
    said = texts(show(PAGE))
    _, trials = _first(store)
    sentences = _told(store, trials.target)
    assert len(sentences) == len(trials.optimizers) + 1  # and which is there first
    assert all("; on 2-core AMD EPYC the best batch is " in s for s in sentences[:-1])
    assert all(s in said for s in sentences)
    assert sentences[0].startswith("Beyond batch ")


def test_the_recorded_target_is_the_usual_one() -> None:
    assert show(PAGE).select_slider(key=f"{PAGE}.target").value == "0.025"


@pytest.mark.parametrize("target", [0.1, 0.05, 0.018])
def test_another_target_is_asked_of_the_same_curves(store: Store, target: float) -> None:
    said = texts(show(PAGE, target=f"{target:g}"))
    assert all(s in said for s in _told(store, target))


def test_moving_the_target_changes_the_sentence(store: Store) -> None:
    shown = show(PAGE)
    before = answer(shown)
    shown.select_slider(key=f"{PAGE}.target").set_value("0.05").run()
    assert answer(sound(shown)) != before
    assert _told(store, 0.05)[0] in texts(shown)


def test_a_target_stricter_than_any_trial_got_is_refused_and_says_why(store: Store) -> None:
    strictest = targets_of(_first(store)[1])[-1]
    shown = show(PAGE, target=f"{strictest:g}")
    said = texts(shown)
    assert "The target was reached at none of the batch sizes tried" in answer(shown)
    assert f"None of {queries.trial_sets(store)[0].trials:,} trials reached the target." in said
    assert "only have stopped too early" in said
    assert "No chart: at no batch did half of the seeds reach this target." in said
    assert not shown.get("plotly_chart")
    assert list(on_tab(shown).dataframe[0].value["Bcrit (samples)"]) == ["refused"] * 3


def test_a_target_easier_than_the_evaluations_can_tell_is_refused(store: Store) -> None:
    shown = show(PAGE, target="0.8")
    assert "\nMLP 64-64 on digits with SGD" in answer(shown)
    assert "none came before it at batch 8, 16, 32" in answer(shown)
    assert "Beyond batch" not in texts(shown)
    assert "1 ms" not in texts(shown)


def test_the_slider_is_named_without_backslashes_and_a_hostile_name_with_them(alone: Path) -> None:
    together(a_set(alone), sweep())
    label = show(PAGE).select_slider[0].label
    assert label == "Target (validation error)"
    together(a_set(alone), sweep(evaluation_metric=HOSTILE))
    shown = show(PAGE, workload=slug(f"Net · Data · {HOSTILE}"))
    assert shown.select_slider[0].label == f"Target ({as_text(HOSTILE)})"


def test_a_target_some_batches_missed_names_them(store: Store) -> None:
    said = texts(show(PAGE, target="0.02"))
    assert "Stricter than the 2.5 % these trials were trained for" in said
    _, trials = _first(store)
    notes = note_lines(notes_of(compare(trials, 0.02, trials.optimizers)))
    left_out = [n for n in notes if "Left out" in n]
    assert left_out
    assert all(n in said for n in left_out)


def test_optimisers_are_compared_in_the_order_they_are_chosen(store: Store) -> None:
    shown = show(PAGE, optimizers=["sgd-momentum-0.9", "sgd"])
    result = _told(store, TARGET, ["SGD momentum 0.9", "SGD"])
    assert texts(shown).index(result[0]) < texts(shown).index(result[1])
    assert "SGD Nesterov" not in texts(shown)


def test_an_optimiser_keeps_its_colour_when_others_are_taken_away() -> None:
    def colour(shown: AppTest) -> str:
        drawn = figure(shown)["data"]
        return next(str(t["line"]["color"]) for t in drawn
                    if t["name"] == "SGD momentum 0.9" and t["line"]["width"] == 2)  # fmt: skip

    assert colour(show(PAGE)) == colour(show(PAGE, optimizers="sgd-momentum-0.9"))


def test_the_table_holds_the_planners_numbers(store: Store) -> None:
    of, trials = _first(store)
    rows = fit_rows(compare(trials, TARGET, trials.optimizers), goal_of(of, trials, TARGET))
    table = show(PAGE, tab="table").dataframe[0].value
    assert list(table["Optimiser"]) == [r["optimizer"] for r in rows]
    assert list(table["Scatter"]) == [f"{r['scatter_percent']:.1f} %" for r in rows]


def test_every_batch_stands_in_a_folded_table_with_its_rate_and_noise_scale(store: Store) -> None:
    _, trials = _first(store)
    rows = batch_rows(compare(trials, TARGET, trials.optimizers))
    table = unfold(show(PAGE), f"{PAGE}.every").dataframe[0].value
    assert list(table["Batch"]) == [r["global_batch_size"] for r in rows]
    assert list(table["Seeds there"]) == [f"{r['seeds_reached']} of {r['seeds']}" for r in rows]
    assert table["Noise scale (samples)"].notna().all()


def test_every_number_has_a_source_and_a_licence() -> None:
    shown = unfold(show(PAGE, times=STAND_IN), f"{PAGE}.origin")
    sources = shown.dataframe[-1].value
    assert list(sources["What"]) == ["steps to target", "step times"]
    assert sources["Source"].str.len().gt(0).all()
    assert sources["Licence"].str.len().gt(0).all()


def test_the_chart_has_a_line_an_optimiser_and_logarithmic_axes() -> None:
    shown = show(PAGE)
    assert set(lines(shown)) == {"SGD", "SGD momentum 0.9", "SGD Nesterov 0.9"}
    layout = figure(shown)["layout"]
    assert layout["xaxis"]["type"] == layout["yaxis"]["type"] == "log"


# -- step times ----------------------------------------------------------------------------------


def test_each_optimisers_own_step_times_are_used_without_a_click() -> None:
    shown = show(PAGE)
    assert shown.selectbox(key=f"{PAGE}.times").value == "own"
    assert len(shown.get("plotly_chart")) == 2
    table = on_tab(shown).dataframe[0].value
    assert list(table["Best batch"].str.contains(" to ")) == [True] * 3
    sources = unfold(shown, f"{PAGE}.origin").dataframe[-1].value
    assert sources["Result set"].str.startswith("Step times of the digits network").any()


def test_without_step_times_of_its_own_no_best_batch_is_reported_but_what_to_measure(
    own: Path,
) -> None:
    made(own)
    shown = show(PAGE, workload=MADE)
    assert "steps of Net on Data were not timed" in texts(shown)
    assert len(shown.get("plotly_chart")) == 1
    offered = shown.selectbox(key=f"{PAGE}.times").options
    assert offered[0] == "Not chosen"
    assert all(o.startswith("Another workload: ") for o in offered[1:])


def test_an_untimed_optimiser_borrows_the_step_times_of_another(own: Path) -> None:
    timed = [
        step(b, 0.05 + b / 1000, model="Net", dataset="Data", optimizer="Adam") for b in BATCHES
    ]
    made(own, *timed)
    said = texts(show(PAGE, workload=MADE))
    assert "with the step times of another optimiser (Net · Data · Adam) on T4" in said


def test_step_times_of_another_workload_are_used_by_name(store: Store) -> None:
    shown = show(PAGE, times=STAND_IN)
    said = texts(shown)
    assert "; with the step times of another workload (LSTM 1x128 · synthetic tokens" in said
    assert "on 2-core AMD EPYC the best batch is" in said
    assert "not measured" not in said
    assert len(shown.get("plotly_chart")) == 2
    marks = [a["text"] for a in figure(shown)["layout"]["annotations"]]
    assert any(m.startswith("best batch ") for m in marks)


def test_another_number_of_devices_is_another_curve_and_all_are_listed() -> None:
    shown = show(PAGE, times="unnamed-model")
    alone = answer(shown)
    shown.selectbox(key=f"{PAGE}.devices").select("2-x-gpu-without-p2p").run()
    assert answer(sound(shown)) != alone
    assert "on 2 × GPU without P2P the best batch is" in texts(shown)
    table = shown.dataframe[0].value
    assert set(table["System"]) == {"GPU", "2 × GPU without P2P"}
    assert table["Device-hours"].notna().all()


def test_another_input_pattern_is_another_curve() -> None:
    shown = show(PAGE, times="wideresnet-103m-cifar-100-adam-float32", system="tpu-v2-8")
    before = answer(shown)
    patterns = shown.selectbox(key=f"{PAGE}.pattern")
    patterns.select_index(1).run()
    assert answer(sound(shown)) != before


def test_step_times_of_the_same_network_and_data_are_the_usual_ones(own: Path) -> None:
    timed = [
        step(b, 0.05 + b / 1000, model="Net", dataset="Data", optimizer="SGD") for b in BATCHES
    ]
    made(own, *timed)
    shown = show(PAGE, workload=MADE)
    assert shown.selectbox(key=f"{PAGE}.times").value == "own"
    said = texts(shown)
    assert "; on T4 the best batch is 57 (90 %: " in said
    assert "another workload" not in said
    mine = opened(own)
    of, trials = _first(mine)
    compared = compare(trials, TARGET, ["SGD"])
    [curve] = curves_of(queries.runs_of(mine, "Net · Data · SGD", "pattern not stated"))
    here = PlacedTimes(
        place=ReferenceSystem(system="T4", workload="Net · Data · SGD"), curve=curve.curve
    )
    [least] = [t.least_s for t in timings_of(compared, {"SGD": here}).values()]
    assert fit_rows(compared, goal_of(of, trials, TARGET))[0]["optimizer"] == "SGD"
    assert isinstance(least, Estimate)
    assert least.value == pytest.approx(100 * (0.05**0.5 + (64 / 1000) ** 0.5) ** 2, rel=0.01)


def test_step_times_without_a_curve_are_refused_with_what_to_measure(own: Path) -> None:
    made(own, step(64, 0.5, model="Net", dataset="Data", optimizer="SGD"))
    said = texts(show(PAGE, workload=MADE))
    assert "No best batch on T4: Only batch 64 was measured" in said
    assert "No chart: the answer above has the reason." in said


def test_step_times_can_be_put_aside(own: Path) -> None:
    made(own, *(step(b, 0.05 + b / 1000, model="Net", dataset="Data") for b in BATCHES))
    said = texts(show(PAGE, workload=MADE, times="not-chosen"))
    assert "No best batch: choose step times below." in said


# -- links ---------------------------------------------------------------------------------------


def test_what_is_chosen_is_written_into_the_address() -> None:
    shown = show(PAGE)
    shown.select_slider(key=f"{PAGE}.target").set_value("0.03").run()
    shown.selectbox(key=f"{PAGE}.times").select(STAND_IN).run()
    sound(shown)
    assert shown.query_params["target"] == "0.03"
    assert shown.query_params["times"] == STAND_IN


@pytest.mark.parametrize("target", ["much", "-1"])
def test_a_target_that_is_not_offered_is_reported_and_the_usual_one_shown(
    store: Store, target: str
) -> None:
    shown = show(PAGE, target=target)
    assert f"target: “{target}” is no longer an option." in texts(shown)
    assert _told(store, TARGET)[0] in texts(shown)


# -- little and nothing --------------------------------------------------------------------------


def test_no_optimiser_chosen_shows_one_button_back(store: Store) -> None:
    shown = show(PAGE, optimizers="")
    assert "No optimiser is chosen." in texts(shown)
    shown.button(key=f"{PAGE}.back").click().run()
    assert _told(store, TARGET)[0] in texts(sound(shown))


def test_trials_that_kept_no_evaluation_are_reported_with_one_button_back(own: Path) -> None:
    kept = [r | {"evaluations": None, "status": "ok", "status_reason": None} for r in sweep()]
    together(a_set(own), kept)
    shown = show(PAGE, workload=MADE)
    assert "These trials have no evaluations." in texts(shown)
    assert "45 runs of this workload name a metric" in texts(shown)
    shown.button(key=f"{PAGE}.first").click().run()
    assert "\nBeyond batch " in answer(sound(shown))


def test_trials_of_which_some_kept_nothing_are_answered_without_those(own: Path) -> None:
    lost = row(model="Net", dataset="Data", optimizer="SGD", precision="float32", seed=99,
               evaluation_metric="validation error", target_value=TARGET)  # fmt: skip
    made(own, lost)
    said = texts(show(PAGE, workload=MADE))
    assert "1 trial without evaluations left out." in said
    assert "30 of 45 trials reached the target" in said


def test_one_batch_size_is_no_law_and_its_points_are_drawn(own: Path) -> None:
    together(a_set(own), sweep((64,)))
    shown = show(PAGE, workload=MADE)
    assert "Only batch 64 reached the target, and one size shows no curve" in answer(shown)
    assert len(shown.get("plotly_chart")) == 1
    assert lines(shown) == []


def test_a_diverged_trial_without_evaluations_counts_as_not_reached(alone: Path) -> None:
    together(a_set(alone), sweep())
    assert "30 of 45 trials reached the target" in texts(show(PAGE))


def test_evaluations_no_one_can_read_are_refused_and_the_page_stands(alone: Path) -> None:
    """No runner commits such a file; its seal and summary are sound."""
    table = table_from_rows(sweep())
    column = table["evaluations"].to_pylist()
    column[3] = [{"step": 5, "value": 0.5}, {"step": 5, "value": 0.1}]
    at = table.schema.get_field_index("evaluations")
    odd = table.set_column(at, table.field(at), pa.array(column, table.field(at).type))
    (a_set(alone) / "odd.parquet").write_bytes(sealed_table(odd))
    shown = show(PAGE)
    assert "These trials have no evaluations." in texts(shown)
    assert "1 refused" in texts(show("results"))


def test_names_from_data_are_shown_as_they_are_written(alone: Path) -> None:
    named: dict[str, Any] = {"model": HOSTILE, "dataset": HOSTILE, "optimizer": HOSTILE}
    together(a_set(alone), [*sweep(**named), *(step(b, 0.1 + b / 900, **named) for b in BATCHES)])
    shown = show(PAGE)
    assert (
        f"larger batches give diminishing returns for {HOSTILE} on {HOSTILE} with {HOSTILE}"
        in texts(shown)
    )
    assert "<b>" not in str(figure(shown)["layout"]["annotations"])


def test_a_metric_that_should_rise_is_followed_upwards(alone: Path) -> None:
    records = [
        r
        | {
            "evaluation_metric": "accuracy",
            "evaluation_higher_is_better": True,
            "target_value": 1 - TARGET,
            "evaluations": [e | {"value": 1 - e["value"]} for e in r["evaluations"] or []] or None,
        }
        for r in sweep()
    ]
    together(a_set(alone), records)
    said = answer(show(PAGE))
    assert "\nBeyond batch 64 (90 %: " in said
    assert "with SGD to 97.5 % accuracy.\n" in said


def test_two_result_sets_of_one_workload_are_asked_apart(alone: Path) -> None:
    together(a_set(alone), sweep())
    more = sweep(bcrit=640.0, result_set="more")
    together(a_set(alone, slug="more"), more)
    shown = show(PAGE, workload=slug("Net · Data · validation error · more"))
    assert "\nBeyond batch 640 (90 %: " in answer(shown)
    offered = shown.selectbox(key=f"{PAGE}.workload").options
    assert len([o for o in offered if o.startswith("Net · Data")]) == 2


@pytest.mark.usefixtures("library_pages")
def test_the_default_system_is_that_of_the_most_device_counts() -> None:
    shown = show("steps-to-target", workload="gpt-3-175b-mlperf-c4")
    assert shown.selectbox(key="steps-to-target.system").value == "h100-sxm5-80gb"
    assert shown.number_input(key="steps-to-target.count").value is None


# -- families ------------------------------------------------------------------------------------


def test_networks_on_the_same_data_are_compared(alone: Path) -> None:
    together(a_set(alone), [*sweep(model="narrow", smin=50.0, bcrit=16.0),
                            *sweep(model="wide", smin=400.0, bcrit=256.0)])  # fmt: skip
    shown = sound(show(PAGE))
    said = texts(shown)
    assert "Network families on Data" in said
    assert "2 networks are compared on Data with SGD to 2.5" in said
    assert "wide scales to the largest batch. Its Bcrit is" in said
    assert "narrow needs the fewest steps at large batches. Its Smin is" in said
    assert set(lines(shown, 1)) == {"narrow", "wide"}
    table = next(d.value for d in as_tables(shown, "families").dataframe if "Network" in d.value)
    assert list(table["Network"]) == ["narrow", "wide"]
    assert "Optimiser" not in table


def test_the_optimiser_of_the_families_is_chosen_and_in_the_link(alone: Path) -> None:
    rows = [
        trial
        for model, bcrit in (("narrow", 16.0), ("wide", 256.0))
        for name in ("SGD", "Adam")
        for trial in sweep(model=model, optimizer=name, bcrit=bcrit)
    ]
    together(a_set(alone), rows)
    shown = show(PAGE)
    shown.selectbox(key=f"{PAGE}.families").set_value("sgd").run()
    assert "on Data with SGD to 2.5" in texts(sound(shown))
    assert "on Data with SGD to 2.5" in texts(show(PAGE, families="sgd"))
    assert "on Data with Adam to 2.5" in texts(show(PAGE, families="adam"))


def test_families_are_compared_at_the_target_that_several_reach(alone: Path) -> None:
    easier = [
        trial
        | {
            "target_value": 0.05,
            "evaluations": [e for e in trial["evaluations"] or () if e["value"] > 0.04] or None,
        }
        for model, bcrit in (("narrow", 16.0), ("wide", 256.0))
        for trial in sweep(model=model, bcrit=bcrit)
    ]
    together(a_set(alone), [*sweep((8, 16, 32, 64, 128, 512, 2048)), *easier])
    shown = sound(show(PAGE, target=f"{TARGET:g}", workload="net"))
    said = texts(shown).replace("\u00a0", " ")
    assert "Fewer than two networks reach 2.5 % validation error." in said
    assert "This card compares them at 5 % validation error." in said
    assert "has a fitted law" not in said
    assert "networks are compared on Data with SGD to 5 % validation error" in said
    assert set(lines(shown, 1)) == {"Net", "narrow", "wide"}


def test_a_network_alone_has_no_families(alone: Path) -> None:
    together(a_set(alone), sweep())
    assert "Network families" not in texts(show(PAGE))
