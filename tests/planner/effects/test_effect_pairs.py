"""Promises of the pairs: equal in all else, repeats averaged, what comes along kept apart."""

from __future__ import annotations

from dataclasses import replace

import pytest
from numpy.testing import assert_allclose

from planner.effects._effect import factor_runs
from tests.planner.made_effects import effect, pairs, run


def test_only_runs_equal_in_everything_else_are_a_pair() -> None:
    lonely = [run(True, 99.0, 512), run(False, 1.0, 1024),
              run(True, 99.0, 1, configuration=("TPU",))]  # fmt: skip
    assert effect([*pairs(1.2, 1.3), *lonely]).pairs == 2


def test_repeats_of_one_side_are_averaged_before_they_are_paired() -> None:
    runs = [run(False, 10.0), run(True, 10.0), run(True, 14.4, run_id="again")]
    result = effect(runs)
    assert result.pairs == 1
    assert_allclose(result.per_epoch.value, 1.2)


def test_runs_that_agree_in_what_a_factor_brings_are_paired_first() -> None:
    numpy_fit, numpy_loop = (run("numpy", s, run_id=e, brought=(("engine", e),))
                             for s, e in ((10.0, "fit"), (30.0, "loop")))  # fmt: skip
    files_fit = run("directory", 20.0, brought=(("engine", "fit"),))
    result = effect([numpy_fit, numpy_loop, files_fit], "numpy", "directory")
    assert_allclose(result.per_epoch.value, 2.0)
    assert "Also changed:" not in result.sentence


def test_runs_without_a_batch_are_pairs_too() -> None:
    bare = [replace(r, batch=None) for r in pairs(1.2)]
    result = effect(bare)
    assert [b.batch for b in result.by_batch] == [None]


def test_an_unknown_factor_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        ValueError, match=r"'colour' is not a factor\. Choose one of validation, aug"
    ):
        factor_runs([], "colour")


def test_a_row_becomes_a_record_without_what_names_the_run_only() -> None:
    row = {"run_id": "a", "result_set": "x", "repeat": 3, "model": "net", "workers": 4,
           "feed": "fit", "multiprocessing": True, "global_batch_size": 64, "validation": False,
           "later_epoch_mean_s": 5.0, "samples_per_epoch": 50_000}  # fmt: skip
    record, again = factor_runs([row, {**row, "repeat": 4, "workers": 1}], "workers")
    assert record.configuration == again.configuration
    assert (record.value, record.brought) == (4, (("multiprocessing", True),))
    assert record.validation_samples_per_epoch == 0
    assert factor_runs([{**row, "later_epoch_mean_s": None}], "workers") == []
    assert factor_runs([{**row, "validation": True}], "jit")[0].validation_samples_per_epoch is None


def test_epochs_of_different_size_are_paired_by_the_time_of_a_sample() -> None:
    short, whole = run(False, 1.0, samples_per_epoch=288), run(True, 5.0, samples_per_epoch=960)
    assert_allclose(effect([short, whole]).per_epoch.value, 5.0 * 288 / 960)


def test_a_dropped_last_batch_is_no_other_size() -> None:
    fit, cut = run(False, 10.0), run(True, 9.0, samples_per_epoch=49_152)
    assert_allclose(effect([fit, cut]).per_epoch.value, 0.9)
