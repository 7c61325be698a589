"""Pages are drawn a few at a time, in the order of the clicks, and none waits for ever."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from pages.common.kept import Turns


def test_never_more_than_so_many_are_drawn_at_once() -> None:
    turns, lock, now, most = Turns(at_once=2, longest_s=60), threading.Lock(), [0], [0]

    def page(_: int) -> None:
        with turns.turn():
            with lock:
                now[0] += 1
                most[0] = max(most[0], now[0])
            threading.Event().wait(0.005)
            with lock:
                now[0] -= 1

    with ThreadPoolExecutor(16) as sessions:
        list(sessions.map(page, range(64)))
    assert most[0] == 2


def test_a_turn_knows_when_it_was_asked_for() -> None:
    turns, waited = Turns(at_once=1, longest_s=60), threading.Event()

    def second() -> tuple[float, float]:
        waited.set()
        with turns.turn() as asked_s:
            return asked_s, time.monotonic()

    with ThreadPoolExecutor(1) as other:
        with turns.turn():
            later = other.submit(second)
            waited.wait(10)
            time.sleep(0.2)
            given_s = time.monotonic()
        asked_s, began_s = later.result()
    assert asked_s < given_s <= began_s


@pytest.mark.parametrize(("busy_s", "early_s"), [(0.3, 2.0), (0.0, 0.0)])
def test_a_busy_server_may_show_the_runs_of_some_seconds_before(
    busy_s: float, early_s: float
) -> None:
    turns, waited = Turns(at_once=1, longest_s=60), threading.Event()

    def second() -> float:
        began_s = time.monotonic()
        waited.set()
        with turns.turn(late_s=2.0) as asked_s:
            return began_s - asked_s

    with ThreadPoolExecutor(1) as other:
        with turns.turn():
            later = other.submit(second)
            waited.wait(10)
            time.sleep(busy_s)
        assert later.result() == pytest.approx(early_s, abs=0.2)


def test_who_came_first_is_drawn_first() -> None:
    turns, order, go_on = Turns(at_once=1, longest_s=60), [], threading.Event()

    def page(name: int) -> None:
        with turns.turn():
            order.append(name)

    def first() -> None:
        with turns.turn():
            go_on.wait(10)

    threads = [threading.Thread(target=first)]
    threads += [threading.Thread(target=page, args=(n,)) for n in range(5)]
    for count, thread in enumerate(threads):
        thread.start()
        while len(turns._queue) + len(turns._running) <= count:
            threading.Event().wait(0.001)
    go_on.set()
    for thread in threads:
        thread.join(10)
    assert order == [0, 1, 2, 3, 4]


def test_a_page_that_waits_for_something_else_blocks_no_other() -> None:
    turns, stuck = Turns(at_once=1, longest_s=0.05), threading.Event()

    def waits() -> bool:
        with turns.turn():
            return stuck.wait(10)

    with ThreadPoolExecutor(1) as sessions:
        waiting = sessions.submit(waits)
        while not turns._running:
            threading.Event().wait(0.001)
        with turns.turn():
            assert not waiting.done()
            stuck.set()
        assert waiting.result()
    assert (turns._running, len(turns._queue)) == ({}, 0)


def test_a_page_that_is_stopped_in_the_middle_gives_its_turn_back() -> None:
    turns = Turns(at_once=1, longest_s=60)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt), turns.turn():
            raise KeyboardInterrupt
    assert not turns._running
