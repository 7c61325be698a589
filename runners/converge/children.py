"""How groups are trained: by children of the supervisor, under limits, each end with its reason."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from runners.machine import environment, facts
from runners.process.events import Event
from runners.process.supervise import Ended, Limits, supervise

CHILD: Final = ("-m", "runners.child.converge")
_FOREVER_S: Final = 1e9
Took = Callable[[int, list[Event]], None]
"""Hears of each group as soon as it has ended: its place among the requests, what was told."""
RunChild = Callable[[Sequence[dict[str, Any]], Took], None]
"""Trains one group for each request, in their order."""


class _Late(Exception):  # noqa: N818 - ends a child, and is told as the group's end
    """A group has used up its time."""


@dataclass(slots=True, kw_only=True)
class _Watch:
    """What is known of a running child; a group's time begins where the one before has ended."""

    first: int
    """Place of its first group among the requests."""
    took: Took
    shared: list[Event] = field(default_factory=list)
    told: int = 0
    since_s: float = field(default_factory=time.perf_counter)

    def hear(self, event: Event) -> None:
        """Pass a group's rows on, with what the child told of all of its groups."""
        if event["event"] == "rows":
            self.took(self.first + self.told, [*self.shared, event])
            self.told += 1
            self.since_s = time.perf_counter()
        elif event["event"] != "failed":
            self.shared.append(event)

    def fail(self, status: str, reason: str) -> None:
        """Say how the group ended that was being trained."""
        end = {"event": "failed", "status": status, "reason": reason}
        self.took(self.first + self.told, [*self.shared, end])
        self.told += 1


def supervised(
    environ: Mapping[str, str],
    *,
    timeout_s: float,
    memory_bytes: int | None = None,
    device: str = "cpu",
    python: str = sys.executable,
    beat: Callable[[], None] = lambda: None,
    stop: Callable[[], bool] = lambda: False,
) -> RunChild:
    """What `converge` calls with its requests; `Stopped` where `stop()` says so.

    One child trains them all: no times are kept that company could spoil, and starting TensorFlow
    takes longer than most groups. A group whose child was killed, ran out of time (`timeout_s` for
    each group) or memory gets the event `failed` it could not tell, but only where it was the
    child's first: otherwise it is tried again as the first of a fresh one.
    """
    limits = Limits(
        timeout_s=_FOREVER_S, memory_bytes=memory_bytes or int(0.8 * facts.memory_limit_bytes())
    )

    def run(requests: Sequence[dict[str, Any]], took: Took) -> None:
        done = 0
        while done < len(requests):
            watch = _Watch(first=done, took=took)
            _one_child(requests[done:], watch)
            done += watch.told

    def _one_child(requests: Sequence[dict[str, Any]], watch: _Watch) -> None:
        def in_time() -> None:
            beat()
            if time.perf_counter() - watch.since_s > timeout_s:
                raise _Late

        variables = environment.for_child(
            environ, backend="tensorflow", threads=requests[0]["threads"], device=device
        )
        try:
            ended = supervise(
                [python, *CHILD], {"groups": list(requests)}, variables, limits,
                on_event=watch.hear, beat=in_time, stop=stop,
            )  # fmt: skip
        except _Late:
            if not watch.told:
                watch.fail("timeout", f"not finished after {timeout_s:g} s")
            return
        if not watch.told:
            watch.fail(*_why(ended, environ))

    return run


def _why(ended: Ended, environ: Mapping[str, str]) -> tuple[str, str]:
    """Status and reason of a child that told no rows."""
    if ended.status == "ok":
        return "crashed", "the child told no rows"
    return ended.status, environment.clean(ended.reason or ended.status, environ)
