"""Run ids that a server has acknowledged: one text file a server and set, in this machine's state.

Lines are added only. A line that was cut off is not read, so its run is sent again.
"""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_ID: Final = re.compile(r"[0-9a-f]{32}")


def ledger(state: Path, address: str, slug: str) -> Path:
    """Return the ledger of a server's address and a set."""
    digest = hashlib.sha256(address.encode()).hexdigest()[:16]
    return state / "pushed" / digest / f"{slug}.txt"


def acknowledged(path: Path) -> set[str]:
    """Return the run ids in a ledger."""
    try:
        lines = path.read_text(encoding="ascii", errors="replace").splitlines()
    except FileNotFoundError:
        return set()
    return {line for line in lines if _ID.fullmatch(line)}


def acknowledge(path: Path, run_ids: Sequence[str]) -> None:
    """Add run ids to a ledger; a line that was cut off by a crash is ended first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(b"\n" + "".join(f"{name}\n" for name in run_ids).encode())
