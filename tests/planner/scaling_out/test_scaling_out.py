"""The answer of Scaling out, on what ships."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from planner.answers import (
    ScalingOutAnswer,
    plain,
    scaling_out,
    scaling_out_answered,
    scaling_out_workloads,
)
from planner.answers._scaling_out import series_by_slug
from planner.core import Estimate, Refusal
from planner.core import plain as number
from planner.scaling import WEIGHED
from planner.scaling_out import (
    SeriesAnswer,
    SeriesQuestion,
    _series,
    answer_of,
    batch_course,
    batch_grid,
    batch_text,
    host_share,
    link_ratio,
    outside,
    sentences,
)
from planner.store import queries
from planner.store.catalog import read_catalog
from tests.faults.outcomes import FULL
from tests.shipped import ROOT, library

CATALOG = read_catalog(ROOT / "data" / "catalog").catalog
STEP = 1 if FULL else 24
"""Of all workloads with several counts of devices, every so many."""
CNN = "simple-cnn-32-64-synthetic-cifar-10-sgd-float32"


def asked(**question: str | list[str]) -> ScalingOutAnswer:
    texts = ((k, (v,) if isinstance(v, str) else tuple(v)) for k, v in question.items())
    return _answered(tuple(texts))


@functools.cache  # an answer cannot be changed
def _answered(question: tuple[tuple[str, tuple[str, ...]], ...]) -> ScalingOutAnswer:
    texts = {name: list(values) for name, values in question}
    found = scaling_out_answered(library(), texts, CATALOG)
    assert found.problems == ()
    return found


def answer(**question: str | list[str]) -> SeriesAnswer:
    found = asked(**question).answer
    assert found is not None
    return found


def texts(**question: str | list[str]) -> str:
    return " ".join(scaling_out(asked(**question), library().sets).sentences)


def test_a_series_of_too_many_counts_is_not_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """2,000 counts of one stranger's file took a minute."""
    series = answer().series
    first = next(iter(scaling_out_workloads(library()).values()))
    placements = queries.placements(library(), first, series.runs[0].pattern)
    monkeypatch.setattr(_series, "MOST_COUNTS", 3)
    assert _series.series_of(series.label, series.runs, placements) is not None
    monkeypatch.setattr(_series, "MOST_COUNTS", 2)
    assert _series.series_of(series.label, series.runs, placements) is None


def test_the_opening_question_is_of_the_runs_measured_here() -> None:
    found = answer()
    assert found.series.counts == (1, 2, 4)
    assert found.driver is not None
    assert found.driver.launch == "single process"
    assert found.hold == "global"
    assert found.batches == (32.0, 128.0, 512.0)
    assert (
        scaling_out(asked(), library().sets)
        .sentences[0]
        .startswith(
            "Yes, from batch 99 on: at global batch 512, 2 devices are 1.5 times as fast as 1"
        )
    )


def test_a_measured_step_is_the_answer_where_there_is_one() -> None:
    for row in answer().rows:
        if row.measured_s:
            assert isinstance(row.step, Estimate)
            assert row.step.basis == "measured"
            assert row.step.value in row.measured_s


def test_small_batches_do_not_pay_on_several_workers() -> None:
    assert texts(batch="32").startswith("No: at global batch 32, 1 device is fastest.")


def test_the_measured_runs_lie_on_both_sides_of_the_crossover() -> None:
    crossings = [c for c in answer().crossings if not c.is_driver and c.devices in (2, 4)]
    for c in crossings:
        assert isinstance(c.batch, Estimate)
        assert c.slower_at is not None
        assert c.faster_at is not None
        assert c.batch.high > c.slower_at
        assert c.batch.low < c.faster_at


def test_article_000_has_a_slow_interconnect() -> None:
    found = answer(workload="unnamed-model")
    assert link_ratio(found) == pytest.approx(0.15 / 0.054)
    said = texts(workload="unnamed-model")
    assert "The interconnect is slow: with it a step's overhead is 2.8 times" in said
    assert "2 devices are faster than 1 device from global batch 50 on." in said


def test_a_batch_too_small_for_the_device_is_in_the_headline() -> None:
    found = answer(workload="unnamed-model", batch="8")
    share = host_share(found)
    assert share is not None
    assert share > 0.5
    first = scaling_out(asked(workload="unnamed-model", batch="8"), library().sets).sentences[0]
    assert first.startswith("No: at global batch 8, 1 device is fastest.")
    assert "Too small for this device: the host sets the pace" in first


