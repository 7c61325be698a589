"""A page sees one state of the runs from its first question to its last, and only its own runs."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import duckdb
import pytest

from planner.answers.runs import suspects_of
from planner.store import Store, commit_runs, queries
from planner.store.sealed.compact import compact_set
from planner.suspects import by_run, suspects
from tests.store.build import a_set, folder, row


def _store(root: Path) -> Store:
    store = Store([folder(root)])
    store.refresh()
    return store


def test_runs_that_come_and_go_while_a_page_is_drawn_are_not_in_it(tmp_path: Path) -> None:
    place = a_set(tmp_path, [row(repeat=i) for i in range(3)])
    store = _store(tmp_path)
    with ThreadPoolExecutor(1) as others, store.at_one_moment():
        began = (store.generation, store.version("ResNet-50"), store.sets)
        for path in place.glob("*.parquet"):
            path.unlink()
        commit_runs(place, [row(repeat=9), row(model="VGG")])
        others.submit(store.refresh).result()
        assert others.submit(lambda: queries.totals(store).runs).result() == 2
        assert queries.totals(store).runs == 3
        assert queries.workloads(store) == {"ResNet-50": 3}
        assert (store.generation, store.version("ResNet-50"), store.sets) == began
    assert queries.workloads(store) == {"ResNet-50": 1, "VGG": 1}


def test_a_page_takes_over_the_moment_of_the_last_one_while_no_run_changes(tmp_path: Path) -> None:
    place = a_set(tmp_path, [row()])
    store = _store(tmp_path)

    def page() -> tuple[object, int]:
        with store.at_one_moment(), store.cursor() as cursor:
            return cursor, queries.totals(store).runs

    first = page()
    assert page() == first
    commit_runs(place, [row(repeat=9)])
    second = page()
    assert second[0] is not first[0]
    assert (first[1], second[1]) == (1, 2)
    with pytest.raises(duckdb.Error), store.at_one_moment():
        store.rows("SELECT no_such_column FROM runs")
    third = page()
    assert third[0] is not second[0]
    assert third[1] == 2


def test_no_page_takes_over_a_moment_from_before_a_failed_query(tmp_path: Path) -> None:
    """What failed may have been the whole instance, with every transaction of it."""
    a_set(tmp_path, [row()])
    store, both = _store(tmp_path), Barrier(3)

    def page(_: int) -> object:
        with store.at_one_moment(), store.cursor() as cursor:
            both.wait(60)
            return cursor

    with ThreadPoolExecutor(2) as threads, store.at_one_moment():
        others = [threads.submit(page, n) for n in range(2)]
        both.wait(60)
        cursors = [other.result(60) for other in others]
        with pytest.raises(duckdb.Error):
            store.rows("SELECT no_such_column FROM runs")
    with store.at_one_moment(), store.cursor() as cursor:
        assert all(cursor is not other for other in cursors)


def test_an_answer_is_kept_under_the_runs_that_it_is_about(tmp_path: Path) -> None:
    """Also outside of a page, where the runs may change between its two questions."""
    place = a_set(tmp_path, [row()])
    store = _store(tmp_path)

    def slow() -> tuple[int, int]:
        before = queries.count(store, {})
        commit_runs(place, [row(repeat=9)])
        with ThreadPoolExecutor(1) as other:
            other.submit(store.refresh).result()
        return before, queries.count(store, {})

    assert store.once("slow", slow) == (1, 1)
    assert queries.count(store, {}) == queries.totals(store).runs == 2


def test_questions_about_all_runs_are_answered_once_until_a_run_changes(tmp_path: Path) -> None:
    place = a_set(tmp_path, [row()])
    store = _store(tmp_path)
    assert queries.facets(store, {}) is queries.facets(store, {})
    before = queries.workloads(store)
    commit_runs(place, [row(repeat=1)])
    store.refresh()
    assert (before, queries.workloads(store)) == ({"ResNet-50": 1}, {"ResNet-50": 2})
    assert sum(queries.facets(store, {})["status"].values()) == 2


def _answers(store: Store) -> list[object]:
    """The answers that are made from the last ones."""
    about = list(queries.about_workloads(store).items())
    return [about, list(queries.workloads(store).items()), queries.checked_workloads(store),
            queries.timed_workloads(store), queries.trained(store), queries.trial_sets(store),
            suspects_of(store), queries.facets(store, {})]  # fmt: skip


def test_answers_made_from_the_last_ones_are_those_of_a_new_store(tmp_path: Path) -> None:
    odd = [row(global_batch_size=b, step_s=s) for b, s in ((64, 0.1), (128, 0.15), (256, 2.0))]
    trial = {"evaluation_metric": "error", "evaluations": [{"step": 9, "value": 0.5}]}
    place = a_set(tmp_path, [*odd, row(model="VGG", dataset="CIFAR-10")])
    store = _store(tmp_path)
    before = _answers(store)
    with ThreadPoolExecutor(1) as others, store.at_one_moment():
        [third] = commit_runs(place, [row(model="Net")])
        commit_runs(place, [row(model="VGG", dataset="CIFAR-10", global_batch_size=8, **trial)])
        [path] = {c.path for c in commit_runs(place, [row(global_batch_size=512, step_s=0.1)])}
        others.submit(store.refresh).result()
        after = others.submit(_answers, store).result()
        store._about_all.clear()
        assert _answers(store) == before
    assert after == _answers(_store(tmp_path)) != before
    assert after[5] != before[5]
    third.path.unlink()
    path.unlink()
    store.refresh()
    assert _answers(store) == _answers(_store(tmp_path)) != after


def test_a_page_begins_with_what_was_committed_before_it(tmp_path: Path) -> None:
    place = a_set(tmp_path, [row()])
    store = _store(tmp_path)
    commit_runs(place, [row(repeat=1)])
    with store.at_one_moment():
        assert queries.totals(store).runs == 2


def test_a_question_that_waited_shows_at_least_what_was_there_when_it_was_asked(
    tmp_path: Path,
) -> None:
    """Where somebody else refreshed since, nothing is read again: later runs are the next one's."""
    place = a_set(tmp_path, [row()])
    store = _store(tmp_path)
    commit_runs(place, [row(repeat=1)])
    asked_s = time.monotonic()
    with store.at_one_moment(asked_s):
        assert queries.totals(store).runs == 2
    commit_runs(place, [row(repeat=2)])
    with store.at_one_moment(asked_s):
        assert queries.totals(store).runs == 2
    with store.at_one_moment(time.monotonic()):
        assert queries.totals(store).runs == 3


