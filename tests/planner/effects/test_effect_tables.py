"""The rows of the effect table, as the page and the CSV show them."""

from __future__ import annotations

from typing import Any

from planner.effects import effect_rows, effects_of
from planner.effects._effect import FEW_PAIRS


def row(batch: int, epoch_s: float, **facts: object) -> dict[str, Any]:
    return {
        "run_id": f"{batch} {epoch_s} {facts}", "workload": "Net · float32", "model": "Net",
        "precision": "float32", "status": "ok", "global_batch_size": batch,
        "later_epoch_mean_s": epoch_s, "samples_per_epoch": 1000, "validation": False,
        "augmentation": False,
    } | facts  # fmt: skip


def pairs() -> list[dict[str, Any]]:
    """Validation costs 10 % at batch 32 and 20 % at batch 64."""
    return [
        row(32, 10.0), row(32, 11.0, validation=True, validation_samples_per_epoch=300),
        row(64, 10.0), row(64, 12.0, validation=True, validation_samples_per_epoch=300),
    ]  # fmt: skip


def test_only_factors_with_pairs_are_offered() -> None:
    assert list(effects_of(pairs(), "Net · float32")) == ["validation"]
    assert effects_of(pairs()[:1], "Net · float32") == {}


def test_the_pooled_effect_stands_above_those_of_the_batches() -> None:
    rows = effect_rows(effects_of(pairs(), "Net · float32")["validation"])
    assert [(r["pooled"], r["batch"], r["pairs"]) for r in rows] == [
        (True, None, 2), (False, 32, 1), (False, 64, 1),
    ]  # fmt: skip
    assert [r["per_epoch"] for r in rows] == [1.1489, 1.1, 1.2]
    assert [r["per_image"] for r in rows] == [1.0445, 1.0, 1.0909]
    assert {(r["changed"], r["base"]) for r in rows} == {("on", "off")}
    assert FEW_PAIRS in str(rows[0]["notes"])


def test_a_single_batch_is_reported_once_with_its_batch() -> None:
    rows = effect_rows(effects_of(pairs()[:2], "Net · float32")["validation"])
    assert [(r["pooled"], r["batch"]) for r in rows] == [(True, 32)]


def test_where_images_are_not_known_only_the_epoch_is_reported_and_why() -> None:
    blind = [r | {"samples_per_epoch": None} for r in pairs()[:2]]
    result = effect_rows(effects_of(blind, "Net · float32")["validation"])[0]
    assert (result["per_epoch"], result["per_image"], result["per_image_low"]) == (1.1, None, None)
    assert "is unknown" in str(result["notes"])


def test_precisions_are_compared_across_workloads_and_nothing_else_is() -> None:
    half = [r | {"workload": "Net · bfloat16", "precision": "bfloat16"} for r in pairs()]
    found = effects_of([*pairs(), *half], "Net · float32")
    assert list(found) == ["validation", "precision"]
    assert found["validation"][0].pairs == 2
    assert found["precision"][0].pairs == 4
