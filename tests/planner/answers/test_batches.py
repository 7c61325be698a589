"""Which batch Compare times a system at: the fastest measured one, or the one in the question."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from planner.answers import CompareAnswer, compare_answered, how_long_answered
from planner.compare.comparison import Row
from planner.core import Refusal
from planner.epochs.epoch_size import ADD_SIZE
from planner.store import Store, queries
from planner.store.catalog import read_catalog
from tests.shipped import ROOT
from tests.store.build import a_set, opened, row

CATALOG = read_catalog(ROOT / "data" / "catalog").catalog
EPOCH_S = {64: 30.6, 128: 24.0, 256: 18.2, 512: 16.0, 1024: 14.7}


def _run(batch: int, later_s: float, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - any column
    """A row as the README writes it: no samples per epoch, no steps."""
    return row(
        **{
            "dataset": "CIFAR-10", "system_name": "RTX 4090", "global_batch_size": batch,
            "pre_train_s": 4.1, "first_epoch_s": later_s + 3.7, "later_epoch_mean_s": later_s,
            "later_epoch_sd_s": 0.1, "epochs_measured": 5,
        } | changes
    )  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Store:
    a_set(tmp_path, [_run(b, s) for b, s in EPOCH_S.items()])
    return opened(tmp_path)


def _compared(store: Store, **given: str) -> CompareAnswer:
    answer = {n: [v] for n, v in ({"epochs": "2000"} | given).items()}
    return compare_answered(store, CATALOG, answer, date(2026, 11, 22))


def _measured(answer: CompareAnswer) -> list[Row]:
    assert answer.answered.comparison is not None
    found = [r for r in answer.answered.comparison.rows if r.candidate.run is not None]
    assert found
    return found


def test_without_samples_per_epoch_too_the_fastest_batch_is_taken(store: Store) -> None:
    fastest = how_long_answered(store, {}).result
    assert fastest is not None
    best = fastest.answers[0].option.run
    assert best.global_batch_size == 1024
    for one in _measured(_compared(store)):
        assert one.timed.batch == 1024.0
        assert one.candidate.run is not None
        assert one.candidate.run.run.run_id == best.run_id


def test_a_batch_in_the_question_is_the_one_that_is_answered(store: Store) -> None:
    answer = _compared(store, batch="256", options="own-rtx-4090")
    assert answer.problems == ()
    assert "batch=256" in answer.query
    [one] = _measured(answer)
    assert one.timed.batch == 256.0
    assert not isinstance(one.timed.total, Refusal)
    assert one.timed.total.value == pytest.approx(4.1 + 21.9 + 1999 * 18.2)


def test_a_batch_that_was_not_measured_is_refused_with_those_that_were(store: Store) -> None:
    [one] = _measured(_compared(store, batch="100", options="own-rtx-4090"))
    assert isinstance(one.time, Refusal)
    assert "not measured at batch 100" in one.time.reason
    assert "64, 128, 256, 512, 1,024" in one.time.measure_next


def test_the_fastest_batch_that_can_be_projected_is_taken(tmp_path: Path) -> None:
    unsteady = [{"epoch": n, "epoch_s": s} for n, s in enumerate([12.0, *[5.0] * 6, *[9.0] * 6], 1)]
    jumpy = _run(2048, 7.0, first_epoch_s=None, later_epoch_mean_s=None, later_epoch_sd_s=None,
                 epochs=unsteady, epochs_measured=13)  # fmt: skip
    a_set(tmp_path, [_run(1024, 14.7), jumpy])
    for one in _measured(_compared(opened(tmp_path))):
        assert one.timed.batch == 1024.0


@pytest.fixture
def cards(tmp_path: Path) -> Store:
    """Runs on two accelerators of the catalogue, at two batches; one batch only on one of them."""
    a100 = {"system_name": "A100 SXM4 80GB", "accelerator_model_name": "A100 SXM4 80GB"}
    a_set(tmp_path, [
        _card(64, 30.6), _card(256, 18.2), _card(1024, 14.7),
        _card(64, 20.4, **a100), _card(256, 9.1, **a100),
    ])  # fmt: skip
    return opened(tmp_path)


def _card(batch: int, later_s: float, **changes: Any) -> dict[str, Any]:  # noqa: ANN401
    known = {"samples_per_epoch": 50_000, "device_kind": "gpu",
             "accelerator_model_name": "RTX 4090", "accelerators_per_node": 1}  # fmt: skip
    return _run(batch, later_s, **(known | changes))


def test_every_option_shows_its_batch(cards: Store) -> None:
    comparison = _compared(cards).answered.comparison
    assert comparison is not None
    assert any(r.candidate.run is None for r in comparison.rows)
    for one in comparison.rows:
        assert one.timed.batch is not None


@pytest.mark.parametrize("batch", [64, 256, 1024])
def test_at_a_batch_every_option_rests_on_runs_at_that_batch_or_is_refused(
    cards: Store, batch: int
) -> None:
    comparison = _compared(cards, batch=str(batch)).answered.comparison
    assert comparison is not None
    ranked = [r for r in comparison.rows if r.rank is not None]
    assert ranked
    assert {r.timed.batch for r in ranked} == {float(batch)}
    ids = {c.run_id for c in queries.runs_of(cards, *_place(cards)) if c.global_batch_size == batch}
    measured = {r.candidate.run.run.run_id for r in ranked if r.candidate.run}
    assert measured <= ids


def test_a_transferred_option_is_slower_at_a_batch_whose_runs_are_slower(cards: Store) -> None:
    """Both accelerators are much slower at batch 64, so what is transferred from them is too."""
    small, large = (_transferred(_compared(cards, batch=b)) for b in ("64", "256"))
    shared = small.keys() & large.keys()
    assert shared
    for option in shared:
        assert small[option] > 1.3 * large[option]


def _transferred(answer: CompareAnswer) -> dict[str, float]:
    assert answer.answered.comparison is not None
    return {
        r.candidate.hardware.label: float(r.time.value)
        for r in answer.answered.comparison.rows
        if r.candidate.run is None and not isinstance(r.time, Refusal)
    }


def test_a_batch_no_run_has_refuses_all_options_with_the_measured_ones(cards: Store) -> None:
    comparison = _compared(cards, batch="100").answered.comparison
    assert comparison is not None
    for one in comparison.rows:
        assert isinstance(one.time, Refusal)
        assert "not measured at batch 100" in one.time.reason
        assert "64, 256" in one.time.measure_next


def _place(store: Store) -> tuple[str, str]:
    [workload] = queries.workloads(store)
    [pattern] = queries.patterns(store, workload)
    return workload, pattern


def test_epochs_that_differ_in_size_are_named_as_that(tmp_path: Path) -> None:
    sizes = {64: 768, 256: 3072}
    a_set(tmp_path, [
        _card(b, 0.5, dataset="Ours", samples_per_epoch=s) for b, s in sizes.items()
    ])  # fmt: skip
    comparison = _compared(opened(tmp_path)).answered.comparison
    assert comparison is not None
    for one in comparison.rows:
        assert isinstance(one.time, Refusal)
        assert one.time.reason == "Epochs differ in size: 768 to 3,072 samples."
        assert one.time.measure_next == ADD_SIZE
