"""Identity of machine and session: values that distinguish runs of two machines.

A machine's id is a hash of a random number in its state folder and of the system's id. It reveals
neither, and two machines that share a state folder get different ids. Errors never stop a run.
"""

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
    """Return the columns `machine_id` and `session_started_at` of this process's runs."""
    return {"machine_id": machine_id(state), "session_started_at": session_started_at()}


@cache
def machine_id(state: Path, system: tuple[Path, ...] = _SYSTEM) -> str:
    """Return 16 hex digits; they change each time if the state folder is not writable."""
    made = uuid.uuid4().hex
    with suppress(OSError):
        write_once(state / _KEPT, made)
    secret = _text(state / _KEPT) or made
    own = next((text for path in system if (text := _text(path))), "")
    return hashlib.sha256(f"{secret} {own}".encode()).hexdigest()[:16]


def session_started_at() -> str:
    """Return the start of this process to the millisecond, as 2026-03-01T12:00:00.123Z."""
    return f"{_STARTED:%Y-%m-%dT%H:%M:%S}.{_STARTED.microsecond // 1000:03d}Z"


def _text(path: Path) -> str:
    with suppress(OSError, ValueError), path.open("rb") as file:
        return file.read(100).decode("ascii").strip()
    return ""
