"""Train groups in supervised children, under limits; every ending has a reason."""

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
"""Callback for each finished group: its index among the requests, and its events."""
RunChild = Callable[[Sequence[dict[str, Any]], Took], None]
"""Trains one group per request, in order."""


class _Late(Exception):  # noqa: N818 - ends a child; reported as the group's end
    """A group has used up its time."""


@dataclass(slots=True, kw_only=True)
class _Watch:
    """State of a running child; a group's time starts when the previous one ends."""

    first: int
    """Index of its first group among the requests."""
    took: Took
    shared: list[Event] = field(default_factory=list)
    finished: int = 0
    since_s: float = field(default_factory=time.perf_counter)

    def hear(self, event: Event) -> None:
        """Pass on a group's rows, with the events that its groups share."""
        if event["event"] == "rows":
            self.took(self.first + self.finished, [*self.shared, event])
            self.finished += 1
            self.since_s = time.perf_counter()
        elif event["event"] != "failed":
            self.shared.append(event)

    def fail(self, status: str, reason: str) -> None:
        """Report how the current group ended."""
        end = {"event": "failed", "status": status, "reason": reason}
        self.took(self.first + self.finished, [*self.shared, end])
        self.finished += 1


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
    """Return the function that trains requests for `converge`; it raises `Stopped` on a stop.

    One child trains all groups: no times are recorded, and starting TensorFlow takes longer than
    most groups. If a child is killed or runs out of time (`timeout_s` per group) or memory, its
    current group gets the event `failed`, but only as the first group of that child. Otherwise
    the group is trained again as the first of a new child.
    """
    limits = Limits(
        timeout_s=_FOREVER_S, memory_bytes=memory_bytes or int(0.8 * facts.memory_limit_bytes())
    )

    def run(requests: Sequence[dict[str, Any]], took: Took) -> None:
        done = 0
        while done < len(requests):
            watch = _Watch(first=done, took=took)
            _one_child(requests[done:], watch)
            done += watch.finished

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
            if not watch.finished:
                watch.fail("timeout", f"not finished after {timeout_s:g} s")
            return
        if not watch.finished:
            watch.fail(*_why(ended, environ))

    return run


def _why(ended: Ended, environ: Mapping[str, str]) -> tuple[str, str]:
    """Return the status and reason of a child that sent no rows."""
    if ended.status == "ok":
        return "crashed", "the child reported no rows"
    return ended.status, environment.clean(ended.reason or ended.status, environ)
