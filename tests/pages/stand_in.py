"""A test double for `python -m runners`: the same words and files, but nothing is trained.

The real thing takes minutes of TensorFlow; this one takes as long as a test wants. Run n of a
sweep ends once the file STATE/gate/n (or STATE/gate/all) is there; SIGTERM stops it between runs.
Rows are real ones, committed by the real store.

    small    four runs, all good          failing  two runs, the second out of memory
    unknown  as small, no times known     bad      cannot be measured here
    mute     says no JSON                 dying    the supervisor ends before it says anything
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import psutil

from planner.store import commit_runs, sweeps
from planner.store.sweeps import SweepStatus
from tests.store.build import row

SWEEPS: Final = {
    "small": "Small sweep",
    "failing": "Failing sweep",
    "unknown": "Unknown sweep",
    "bad": "Bad sweep",
    "mute": "Mute sweep",
    "dying": "Dying sweep",
}
BATCHES: Final = {"failing": (16, 32)}
_POLL_S: Final = 0.02


def main(arguments: list[str]) -> int:
    """Do what the real command would be asked to."""
    verb, *rest = arguments
    spec = "" if verb == "sweeps" else _name(rest[0])
    if verb == "sweeps":
        return _say([{"name": n, "title": t, "about": f"About {n}.", "path": f"{n}.toml",
                      "command": "run"}
                     for n, t in SWEEPS.items()])  # fmt: skip
    if verb == "plan":
        return _plan(spec, _given(rest, "--results"), probed="--probe" in rest)
    return _measure(spec, Path(_given(rest, "--results")), _given(rest, "--ticket"))


def _name(spec: str) -> str:
    return Path(spec).stem if "/" in spec else spec


def _given(rest: list[str], name: str) -> str:
    return rest[rest.index(name) + 1]


def _say(body: object) -> int:
    sys.stdout.write(json.dumps(body))
    return 0


def _batches(spec: str) -> tuple[int, ...]:
    return BATCHES.get(spec, (16, 32, 64, 128))


def _done(spec: str, results: str) -> int:
    return len(list((Path(results) / spec).glob("*.parquet")))


# -- the plan ----------------------------------------------------------------------------------


def _plan(spec: str, results: str, *, probed: bool) -> int:
    if spec == "mute":
        sys.stderr.write("no plan for a **mute** sweep\n")
        return 1
    if spec == "bad":
        _say({"problems": ["spec.toml: workload: no network is called <b>.", "And more."]})
        return 2
    hours = None if spec == "unknown" and not probed else 0.025
    done, batches = _done(spec, results), _batches(spec)
    return _say(
        {
            "name": spec,
            "title": SWEEPS[spec],
            "about": f"About {spec}.",
            "result_set": spec,
            "planned": len(batches),
            "finished": done,
            "left": len(batches) - done,
            "hours": hours,
            "hours_low": hours and hours * 0.8,
            "hours_high": hours and hours * 1.2,
            "hours_basis": hours and ("from a two-step probe" if probed else "from 12 runs"),
            "memory_bytes": 1.25e9,
            "energy_kwh": 0.004,
            "cost": 0.0012,
            "currency": "EUR",
            "smallest": {"runs": 3, "hours": 0.01, "batches": [16, 64, 128]},
            "full": {"runs": len(batches), "hours": hours},
            "runs": [_planned_run(b, n < done) for n, b in enumerate(batches)],
            "problems": [],
        }
    )


def _planned_run(batch: int, done: bool) -> dict[str, Any]:  # noqa: FBT001 - a stand-in
    return {
        "case_id": f"{batch:016}",
        "words": f"ResNet-50 tensorflow loop, batch {batch}",
        "workload": "resnet-50",
        "batch": batch,
        "backend": "tensorflow",
        "engine": "loop",
        "seconds": 22.5,
        "memory_bytes": 1.25e9,
        "done": done,
    }


# -- the supervisor ----------------------------------------------------------------------------


class _StopAsked(Exception):  # noqa: N818 - it is no error
    pass


def _raise(*_: object) -> None:
    raise _StopAsked


def _measure(spec: str, results: Path, ticket: str) -> int:
    if spec == "dying":
        sys.stdout.write("Traceback: it died young\n")
        return 1
    signal.signal(signal.SIGTERM, _raise)
    state = sweeps.state_folder(os.environ)
    status = _first(spec, results, ticket)
    try:
        with _queue(state, status):
            status = replace(status, phase="running", started_at=time.time(), message=None)
            status = _runs(state, status, results / spec)
        status = replace(status, phase="finished", left_s=0.0)
    except _StopAsked:
        known = sweeps.read_status(state, ticket) or status
        status = replace(known, phase="stopped", message="asked to stop")
    _tell(state, replace(status, current=None, current_epoch=None, ended_at=time.time()))
    return 0


def _first(spec: str, results: Path, ticket: str) -> SweepStatus:
    me = psutil.Process()
    return SweepStatus(
        ticket=ticket, sweep=spec, title=SWEEPS[spec], result_set=spec, folder=str(results),
        phase="waiting", planned=len(_batches(spec)), finished=_done(spec, str(results)),
        pid=me.pid, pid_started=me.create_time(), asked_at=time.time(), heartbeat_at=time.time(),
    )  # fmt: skip


def _tell(state: Path, status: SweepStatus) -> SweepStatus:
    now = replace(status, heartbeat_at=time.time())
    sweeps.write_status(state, now)
    return now


class _queue:  # noqa: N801 - it is used like a function
    """One sweep at a time: waits until the lock is free, and says so."""

    def __init__(self, state: Path, status: SweepStatus) -> None:
        state.mkdir(parents=True, exist_ok=True)
        self._state, self._status = state, status
        self._file = (state / "queue.lock").open("wb")

    def __enter__(self) -> None:
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                _tell(self._state, replace(self._status, message="Waits for another sweep."))
                time.sleep(_POLL_S * 10)
            else:
                return

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _runs(state: Path, status: SweepStatus, place: Path) -> SweepStatus:
    for n, batch in list(enumerate(_batches(status.sweep), start=1))[status.finished :]:
        words = f"ResNet-50, batch {batch}"
        status = _tell(state, replace(status, current=words, current_epoch=2, current_epochs=5))
        _wait_for_the_gate(state, status, n)
        failed = status.sweep == "failing" and batch == 32
        commit_runs(place, [_row(status.sweep, batch, failed=failed)])
        status = _tell(
            state,
            replace(status, finished=n, failed=status.failed + failed, left_s=22.5 * (4 - n)),
        )
    return status


def _wait_for_the_gate(state: Path, status: SweepStatus, n: int) -> None:
    gate, beats = state / "gate", 0
    while not ((gate / str(n)).exists() or (gate / "all").exists()):
        time.sleep(_POLL_S)
        beats += 1
        if beats % 50 == 0:
            _tell(state, status)


def _row(spec: str, batch: int, *, failed: bool) -> dict[str, Any]:
    if failed:
        reason = "watchdog: 9.00 GB resident, the limit is 8.00 GB"
        return row(result_set=spec, global_batch_size=batch, status="oom", status_reason=reason)
    return row(result_set=spec, global_batch_size=batch, step_s=0.05 + batch / 1000)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
