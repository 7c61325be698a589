"""Steps to a target in rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner.core import Record
from planner.throughput import SystemCurve, curves_of
from planner.time_to_target import OptimizerComparison, OptimizerCurve, compare, timings_of
from planner.time_to_target.tables import (
    batch_rows,
    device_rows,
    fit_rows,
    seed_rows,
)
from tests.planner.epochs.test_how_long import RUN
from tests.planner.made_trials import BATCHES, TARGET, sweep, trials
from tests.planner.time_to_target.test_convergence_sentences import GOAL, both, placed
from tests.planner.time_to_target.test_optimizer_curves import one, system


def fits(of: OptimizerComparison, times: SystemCurve) -> list[Record]:
    """The rows with a best batch on T4."""
    here = placed(of, times)
    return fit_rows(of, GOAL, timings_of(of, here), here)


def each(of: OptimizerComparison, times: SystemCurve) -> dict[str, SystemCurve]:
    """The same step times for every optimiser."""
    return {c.optimizer: times for c in of.curves}


def test_a_row_of_the_fits_holds_every_number_with_its_interval() -> None:
    of = both()
    row = fits(of, system())[0]
    for name in ("critical_batch_size", "min_steps", "min_samples", "perfect_up_to_batch",
                 "maximal_from_batch", "best_batch", "least_s"):  # fmt: skip
        value, low, high = (row[f"{name}{end}"] for end in ("", "_low", "_high"))
        assert float(low or 0) < float(value or 0) < float(high or 0), name
    assert row["optimizer"] == "SGD"
    assert row["system"] == "T4"
    assert row["target"] == "2.5 % validation error"


def test_what_was_not_measured_of_the_noise_scale_is_said() -> None:
    assert fit_rows(both(), GOAL)[0]["noise_scale_median"] == pytest.approx(113.137)
    quiet = [r | {"gradient_noise_scale": None} for r in sweep()]
    row = fit_rows(compare(trials(quiet), TARGET, ["SGD"]), GOAL)[0]
    assert row["noise_scale_median"] is None
    assert str(row["notes"]).endswith("Gradient noise scale: not measured.")


def test_an_optimiser_without_step_times_has_no_row_of_devices() -> None:
    of = both()
    [row] = device_rows(of, [("T4", 1, {"Adam": system()})])
    assert row["optimizer"] == "Adam"


def test_a_refused_row_holds_the_reason_and_no_number() -> None:
    row = fit_rows(both(1e-4), GOAL)[0]
    assert str(row["refused"]).startswith("The target was reached at none")
    assert row["batches"] == 0
    assert "critical_batch_size" not in row


def test_every_batch_is_a_row_and_not_reached_is_empty() -> None:
    rows = batch_rows(both())
    assert [r["global_batch_size"] for r in rows] == [*BATCHES, *BATCHES]
    assert all(abs(float(r["fitted_steps"] or 0) / float(r["median_steps"] or 1) - 1) < 0.01
               for r in rows)  # fmt: skip
    missed = batch_rows(both(1e-4))[0]
    assert missed["median_steps"] is missed["fitted_steps"] is missed["learning_rate"] is None
    assert missed["seeds_reached"] == 0


def test_every_seed_at_the_best_rate_is_a_row() -> None:
    assert len(seed_rows(both())) == 2 * 3 * len(BATCHES)


def test_device_hours_are_devices_times_time() -> None:
    of = both()
    rows = device_rows(
        of, [("T4", 1, each(of, system())), ("8 × T4", 8, each(of, system(v0=8000)))]
    )
    assert [(r["system"], r["optimizer"]) for r in rows] == [
        ("T4", "SGD"), ("T4", "Adam"), ("8 × T4", "SGD"), ("8 × T4", "Adam")
    ]  # fmt: skip
    hours = [float(r["device_hours"]) / float(r["least_s"]) * 3600 for r in rows]  # type: ignore[arg-type]
    assert hours == pytest.approx([1, 1, 8, 8], rel=1e-4)
    refused = compare(trials(sweep()), 1e-4, ["SGD"])
    [row] = device_rows(refused, [("T4", 1, each(refused, system()))])
    assert row["device_hours"] is None
    assert str(row["refused"]).startswith("The target")


def test_a_published_curve_gives_a_best_batch_without_interval() -> None:
    published = replace(RUN, global_batch_size=None, step_time_s=None,
                        asymptotic_throughput=1000.0, overhead_s=0.05)  # fmt: skip
    of = both()
    row = fits(of, curves_of([published])[0])[0]
    assert row["best_batch"] == pytest.approx(56.6, rel=0.01)
    assert row["best_batch_low"] is None


def test_an_empty_curve_makes_no_rows() -> None:
    empty: OptimizerCurve = replace(one(), batch=np.empty(0), seed_batch=np.empty(0),
                                    seed_steps=np.empty(0))  # fmt: skip
    assert batch_rows(OptimizerComparison(target=TARGET, curves=(empty,))) == []
    assert seed_rows(OptimizerComparison(target=TARGET, curves=(empty,))) == []
