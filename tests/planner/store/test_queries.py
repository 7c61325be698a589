"""What pages ask, and the answers they get."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal

from planner.runs import ARROW_SCHEMA, Placement, run_id
from planner.runs._records import complete
from planner.store import Folder, Store, commit_runs, queries, sql
from planner.store.sealed.seal import check_sealed
from tests.store.build import (
    EPOCHS,
    EVALUATIONS,
    NOON,
    STEPS,
    a_set,
    full_row,
    opened,
    row,
    rows,
    together,
)

NAN, INFINITE = float("nan"), float("inf")
T4 = {"system_name": "T4", "global_batch_size": 64}
A100 = {"system_name": "A100", "global_batch_size": 128}
TIMED: Final[dict[str, Any]] = {"later_epoch_mean_s": 10.0, "epochs_measured": 3}


def _store(root: Path, *records: dict[str, Any]) -> Store:
    a_set(root, records)
    return opened(root)


def _labels(root: Path, **changes: object) -> dict[str, Any]:
    shown: list[dict[str, Any]] = queries.table(_store(root, row(**changes)), {}).to_pylist()
    return shown[0]


# -- labels ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "workload"),
    [
        ({}, "ResNet-50"),
        ({"dataset": "CIFAR-10"}, "ResNet-50 · CIFAR-10"),
        (
            {"variant": "int8", "dataset": "CIFAR-10", "optimizer": "SGD", "precision": "float32"},
            "ResNet-50 int8 · CIFAR-10 · SGD · float32",
        ),
    ],
)
def test_a_workload_is_named_by_what_it_is(
    tmp_path: Path, changes: dict[str, Any], workload: str
) -> None:
    assert _labels(tmp_path, **changes)["workload"] == workload


@pytest.mark.parametrize(
    ("changes", "system"),
    [
        ({}, "T4"),
        ({"accelerators_per_node": 4}, "4 × T4"),
        ({"accelerators_per_node": 4, "number_of_nodes": 2}, "8 × T4 on 2 nodes"),
        ({"accelerators_per_node": 2, "peer_to_peer": False}, "2 × T4 without P2P"),
        ({"accelerators_per_node": 1, "peer_to_peer": False}, "T4"),
    ],
)
def test_a_system_is_named_by_its_devices(
    tmp_path: Path, changes: dict[str, Any], system: str
) -> None:
    assert _labels(tmp_path, **changes)["system"] == system


def test_a_pattern_names_every_known_factor(tmp_path: Path) -> None:
    result = {"validation": True, "augmentation": False, "storage": "memory", "workers": 1}
    shown = _labels(tmp_path, **result, threads=2, jit=True, feed="tf.data")["pattern"]
    assert shown == (
        "validation, no augmentation, from memory, 1 worker, fed by tf.data, compiled, 2 threads"
    )


def test_what_is_not_stated_is_said_to_be_so(tmp_path: Path) -> None:
    shown = _labels(tmp_path)
    assert (shown["pattern"], shown["software"]) == ("pattern not stated", "software not stated")


def test_a_backend_is_named_where_it_is_not_the_framework(tmp_path: Path) -> None:
    result = {"framework": "Keras", "framework_version": "3.15", "backend": "jax"}
    assert _labels(tmp_path, **result)["software"] == "Keras 3.15 on jax"


@pytest.mark.parametrize(
    ("changes", "samples_per_s"),
    [
        ({"throughput": 250.0, "step_s": 1.0}, 250.0),
        ({"step_s": 0.5}, 128.0),
        (
            {"samples_per_epoch": 1_000, "later_epoch_mean_s": 10.0, "epochs_measured": 2},
            100.0,
        ),
        ({}, None),
    ],
)
def test_samples_per_second_come_from_the_nearest_measurement(
    tmp_path: Path, changes: dict[str, Any], samples_per_s: float | None
) -> None:
    assert _labels(tmp_path, **changes)["samples_per_s"] == samples_per_s


# -- totals, workloads, patterns ---------------------------------------------------------------


def test_totals_count_the_runs_and_name_the_newest(tmp_path: Path) -> None:
    later = datetime(2026, 4, 1, tzinfo=UTC)
    store = _store(tmp_path, row(recorded_at=later), *rows(2))
    assert queries.totals(store) == queries.RunCount(runs=3, newest=later)


def test_totals_of_nothing_have_no_newest(tmp_path: Path) -> None:
    assert queries.totals(_store(tmp_path)) == queries.RunCount(runs=0, newest=None)


def test_workloads_come_with_most_runs_first_and_without_failures(tmp_path: Path) -> None:
    failed = [row(model="VGG", status="oom", status_reason="memory", seed=i) for i in range(9)]
    store = _store(tmp_path, row(model="LSTM"), *rows(3), *failed)
    assert list(queries.workloads(store).items()) == [("ResNet-50", 3), ("LSTM", 1)]


def test_workloads_that_compare_systems_come_before_those_with_more_runs(tmp_path: Path) -> None:
    two = [row(model="LSTM"), row(model="LSTM", system_name="A100")]
    store = _store(tmp_path, *rows(5), *two)
    assert list(queries.workloads(store)) == ["LSTM", "ResNet-50"]


def test_trials_that_only_count_steps_to_a_target_are_no_workload_to_time(tmp_path: Path) -> None:
    trial = row(model="MLP", evaluation_metric="validation error", target_reached=True)
    timed = row(model="VGG", target_reached=True, throughput=10.0)
    assert list(queries.workloads(_store(tmp_path, trial, timed))) == ["VGG"]


def test_engines_and_whole_batches_are_patterns_of_what_was_measured_here(tmp_path: Path) -> None:
    here = _labels(tmp_path / "here", engine="loop", drop_remainder=True, timing="per step")
    assert here["pattern"] == "engine loop, whole batches only, every step waited for"
    there = _labels(tmp_path / "there", engine="fit", drop_remainder=True, basis="published")
    assert there["pattern"] == "pattern not stated"


def test_forms_of_a_network_are_found_from_any_of_its_workloads(tmp_path: Path) -> None:
    timed = {"mode": "inference", "dataset": "digits", "throughput": 5.0}
    store = _store(
        tmp_path,
        row(dataset="digits", optimizer="SGD"),
        row(**timed),
        row(**timed, variant="int8", final_metric=0.9, evaluation_metric="accuracy"),
        row(**timed | {"dataset": "other"}),
    )
    found = queries.forms(store, "ResNet-50 · digits · SGD")
    assert [(f.variant, f.samples_per_s, f.metric) for f in found] == [
        (None, 5.0, None),
        ("int8", 5.0, 0.9),
    ]


def test_patterns_come_with_the_best_documented_first(tmp_path: Path) -> None:
    times = {"later_epoch_mean_s": 1.0, "first_epoch_s": 2.0, "epochs_measured": 5}
    store = _store(
        tmp_path,
        *[row(seed=i, storage="storage") for i in range(3)],
        row(storage="memory", **times),
        row(model="B", storage="memory", status="oom", status_reason="full"),
        row(model="C", storage="memory"),
    )
    assert list(queries.patterns(store, "ResNet-50").items()) == [
        ("from memory", 1),
        ("from storage", 3),
    ]
    assert queries.every_pattern(store) == {
        name: list(of) for name in store.workloads if (of := queries.patterns(store, name))
    }


def test_runs_of_a_workload_come_in_order_of_system_and_batch(tmp_path: Path) -> None:
    store = _store(tmp_path, row(**T4), row(**A100), row(**(T4 | {"global_batch_size": 8})))
    shown = queries.runs_of(store, "ResNet-50", "pattern not stated")
    assert [(r.system, r.global_batch_size) for r in shown] == [
        ("A100", 128),
        ("T4", 8),
        ("T4", 64),
    ]
    assert len(queries.runs_of(store, "ResNet-50", "pattern not stated", most=2)) == 2


def test_a_run_is_read_with_its_time_in_utc(tmp_path: Path) -> None:
    shown = queries.run(_store(tmp_path, row()), run_id(row()))
    assert shown is not None
    assert shown.recorded_at == NOON


def test_an_unknown_run_is_none(tmp_path: Path) -> None:
    assert queries.run(_store(tmp_path), "0" * 32) is None


# -- facets ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Store:
    records = [row(**T4), row(**T4, seed=1), row(**A100), row(**A100, model="LSTM")]
    return _store(
        tmp_path_factory.mktemp("mixed"),
        *records,
        row(**T4, status="oom", status_reason="memory", seed=2),
    )


def test_a_facet_counts_its_options_under_the_other_filters(mixed: Store) -> None:
    found = queries.facets(mixed, {"system": ["A100"], "workload": ["LSTM"]})
    assert found["system"] == {"A100": 1}
    assert found["workload"] == {"ResNet-50": 1, "LSTM": 1}
    assert found["status"] == {"ok": 1}


def test_without_filters_every_facet_counts_every_run(mixed: Store) -> None:
    found = queries.facets(mixed, {})
    assert list(found) == list(sql.FACETS)
    optional = {"family", "accelerator_model_name", "repository"}  # not stated by these runs
    assert all(sum(o.values()) == (0 if f in optional else 5) for f, o in found.items())


def test_an_option_of_its_own_facet_does_not_hide_its_sisters(mixed: Store) -> None:
    assert queries.facets(mixed, {"status": ["oom"]})["status"] == {"oom": 1, "ok": 4}


def test_every_option_shows_as_many_runs_as_it_promised(mixed: Store) -> None:
    for facet, options in queries.facets(mixed, {"mode": ["training"]}).items():
        for option, promised in options.items():
            filters = {"mode": ["training"], facet: [option]}
            assert queries.count(mixed, filters) == promised
            assert queries.table(mixed, filters).num_rows == promised


def test_several_options_of_a_facet_add_up(mixed: Store) -> None:
    assert queries.count(mixed, {"global_batch_size": ["64", "128"]}) == 5
    assert queries.count(mixed, {"global_batch_size": ["64"]}) == 3


def test_an_option_that_does_not_exist_leaves_nothing(mixed: Store) -> None:
    assert queries.count(mixed, {"system": ["unknown"]}) == 0


def test_an_empty_filter_is_no_filter(mixed: Store) -> None:
    assert queries.count(mixed, {"system": []}) == queries.count(mixed, {}) == 5


def test_runs_can_be_named_beside_the_facets_or_all_but_them_asked_for(mixed: Store) -> None:
    first, second, *rest = queries.which(mixed, {})
    assert queries.which(mixed, {"only": [first, "0" * 32]}) == [first]
    assert sorted(queries.which(mixed, {"but": [first, second]})) == sorted(rest)
    assert queries.count(mixed, {"only": []}) == 0
    assert queries.count(mixed, {"but": []}) == 5
    filters = {"but": [first], "status": ["ok"]}
    assert queries.table(mixed, filters).num_rows == queries.count(mixed, filters)
    assert sum(queries.facets(mixed, filters)["system"].values()) == queries.count(mixed, filters)


def test_what_is_checked_are_the_good_runs_that_took_a_time(tmp_path: Path) -> None:
    good = row(**TIMED, number_of_nodes=2, accelerators_per_node=4)
    bad = row(**TIMED, status="oom", status_reason="memory")
    found = queries.checked_runs(_store(tmp_path, good, bad, row(seed=3)))
    assert [(r.run_id, r.devices, r.later_epoch_mean_s) for r in found] == [(run_id(good), 8, 10.0)]
    assert found[0].label == "8 × T4 on 2 nodes at batch 64"


def test_of_many_checked_runs_the_newest_are_kept(tmp_path: Path) -> None:
    old = row(**TIMED, recorded_at=datetime(2020, 1, 1, tzinfo=UTC))
    new = row(**TIMED, seed=1)
    found = queries.checked_runs(_store(tmp_path, old, new), most=1)
    assert [r.run_id for r in found] == [run_id(new)]


def test_the_runs_behind_a_factor_are_of_one_network_in_any_precision(tmp_path: Path) -> None:
    wanted = [row(**TIMED, precision="float32"), row(**TIMED, precision="bfloat16")]
    others = [row(**TIMED, model="LSTM"), row(**TIMED, variant="int8")]
    others.append(row(precision="float32", seed=1))
    store = _store(tmp_path, *wanted, *others)
    found = queries.factor_rows(store, "ResNet-50 · float32")
    assert {r["run_id"] for r in found} == {run_id(r) for r in wanted}
    assert queries.factor_rows(store, "unknown") == []


# -- tables and files --------------------------------------------------------------------------


def test_a_table_shows_at_most_what_is_asked(mixed: Store) -> None:
    assert queries.table(mixed, {}, most=2).num_rows == 2


def test_a_shown_table_can_be_taken_away_as_parquet(mixed: Store) -> None:
    shown = queries.table(mixed, {})
    assert pq.read_table(pa.BufferReader(queries.table_file(shown))).equals(shown)


def test_all_columns_of_a_run_are_the_ones_with_a_value(tmp_path: Path) -> None:
    shown = queries.all_columns(_store(tmp_path, row()), run_id(row()))
    made = {"run_id", "schema_version", "workload", "system", "pattern", "software", "task"}
    assert set(shown) == {*row(), *made, "folder", "file"}


@pytest.mark.parametrize("merged", [False, True], ids=["single file", "merged file"])
def test_a_run_taken_out_of_the_store_is_a_whole_sealed_file(
    tmp_path: Path, *, merged: bool
) -> None:
    place = a_set(tmp_path)
    made = [full_row(), row()]
    if merged:
        together(place, made)
    else:
        commit_runs(place, made)
    data = queries.run_file(opened(tmp_path), run_id(full_row()))
    [original] = commit_runs(tmp_path / "elsewhere", [full_row()])
    assert check_sealed(pa.BufferReader(data)).summary is not None
    taken = pq.read_table(pa.BufferReader(data))
    assert taken.schema.equals(ARROW_SCHEMA)
    assert taken.equals(pq.ParquetFile(original.path).read())


def test_a_run_taken_out_can_be_put_into_another_store(tmp_path: Path) -> None:
    data = queries.run_file(_store(tmp_path / "a", full_row()), run_id(full_row()))
    place = a_set(tmp_path / "b")
    (place / "given.parquet").write_bytes(data)
    store = opened(tmp_path / "b")
    assert store.refused == ()
    assert queries.nested(store, run_id(full_row()), "epochs") == EPOCHS


# -- nested ------------------------------------------------------------------------------------


def test_nested_records_come_back_in_order(tmp_path: Path) -> None:
    store = _store(tmp_path, row(epochs=EPOCHS, evaluations=EVALUATIONS, steps=STEPS))
    shown = run_id(row())
    assert queries.nested(store, shown, "epochs") == EPOCHS
    assert queries.nested(store, shown, "evaluations") == EVALUATIONS
    assert queries.nested(store, shown, "steps") == STEPS
    assert_array_equal(queries.epoch_times(store, shown), [12.5, 10.1])


def test_nested_records_that_were_not_kept_are_an_empty_list(tmp_path: Path) -> None:
    store = _store(tmp_path, row())
    assert queries.nested(store, run_id(row()), "steps") == []
    assert queries.epoch_times(store, run_id(row())).shape == (0,)


def _steps_to(root: Path, value: float, *, higher: bool, values: list[float | None]) -> Any:  # noqa: ANN401 - a number or None
    evaluations = [{"step": 10 * (i + 1), "value": v} for i, v in enumerate(values)]
    path = together(a_set(root), [row(evaluations=evaluations)])
    found = queries.retarget(opened(root), str(path), value, higher_is_better=higher)
    return found["steps_to_target"].to_pylist()[0]


@pytest.mark.parametrize(
    ("value", "steps"), [(0.95, 10), (0.9, 10), (0.5, 20), (0.2, 30), (0.1, None)]
)
def test_steps_to_a_lower_target_are_those_of_the_first_evaluation_that_reached_it(
    tmp_path: Path, value: float, steps: int | None
) -> None:
    assert _steps_to(tmp_path, value, higher=False, values=[0.9, 0.4, 0.2, 0.3]) == steps


@pytest.mark.parametrize(("value", "steps"), [(0.1, 10), (0.4, 20), (0.45, 30), (0.9, None)])
def test_steps_to_a_higher_target_are_those_of_the_first_evaluation_that_reached_it(
    tmp_path: Path, value: float, steps: int | None
) -> None:
    assert _steps_to(tmp_path, value, higher=True, values=[0.2, 0.4, 0.6, 0.5]) == steps


@pytest.mark.parametrize("higher", [True, False])
@pytest.mark.parametrize("diverged", [NAN, INFINITE, -INFINITE, None])
def test_a_diverged_evaluation_reaches_no_target(
    tmp_path: Path, diverged: float | None, *, higher: bool
) -> None:
    assert _steps_to(tmp_path, 0.5, higher=higher, values=[diverged, 0.5]) == 20


def test_every_run_of_a_file_gets_its_own_steps(tmp_path: Path) -> None:
    draw = np.random.default_rng(1)
    values = draw.uniform(size=(50, 20))
    records = [
        row(seed=i, evaluations=[{"step": s + 1, "value": float(v)} for s, v in enumerate(line)])
        for i, line in enumerate(values)
    ]
    path = together(a_set(tmp_path), records)
    found = queries.retarget(opened(tmp_path), str(path), 0.05, higher_is_better=False).to_pydict()
    got = dict(zip(found["run_id"], found["steps_to_target"], strict=True))
    for i, line in enumerate(values):
        reached = np.flatnonzero(line <= 0.05)
        assert got[run_id(row(seed=i))] == (int(reached[0]) + 1 if len(reached) else None)


def test_a_run_without_evaluations_reaches_no_target(tmp_path: Path) -> None:
    reached = [{"step": 10, "value": 0.9}, {"step": 20, "value": 0.1}, {"step": 30, "value": 0.1}]
    evaluations: tuple[list[dict[str, float]] | None, ...] = (
        None,
        reached,
        [],
        [{"step": 5, "value": 0.9}],
        reached,
    )
    records = [row(seed=i, evaluations=own) for i, own in enumerate(evaluations)]
    path = together(a_set(tmp_path), records)
    store = opened(tmp_path)
    table = queries.retarget(store, str(path), 0.5, higher_is_better=False).to_pydict()
    got = dict(zip(table["run_id"], table["steps_to_target"], strict=True))
    assert [got[run_id(row(seed=i))] for i in range(5)] == [None, 20, None, None, 20]
    with pytest.raises(KeyError):
        queries.retarget(store, str(tmp_path / "other.parquet"), 0.5, higher_is_better=False)


# -- trials --------------------------------------------------------------------------------------

TRIED: Final = {
    "dataset": "Data",
    "optimizer": "SGD",
    "learning_rate": 0.1,
    "evaluation_metric": "validation error",
    "evaluation_higher_is_better": False,
    "target_value": 0.3,
    "evaluations": EVALUATIONS,
}


def test_trials_of_one_network_data_and_metric_are_one_set(tmp_path: Path) -> None:
    store = _store(
        tmp_path,
        *rows(3, **TRIED),
        row(**TRIED, status="nan", status_reason="diverged", seed=9),
        row(
            **TRIED, status="oom", status_reason="no room", seed=10
        ),  # stopped from outside: its need is unknown
        row(**TRIED, mode="inference"),
        row(),
    )
    [found] = queries.trial_sets(store)
    assert (found.network, found.dataset, found.metric) == ("ResNet-50", "Data", "validation error")
    assert (found.trials, found.target, found.higher_is_better) == (4, 0.3, False)
    assert (found.folder, found.result_set, found.set_folder) == (tmp_path.name, "mine", "mine")
    assert len(found.files) == 4


def test_other_precisions_metrics_and_result_sets_are_other_sets(tmp_path: Path) -> None:
    a_set(tmp_path, [row(**TRIED, seed=s) for s in range(2)])
    a_set(tmp_path, [row(**TRIED, result_set="more")], slug="more")
    a_set(tmp_path, [row(**TRIED | {"precision": "bfloat16"})])
    a_set(tmp_path, [row(**TRIED | {"evaluation_metric": "loss"})])
    a_set(tmp_path, [row(**TRIED, variant="pruned")])
    sets = queries.trial_sets(opened(tmp_path))
    assert len(sets) == 5
    assert sets[0].trials == 2  # most trials first
    assert {s.network for s in sets} == {"ResNet-50", "ResNet-50 pruned"}


def test_evaluations_come_flat_with_the_trial_they_belong_to(tmp_path: Path) -> None:
    store = _store(
        tmp_path,
        row(**TRIED, seed=1, gradient_noise_scale=50.0),
        row(**TRIED | {"evaluations": EVALUATIONS[:1], "learning_rate": None}, seed=2),
        row(**TRIED | {"evaluations": None}, seed=3, status="nan", status_reason="diverged"),
    )
    found = queries.trials(store, queries.trial_sets(store)[0])
    order = np.argsort(np.isnan(found.learning_rate), kind="stable")
    assert found.batch.tolist() == [64.0] * 3
    assert found.counts.all()
    assert np.bincount(found.trial, minlength=3)[order].tolist() in ([3, 0, 1], [0, 3, 1])
    longest = int(np.bincount(found.trial).argmax())
    assert_array_equal(found.step[found.trial == longest], [100, 200, 300])
    assert_array_equal(found.value[found.trial == longest], [0.9, 0.4, 0.2])
    assert found.noise_scale[longest] == 50.0


def test_trials_of_a_compacted_file_and_of_single_files_are_read_alike(tmp_path: Path) -> None:
    records = [row(**TRIED, seed=s) for s in range(5)]
    together(a_set(tmp_path / "a"), records)
    single, many = _store(tmp_path / "b", *records), opened(tmp_path / "a")
    one, other = (queries.trials(s, queries.trial_sets(s)[0]) for s in (single, many))
    assert_array_equal(one.trial, other.trial)
    assert_array_equal(one.value, other.value)


def test_a_run_that_lies_in_two_files_is_one_trial(tmp_path: Path) -> None:
    records = [row(**TRIED, seed=s) for s in range(3)]
    together(a_set(tmp_path, records), records)
    store = opened(tmp_path)
    assert queries.trials(store, queries.trial_sets(store)[0]).batch.size == 3


def test_trials_that_a_compaction_moved_meanwhile_are_found_again(tmp_path: Path) -> None:
    records = [row(**TRIED, seed=s) for s in range(3)]
    place = a_set(tmp_path, records)
    store = opened(tmp_path)
    [known] = queries.trial_sets(store)
    for path in place.glob("*.parquet"):
        path.unlink()
    together(place, records)
    assert queries.trials(store, known).batch.size == 3


def test_trials_that_are_gone_are_none(tmp_path: Path) -> None:
    place = a_set(tmp_path, [row(**TRIED)])
    store = opened(tmp_path)
    [known] = queries.trial_sets(store)
    for path in place.glob("*.parquet"):
        path.unlink()
    assert queries.trials(store, known).batch.size == 0


def test_more_trials_than_asked_for_are_not_read(tmp_path: Path) -> None:
    store = _store(tmp_path, *rows(5, **TRIED))
    assert queries.trials(store, queries.trial_sets(store)[0], most=2).batch.size == 2


def test_every_good_run_says_on_how_many_devices_and_nodes_it_was(tmp_path: Path) -> None:
    alone, many = row(step_s=0.5), row(
        step_s=0.5, accelerators_per_node=4, number_of_nodes=2, launch="one process per worker",
        peer_to_peer=False,
    )  # fmt: skip
    store = _store(tmp_path, alone, many, row(status="oom", status_reason="no room", repeat=1))
    found = queries.placements(store, "ResNet-50", "pattern not stated")
    assert found == {
        run_id(complete(alone)): Placement(devices=1, nodes=1, launch=None, peer_to_peer=None),
        run_id(complete(many)): Placement(
            devices=8, nodes=2, launch="one process per worker", peer_to_peer=False
        ),
    }


def test_systems_that_were_timed_in_training_come_fewest_devices_first(tmp_path: Path) -> None:
    store = _store(
        tmp_path,
        row(step_s=0.5, accelerators_per_node=8),
        row(step_s=0.5),
        row(step_s=0.5, global_batch_size=128),
        row(step_s=0.5, framework="JAX"),
        row(step_s=0.5, mode="inference"),
        row(step_s=0.5, status="oom", status_reason="no room", system_name="A100"),
        row(asymptotic_throughput=100.0, overhead_s=0.1, global_batch_size=None, system_name="TPU"),
        row(**TRIED),
    )
    [workload] = queries.timed_workloads(store)
    found = queries.timed_systems(store, workload)
    assert [(t.system, t.devices, t.software, t.batches) for t in found] == [
        ("T4", 1, "software not stated", 2),
        ("T4", 1, "JAX", 1),
        ("8 × T4", 8, "software not stated", 1),
        ("TPU", 1, "software not stated", 0),
    ]


@pytest.mark.parametrize(
    "filters",
    [{}, {"status": ["ok"]}, {"system": ["T4"], "mode": ["training"]}, {"only": ["none"]}],
    ids=str,
)
def test_the_options_of_all_facets_are_those_asked_facet_by_facet(
    tmp_path: Path, filters: dict[str, list[str]]
) -> None:
    batches = [row(global_batch_size=b) for b in (8, 64, 512)]
    batches += [row(repeat=1, status="oom", status_reason="no room")]
    a_set(tmp_path, [*batches, row(system_name="V100", mode="inference", global_batch_size=None)])
    store = opened(tmp_path)
    given = queries._parameters(filters)
    each = {
        facet: store.rows(query, {k: v for k, v in given.items() if k != facet})
        for facet, query in sql.FACET.items()
    }
    found = queries.facets(store, filters)
    assert {facet: list(options.items()) for facet, options in found.items()} == each


def test_own_runs_then_measured_then_the_newest_are_listed_first(tmp_path: Path) -> None:
    shipped = Folder(path=tmp_path / "shipped", label="shipped", kind="shipped")
    own = Folder(path=tmp_path / "yours", label="yours", kind="own")
    for folder, model, day in ((shipped, "e", 3), (shipped, "d", 5), (own, "f", 1)):
        at = datetime(2026, 11, day, tzinfo=UTC)
        commit_runs(folder.path / model, [row(**TIMED, model=model, recorded_at=at)])
    read_at = datetime(2026, 11, 9, tzinfo=UTC)
    for model, month in (("a", "2020-01"), ("b", "2026-08"), ("c", None)):
        published = {"basis": "published", "published_on": month, "recorded_at": read_at}
        commit_runs(shipped.path / model, [row(**TIMED, model=model, **published)])
    store = Store((shipped, own))
    store.refresh()
    listed = queries.listed(store, {})
    assert [w.split(" ")[0] for w in listed["workload"].to_pylist()] == [*"fdebac"]
    assert queries.listed(store, {}, most=1, skip=1)["folder"].to_pylist() == ["shipped"]
