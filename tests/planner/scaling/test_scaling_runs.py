"""From runs to a scaling curve, and to the best number of devices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from planner.convergence import ConvergenceCurve, fit_convergence
from planner.core import Estimate, Refusal
from planner.runs import Placement, Run
from planner.scaling import CountCurve, Scaled, growth, scaling_of
from planner.scaling._runs import NO_POINTS
from planner.throughput import curves_of
from planner.time_to_target import (
    BatchTiming,
    OptimizerComparison,
    OptimizerCurve,
    efficiency_sentence,
    minimum_time,
    way_rows,
)
from planner.time_to_target.frontier import efficiencies, ways
from planner.time_to_target.goodput import time_on
from tests.planner.asking import answer
from tests.planner.epochs.test_how_long import RUN
from tests.planner.time_to_target.test_optimizer_curves import one

V0, T, A1, A2 = 1000.0, 0.02, 0.004, 0.003
ALONE = Placement(devices=1, nodes=1, launch=None, peer_to_peer=None)
COUNTS = (1, 2, 4)


def step_s(batch: float, devices: int) -> float:
    link = A1 + A2 * float(growth(devices, 0.85)) if devices > 1 else 0.0
    return T + link + batch / devices / V0


def swept(
    counts: tuple[int, ...] = COUNTS, **place: object
) -> tuple[list[Run], dict[str, Placement]]:
    """Runs at three batches per device on each number of devices, and where they were."""
    runs, places = [], {}
    for n in counts:
        for each in (8, 32, 128):
            name = f"{n}-{each}"
            runs.append(replace(RUN, run_id=name, global_batch_size=n * each,
                                step_time_s=step_s(n * each, n)))  # fmt: skip
            places[name] = replace(ALONE, devices=n, **place)  # type: ignore[arg-type]
    return runs, places


def scaled(counts: tuple[int, ...] = COUNTS) -> Scaled:
    found = scaling_of(*swept(counts), ALONE)
    assert isinstance(found, Scaled)
    return found


def law() -> ConvergenceCurve:
    """Steps 100 (1 + 64/B), measured from batch 8 to 2048."""
    found = one().curve
    assert isinstance(found, ConvergenceCurve)
    return found


# -- the fit -------------------------------------------------------------------------------------


def test_the_runs_are_fitted_at_their_batch_per_device() -> None:
    found = scaled()
    assert found.counts == COUNTS
    assert found.most == 4
    result = found.curve.step_time(32.0, 8, 1)
    assert isinstance(result, Estimate)
    assert_allclose(result.value, step_s(256, 8), rtol=1e-6)


def test_one_number_of_devices_is_refused_with_what_to_measure() -> None:
    refused = scaling_of(*swept((1,)), ALONE)
    assert isinstance(refused, Refusal)
    assert refused.reason == "Every run had 1 device, which shows no scaling."
    assert refused.measure_next == "Measure the same batch per device on 2 devices."


def test_published_parameters_alone_show_no_scaling() -> None:
    runs = [replace(RUN, global_batch_size=None, step_time_s=None, asymptotic_throughput=258.1)]
    assert scaling_of(runs, {RUN.run_id: ALONE}, ALONE) is NO_POINTS


def test_runs_left_out_failed_or_without_a_place_do_not_count() -> None:
    runs, places = swept()
    odd = replace(runs[0], run_id="odd", step_time_s=9.0)
    lost = replace(runs[0], run_id="lost", step_time_s=9.0)
    failed = replace(runs[0], run_id="failed", status="oom")
    known = places | {"odd": ALONE, "failed": ALONE}
    found = scaling_of([*runs, odd, lost, failed], known, ALONE, {"odd"})
    assert isinstance(found, Scaled)
    assert found.curve.n == len(runs)


def test_links_without_peer_to_peer_are_fitted_apart() -> None:
    runs, places = swept()
    slow = {k: replace(p, peer_to_peer=False) for k, p in places.items() if p.devices == 4}
    with_links = scaling_of(runs, places | slow, replace(ALONE, peer_to_peer=True))
    without = scaling_of(runs, places | slow, replace(ALONE, peer_to_peer=False))
    assert isinstance(with_links, Scaled)
    assert isinstance(without, Scaled)
    assert (with_links.counts, without.counts) == ((1, 2), (1, 4))


def test_questions_are_asked_for_the_launch_mode_in_question() -> None:
    runs, places = swept()
    more, elsewhere = swept()
    again = [replace(r, run_id=f"w{r.run_id}", step_time_s=(r.step_time_s or 0) + 0.05)
             for r in more]  # fmt: skip
    placed = {k: replace(p, launch="driver") for k, p in places.items()} | {
        f"w{k}": replace(p, launch="workers") for k, p in elsewhere.items()
    }
    for launch, extra in (("driver", 0.0), ("workers", 0.05)):
        found = scaling_of([*runs, *again], placed, replace(ALONE, devices=2, launch=launch))
        assert isinstance(found, Scaled)
        there = found.at(2)
        assert not isinstance(there, Refusal)
        result = there.step_time(64.0)
        assert isinstance(result, Estimate)
        assert_allclose(result.value, step_s(64, 2) + extra, rtol=1e-3)


def test_a_single_process_is_what_every_launch_mode_is_on_one_device() -> None:
    runs, places = swept()
    placed = {k: replace(p, launch="single process" if p.devices == 1 else "driver only")
              for k, p in places.items()}  # fmt: skip
    for like in (placed["1-8"], placed["4-8"]):
        found = scaling_of(runs, placed, like)
        assert isinstance(found, Scaled)
        strong, _ = efficiencies(found, 128.0, 4)
        assert not isinstance(strong, Refusal)
        assert_allclose(strong.efficiency.value, step_s(128, 1) / step_s(128, 4) / 4, rtol=1e-6)


def test_times_no_curve_can_have_are_a_refusal_not_an_error() -> None:
    runs, places = swept()
    odd = [replace(r, step_time_s=1e200) for r in runs]
    assert isinstance(scaling_of(odd, places, ALONE), Refusal)


# -- any number of devices -----------------------------------------------------------------------


def test_devices_fill_nodes_of_eight_until_several_were_measured_and_slices_are_one() -> None:
    alone = scaled()
    assert [alone.nodes_for(n) for n in (4, 8, 9, 64)] == [1, 1, 2, 8]
    assert replace(alone, slice=True).nodes_for(64) == 1
    runs, places = swept()
    far = {k: replace(p, nodes=2) for k, p in places.items() if p.devices == 4}
    spread = scaling_of(runs, places | far, ALONE)
    assert isinstance(spread, Scaled)
    assert spread.devices_per_node == 2
    assert spread.nodes_for(5) == 3


def test_beyond_twice_the_measured_count_it_is_a_guess() -> None:
    assert [scaled().is_guess(n) for n in (1, 4, 8, 9)] == [False, False, False, True]
    assert scaled().is_guess(4, nodes=2)


def test_another_node_than_the_measured_one_is_answered_and_said() -> None:
    there = scaled().at(8, nodes=2)
    assert isinstance(there, CountCurve)
    found = answer(there.step_time(64.0))
    assert found.basis == "similar workload"
    assert found.reasons[0].startswith("The link between nodes was not measured")


def test_scaling_is_strong_at_a_fixed_batch_and_weak_at_a_fixed_batch_per_device() -> None:
    strong, weak = efficiencies(scaled(), 128.0, 4)
    assert not isinstance(strong, Refusal)
    assert not isinstance(weak, Refusal)
    assert_allclose(strong.efficiency.value, step_s(128, 1) / step_s(128, 4) / 4, rtol=1e-6)
    assert_allclose(weak.efficiency.value, step_s(32, 1) / step_s(128, 4), rtol=1e-6)


# -- the best ones -------------------------------------------------------------------------------


def test_from_the_fastest_to_the_fewest_device_hours_time_rises_and_hours_fall() -> None:
    found = ways(scaled(), law())
    assert not isinstance(found, Refusal)
    times = [float(w.time_s.value) for w in found if isinstance(w.time_s, Estimate)]
    assert times == sorted(times)
    assert [w.device_hours for w in found] == sorted((w.device_hours for w in found), reverse=True)
    assert found[-1].devices == 1
    assert found[0].devices == 8  # twice the most measured


def test_the_batch_of_a_way_is_the_best_one_on_its_devices() -> None:
    found = ways(scaled(), law())
    assert not isinstance(found, Refusal)
    for way in found:
        there = scaled().at(way.devices)
        least = minimum_time(there, law())
        assert isinstance(least, Estimate)
        assert isinstance(way.time_s, Estimate)
        assert_allclose(way.time_s.value, least.value, rtol=2e-3)


def test_a_number_of_devices_somebody_asks_about_is_looked_at_too() -> None:
    found = ways(scaled(), law(), more=16)
    assert not isinstance(found, Refusal)
    assert (found[0].devices, found[0].guess) == (16, True)


def test_without_a_batch_that_both_curves_know_there_is_no_way() -> None:
    batches = np.array([1e5, 4e5, 1e6])
    far = fit_convergence(batches, 100.0 * (batches + 64.0))
    assert isinstance(far, ConvergenceCurve)
    assert isinstance(ways(scaled(), far), Refusal)


def test_the_small_table_has_the_fastest_and_the_cheapest_of_every_optimiser() -> None:
    curves: tuple[OptimizerCurve, ...] = (one(), replace(one(), optimizer="Adam"))
    rows = way_rows(OptimizerComparison(target=0.1, curves=curves), {"SGD": scaled()})
    assert [(r["optimizer"], r["best_by"]) for r in rows] == [
        ("SGD", "time"),
        ("SGD", "device-hours"),
    ]
    fast, cheap = rows
    assert float(fast["least_s"] or 0) < float(cheap["least_s"] or 0)
    assert float(fast["device_hours"] or 0) > float(cheap["device_hours"] or 0)
    assert cheap["strong_efficiency"] == cheap["weak_efficiency"] == 1.0
    refused = {"SGD": scaling_of(*swept((1,)), ALONE)}
    assert way_rows(OptimizerComparison(target=0.1, curves=curves), refused) == []


def test_the_sentence_of_efficiencies_names_their_kinds() -> None:
    known = scaled()
    timing = time_on(one(), known.at(4))
    result = efficiency_sentence(known, timing, 4)
    assert result.startswith("On 4 devices at batch ")
    assert "strong scaling efficiency (the same global batch on one device) " in result
    assert "weak scaling efficiency (the same batch per device) " in result
    assert "a guess" in efficiency_sentence(known, time_on(one(), known.at(16)), 16)


@pytest.mark.parametrize("devices", [1, 4])
def test_without_several_devices_or_an_answer_nothing_is_said(devices: int) -> None:
    refusal = Refusal(reason="No.", measure_next="Measure.")
    [alone] = curves_of(swept((1,))[0])
    assert efficiency_sentence(scaled(), time_on(one(), alone.curve), 1) == ""
    assert efficiency_sentence(refusal, time_on(one(), alone.curve), devices) == ""
    assert efficiency_sentence(scaled(), BatchTiming(best=refusal, least_s=refusal), devices) == ""
    assert efficiency_sentence(None, None, devices) == ""
