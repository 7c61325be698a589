"""Draw a few pages at a time, first come, first served (decision 0030).

Python runs one thread at a time, and drawing a page yields at each of its sixty messages. If thirty
pages are drawn at once, each message of each page waits for the twenty-nine others.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

AT_ONCE: Final = 2
"""Pages that are drawn at the same time: one works in Python, one waits for DuckDB or numpy."""
LONGEST_S: Final = 1.0
"""Longest turn [s]; a slower page waits for something else, such as a child process."""
_LOOK_S: Final = 0.1


class Turns:
    """Turns for threads, in the order of their requests."""

    def __init__(self, at_once: int = AT_ONCE, longest_s: float = LONGEST_S) -> None:
        self._at_once, self._longest_s = at_once, longest_s
        self._lock = threading.Lock()
        self._queue: deque[tuple[object, threading.Event]] = deque()
        self._running: dict[object, float] = {}

    @contextmanager
    def turn(self) -> Iterator[float]:
        """Wait for a turn, and hold it until the block ends or the longest turn is over.

        Yields when the turn was requested, by the monotonic clock [s].
        """
        requested_s = time.monotonic()
        me, mine = object(), threading.Event()
        with self._lock:
            self._queue.append((me, mine))
            self._next()
        while not mine.wait(_LOOK_S):
            with self._lock:
                self._next()
        try:
            yield requested_s
        finally:
            with self._lock:
                self._running.pop(me, None)
                self._next()

    def _next(self) -> None:
        """Give free turns to the threads that have waited longest."""
        now = time.monotonic()
        for thread, began in list(self._running.items()):
            if now - began > self._longest_s:
                del self._running[thread]
        while self._queue and len(self._running) < self._at_once:
            thread, event = self._queue.popleft()
            self._running[thread] = now
            event.set()


TURNS: Final = Turns()
"""The turns of all sessions of this server."""
