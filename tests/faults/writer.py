"""A writer process: `python -m tests.faults.writer FOLDER SWEEP FIRST COUNT`.

Commits the runs FIRST to FIRST+COUNT-1 of a stub sweep, each with twenty epochs, none of them
measured, and says `run_id new|old` on a line after each: a line said is a promise kept.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from planner.store import commit_runs

WHEN = datetime(2026, 3, 1, tzinfo=UTC)


def case(sweep: str, number: int) -> dict[str, Any]:
    """Run `number` of the stub sweep; its numbers follow from its name alone."""
    second = 1.0 + number / 64
    return {
        "result_set": "mine",
        "sweep": sweep,
        "repeat": number,
        "status": "ok",
        "basis": "measured",
        "recorded_at": WHEN,
        "model": "stub",
        "system_name": "stub",
        "device_kind": "cpu",
        "mode": "training",
        "epochs_measured": 20,
        "first_epoch_s": second,
        "later_epoch_mean_s": second,
        "epochs": [{"epoch": e, "epoch_s": second, "loss": 1 / e} for e in range(1, 21)],
    }


def commit_cases(
    say: Callable[[str], None], folder: Path, sweep: str, first: int, count: int
) -> None:
    """Commit the cases one by one, saying each only once it is safe."""
    for number in range(first, first + count):
        [done] = commit_runs(folder, [case(sweep, number)])
        say(f"{done.run_id} {'new' if done.new else 'old'}")


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    commit_cases(_print, Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
