"""Promises of factor effects: per epoch and per processed image, on made and on published runs."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from planner.core import Estimate, Refusal
from planner.effects import BROUGHT, FactorRun, effects_of, factor_effect, factor_effects
from planner.effects._effect import PLAINEST, VALIDATION_WORK, factor_runs
from planner.epochs import UNDECIDED
from tests.planner.made_effects import by_batch, effect, ends, pairs, per_image, run
from tests.shipped import store

DATASET: Final = Path(__file__).parents[4] / "shared" / "datasets" / "koshian2_tpu_benchmark"
needs_dataset = pytest.mark.skipif(
    not DATASET.is_dir(), reason="the koshian2 benchmark data are not here"
)


def test_swapping_the_values_inverts_value_and_interval() -> None:
    there, back = effect(pairs(1.2, 1.5, 1.1)), effect(pairs(1.2, 1.5, 1.1), True, False)
    value, low, high = ends(there.per_epoch)
    assert_allclose([1 / value, 1 / high, 1 / low], ends(back.per_epoch))


def test_without_a_pair_there_is_a_refusal_that_says_what_to_measure() -> None:
    result = factor_effect([run(False, 10.0, 64), run(True, 12.0, 128)], "jit", False, True)
    assert isinstance(result, Refusal)
    assert result.reason == "No two runs differ in jit (off and on) alone."
    assert "with both" in result.measure_next
    assert isinstance(factor_effect([], "jit", False, True), Refusal)


@given(order=st.permutations(range(8)))
@settings(max_examples=15, deadline=None)
def test_the_order_of_the_runs_does_not_matter(order: list[int]) -> None:
    runs = pairs(1.2, 1.5, 1.1, 1.3)
    mixed = effect([runs[i] for i in order])
    assert_allclose(mixed.per_epoch.value, effect(runs).per_epoch.value)
    assert [b.batch for b in mixed.by_batch] == [1, 2, 3, 4]


@given(scale=st.floats(1e-3, 1e3))
@settings(max_examples=15, deadline=None)
def test_seconds_or_milliseconds_make_no_difference(scale: float) -> None:
    runs = [replace(r, epoch_s=r.epoch_s * scale) for r in pairs(1.2, 1.5, 1.1)]
    assert_allclose(effect(runs).per_epoch.high, effect(pairs(1.2, 1.5, 1.1)).per_epoch.high)


def test_an_impossible_time_is_named_with_its_run() -> None:
    with pytest.raises(ValueError, match="An epoch of run True 64 took 0 s"):
        effect([run(False, 10.0), run(True, 0.0)])


def test_every_value_is_compared_with_the_plainest() -> None:
    runs = [run(workers, s) for workers, s in ((4, 7.0), (1, 10.0), (2, 8.0))]
    result = factor_effects(runs, "workers")
    assert [(e.base, e.changed) for e in result] == [(1, 2), (1, 4)]
    feeds = [run(f, 1.0, b) for f, b in (("a", 1), ("b", 1), ("b", 2), ("c", 2))]
    assert [(e.base, e.changed) for e in factor_effects(feeds, "feed")] == [("b", "a"), ("b", "c")]
    assert factor_effects([], "feed") == ()


def test_the_base_of_a_factor_is_the_same_however_many_runs_have_each_value() -> None:
    for many, few in (("memory", "storage"), ("storage", "memory")):
        runs = [run(many, 10.0, 32), run(few, 11.0, 32), run(many, 12.0, 64)]
        result = factor_effects(runs, "storage")
        assert [(e.base, e.changed) for e in result] == [("memory", "storage")]


def test_a_value_without_a_pair_with_the_plainest_is_compared_with_the_next() -> None:
    cells = [("numpy", 1), ("tf.data", 1), ("PyDataset", 2), ("directory", 2)]
    result = factor_effects([run(feed, 1.0, batch) for feed, batch in cells], "feed")
    assert [(e.base, e.changed) for e in result] == [
        ("numpy", "tf.data"), ("PyDataset", "directory"),
    ]  # fmt: skip


def test_every_factor_has_a_plainest_value() -> None:
    assert set(PLAINEST) == set(BROUGHT)


def test_no_two_shipped_workloads_read_a_factor_the_other_way_round() -> None:
    rows = store().arrow("SELECT * FROM runs WHERE mode = 'training'", []).to_pylist()
    result = {
        (factor, effect.base, effect.changed)
        for workload in {row["workload"] for row in rows}
        for factor, effects in effects_of(rows, workload).items()
        for effect in effects
    }
    assert ("storage", "memory", "storage") in result
    assert not {(f, changed, base) for f, base, changed in result} & result


# -- images ------------------------------------------------------------------------------------


def test_a_dropped_remainder_is_counted_per_processed_image() -> None:
    runs = [run("fit", 50.0, 4096), run("generator", 49.2, 4096, samples_per_epoch=49_152)]
    result = effect(runs, "fit", "generator")
    assert_allclose(result.per_epoch.value, 0.984)
    assert_allclose(per_image(result).value, 0.984 * 50_000 / 49_152)


def test_validation_itself_costs_less_per_image_than_per_epoch() -> None:
    result = effect([run(False, 100.0), run(True, 108.0, validation_samples_per_epoch=10_000)])
    assert_allclose(result.per_epoch.value, 1.08)
    assert_allclose(per_image(result).value, 1.08 / (1 + VALIDATION_WORK * 10_000 / 50_000))


# -- shipped and published runs -----------------------------------------------------------------


def test_the_published_feed_table_gives_the_ratios_it_prints() -> None:
    rows = store().arrow(
        "SELECT * FROM runs WHERE result_set = 'article-002-feed'", []
    ).to_pylist()  # fmt: skip
    result = effect(factor_runs(rows, "feed"), "fit", "generator")
    assert result.pairs == 5
    means = {(r["feed"], r["global_batch_size"]): r["later_epoch_mean_s"] for r in rows}
    ratios = [means["generator", b] / means["fit", b] for b in (256, 512, 1024, 2048, 4096)]
    assert_allclose(by_batch(result), ratios)
    assert float(per_image(result).value) > float(result.per_epoch.value)
    assert "engine (fit_generator against fit)" in result.sentence


def test_every_factor_finds_its_pairs_among_the_shipped_runs_or_none() -> None:
    rows = store().arrow("SELECT * FROM runs WHERE mode = 'training'", []).to_pylist()
    found = {f: factor_effects(factor_runs(rows, f), f) for f in BROUGHT}
    assert {f for f, effects in found.items() if effects} >= {
        "validation", "augmentation", "storage", "workers", "feed", "jit", "framework",
    }  # fmt: skip


PATTERNS: Final = {"3": ("memory", 1), "6": ("storage", 1), "8": ("storage", 4)}
"""Validated and augmented, all three; (T, T, F) validated on a batch of 32 at a time."""


def published(factor: int) -> list[FactorRun]:
    """Storage (0) or workers (1) of koshian2's sweep, with the images its script processed."""
    runs = []
    for row in csv.DictReader((DATASET / "published_summary_main.csv").read_text().splitlines()):
        batch = int(row["batch_size"])
        sick = (row["device"], batch, row["pattern"]) == ("gpu", 256, "6")
        if row["pattern"] in PATTERNS and not sick:
            values = PATTERNS[row["pattern"]]
            size = 32 if row["pattern"] == "3" else batch
            runs.append(
                run(
                    values[factor],
                    float(row["second_epoch_mean"]),
                    batch,
                    run_id=f"{row['device']} {batch} {row['pattern']}",
                    configuration=(row["device"], values[1 - factor]),
                    samples_per_epoch=50_000 // batch * batch,
                    validation_samples_per_epoch=10_000 // batch * size,
                )
            )
    return runs


@needs_dataset
def test_storage_seems_to_cost_3_percent_that_unequal_validation_explains() -> None:
    result = effect(published(0), "memory", "storage")
    assert result.pairs == 9
    assert [round(ends(e)[0], 2) for e in (result.per_epoch, per_image(result))] == [1.03, 0.98]
    assert "The two answers differ because an epoch was not the same work" in result.sentence


@needs_dataset
def test_at_batch_4096_half_of_what_storage_seems_to_cost_is_unequal_validation() -> None:
    largest = effect(published(0), "memory", "storage").by_batch[-1]
    assert isinstance(largest.per_image, Estimate)
    assert largest.batch == 4096
    assert [round(ends(e)[0], 2) for e in (largest.per_epoch, largest.per_image)] == [1.13, 1.07]


@needs_dataset
def test_more_workers_are_not_decided_over_all_batches_and_cost_16_percent_at_the_largest() -> None:
    result = effect(published(1), 1, 4)
    assert UNDECIDED in result.per_epoch.reasons
    assert round(by_batch(result)[-1], 2) == 1.16
    assert result.by_batch[-1].per_epoch.low > 1.0
    assert_allclose(ends(per_image(result)), ends(result.per_epoch))
