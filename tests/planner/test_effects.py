"""Promises of factor effects: paired, pooled in logarithms, per epoch and per processed image."""

from __future__ import annotations

import csv
import random
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from planner.effects import (
    BROUGHT,
    FEW_PAIRS,
    NOT_COUNTED,
    VALIDATION_WORK,
    FactorEffect,
    FactorRun,
    Value,
    factor_effect,
    factor_effects,
    factor_runs,
)
from planner.estimate import Estimate, Refusal, t_quantile
from planner.projection import SESSION_SD, session_half_width
from planner.ratios import UNDECIDED
from tests.shipped import store

DATASET: Final = Path(__file__).parents[3] / "shared" / "datasets" / "koshian2_tpu_benchmark"
needs_dataset = pytest.mark.skipif(
    not DATASET.is_dir(), reason="the koshian2 benchmark data are not here"
)


def run(value: Value, epoch_s: float, batch: int = 64, **more: object) -> FactorRun:
    facts: dict[str, object] = {
        "run_id": f"{value} {batch}",
        "configuration": ("GPU",),
        "samples_per_epoch": 50_000,
        "validation_samples_per_epoch": 0,
    }
    return FactorRun(value=value, epoch_s=epoch_s, batch=batch, **{**facts, **more})  # type: ignore[arg-type]


def pairs(*ratios: float) -> list[FactorRun]:
    """One pair a ratio, at batches 1, 2, 3 ..."""
    return [
        one
        for batch, ratio in enumerate(ratios, start=1)
        for one in (run(False, 10.0 * batch, batch), run(True, 10.0 * batch * ratio, batch))
    ]


def effect(runs: list[FactorRun], *values: Value) -> FactorEffect:
    """Of `values`, base and changed; off and on where there are none."""
    told = factor_effect(runs, "augmentation", *(values or (False, True)))
    assert isinstance(told, FactorEffect)
    return told


def per_image(told: FactorEffect) -> Estimate:
    assert isinstance(told.per_image, Estimate)
    return told.per_image


def ends(told: Estimate) -> list[float]:
    """Value, low and high."""
    return [float(told.value), float(told.low), float(told.high)]


def log_half_width(told: Estimate) -> float:
    return float(np.log(told.high / told.low)) / 2


def holds(told: Estimate, truth: float) -> bool:
    return bool(told.low <= truth <= told.high)


def by_batch(told: FactorEffect) -> list[float]:
    return [float(b.per_epoch.value) for b in told.by_batch]


# -- pairs -------------------------------------------------------------------------------------


def test_the_effect_is_the_geometric_mean_of_the_pairs() -> None:
    told = effect(pairs(1.2, 1.5, 1.1, 1.3))
    assert told.pairs == 4
    assert_allclose(told.per_epoch.value, (1.2 * 1.5 * 1.1 * 1.3) ** 0.25)
    assert told.per_epoch.basis == "measured"


def test_the_interval_is_students_t_on_the_logarithms() -> None:
    ratios = np.array([1.2, 1.5, 1.1, 1.3])
    told = effect(pairs(*ratios)).per_epoch
    half = float(t_quantile(0.9, 3.0)) * np.log(ratios).std(ddof=1) / 2
    assert_allclose(log_half_width(told), half)
    value, low, high = ends(told)
    assert_allclose(low * high, value**2)


def test_swapping_the_values_inverts_value_and_interval() -> None:
    there, back = effect(pairs(1.2, 1.5, 1.1)), effect(pairs(1.2, 1.5, 1.1), True, False)
    value, low, high = ends(there.per_epoch)
    assert_allclose([1 / value, 1 / high, 1 / low], ends(back.per_epoch))


def test_one_pair_is_as_sure_as_two_sessions_are_alike() -> None:
    told = effect(pairs(1.2)).per_epoch
    assert_allclose(told.value, 1.2)
    assert_allclose(log_half_width(told), session_half_width(0.9))
    assert FEW_PAIRS in told.reasons


def test_two_pairs_that_agree_by_chance_are_not_taken_for_certain() -> None:
    told = effect(pairs(1.2, 1.2)).per_epoch
    expected = float(t_quantile(0.9, 6.0)) * np.sqrt(5 / 6 * 2 / 2) * SESSION_SD
    assert_allclose(log_half_width(told), expected)
    assert FEW_PAIRS in told.reasons
    apart = effect(pairs(1.0, 1.44)).per_epoch
    assert log_half_width(apart) > 3 * expected


def test_three_pairs_speak_for_themselves() -> None:
    assert effect(pairs(1.2, 1.3, 1.25)).per_epoch.reasons == ()


def test_an_effect_inside_its_doubt_is_not_decided() -> None:
    told = effect(pairs(0.9, 1.2, 1.05))
    assert UNDECIDED in told.per_epoch.reasons
    assert ", not decided)" in told.sentence
    assert UNDECIDED not in effect(pairs(1.2, 1.3, 1.25)).per_epoch.reasons


