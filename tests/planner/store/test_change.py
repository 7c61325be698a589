"""A change of who sees a set in several folders, ended between any two of its writes."""

from __future__ import annotations

import itertools
import os
import signal
import time
from pathlib import Path
from typing import Final

import pytest

from planner.store import visibility
from planner.store.disk.access import Access, Viewer, set_access, strictest
from planner.store.disk.folders import Folder
from planner.store.visibility import access_of, change, visible_sets

_LATER_S: Final = 4e9
ACCESSES: Final = (
    None,
    Access(),
    Access(groups=frozenset({"a"})),
    Access(groups=frozenset({"b"})),
    Access(groups=frozenset({"a", "b"})),
    Access(groups=frozenset({"a"}), until=_LATER_S),
    Access(groups=frozenset({"b"}), until=_LATER_S + 1e6),
)
VIEWERS: Final = (Viewer(), Viewer(groups=frozenset({"a"})), Viewer(groups=frozenset({"b"})))
TIMES_S: Final = (time.time(), _LATER_S, _LATER_S + 1e6)


def _seen(folders: list[Folder]) -> set[tuple[int, int]]:
    """Return which viewers see the set at which times."""
    each = [access_of(f.path / "mine") for f in folders]
    sees = itertools.product(enumerate(VIEWERS), enumerate(TIMES_S))
    return {
        (who, at)
        for (who, viewer), (at, now_s) in sees
        if (access := strictest(each, now_s)) is None or viewer.sees(("mine",), access, now_s)
    }


def _killed_after(writes: int, folders: list[Folder], access: Access | None) -> None:
    """Change in a process that kills itself before a write; `writes` were done."""
    child = os.fork()
    if child == 0:
        left = [writes]

        def write(place: Path, now: Access | None) -> None:
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left[0] -= 1
            set_access(place, now)

        pytest.MonkeyPatch().setattr(visibility, "set_access", write)
        change(folders, "mine", access)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) == (writes < len(folders))


@pytest.mark.parametrize("after", ACCESSES)
def test_a_kill_between_two_folders_never_opens_a_set_more_than_before_and_after(
    tmp_path: Path, after: Access | None
) -> None:
    folders = [
        Folder(path=tmp_path / name, label=name, kind="own" if name == "own" else "further")
        for name in ("own", "one", "two")
    ]
    mixed = (ACCESSES[2], None, ACCESSES[3])
    for before in (ACCESSES[:3], ACCESSES[4:], mixed):
        sees: list[set[tuple[int, int]]] = []
        for writes in range(len(folders) + 1):
            for folder, access in zip(folders, before, strict=True):
                (folder.path / "mine").mkdir(parents=True, exist_ok=True)
                set_access(folder.path / "mine", access)
            first = _seen(folders)
            _killed_after(writes, folders, after)
            sees.append(_seen(folders))
        assert sees[0] == first
        assert all(between <= sees[0] | sees[-1] for between in sees), (before, after)
        assert all(between <= sees[-1] for between in sees[1:]), (before, after)
    assert [s.access for s in visible_sets(folders)] == [after]