def test_32_px_at_batch_512_are_the_bytes_of_256_px_at_8() -> None:
    assert "Batch 512 of 32 x 32 images has the bytes of batch 8 at 256 x 256." in texts()


def test_the_side_of_images_is_stated_that_of_the_network_or_given() -> None:
    assert asked().image_px == 32.0
    usual = asked(workload="resnet-50-mlperf-imagenet")
    assert usual.image_px == 224.0
    assert " of 224 x 224 images has the bytes of batch " in usual.images
    resnext = "resnext101-32x4d-imagenet-float32"
    without = asked(workload=resnext)
    assert (without.image_px, without.of_images, without.images) == (None, True, "")
    assert " of 176 x 176 images " in texts(workload=resnext, own_image_px="176")
    assert not asked(workload="gpt-52b-1024-tokens").of_images


def test_the_order_of_article_003_is_in_every_answer() -> None:
    stated = asked().stated
    assert len(stated) == 12
    assert {(c.batch, c.devices, c.launch) for c in stated if c.rank == 1} == {
        (64, 2, "driver only"),
        (512, 6, "one process per worker"),
    }


def test_start_up_and_idle_devices_are_in_the_total() -> None:
    known = answer(startup_s="300", price="2", epochs="20")
    measured = [r for r in known.shown if r.devices in known.series.counts]
    assert len(measured) == 3
    for row in measured:
        assert row.total is not None
        assert row.total.startup.ends == (300.0, 300.0, 300.0)
        hours = row.devices * float(row.total.total.value) / 3600.0
        assert row.total.device_hours == pytest.approx(hours)
        assert row.total.cost_usd == pytest.approx(2.0 * hours)
        assert row.total.idle_hours is not None
        low, high = float(row.total.idle_hours.low), float(row.total.idle_hours.high)
        assert low <= float(row.total.idle_hours.value) <= high
        assert 0.0 < float(row.total.idle_hours.value) <= row.total.device_hours
        assert float(row.total.total.low) > 300.0


def test_a_deadline_takes_the_fewest_devices_and_a_budget_the_fastest() -> None:
    found = answer(deadline="0.03", budget="0.2", price="5")
    assert found.best_in_time is not None
    assert found.best_in_time.devices == 2
    assert found.best_in_budget is None or found.best_in_budget.total is not None
    said = texts(deadline="0.03", budget="0.2", price="5")
    assert "2 devices: the fewest that finish within" in said
    assert "No count finishes within" in texts(deadline="0.001")


def test_a_slow_worker_costs_a_synchronous_step_more_than_an_asynchronous_one() -> None:
    for row in answer(slow="50").uneven:
        lost = row.step_s / row.even_step_s
        assert lost == pytest.approx(2.0)
        assert row.free.samples_per_s > row.synchronous_samples_per_s
        # A step computes, then exchanges: the read of weights is half of the exchange before it.
        assert 0.5 * (row.devices - 1) < row.free.staleness < row.devices - 1


def test_the_parameter_server_sets_the_pace_on_a_slow_link() -> None:
    bound = answer(server_gbit_per_s="0.1").uneven[-1]
    assert bound.free.server_limits
    limit = 0.1e9 / 8 / (2 * 4 * 545_098)
    assert 0.7 * limit < bound.free.updates_per_s < limit


def test_the_cost_of_staleness_needs_a_critical_batch() -> None:
    assert answer().uneven[-1].least_ratio is None
    row = answer(critical_batch="200").uneven[-1]
    assert row.least_ratio is not None
    assert row.most_ratio is not None
    assert row.least_ratio < row.most_ratio


def test_every_scaled_workload_of_the_library_has_an_answer() -> None:
    names = list(scaling_out_workloads(library()))
    assert len(names) > 100
    refused = 0
    for short in names[::STEP]:
        found = scaling_out_answered(library(), {"workload": [short]}, CATALOG)
        assert found.problems == ()
        record = plain(scaling_out(found, library().sets))
        assert record["sentences"]
        refused += all(row["refused"] for row in record["rows"])
    assert refused <= len(names[::STEP]) // 4


def test_what_does_not_exist_is_named() -> None:
    found = scaling_out_answered(
        library(), {"workload": ["nothing"], "series": ["x"], "slow": ["99"]}, CATALOG
    )
    assert {p.parameter for p in found.problems} == {"workload", "series", "slow"}


def test_without_a_driver_the_smallest_count_is_compared() -> None:
    assert all(not c.is_driver for c in answer(driver="none").crossings)
    assert CNN in scaling_out_workloads(library())


