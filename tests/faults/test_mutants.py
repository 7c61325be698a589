"""Damaged files beside good runs: no refresh fails, and no good run changes.

A damaged file with its old seal is never shown with other numbers. One with a new seal may be: who
can write into a folder can also write wrong numbers; it still costs no other run and no page.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
from starlette.applications import Starlette

from planner.store import Store
from tests.api.served import app, ask
from tests.faults.mutants import (
    good_runs,
    merged_file,
    resealed,
    shown_of,
    single_file,
    unsealed,
)
from tests.faults.outcomes import FULL, Outcome, drawn, finish
from tests.faults.sane import body_of, impossible
from tests.store.build import a_set, opened

pytestmark = pytest.mark.faults
Damage = Callable[[Random, bytes], tuple[str, bytes]]
Make = Callable[[Path], bytes]
QUESTIONS: Final = (
    "/api/v1",
    "/api/v1/results?limit=1000",
    "/api/v1/projection",
    "/api/v1/projection?workload=good-net-cifar-10&epochs=100",
    "/api/v1/curve?workload=good-net-cifar-10",
)
KINDS: Final = [
    ("unsealed mutants of single files", unsealed, single_file, 2400 if FULL else 8),
    ("unsealed mutants of merged files", unsealed, merged_file, 800 if FULL else 6),
    ("re-sealed mutants of single files", resealed, single_file, 1500 if FULL else 6),
    ("re-sealed mutants of merged files", resealed, merged_file, 1500 if FULL else 8),
]


@pytest.mark.parametrize(("name", "damage", "make", "count"), KINDS, ids=[k[0] for k in KINDS])
def test_a_damaged_file_costs_no_other_run(
    tmp_path: Path, name: str, damage: Damage, make: Make, count: int
) -> None:
    finish(campaign(tmp_path, name, damage, make, count))


def campaign(root: Path, name: str, damage: Damage, make: Make, count: int) -> Outcome:
    """Put `count` damaged files one after another beside good runs, and look each time."""
    good_runs(root)
    place = a_set(root, slug="bad")
    whole = make(place)
    path = place / ("compact-0.parquet" if make is merged_file else "0.parquet")
    path.write_bytes(whole)
    store = opened(root)
    good, sound = shown_of(store, "Good net"), shown_of(store, "Bad net")
    outcome, served = Outcome(name=name), app(store)
    answers = [ask(served, q).body for q in QUESTIONS[3:]]
    assert len(good) == 16
    assert sound
    for number in range(count):
        kind, data = damage(drawn(name, number), whole)
        what = f"{name} {number} ({kind})"
        _planted(path, data)
        with outcome.case(what):
            store.refresh()
        shown = _looked_at(outcome, what, store, good, None if damage is resealed else sound)
        if number % 10 == 0 or (shown and (FULL or number % 3 == 0)):
            with outcome.step(what):
                _asked(outcome, what, served, answers)
    return outcome


def _planted(path: Path, data: bytes) -> None:
    """The file with other content, as a file of its own: a size and a time are no identity."""
    path.unlink(missing_ok=True)
    path.write_bytes(data)


def _looked_at(
    outcome: Outcome,
    what: str,
    store: Store,
    good: list[tuple[Any, ...]],
    sound: list[tuple[Any, ...]] | None,
) -> bool:
    """Whether the file shows anything: what it held before, and good runs are as they were."""
    if shown_of(store, "Good net") != good:
        outcome.differs(f"{what}: a good run changed")
    shown = len(store.rows("SELECT run_id FROM runs")) - len(good)
    outcome.counts["shown" if shown else "refused"] += 1
    if not shown and not any(r.path.endswith(".parquet") for r in store.refused):
        outcome.differs(f"{what}: neither shown nor refused")
    if sound is not None and shown and shown_of(store, "Bad net") != sound:
        outcome.differs(f"{what}: shown with other numbers")
    return shown > 0


def _asked(outcome: Outcome, what: str, served: Starlette, answers: list[bytes]) -> None:
    """Ask the interface about everything; what it says of the good runs is what it said before."""
    result = [ask(served, question) for question in QUESTIONS]
    outcome.counts["API answers"] += len(result)
    for question, answer in zip(QUESTIONS, result, strict=True):
        if answer.status >= 500:
            outcome.broken(f"{what}: {question}: {answer.status}")
            continue
        for fault in impossible(body_of(answer.body)):
            outcome.differs(f"{what}: {question}: {fault}")
    if [a.body for a in result[3:]] != answers:
        outcome.differs(f"{what}: another answer about the good runs")
