"""Suspect runs are marked, kept, and left out by a switch alone; what a factor does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pages.common.suspect_switch import ELSEWHERE
from planner.runs import run_id
from planner.store import commit_runs
from tests.pages.conftest import as_tables, figure, legend, on_tab, show, sound, texts, unfold
from tests.pages.test_stores import kept, step, timed
from tests.store.build import row

LAW = {32: 0.82, 64: 1.14, 128: 1.78, 256: 3.06}
"""Step times of v0 = 100 samples/s and t = 0.5 s."""
SICK = step(512, 20.0)
UNSTEADY = timed(model="Jumpy", later_epoch_sd_s=5.0)


@pytest.fixture
def sweep(alone: Path) -> Path:
    """Four sound batches, one that falls to a quarter of its speed, and an unsteady run."""
    commit_runs(alone / "mine", [*(step(b, s) for b, s in LAW.items()), SICK, UNSTEADY])
    return alone


# -- results -----------------------------------------------------------------------------------


def test_suspect_runs_are_counted_and_marked_in_the_list(sweep: Path) -> None:
    shown = show("results")
    assert "6 of 6 runs, 2 suspect" in texts(shown)
    table = shown.dataframe[0].value
    marked = dict(zip(table["global_batch_size"], table["suspect"], strict=True))
    assert marked[512] == "throughput falls"
    assert sorted(table["suspect"].dropna()) == ["throughput falls", "unsteady epochs"]


def test_of_runs_that_a_link_lists_only_theirs_are_counted_as_suspect(sweep: Path) -> None:
    listed = [run_id(step(32, 0.82)), run_id(SICK)]
    assert "2 of 6 runs, 1 suspect" in texts(show("results", runs=listed))
    assert "1 of 6 runs" in texts(show("results", runs=listed[:1]))


@pytest.mark.parametrize(
    ("chosen", "left", "suspect"),
    [
        (["any"], 2, 2),
        (["none"], 4, 0),
        (["throughput-falls"], 1, 1),
        (["throughput-falls", "unsteady-epochs"], 2, 2),
        (["none", "unsteady-epochs"], 5, 1),
        (["any", "none"], 6, 2),
    ],
)
def test_a_link_filters_by_what_is_suspect(
    sweep: Path, chosen: list[str], left: int, suspect: int
) -> None:
    shown = show("results", suspect=chosen)
    counted = f"{left} of 6 runs, {suspect} suspect" if suspect else f"{left} of 6 runs"
    assert counted in texts(shown).splitlines()
    assert len(shown.dataframe[0].value) == left


def test_each_flag_says_how_many_runs_it_would_show_under_the_other_filters(sweep: Path) -> None:
    box = "results.filters"
    offered = unfold(show("results"), box).multiselect(key="results.suspect").options
    assert offered == ["any (2)", "none (4)", "unsteady epochs (1)", "throughput falls (1)"]
    shown = unfold(show("results", global_batch_size="512"), box)
    offered = shown.multiselect(key="results.suspect").options
    assert offered == ["any (1)", "throughput falls (1)"]


def test_filters_on_suspects_that_leave_nothing_are_named_and_cleared(sweep: Path) -> None:
    shown = show("results", suspect="none", global_batch_size="512")
    assert "The filters on Batch size, Suspect leave none of 6 runs." in texts(shown)
    shown.button(key="results.clear").click().run()
    assert "6 of 6 runs, 2 suspect" in texts(sound(shown))


def test_where_nothing_is_suspect_nothing_is_said_of_it(alone: Path) -> None:
    commit_runs(alone / "mine", [step(b, s) for b, s in LAW.items()])
    shown = show("results", suspect="any")
    assert "The filters on Suspect leave none of 4 runs." in texts(shown)
    shown.button(key="results.clear").click().run()
    unfold(shown, "results.filters")
    assert "results.suspect" not in {m.key for m in sound(shown).multiselect}
    assert "4 of 4 runs" in texts(shown).splitlines()


def test_the_page_of_a_run_shows_each_flag_with_its_evidence(sweep: Path) -> None:
    said = texts(show("results", run=run_id(SICK)))
    assert "Suspect: throughput falls" in said
    assert "T4 at batch 512: 25.6 samples/s, 69 % less than a smaller batch reaches (83.66)" in said
    assert "unless a page's switch leaves suspect runs out" in said
    said = texts(show("results", run=run_id(UNSTEADY)))
    assert "its 4 later epochs vary by 57.7 %" in said
    assert "its mean is less certain, not wrong" in said
    assert "Suspect" not in texts(show("results", run=run_id(step(32, 0.82))))


# -- throughput --------------------------------------------------------------------------------


def _symbols(shown: Any) -> list[Any]:  # noqa: ANN401 - an AppTest
    return [t["marker"] for t in figure(shown)["data"] if t["mode"] == "markers"]


def test_a_suspect_point_is_in_the_fit_until_somebody_says_otherwise(sweep: Path) -> None:
    shown = show("throughput", workload="resnet-50")
    said = texts(shown)
    assert "1 run here is suspect: throughput falls (1)." in said
    assert "Left out by the switch: 1 of 1" in said
    assert "suspect run" in legend(shown)
    assert "left out of this fit" not in said
    assert _symbols(shown)[0]["symbol"] == ["square"] * 4 + ["square-open"]


def test_the_switch_leaves_it_out_and_says_so_and_draws_it_grey(sweep: Path) -> None:
    shown = show("throughput", workload="resnet-50")
    shown.toggle(key="throughput.without_suspects").set_value(True).run()
    said = texts(sound(shown))
    assert "T4 saturates at 100 samples/s" in said
    assert "1 suspect run is left out of this fit." in said
    assert shown.query_params["without_suspects"] == "on"
    inside, outside = _symbols(shown)
    assert inside["symbol"] == "square"
    assert outside["symbol"] == ["square-open"]
    assert outside["color"] != inside["color"]
    assert said == texts(show("throughput", workload="resnet-50", without_suspects="on"))


def test_which_flags_count_is_said_beside_the_switch(sweep: Path) -> None:
    said = texts(show("throughput", workload="resnet-50"))
    assert "by these flags: unlike its neighbours, throughput falls, impossible scaling" in said
    assert "Unsteady epochs alone make a mean less sure, not wrong, and stay in." in said


def test_without_a_suspect_run_there_is_no_switch(sweep: Path) -> None:
    shown = show("throughput", workload="jumpy")
    assert not shown.toggle
    assert "suspect" not in texts(show("throughput", workload="resnet-50", systems=""))


# -- how long ----------------------------------------------------------------------------------


@pytest.fixture
def two(alone: Path) -> Path:
    """A fast run that falls behind its smaller batch, and a slow sound one."""
    sound_run = timed(global_batch_size=32, later_epoch_mean_s=5.0, steps_per_epoch=20,
                      samples_per_epoch=640)  # fmt: skip
    fallen = timed(global_batch_size=512, steps_per_epoch=2, samples_per_epoch=640)
    commit_runs(alone / "mine", [sound_run, fallen])
    return alone


def test_a_suspect_run_is_named_in_the_ranking_and_left_out_by_a_switch(two: Path) -> None:
    shown = show(epochs="10")
    assert "suspect run" in legend(shown)
    table = on_tab(shown).dataframe[0].value.set_index("option")
    named = {name: flag for name, flag in table["suspect"].items() if flag}
    assert named == {"T4 · batch 512": "throughput falls"}
    shown.toggle(key="how-long.without_suspects").set_value(True).run()
    said = texts(sound(shown))
    assert "1 suspect run is left out." in said
    assert list(shown.dataframe[0].value["total"])[1] == "–"


def test_a_switch_that_only_changes_the_scatter_is_seen_and_can_be_turned_off(two: Path) -> None:
    commit_runs(two / "mine", [timed(model="Steady")])
    assert not show(workload="steady", epochs="10").toggle(key="how-long.session").value
    shown = show(workload="steady", epochs="10", without_suspects="on")
    switch = shown.toggle(key="how-long.without_suspects")
    assert switch.value is True
    assert switch.label == "Leave suspect runs out"
    assert ELSEWHERE in texts(shown)
    switch.set_value(False).run()
    assert ELSEWHERE not in texts(sound(shown))
    assert [t.key for t in shown.toggle] == ["how-long.session"]


SUMMED = {"later_epoch_mean_s": 6.53, "later_epoch_sd_s": 1.2, "first_epoch_s": 12.0}


@pytest.mark.parametrize("summary", [{}, SUMMED], ids=["single epochs alone", "with a summary"])
def test_epochs_of_several_kinds_are_projected_on_ones_word_alone(
    alone: Path, summary: dict[str, float]
) -> None:
    commit_runs(alone / "mine", [kept(12.0, 5.0, 5.1, 5.0, 8.0, 8.1, 8.0, **summary)])
    shown = show(epochs="100")
    said = texts(shown)
    assert "No total for 100 epochs of ResNet-50" in said
    assert "Epoch times change during the run: epochs 2 to 4 took 5 s each" in said
    shown.toggle(key="how-long.rest_like_last").set_value(True).run()
    said = texts(sound(shown))
    assert "100 epochs of ResNet-50 at batch 64 on T4: 13 min" in said
    assert "The total applies only if the rest continues like the last of them." in said
    assert shown.query_params["rest_like_last"] == "on"
    assert said == texts(show(epochs="100", rest_like_last="on"))


def test_steady_epochs_have_no_such_switch(alone: Path) -> None:
    commit_runs(alone / "mine", [kept(12.0, 5.0, 5.1, 5.0, 5.1, 5.0)])
    assert "how-long.rest_like_last" not in {t.key for t in show(epochs="100").toggle}


# -- what a factor does ------------------------------------------------------------------------


def _pair(batch: int, factor: float, **more: object) -> list[dict[str, Any]]:
    """With and without validation, which takes `factor` times as long."""
    same: dict[str, Any] = {"global_batch_size": batch, "epochs_measured": 5,
                            "samples_per_epoch": 1000, **more}  # fmt: skip
    return [
        row(**same, validation=False, later_epoch_mean_s=10.0),
        row(**same, validation=True, later_epoch_mean_s=10.0 * factor,
            validation_samples_per_epoch=300),
    ]  # fmt: skip


def test_a_factor_with_pairs_is_reported_pooled_and_batch_by_batch(alone: Path) -> None:
    commit_runs(alone / "mine", [*_pair(32, 1.1), *_pair(64, 1.2)])
    shown = show("throughput")
    said = texts(shown)
    assert "Validation, on against off, 2 pairs: an epoch takes 1.15 times as long" in said
    assert "The two answers differ because an epoch was not the same work" in said
    table = next(
        d.value for d in as_tables(shown, "factor").dataframe if "A processed image" in d.value
    )
    assert list(table["Batch"]) == ["all", "32", "64"]
    assert [t.split(" ")[0] for t in table["An epoch"]] == ["1.15", "1.10", "1.20"]
    assert [t.split(" ")[0] for t in table["A processed image"]] == ["1.04", "1.00", "1.09"]


def test_the_link_names_the_factor(alone: Path) -> None:
    plain, _ = _pair(32, 1.1, jit=False)
    compiled = plain | {"jit": True, "later_epoch_mean_s": 5.0}
    commit_runs(alone / "mine", [*_pair(32, 1.1, jit=False), compiled])
    said = texts(show("throughput", factor="jit"))
    assert "Jit, on against off, 1 pair: an epoch takes 0.50 times as long" in said
    assert "Validation, on" not in said


def test_where_no_pair_is_it_is_said_what_to_measure(sweep: Path) -> None:
    said = texts(show("throughput", workload="resnet-50"))
    assert "No two runs differ in one factor (validation, augmentation, storage," in said
    assert "Measure one configuration and batch twice, with and without it." in said


def test_the_switch_takes_suspect_runs_out_of_the_pairs_as_well(alone: Path) -> None:
    pairs = [*_pair(32, 1.1), *_pair(64, 1.1), *_pair(128, 1.1), *_pair(256, 5.0)]
    timed_pairs = [r | {"steps_per_epoch": -(-1000 // r["global_batch_size"])} for r in pairs]
    commit_runs(alone / "mine", timed_pairs)
    both = "validation", "no-validation"
    shown = show("throughput", patterns=list(both))
    assert "4 pairs" in texts(shown)
    shown.toggle(key="throughput.without_suspects").set_value(True).run()
    assert "3 pairs" in texts(sound(shown))


def test_the_articles_workload_says_why_augmentation_seemed_faster() -> None:
    said = texts(show("throughput", workload="WideResNet-103M · CIFAR-100 · Adam · float32"))
    assert "finds augmentation faster. Partly that is less validation" in said
    assert "64 at batch 4,096" in said
    assert "49,152 of 50,000 images" in said
    assert "No two runs differ in validation, augmentation, storage, workers" in said
    assert "a processed image 0.98 times as long" in said
