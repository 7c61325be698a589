"""Speed of described workloads with a family: from published runs, or as a person assumes."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from planner.answers.comparison import compare_parameters
from planner.compare import better, compare
from planner.compare.comparison import CompareQuestion, Limits
from planner.core import Estimate
from planner.job import (
    Candidate,
    Described,
    Goal,
    Hardware,
    TimeSources,
    expected_rate,
    job_described,
    timed,
    work_sentences,
)
from planner.job._times import IMAGE_JOB_SD, IMAGE_JOBS, LONG_RUN, LONG_RUNS
from planner.job.rates import DescribedRate, described_rate
from planner.networks import networks, operations_of
from planner.store.catalog import read_catalog

CATALOG = Path(__file__).parents[3] / "data" / "catalog"
CARDS = {a.id: a for a in read_catalog(CATALOG).catalog.accelerators}
LLAMA = Described(
    name="Llama 3 8B", samples_per_epoch=24414.0, precision="bfloat16", params=8.03e9,
    tokens_per_sample=4096.0, layers_width=131072.0,
)  # fmt: skip
JOB = job_described(LLAMA)
ONCE = Goal(words="1 epoch", epochs=1)
FASTEST = Limits(order="time")


def on(card: str, count: int = 8) -> Candidate:
    nodes = -(-count // 8)
    hardware = Hardware(label=card, accelerator=CARDS[card], count=count, nodes=nodes)
    return Candidate(id=f"{card}-{count}", way="own", hardware=hardware)


def hours(card: str, count: int = 8, **changes: object) -> Estimate:
    job = job_described(replace(LLAMA, **changes))  # type: ignore[arg-type]
    total = timed(job, ONCE, on(card, count), TimeSources()).total
    assert isinstance(total, Estimate)
    return replace(total, **{  # type: ignore[arg-type]
        end: float(getattr(total, end)) / 3600.0 for end in ("value", "low", "high")
    })  # fmt: skip


def test_a_named_network_with_windows_has_its_own_operations() -> None:
    network = networks()["gpt-oss-120b"]
    described = replace(
        LLAMA, network=network.id, params=network.params, active_params=network.active_params,
        tokens_per_sample=8192.0, family="moe", layers_width=network.layers_width,
    )  # fmt: skip
    counted = operations_of(network, tokens=8192.0)
    assert counted is not None
    assert job_described(described).train_flops_per_sample == pytest.approx(counted.model)
    other = job_described(replace(described, layers_width=1e5)).train_flops_per_sample
    assert other == pytest.approx((6 * 5.1e9 + 12 * 1e5 * 8192) * 8192)


def test_llama_on_eight_h100_takes_what_published_runs_take() -> None:
    result = hours("h100-sxm")
    assert 0.35 < float(result.value) < 0.6  # 7,800 to 11,400 tokens/s a card in published tables
    assert 0.7 < (float(result.high) - float(result.low)) / float(result.value) < 1.1


def test_a_long_run_includes_restarts_and_says_so() -> None:
    short, long = (hours("h100-sxm", samples_per_epoch=n) for n in (24414.0, 24414.0 * 1000))
    assert float(long.value) == pytest.approx(1000.0 * LONG_RUN * float(short.value), rel=1e-6)
    assert float(long.high) / float(long.value) > 1.1 * float(short.high) / float(short.value)
    assert any("restarts" in reason for reason in long.reasons)
    assert not any("restarts" in reason for reason in short.reasons)
    found = timed(job_described(replace(LLAMA, samples_per_epoch=2.4e7)), ONCE, on("h100-sxm"),
                  TimeSources())  # fmt: skip
    assert LONG_RUNS in dict(found.shared_parts)


def test_a_whole_image_job_has_the_uncertainty_of_data_loading_in_common() -> None:
    job = job_described(
        replace(LLAMA, name="ResNet-50", network="resnet-50", family="cnn", image_px=224,
                params=25.6e6, tokens_per_sample=None, flops_per_sample=24.6e9,
                samples_per_epoch=1.28e6)
    )  # fmt: skip
    image, text = (timed(j, ONCE, on("h100-sxm"), TimeSources()) for j in (job, JOB))
    assert dict(image.shared_parts)[IMAGE_JOBS] == pytest.approx(IMAGE_JOB_SD, rel=1e-6)
    assert IMAGE_JOBS not in dict(text.shared_parts)
    assert isinstance(image.total, Estimate)
    assert image.rate is not None
    total, rate = (
        math.log(float(of.high) / float(of.low)) / (2.0 * 1.645) for of in (image.total, image.rate)
    )
    assert total == pytest.approx(math.hypot(rate, IMAGE_JOB_SD), rel=0.05)


def test_a_faster_generation_is_decided_and_near_ones_are_not() -> None:
    rows = {
        card: compare(CompareQuestion(job=JOB, goal=ONCE, limits=FASTEST), [on(card)]).rows[0]
        for card in ("a100-sxm-80gb", "h100-sxm", "h200-sxm", "b200")
    }
    assert better(rows["b200"], rows["a100-sxm-80gb"], FASTEST) > 0.99
    assert 0.5 < better(rows["h200-sxm"], rows["h100-sxm"], FASTEST) < 0.95


def test_draws_are_as_wide_as_the_interval() -> None:
    row = compare(CompareQuestion(job=JOB, goal=ONCE, limits=FASTEST), [on("h100-sxm")]).rows[0]
    assert row.drawn is not None
    assert isinstance(row.time, Estimate)
    low, high = np.quantile(row.drawn.wall_s, (0.05, 0.95))
    assert math.log(high / low) == pytest.approx(
        math.log(float(row.time.high) / float(row.time.low)), rel=0.1
    )


def test_an_assumed_share_takes_the_place_of_the_published_ones() -> None:
    job = job_described(replace(LLAMA, assumed_mfu=0.4))
    found = described_rate(job, on("h100-sxm").hardware, None, 0.9)
    peak = CARDS["h100-sxm"].peak_flops_per_s["bfloat16"]
    speed = 0.4 * 8.0 * peak / (job.train_flops_per_sample or 0.0)
    assert found is not None
    assert float(getattr(found, "whole").value) == pytest.approx(speed)  # noqa: B009
    assert expected_rate(job, on("h100-sxm").hardware) == pytest.approx(speed)
    assert "40 % of the half-precision peak" in hours("h100-sxm", assumed_mfu=0.4).reasons[0]


def test_an_assumed_share_answers_without_a_family_too() -> None:
    result = Described(name="net", samples_per_epoch=1e6, flops_per_sample=1e12, assumed_mfu=0.2)
    rate = timed(job_described(result), ONCE, on("h100-sxm", 1), TimeSources()).rate
    assert rate is not None
    peak = CARDS["h100-sxm"].peak_flops_per_s["bfloat16"]
    assert float(rate.value) == pytest.approx(0.2 * peak / 1e12)


def test_per_cent_of_the_question_become_a_share() -> None:
    given = {"workload": ["described"], "network": ["Llama 3 8B"], "total_tokens": ["100M"]}
    parameters, problems = compare_parameters({**given, "assumed_mfu": ["40"]})
    assert problems == ()
    assert parameters.described is not None
    assert parameters.described.assumed_mfu == pytest.approx(0.4)
    assert compare_parameters({**given, "assumed_mfu": ["140"]})[1]


def test_a_card_without_a_half_precision_peak_is_answered_by_its_published_runs() -> None:
    resnet = Described(name="resnet50", samples_per_epoch=1e6, precision="float16",
                       flops_per_sample=24.5e9, family="cnn", batch=12.0)  # fmt: skip
    found = timed(job_described(resnet), ONCE, on("titan-xp", 1), TimeSources())
    assert isinstance(found.total, Estimate)
    assert any("lists no float16 peak" in reason for reason in found.total.reasons)


def test_no_interval_reaches_above_the_peak_in_speed_or_time() -> None:
    job = job_described(replace(LLAMA, training="lora"))
    one = on("rtx-4090", 1)
    result = described_rate(job, one.hardware, None, 0.9)
    assert isinstance(result, DescribedRate)
    assert float(result.whole.high) == pytest.approx(result.most)
    assert float(result.whole.value) < result.most
    assert "to 100 %)" in " ".join(result.whole.reasons)
    question = CompareQuestion(job=job, goal=ONCE, measurements=TimeSources(), limits=FASTEST)
    [row] = compare(question, [one]).rows
    assert row.drawn is not None
    assert row.drawn.work_s.min() >= 0.999 * LLAMA.samples_per_epoch / result.most


@pytest.mark.parametrize("card", ["a100-sxm-80gb", "h100-sxm", "rtx-3090"])
def test_float32_on_nvidia_since_ampere_is_answered_as_the_tf32_that_it_names(card: str) -> None:
    """The published rows of such cards are TF32 too, so both have the same efficiency."""
    of_images = Described(
        name="SDXL", samples_per_epoch=1e6, precision="float32", flops_per_sample=17.9e12,
        family="diffusion", network="sdxl",
    )  # fmt: skip
    single, tf32 = (
        timed(job_described(replace(of_images, precision=p)), ONCE, on(card), TimeSources()).total
        for p in ("float32", "tensorfloat32")
    )
    assert isinstance(single, Estimate)
    assert isinstance(tf32, Estimate)
    assert (single.value, single.low, single.high) == (tf32.value, tf32.low, tf32.high)
    assert any("TF32" in reason or "tensorfloat32" in reason for reason in single.reasons)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ({"network": ["Llama 3 8B"], "total_tokens": ["100M"]},
         ("takes 500 trillion FLOPs: (6N + 12 x layers x width x sequence) a token",
          "N is 8.03 billion parameters in 32 layers of width 4,096", "a causal mask",
          "Source: https://")),
        ({"network": ["Mixtral 8x7B"], "total_tokens": ["100M"], "recompute": ["on"]},
         ("12.9 billion active parameters", "With recomputation the hardware executes")),
        ({"network": ["ResNet-50"], "samples": ["1e6"]},
         ("24.5 billion FLOPs: 3 x forward pass", "4.09 billion multiply-adds at 224 px")),
    ],
)  # fmt: skip
def test_the_work_of_a_named_network_comes_with_its_formula_and_source(
    question: dict[str, list[str]], said: tuple[str, ...]
) -> None:
    described = compare_parameters(question)[0].described
    assert described is not None
    [note] = work_sentences(job_described(described))
    assert all(part in note for part in said)
    assert work_sentences(job_described(replace(described, flops_per_sample=1e9))) == ()