def test_only_runs_equal_in_everything_else_are_a_pair() -> None:
    lonely = [run(True, 99.0, 512), run(False, 1.0, 1024),
              run(True, 99.0, 1, configuration=("TPU",))]  # fmt: skip
    assert effect([*pairs(1.2, 1.3), *lonely]).pairs == 2


def test_without_a_pair_there_is_a_refusal_that_says_what_to_measure() -> None:
    told = factor_effect([run(False, 10.0, 64), run(True, 12.0, 128)], "jit", False, True)
    assert isinstance(told, Refusal)
    assert told.reason == "No two runs differ in jit (off and on) alone."
    assert "with both" in told.measure_next
    assert isinstance(factor_effect([], "jit", False, True), Refusal)


def test_repeats_of_one_side_are_averaged_before_they_are_paired() -> None:
    runs = [run(False, 10.0), run(True, 10.0), run(True, 14.4, run_id="again")]
    told = effect(runs)
    assert told.pairs == 1
    assert_allclose(told.per_epoch.value, 1.2)


def test_runs_that_agree_in_what_a_factor_brings_are_paired_first() -> None:
    numpy_fit, numpy_loop = (run("numpy", s, run_id=e, brought=(("engine", e),))
                             for s, e in ((10.0, "fit"), (30.0, "loop")))  # fmt: skip
    files_fit = run("directory", 20.0, brought=(("engine", "fit"),))
    told = effect([numpy_fit, numpy_loop, files_fit], "numpy", "directory")
    assert_allclose(told.per_epoch.value, 2.0)
    assert "With it changed" not in told.sentence


def test_what_cannot_be_told_from_the_factor_is_named() -> None:
    runs = [run(1, 10.0, brought=(("multiprocessing", None),)),
            run(4, 8.0, brought=(("multiprocessing", True),))]  # fmt: skip
    told = effect(runs, 1, 4)
    assert told.sentence.endswith("With it changed multiprocessing (on against not stated).")


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


@pytest.mark.parametrize("n", [3, 5, 10])
def test_pooled_intervals_hold_the_true_effect_in_87_to_93_percent(n: int) -> None:
    rng = np.random.default_rng(20261121)
    drawn = 1.2 * np.exp(0.05 * rng.standard_normal((500, n)))
    inside = [holds(effect(pairs(*ratios)).per_epoch, 1.2) for ratios in drawn]
    assert 0.87 <= np.mean(inside) <= 0.93


def test_one_pair_of_two_sessions_holds_it_in_as_many_as_promised_or_more() -> None:
    rng = np.random.default_rng(20261121)
    drawn = 1.2 * np.exp(np.sqrt(2) * SESSION_SD * rng.standard_normal(500))
    inside = [holds(effect(pairs(ratio)).per_epoch, 1.2) for ratio in drawn]
    assert 0.90 <= np.mean(inside) <= 0.98


# -- batches -----------------------------------------------------------------------------------


def test_every_batch_has_its_own_effect_in_rising_order() -> None:
    told = effect([run(False, 10.0, 512), run(True, 13.0, 512), run(False, 10.0, 64),
                   run(True, 11.0, 64)])  # fmt: skip
    assert [(b.batch, b.pairs) for b in told.by_batch] == [(64, 1), (512, 1)]
    assert_allclose(by_batch(told), [1.1, 1.3])
    assert "Per epoch from 1.10 at batch 64 to 1.30 at batch 512." in told.sentence


def test_runs_without_a_batch_are_pairs_too() -> None:
    bare = [replace(r, batch=None) for r in pairs(1.2)]
    told = effect(bare)
    assert [b.batch for b in told.by_batch] == [None]


# -- images ------------------------------------------------------------------------------------


def test_for_the_same_images_both_answers_are_one() -> None:
    told = effect(pairs(1.2, 1.5, 1.1))
    assert_allclose(per_image(told).value, told.per_epoch.value)
    assert "differ" not in told.sentence


def test_a_dropped_remainder_is_counted_per_processed_image() -> None:
    runs = [run("fit", 50.0, 4096), run("generator", 49.2, 4096, samples_per_epoch=49_152)]
    told = effect(runs, "fit", "generator")
    assert_allclose(told.per_epoch.value, 0.984)
    assert_allclose(per_image(told).value, 0.984 * 50_000 / 49_152)


def test_fewer_validated_images_are_told_where_the_answers_differ() -> None:
    before = run(False, 49.2, 4096, samples_per_epoch=49_152, validation_samples_per_epoch=8_192)
    after = run(True, 45.6, 4096, samples_per_epoch=49_152, validation_samples_per_epoch=64)
    told = effect([before, after])
    work = (49_152 + VALIDATION_WORK * 8_192) / (49_152 + VALIDATION_WORK * 64)
    assert_allclose(per_image(told).value, 45.6 / 49.2 * work)
    assert told.sentence.endswith(
        "The two answers differ because an epoch was not the same work (at batch 4096, 49,152 "
        "images trained and 64 validated against 49,152 and 8,192)."
    )


