"""Several writers, a reader that polls, and a compaction that never rests."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

import pytest

from planner.store import Store
from tests.faults import campaign
from tests.faults.campaign import Child, Poll, temporaries, torn
from tests.faults.outcomes import FULL, Outcome, finish
from tests.store.build import a_set, folder

pytestmark = pytest.mark.faults
WRITERS: Final = 4
EACH: Final = 1000 if FULL else 12
REST_S: Final = 0.0 if FULL else 0.02
"""Time between two looks of the reader [s]: a sample leaves the processor to the writers."""


@pytest.mark.parametrize("merging", [False, True], ids=["alone", "with a compaction all the time"])
def test_four_writers_and_a_reader_lose_nothing_and_the_count_never_falls(
    tmp_path: Path, *, merging: bool
) -> None:
    place, stop = a_set(tmp_path / "runs"), tmp_path / "stop"
    reader = Poll(Store([folder(tmp_path / "runs")]))
    merger = Child(campaign.merge_on, place, stop) if merging else None
    writers = [Child(campaign.write, place, f"writer {n}", 0, EACH) for n in range(WRITERS)]
    outcome = Outcome(name=f"{WRITERS} writers and a reader" + ", compacted" * merging)
    while any(w.alive for w in writers):
        with outcome.case(f"look {reader.looks}"):
            reader.look()
        time.sleep(REST_S)
    ends = [w.ended() for w in writers]
    stop.touch()
    ends += [merger.ended()] if merger else []
    reader.look()
    said = sum(line.endswith(" new") for w in writers for line in w.said)
    outcome.counts |= {"runs saved": said, "runs shown": reader.shown}
    outcome.counts |= {"compactions": int(merger.said[0])} if merger else {}
    if reader.falls + reader.twice:
        outcome.differs(f"{reader.falls} falls of the count, {reader.twice} doubled",
                        reader.falls + reader.twice)  # fmt: skip
    finish(outcome)
    assert (said, reader.shown) == (WRITERS * EACH, WRITERS * EACH)
    assert (set(ends), reader.falls, reader.twice, reader.refused) == ({0}, 0, 0, set())
    assert (torn(place), temporaries(place)) == ([], [])
