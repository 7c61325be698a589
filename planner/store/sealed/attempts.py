"""The attempt of a case that a run belongs to: of every attempt one run is stored.

A worker of a lost node may finish after its run was started again elsewhere, on another system
even: two runs with two ids. Both rows name the same attempt (`attempt_id` in `extra`), and the run
that gets the attempt's hidden name first is the run of the attempt. That name holds the sealed run
itself, so whoever finds it there can finish a commit that was killed in between.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

ATTEMPT: Final = "attempt_id"
_ID: Final = re.compile(r"[0-9a-f]{32}")


def attempt_id(row: Mapping[str, Any]) -> str | None:
    """Return the id of a row's attempt; None for a row that names none."""
    try:
        name = json.loads(row.get("extra") or "{}").get(ATTEMPT)
    except (TypeError, ValueError, AttributeError, RecursionError):
        return None
    return name if isinstance(name, str) and _ID.fullmatch(name) else None


def name_of(folder: Path, attempt: str) -> Path:
    """Return the hidden name of an attempt; no reader lists it, and it goes after a day."""
    return folder / f".{attempt}.attempt.tmp"


def release(folder: Path, attempt: str) -> None:
    """Remove the name of an attempt that no further worker measures."""
    name_of(folder, attempt).unlink(missing_ok=True)


def release_all(folder: Path) -> None:
    """Remove the names of all attempts, once no earlier worker can store in the folder."""
    for path in folder.glob(name_of(folder, "*").name):
        path.unlink(missing_ok=True)


def of_one_attempt(ours: pa.Table, theirs: pa.Table, run: str) -> bool:
    """Return whether the rows of a run in two tables belong to the same attempt."""
    both = []
    for table in (ours, theirs):
        [row] = table.filter(pc.field("run_id") == run).select(["extra"]).to_pylist()
        both.append(attempt_id(row))
    return both[0] is not None and both[0] == both[1]
