"""Sweeps killed at the worst moments: while a run is on, and two processes at once.

Beside the random moments of test_runner_kills.py: every kill here hits while a child measures (or
at a drawn time), and in one way of four the supervisor dies right after the child it watched.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import psutil
import pytest

from planner.store._verify import verify_folder
from planner.store.summaries import summaries
from runners.process.supervise import ROOT
from tests.faults.campaign import temporaries, torn
from tests.faults.outcomes import FULL, Outcome, drawn, finish
from tests.faults.test_runner_kills import MARK, SPEC, _bearers, _ends, _left, _settled_once
from tests.runners.stubs import HANG_S, new_mark
from tests.store.build import a_set, folder, ids, opened

pytestmark = pytest.mark.faults
VICTIMS: Final = ("supervisor", "guard", "child", "supervisor right after")
CASES: Final = 4
STUB_KILLS: Final = 31 if FULL else 2
REAL_KILLS: Final = 16
ANY_TIME: Final = 34
IN_A_RUN: Final = "supervisor in a run"
BETWEEN_RUNS: Final = "supervisor before or between runs"
START: Final = Callable[[str], "subprocess.Popen[bytes]"]
PATIENCE_S: Final = 60.0


@dataclass(slots=True, kw_only=True)
class Sweeping:
    """A sweep that is killed and started again until it is done."""

    start: Callable[[str], subprocess.Popen[bytes]]
    place: Path
    cases: int
    lives: int = 0
    orphans: int = 0
    lost: int = 0
    hit: Counter[str] = field(default_factory=Counter)
    kept: dict[str, int] = field(default_factory=dict)

    def life(self, strike: Callable[[subprocess.Popen[bytes]], str]) -> bool:
        """Start it and strike once; whether it ended of itself, with nothing left to do."""
        mark = new_mark()
        process = self.start(mark)
        self.lives += 1
        victim = strike(process)
        self.hit[victim] += victim != ""
        code = process.wait(3 * HANG_S)
        self.orphans += _left(mark)
        now = {p.name: p.stat().st_ino for p in self.place.glob("[!.]*.parquet")}
        self.lost += sum(now.get(name) != inode for name, inode in self.kept.items())
        self.kept = now
        return victim in {"", "guard", "child"} and code in {0, 1}


def _family(process: subprocess.Popen[bytes]) -> tuple[psutil.Process, psutil.Process] | None:
    """The guard and the child of a supervisor once a run is on; None where it ended before."""
    end = time.monotonic() + PATIENCE_S
    while process.poll() is None and time.monotonic() < end:
        if family := _children(process):
            return family
        time.sleep(0.005)
    return None


def _children(process: subprocess.Popen[bytes]) -> tuple[psutil.Process, psutil.Process] | None:
    """The guard and the child of a supervisor; None where no run is on."""
    try:
        for guard in psutil.Process(process.pid).children():
            if children := guard.children():
                return guard, children[0]
    except psutil.NoSuchProcess:
        pass
    return None


def while_a_run_is_on(victim: str, after_s: float) -> Callable[[subprocess.Popen[bytes]], str]:
    """Strike that victim so long after a child began; a run that ends before halves the time."""
    left_s = [after_s]

    def strike(process: subprocess.Popen[bytes]) -> str:
        family = _family(process)
        if family is None:
            return ""
        time.sleep(left_s[0])
        left_s[0] /= 2  # counts where nothing is hit: then the same strike is tried again
        guard, child = family
        try:
            if victim == "supervisor":
                process.kill()
            elif victim == "guard":
                guard.kill()
            else:
                child.kill()
                if victim == "supervisor right after":
                    process.kill()
        except psutil.NoSuchProcess:
            return ""
        return victim

    return strike


def at_any_time(
    victim: str, after_s: float, *, of_runs: bool
) -> Callable[[subprocess.Popen[bytes]], str]:
    """Kill the supervisor, or the child that measures then, so long after a life began.

    With `of_runs` the time counts from the first run. A life that ends before halves the time:
    resumed sweeps have fewer runs left than the measured one.
    """
    left_s = [after_s]

    def strike(process: subprocess.Popen[bytes]) -> str:
        hit = _struck(process, victim, left_s[0], of_runs=of_runs)
        left_s[0] /= 1 if hit else 2
        return hit

    return strike


def _struck(process: subprocess.Popen[bytes], victim: str, after_s: float, *, of_runs: bool) -> str:
    if of_runs and _family(process) is None:
        return ""
    try:
        process.wait(after_s)
    except subprocess.TimeoutExpired:
        if victim == "child":
            return while_a_run_is_on("child", 0.0)(process)
        in_a_run = _children(process) is not None
        process.kill()
        return IN_A_RUN if in_a_run else BETWEEN_RUNS
    return ""


def campaign(
    name: str,
    begin: Callable[[int], Sweeping],
    strikes: list[Callable[[subprocess.Popen[bytes]], str]],
) -> Outcome:
    """Fresh sweeps, struck one after another and resumed, until all strikes have hit."""
    outcome = Outcome(name=name)
    number, waiting = 0, list(strikes)
    while waiting:
        sweep = begin(number)
        number += 1
        done = False
        while not done:
            before = sweep.hit.total()
            done = sweep.life(waiting[0] if waiting else lambda _: "")
            if sweep.hit.total() > before:
                waiting.pop(0)
        _judged(outcome, sweep, f"sweep {number}")
    outcome.counts["sweeps"] = number
    return outcome


def _judged(outcome: Outcome, sweep: Sweeping, what: str) -> None:
    outcome.cases += sweep.hit.total()
    outcome.counts += sweep.hit
    outcome.counts["lives"] += sweep.lives
    with outcome.step(f"{what}: a look at its results"):
        shown = len(ids(opened(sweep.place.parent)))
    ends = _ends(sweep.place)
    outcome.counts["killed rows"] += sum(result.count("killed") for result in ends.values())
    faults = {
        "lost": sweep.lost,
        "orphans": sweep.orphans,
        "torn": len(torn(sweep.place)),
        "rows not shown": sum(len(result) for result in ends.values()) - shown,
        "not measured once": int(len(ends) != sweep.cases or not _settled_once(ends)),
        "not whole": len(verify_folder(folder(sweep.place.parent)).problems),
        # A killed writer's own temporary is swept by a later commit once it is a day old.
        "temporaries": max(0, len(temporaries(sweep.place)) - sweep.hit.total()),
        "short": sum(r["status"] == "ok" and r["epochs_measured"] != 3
                     for r in summaries(sweep.place)),
    }  # fmt: skip
    for fault, count in faults.items():
        if count:
            outcome.differs(f"{what}: {count} {fault} ({dict(sweep.hit)}, {ends})")


def _strikes(
    name: str, count: int, most_s: float
) -> list[Callable[[subprocess.Popen[bytes]], str]]:
    """Each kind of victim in turn, after a drawn time."""
    return [
        while_a_run_is_on(VICTIMS[n % len(VICTIMS)], drawn(name, n).uniform(0.0, most_s))
        for n in range(count)
    ]


def _stub(tmp: Path, number: int) -> Sweeping:
    place = tmp / str(number)
    a_set(place / "results", slug="stub")
    ways = json.dumps(dict.fromkeys(range(CASES), "slowly"))

    def start(mark: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tests.runners.stub_sweep", str(place), f"stub-{mark}",
                   mark, str(CASES), ways]  # fmt: skip
        return subprocess.Popen(command, cwd=ROOT, env={**os.environ, MARK: mark},
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip

    return Sweeping(start=start, place=place / "results" / "stub", cases=CASES)


def _real(tmp: Path, number: int) -> Sweeping:
    place = tmp / str(number)
    place.mkdir()
    (place / "tiny.toml").write_text(SPEC.format(batches=[32]), encoding="utf-8")
    environ = {**os.environ, "EPOCHWISE_STATE": str(place / "state")}

    def start(mark: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "runners", "run", str(place / "tiny.toml"), "--yes",
                   "--results", str(place / "results"), "--name", "tiny"]  # fmt: skip
        return subprocess.Popen(command, cwd=ROOT, env={**environ, MARK: mark},
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip

    return Sweeping(start=start, place=place / "results" / "tiny", cases=2)


def test_a_sweep_killed_while_a_run_is_on_loses_nothing(tmp_path: Path) -> None:
    name = "kills while a run is on"
    finish(campaign(name, lambda n: _stub(tmp_path, n), _strikes(name, STUB_KILLS, 0.1)))


@pytest.mark.skipif(not FULL, reason="`make faults` kills it")
def test_a_real_sweep_killed_while_a_run_is_on_loses_nothing(tmp_path: Path) -> None:
    name = "kills while TensorFlow runs"
    finish(campaign(name, lambda n: _real(tmp_path, n), _strikes(name, REAL_KILLS, 6.0)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """When the first run of an undisturbed sweep began, and when the sweep ended [s]."""

    first_run_s: float
    whole_s: float


def _undisturbed(tmp: Path) -> Life:
    sweep, began = _stub(tmp, -1), time.monotonic()
    process = sweep.start(new_mark())
    assert _family(process) is not None
    first_run_s = time.monotonic() - began
    assert process.wait(3 * HANG_S) == 0
    return Life(first_run_s=first_run_s, whole_s=time.monotonic() - began)


@pytest.mark.skipif(not FULL, reason="`make faults` kills it")
def test_a_sweep_killed_at_any_time_loses_nothing(tmp_path: Path) -> None:
    name = "kills at any time"
    life = _undisturbed(tmp_path)
    strikes = []
    for n in range(ANY_TIME):
        of_runs = n % 3 < 2  # before the first run nothing can be lost
        most_s = life.whole_s - life.first_run_s * of_runs
        after_s = drawn(name, n).uniform(0.0, most_s)
        strikes.append(at_any_time(("child", "supervisor")[n % 2], after_s, of_runs=of_runs))
    outcome = campaign(name, lambda n: _stub(tmp_path, n), strikes)
    finish(outcome)
    assert _bearers("none") == []
    assert outcome.counts["killed rows"] > 0, outcome.line
    assert outcome.counts[IN_A_RUN] > 0, outcome.line
