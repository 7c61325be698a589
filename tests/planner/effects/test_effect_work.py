"""Promises of what is said of epochs that were not the same work."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any, Final

import pytest

from planner.effects import effects_of
from planner.effects._effect import (
    FASTER_PER_EPOCH,
    FASTER_PER_IMAGE,
    SHORT,
    VALIDATION_WORK,
    short_validation,
    work_notes,
)
from planner.store import queries
from tests.shipped import store

ARTICLE: Final = "WideResNet-103M · CIFAR-100 · Adam · float32"
DATASET: Final = Path(__file__).parents[4] / "shared" / "datasets" / "koshian2_tpu_benchmark"


def row(batch: int | None, trained: int | None, result_set: str = "mine") -> dict[str, Any]:
    return {
        "result_set": result_set, "global_batch_size": batch, "samples_per_epoch": trained,
    }  # fmt: skip


def test_the_effects_of_the_articles_workload_say_why_augmentation_seemed_faster() -> None:
    effects = effects_of(queries.factor_rows(store(), ARTICLE), ARTICLE)["feed"]
    remainder, less = effects[0].notes
    assert "at batch 4,096 a feed that drops the remainder trains on 49,152 of 50,000" in remainder
    assert "finds augmentation faster. Partly that is less validation" in less
    assert "validated 64 images an epoch: 32 × (10,000 // batch)" in less
    assert "The patterns from storage validated 8,192" in less


def test_every_batch_of_the_pattern_validated_32_images_a_step() -> None:
    result = {batch: short_validation(batch) for batch in (64, 256, 4096)}
    assert result == {64: (4992, 9984), 256: (1248, 9984), 4096: (64, 8192)}


@pytest.mark.skipif(not DATASET.is_dir(), reason="the koshian2 benchmark data are not here")
def test_per_image_most_of_what_augmentation_seemed_to_save_is_gone() -> None:
    table = csv.DictReader((DATASET / "published_summary_main.csv").read_text().splitlines())
    mean = {
        r["pattern"]: float(r["second_epoch_mean"])
        for r in table
        if (r["device"], r["batch_size"]) == ("tpu", "4096")
    }
    few, usual = (49_152 + VALIDATION_WORK * n for n in short_validation(4096))
    ratio = mean["3"] / mean["5"]  # (T, T, F) against (T, F, T)
    assert (round(ratio, 2), round(ratio * usual / few, 2)) == (FASTER_PER_EPOCH, FASTER_PER_IMAGE)


def test_nothing_is_said_where_every_epoch_is_whole_or_its_samples_are_not_known() -> None:
    assert work_notes([]) == ()
    assert work_notes([row(None, 1000), row(32, None), row(50, 1000)]) == ()
    assert work_notes([row(64, 1000), row(100, 1000)]) == ()


def test_fewer_samples_than_a_remainder_explains_are_no_remainder() -> None:
    assert work_notes([row(64, 1000), row(64, 500)]) == ()
    assert "960 of 1,000" in work_notes([row(64, 1000), row(64, 960)])[0]


def test_the_batch_of_the_article_is_that_of_its_rows() -> None:
    (note,) = work_notes([row(1024, None, SHORT)])
    assert (
        "At batch 1,024 its pattern (T, T, F), augmented from memory, validated 288 images" in note
    )