def test_every_shipped_series_has_sentences_at_both_kinds_of_batch() -> None:
    asked_of = 0
    for workload in list(queries.scaled_workloads(library()))[::STEP]:
        for series in series_by_slug(library(), workload).values():
            for question in (
                SeriesQuestion(slow=0.5),
                SeriesQuestion(slow=0.5, hold="global", devices=(3,)),
            ):
                found = answer_of(series, question)
                assert sentences(found)
                assert {r.devices for r in found.shown} >= set(series.counts)
                asked_of += 1
    assert asked_of * STEP > 350  # the workloads of a sample have more or fewer series


def test_a_batch_beyond_the_smallest_count_has_workers_where_steps_are_estimated() -> None:
    found = answer(batch="5000")
    assert {u.devices for u in found.uneven} == {4, 8}
    assert all(r.total.idle_hours is None for r in found.shown if r.total)
    assert texts(batch="5000").startswith("No comparison at global batch 5,000.")


def test_a_batch_per_device_that_is_no_whole_number_has_rows() -> None:
    found = answer(workload="gpt-200b-bloom-prequel-2048-tokens")
    assert all(len(found.at(b)) == 4 for b in found.batches)
    assert sum(bool(r.measured_s) for r in found.rows) == 4


def test_a_published_total_without_an_interval_is_compared_itself() -> None:
    question = {"workload": "unnamed-model", "samples_per_epoch": "50000"}
    found = answer(**question, deadline="0.5")
    assert found.best_in_time is not None
    assert found.best_in_time.devices == 2
    assert "No count finishes within 6 min 0 s." in texts(**question, deadline="0.1")


def test_a_limit_names_the_missing_number() -> None:
    said = texts(workload="unnamed-model", deadline="1", budget="10")
    assert "Deadline of 1 h 0 min: samples per epoch are missing." in said
    assert "Budget of 10.00 USD: the price is missing." in said
    said = texts(budget="0.000001", price="5")
    assert "No count costs at most 0.00 USD." in said


def test_a_crossover_without_a_useful_interval_is_refused() -> None:
    wide = 0
    for workload in list(queries.scaled_workloads(library()))[::8]:
        for series in series_by_slug(library(), workload).values():
            for crossing in answer_of(series, SeriesQuestion()).crossings:
                if isinstance(crossing.batch, Refusal):
                    wide += "a factor of 1,000" in crossing.batch.reason
                elif float(crossing.batch.low) >= 0.0:  # published ones have no interval
                    assert float(crossing.batch.high) <= 1000.0 * float(crossing.batch.low)
    assert wide > 0


def test_counts_below_the_smallest_measured_are_compared_with_it() -> None:
    found = answer(workload="gpt-200b-bloom-prequel-2048-tokens", devices=["160"])
    row = found.shown[0]
    assert row.devices == 160
    assert isinstance(row.speed_up, Estimate)
    assert 0.4 < float(row.speed_up.value) < 0.6
    assert isinstance(row.efficiency, Estimate)
    assert float(row.efficiency.value) == pytest.approx(1.0, abs=0.2)
    assert sentences(found)[0].startswith("Yes: at batch 6.4 per device, 384 devices")


def test_the_slower_count_is_the_most_measured_one() -> None:
    said = texts(batch="32", devices=["3"])
    assert "4 devices take 3.8 times as long per sample." in said


def test_the_fit_is_not_used_beyond_a_count_that_it_misses() -> None:
    rows = {(r.batch, r.devices): r for r in answer().rows}
    beyond = rows[512.0, 8].step
    assert isinstance(beyond, Refusal)
    assert beyond.reason.startswith("The law of all counts contradicts the run on 4 devices")
    assert isinstance(rows[32.0, 8].step, Estimate)
    requested = {(r.batch, r.devices): r for r in answer(devices=["8"]).rows}
    assert isinstance(requested[512.0, 8].step, Estimate)


def test_the_sentence_on_workers_names_its_assumption() -> None:
    assert "With one worker stopped 50 % of the time a synchronous step of 4 devices" in texts()
    assert "stopped 25 % of the time and a scatter of 10 % a" in texts(slow="25", spread="10")
    server = next(s for s in asked().names if "parameter-server" in s)
    said = texts(series=server)
    assert "4 devices without waiting have 0.87 times their samples/s" in said
    assert "a synchronous step of" not in said


