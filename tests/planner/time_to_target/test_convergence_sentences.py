"""Steps to a target in sentences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner.convergence import fit_convergence
from planner.core import Estimate, Refusal
from planner.runs import NO_OPTIMIZER
from planner.throughput import SystemCurve
from planner.time_to_target import (
    BatchTiming,
    OptimizerComparison,
    PlacedTimes,
    ReferenceSystem,
    TargetWords,
    caution_of,
    compare,
    goal_of,
    timings_of,
)
from planner.time_to_target.sentences import (
    answer_sentences,
    fastest_sentence,
    noise_sentence,
    note_lines,
    notes_of,
)
from tests.planner.made_trials import BATCHES, TARGET, set_of, sweep, trials
from tests.planner.time_to_target.test_optimizer_curves import one, system

GOAL = TargetWords(trained="Net on Data", target="2.5 % validation error")
HERE = ReferenceSystem(system="T4", workload="Net · Data · SGD")
THERE = ReferenceSystem(system="T4", workload="Other", stand_in="another workload")


def both(target: float = TARGET) -> OptimizerComparison:
    records = [*sweep(), *sweep(optimizer="Adam", smin=50.0, bcrit=640.0)]
    return compare(trials(records), target, ["SGD", "Adam"])


def fitted(samples: list[float], batch: tuple[int, ...] = BATCHES) -> OptimizerComparison:
    """One optimiser whose law goes through these samples to target."""
    return OptimizerComparison(
        target=TARGET, curves=(replace(one(), curve=fit_convergence(batch, samples)),)
    )


def result(
    of: OptimizerComparison,
    times: SystemCurve | None = None,
    place: ReferenceSystem | None = None,
    *,
    own: bool = False,
) -> list[str]:
    here = placed(of, times, place) if times and place else {}
    return answer_sentences(of, GOAL, timings_of(of, here), here, own_times=own)


def placed(
    of: OptimizerComparison, times: SystemCurve, place: ReferenceSystem = HERE
) -> dict[str, PlacedTimes]:
    """The same step times for every optimiser."""
    return {c.optimizer: PlacedTimes(place=place, curve=times.curve) for c in of.curves}


def timing(value: float, low: float, high: float) -> BatchTiming:
    best = Estimate(value=64.0, low=60.0, high=70.0)
    return BatchTiming(best=best, least_s=Estimate(value=value, low=low, high=high))


# -- sentences -----------------------------------------------------------------------------------


def test_the_sentence_says_beyond_which_batch_it_stops_paying_and_for_what() -> None:
    first = result(both())[0]
    assert first.startswith("Beyond batch 64 (90 %: ")
    assert first.endswith(
        "larger batches give diminishing returns for Net on Data with SGD to 2.5 % validation "
        "error."
    )


def test_the_best_batch_stands_in_the_same_sentence_with_its_time() -> None:
    first = result(both(), system(), HERE)[0]
    assert "; on T4 the best batch is 57 (90 %: " in first
    assert "which takes" in first


def test_step_times_of_another_workload_are_named_as_such_once() -> None:
    first, second, *_ = result(both(), system(), THERE)
    assert "; with the step times of another workload (Other) on T4 the best batch is" in first
    assert "; with the same step times the best batch is" in second


def test_without_step_times_the_answer_says_what_to_measure() -> None:
    last = result(both())[-1]
    assert last.startswith("No best batch: steps of Net on Data were not timed.")
    assert "two or more batch sizes" in last


def test_where_step_times_are_known_but_not_chosen_nothing_is_to_be_measured() -> None:
    assert result(both(), own=True)[-1] == "No best batch: choose step times below."


def test_step_times_without_a_curve_are_refused_once() -> None:
    sentences = result(both(), system(batches=(64,)), HERE)
    assert sum("Only batch 64 was measured" in s for s in sentences) == 1
    assert sentences[-1].startswith("No best batch on T4: ")


def test_curves_without_a_batch_in_common_tell_no_best_batch() -> None:
    first, *_, last = result(both(), system(batches=(8192, 16384, 65536)), HERE)
    assert first.endswith("to 2.5 % validation error.")
    assert last.startswith("No best batch on T4: No batch lies within both curves")


@pytest.mark.parametrize("samples", [[6400.0] * 5, [6400, 6300, 6500, 6200, 6600]])
def test_where_no_limit_was_seen_more_still_pays_however_the_fit_turned_out(
    samples: list[float],
) -> None:
    first = result(fitted(samples))[0]
    assert first.startswith("Larger batches still save steps at the largest measured batch (2,048)")
    assert "the limit is above batch " in first
    assert first.endswith("(90 %).")


@pytest.mark.parametrize(
    ("samples", "why"),
    [
        ([100.0 * b for b in BATCHES], "a larger batch takes the same number of steps."),
        ([900, 2900, 14900, 48000, 2.25e5], "the intervals allow a constant number of steps."),
    ],
)
def test_where_steps_were_not_seen_to_fall_no_larger_batch_pays(
    samples: list[float], why: str
) -> None:
    first = result(fitted(samples))[0]
    assert first.startswith("Batches above 8 showed no gain for Net on Data with SGD")
    assert f" error: {why}" in first


@pytest.mark.parametrize(
    ("samples", "end"),
    [
        ([6400, 7000, 7300, 7900, 9900], "error (the largest measured batch is 2,048)."),
        ([1000, 3300, 12900, 51000, 2.05e5], "error (the smallest measured batch is 8)."),
    ],
)
def test_a_limit_outside_the_measured_batches_is_said_to_be(samples: list[float], end: str) -> None:
    first = result(fitted(samples))[0]
    assert first.startswith("Beyond batch ")
    assert first.endswith(end)


def test_optimisers_refused_for_one_reason_share_a_sentence() -> None:
    assert result(both(1e-4)) == [
        "Net on Data with SGD and Adam to 2.5 % validation error: The target was reached at none "
        "of the batch sizes tried (8, 32, 128, 512, 2,048): half of the seeds or more missed it. "
        "Train for more steps, tune the learning rate, or choose an easier target."
    ]


def test_a_refused_optimiser_stands_behind_those_with_a_curve() -> None:
    curves = both().curves
    refused = replace(curves[0], curve=Refusal(reason="No.", measure_next="Measure."))
    mixed = OptimizerComparison(target=TARGET, curves=(refused, curves[1]))
    first, second, _ = result(mixed)
    assert "with Adam to" in first
    assert second == "Net on Data with SGD to 2.5 % validation error: No. Measure."


def test_the_fastest_is_named_only_where_intervals_lie_apart() -> None:
    apart = {"SGD": timing(10, 9, 11), "Adam": timing(5, 4, 6), "Lion": timing(90, 80, 99)}
    assert fastest_sentence(apart) == (
        "Adam is fastest, each at its best batch: 5 s against 10 s with SGD."
    )
    close = fastest_sentence({"SGD": timing(10, 5, 20), "Adam": timing(9, 5, 18)})
    assert close.startswith("Adam and SGD are tied, each at its best batch: 9 s against")
    published = fastest_sentence({"a": timing(5, np.nan, np.nan), "b": timing(9, np.nan, np.nan)})
    assert "published step times have no interval" in published
    assert fastest_sentence({"SGD": timing(10, 5, 20)}) == ""


def test_the_noise_scale_stands_beside_the_critical_batch_size() -> None:
    assert noise_sentence(both()).endswith("(Bcrit): SGD 113 (64); Adam 113 (640).")
    quiet = [r | {"gradient_noise_scale": None} for r in sweep()]
    silent = compare(trials(quiet), TARGET, ["SGD"])
    assert noise_sentence(silent) == "Gradient noise scale beside Bcrit: not measured."
    mixed = OptimizerComparison(target=TARGET, curves=(both().curves[1], silent.curves[0]))
    assert noise_sentence(mixed).endswith("(Bcrit): Adam 113 (640); SGD not measured (64).")
    assert noise_sentence(fitted([6400.0] * 5)).endswith("SGD 113 (no limit).")


def test_every_optimiser_is_reported_with_step_times_of_its_own() -> None:
    of = both()
    times = {
        "SGD": PlacedTimes(place=HERE, curve=system().curve),
        "Adam": PlacedTimes(place=replace(HERE, workload="Net · Data · Adam"),
                            curve=system(v0=500.0).curve),
    }  # fmt: skip
    first, second, *_ = answer_sentences(of, GOAL, timings_of(of, times), times)
    assert "; on T4 the best batch is 57 " in first
    assert "; on T4 the best batch is 130 " in second


def test_step_times_of_another_optimiser_are_named_as_such() -> None:
    borrowed = replace(HERE, stand_in="another optimiser")
    first = result(both(), system(), borrowed)[0]
    assert "; with the step times of another optimiser (Net · Data · SGD) on T4 the best" in first


def test_an_optimiser_without_step_times_there_is_reported_as_missing() -> None:
    of = both()
    times = {"SGD": PlacedTimes(place=HERE, curve=system().curve)}
    first, second, last = answer_sentences(of, GOAL, timings_of(of, times), times)
    assert "; on T4 the best batch is 57 " in first
    assert second.endswith("with Adam to 2.5 % validation error.")
    assert last == (
        "No best batch for Adam there: Net on Data with Adam was not timed on that system under "
        "that input pattern."
    )


def test_a_guess_is_called_a_guess_in_the_sentence() -> None:
    first = result(both(), system(), replace(HERE, system="32 × T4", guess=True))[0]
    assert "; as a guess, on 32 × T4 the best batch is" in first


def test_an_optimiser_that_is_not_stated_is_not_named() -> None:
    assert GOAL.of(NO_OPTIMIZER) == "Net on Data to 2.5 % validation error"


def test_a_best_batch_at_the_end_of_what_is_known_has_no_interval_in_the_sentence() -> None:
    first = result(both(), system(batches=(8, 16, 24, 32)), HERE)[0]
    assert "on T4 the best batch is 32, which takes" in first


# -- notes ---------------------------------------------------------------------------------------


def test_a_stricter_target_warns_only_where_something_was_missed() -> None:
    records = sweep()
    known, of = trials(records), set_of(records)
    stricter = goal_of(of, known, 1e-4)
    assert stricter.stricter_than == "2.5 %"
    assert "only have stopped too early" in caution_of(compare(known, 1e-4, ["SGD"]), stricter)
    assert caution_of(compare(known, 0.02, ["SGD"]), goal_of(of, known, 0.02)) == ""
    assert goal_of(of, known, 0.1).stricter_than == ""
    assert goal_of(of, known, TARGET) == replace(GOAL, stricter_than="")


def test_notes_hold_warnings_of_the_fit_and_of_the_best_batch_once_each() -> None:
    missed = [
        r | {"evaluations": None, "status": "nan"} if r["global_batch_size"] == 8 else r
        for r in sweep()
    ]
    of = compare(trials(missed), TARGET, ["SGD"])
    timings = timings_of(of, placed(of, system(v0=1e5, t=5.0)))
    [notes] = notes_of(of, timings).values()
    assert len(notes) == len(set(notes))
    assert any(n.startswith("Left out, because half of the seeds") for n in notes)
    assert any(n.startswith("The optimum of the two laws is batch") for n in notes)


def test_a_note_is_reported_once_and_names_its_optimisers_unless_all_have_it() -> None:
    notes = {"SGD": ("a", "b"), "Adam": ("b",), "Lion": ("b", "c", "a")}
    assert note_lines(notes) == ["SGD and Lion: a", "b", "Lion: c"]
    assert note_lines({"SGD": ("a",)}) == ["a"]
