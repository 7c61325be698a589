"""Answers computed once and shared: the one cache of pages and HTTP interface.

A key says what its answer depends on: the question, and the version of the runs it is about
(`Store.version`) or the store's generation. So nothing is ever emptied: an answer about an older
state is never asked for again and goes as the least recently used (decision 0030).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

Answer = TypeVar("Answer")
MISSING: Final = object()


@dataclass(slots=True)
class _Entry:
    """An answer, or the promise of one that a thread works out at this moment."""

    done: threading.Event = field(default_factory=threading.Event)
    answer: Any = MISSING
    weight: int = 0


class Kept:
    """The answers last asked for, up to a total weight. Safe to share between threads.

    Args:
        most: the total weight that is kept.
        weigh: the weight of an answer; without it, each weighs 1.
    """

    def __init__(self, most: int, weigh: Callable[[Any], int] = lambda _: 1) -> None:
        self.most = most
        self._weigh = weigh
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._lock = threading.Lock()
        self.weight = 0

    def __len__(self) -> int:
        return len(self._entries)

    def once(self, key: Hashable, work: Callable[[], Answer]) -> Answer:
        """Return the answer under `key`; where there is none yet, `work` makes it.

        Who asks while another thread works on it waits for that answer. Where that work fails, the
        error goes to the one whose work it was, and each of the others tries for itself.
        """
        while True:
            with self._lock:
                entry = self._entries.get(key)
                mine = entry is None
                if entry is None:
                    entry = self._entries[key] = _Entry()
                self._entries.move_to_end(key)
            if mine:
                return self._made(key, entry, work)
            entry.done.wait()
            if entry.answer is not MISSING:
                found: Answer = entry.answer
                return found

    def clear(self) -> None:
        """Forget all answers; work that is under way is finished for those who wait."""
        with self._lock:
            self._entries.clear()
            self.weight = 0

    def _made(self, key: Hashable, entry: _Entry, work: Callable[[], Answer]) -> Answer:
        try:
            answer = work()
            weight = self._weigh(answer)
        except BaseException:  # a page that is stopped in the middle too
            with self._lock:
                if self._entries.get(key) is entry:
                    del self._entries[key]
            entry.done.set()
            raise
        with self._lock:
            entry.answer = answer
            if self._entries.get(key) is entry:
                entry.weight = weight
                self.weight += weight
                self._drop()
        entry.done.set()
        return answer

    def _drop(self) -> None:
        """Let the least recently used answers go; what is being worked on weighs nothing."""
        while self.weight > self.most:
            made = (key for key, entry in self._entries.items() if entry.answer is not MISSING)
            key = next(made, MISSING)
            if key is MISSING:
                return
            self.weight -= self._entries.pop(key).weight
