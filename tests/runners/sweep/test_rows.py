"""A row says what was told and seen of a run, by arithmetic one can do by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.runs import Row, check_rows, dataset_size
from planner.runs._records import complete
from runners.machine import facts as machine
from runners.plan.cases import KEPT_STEPS
from runners.process.events import Event
from runners.process.supervise import Ended, Status
from runners.sweep.rows import planned, row_of
from runners.workloads import CATALOGUE, DATASETS
from tests.each import each
from tests.runners.stubs import case

FACTS = machine.facts("cpu", devices=1)


def epoch(number: int, seconds: float, check_s: float | None = None) -> Event:
    return {"event": "epoch", "epoch": number, "epoch_s": seconds, "validation_s": check_s,
            "samples": 64, "loss": 1.0, "metric": None}  # fmt: skip


def made(
    result: Sequence[Event], status: Status = "ok", rss: int = 0, **changes: Any  # noqa: ANN401
) -> Row:  # fmt: skip
    """The row of a run that told these events."""
    reason = None if status == "ok" else "why"
    end = Ended(status=status, reason=reason, events=tuple(result), wall_s=9.0, peak_rss_bytes=rss)
    return row_of(case(**changes), end, result_set="mine",
                  recorded_at=datetime(2026, 3, 1, tzinfo=UTC), facts=FACTS, around={})  # fmt: skip


def test_the_summary_is_that_of_the_epochs_by_hand() -> None:
    row = made([{"event": "training", "columns": {"pre_train_s": 5.0}},
                epoch(1, 4.0), epoch(2, 2.0), epoch(3, 3.0)])  # fmt: skip
    wanted = {
        "first_epoch_s": 4.0, "later_epoch_mean_s": 2.5, "later_epoch_sd_s": 0.5,
        "epochs_measured": 3, "total_s": 14.0, "steps_per_epoch": 2, "samples_per_epoch": 64,
        "step_s": 1.25, "throughput": 64 / 2.5,
    }  # fmt: skip
    assert {n: row[n] for n in wanted} == wanted
    assert check_rows([complete(row)]) == []


def test_a_row_states_the_size_of_the_data_set_beside_what_an_epoch_timed() -> None:
    data = DATASETS["synthetic-cifar10"]
    row = made([epoch(1, 4.0), epoch(2, 3.0)], validation=True, validation_samples=10)
    assert (row["train_samples"], row["samples_per_epoch"]) == (data.train_samples, 64)
    assert row["validation_samples"] == data.validation_samples


def test_every_data_set_of_a_sweep_has_the_size_that_epochs_are_converted_to() -> None:
    for data in DATASETS.values():
        found = dataset_size(data.title)
        assert found is not None
        assert found.train_samples == data.train_samples
        assert found.validation_samples == data.validation_samples


def test_validation_is_inside_epochs_and_outside_steps() -> None:
    row = made([epoch(1, 4.0, 1.0), epoch(2, 3.0, 1.0)], validation=True, validation_samples=10)
    assert (row["later_epoch_mean_s"], row["validation_s"]) == (3.0, 1.0)
    assert (row["step_s"], row["throughput"]) == (1.0, 32.0)
    assert row["validation_samples_per_epoch"] == 10


def test_the_first_validation_which_traces_is_not_in_their_mean() -> None:
    checks = (0.197, 0.008, 0.010)
    result = [epoch(n, 4.0, check_s) for n, check_s in enumerate(checks, 1)]
    row = made(result, validation=True, validation_samples=10)
    assert row["validation_s"] == pytest.approx(0.009)
    assert row["step_s"] * row["steps_per_epoch"] + row["validation_s"] == pytest.approx(
        row["later_epoch_mean_s"]
    )
    assert made(result[:1], validation=True, validation_samples=10)["validation_s"] == 0.197


def test_a_run_timed_step_by_step_keeps_its_steps_in_order() -> None:
    result = [epoch(1, 4.0) | {"step_seconds": [3.0, 1.0]},
            epoch(2, 2.5) | {"step_seconds": [1.5, 1.0]}]  # fmt: skip
    row = made(result, timing="per step")
    assert row["steps"] == [{"step": 1, "step_s": 3.0}, {"step": 2, "step_s": 1.0},
                            {"step": 3, "step_s": 1.5}, {"step": 4, "step_s": 1.0}]  # fmt: skip
    assert check_rows([complete(row)]) == []
    assert "steps" not in made(result)
    assert "steps" not in made([epoch(1, 4.0)], timing="per step")


def test_a_run_without_timed_kernels_keeps_its_memory_and_no_speed() -> None:
    events = [epoch(1, 2.0), epoch(2, 1.0)]
    row = made(events, rss=900, tuned=False)
    assert row["peak_memory_bytes"] == 900
    assert "the speed is left out" in row["note"]
    assert check_rows([complete(row)]) == []
    times = {n for n in row if n.endswith("_s") or n.startswith("energy") or n == "throughput"}
    assert times == set(), "a slower step must not enter any law"
    assert {"throughput", "epochs"} <= set(made(events))


def test_a_long_run_keeps_its_first_steps() -> None:
    result = [epoch(n, 9.0) | {"step_seconds": [float(n)] * 15_000} for n in (1, 2)]
    steps = made(result, timing="per step")["steps"]
    assert (len(steps), steps[-1]) == (KEPT_STEPS, {"step": KEPT_STEPS, "step_s": 2.0})


@pytest.mark.parametrize("result", [5, "no", {"1": 2}, None])
def test_steps_that_are_no_list_are_none(result: object) -> None:
    assert "steps" not in made([epoch(1, 4.0) | {"step_seconds": result}], timing="per step")


def test_one_epoch_says_nothing_of_later_ones() -> None:
    row = made([epoch(1, 4.0)])
    absent = ("later_epoch_mean_s", "later_epoch_sd_s", "step_s", "throughput", "total_s")
    assert [n for n in absent if n in row] == []
    assert row["first_epoch_s"] == 4.0


@pytest.mark.parametrize("status", ["oom", "timeout", "nan", "killed", "crashed"])
def test_a_failed_run_keeps_its_reason_and_what_was_measured(status: Status) -> None:
    row = made([epoch(1, 4.0), epoch(2, 2.0)], status)
    assert (row["status"], row["status_reason"], row["epochs_measured"]) == (status, "why", 2)
    assert check_rows([complete(row)]) == []
    nothing = made([], status)
    assert "epochs" not in nothing
    assert check_rows([complete(nothing)]) == []


def test_what_is_not_known_is_absent_and_never_0() -> None:
    assert all(v is not None for v in made([]).values())
    assert "peak_memory_bytes" not in made([])


def test_memory_is_the_larger_of_what_was_reported_and_seen_but_a_card_s_own() -> None:
    result = {"event": "trained", "columns": {"peak_memory_bytes": 500, "peak_memory_method": "x"}}
    assert made([result], rss=900)["peak_memory_bytes"] == 900
    assert made([result], rss=100)["peak_memory_bytes"] == 500
    columns = {"peak_memory_bytes": 500, "peak_memory_method": "device memory by X"}
    card = {"event": "trained", "columns": columns}
    assert made([card], rss=900)["peak_memory_bytes"] == 500


def test_the_case_and_how_it_ended_are_not_the_child_s_to_say() -> None:
    lies = {"run_id": "x", "status": "ok", "attempt": 9, "sweep": "y", "system_name": "z",
            "mode": "inference"}  # fmt: skip
    row = made([{"event": "result", "columns": lies, "extra": {"case_id": "x", "wall_s": 0}}],
               "killed")  # fmt: skip
    assert (row["status"], row["attempt"], row["sweep"], row["mode"]) == (
        "killed", 0, "stub", "training")  # fmt: skip
    assert json.loads(row["extra"]) == {"case_id": case().case_id, "wall_s": 9.0}


@each("workload", list(CATALOGUE))
def test_what_is_planned_of_every_network_is_a_sound_row(workload: str) -> None:
    data = DATASETS[CATALOGUE[workload].dataset]
    for mode in ("training", "inference"):
        row = made([], "oom", workload=workload, dataset=data.name, mode=mode, epochs=1)
        assert check_rows([complete(row)]) == []
    assert planned(case(workload=workload, dataset=data.name))["synthetic_data"] == data.synthetic


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=30))
def test_any_times_make_a_row_the_store_takes(seconds: list[float]) -> None:
    row = made([epoch(n, s) for n, s in enumerate(seconds, 1)])
    assert check_rows([complete(row)]) == []
