"""MLPerf reference points on Steps to target: their answer, their rounds, their list."""

from __future__ import annotations

from pathlib import Path

import pytest

from pages.steps_to_target import reference_choice
from planner.time_to_target import ReferencePoints, comparison_of, goal_of_reference, summary_of
from planner.time_to_target._reference import MISSING
from planner.time_to_target.sentences import answer_sentences
from tests.pages.conftest import lines, on_tab, show, sound, texts, unfold
from tests.pages.steps_to_target.test_steps_to_target import PAGE, answer
from tests.planner.made_trials import sweep
from tests.store.build import a_set, together

RESNET = "resnet-50-on-imagenet-mlperf-reference"


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch) -> str:
    """The package of reference points is not installed; what the page says to that."""
    nothing = ReferencePoints(points=(), problem=MISSING)
    lost = reference_choice.References(read=nothing, editions={})
    monkeypatch.setattr(reference_choice, "reference_points", lambda: lost)
    return MISSING


def _reference(round_: str = "") -> list[str]:
    editions = reference_choice.reference_points().editions[
        "ResNet-50 on ImageNet (MLPerf reference)"
    ]
    chosen = next(e for e in editions if round_ in {"", e.rounds_text})
    return answer_sentences(comparison_of(chosen), goal_of_reference(chosen), {})


def test_reference_points_are_a_workload_beside_the_measured_ones() -> None:
    shown = show(PAGE, workload=RESNET)
    said = texts(shown)
    assert f"\n{_reference()[0]}\n" in answer(shown)
    assert "Optimiser: LARS. Target: 75.9 % top-1 accuracy, as the benchmark sets it." in said
    assert "not verified by MLCommons" in said
    assert "Gradient noise scale beside Bcrit: not measured." in said
    assert "steps of ResNet-50 on ImageNet were not timed" in said
    assert not shown.select_slider
    assert set(lines(shown)) == {"LARS"}
    assert list(on_tab(shown).dataframe[0].value["Noise scale (samples)"]) == ["not measured"]


def test_another_round_has_other_points() -> None:
    shown = show(PAGE, workload=RESNET)
    shown.selectbox(key=f"{PAGE}.round").select("1.0").run()
    assert f"\n{_reference('1.0')[0]}\n" in answer(sound(shown))
    assert _reference("1.0")[0] != _reference()[0]
    assert shown.query_params["round"] == "1.0"


def test_reference_points_take_the_step_times_of_another_workload() -> None:
    shown = show(PAGE, workload=RESNET, times="wideresnet-103m-cifar-100-adam-float32",
                 system="tpu-v2-8")  # fmt: skip
    assert "; with the step times of another workload (WideResNet-103M" in texts(shown)
    assert "on TPU v2-8 the best batch is" in texts(shown)
    assert len(shown.get("plotly_chart")) == 2


def test_every_reference_point_is_listed_with_what_became_of_it() -> None:
    shown = unfold(show(PAGE, workload=RESNET), f"{PAGE}.points")
    assert summary_of(reference_choice.reference_points().read.points) in texts(shown)
    table = shown.dataframe[-1].value
    assert table["Benchmark"].iloc[0] == "ResNet-50 on ImageNet"
    assert table["Use"].str.contains("corrected: 13,790,871,552").sum() == 1
    assert table["Use"].str.startswith("left out: ").sum() == 26


def test_the_source_and_the_licence_of_reference_points_are_the_packages() -> None:
    shown = unfold(show(PAGE, workload=RESNET), f"{PAGE}.origin")
    [row] = shown.dataframe[-1].value.to_dict("records")
    assert row["Licence"] == "Apache 2.0"
    assert "in mlperf-logging 4." in row["Result set"]
    assert row["Basis"] == "published"


def test_without_the_package_the_page_works_and_says_so(no_package: str) -> None:
    shown = show(PAGE)
    assert "\nMLP 64-64 on digits with SGD Nesterov 0.9 to 2.5 % " in answer(shown)
    assert no_package in texts(shown)
    assert not [o for o in shown.selectbox(key=f"{PAGE}.workload").options if "MLPerf" in o]


def test_without_trials_the_page_says_how_to_make_some(alone: Path, no_package: str) -> None:
    shown = show(PAGE)
    assert "There is no evaluation curve yet." in texts(shown)
    assert "converge digits-steps-quick" in texts(shown)
    assert no_package in texts(shown)
    together(a_set(alone), sweep())
    shown.button(key=f"{PAGE}.again").click().run()
    assert "\nBeyond batch 64 (90 %: " in answer(sound(shown))


def test_without_trials_reference_points_are_shown_and_how_to_make_some(alone: Path) -> None:
    said = texts(show(PAGE))
    assert "converge digits-steps-quick. Until then: reference points." in said
    assert "(MLPerf reference points, round " in said