def test_a_moment_within_a_moment_is_the_same(tmp_path: Path) -> None:
    place = a_set(tmp_path, [row()])
    store = _store(tmp_path)
    with store.at_one_moment():
        commit_runs(place, [row(repeat=1)])
        with store.at_one_moment():
            assert queries.totals(store).runs == 1
        assert queries.totals(store).runs == 1


def test_a_run_that_a_compaction_moves_meanwhile_is_still_opened(tmp_path: Path) -> None:
    epochs = [{"epoch": 1, "epoch_s": 2.0}]
    place = a_set(tmp_path, [row(repeat=i, epochs=epochs) for i in range(3)])
    store = _store(tmp_path)
    [run, *_] = queries.which(store, {})
    with store.at_one_moment():
        compact_set(place)
        assert queries.epoch_times(store, run).tolist() == [2.0]
        assert queries.totals(store).runs == 3
    assert not store.is_held


def test_many_pages_at_once_each_see_a_state_that_there_was(tmp_path: Path) -> None:
    place = a_set(tmp_path, [row()])
    store = _store(tmp_path)

    def page(_: int) -> bool:
        with store.at_one_moment():
            first = queries.totals(store).runs
            counts = {queries.count(store, {}) for _ in range(5)}
            by_system = sum(queries.facets(store, {})["system"].values())
            return counts == {first} == {by_system}

    with ThreadPoolExecutor(8) as pages:
        drawn = pages.map(page, range(40))
        for repeat in range(1, 20):
            commit_runs(place, [row(repeat=repeat)])
        assert all(drawn)


def test_a_new_run_changes_the_version_of_its_own_workload_only(tmp_path: Path) -> None:
    place = a_set(tmp_path, [row(), row(model="VGG")])
    store = _store(tmp_path)
    before = {name: store.version(name) for name in ("ResNet-50", "VGG")}
    commit_runs(place, [row(model="VGG", repeat=1)])
    store.refresh()
    assert store.version("ResNet-50") == before["ResNet-50"]
    assert store.version("VGG") > before["VGG"]
    assert store.version("ResNet-50", "VGG") == store.version("VGG")


def test_precisions_and_variants_of_a_model_change_together(tmp_path: Path) -> None:
    place = a_set(tmp_path, [row(precision="float32")])
    store = _store(tmp_path)
    before = store.version("ResNet-50 · float32")
    commit_runs(place, [row(variant="pruned", precision="bfloat16")])
    store.refresh()
    assert store.version("ResNet-50 · float32") > before


def test_a_run_that_goes_changes_the_version_too(tmp_path: Path) -> None:
    place = a_set(tmp_path, [row(), row(model="VGG")])
    [done] = commit_runs(place, [row(repeat=1)])
    store = _store(tmp_path)
    before = {name: store.version(name) for name in ("ResNet-50", "VGG")}
    done.path.unlink()
    store.refresh()
    assert store.version("ResNet-50") > before["ResNet-50"]
    assert store.version("VGG") == before["VGG"]


def test_a_copy_that_takes_the_place_of_a_run_that_goes_changes_the_version(tmp_path: Path) -> None:
    one, other = a_set(tmp_path, slug="one"), a_set(tmp_path, slug="other")
    [first] = commit_runs(one, [row()])
    commit_runs(other, [row()])
    store = _store(tmp_path)
    before = store.version("ResNet-50")
    first.path.unlink()
    store.refresh()
    assert queries.totals(store).runs == 1
    assert store.version("ResNet-50") > before


def test_flags_are_those_of_all_runs_together(tmp_path: Path) -> None:
    odd = [row(global_batch_size=b, step_s=s) for b, s in ((64, 0.1), (128, 0.15), (256, 2.0))]
    a_set(tmp_path, [*odd, *(r | {"model": "VGG"} for r in odd), row(repeat=5, step_s=0.1)])
    store = _store(tmp_path)
    known = suspects_of(store)
    assert known.flags
    assert known.flags == by_run(suspects(queries.checked_runs(store)))
