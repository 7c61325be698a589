"""Curves of systems: grouping, sentences, rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from planner.answers._tables import batch_rows
from planner.core import Refusal
from planner.runs import Run
from planner.throughput import (
    crossover_batch,
    crossover_sentence,
    curve_rows,
    curve_sentence,
    curves_of,
)
from planner.throughput import point_rows as points_of
from planner.throughput.curves import crossover_line, grid_of, left_over, passes_through
from tests.planner.epochs.test_how_long import RUN


def _run(batch: int, step_s: float, **more: str) -> Run:
    return replace(RUN, global_batch_size=batch, step_time_s=step_s, **more)  # type: ignore[arg-type]


def _sweep(v0: float, t: float, **more: str) -> list[Run]:
    return [_run(b, t + b / v0, **more) for b in (32, 128, 512)]


def test_systems_patterns_and_software_make_curves_of_their_own() -> None:
    runs = [*_sweep(100, 0.5), *_sweep(400, 1.0, system="TPU"), *_sweep(90, 0.5, pattern="q, p")]
    assert [c.label for c in curves_of(runs)] == ["GPU", "TPU", "GPU · q"]


def test_a_failed_run_is_no_point() -> None:
    runs = [*_sweep(100, 0.5), _run(1024, 1.0, status="oom")]
    assert curves_of(runs)[0].batch.max() == 512


def test_a_batch_that_ran_out_of_memory_ends_the_curve_and_is_named() -> None:
    failed = [_run(batch, 0.0, status="oom") for batch in (64, 1024, 2048)]
    [curve] = curves_of([*_sweep(100, 0.5), *failed])
    assert curve.too_large == 1024, "64 failed below batches that fitted: memory was short then"
    assert grid_of(curve).max() == 1024
    assert curve_sentence(curve).endswith("450. Batch 1,024 did not fit into memory.")
    assert curve_rows([curve])[0]["notes"] == "Batch 1,024 did not fit into memory."
    below, above = batch_rows([curve], [1023, 1024])
    assert (below["refused"], above["refused"]) == (None, "Batch 1,024 did not fit into memory.")
    [fitting] = curves_of([*_sweep(100, 0.5), _run(1024, 0.0, status="timeout")])
    assert fitting.too_large is None


def test_the_sentence_says_v0_b50_b90_and_what_lies_beyond() -> None:
    result = curve_sentence(curves_of(_sweep(100, 0.5))[0])
    assert "saturates at 100 samples/s (90 %:" in result
    assert "It reaches half of that at batch 50" in result
    assert "90 % at batch 450" in result
    assert "beyond" not in result
    assert "The largest measured batch, 512, reaches 34 %" in curve_sentence(
        curves_of(_sweep(1000, 1.0))[0]
    )


def test_without_overhead_the_sentence_names_no_batch_of_zero() -> None:
    result = curve_sentence(curves_of([_run(b, b / 100) for b in (32, 128, 512)])[0])
    assert result.startswith("GPU saturates at 100 samples/s (90 %:")
    assert result.endswith(" No overhead a step was seen: full speed at every measured batch.")
    published = replace(RUN, global_batch_size=None, step_time_s=None,
                        asymptotic_throughput=258.1, overhead_s=0.0)  # fmt: skip
    result = curve_sentence(curves_of([published])[0])
    assert result.endswith(" No overhead a step was published: full speed at every batch.")


def test_steps_that_do_not_grow_say_so_once() -> None:
    result = curve_sentence(curves_of([_run(b, 1.0) for b in (32, 128, 512)])[0])
    assert result.startswith("GPU: No batch effect seen up to batch 512: a step takes as long")
    assert result.count("batch effect") == 1


def test_a_refused_curve_says_why_and_what_to_measure() -> None:
    one = curves_of([_run(64, 1.0)])[0]
    assert isinstance(one.curve, Refusal)
    assert one.curve.measure_next in curve_sentence(one)
    assert curve_rows([one])[0]["refused"] == one.curve.reason
    assert points_of([one])[0]["fitted_step_s"] is None


def test_an_impossible_step_time_is_a_refusal_and_not_a_crash() -> None:
    one = curves_of([_run(32, 1e-200), _run(64, 1e-200)])[0]
    assert "step_s: value 1 of 2 is 1e-200" in curve_sentence(one)


def test_the_crossing_names_the_faster_system() -> None:
    a, b = curves_of([*_sweep(100, 0.1), *_sweep(400, 1.0, system="TPU")])
    assert crossover_sentence(a, b).startswith("TPU is faster than GPU above batch 120")
    without_curve = curves_of([_run(64, 1.0)])[0]
    assert crossover_sentence(a, without_curve).startswith("No crossover without both curves")


def test_a_crossing_outside_the_batches_of_both_says_that_it_is_extrapolated() -> None:
    inside = curves_of([*_sweep(100, 0.1), *_sweep(400, 1.0, system="TPU")])
    assert crossover_line(*inside) == "TPU is faster than GPU above batch 120."
    above = [_run(b, 1.0 + b / 400, system="TPU") for b in (256, 512, 1024)]
    assert crossover_line(*curves_of([*_sweep(100, 0.1), *above])) == (
        "TPU is faster than GPU above batch 120, extrapolated from measured batches."
    )


def test_systems_that_do_not_cross_are_named() -> None:
    a, b = curves_of([*_sweep(100, 0.5), *_sweep(400, 0.5, system="TPU")])
    result = crossover_sentence(a, b)
    assert result == (
        "TPU is 1.4 to 3.2 times as fast as GPU at every batch measured on both, 32 to 512."
    )
    assert crossover_line(a, b) == result
    other = [_run(b, 0.5 + b / 400, system="TPU") for b in (48, 96, 192)]
    apart = curves_of([*_sweep(100, 0.5), *other])
    result = crossover_sentence(*apart)
    assert "do not cross at a batch above 0: TPU is at least as fast at every batch." in result
    assert "system" not in result


def test_cards_whose_crossover_is_anywhere_are_compared_at_what_both_measured() -> None:
    """The Transformer of one-gpu: the interval of the crossover is 2e-11 to 3e11."""
    speeds = {"H200": (2907.0, 3792.0, 4117.0), "H100": (2686.0, 3394.0, 3661.0)}
    runs = [
        _run(batch, batch / speed, system=system)
        for system, by_batch in speeds.items()
        for batch, speed in zip((32, 128, 512), by_batch, strict=True)
    ]
    a, b = curves_of(runs)
    assert not isinstance(crossover_batch(a.curve, b.curve), Refusal)
    result = crossover_sentence(a, b)
    text = "H200 is 8 % to 12 % faster than H100 at every batch measured on both, 32 to 512."
    assert result == text == crossover_line(a, b) == crossover_sentence(b, a)
    mixed = curves_of([*runs[:-1], _run(512, 512 / 4130, system="H100")])
    assert "every batch measured" not in crossover_sentence(*mixed), "H100 is faster at 512"


def test_published_parameters_draw_a_curve_without_interval() -> None:
    run = replace(RUN, global_batch_size=None, step_time_s=None, asymptotic_throughput=258.1,
                  overhead_s=0.054)  # fmt: skip
    one = curves_of([run])[0]
    row = curve_rows([one])[0]
    assert (row["asymptotic_throughput"], row["overhead_s"], row["batch_90_low"]) == (
        258.1, 0.054, None,
    )  # fmt: skip
    assert "(90 %" not in curve_sentence(one)
    assert np.isfinite(grid_of(one)).all()


def test_points_and_their_fit_agree_on_clean_data() -> None:
    rows = points_of(curves_of(_sweep(100, 0.5)))
    assert [r["measured_against_fit_percent"] for r in rows] == pytest.approx([0, 0, 0], abs=1e-3)
    assert rows[0]["samples_per_s"] == pytest.approx(32 / 0.82, rel=1e-4)


# -- suspect runs left out ---------------------------------------------------------------------


def _with_ids() -> list[Run]:
    """Four batches of the law v0 = 100, t = 0.5 s, the last one far too slow."""
    runs = [*_sweep(100, 0.5), _run(1024, 40.0)]
    return [replace(run, run_id=f"{i}" * 32) for i, run in enumerate(runs)]


def test_a_run_left_out_is_kept_as_a_point_and_changes_no_fit() -> None:
    one, plain = curves_of(_with_ids(), {"3" * 32})[0], curves_of(_with_ids()[:3])[0]
    assert [r.global_batch_size for r in one.left_out] == [1024]
    assert [r.global_batch_size for r in one.points] == [32, 128, 512]
    assert {**curve_rows([one])[0], "left_out": 0} == curve_rows([plain])[0]
    rows = points_of([one])
    assert [r["in_fit"] for r in rows] == [True, True, True, False]
    assert rows[3]["measured_against_fit_percent"] == pytest.approx(100 * (40 / 10.74 - 1), abs=0.1)


def test_the_sentence_says_how_many_runs_are_left_out() -> None:
    ids = [r.run_id for r in _with_ids()]
    assert "left out" not in curve_sentence(curves_of(_with_ids())[0])
    result = curve_sentence(curves_of(_with_ids(), ids[3:])[0])
    assert result.endswith(" 1 suspect run is left out of this fit.")
    result = curve_sentence(curves_of(_with_ids(), ids[2:])[0])
    assert result.endswith(" 2 suspect runs are left out of this fit.")


def test_a_curve_of_suspect_runs_alone_is_refused_and_its_points_are_kept() -> None:
    one = curves_of(_with_ids(), [r.run_id for r in _with_ids()])[0]
    assert isinstance(one.curve, Refusal)
    assert "keep the suspect runs in the fit" in curve_sentence(one)
    assert grid_of(one).tolist() == [32, 128, 512, 1024]
    assert [r["fitted_step_s"] for r in points_of([one])] == [None] * 4


# -- what is left over of a fit ------------------------------------------------------------------


@given(
    v0=st.floats(1e-3, 1e7), overhead_s=st.floats(1e-6, 1e2), first=st.integers(1, 4096),
    times=st.integers(2, 64),
)  # fmt: skip
def test_rounding_is_nothing_left_over_whatever_the_numbers(
    v0: float, overhead_s: float, first: int, times: int
) -> None:
    batches = (first, first * times)
    [one] = curves_of([_run(b, overhead_s + b / v0) for b in batches])
    assume(not isinstance(one.curve, Refusal))
    assert left_over(one, one.points).tolist() == [0.0, 0.0]
    assert passes_through(one)
    percents = [str(r["measured_against_fit_percent"]) for r in points_of([one])]
    assert percents == ["0.0", "0.0"]


def test_what_is_measured_apart_from_the_fit_stays_left_over() -> None:
    [one] = curves_of([_run(32, 0.82), _run(128, 1.78 * 1.02), _run(512, 5.62)])
    off = left_over(one, one.points)
    assert np.abs(off).max() > 1e-3
    assert not passes_through(one)
    [pulled] = curves_of([_run(32, 1.0), _run(512, 0.9)])  # no line through both has two signs
    assert isinstance(pulled.curve, Refusal) or not passes_through(pulled)
