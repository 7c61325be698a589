"""Rows with one absurd number: refused, or answered with possible numbers; no page fails of one."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any, Final

import pyarrow as pa
import pytest

from planner.runs import COLUMNS, RecordError, run_id
from planner.store import commit_runs
from tests.api.served import app, ask
from tests.faults.mutants import good_runs, shown_of
from tests.faults.outcomes import FULL, Outcome, drawn, finish
from tests.faults.sane import body_of, impossible
from tests.store.build import a_set, opened, row, sealed_with

pytestmark = pytest.mark.faults
ROWS: Final = 240 if FULL else 3
NUMBERS: Final = tuple(
    c.name for c in COLUMNS
    if (pa.types.is_floating(c.type) or pa.types.is_integer(c.type)) and c.name != "schema_version"
)  # fmt: skip
"""Every column that holds a number."""
TIMES: Final = (
    "total_s", "pre_train_s", "first_epoch_s", "later_epoch_mean_s", "later_epoch_sd_s", "step_s",
    "until_first_epoch_end_s", "throughput", "samples_per_epoch", "global_batch_size",
)  # fmt: skip
"""Those that answers are computed from; drawn more often."""
EXTREMES: Final = (
    5e-324, 1e-300, 1e-200, 1e-12, 1e-9, 0, -0.0, -1, 1, 1e9, 1e12, 1e140, 1e300,
    sys.float_info.max, 2**31, 2**53, 2**62, 2**63 - 1,
)  # fmt: skip


def test_an_absurd_number_breaks_nothing(tmp_path: Path) -> None:
    outcome = Outcome(name="rows with an absurd number")
    good_runs(tmp_path)
    place = tmp_path / "extreme"
    store = opened(tmp_path)
    served, good = app(store), shown_of(store, "Good net")
    first = ask(served, "/api/v1/projection?workload=good-net-cifar-10").body
    for number in range(ROWS):
        draw = drawn(outcome.name, number)
        rows = extreme_rows(draw)
        what = f"row {number}"
        a_set(tmp_path, slug="extreme")
        outcome.counts[_planted(place, rows, sealed=draw.random() < 0.3)] += 1
        with outcome.case(what):
            store.refresh()
            if shown_of(store, "Good net") != good:
                outcome.differs(f"{what}: a good run changed")
            for question in _questions(served):
                _asked(outcome, f"{what} {_odd(rows[0])}", served, question)
            result = ask(served, "/api/v1/projection?workload=good-net-cifar-10")
            if result.body != first:
                outcome.differs(f"{what}: another answer about the good runs")
        shutil.rmtree(place)
    finish(outcome)


def extreme_rows(draw: Random) -> list[dict[str, Any]]:
    """One to four runs of a workload on two systems, each with the same absurd numbers."""
    odd: dict[str, Any] = {}
    for _ in range(draw.choice((1, 1, 2, 3))):
        name = draw.choice(draw.choice((NUMBERS, TIMES)))
        odd[name] = draw.choice(EXTREMES)
    times = {"pre_train_s": 1.5, "first_epoch_s": 12.0, "later_epoch_mean_s": 10.0,
             "samples_per_epoch": 50_000, "epochs_measured": 20}  # fmt: skip
    known = {"result_set": "extreme", "model": "Extreme net", "dataset": "CIFAR-10"} | times
    return [
        row(
            **(known | {"system_name": f"Machine {n % 2}", "global_batch_size": 32 << n // 2} | odd)
        )
        | {"repeat": n}
        for n in range(draw.choice((1, 2, 4)))
    ]


def _planted(place: Path, rows: Sequence[dict[str, Any]], *, sealed: bool) -> str:
    """Commit the rows, or seal them without asking; what became of them."""
    if not sealed:
        try:
            commit_runs(place, rows)
        except RecordError:
            return "refused at commit"
        return "committed"
    for number, one in enumerate(rows):
        try:
            data = sealed_with(row(repeat=number), summary=_summary(one))
        except (TypeError, ValueError, OverflowError):
            return "no file"
        (place / f"{number}.parquet").write_bytes(data)
    return "sealed by somebody"


def _summary(one: dict[str, Any]) -> dict[str, Any]:
    """What the seal of a run says, whether its numbers are sound or not."""
    result = {**one, "schema_version": 1, "run_id": run_id(one)}
    return result | {"recorded_at": int(one["recorded_at"].timestamp() * 1e6)}


def _odd(one: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in one.items() if k in NUMBERS and v in EXTREMES}


def _questions(served: Any) -> list[str]:  # noqa: ANN401 - an application
    """Everything, and each workload by the name that the index gives it."""
    result = ask(served, "/api/v1")
    listed = body_of(result.body)["workloads"] if result.status == 200 else []
    names = [w["workload"] for w in listed if w["name"].startswith("Extreme")]
    asked = ["/api/v1", "/api/v1/results?suspect=any", "/api/v1/projection", "/api/v1/compare"]
    for name in names:
        asked += [f"/api/v1/projection?workload={name}&epochs=1000000&session=on",
                  f"/api/v1/curve?workload={name}&batch=1&batch=1e9",
                  f"/api/v1/compare?workload={name}&epochs=1"]  # fmt: skip
    return asked


def _asked(outcome: Outcome, what: str, served: Any, question: str) -> None:  # noqa: ANN401
    result = ask(served, question)
    outcome.counts[str(result.status)] += 1
    if result.status >= 500:
        outcome.broken(f"{what}: {question}: {result.status}")
        return
    for fault in impossible(body_of(result.body)):
        outcome.differs(f"{what}: {question}: {fault}")
