"""Promises of the sentence: range, difference and company are told, and only where there is any."""

from __future__ import annotations

import random

from numpy.testing import assert_allclose

from planner.effects import factor_effects
from planner.effects._effect import VALIDATION_WORK, Value
from tests.planner.made_effects import by_batch, effect, pairs, per_image, run


def test_every_batch_has_its_own_effect_in_rising_order() -> None:
    result = effect([run(False, 10.0, 512), run(True, 13.0, 512), run(False, 10.0, 64),
                   run(True, 11.0, 64)])  # fmt: skip
    assert [(b.batch, b.pairs) for b in result.by_batch] == [(64, 1), (512, 1)]
    assert_allclose(by_batch(result), [1.1, 1.3])
    assert "Per epoch from 1.10 at batch 64 to 1.30 at batch 512." in result.sentence


def test_for_the_same_images_both_answers_are_one() -> None:
    result = effect(pairs(1.2, 1.5, 1.1))
    assert_allclose(per_image(result).value, result.per_epoch.value)
    assert "differ" not in result.sentence


def test_fewer_validated_images_are_reported_where_the_answers_differ() -> None:
    before = run(False, 49.2, 4096, samples_per_epoch=49_152, validation_samples_per_epoch=8_192)
    after = run(True, 45.6, 4096, samples_per_epoch=49_152, validation_samples_per_epoch=64)
    result = effect([before, after])
    work = (49_152 + VALIDATION_WORK * 8_192) / (49_152 + VALIDATION_WORK * 64)
    assert_allclose(per_image(result).value, 45.6 / 49.2 * work)
    assert result.sentence.endswith(
        "The two answers differ because an epoch was not the same work (at batch 4,096, 49,152 "
        "images trained and 64 validated against 49,152 and 8,192)."
    )


def test_what_cannot_be_separated_from_the_factor_is_named() -> None:
    runs = [run(1, 10.0, brought=(("multiprocessing", None),)),
            run(4, 8.0, brought=(("multiprocessing", True),))]  # fmt: skip
    result = effect(runs, 1, 4)
    assert result.sentence.endswith("Also changed: multiprocessing (on against not stated).")


def test_random_runs_never_break_it() -> None:
    rng = random.Random(3)
    values: list[Value] = [None, True, False, "a", 3]
    runs = [run(rng.choice(values), rng.uniform(1, 2), rng.choice([8, 16])) for _ in range(60)]
    assert all(e.sentence.endswith(".") for e in factor_effects(runs, "feed"))
