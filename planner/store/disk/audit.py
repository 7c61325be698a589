"""The audit log: who did what, when; one small file an entry, written as a run file is.

An entry is written before its action, under a name that holds its time and the hash of its text:
first whole under a hidden name, synced, then linked to its final name. Nothing is ever rewritten or
removed. A file whose text does not match its name was changed later, and is reported. In a bucket
the entry is an object that is put on the condition that it does not exist.
"""

import hashlib
import json
import re
import time
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from planner.core import Text
from planner.store.disk.access import stamp_text
from planner.store.disk.files import UnfitFileError, bounded_json, sync_folder, write_new
from planner.store.disk.mirrors import bring_folder

RESTRICTED: Final = "restrict a set"
OPENED: Final = "open a set"
SHARED: Final = "make a share link"
UNSHARED: Final = "revoke a share link"
_NAME: Final = re.compile(r"([0-9]{19})-([0-9a-f]{32})\.json")
_MOST_BYTES: Final = 20_000
_MOST_LETTERS: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One action; `at` in UTC, ISO 8601. `allowed` is False for an attempt that was refused."""

    at: str
    who: str
    role: str
    via: str
    """`page`, `api` or `command`."""
    what: str
    about: str
    allowed: bool
    id: str


class AuditError(OSError):
    """An entry cannot be written, so its action must not be done."""


def audit_folder(team: Path) -> Path:
    """Return the folder of the log in the team's folder."""
    return team / "audit"


def record(
    folder: Path, *, who: str, role: str, via: str, what: str, about: str = "", allowed: bool = True
) -> AuditEntry:
    """Write an entry and return it.

    Raises:
        AuditError: the disk refuses.
    """
    now_ns = time.time_ns()
    entry = AuditEntry(
        at=stamp_text(now_ns / 1e9), who=_cut(who), role=_cut(role), via=via, what=_cut(what),
        about=_cut(about), allowed=allowed, id=uuid.uuid4().hex,
    )  # fmt: skip
    data = json.dumps(asdict(entry), ensure_ascii=False).encode("utf-8", "backslashreplace")
    path = folder / entry.at[:10] / f"{now_ns:019d}-{_digest(data)}.json"
    try:
        new = write_new(path, data)
        sync_folder(path.parent)
    except OSError as error:
        reason = error.strerror or error
        raise AuditError(
            Text("The audit log cannot be written ({reason}): nothing is done.", reason=reason)
        ) from error
    if not new:
        raise AuditError(Text("The audit log has this entry already: nothing is done."))
    return entry


def entries(folder: Path, most: int | None = None) -> Iterator[AuditEntry | str]:
    """Yield entries, oldest first; the name of a file that was changed or cut instead.

    `most` yields so many of the newest. OSError where they are in a bucket that cannot be read.
    """
    bring_folder(folder)
    paths = sorted(folder.glob("*/*.json"))
    for path in paths if most is None else paths[-most:]:
        match = _NAME.fullmatch(path.name)
        try:
            data = path.read_bytes()
            sound = match is not None and _digest(data) == match[2]
            entry = AuditEntry(**bounded_json(data, _MOST_BYTES)) if sound else None
        except (UnfitFileError, OSError, TypeError):
            entry = None
        yield entry or f"{path.parent.name}/{path.name}"


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def _cut(text: str) -> str:
    printable = "".join(c if c.isprintable() else " " for c in text)
    return printable[:_MOST_LETTERS]