def test_batches_are_written_as_they_are() -> None:
    written = [batch_text(b) for b in (512.0, 10_666.7, 33.5, 0.47, 123_456.0)]
    assert written == ["512", "10,667", "33.5", "0.47", "123,456"]
    assert "at global batch 33.5" in texts(batch="33.5")
    assert "has the bytes of batch 32,768 at 4 x 4." in texts(image_px="4")


def test_a_step_by_the_published_law_says_where_it_is_from() -> None:
    said = texts(workload="mlp-512-512-digits-sgd-float32", batch="8")
    assert "at batch 8 per device: the step is estimated from similar workloads." in said


def test_a_measured_step_that_its_fit_misses_is_named() -> None:
    question = {"workload": "gpt-52b-1024-tokens", "series": "v100-sxm2-32gb"}
    missed = outside(answer(**question))[0]
    assert not float(missed.fit.low) <= missed.seen_s <= float(missed.fit.high)
    assert missed.factor > 1.0
    assert f" s, outside the fit's interval of {number(float(missed.fit.low), 3)} to " in texts(
        **question
    )
    assert outside(answer()) == ()
    assert "outside the fit" not in texts()


def test_a_crossover_is_at_a_batch_that_the_devices_can_share() -> None:
    found = answer(workload="u-net-2-d-float32")
    [crossing] = [c for c in found.crossings if c.devices == 8 and not c.is_driver]
    assert isinstance(crossing.batch, Estimate)
    assert crossing.batch.ends == (8.0, 8.0, 8.0)
    assert "8 devices are faster than 1 device from global batch 8 on. " in texts(
        workload="u-net-2-d-float32"
    )
    for workload in list(scaling_out_workloads(library()))[::STEP]:
        found = answer(workload=workload)
        for c in found.crossings:
            if isinstance(c.batch, Estimate):
                measured = [p.batch for p in found.series.points if p.devices == c.devices]
                assert float(c.batch.value) >= min([c.devices, *measured])


def test_every_step_on_several_devices_has_workers() -> None:
    for workload in ("bert-large-mlperf-wikipedia", "mlp-32-32-digits-sgd-float32"):
        found = answer(workload=workload)
        several = [r.devices for r in found.shown
                   if r.devices > 1 and isinstance(r.step, Estimate)]  # fmt: skip
        assert [u.devices for u in found.uneven] == several != []


def test_no_law_reaches_beyond_devices_that_did_not_pay() -> None:
    """Workers that wait 100 ms a step: 0.112 s on two, 0.134 s on four."""
    found = answer(workload="mlp-32-32-digits-sgd-float32")
    steps = {r.devices: r.step for r in found.shown}
    assert isinstance(steps[2], Estimate)
    assert isinstance(steps[4], Estimate)
    assert float(steps[2].value) < float(steps[4].value)
    refused = steps[8]
    assert isinstance(refused, Refusal)
    assert refused.reason.startswith("A sample takes longer on 4 devices than on 2")
    asked_for = answer(workload="mlp-32-32-digits-sgd-float32", devices="8")
    assert isinstance({r.devices: r.step for r in asked_for.shown}[8], Estimate)


def test_a_chart_over_batches_is_drawn_where_all_crossovers_are_far_beyond_them() -> None:
    found = answer(workload="stable-diffusion-2-mlperf-laion-400m",
                   series="tpu-v5p-mlperf-4.1", driver="gb200-nvl72-186gb-mlperf-5.0")  # fmt: skip
    batches = [float(c.batch.value) for c in found.crossings if isinstance(c.batch, Estimate)]
    measured = [p.batch for s in (found.series, found.driver) if s for p in s.points]
    assert min(batches) > 8.0 * max(measured)
    assert batch_grid(found)[-1] == pytest.approx(max(*measured, *found.batches))


def test_a_line_of_its_own_reaches_a_step_that_the_common_law_misses() -> None:
    """Four workers on two cores: 0.117 s at batch 512, where the law of all counts says 0.07 s."""
    series = answer().series
    common, step = series.common_step(512.0, 4), series.step(512.0, 4)
    assert isinstance(common, Estimate)
    assert isinstance(step, Estimate)
    [seen_s] = [p.step_s for p in series.points if (p.devices, p.batch) == (4, 512)]
    assert float(common.high) < seen_s
    assert float(step.low) < seen_s < float(step.high)
    assert abs(float(step.value) / seen_s - 1.0) < 0.2 * abs(float(common.value) / seen_s - 1.0)
    assert WEIGHED in step.reasons
    beyond = series.step(512.0, 8)
    assert beyond == series.common_step(512.0, 8)  # no run of 8 devices


