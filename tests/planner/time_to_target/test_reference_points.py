"""MLPerf's reference points: units, editions, slips, and the law through the medians."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from planner.convergence import ConvergenceCurve
from planner.core import Refusal
from planner.time_to_target import (
    Edition,
    ReferencePoints,
    benchmark_of,
    comparison_of,
    editions_of,
    goal_of_reference,
    point_rows,
    read_points,
    summary_of,
)
from planner.time_to_target._reference import BENCHMARKS, ReferenceList, split_errors

IMAGENET = 1_281_167


def point(
    batch: int, *values: float, name: str = "resnet", when: tuple[int, int] = (4, 0)
) -> ReferenceList:
    return ReferenceList(suite="training", round=when, benchmark=name, batch=batch, values=values)


def resnet(
    when: tuple[int, int] = (4, 0), smin: float = 900.0, bcrit: float = 45_000.0
) -> list[ReferenceList]:
    """Epochs of a known law at four batches, three seeds each."""
    return [
        point(b, *(smin * (b + bcrit) / IMAGENET * s for s in (0.98, 1.0, 1.03)), when=when)
        for b in (2048, 8192, 32_768, 65_536)
    ]


def only(points: list[ReferenceList]) -> Edition:
    [[edition, *_]] = editions_of(points).values()
    return edition


# -- units ---------------------------------------------------------------------------------------


def test_epochs_are_multiplied_by_the_samples_of_the_data_set() -> None:
    assert_allclose(only([point(4096, 40.0, 41.0)]).samples, [[40 * IMAGENET, 41 * IMAGENET]])


def test_samples_stay_samples_and_tokens_are_divided_by_their_sequence() -> None:
    assert only([point(256, 2e6, name="bert")]).samples == ((2e6,),)
    assert only([point(1536, 2048e6, name="gpt3")]).samples == ((1e6,),)


def test_steps_are_multiplied_by_the_batch() -> None:
    assert only([point(512, 5000.0, name="sd", when=(3, 1))]).samples == ((2_560_000.0,),)


def test_one_benchmark_changed_its_unit_from_epochs_to_samples() -> None:
    old, new = (
        point(2, v, name="unet3d", when=w) for v, w in ((2640.0, (3, 0)), (443_520.0, (3, 1)))
    )
    assert only([old]).samples == only([new]).samples == ((443_520.0,),)


def test_a_list_the_file_itself_calls_samples_is_taken_at_its_word() -> None:
    result = replace(point(8, 3072.0, name="llama2_70b_lora"), in_samples=True)
    assert only([result]).samples == ((3072.0,),)


@pytest.mark.parametrize("name", ["dlrm", "rgat", "rnnt"])
def test_what_cannot_be_reported_in_samples_is_left_out_with_the_reason(name: str) -> None:
    points = [point(4096, 1.0, name=name)]
    assert editions_of(points) == {}
    [row] = point_rows(points)
    assert str(row["use"]).startswith("left out: stated ")
    assert row["samples_to_target"] is None


def test_a_benchmark_that_is_not_known_here_is_left_out_by_name() -> None:
    points = [point(4096, 1.0, name="brand_new")]
    assert editions_of(points) == {}
    [row] = point_rows(points)
    assert row["benchmark"] == "brand_new"
    assert "unknown benchmark" in str(row["use"])


# -- editions ------------------------------------------------------------------------------------


def test_rounds_with_the_same_points_are_one_edition_and_the_latest_stands_first() -> None:
    points = [*resnet((1, 0), smin=950.0), *resnet((1, 1)), *resnet((2, 0))]
    [editions] = editions_of(points).values()
    assert [e.rounds_text for e in editions] == ["1.1 to 2.0", "1.0"]


def test_a_benchmark_keeps_its_editions_under_a_new_name() -> None:
    old, new = (
        point(256, 4.0, name=n, when=w) for n, w in (("ssd", (4, 1)), ("retinanet", (5, 0)))
    )
    [[edition]] = editions_of([old, new]).values()
    assert edition.name == "RetinaNet on OpenImages (MLPerf reference)"
    assert edition.rounds_text == "4.1 to 5.0"


def test_one_name_meant_another_network_in_early_rounds() -> None:
    early, late = (point(1024, v, name="ssd", when=w) for v, w in ((50.0, (1, 1)), (6.0, (2, 0))))
    assert set(editions_of([early, late])) == {
        "SSD-ResNet-34 on COCO (MLPerf reference)",
        "RetinaNet on OpenImages (MLPerf reference)",
    }


def test_every_benchmark_has_one_meaning_in_every_round() -> None:
    for one in BENCHMARKS:
        for name in one.names:
            assert benchmark_of(one.suite, name, one.first) == one
            assert benchmark_of(one.suite, name, one.last) == one
            assert bool(one.left_out) or one.per_unit is not None or one.unit == "steps"


@given(st.permutations(range(8)))
def test_the_order_of_the_files_does_not_matter(order: list[int]) -> None:
    points = [*resnet((1, 0)), *resnet((1, 1), smin=800.0)]
    found = editions_of([points[i] for i in order])
    assert [e.rounds_text for e in found["ResNet-50 on ImageNet (MLPerf reference)"]] == [
        "1.1",
        "1.0",
    ]


# -- slips ---------------------------------------------------------------------------------------


def test_a_value_many_times_its_list_is_left_out_and_listed() -> None:
    seven = (1_207_959_552.0,) * 6 + (13_790_871_552.0,)
    assert split_errors(seven) == (seven[:6], seven[6:])
    points = [point(3072, *seven, name="gpt3", when=(4, 1))]
    assert len(only(points).samples[0]) == 6
    [row] = point_rows(points)
    assert "corrected: 13,790,871,552 is 11 times the median of its list" in str(row["use"])


def test_seeds_that_did_not_converge_are_infinite_and_no_slips() -> None:
    values = (35.0, float("inf"), 36.0, float("inf"))
    assert split_errors(values) == (values, ())
    [curve] = comparison_of(only([point(4096, *values)])).curves
    assert (int(curve.reached[0]), int(curve.seeds[0])) == (2, 4)
    assert np.isinf(curve.median_steps[0])


# -- the law -------------------------------------------------------------------------------------


def test_the_law_behind_the_points_is_found_again() -> None:
    [curve] = comparison_of(only(resnet())).curves
    law = curve.curve
    assert isinstance(law, ConvergenceCurve)
    assert_allclose(law.critical_batch_size.value, 45_000.0, rtol=1e-4)
    assert_allclose(law.min_steps.value, 900.0, rtol=1e-4)
    assert curve.optimizer == "LARS"
    assert_array_equal(curve.seeds, 3)
    assert curve.usual_noise_scale is None


def test_points_in_whole_epochs_say_how_coarse_that_is() -> None:
    result = comparison_of(only([point(256, 4.0, 4.0, 5.0), point(512, 8.0)])).reached
    assert result == (
        "4 reference runs at 2 batch sizes, stated in whole epochs: each is 12 to 25 % of the "
        "steps."
    )
    fine = comparison_of(only([point(256, 2e6, name="bert"), point(512, 3e6, name="bert")])).reached
    assert fine == "2 reference runs at 2 batch sizes."


def test_numbers_no_law_can_have_are_a_refusal() -> None:
    [curve] = comparison_of(
        only([point(256, 0.0, name="bert"), point(512, 0.0, name="bert")])
    ).curves
    assert isinstance(curve.curve, Refusal)


def test_the_goal_names_the_target_and_the_round() -> None:
    goal = goal_of_reference(only(resnet()))
    assert goal.of("LARS") == (
        "ResNet-50 on ImageNet with LARS to 75.9 % top-1 accuracy (MLPerf reference points, "
        "round 4.0)"
    )


# -- the list of lists ---------------------------------------------------------------------------


def test_every_list_is_counted_once_and_says_what_became_of_it() -> None:
    points = [*resnet((1, 0), smin=950.0), *resnet((1, 1)), *resnet((2, 0)),
              point(4096, 1.0, name="rgat")]  # fmt: skip
    rows = point_rows(points)
    assert len(rows) == 4 + 4 + 1
    assert {r["rounds"] for r in rows[4:8]} == {"1.1, 2.0"}
    assert summary_of(points) == (
        "13 lists are in the package's files; 4 repeat another list of the same benchmark, so 9 "
        "differ; 4 are in force in the latest round of their benchmark; 4 were replaced or "
        "dropped later; 1 cannot be used; 0 values are corrected."
    )


# -- the package ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def package() -> ReferencePoints:
    """The points of the installed package."""
    read = read_points()
    if read.problem:
        pytest.skip(read.problem)
    return read


def test_every_file_of_the_package_is_read_and_every_benchmark_known(
    package: ReferencePoints,
) -> None:
    assert package.unreadable == ()
    assert not [r for r in point_rows(package.points) if "does not know" in str(r["use"])]


def test_the_package_repeats_most_lists_and_has_one_slip(package: ReferencePoints) -> None:
    result = summary_of(package.points)
    assert result.startswith("591 lists are in the package's files; 427 repeat another list")
    assert result.endswith("1 value is corrected.")


def test_resnet_stops_to_pay_near_batch_47_000(package: ReferencePoints) -> None:
    edition = editions_of(package.points)["ResNet-50 on ImageNet (MLPerf reference)"][0]
    law = comparison_of(edition).curves[0].curve
    assert isinstance(law, ConvergenceCurve)
    assert 45_000 < float(law.critical_batch_size.value) < 48_000


def test_every_edition_of_the_package_has_a_law_or_a_refusal_and_no_error(
    package: ReferencePoints,
) -> None:
    editions = editions_of(package.points)
    assert len(editions) >= 19
    for name, known in editions.items():
        for edition in known:
            [curve] = comparison_of(edition).curves
            assert isinstance(curve.curve, ConvergenceCurve), f"{name} {edition.rounds_text}"
