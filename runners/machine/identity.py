"""Which machine measured a run, and since when: numbers that make runs of two machines distinct.

The number of a machine is made of a random one that stays in its state folder and of the number
that the system has: it says nothing about either, and two machines that share a state folder have
two. Nothing of it can stop a run.
"""

from __future__ import annotations

import hashlib
import uuid
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Final

from planner.store.disk.files import write_once

_KEPT: Final = "machine"
_SYSTEM: Final = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))
_STARTED: Final = datetime.now(UTC)


def identity(state: Path) -> dict[str, str]:
    """The columns `machine_id` and `session_started_at` of every run of this process."""
    return {"machine_id": machine_id(state), "session_started_at": session_started_at()}


@cache
def machine_id(state: Path, system: tuple[Path, ...] = _SYSTEM) -> str:
    """Sixteen hex digits; another number each time where the state folder cannot be written."""
    made = uuid.uuid4().hex
    with suppress(OSError):
        write_once(state / _KEPT, made)
    secret = _text(state / _KEPT) or made
    own = next((text for path in system if (text := _text(path))), "")
    return hashlib.sha256(f"{secret} {own}".encode()).hexdigest()[:16]


def session_started_at() -> str:
    """When this process began, to the millisecond, as 2026-03-01T12:00:00.123Z."""
    return f"{_STARTED:%Y-%m-%dT%H:%M:%S}.{_STARTED.microsecond // 1000:03d}Z"


def _text(path: Path) -> str:
    with suppress(OSError, ValueError), path.open("rb") as file:
        return file.read(100).decode("ascii").strip()
    return ""
