"""Forecasts and plans follow from rows by hand arithmetic; what is not known stays not known."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from planner.runs import Row
from runners.machine import facts as machine
from runners.plan.cases import Case
from runners.plan.expand import Expanded, Host, steps_in
from runners.plan.spec import Cost, Spec
from runners.process.supervise import Ended
from runners.sweep.context import Context
from runners.sweep.plans import (
    Planned,
    as_probe,
    forecast,
    memory_at,
    memory_line,
    totals,
)
from runners.sweep.rows import row_of
from tests.each import each
from tests.runners.stubs import case

HERE = "a machine"
FACTS = machine.facts("cpu", devices=1) | {"system_name": HERE}
OVERHEAD_S, PER_SAMPLE_S, START_S = 0.01, 0.001, 8.0


def step_s(batch: int) -> float:
    """The law these rows obey to the last digit."""
    return OVERHEAD_S + PER_SAMPLE_S * batch


def measured(one: Case, *, watts: float | None = None, memory: float | None = None,
             **changes: Any) -> Row:  # fmt: skip  # noqa: ANN401 - columns
    """The row of a run that took exactly what the law says, and 8 s around it."""
    took = steps_in(one) * step_s(one.batch)
    epochs = [{"event": "epoch", "epoch": n, "epoch_s": took, "validation_s": None,
               "samples": one.train_samples, "loss": 1.0, "metric": None}
              for n in range(1, one.epochs + 1)]  # fmt: skip
    result: list[dict[str, Any]] = [
        {"event": "training", "columns": {"pre_train_s": 5.0}},
        *epochs,
        {"event": "result"},
    ]
    end = Ended(status="ok", reason=None, events=tuple(result), peak_rss_bytes=int(memory or 0),
                wall_s=START_S + took * one.epochs)  # fmt: skip
    row = row_of(one, end, result_set="mine", recorded_at=datetime(2026, 3, 1, tzinfo=UTC),
                 facts=FACTS, around={"mean_power_watts": watts})  # fmt: skip
    return {**row, **changes}


KNOWN = [measured(case(batch=b, train_samples=b * 10)) for b in (16, 64)]


def test_a_forecast_is_start_and_steps_by_the_law() -> None:
    one = case(batch=32, train_samples=3_200, epochs=4)
    made = forecast(one, KNOWN, HERE)
    assert made is not None
    assert math.isclose(made.seconds, START_S + 4 * 100 * step_s(32), rel_tol=1e-6)
    assert made.low_s <= made.seconds <= made.high_s
    assert made.rows == 2


def test_steps_looked_at_after_the_epochs_count_as_steps_and_not_as_start() -> None:
    looked = [
        {**r, "step_p50_s": step_s(r["global_batch_size"]),
             "extra": json.dumps({"wall_s": START_S + 40 * step_s(r["global_batch_size"])})}
        for r in KNOWN
    ]  # fmt: skip
    made = forecast(case(batch=32, train_samples=3_200, epochs=4), looked, HERE)
    assert made is not None
    assert math.isclose(made.seconds, START_S + (4 * 100 + 50) * step_s(32), rel_tol=1e-6)


def test_validation_counts_once_an_epoch_and_its_tracing_once_a_run() -> None:
    """One of 10 samples takes 0.4 s, the first one 2 s more; the law says the rest."""
    known = [
        {**r, "validation_s": 0.4, "validation_samples_per_epoch": 10,
              "later_epoch_mean_s": r["later_epoch_mean_s"] + 0.4,
              "extra": json.dumps({"wall_s": r["total_s"] + 3.0 + 3 * 0.4 + 2.0})}
        for r in KNOWN
    ]  # fmt: skip
    one = case(batch=32, train_samples=3_200, epochs=4, validation=True, validation_samples=20)
    made = forecast(one, known, HERE)
    assert made is not None
    wanted = START_S + 2.0 + 4 * (100 * step_s(32) + 2 * 0.4)
    assert math.isclose(made.seconds, wanted, rel_tol=1e-6)


def test_what_an_epoch_adds_to_its_steps_is_reported_by_probes() -> None:
    probes = [
        as_probe(measured(case(batch=b, train_samples=2 * b, timing="per step"),
                          step_p50_s=step_s(b),
                          later_epoch_mean_s=2 * step_s(b) + 0.7))
        for b in (16, 64)
    ]  # fmt: skip
    made = forecast(case(batch=32, train_samples=3_200, epochs=4, timing="per step"), probes, HERE)
    assert made is not None
    start = START_S - 3 * 0.7  # the stub's wall knows nothing of what its epochs add
    assert math.isclose(made.seconds, start + 4 * (100 * step_s(32) + 0.7), rel_tol=1e-6)


def test_a_smaller_last_batch_is_a_step() -> None:
    whole = forecast(case(batch=32, train_samples=3_200), KNOWN, HERE)
    more = forecast(case(batch=32, train_samples=3_201), KNOWN, HERE)
    cut = forecast(case(batch=32, train_samples=3_201, drop_remainder=True), KNOWN, HERE)
    assert whole
    assert more
    assert cut
    assert math.isclose(more.seconds - whole.seconds, 3 * step_s(32), rel_tol=1e-6)
    assert cut.seconds == whole.seconds


@each("changes", [
        {"workload": "simple-cnn"}, {"options": (("units", 8),)}, {"mode": "inference"},
        {"dataset": "digits"}, {"engine": "fit"}, {"precision": "mixed_bfloat16"},
        {"optimizer": "adam"}, {"jit": True}, {"backend": "jax"},
    ])  # fmt: skip
def test_nothing_is_reported_of_another_network_or_other_software(changes: dict[str, Any]) -> None:
    assert forecast(case(batch=32, **changes), KNOWN, HERE) is None


def test_nothing_is_reported_of_another_machine_or_from_runs_that_failed() -> None:
    assert forecast(case(batch=32), KNOWN, "another machine") is None
    assert forecast(case(batch=32), [], HERE) is None
    failed = [r | {"status": "oom", "status_reason": "x"} for r in map(dict, KNOWN)]
    assert forecast(case(batch=32), failed, HERE) is None


def test_an_unmeasured_start_is_not_a_start_of_no_time() -> None:
    published = [{k: v for k, v in r.items() if k not in {"total_s", "extra"}} for r in KNOWN]
    assert forecast(case(batch=32), published, HERE) is None


def test_one_batch_size_reports_of_itself_exactly_and_of_others_with_uncertainty() -> None:
    same = forecast(case(batch=16, train_samples=160), KNOWN[:1], HERE)
    other = forecast(case(batch=64, train_samples=640), KNOWN[:1], HERE)
    assert same
    assert other
    assert math.isclose(same.seconds, START_S + 3 * 10 * step_s(16))
    assert other.high_s - START_S >= 2 * 3 * 10 * step_s(16)
    assert other.low_s < START_S + 3 * 10 * step_s(64) < other.high_s


def test_runs_fed_alike_count_before_others() -> None:
    slow = [measured(case(batch=b, train_samples=b * 10), feed="generator", step_s=9.0)
            for b in (16, 64)]  # fmt: skip
    made = forecast(case(batch=32, train_samples=320), [*KNOWN, *slow], HERE)
    assert made is not None
    assert made.rows == 2
    assert made.seconds < 20


def test_unmeasured_memory_and_power_are_unknown() -> None:
    made = forecast(case(batch=32), KNOWN, HERE)
    assert made is not None
    assert (made.memory_bytes, made.power_watts) == (None, None)


def test_memory_lies_on_the_line_of_two_batch_sizes() -> None:
    rows = [{"global_batch_size": b, "peak_memory_bytes": 1e9 + 2e6 * b} for b in (8, 32, 128)]
    assert memory_line([(8, 1e9 + 16e6), (32, 1e9 + 64e6)]) == pytest.approx((1e9, 2e6))
    assert memory_at(1_000, rows) == pytest.approx(3e9)
    assert memory_at(1_000, rows[:1]) == pytest.approx(1e9 + 16e6)
    assert memory_at(1_000, []) is None
    assert memory_line([(8, 2e9), (32, 1e9)]) == pytest.approx((1.5e9, 0.0))  # noise, not a law


# -- sums ----------------------------------------------------------------------------------------


def context(**cost: Any) -> Context:  # noqa: ANN401 - prices
    """A sweep that costs that; nothing of it is run."""
    nowhere = Path("/nowhere")
    return Context(
        spec=Spec(name="s", title="t", runs=(), cost=Cost(**cost)),
        host=Host(device="cpu", backends=()),
        pythons={}, expanded=Expanded(cases=()), results=nowhere, folder=nowhere, state=nowhere,
        facts=FACTS, environ={}, memory_bytes=None, licence="x",
    )  # fmt: skip


def planned(watts: float | None = None) -> list[Planned]:
    """Two runs of 11.0 s and 14.0 s, by the law."""
    known = [measured(case(batch=b, train_samples=b * 10), watts=watts) for b in (16, 64)]
    cases = [case(batch=40, train_samples=40 * n) for n in (20, 40)]
    return [Planned(case=c, expected=forecast(c, known, HERE), done=False) for c in cases]


HOURS = (2 * START_S + 3 * 60 * step_s(40)) / 3600


def test_hours_money_and_energy_are_sums_by_hand() -> None:
    result = totals(context(price_per_hour=3.0, price_per_kwh=0.25), planned(watts=100.0))
    assert result.hours == pytest.approx(HOURS, rel=1e-6)
    assert result.energy_kwh == pytest.approx(HOURS * 0.1, rel=1e-6)
    assert result.cost == pytest.approx(HOURS * 3.0 + HOURS * 0.1 * 0.25, rel=1e-6)
    assert result.runs == 2


def test_a_price_of_the_command_line_counts_before_the_sweep_s() -> None:
    result = totals(context(price_per_hour=3.0), planned(), price_per_hour=6.0)
    assert result.cost == pytest.approx(HOURS * 6.0, rel=1e-6)


def test_the_power_a_sweep_names_stands_where_none_was_measured() -> None:
    assert totals(context(power_watts=50.0), planned()).energy_kwh == pytest.approx(HOURS * 0.05)
    assert totals(context(), planned()).energy_kwh is None


@pytest.mark.parametrize(
    "cost", [{}, {"price_per_kwh": 0.25}, {"price_per_hour": 3.0, "price_per_kwh": 0.25}]
)
def test_a_cost_of_which_a_part_is_not_known_is_not_known(cost: dict[str, float]) -> None:
    assert totals(context(**cost), planned()).cost is None


def test_one_run_without_a_forecast_leaves_the_sum_not_known() -> None:
    runs = planned(watts=100.0)
    result = totals(context(price_per_hour=3.0), [runs[0], replace(runs[1], expected=None)])
    assert (result.runs, result.hours, result.energy_kwh, result.cost) == (2, None, None, None)


def test_no_runs_take_no_time() -> None:
    assert totals(context(price_per_hour=3.0), []).hours == 0.0


def test_what_is_kept_of_a_row_is_json() -> None:
    assert json.loads(str(KNOWN[0]["extra"]))["wall_s"] > START_S
