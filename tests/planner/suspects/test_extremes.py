"""A number that no machine can have measured is refused; one at the limit breaks no answer."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest

from planner.answers.runs import suspects_of
from planner.core import UNITS
from planner.runs import (
    BY_NAME,
    COLUMNS,
    REAL,
    WHOLE,
    CheckedRun,
    Column,
    check_rows,
    checked_run,
    run_id,
)
from planner.runs._records import complete
from planner.store.sealed.commit import commit_runs
from planner.suspects import suspects
from tests.api.served import app, ask
from tests.each import each
from tests.faults.campaign import FULL
from tests.store.build import a_set, ids, opened, reasons, row, sealed_table, together

DRAW: Final = random.Random(20260)
NUMBERS: Final = [c for c in COLUMNS if c.type in (REAL, WHOLE) and c.name != "schema_version"]
BEYOND: Final = (5e-324, 1e-200, 1e-100, 1e-12, 1e15, 1e100, 1e300, 2**62, 2**53 + 1)
QUESTIONS: Final = ("projection?epochs=100", "curve", "compare?epochs=100", "results", "projection")


def _timed(batch: int, **changes: object) -> dict[str, Any]:
    mean = 10.0 + 2000.0 / batch
    return row(
        global_batch_size=batch, dataset="CIFAR-10", optimizer="SGD", precision="float32",
        validation=False, pre_train_s=4.0, first_epoch_s=1.5 * mean, later_epoch_mean_s=mean,
        later_epoch_sd_s=0.02 * mean, epochs_measured=5, steps_per_epoch=-(-50_000 // batch),
        samples_per_epoch=50_000, train_samples=50_000, params=25_000_000,
        throughput=50_000 / mean, total_s=4.0 + 5.5 * mean,
    ) | changes  # fmt: skip


GOOD: Final = [_timed(b) for b in (32, 64, 128, 256)]


def _cast(column: Column, value: float) -> float:
    return int(value) if column.type == WHOLE else float(value)


def _edges(column: Column) -> list[float]:
    span = column.span
    return [span.least or 5e-324, span.most, 0.0, -0.0]


def _cases() -> list[tuple[Column, float]]:
    every = [(c, _cast(c, v)) for c in NUMBERS for v in (*BEYOND, *_edges(c))]
    storable = [(c, v) for c, v in every if c.type == REAL or abs(v) < 2**63]
    return storable if FULL else DRAW.sample(storable, 3)


def test_one_extreme_number_at_a_time_stops_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = refused = 0
    for n, (column, value) in enumerate(_cases()):
        root = tmp_path / str(n)
        odd = _timed(512, **{column.name: value})
        sound = not check_rows([complete(odd)])
        place = a_set(root, GOOD)
        monkeypatch.setattr("planner.runs._records.check_rows", lambda _rows: [])
        monkeypatch.setattr("planner.runs._records.contradictions_in", lambda _row: [])
        commit_runs(place, [odd])
        monkeypatch.undo()
        store = opened(root)
        assert set(reasons(store)) == (set() if sound else {f"{run_id(odd)}.parquet"})
        assert len(ids(store)) == len(GOOD) + sound
        served = app(store)
        for question in QUESTIONS:
            result = ask(served, f"/api/v1/{question}")
            assert result.status < 500, (column.name, value, question, result.body[:300])
        shown, refused = shown + sound, refused + (not sound)
    print(f"\n{shown} extreme numbers shown, {refused} refused, 0 answers lost")
    assert shown
    assert refused


@each("column", NUMBERS)
def test_both_ends_of_what_a_column_may_hold_are_stored_and_nothing_beyond(column: Column) -> None:
    least, most = column.span.least, column.span.most
    at = [_cast(column, most if most < 2**63 else 2**62)]
    beyond: list[float] = [] if column.name == "seed" else [_cast(column, 1.5 * most)]
    if column.type == REAL and least:
        at.append(least)
        beyond.append(least / 2)
    result = {v: [p.column for p in check_rows([complete(row(**{column.name: v}))])] for v in at}
    assert not [v for v, names in result.items() if column.name in names and v == at[0]]
    for value in beyond:
        problems = check_rows([complete(row(**{column.name: value}))])
        assert column.name in [p.column for p in problems]


@pytest.mark.parametrize(
    "name", ["total_s", "later_epoch_mean_s", "throughput", "peak_memory_bytes"]
)
@pytest.mark.parametrize("many", [False, True], ids=["one file each", "one file"])
def test_what_a_commit_refuses_is_refused_when_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, *, many: bool
) -> None:
    value = 2**62 if BY_NAME[name].type == WHOLE else 5e-324
    place = a_set(tmp_path, [row(seed=9)])
    monkeypatch.setattr("planner.runs._records.check_rows", lambda _rows: [])
    odd = [row(**{name: value}), row(seed=1)]
    [together(place, odd)] if many else commit_runs(place, odd[:1])
    monkeypatch.undo()
    store = opened(tmp_path)
    assert ids(store) == [run_id(row(seed=9))]
    assert [name in text for text in reasons(store).values()] == [True]


@pytest.mark.parametrize("item", [{"epoch_s": 5e-324}, {"epoch_s": 1e300}, {"samples": 2**62}])
def test_epochs_have_the_limits_of_their_units(item: dict[str, float]) -> None:
    epochs = [{"epoch": 1, "epoch_s": 1.0} | item]
    problems = check_rows([complete(row(epochs=epochs))])
    assert [p.column for p in problems] == ["epochs"]


def test_every_unit_of_the_schema_has_limits() -> None:
    assert {c.unit for c in NUMBERS} <= set(UNITS)


def test_runs_whose_numbers_no_float_can_divide_are_compared_with_no_other() -> None:
    names = ("total_s", "pre_train_s", "first_epoch_s", "later_epoch_mean_s", "later_epoch_sd_s",
             "throughput", "step_s", "until_first_epoch_end_s")  # fmt: skip
    known = [_checked(b) for b in (32, 64, 128, 256)]
    usual = suspects(known)
    for name in names:
        for value in (5e-324, 1e-200, 1e200, 1.7e308, -0.0):
            found = suspects([*known, _checked(512, **{name: value})])
            assert {f for f in found if f.run in {r.run_id for r in known}} == set(usual)


def _checked(batch: int, **changes: object) -> CheckedRun:
    timed = complete(_timed(batch, **changes))
    steps = {"step_time_s": timed.get("step_s"), "samples_per_s": timed["throughput"]}
    words = {"workload": "w", "software": "s", "pattern": "p"}
    return checked_run(timed | steps | words)


def test_suspects_of_shown_runs_are_found_beside_a_refused_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "planner.runs._records.contradictions_in", lambda _row: []
    )  # a file from before
    place = a_set(tmp_path, [*GOOD, _timed(512, later_epoch_mean_s=60 * 14.0, total_s=None)])
    (place / "odd.parquet").write_bytes(sealed_table(pa.table({"total_s": [5e-324]})))
    store = opened(tmp_path)
    assert suspects_of(store).flags
