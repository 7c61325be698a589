"""Sweeps under fire: supervisor, guard or child killed at random moments, resumed to the end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import psutil
import pytest

from planner.runs import Row
from planner.store._verify import verify_folder
from planner.store.disk.sweeps import read_statuses
from planner.store.summaries import summaries
from runners.process.supervise import ROOT
from runners.sweep.rows import case_id_of
from tests.faults.campaign import DRAW, moments, temporaries, torn
from tests.faults.outcomes import FULL, Outcome, finish
from tests.runners.stubs import HANG_S, case, new_mark, starts
from tests.store.build import a_set, folder, ids, opened

pytestmark = pytest.mark.faults
KILLS: Final = 200
REAL_KILLS: Final = 20
VICTIMS: Final = ("supervisor",) * 4 + ("child",) * 3 + ("Ctrl-C", "terminate", "guard")
"""Six in ten are SIGKILL of the supervisor, as the power going is."""
SIGNALS: Final = {"Ctrl-C": signal.SIGINT, "terminate": signal.SIGTERM}
MARK: Final = "TF_EPOCHWISE_TEST"
"""In the environment of the supervisor and, being TensorFlow's by name, of all below it."""


@dataclass(slots=True)
class Counts:
    """What would be a fault, and what is none."""

    whole_s: float
    """Duration of the last undisturbed life [s]: kills are drawn from it."""
    hit: Counter[str] = field(default_factory=Counter)
    lives: int = 0
    sweeps: int = 0
    torn: int = 0
    lost: int = 0
    orphans: int = 0

    @property
    def kills(self) -> int:
        """All that hit somebody alive."""
        return self.hit.total()

    def judged(self, outcome: Outcome) -> None:
        """Put these counts into the row of the campaign, and end it."""
        outcome.cases = self.kills
        outcome.counts += self.hit + Counter(lives=self.lives, sweeps=self.sweeps)
        for fault in ("lost", "torn", "orphans"):
            if count := getattr(self, fault):
                outcome.differs(f"{count} {fault} ({dict(self.hit)})", count)
        finish(outcome)


def _looked_at(outcome: Outcome, root: Path, ends: Mapping[str, list[str]], what: str) -> None:
    """Look at the results as the app does: every attempt is shown."""
    with outcome.step(f"{what}: a look at its results"):
        shown = len(ids(opened(root)))
        if shown != sum(len(statuses) for statuses in ends.values()):
            outcome.differs(f"{what}: {shown} rows shown of {dict(ends)}")


def _bearers(mark: str) -> list[psutil.Process]:
    """Living processes with the mark in their environment."""
    found = []
    for process in psutil.process_iter():
        try:
            alive = process.status() != psutil.STATUS_ZOMBIE
            if alive and process.environ().get(MARK) == mark:
                found.append(process)
        except psutil.Error:
            continue
    return found


def _left(mark: str) -> int:
    """Processes of a dead supervisor that live on, once the kernel had time for its kills."""
    end = time.monotonic() + HANG_S / 4
    while (left := _bearers(mark)) and time.monotonic() < end:
        time.sleep(0.01)
    for process in left:
        process.kill()
    return len(left)


def _awaited(process: subprocess.Popen[bytes], victim: str) -> list[psutil.Process]:
    """The guard or the child of a supervisor, as soon as there is one; none after a second."""
    end = time.monotonic() + 1.0
    while process.poll() is None and time.monotonic() < end:
        guards = psutil.Process(process.pid).children()
        if found := [c for g in guards for c in g.children()] if victim == "child" else guards:
            return found
    return []


def _strike(process: subprocess.Popen[bytes], counts: Counts) -> None:
    """Hit a victim drawn at random; a guard or child is waited for, as it lives for moments."""
    victim = DRAW.choice(VICTIMS)
    if victim in {"guard", "child"}:
        for one in _awaited(process, victim)[:1]:
            one.kill()
            # Guard and supervisor killed in the same moment leave workers behind: that is the
            # one thing not promised, so the supervisor is given the time to bury its guard.
            one.wait(HANG_S)
            counts.hit[victim] += 1
        return
    process.send_signal(SIGNALS.get(victim, signal.SIGKILL))
    process.wait(HANG_S)
    counts.hit[victim] += 1


