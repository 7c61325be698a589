"""Folders of what visitors save, one for each choice of restricted sets that it may come from.

What is saved by someone who sees no restricted set lies in the folder itself. Anything else lies in
a folder `for-...` inside, with the list of the restricted sets that its author saw: it is for those
who see all of them. So names and figures of a restricted set reach no other visitor, also after
it is deleted and another set gets its name: sets are listed by their references, which have ids.
"""

import hashlib
import json
from collections.abc import Collection
from pathlib import Path
from typing import Final

from planner.store.disk.files import UnfitFileError, bounded_json, write_once

_SETS: Final = "sets.json"
_MOST_BYTES: Final = 1_000_000


def layers(base: Path, restricted: Collection[str], shown: Collection[str]) -> tuple[Path, ...]:
    """Return the folders to read, the one to write first.

    Args:
        base: the folder of everything saved.
        restricted: references of the restricted sets that the viewer sees.
        shown: those of all sets that the viewer sees.
    """
    seen = frozenset(shown)
    by_path = ((p, _sets_of(p)) for p in sorted(base.glob("for-*")))
    further = [p for p, sets in by_path if sets is not None and sets <= seen]
    return tuple(dict.fromkeys((_layer(base, restricted), *further, base)))


def prepare(base: Path, restricted: Collection[str]) -> Path:
    """Make the folder to write with the list of its sets, and return it; OSError if refused."""
    folder = _layer(base, restricted)
    if folder != base:
        write_once(folder / _SETS, json.dumps(sorted(restricted)))
    return folder


def _layer(base: Path, restricted: Collection[str]) -> Path:
    if not restricted:
        return base
    digest = hashlib.sha256(json.dumps(sorted(restricted)).encode()).hexdigest()
    return base / f"for-{digest[:20]}"


def _sets_of(folder: Path) -> frozenset[str] | None:
    """Return the sets of a folder; None if they are not known: then it is not read."""
    try:
        listed = bounded_json(folder / _SETS, _MOST_BYTES)
    except UnfitFileError:
        return None
    sound = isinstance(listed, list) and listed and all(isinstance(s, str) for s in listed)
    return frozenset(listed) if sound else None
