"""The audit log while its writers are killed: every entry that was acknowledged is there, whole."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from planner.store.disk.audit import AuditEntry, entries, record
from tests.faults.campaign import Child, moments
from tests.faults.outcomes import FULL, Outcome, finish

pytestmark = pytest.mark.faults
KILLS: Final = 200 if FULL else 6
WRITERS: Final = 2
LIFE_S: Final = 0.1
"""Longest life of a writer [s]; it writes an entry in about a millisecond."""


def write(say: Callable[[str], None], folder: Path, name: str) -> None:
    """The work of a child that writes entries until it is killed."""
    for number in itertools.count():
        about = f"{name} {number}"
        say(record(folder, who=name, role="admin", via="page", what="add", about=about).id)


def test_killed_writers_lose_and_tear_no_entry_of_the_log(tmp_path: Path) -> None:
    outcome = Outcome(name="audit log: kill -9 of 2 writers")
    folder = tmp_path / "audit"
    acknowledged: list[str] = []
    before: dict[str, bytes] = {}
    while outcome.cases < KILLS:
        writers = [Child(write, folder, f"writer {outcome.cases + n}") for n in range(WRITERS)]
        for writer in writers:
            assert writer.kill(moments(LIFE_S))
            acknowledged += writer.said[1:]
        with outcome.case(f"a look after {outcome.cases} kills"):
            found = list(entries(folder))
        outcome.cases += WRITERS - 1
        changed = [each for each in found if isinstance(each, str)]
        ids = [each.id for each in found if isinstance(each, AuditEntry)]
        lost = set(acknowledged) - set(ids)
        if changed or lost or len(ids) != len(set(ids)):
            outcome.differs(f"{changed[:3]} changed, {len(lost)} lost", len(changed) + len(lost))
        now = {p.name: p.read_bytes() for p in folder.glob("*/*.json")}
        if any(now.get(name) != data for name, data in before.items()):
            outcome.differs("an entry was rewritten or removed")
        before = now
    outcome.counts |= {"entries": len(before), "acknowledged": len(acknowledged)}
    finish(outcome)
    assert acknowledged
