"""Odd files beside good runs: each is refused with a reason, soon and in little memory."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from planner.runs import run_id
from planner.store import Store, commit_runs
from planner.store._verify import verify_folder
from planner.store.sealed.commit import CommitError
from planner.store.sealed.compact import compact_set
from tests.api.served import app, ask
from tests.faults.campaign import Child
from tests.faults.mutants import good_runs, shown_of, single_file
from tests.faults.odd_files import KINDS, LONG
from tests.faults.outcomes import FULL, Outcome, drawn, finish
from tests.faults.writer import case
from tests.store.build import a_set, folder, opened

pytestmark = pytest.mark.faults
MOST_BYTES: Final = 8 * 1024**3
"""Memory that a look at the folder may take at most [bytes of address space]."""
QUESTIONS: Final = (
    "/api/v1",
    "/api/v1/results?limit=1000",
    "/api/v1/projection?workload=good-net-cifar-10&epochs=100",
)
CHURN_S: Final = 30.0 if FULL else 1.0


def look(say: Callable[[str], None], root: Path, kinds: Sequence[str]) -> None:
    """The work of a child: plant kinds beside good runs, look at all, and say what it saw."""
    for number, kind in enumerate(kinds):
        say(json.dumps({"kind": kind} | _looked(root / str(number), kind)))
        shutil.rmtree(root / str(number))


def _looked(root: Path, kind: str) -> dict[str, Any]:
    """What a look at one kind of odd file gives: steps with their times, answers and reasons."""
    whole = single_file(a_set(root / "whole"))
    good_runs(root / "results")
    shown = shown_of(opened(root / "results"), "Good net")
    {**KINDS, **LONG}[kind](a_set(root / "results", slug="odd"), whole)
    store = Store([folder(root / "results", "results")])
    steps: dict[str, Callable[[], object]] = {
        "refresh": store.refresh,
        "second refresh": store.refresh,
        "answers": lambda: [ask(app(store), q).status for q in QUESTIONS],
        "verify": lambda: verify_folder(folder(root / "results")),
        "compact": lambda: compact_set(root / "results" / "odd"),
    }
    result: dict[str, Any] = {"steps": []}
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, hard))
    for name, step in steps.items():
        began, error = time.perf_counter(), ""
        try:
            found = step()
        except Exception as problem:  # noqa: BLE001 - whatever comes out is what is counted
            found, error = [], f"{type(problem).__name__}: {problem}"[:300]
        if name == "answers":
            result["answers"] = found
        result["steps"].append([name, time.perf_counter() - began, error])
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    result["same"] = shown_of(store, "Good net") == shown
    result["evil"] = len(shown_of(store, "Evil net"))
    result["reasons"] = [r.reason[:500] for r in store.refused]
    result["longest"] = max((len(r.reason) for r in store.refused), default=0)
    return result


def test_odd_files_are_refused_with_a_reason(tmp_path: Path) -> None:
    outcome = Outcome(name="odd files")
    # A process of its own for each in full; making one takes longer than most of the looks.
    parts = [[kind] for kind in (*KINDS, *LONG)] if FULL else [list(KINDS)[::20]]
    for number, kinds in enumerate(parts):
        child = Child(look, tmp_path / str(number), kinds)
        code = child.ended()
        found = [json.loads(line) for line in child.said]
        for result in found:
            _judged(outcome, result)
        if code != 0:
            outcome.broken(f"{kinds[len(found)]}: the process ended with {code}")
    finish(outcome)


def _judged(outcome: Outcome, result: dict[str, Any]) -> None:
    kind = result["kind"]
    outcome.cases += 1
    for name, seconds, error in result["steps"]:
        outcome.timed(f"{kind}: {name}", seconds)
        if error:
            outcome.broken(f"{kind}: {name}: {error}")
    outcome.counts["reasons"] += len(result["reasons"])
    if result["answers"] != [200] * len(QUESTIONS):
        outcome.broken(f"{kind}: answers {result['answers']}")
    if not result["same"] or result["evil"]:
        outcome.differs(f"{kind}: good runs same: {result['same']}, evil runs: {result['evil']}")
    if not result["reasons"] or min(len(r) for r in result["reasons"]) < 10:
        outcome.differs(f"{kind}: no reason: {result['reasons'][:3]}")
    if result["longest"] > 5000:
        outcome.differs(f"{kind}: a reason of {result['longest']:,} letters")


def test_files_that_change_while_they_are_read_cost_no_other_run(tmp_path: Path) -> None:
    """One thread replaces, cuts, grows and removes files; others look, ask and compact."""
    place = good_runs(tmp_path)
    churned = a_set(tmp_path, slug="churn")
    store = opened(tmp_path)
    good, stop = shown_of(store, "Good net"), threading.Event()
    outcome = Outcome(name="files that change while they are read")
    churning = threading.Thread(target=_churn, args=(churned, stop))
    churning.start()
    end = time.monotonic() + CHURN_S
    try:
        while time.monotonic() < end:
            what = f"refresh {outcome.cases}"
            with outcome.case(what):
                store.refresh()
                if shown_of(store, "Good net") != good:
                    outcome.differs(f"{what}: a good run changed")
                for question in QUESTIONS[1:]:
                    result = ask(app(store), question)
                    outcome.counts[str(result.status)] += 1
                    if result.status != 200:
                        outcome.broken(f"{what}: {question}: {result.status}")
            if outcome.cases % 10 == 0:
                compact_set(place)
    finally:
        stop.set()
        churning.join()
    finish(outcome)


def _churn(place: Path, stop: threading.Event) -> None:
    """Change files as other programs might, over and over."""
    number = 0
    while not stop.is_set():
        draw = drawn("churn", number)
        number += 1
        path = place / f"{run_id(case('churn', number % 7))}.parquet"
        with contextlib.suppress(CommitError):  # something odd has the run's name
            commit_runs(place, [case("churn", number % 7)])
            draw.choice(CHANGES)(path, path.read_bytes())
        if draw.random() < 0.8:
            _remove(path)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    else:
        path.unlink(missing_ok=True)


def _linked(path: Path, _: bytes) -> None:
    path.unlink()
    path.symlink_to("/etc/passwd")


def _foldered(path: Path, _: bytes) -> None:
    path.unlink()
    path.mkdir()


CHANGES: Final[tuple[Callable[[Path, bytes], object], ...]] = (
    lambda path, _: path.unlink(),
    lambda path, whole: os.truncate(path, len(whole) // 2),
    lambda path, whole: path.write_bytes(whole + whole),
    lambda path, whole: path.write_bytes(whole),
    _linked,
    _foldered,
)
"""What may happen to a file while somebody reads it."""
