"""What a sweep was begun with, so that resuming it means the same.

`auto` means another backend or device where the environment has changed, and then every case would
be another case. What was decided at the beginning is kept with the sweep's status.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from planner.store.disk.sweeps import SweepStatus, read_statuses
from runners.sweep.context import Context

_KEPT: Final = ("name", "python", "memory_limit", "licence", "price_per_hour")


def options(asked: argparse.Namespace, known: Context) -> dict[str, Any]:
    """What a resume must be told again: as asked, with what `auto` meant."""
    told = {name: value for name in _KEPT if (value := getattr(asked, name, None))}
    decided = {"backend": known.host.backends[0], "device": known.host.device}
    return {**told, **decided, "name": known.folder.name}


def of_ticket(state: Path, ticket: str) -> SweepStatus | None:
    """The sweep a ticket was given to."""
    return next((s for s in read_statuses(state) if s.ticket == ticket), None)


def newest(state: Path, sweep: str, results: Path, name: str | None) -> SweepStatus | None:
    """The last time a sweep was begun in a results folder (under a name, where one is given)."""
    told = read_statuses(state)
    return next(
        (
            s
            for s in told
            if (s.sweep, s.folder) == (sweep, str(results))
            and s.command == "run"
            and name in {None, s.result_set}
        ),
        None,
    )


def fill(asked: argparse.Namespace, told: Mapping[str, Any]) -> None:
    """Take over what was asked at the beginning and is not said now."""
    for name, value in told.items():
        if hasattr(asked, name) and getattr(asked, name) in (None, [], asked.defaults.get(name)):
            setattr(asked, name, value)