def test_validation_itself_costs_less_per_image_than_per_epoch() -> None:
    told = effect([run(False, 100.0), run(True, 108.0, validation_samples_per_epoch=10_000)])
    assert_allclose(told.per_epoch.value, 1.08)
    assert_allclose(per_image(told).value, 1.08 / (1 + VALIDATION_WORK * 10_000 / 50_000))


def test_images_that_are_not_known_are_not_made_up() -> None:
    told = effect([run(False, 100.0, samples_per_epoch=None), run(True, 110.0)])
    assert isinstance(told.per_image, Refusal)
    assert "a processed image" not in told.sentence
    half_known = [run(False, 100.0), run(True, 110.0, validation_samples_per_epoch=None)]
    assert isinstance(effect(half_known).per_image, Refusal)


def test_where_no_side_knows_what_it_validated_only_trained_images_count() -> None:
    runs = [replace(r, validation_samples_per_epoch=None) for r in pairs(1.2)]
    assert NOT_COUNTED in per_image(effect(runs)).reasons


# -- many values, and rows ---------------------------------------------------------------------


def test_every_value_is_compared_with_the_plainest() -> None:
    runs = [run(workers, s) for workers, s in ((4, 7.0), (1, 10.0), (2, 8.0))]
    told = factor_effects(runs, "workers")
    assert [(e.base, e.changed) for e in told] == [(1, 2), (1, 4)]
    feeds = [run(f, 1.0, b) for f, b in (("a", 1), ("b", 1), ("b", 2), ("c", 2))]
    assert [(e.base, e.changed) for e in factor_effects(feeds, "feed")] == [("b", "a"), ("b", "c")]
    assert factor_effects([], "feed") == ()


def test_an_impossible_time_is_named_with_its_run() -> None:
    with pytest.raises(ValueError, match="An epoch of run True 64 took 0 s"):
        effect([run(False, 10.0), run(True, 0.0)])


def test_an_unknown_factor_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"'colour' is no factor\. Ask for one of validation, aug"):
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


def test_the_published_feed_table_gives_the_ratios_it_prints() -> None:
    rows = store().arrow(
        "SELECT * FROM runs WHERE result_set = 'article-002-feed'", []
    ).to_pylist()  # fmt: skip
    told = effect(factor_runs(rows, "feed"), "fit", "generator")
    assert told.pairs == 5
    means = {(r["feed"], r["global_batch_size"]): r["later_epoch_mean_s"] for r in rows}
    ratios = [means["generator", b] / means["fit", b] for b in (256, 512, 1024, 2048, 4096)]
    assert_allclose(by_batch(told), ratios)
    assert float(per_image(told).value) > float(told.per_epoch.value)
    assert "engine (fit_generator against fit)" in told.sentence


def test_every_factor_finds_its_pairs_among_the_shipped_runs_or_none() -> None:
    rows = store().arrow("SELECT * FROM runs WHERE mode = 'training'", []).to_pylist()
    found = {f: factor_effects(factor_runs(rows, f), f) for f in BROUGHT}
    assert {f for f, effects in found.items() if effects} >= {
        "validation", "augmentation", "storage", "workers", "feed", "jit", "framework",
    }  # fmt: skip


# -- the published sweep, without its sick run -------------------------------------------------

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
    told = effect(published(0), "memory", "storage")
    assert told.pairs == 9
    assert [round(ends(e)[0], 2) for e in (told.per_epoch, per_image(told))] == [1.03, 0.98]
    assert "The two answers differ because an epoch was not the same work" in told.sentence


@needs_dataset
def test_at_batch_4096_half_of_what_storage_seems_to_cost_is_unequal_validation() -> None:
    largest = effect(published(0), "memory", "storage").by_batch[-1]
    assert isinstance(largest.per_image, Estimate)
    assert largest.batch == 4096
    assert [round(ends(e)[0], 2) for e in (largest.per_epoch, largest.per_image)] == [1.13, 1.07]


@needs_dataset
def test_more_workers_are_not_decided_over_all_batches_and_cost_16_percent_at_the_largest() -> None:
    told = effect(published(1), 1, 4)
    assert UNDECIDED in told.per_epoch.reasons
    assert round(by_batch(told)[-1], 2) == 1.16
    assert told.by_batch[-1].per_epoch.low > 1.0
    assert_allclose(ends(per_image(told)), ends(told.per_epoch))


def test_random_runs_never_break_it() -> None:
    rng = random.Random(3)
    values: list[Value] = [None, True, False, "a", 3]
    runs = [run(rng.choice(values), rng.uniform(1, 2), rng.choice([8, 16])) for _ in range(60)]
    assert all(e.sentence.endswith(".") for e in factor_effects(runs, "feed"))
