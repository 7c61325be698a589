"""kill -9 at random moments: nothing torn, nothing lost, nothing twice."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from planner.runs import run_id
from planner.store.sealed.commit import STALE_S, sweep_temporaries
from tests.faults import campaign
from tests.faults.campaign import Child, moments, temporaries, torn
from tests.faults.outcomes import FULL, Outcome, finish
from tests.faults.writer import case
from tests.store.build import a_set, ids, opened, reasons

pytestmark = pytest.mark.faults
RUNS: Final = 72 if FULL else 12
KILLS: Final = 200 if FULL else 2
COMPACTIONS: Final = 60 if FULL else 1


def _seconds_of(work: Child) -> float:
    began = time.perf_counter()
    assert work.ended() == 0
    return time.perf_counter() - began


def _inodes(folder: Path) -> dict[str, int]:
    return {p.name: p.stat().st_ino for p in folder.glob("[!.]*.parquet")}


def _swept(folder: Path) -> int:
    """Let the leftovers grow a day old, and sweep."""
    long_ago = time.time() - STALE_S - 60
    for path in temporaries(folder):
        os.utime(path, (long_ago, long_ago))
    return sweep_temporaries(folder)


@dataclass(slots=True)
class Counts:
    """What would be a fault, and what is none."""

    kills: int = 0
    sweeps: int = 0
    torn: int = 0
    lost: int = 0
    rewritten: int = 0
    left: int = 0


def _sweep_under_fire(place: Path, whole_s: float, counts: Counts) -> None:
    """Run one sweep to its end, killing and resuming it as often as there are kills left."""
    counts.sweeps += 1
    kept: dict[str, int] = {}
    killed = True
    while killed:
        child = Child(campaign.write, place, f"sweep {counts.sweeps}", 0, RUNS)
        killed = child.kill(moments(whole_s)) if counts.kills < KILLS else child.ended() != 0
        counts.kills += killed
        now = _inodes(place)
        counts.torn += len(torn(place))
        counts.lost += sum(f"{line.split()[0]}.parquet" not in now for line in child.said)
        counts.rewritten += sum(now.get(name) != inode for name, inode in kept.items())
        kept = now


def test_a_sweep_killed_again_and_again_ends_with_every_run_once(tmp_path: Path) -> None:
    place = a_set(tmp_path / "whole")
    whole_s = _seconds_of(Child(campaign.write, place, "whole", 0, RUNS))
    counts, outcome = Counts(), Outcome(name="kill -9 of a writer")
    while counts.kills < KILLS:
        root = tmp_path / str(counts.sweeps)
        place = a_set(root)
        _sweep_under_fire(place, whole_s, counts)
        sweep = f"sweep {counts.sweeps}"
        with outcome.step(f"{sweep}: a look at its results"):
            store = opened(root)
        assert ids(store) == sorted(run_id(case(sweep, n)) for n in range(RUNS))
        assert (len(_inodes(place)), reasons(store)) == (RUNS, {})
        counts.left += _swept(place)
        assert temporaries(place) == []
    outcome.cases = counts.kills
    outcome.counts |= {"sweeps": counts.sweeps, "runs": counts.sweeps * RUNS,
                       "temporaries, all swept": counts.left}  # fmt: skip
    for fault in ("torn", "lost", "rewritten"):
        if count := getattr(counts, fault):
            outcome.differs(f"{count} {fault}", count)
    finish(outcome)
    assert counts.kills == KILLS


def test_a_compaction_killed_at_any_moment_loses_and_doubles_nothing(tmp_path: Path) -> None:
    originals = a_set(tmp_path / "originals")
    assert Child(campaign.write, originals, "merged", 0, RUNS).ended() == 0
    wanted = sorted(run_id(case("merged", n)) for n in range(RUNS))
    whole_s = _seconds_of(Child(campaign.merge, _copied(originals, tmp_path / "whole")))
    kills = between = 0
    outcome = Outcome(name="kill -9 of a compaction")
    while kills < COMPACTIONS:
        root = tmp_path / str(kills)
        place = _copied(originals, root)
        child = Child(campaign.merge, place)
        if kills % 2:  # every second time in the short while when both are there
            killed = child.kill_once(partial(_merged, place), moments(0.005))
        else:
            killed = child.kill(moments(whole_s))
        kills += killed
        between += killed and len(_inodes(place)) > 1 and _merged(place)
        with outcome.step(f"kill {kills}: a look at the folder"):
            store = opened(root)
        assert (ids(store), reasons(store), torn(place)) == (wanted, {}, [])
        assert Child(campaign.merge, place).ended() == 0
        store.refresh()
        assert (ids(store), len(_inodes(place))) == (wanted, 1)
        shutil.rmtree(root)
    outcome.cases = kills
    outcome.counts |= {"with merged and original files": between, "runs": kills * RUNS}
    finish(outcome)


def _merged(place: Path) -> bool:
    return any(place.glob("compact-*"))


def _copied(originals: Path, root: Path) -> Path:
    place = a_set(root)
    for path in originals.glob("[!.]*.parquet"):
        os.link(path, place / path.name)
    return place
