"""How long? and Compare where epochs differ in size: one size, a field, no wrong order."""

from __future__ import annotations

import itertools
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from pages.common import hardware
from planner.answers import compare_answered, how_long_answered, plain, projection
from planner.core import Refusal
from planner.core.slugs import slugs
from planner.store import Store, commit_runs, queries
from tests.pages.conftest import show, texts
from tests.store.build import row

FIELD = "how-long.samples_per_epoch"


def swept(batch: int, step_s: float, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - any column
    """A run as sweeps make them: 12 steps an epoch at every batch."""
    facts = {
        "dataset": "own data", "global_batch_size": batch, "pre_train_s": 4.0,
        "first_epoch_s": 5.0, "later_epoch_mean_s": 12 * step_s, "later_epoch_sd_s": 0.0,
        "epochs_measured": 4, "steps_per_epoch": 12, "samples_per_epoch": 12 * batch,
        "train_samples": 12 * batch,
    }  # fmt: skip
    return row(**{**facts, **changes})


def _unequal(place: Path, **changes: Any) -> None:  # noqa: ANN401 - any column
    commit_runs(place / "mine", [swept(4, 0.008, **changes), swept(256, 0.072, **changes)])


# -- the shipped results -------------------------------------------------------------------------


def _answers(store: Store) -> list[tuple[str, str, Any]]:
    """Every shipped workload under each of its patterns, with its default answer."""
    found = []
    for workload, name in slugs(queries.workloads(store)).items():
        for pattern in slugs(queries.patterns(store, name)):
            answer = how_long_answered(store, {"workload": [workload], "pattern": [pattern]})
            assert answer.result is not None
            found.append((workload, pattern, answer.result))
    return found


def test_no_shipped_answer_ranks_a_run_above_one_of_more_samples_per_second(store: Store) -> None:
    """For thousands of epochs what decides is the time of a sample, whatever was timed."""
    for workload, pattern, result in _answers(store):
        timed = [
            (a.total.value, a.option.run.samples_per_s)
            for a in result.answers
            if not isinstance(a.total, Refusal) and a.option.run.samples_per_s
        ]
        for (short, fast), (long, slow) in itertools.pairwise(timed):
            close = abs(float(long) / float(short) - 1.0) < 0.02 or result.epochs < 100
            assert fast >= slow * 0.98 or close, (workload, pattern)


def test_vgg_11_takes_the_least_time_at_a_large_batch(store: Store) -> None:
    workload = "vgg-11-width-16-synthetic-cifar-10-sgd-momentum-0.9-float32"
    answer = how_long_answered(store, {"workload": [workload]})
    assert answer.result is not None
    best, last = answer.result.answers[0], answer.result.answers[-1]
    assert best.option.run.global_batch_size == 256
    assert last.option.run.global_batch_size == 4
    assert best.speed_ratio is not None
    assert 6.5 < float(best.speed_ratio.value) < 7.5
    body = plain(projection(answer.result, {}, store.sets, answer.query))
    assert body["samples_per_epoch"] == 50_000.0
    assert {r["timed_samples_per_epoch"] for r in body["rows"]} >= {48.0, 3_072.0}


# -- the page ------------------------------------------------------------------------------------


def test_the_page_refuses_unequal_epochs_and_its_field_fixes_it(alone: Path) -> None:
    _unequal(alone)
    shown = show()
    assert "Epochs differ in size: 48 to 3,072 samples." in texts(shown)
    assert "Enter the samples per epoch" in texts(shown)
    assert not shown.get("plotly_chart")
    shown.number_input(key=FIELD).set_value(50_000).run()
    said = texts(shown)
    assert "2000 epochs of ResNet-50 at batch 256 on T4" in said
    assert "An epoch is 50,000 samples, as entered." in said
    assert "Timed 3,072 samples an epoch, converted to 50,000." in said
    assert shown.query_params["samples_per_epoch"] == "50000"


def test_a_link_with_a_size_answers_without_a_click(alone: Path) -> None:
    _unequal(alone)
    assert "at batch 256 on T4" in texts(show(samples_per_epoch="50000"))


@pytest.mark.parametrize("bad", ["0", "-5", "1.5", "many", "9" * 17])
def test_a_link_with_an_impossible_size_says_so(alone: Path, bad: str) -> None:
    _unequal(alone)
    shown = show(samples_per_epoch=bad)
    assert "samples_per_epoch" in shown.warning[0].value


def test_another_workload_does_not_inherit_a_size(alone: Path) -> None:
    _unequal(alone)
    commit_runs(alone / "other", [swept(b, 0.01, model="Net", result_set="other") for b in (4, 8)])
    shown = show(workload="resnet-50-own-data", samples_per_epoch="50000")
    assert "as entered" in texts(shown)
    shown = shown.selectbox(key="how-long.workload").set_value("net-own-data").run()
    assert "Epochs differ in size: 48 to 96 samples." in texts(shown)
    assert "samples_per_epoch" not in shown.query_params


def test_epochs_of_one_size_need_no_field(store: Store) -> None:
    assert store.sets
    assert not [n for n in show().number_input if n.key == FIELD]


def test_the_data_sets_size_decides_where_it_is_public(alone: Path) -> None:
    _unequal(alone, dataset="CIFAR-10", train_samples=None)
    shown = show()
    assert "at batch 256 on T4" in texts(shown)
    assert "An epoch is 50,000 samples, the size of CIFAR-10." in texts(shown)
    assert shown.number_input(key=FIELD).placeholder == "50,000"


# -- the same in Compare -------------------------------------------------------------------------


def test_compare_takes_the_same_size_and_refuses_the_same_epochs(
    alone: Path, store: Store, folders: Path
) -> None:
    assert folders
    _unequal(alone)
    store.refresh()
    catalog = hardware.catalog().catalog
    day = date(2026, 11, 22)
    asked = {"workload": ["resnet-50-own-data"]}
    refused = compare_answered(store, catalog, asked, day).answered.comparison
    assert refused is not None
    assert all(isinstance(r.time, Refusal) for r in refused.rows)
    given = compare_answered(store, catalog, {**asked, "samples_per_epoch": ["50000"]}, day)
    assert given.answered.comparison is not None
    own = [r for r in given.answered.comparison.rows if r.candidate.run is not None]
    long = how_long_answered(
        store, {**asked, "samples_per_epoch": ["50000"], "session": ["on"]}
    ).result
    assert long is not None
    totals = {a.option.run.run_id: a.total for a in long.answers}
    for one in own:
        assert one.candidate.run is not None
        total = totals[one.candidate.run.run.run_id]
        assert not isinstance(total, Refusal)
        assert not isinstance(one.time, Refusal)
        assert one.timed.total.value == pytest.approx(float(total.value))  # type: ignore[union-attr]
    assert own


def test_compare_has_the_field_where_the_size_is_not_known(alone: Path, folders: Path) -> None:
    assert folders
    _unequal(alone)
    shown = show("compare", goal="epochs")
    field = shown.number_input(key="compare.samples_per_epoch")
    assert field.placeholder == "not stated"
    shown = field.set_value(50_000).run()
    assert not shown.exception
    assert shown.query_params["samples_per_epoch"] == "50000"
