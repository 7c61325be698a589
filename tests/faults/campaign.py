"""What the campaigns share: how many, children to kill, small disks, and a reader that polls."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from types import ModuleType
from typing import Final

from planner.store import Store
from planner.store.sealed.compact import compact_set
from planner.store.sealed.seal import SealError, check_seal
from tests.faults import outcomes
from tests.faults.writer import commit_cases
from tests.store.build import ids

FULL: Final = outcomes.FULL
DRAW: Final = random.Random(20260301)
_CHILDREN: Final = multiprocessing.get_context("forkserver")
_CHILDREN.set_forkserver_preload(["tests.faults.campaign"])


class Child:
    """A process of ours that writes; what it said before it died is in `said`."""

    def __init__(self, work: Callable[..., None], *arguments: object) -> None:
        self._pipe, theirs = _CHILDREN.Pipe(duplex=False)
        self._process: ForkServerProcess = _CHILDREN.Process(
            target=_speaking, args=(theirs, work, arguments)
        )
        with _no_main():
            self._process.start()
        theirs.close()
        self.said: list[str] = []
        self._pipe.recv_bytes()  # it is about to begin

    def kill(self, after_s: float) -> bool:
        """End it by SIGKILL after that time; False where it had ended before."""
        self._process.join(after_s)
        self._process.kill()
        return self.ended() != 0

    def kill_once(self, happened: Callable[[], bool], after_s: float) -> bool:
        """The same, that long after something has happened."""
        while self.alive and not happened():
            pass
        return self.kill(after_s)

    def ended(self) -> int | None:
        """Wait for the end; the exit code (0: it did all it was asked)."""
        with contextlib.suppress(EOFError, OSError):
            while True:
                self.said.append(self._pipe.recv_bytes().decode())
        self._process.join()
        self._pipe.close()
        code = self._process.exitcode
        self._process.close()
        return code

    @property
    def alive(self) -> bool:
        """Whether it still works."""
        return self._process.is_alive()


@contextlib.contextmanager
def _no_main() -> Iterator[None]:
    """Children need no main module; other tests of this process may have left a page as one."""
    before = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = before


def _speaking(pipe: object, work: Callable[..., None], arguments: tuple[object, ...]) -> None:
    def say(line: str) -> None:
        pipe.send_bytes(line.encode())  # type: ignore[attr-defined]  # a Connection

    say("begin")
    work(say, *arguments)


def write(say: Callable[[str], None], folder: Path, sweep: str, first: int, count: int) -> None:
    """The work of a child that commits runs."""
    commit_cases(say, folder, sweep, first, count)


def merge(say: Callable[[str], None], folder: Path) -> None:
    """The work of a child that compacts once."""
    say(str(compact_set(folder).runs))


def merge_on(say: Callable[[str], None], folder: Path, stop: Path) -> None:
    """The work of a child that compacts over and over until the file `stop` is there."""
    compactions = 0
    while not stop.exists():
        compactions += compact_set(folder).merged is not None
    say(str(compactions))


def moments(whole_s: float) -> float:
    """A moment drawn uniformly from a piece of work that takes `whole_s`."""
    return DRAW.uniform(0.0, whole_s)


def torn(folder: Path) -> list[str]:
    """Files under a final name that are not whole."""
    return [p.name for p in sorted(folder.glob("[!.]*.parquet")) if not _is_whole(p)]


def _is_whole(path: Path) -> bool:
    try:
        check_seal(path)
    except SealError:
        return False
    return True


def temporaries(folder: Path) -> list[Path]:
    """What dead writers left behind."""
    return sorted(folder.glob(".*.tmp"))


class Poll:
    """A reader that looks again and again, and writes down what would be a fault."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.looks = self.shown = self.falls = self.twice = 0
        self.refused: set[str] = set()

    def look(self) -> None:
        """Refresh once and count."""
        self.store.refresh()
        shown = ids(self.store)
        self.looks += 1
        self.falls += len(shown) < self.shown
        self.twice += len(shown) != len(set(shown))
        self.refused |= {r.reason for r in self.store.refused}
        self.shown = len(shown)


@contextlib.contextmanager
def small_disk(place: Path, kilobytes: int = 1024) -> Iterator[Path | None]:
    """A tmpfs of that size mounted on `place`; None where this is not allowed."""
    place.mkdir(parents=True, exist_ok=True)
    size = f"size={kilobytes}k"
    if os.geteuid() != 0 or not shutil.which("mount") or _run("mount", "-t", "tmpfs", "-o", size,
                                                              "tmpfs", str(place)):  # fmt: skip
        yield None
        return
    try:
        yield place
    finally:
        if _run("umount", str(place)):  # somebody keeps a file open: look who
            _run("umount", "-l", str(place))
            raise RuntimeError(f"{place} was still in use")


def read_only(disk: Path) -> bool:
    """Make a mounted disk read-only; False where the system refuses."""
    return _run("mount", "-o", "remount,ro", str(disk)) == 0


def _run(*command: str) -> int:
    return subprocess.run(command, capture_output=True, timeout=30).returncode
