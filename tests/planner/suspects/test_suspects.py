"""Promises of the checks for suspect runs: each fault is found by its own check, and no other."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from planner.runs import CheckedRun, checked_run
from planner.suspects import LEFT_OUT, NAMES, UNLIKE, Flag, by_run, left_out, named, suspects
from planner.suspects._checks import epoch_flags, neighbour_flags, peak_flags, zero_flags
from planner.suspects.neighbours import QUIET, neighbours
from tests.each import each
from tests.planner.made_suspects import SAMPLES, found, only, run, slipped, sweep
from tests.shipped import store

# -- neighbours --------------------------------------------------------------------------------


def test_a_healthy_sweep_has_no_flag_of_any_kind() -> None:
    assert suspects(sweep()) == ()
    assert suspects([]) == ()


@each("odd", ["plain_32", "validated_128", "augmented_512", "from storage_64"])
@each("factor", [1.4, 0.7])
def test_a_run_a_third_off_is_found_by_its_neighbours_alone(odd: str, factor: float) -> None:
    flag = only(neighbour_flags(sweep(**{odd: factor})))
    assert flag.run == odd.replace("_", " ")
    assert abs(flag.value) > UNLIKE
    assert "times that of its neighbours in batch and pattern. Robust z is" in flag.evidence


def test_the_ratio_is_against_what_row_and_column_say() -> None:
    table = neighbours(sweep(0.0, validated_128=1.5))
    odd = [r.run_id for r in sweep()].index("validated 128")
    assert_allclose(table.ratio[odd], 1.5)
    assert_allclose(np.delete(table.ratio, odd), 1.0)
    assert_allclose(table.z[odd], np.log(1.5) / QUIET)  # nothing scatters: the floor speaks


def test_the_scale_is_the_scatter_of_the_table_where_that_is_larger() -> None:
    noisy, quiet = neighbours(sweep(0.10)), neighbours(sweep(0.0))
    assert np.abs(noisy.z).max() < UNLIKE
    assert_allclose(np.median(np.abs(noisy.z)), 1 / 1.4826)
    assert_allclose(quiet.z, 0.0, atol=1e-9)


def test_two_patterns_or_two_batches_are_no_neighbours() -> None:
    narrow = [r for r in sweep(plain_64=3.0) if r.pattern in {"plain", "validated"}]
    short = [r for r in sweep(plain_64=3.0) if r.global_batch_size in {32, 64}]
    for runs in (narrow, short):
        assert np.isnan(neighbours(runs).z).all()
        assert neighbour_flags(runs) == []


def test_gaps_in_the_table_do_not_matter() -> None:
    gaps = {"plain 32", "validated 64", "from storage 512"}
    runs = [r for r in sweep(augmented_128=1.5) if r.run_id not in gaps]
    assert only(neighbour_flags(runs)).run == "augmented 128"


def test_a_lonely_run_beside_a_full_table_is_not_judged() -> None:
    lonely = run(8, "plain", 50.0)
    table = neighbours([*sweep(), lonely])
    assert np.isnan(table.z[-1])
    assert np.isfinite(table.z[:-1]).all()


def test_repeats_share_a_cell_and_the_odd_one_is_found() -> None:
    again = [replace(r, run_id=f"{r.run_id} again") for r in sweep()]
    odd = replace(run(128, "plain", 1.6), run_id="odd")
    assert only(neighbour_flags([*sweep(), *again, odd])).run == "odd"


def test_other_workloads_are_no_neighbours() -> None:
    other = [replace(r, workload="other", run_id=f"other {r.run_id}") for r in sweep(plain_64=1.5)]
    assert only(neighbour_flags([*sweep(), *other])).run == "other plain 64"


# -- one run at a time -------------------------------------------------------------------------


def test_later_epochs_that_vary_by_more_than_20_percent_are_unsteady() -> None:
    mean = run(64).later_epoch_mean_s or 0.0
    flag = only(epoch_flags([run(64, later_epoch_sd_s=0.2 * mean), run(128)]))
    assert_allclose(flag.value, 0.2 * np.sqrt(3 / 2))
    assert flag.evidence.startswith("GPU at batch 64: its 3 later epochs vary by 24.5 %")


def test_the_scatter_of_one_later_epoch_is_no_scatter() -> None:
    mean = run(64).later_epoch_mean_s or 0.0
    assert epoch_flags([run(64, later_epoch_sd_s=mean, epochs_measured=2)]) == []
    assert epoch_flags([run(64, later_epoch_sd_s=None), run(64, later_epoch_mean_s=None)]) == []


@pytest.mark.parametrize("name", ["pre_train_s", "first_epoch_s", "total_s", "samples_per_s"])
def test_zero_where_only_missing_can_be_is_named(name: str) -> None:
    wrong: dict[str, object] = {name: 0.0}
    flag = only(zero_flags([run(64, **wrong), run(128)]))  # type: ignore[arg-type]
    assert (flag.name, flag.value) == ("zero for missing", 0.0)
    assert f"{name} is 0" in flag.evidence


def test_scatter_of_exactly_zero_is_missing_unless_one_epoch_gave_it() -> None:
    assert "later_epoch_sd_s is 0" in only(zero_flags([run(64, later_epoch_sd_s=0.0)])).evidence
    assert zero_flags([run(64, later_epoch_sd_s=0.0, epochs_measured=2)]) == []


def test_what_is_not_known_is_no_zero() -> None:
    nothing = CheckedRun(run_id="x", label="x", workload="w", software="s", pattern="p",
                         system_name="GPU")  # fmt: skip
    assert suspects([nothing, replace(nothing, run_id="y")]) == ()


# -- all of them -------------------------------------------------------------------------------


def test_one_run_may_have_several_flags_each_by_its_name() -> None:
    runs = [r for r in sweep() if r.run_id != "plain 256"]
    sick = run(256, "plain", 2.0, pre_train_s=0.0)
    assert found(suspects([*runs, sick])) == [
        ("unlike its neighbours", "plain 256"),
        ("throughput falls", "plain 256"),
        ("zero for missing", "plain 256"),
    ]


@given(st.randoms())
@settings(max_examples=15, deadline=None)
def test_the_order_of_the_runs_does_not_matter(shuffle: random.Random) -> None:
    runs = [*sweep(validated_128=1.6), slipped(1024, 1000.0), run(2048, devices=2)]
    mixed = runs[:]
    shuffle.shuffle(mixed)
    assert set(found(suspects(mixed))) == set(found(suspects(runs)))


@given(scale=st.floats(1e-2, 1e2))
@settings(max_examples=15, deadline=None)
def test_seconds_or_milliseconds_make_no_difference(scale: float) -> None:
    runs = [
        replace(r, later_epoch_mean_s=scale * (r.later_epoch_mean_s or 0))
        for r in sweep(validated_128=1.6)
    ]
    assert_allclose(neighbours(runs).z, neighbours(sweep(validated_128=1.6)).z, atol=1e-6)


def test_a_row_of_the_run_table_becomes_a_record() -> None:
    row = {"run_id": "a", "workload": "w", "software": "s", "pattern": "p", "system_name": "V100",
           "system": "8 × V100 on 2 nodes", "accelerators_per_node": 4, "number_of_nodes": 2,
           "global_batch_size": 64, "later_epoch_mean_s": 5.0}  # fmt: skip
    record = checked_run(row)
    assert (record.devices, record.system_name) == (8, "V100")
    assert record.label == "8 × V100 on 2 nodes at batch 64"
    assert (record.later_epoch_mean_s, record.total_s) == (5.0, None)


def test_no_shipped_run_of_the_articles_is_suspect() -> None:
    rows = store().arrow("SELECT * FROM runs WHERE status = 'ok'", []).to_pylist()
    article = {r["run_id"] for r in rows if r["result_set"].startswith("article-")}
    flags = suspects([checked_run(r) for r in rows])
    assert len(article) == 49
    assert not article & {flag.run for flag in flags}


# -- what follows from flags -------------------------------------------------------------------


def flag(name: str, of: str) -> Flag:
    return Flag(name=name, run=of, evidence="", value=0.0)  # type: ignore[arg-type]


def test_the_flags_of_a_run_stand_together_in_their_usual_order() -> None:
    flags = [flag("unit slip", "a"), flag("duplicate", "b"), flag("throughput falls", "a")]
    assert {run: named(own) for run, own in by_run(flags).items()} == {
        "a": "throughput falls, unit slip",
        "b": "duplicate",
    }


def test_a_name_is_reported_once_however_many_flags_have_it() -> None:
    assert named([flag("unit slip", "a"), flag("unit slip", "b")]) == "unit slip"


def test_unsteady_epochs_alone_leave_no_run_out_and_every_other_flag_does() -> None:
    assert set(NAMES) - set(LEFT_OUT) == {"unsteady epochs"}
    assert left_out({"a": [flag("unsteady epochs", "a")]}) == frozenset()
    assert all(left_out({"a": [flag(name, "a")]}) == {"a"} for name in LEFT_OUT)
    both = [flag("unsteady epochs", "a"), flag("duplicate", "a")]
    assert left_out({"a": both}) == {"a"}


def test_a_pattern_that_timed_a_shorter_epoch_is_not_unlike_its_neighbours() -> None:
    runs = sweep()
    cut = [
        replace(r, later_epoch_mean_s=(r.later_epoch_mean_s or 0.0) / 10,
                first_epoch_s=(r.first_epoch_s or 0.0) / 10, total_s=None,
                samples_per_epoch=SAMPLES // 10, steps_per_epoch=None)
        if r.run_id == "augmented 128" else r
        for r in runs
    ]  # fmt: skip
    assert not [f for f in neighbour_flags(cut) if f.run == "augmented 128"]
    unstated = [replace(r, samples_per_epoch=None) for r in cut]
    assert [f for f in neighbour_flags(unstated) if f.run == "augmented 128"]


# -- published speeds ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reason", "name"),
    [
        ("131 TFLOP/s an accelerator exceed the peak of the X, 71 TFLOP/s.", "above the peak"),
        ("0.002 % of the peak of the X is unusually low: the unit may be wrong.", "unit slip"),
        ("A step of 46,418 s is unusually long: the unit may be wrong.", "unit slip"),
    ],
)
def test_a_published_speed_is_flagged_by_the_side_on_which_it_is_impossible(
    reason: str, name: str
) -> None:
    (flag,) = peak_flags([replace(sweep()[0], suspect_reason=reason), sweep()[1]])
    assert (flag.name, flag.value) == (name, 1.0)
    assert reason in flag.evidence