def _live(start: Callable[[str], subprocess.Popen[bytes]], most: int, counts: Counts) -> bool:
    """One life of a supervisor; whether it ended of itself."""
    mark, struck, began = new_mark(), counts.kills, time.monotonic()
    process = start(mark)
    counts.lives += 1
    while process.poll() is None and counts.kills < most:
        try:
            process.wait(moments(counts.whole_s))
        except subprocess.TimeoutExpired:
            try:
                _strike(process, counts)
            except psutil.NoSuchProcess:
                continue
    process.wait(3 * HANG_S)
    if counts.kills == struck:
        counts.whole_s = max(2.0, min(counts.whole_s, time.monotonic() - began))
    counts.orphans += _left(mark)
    deadly = counts.kills - struck
    return process.returncode in {0, 1} if deadly == 0 else process.returncode == 0


def _inodes(place: Path) -> dict[str, int]:
    return {p.name: p.stat().st_ino for p in place.glob("[!.]*.parquet")}


def _until_done(
    start: Callable[[str], subprocess.Popen[bytes]], place: Path, most: int, counts: Counts
) -> None:
    """Start, kill and start again until a life ends with everything measured."""
    kept: dict[str, int] = {}
    done = False
    while not done:
        done = _live(start, most, counts)
        now = _inodes(place)
        counts.torn += len(torn(place))
        counts.lost += sum(now.get(name) != inode for name, inode in kept.items())
        kept = now


def _ends(place: Path) -> dict[str, list[str]]:
    """How the attempts of every case ended, by case id."""
    found: dict[str, list[str]] = {}
    rows: list[Row] = sorted(summaries(place), key=lambda r: int(r["attempt"]))
    for row in rows:
        found.setdefault(str(case_id_of(row)), []).append(row["status"])
    return found


def _settled_once(ends: Mapping[str, list[str]]) -> bool:
    """Killed attempts first, then one end of its own, or the third kill."""
    return all(
        set(result[:-1]) <= {"killed"} and (result[-1] != "killed" or len(result) == 3)
        for result in ends.values()
    )


# -- the stand-in: many kills --------------------------------------------------------------------

WAYS: Final = {0: "slowly", 1: "workers", 2: "oom", 3: "slowly", 4: "workers", 5: "nan", 6: "ok",
               7: "slowly"}  # fmt: skip


