"""One cache: answers are worked out once, by one thread, and never more are kept than allowed."""

from __future__ import annotations

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from planner.store import commit_runs
from planner.store.kept import MISSING, Kept
from planner.store.reader import GENERATIONS_KEPT
from tests.store.build import a_set, opened, row


def test_an_answer_is_worked_out_once() -> None:
    kept, worked = Kept(10), iter(["first", "second"])
    for _ in range(3):
        assert kept.once("a", lambda: next(worked)) == "first"


def test_none_is_an_answer() -> None:
    kept, worked = Kept(10), iter([None, "second"])
    for _ in range(2):
        assert kept.once("a", lambda: next(worked)) is None


def test_thirty_threads_that_ask_the_same_wait_for_one() -> None:
    kept, worked, all_there = Kept(10), [], threading.Barrier(30)

    def slow() -> str:
        worked.append(threading.get_ident())
        threading.Event().wait(0.05)
        return "answer"

    def ask(_: int) -> str:
        all_there.wait()
        return kept.once("a", slow)

    with ThreadPoolExecutor(30) as threads:
        assert set(threads.map(ask, range(30))) == {"answer"}
    assert len(worked) == 1


def test_one_question_does_not_wait_for_another() -> None:
    kept, go_on = Kept(10), threading.Event()
    with ThreadPoolExecutor(1) as threads:
        slow = threads.submit(lambda: kept.once("slow", lambda: go_on.wait(10)))
        assert kept.once("quick", lambda: 1) == 1
        go_on.set()
        assert slow.result()


def test_an_error_goes_to_the_one_whose_work_it_was_and_the_next_one_tries_again() -> None:
    kept, begun, fail = Kept(10), threading.Event(), threading.Event()

    def broken() -> str:
        begun.set()
        fail.wait(10)
        raise KeyboardInterrupt

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(lambda: kept.once("a", broken))
        begun.wait(10)
        second = threads.submit(lambda: kept.once("a", lambda: "answer"))
        fail.set()
        with pytest.raises(KeyboardInterrupt):
            first.result()
        assert second.result() == "answer"
    assert kept.once("a", lambda: "made again") == "answer"


def test_what_was_not_asked_for_longest_goes_first() -> None:
    kept = Kept(3)
    for key in "abc":
        kept.once(key, partial(str, key))
    kept.once("a", lambda: "again")
    kept.once("d", lambda: "d")
    assert [kept.once(key, lambda: "made again") for key in "acd"] == ["a", "c", "d"]
    assert kept.once("b", lambda: "made again") == "made again"


def test_the_weight_of_all_answers_stays_below_the_limit() -> None:
    kept = Kept(1_000, weigh=len)
    for number in range(500):
        kept.once(number, partial(bytes, number % 90))
        assert kept.weight <= 1_000
    assert kept.weight == sum(len(e.answer) for e in kept._entries.values())


def test_an_answer_heavier_than_the_limit_is_given_and_not_kept() -> None:
    kept = Kept(10, weigh=len)
    assert kept.once("a", lambda: b"x" * 100) == b"x" * 100
    assert (len(kept), kept.weight) == (0, 0)


def test_a_finished_answer_is_found_without_waiting() -> None:
    kept, begun, go = Kept(2), threading.Event(), threading.Event()
    assert kept.peek("a") is MISSING

    def slow() -> int:
        begun.set()
        go.wait(10.0)
        return 7

    thread = threading.Thread(target=lambda: kept.once("a", slow))
    thread.start()
    begun.wait(10.0)
    assert kept.peek("a") is MISSING
    go.set()
    thread.join()
    assert kept.peek("a") == 7


def test_answers_about_all_runs_are_dropped_with_their_generation(tmp_path: Path) -> None:
    place = a_set(tmp_path, [row()])
    store, asked = opened(tmp_path), 0

    def work() -> int:
        nonlocal asked
        asked += 1
        return asked

    assert [store.once("all", work), store.once("all", work)] == [1, 1]
    for repeat in range(1, 3 * GENERATIONS_KEPT):
        commit_runs(place, [row(repeat=repeat)])
        store.refresh()
        assert store.once("all", work) == repeat + 1
    assert len(store._about_all) == GENERATIONS_KEPT
    store.forget()
    assert store.once("all", work) == 3 * GENERATIONS_KEPT + 1


def test_a_page_that_is_drawn_keeps_the_answers_of_its_moment(tmp_path: Path) -> None:
    place = a_set(tmp_path, [row()])
    store = opened(tmp_path)
    with store.at_one_moment():
        assert store.once("all", lambda: "before") == "before"
        commit_runs(place, [row(repeat=1)])
        other = threading.Thread(target=store.refresh)
        other.start()
        other.join()
        assert store.once("all", lambda: "after") == "before"
    assert store.once("all", lambda: "after") == "after"


def test_of_a_key_the_last_two_versions_stay() -> None:
    kept, worked = Kept(100), itertools.count()
    for version in range(1, 6):
        for key in ("a", "b"):
            kept.once(key, lambda: next(worked), version)
    assert len(kept) == kept.weight == 4
    assert kept.once("a", lambda: next(worked), 4) == 6
    assert kept.once("a", lambda: next(worked), 3) == 10  # outdated long ago: computed anew


def test_a_version_outdated_while_it_is_computed_reaches_its_caller_and_weighs_nothing() -> None:
    kept = Kept(100)

    def slow() -> str:
        for newer in (2, 3):
            kept.once("a", lambda: "newer", newer)
        return "old"

    assert kept.once("a", slow, 1) == "old"
    assert len(kept) == kept.weight == 2


def test_an_evicted_version_leaves_no_trace_of_its_key() -> None:
    kept = Kept(2)
    for key in range(50):
        kept.once(key, lambda: None, "version")
    assert len(kept) == len(kept._versions) == 2
