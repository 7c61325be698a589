"""How a group's child is started: by the supervisor, under limits, each end with its reason."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from runners import environment, machine
from runners.events import Event
from runners.supervise import Limits, supervise

CHILD: Final = ("-m", "runners.child.converge")
RunChild = Callable[[dict[str, Any]], Iterable[Event]]


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
    """What `converge` calls with each request: a fresh child; `Stopped` where `stop()` says so.

    A child that was killed, ran out of time or memory gets the event `failed` it could not tell.
    """

    def run(request: dict[str, Any]) -> list[Event]:
        share = int(0.8 * machine.memory_limit_bytes())
        ended = supervise(
            [python, *CHILD],
            request,
            environment.for_child(
                environ, backend="tensorflow", threads=request["threads"], device=device
            ),
            Limits(timeout_s=timeout_s, memory_bytes=memory_bytes or share),
            beat=beat,
            stop=stop,
        )
        events = [e for e in ended.events if e["event"] != "failed"]
        if ended.status == "ok":
            return events
        reason = environment.clean(ended.reason or ended.status, environ)
        return [*events, {"event": "failed", "status": ended.status, "reason": reason}]

    return run