def _stub(tmp: Path) -> Callable[[str], subprocess.Popen[bytes]]:
    def start(mark: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tests.runners.stub_sweep", str(tmp), f"stub-{mark}",
                   mark, str(len(WAYS)), json.dumps(WAYS)]  # fmt: skip
        return subprocess.Popen(command, cwd=ROOT, env={**os.environ, MARK: mark},
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip

    return start


def _again(result: list[str], ends: Mapping[str, list[str]]) -> int:
    """Starts that no row and no kill of a supervisor explains: of cases that were done."""
    finished = {str(s): len(ends[case(s).case_id]) for s in WAYS}
    attempts = {seed: max(int(t.split()[1]) for t in result if t.split()[0] == seed)
                for seed in finished}  # fmt: skip
    return sum(attempts[seed] != count - 1 for seed, count in finished.items())


@pytest.mark.skipif(not FULL, reason="tests/faults/test_kills_in_a_run.py kills a sweep")
def test_a_sweep_killed_again_and_again_measures_every_case_once(tmp_path: Path) -> None:
    began = time.monotonic()
    whole = tmp_path / "whole"
    a_set(whole / "results", slug="stub")
    assert _stub(whole)(new_mark()).wait(HANG_S) == 1  # two of its cases do not end well
    counts, killed, again = Counts(whole_s=time.monotonic() - began), 0, 0
    outcome = Outcome(name="kills of a sweep's processes")
    while counts.kills < KILLS:
        tmp = tmp_path / str(counts.sweeps)
        place = a_set(tmp / "results", slug="stub")
        counts.sweeps += 1
        _until_done(_stub(tmp), place, KILLS, counts)
        ends = _ends(place)
        _looked_at(outcome, tmp / "results", ends, f"sweep {counts.sweeps}")
        before = starts(tmp)
        assert _stub(tmp)(new_mark()).wait(HANG_S) == 1
        assert starts(tmp) == before  # what is done is not started again
        assert ends.keys() == {case(s).case_id for s in WAYS}
        assert _settled_once(ends)
        assert verify_folder(folder(tmp / "results")).problems == ()
        whole_rows = [r for r in summaries(place) if r["status"] == "ok"]
        assert all(r["epochs_measured"] == 3 for r in whole_rows)
        killed += sum(result.count("killed") for result in ends.values())
        again += _again(before, ends)
    outcome.counts["killed rows"] = killed
    if again:
        outcome.differs(f"{again} cases measured again", again)
    counts.judged(outcome)
    assert counts.kills == KILLS
    assert killed <= counts.hit["guard"] + counts.hit["child"]


# -- the real child: fewer kills, each of them slow ------------------------------------------------

SPEC: Final = """
title = "Tiny runs"
epochs = 3
[defaults]
workload = "mlp"
dataset = "digits"
train_samples = 256
options = {{ units = 16 }}
threads = 1
[[runs]]
batch = {batches}
[[runs]]
batch = 32
engine = "fit"
feed = "PyDataset"
workers = 2
multiprocessing = true
"""
BATCHES: Final = [32, 64]
RUNS: Final = len(BATCHES) + 1


@pytest.fixture
def real(tmp_path: Path) -> Callable[[str], subprocess.Popen[bytes]]:
    """Starts the command line on tiny runs, one of them with worker processes."""
    (tmp_path / "tiny.toml").write_text(SPEC.format(batches=BATCHES), encoding="utf-8")
    environ = {**os.environ, "EPOCHWISE_STATE": str(tmp_path / "state")}

    def start(mark: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "runners", "run", str(tmp_path / "tiny.toml"), "--yes",
                   "--results", str(tmp_path / "results"), "--name", "tiny"]  # fmt: skip
        return subprocess.Popen(command, cwd=ROOT, env={**environ, MARK: mark},
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip

    return start


@pytest.mark.skipif(not FULL, reason="`make faults` kills it")
def test_a_real_sweep_killed_again_and_again_measures_every_case_once(
    tmp_path: Path, real: Callable[[str], subprocess.Popen[bytes]]
) -> None:
    place, counts = tmp_path / "results" / "tiny", Counts(whole_s=6.0 * RUNS)
    outcome = Outcome(name="kills of a real TensorFlow sweep's processes")
    while counts.kills < REAL_KILLS:
        counts.sweeps += 1
        _until_done(real, place, REAL_KILLS, counts)
        ends = _ends(place)
        _looked_at(outcome, tmp_path / "results", ends, f"sweep {counts.sweeps}")
        assert (len(ends), _settled_once(ends)) == (RUNS, True), [
            {k: v for k, v in row.items() if v is not None} for row in summaries(place)
        ]
        assert {result[-1] for result in ends.values()} <= {"ok", "killed"}
        assert verify_folder(folder(tmp_path / "results")).problems == ()
        assert temporaries(place) == [] or FULL  # swept once they are a day old
        (tmp_path / "results").rename(tmp_path / f"done-{counts.sweeps}")
    phases = Counter(s.phase for s in read_statuses(tmp_path / "state"))
    outcome.counts += Counter({f"last phase {phase}": n for phase, n in phases.items()})
    counts.judged(outcome)
    assert counts.kills == REAL_KILLS