def test_parts_sum_to_the_fitted_step_and_the_crossover_is_where_steps_cross() -> None:
    found = answer()
    for row in found.rows:
        step = found.series.step(row.batch, row.devices)
        assert isinstance(step, Estimate)
        assert (row.parts is None) == isinstance(row.step, Refusal)
        if row.parts is None:
            continue
        assert row.parts.total_s == pytest.approx(float(step.value))
    assert sum(c.is_driver for c in found.crossings) > 1
    for crossing in found.crossings:
        assert isinstance(crossing.batch, Estimate) != (crossing.devices in {1, 2}
                                                        and crossing.is_driver)  # fmt: skip
        if isinstance(crossing.batch, Estimate):
            other = found.driver if crossing.is_driver else found.series
            assert other is not None
            at = float(crossing.batch.value)
            many = found.series.step(at, crossing.devices)
            few = other.step(at, crossing.other_devices)
            assert isinstance(many, Estimate)
            assert isinstance(few, Estimate)
            assert many.value == pytest.approx(few.value, rel=3e-3)


def test_steps_drawn_against_the_batch_reach_the_crossover_and_rise_all_the_way() -> None:
    found = answer()
    grid = batch_grid(found)
    [crossing] = [c for c in found.crossings if c.is_driver and c.devices == 4]
    assert isinstance(crossing.batch, Estimate)
    assert float(crossing.batch.value) < grid[-1] == pytest.approx(2048.0)
    assert found.driver is not None
    for series in (found.series, found.driver):
        for devices in series.counts:
            assert np.all(np.diff(batch_course(series, devices, grid)[0]) > 0.0)


def test_a_line_on_several_nodes_is_not_that_of_one() -> None:
    """A count that ran over several node counts has its line from runs on the fewest nodes."""
    mixed = 0
    for workload in list(queries.scaled_workloads(library()))[::STEP]:
        for series in series_by_slug(library(), workload).values():
            for devices, law in series.laws.items():
                own = [p for p in series.points if p.devices == devices]
                fewest = [p for p in own if p.nodes == series.nodes[devices]]
                mixed += len(fewest) < len(own)
                assert law.n in (0, len(fewest))
    assert mixed or not FULL


def test_the_farthest_of_several_missed_steps_is_named_first() -> None:
    question = {"workload": "gpt-52b-1024-tokens", "series": "v100-sxm2-32gb"}
    first, second = outside(answer(**question))
    assert first.factor >= second.factor
    assert " 1 more step is too." in texts(**question)


def test_of_ten_measured_steps_at_most_one_is_outside_its_interval() -> None:
    """A nominal 90 %, counted on the runs that the fits have seen."""
    seen = missed = 0
    for workload in list(queries.scaled_workloads(library()))[::STEP]:
        for series in series_by_slug(library(), workload).values():
            found = answer_of(series, SeriesQuestion())
            seen += sum(bool(r.measured_s) for r in found.rows)
            missed += len(outside(found))
    assert seen * STEP > 900
    assert missed <= 0.1 * seen


def test_a_speed_up_above_perfect_needs_measured_steps() -> None:
    """MLPerf 2.1 has A100s at batch 1 per device on 1,280 and 2,048 devices only."""
    retina = answer(
        workload="retinanet-resnext-50-mlperf-open-images", series="a100-sxm4-80gb-mlperf-2.1"
    )
    few, many = retina.at(1.0), retina.at(32.0)
    assert len(few) == len(many) == 9
    for row in few[2:]:
        assert isinstance(row.step, Estimate)
        assert isinstance(row.efficiency, Refusal)
        assert row.efficiency.reason == (
            "4 devices were not measured at batch 1 per device, and with their estimated step the "
            "speed-up is more than perfect."
        )
    efficiencies = [row.efficiency for row in many]
    assert all(isinstance(e, Estimate) and 0.95 < e.value < 1.06 for e in efficiencies)


@pytest.mark.slow
def test_no_efficiency_of_the_library_is_far_above_perfect_unless_measured() -> None:
    for slug, name in scaling_out_workloads(library()).items():
        for series in series_by_slug(library(), name).values():
            if len(series.counts) < 2:
                continue
            found = answer_of(series, SeriesQuestion())
            base = {row.held: row.measured_s for row in found.rows if row.devices == series.base}
            for row in found.rows:
                if isinstance(row.efficiency, Estimate) and row.efficiency.value > 1.16:
                    assert series.is_published or (row.measured_s and base[row.held]), slug
