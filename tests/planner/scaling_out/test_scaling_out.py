"""The answer of Scaling out, on what ships."""

from __future__ import annotations

import pytest

from planner.answers import (
    ScalingOutAnswer,
    plain,
    scaling_out,
    scaling_out_answered,
    scaling_out_workloads,
)
from planner.core import Estimate
from planner.scaling_out import Answer, host_share, link_ratio
from planner.store.catalog import read_catalog
from tests.shipped import ROOT, library

CATALOG = read_catalog(ROOT / "data" / "catalog").catalog
CNN = "simple-cnn-32-64-synthetic-cifar-10-sgd-float32"


def asked(**question: str | list[str]) -> ScalingOutAnswer:
    texts = {k: [v] if isinstance(v, str) else v for k, v in question.items()}
    found = scaling_out_answered(library(), texts, CATALOG)
    assert found.problems == ()
    return found


def answer(**question: str | list[str]) -> Answer:
    found = asked(**question).answer
    assert found is not None
    return found


def texts(**question: str | list[str]) -> str:
    return " ".join(scaling_out(asked(**question), library().sets).sentences)


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
            "Yes, from batch 115 on: at global batch 512, 2 devices are 1.53 times as fast as 1"
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


def test_the_order_of_article_003_is_in_every_answer() -> None:
    stated = asked().stated
    assert len(stated) == 12
    assert {(c.batch, c.devices, c.launch) for c in stated if c.rank == 1} == {
        (64, 2, "driver only"),
        (512, 6, "one process per worker"),
    }


def test_start_up_and_idle_devices_are_in_the_total() -> None:
    known = answer(startup_s="300", price="2", epochs="20")
    for row in known.shown:
        assert row.total is not None
        assert row.total.startup_s == 300.0
        hours = row.devices * float(row.total.total.value) / 3600.0
        assert row.total.device_hours == pytest.approx(hours)
        assert row.total.cost_usd == pytest.approx(2.0 * hours)
        assert 0.0 < row.total.idle_hours <= row.total.device_hours
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
        assert row.free.staleness == row.devices - 1


def test_the_parameter_server_sets_the_pace_on_a_slow_link() -> None:
    bound = answer(server_gbit_per_s="0.1").uneven[-1]
    assert bound.free.server_limits
    assert bound.free.updates_per_s == pytest.approx(0.1e9 / 8 / (2 * 4 * 545_098))


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
    for short in names[::8]:
        found = scaling_out_answered(library(), {"workload": [short]}, CATALOG)
        assert found.problems == ()
        record = plain(scaling_out(found, library().sets))
        assert record["sentences"]
        refused += all(row["refused"] for row in record["rows"])
    assert refused <= len(names[::8]) // 4


def test_what_does_not_exist_is_named() -> None:
    found = scaling_out_answered(
        library(), {"workload": ["nothing"], "series": ["x"], "slow": ["99"]}, CATALOG
    )
    assert {p.parameter for p in found.problems} == {"workload", "series", "slow"}


def test_without_a_driver_the_smallest_count_is_compared() -> None:
    assert all(not c.is_driver for c in answer(driver="none").crossings)
    assert CNN in scaling_out_workloads(library())
