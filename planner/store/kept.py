"""Answers computed once and shared: the cache of pages and HTTP interface.

Key and version have everything that an answer depends on: the question, and the version of its
runs (`Store.version`) or the store's generation. So nothing is invalidated. An outdated answer is
never requested again: two versions of a key stay, the other ones are evicted (decision 0030).
"""

import math
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import duckdb

from planner.store import sql

Answer = TypeVar("Answer")
MISSING: Final = object()
VERSIONS_KEPT: Final = 2
"""Of a key: a page that is still being drawn may see the state before the last one."""


@dataclass(slots=True)
class _Entry:
    """An answer, or a placeholder while a thread computes it."""

    done: threading.Event = field(default_factory=threading.Event)
    answer: Any = MISSING
    weight: int = 0


class Kept:
    """The most recently used answers, up to a total weight, in their last versions. Thread-safe.

    Args:
        most: the maximum total weight.
        weigh: the weight of an answer; default 1.
    """

    def __init__(self, most: int, weigh: Callable[[Any], int] = lambda _: 1) -> None:
        self.most = most
        self._weigh = weigh
        self._entries: OrderedDict[tuple[Hashable, Hashable], _Entry] = OrderedDict()
        self._versions: dict[Hashable, list[Hashable]] = {}
        self._lock = threading.Lock()
        self.weight = 0

    def __len__(self) -> int:
        return len(self._entries)

    def once(self, key: Hashable, work: Callable[[], Answer], version: Hashable = None) -> Answer:
        """Return the answer under `key` in that version, computed by `work` if it is missing.

        A request for an answer in progress waits for it. If that work fails, its own caller gets
        the error, and each waiting one tries for itself.
        """
        place = key, version
        while True:
            with self._lock:
                entry = self._entries.get(place)
                mine = entry is None
                if entry is None:
                    entry = self._entries[place] = _Entry()
                    self._outdate(key, version)
                self._entries.move_to_end(place)
            if mine:
                return self._made(place, entry, work)
            entry.done.wait()
            if entry.answer is not MISSING:
                answer: Answer = entry.answer
                return answer

    def peek(self, key: Hashable) -> Any:  # noqa: ANN401 - whatever was kept
        """Return the answer under `key`, or `MISSING`: it does not wait for one in progress."""
        with self._lock:
            entry = self._entries.get((key, None))
            return MISSING if entry is None else entry.answer

    def clear(self) -> None:
        """Forget all answers; work in progress is finished for those who wait."""
        with self._lock:
            self._entries.clear()
            self._versions.clear()
            self.weight = 0

    def _outdate(self, key: Hashable, version: Hashable) -> None:
        """Add a version of a key; evict those before the last ones."""
        versions = self._versions.setdefault(key, [])
        versions.append(version)
        for old in versions[:-VERSIONS_KEPT]:
            self._evict((key, old))

    def _evict(self, place: tuple[Hashable, Hashable]) -> None:
        key, version = place
        self.weight -= self._entries.pop(place).weight
        self._versions[key].remove(version)
        if not self._versions[key]:
            del self._versions[key]

    def _made(
        self, place: tuple[Hashable, Hashable], entry: _Entry, work: Callable[[], Answer]
    ) -> Answer:
        try:
            answer = work()
            weight = self._weigh(answer)
        except BaseException:  # including a page that was stopped
            with self._lock:
                if self._entries.get(place) is entry:
                    self._evict(place)
            entry.done.set()
            raise
        with self._lock:
            entry.answer = answer
            if self._entries.get(place) is entry:
                entry.weight = weight
                self.weight += weight
                self._drop()
        entry.done.set()
        return answer

    def _drop(self) -> None:
        """Evict the least recently used answers; those in progress weigh nothing."""
        while self.weight > self.most:
            made = (place for place, e in self._entries.items() if e.answer is not MISSING)
            oldest = next(made, None)
            if oldest is None:
                return
            self._evict(oldest)


SETTING: Final = "EPOCHWISE_MEMORY_GB"
USUAL_BYTES: Final = 4_000_000_000
"""The same on every machine with twice as much, so that figures are comparable."""
LEAST_BYTES: Final = 100_000_000
FULL: Final = 0.6
"""Share that runs may fill; queries need the rest."""
WORKING_BYTES: Final = 64_000_000
"""Extra memory to load one chunk of runs: a copy, a sort, a checkpoint."""


def memory_limit_bytes(environment: Mapping[str, str]) -> int:
    """Return DuckDB's memory limit [bytes].

    It is `EPOCHWISE_MEMORY_GB`, else 4 GB or half of the machine's memory.

    A setting that is not a number above 0 is ignored.
    """
    with suppress(ValueError, OverflowError):
        gigabytes = float(environment.get(SETTING, "nan"))
        if math.isfinite(gigabytes) and gigabytes > 0.0:
            return max(int(gigabytes * 1e9), LEAST_BYTES)
    with suppress(OSError, ValueError, AttributeError):
        half = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
        return max(min(half, USUAL_BYTES), LEAST_BYTES)
    return USUAL_BYTES


def has_room(base: duckdb.DuckDBPyConnection, limit_bytes: int) -> bool:
    """Return whether more runs may be loaded with room left for queries."""
    [(used,)] = base.execute(sql.MEMORY).fetchall()
    return int(used or 0) < min(FULL * limit_bytes, limit_bytes - WORKING_BYTES)
