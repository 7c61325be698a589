"""Does it fit, and what to do where it does not."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

import pytest

from planner.job import Described, Hardware, Job, fit_of, job_described, least_count
from planner.job._memory import (
    TIGHT,
    USABLE,
    activations_on,
    bytes_per_parameter,
    usable_bytes,
    whole_state,
)
from planner.networks import STAGES, TRAININGS, Network, network_named, operations_of, state_of
from tests.each import each
from tests.planner.compare.made import PLAIN

JOB = Job(
    workload="Net · Data", precision="float32", samples_per_epoch=100, params=1e9,
    optimizer="SGD momentum 0.9",
)  # fmt: skip
ONE = Hardware(label="1 x Plain", accelerator=PLAIN)
MEASURED = replace(JOB, memory=((10.0, 12e9), (20.0, 22e9)))  # 2 GB and 1 GB a sample


@each(
    ("optimizer", "precision", "expected"),
    [
        ("SGD", "float32", 8.0),
        ("SGD momentum 0.9", "float32", 12.0),
        ("Adam", "float32", 16.0),
        ("AdamW", "mixed_float16", 16.0),
        ("AdamW", "bfloat16", 16.0),
        ("Lion", "float32", 12.0),
        ("Adafactor", "float32", 8.0),
        ("AdamW 8-bit", "bfloat16", 6.0),
        ("AdamW 8-bit", "float32", 10.0),
        ("Lion 8-bit", "bfloat16", 5.0),
        ("", "float32", 16.0),
        ("Foo", "float32", 16.0),
    ],
)
def test_bytes_per_parameter_are_those_of_the_zero_paper(
    optimizer: str, precision: str, expected: float
) -> None:
    assert bytes_per_parameter(replace(JOB, optimizer=optimizer, precision=precision)) == expected


def test_a_measured_job_fits_up_to_the_batch_its_line_allows() -> None:
    room = (40e9 * USABLE - 2e9) // 1e9
    assert fit_of(MEASURED, ONE, room).fits is True
    refused = fit_of(MEASURED, ONE, room + 1)
    assert refused.fits is False
    assert f"at most {room:,.0f} fits" in refused.way_out
    assert "2 accelerators" in refused.way_out


def test_two_accelerators_share_the_batch() -> None:
    two = Hardware(label="2 x Plain", accelerator=PLAIN, count=2)
    assert fit_of(MEASURED, two, 70.0).fits is True
    assert fit_of(MEASURED, two, 2 * ((40e9 * USABLE - 2e9) // 1e9) + 2).fits is None


def test_parameters_alone_can_refuse_but_never_promise() -> None:
    assert fit_of(JOB, ONE, 10.0).fits is None
    large = fit_of(replace(JOB, params=2e10), ONE, 10.0)
    assert large.fits is False
    assert "240 GB" in large.sentence
    assert large.headroom is not None
    assert large.headroom < 0.0


def test_weights_that_fit_on_none_fit_sharded_over_enough() -> None:
    eight = Hardware(label="8 x Plain", accelerator=PLAIN, count=8)
    answer = fit_of(replace(JOB, params=1e10), eight, 10.0)
    assert answer.fits is None
    assert answer.sentence == (
        "Only sharded: weights, gradients and optimiser state take 120 GB (12 bytes a parameter), "
        "15.0 GB on each of 8 Plain of 40 GB (37.6 GB of it for the job)."
    )
    assert answer.headroom == pytest.approx(1.0 - 15.0 / 37.6)


H100 = replace(PLAIN, name="H100", memory_bytes=80e9)
LLM = replace(JOB, precision="bfloat16", optimizer="AdamW")


@each(
    ("params", "count", "fits"),
    [
        (30e9, 8, True),  # MPT-30B: 480 GB on 640
        (29.96e9, 8, True),
        (30.1e9, 6, False),  # 80.3 GB on each of 80: only with a smaller state
        (30e9, 6, False),  # 80 GB on each of 80: nothing is left
        (30e9, 7, True),
        (70e9, 8, False),  # 1.12 TB on 640 GB
        (70e9, 16, True),
        (13e9, 1, False),
        (13e9, 4, True),
        (4.5e9, 1, True),
        (175e9, 32, False),
        (175e9, 40, True),
    ],
)
def test_the_state_is_compared_with_all_cards(params: float, count: int, fits: bool) -> None:  # noqa: FBT001
    many = Hardware(label=f"{count} x H100", accelerator=H100, count=count)
    answer = fit_of(replace(LLM, params=params), many, 512.0)
    assert answer.as_described == fits
    assert answer.fits is None
    assert "16 bytes a parameter" in answer.sentence


def test_a_job_that_fits_only_with_small_moments_is_a_warning_with_its_condition() -> None:
    mixtral = replace(LLM, params=46.7e9)
    answer = fit_of(mixtral, cards(8), None)
    assert (answer.fits, answer.as_described) == (None, False)
    assert answer.need_bytes == pytest.approx(46.7e9 * 6 / 8)
    assert answer.sentence == (
        "Fits only with 8-bit moments and no master weights: 280 GB (6 bytes a parameter), 35.0 GB "
        "on each of 8 H100 of 80 GB (75.2 GB of it for the job). Weights, gradients and optimiser "
        "state take 747 GB (16 bytes a parameter) otherwise."
    )
    for way in ("(AdamW 8-bit)", "FSDP", "Or take 10 or more", "Or train adapters (LoRA)."):
        assert way in answer.way_out
    small = fit_of(replace(mixtral, optimizer="AdamW 8-bit"), cards(8), None)
    assert small.as_described
    assert small.need_bytes == answer.need_bytes


def test_a_job_that_fits_only_with_its_state_on_the_host_is_refused_with_that_advice() -> None:
    answer = fit_of(replace(LLM, params=13e9), cards(1, 40e9), None)
    assert (answer.fits, answer.condition) == (False, "")
    assert "to 182 GB of host memory: no published run states that time." in answer.way_out


def test_adapters_and_plain_sgd_fit_with_a_smaller_state() -> None:
    lora = fit_of(replace(LLM, params=46.7e9, training="lora"), cards(1), None)
    assert lora.sentence.startswith("Fits only with frozen weights in 4 bits: 31.8 GB")
    assert "adapters (LoRA)" not in lora.way_out
    plain = fit_of(replace(LLM, params=13e9, optimizer="SGD"), cards(1), None)
    assert plain.sentence.startswith("Fits only without master weights: 52.0 GB (4 bytes")


def test_a_job_of_which_no_known_state_fits_is_refused() -> None:
    llama = job_described(replace(LLAMA, params=405.9e9, network="", layers_width=2.06e6))
    answer = fit_of(llama, cards(1, 24e9), None)
    assert answer.fits is False
    assert (
        "Even with gradients and optimiser state in host memory it takes 812 GB" in answer.sentence
    )
    assert fit_of(llama, cards(10), None).condition == ""
    assert "host memory" in fit_of(llama, cards(11), None).way_out
    assert fit_of(llama, cards(8), None).way_out.endswith("beside weights in 4 bits (QLoRA).")


def test_shards_that_leave_little_room_are_offered_with_a_warning() -> None:
    eight = Hardware(label="8 x H100", accelerator=H100, count=8)
    assert fit_of(replace(LLM, params=30e9), eight, 512.0).sentence.startswith("Only sharded: ")
    answer = fit_of(replace(LLM, params=34e9), eight, 512.0)
    assert answer.sentence == (
        "Fits tightly: only sharded: weights, gradients and optimiser state take 544 GB (16 bytes "
        "a parameter), 68.0 GB on each of 8 H100 of 80 GB (75.2 GB of it for the job). Only 7.2 "
        "GB are left for activations."
    )
    assert "FSDP" in answer.way_out
    barely = fit_of(replace(LLM, params=37e9), eight, 512.0)
    assert barely.sentence.startswith("Barely fits: only sharded: ")


def test_of_a_measured_job_the_state_is_sharded_too_and_the_samples_are_not() -> None:
    """40 GB without a sample, of them 36 of state, and 1 GB a sample."""
    of = replace(JOB, params=3e9, memory=((10.0, 50e9), (20.0, 60e9)))
    one, two = (Hardware(label="x", accelerator=PLAIN, count=n) for n in (1, 2))
    assert fit_of(of, one, 2.0).fits is False
    answer = fit_of(of, two, 20.0)  # 4 + 18 + 10 GB on each
    assert answer.fits is None
    assert answer.need_bytes == pytest.approx(32e9)
    assert answer.sentence.startswith("Only sharded over all 2 Plain: 32.0 GB of 40 GB")
    assert fit_of(of, two, 40.0).fits is False
    count = least_count(of, PLAIN, 40.0)
    assert count == 3
    enough, fewer = (Hardware(label="x", accelerator=PLAIN, count=n) for n in (3, 2))
    assert fit_of(of, enough, 40.0).fits is None
    assert fit_of(of, fewer, 40.0).fits is False


def test_a_module_of_two_devices_has_two_memories() -> None:
    module = replace(PLAIN, devices=2)  # 20 GB each
    one, two = (Hardware(label="x", accelerator=module, count=n) for n in (1, 2))
    assert fit_of(replace(JOB, params=1e9), one, 10.0).sentence == (
        "Weights, gradients and optimiser state take 12.0 GB (12 bytes a parameter) of 20 GB (18.8 "
        "GB of it for the job) on each of 2 devices; activations were not measured."
    )
    sharded = fit_of(replace(JOB, params=2e9), one, 10.0)  # 24 GB: more than one device has
    assert "12.0 GB on each of 2 devices of 20 GB (18.8 GB of it for the job)." in sharded.sentence
    large = fit_of(replace(JOB, params=3e10), two, 10.0)
    assert large.fits is False
    assert "all 4 devices have 80 GB (75.2 GB of it for the job) together" in large.sentence
    # 360 GB in shards of 20 GB are 18 devices, in shards of 16 GB 23
    assert large.way_out.startswith("Take 10 or more (12 leave more room for activations)")


@each("params", [2e9, 5e9, 8e9, 70e9])
@each("precision", ["float32", "bfloat16"])
def test_the_count_that_a_refusal_names_is_the_least_that_fits_as_described(
    params: float, precision: str
) -> None:
    big = replace(JOB, params=params, precision=precision, optimizer="AdamW")
    answer = fit_of(big, ONE, 10.0)
    found = re.search(r"ake ([0-9,]+) or more", answer.way_out)
    if answer.as_described:
        assert found is None
        return
    assert found is not None
    least = int(found[1].replace(",", ""))
    fewer, enough = (replace(ONE, count=n) for n in (least - 1, least))
    assert not fit_of(big, fewer, 10.0).as_described
    assert fit_of(big, enough, 10.0).as_described


def test_devices_of_a_module_share_the_batch() -> None:
    module = Hardware(label="x", accelerator=replace(PLAIN, devices=2))
    assert fit_of(MEASURED, module, 2 * ((20e9 * USABLE - 2e9) // 1e9)).fits is True
    answer = fit_of(MEASURED, module, 40.0)
    assert answer.fits is False
    assert "at 20 samples on each of 2 devices" in answer.sentence
    assert "2 accelerators" in answer.way_out


CPU = replace(PLAIN, name="Chip", kind="cpu", memory_bytes=None)
TWO_CHIPS = Hardware(label="2 x Chip", accelerator=CPU, count=2)


def test_a_processor_uses_the_memory_of_its_machine_and_says_how_much_it_needs() -> None:
    answer = fit_of(
        replace(JOB, params=7e9, optimizer="AdamW", precision="bfloat16"), TWO_CHIPS, 8.0
    )
    assert (answer.fits, answer.have_bytes, answer.headroom) == (None, None, None)
    assert answer.need_bytes == 112e9
    assert answer.sentence == "It uses the machine's memory, which is not in the catalogue."
    assert answer.way_out == "Check that 112 GB and room for activations are available."
    apart = replace(TWO_CHIPS, nodes=2)
    assert fit_of(JOB, apart, 8.0).way_out.endswith("are available in each of 2 machines.")


def test_of_a_measured_job_a_processor_needs_what_its_batch_took() -> None:
    answer = fit_of(MEASURED, TWO_CHIPS, 10.0)
    assert answer.way_out == "Check that 12.0 GB are available."
    assert not answer.at_least
    unknown = fit_of(replace(JOB, params=None), TWO_CHIPS, 10.0)
    assert unknown.way_out == "Check that it is enough."


def test_unknown_memory_has_no_answer() -> None:
    assert fit_of(replace(JOB, params=None), ONE, 10.0).fits is None
    assert fit_of(JOB, Hardware(label="GPU"), 10.0).have_bytes is None


# -- barely ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("share", "words"), [(0.81, "Fits tightly"), (0.89, "Fits tightly"),
                                              (0.91, "Barely fits")])  # fmt: skip
def test_tight_is_above_eighty_per_cent_of_a_card_and_barely_above_ninety(
    share: float, words: str
) -> None:
    answer = fit_of(replace(JOB, params=share * 40e9 / 12.0), ONE, 10.0)
    assert answer.sentence.startswith(f"{words}: only ")


def test_what_leaves_little_for_activations_fits_barely_and_says_the_way_out() -> None:
    room = 40e9 * USABLE
    easy = replace(JOB, params=0.99 * TIGHT * 40e9 / 12.0)
    tight = replace(JOB, params=0.97 * room / 12.0)
    assert fit_of(easy, ONE, 10.0).sentence.startswith("Weights")
    answer = fit_of(tight, ONE, 10.0)
    assert answer.fits is None
    assert answer.sentence.startswith("Barely fits: only 1.1 GB are left for activations; weights")
    for way in ("gradient checkpointing", "shard over 2"):
        assert way in answer.way_out
    again = fit_of(replace(tight, recompute=True), ONE, 10.0)
    assert again.way_out == "Shard over 2 or more (FSDP, ZeRO)."


def test_what_leaves_nothing_for_activations_has_that_condition() -> None:
    answer = fit_of(replace(JOB, params=0.98 * 40e9 / 12.0), ONE, 10.0)
    assert answer.fits is None
    assert answer.condition == "without room for activations"
    assert not answer.as_described


def test_a_state_is_sharded_rather_than_its_activations_recomputed() -> None:
    job = job_described(LLAMA)  # 128 GB, and 42.8 GB a sample
    alone, eight = (fit_of(job, cards(n, 180e9), None) for n in (1, 8))
    assert alone.sentence.startswith("Fits only with recomputed activations")
    assert "ZeRO stage 1 is enough" in eight.sentence


def test_activations_that_do_not_fit_are_named_unless_they_are_recomputed() -> None:
    job = job_described(LLAMA)  # 128 GB, and 42.8 GB a sample
    only = fit_of(job, cards(1, 180e9), None)
    assert only.fits is None
    assert only.sentence.startswith("Fits only with recomputed activations: weights")
    assert "activations about 42.8 GB otherwise" in only.sentence
    assert only.way_out.startswith("Recompute activations")
    tight = fit_of(job, cards(1, 192e9), None)
    assert tight.sentence.startswith("Fits tightly: only 52.0 GB are left for activations")
    again = fit_of(job_described(replace(LLAMA, recompute=True)), cards(1, 180e9), None)
    assert again.sentence.startswith("Weights")
    assert "recomputed activations take about" in again.sentence


def test_what_was_measured_with_its_activations_is_not_called_tight() -> None:
    assert fit_of(MEASURED, ONE, 35.0).sentence.startswith("Fits:")


@each("params", [1e9, 3e9, 4e9, 1e10, 1e11, 1e12])
def test_the_fewest_it_fits_on_are_the_fewest(params: float) -> None:
    of = replace(JOB, params=params)
    count = least_count(of, PLAIN, 10.0)
    assert count is not None
    enough = Hardware(label="so many", accelerator=PLAIN, count=count)
    assert fit_of(of, enough, 10.0).fits is None
    assert count == 1 or "left for activations" not in fit_of(of, enough, 10.0).sentence
    if count > 2:
        fewer = fit_of(of, Hardware(label="fewer", accelerator=PLAIN, count=count - 1), 10.0)
        assert fewer.fits is False or "left for activations" in fewer.sentence


def test_the_fewest_of_a_measured_job_hold_its_batch() -> None:
    assert least_count(MEASURED, PLAIN, 36.0) == 2
    assert least_count(MEASURED, PLAIN, 35.0) == 1
    huge = replace(MEASURED, memory=((10.0, 60e9), (20.0, 70e9)))
    assert least_count(huge, PLAIN, 36.0) is None
    assert least_count(JOB, replace(PLAIN, memory_bytes=None), 36.0) == 1


# -- optimisers and hopeless sizes -----------------------------------------------------------------


@pytest.mark.parametrize("optimizer", ["", "Foo"])
def test_two_moments_are_assumed_and_reported_for_an_unknown_optimiser(optimizer: str) -> None:
    unknown, adam = (fit_of(replace(JOB, optimizer=o), ONE, 10.0) for o in (optimizer, "Adam"))
    assert unknown.need_bytes == adam.need_bytes
    assert unknown.sentence.endswith(": Adam's two moments are assumed.")
    assert "assumed" not in adam.sentence
    machine = fit_of(replace(JOB, optimizer=optimizer), TWO_CHIPS, 8.0)
    assert machine.way_out.endswith(": Adam's two moments are assumed.")


def test_a_measured_need_rests_on_no_optimiser() -> None:
    assert "assumed" not in fit_of(replace(MEASURED, optimizer=""), ONE, 10.0).sentence
    assert "assumed" not in fit_of(replace(MEASURED, optimizer=""), TWO_CHIPS, 10.0).way_out


@pytest.mark.parametrize(
    ("params", "count"), [(1e14, "31,915 of them"), (1e18, "more than 10 million of them")]
)
def test_a_hopeless_size_is_reported_with_what_to_look_at(params: float, count: str) -> None:
    answer = fit_of(replace(JOB, params=params), ONE, 10.0)
    assert answer.fits is False
    assert answer.sentence.endswith(f"Check the number of parameters: it would take {count}.")
    assert answer.way_out.startswith("Take a smaller network")


# -- what the maker says and what the job gets -----------------------------------------------------


@pytest.mark.parametrize(
    ("size", "answer"), [(16e9, "16 GB (15.0 GB"), (11e9, "11 GB (10.3 GB"),
                         (24e9, "24 GB (22.6 GB"), (1.536e12, "1,536 GB (1,444 GB"),
                         (4.5e9, "4.5 GB (4.2 GB")],
)  # fmt: skip
def test_a_memory_is_named_as_its_maker_does_with_what_of_it_the_job_gets(
    size: float, answer: str
) -> None:
    one = Hardware(label="1 x Plain", accelerator=replace(PLAIN, memory_bytes=size))
    room = f"{answer} of it for the job)"
    large = fit_of(replace(JOB, params=70e10), one, 10.0)
    assert f"the Plain has {room}." in large.sentence
    tight, easy = (replace(JOB, params=share * size * USABLE / 12.0) for share in (0.95, 0.1))
    for job in (tight, easy):
        assert f" of {room}" in fit_of(job, one, 10.0).sentence
    measured = replace(JOB, memory=((1.0, 0.1e9), (2.0, 0.2e9)))
    for batch in (1.0, 1e5):
        assert f" of {room} at " in fit_of(measured, one, batch).sentence


# -- activations and what is trained ---------------------------------------------------------------

LLAMA: Final = Described(
    name="Llama 3 8B", samples_per_epoch=1e4, params=8.03e9, tokens_per_sample=8192.0,
    precision="bfloat16", optimizer="AdamW", network="llama-3-8b", layers_width=131072.0,
)  # fmt: skip


def cards(count: int, memory_bytes: float = 80e9) -> Hardware:
    one = replace(H100, memory_bytes=memory_bytes)
    return Hardware(label=f"{count} x H100", accelerator=one, count=count)


def test_an_8b_model_fits_on_eight_cards_and_needs_less_than_all_sharding() -> None:
    fit = fit_of(job_described(LLAMA), cards(8), None)
    assert fit.fits is None
    assert fit.need_bytes == pytest.approx(8.03e9 * 16 / 8)
    said = "With recomputed activations ZeRO stage 1 is enough, with 44.2 GB on each."
    assert said in fit.sentence  # 44.2 and 42.8 GB of activations are more than 80 GB
    short = fit_of(job_described(replace(LLAMA, tokens_per_sample=2048.0)), cards(8), None)
    assert ". ZeRO stage 1 is enough, with 44.2 GB on each." in short.sentence
    alone = fit_of(job_described(LLAMA), cards(1), None)
    assert alone.condition == "with 8-bit moments and no master weights"
    assert "48.2 GB (6 bytes a parameter)" in alone.sentence
    assert "128 GB (16 bytes a parameter) otherwise" in alone.sentence
    assert "Recompute activations: they take about 42.8 GB" in alone.sentence


def test_adapters_fit_where_full_training_does_not() -> None:
    lora, qlora = (job_described(replace(LLAMA, training=t)) for t in TRAININGS[1:])
    fit = fit_of(lora, cards(1), None)
    assert fit.fits is None
    assert fit.need_bytes == pytest.approx(8.03e9 * (2 + 16 * 0.005), rel=1e-3)
    assert "Frozen weights and their adapters' state take 16.7 GB" in fit.sentence
    small = fit_of(qlora, cards(1, 16e9), None)
    assert small.need_bytes == pytest.approx(8.03e9 * (0.6 + 16 * 0.005), rel=1e-3)
    assert "in 4 bits" in small.sentence


def test_four_bits_of_70b_fit_on_cards_of_48_gb_with_no_room_to_spare() -> None:
    """The 65B model of Dettmers et al. 2023 ran on one such card; makers write GB for GiB."""
    large = replace(LLAMA, params=69e9, tokens_per_sample=512.0, training="qlora")
    for one, begins in ((cards(1, 48e9), "Barely fits:"), (cards(2, 24e9), "Barely fits: only")):
        fit = fit_of(job_described(large), one, None)
        assert fit.fits is None
        assert fit.sentence.startswith(begins)
        assert "no room is left for activations." in fit.sentence.casefold()
    assert fit_of(job_described(large), cards(1, 40e9), None).fits is False


def test_weights_beside_adapters_are_in_half_precision_where_none_is_stated() -> None:
    lora = replace(JOB, params=69e9, training="lora", precision_stated=False)
    assert bytes_per_parameter(lora) == pytest.approx(2.08, rel=0.01)
    assert bytes_per_parameter(replace(lora, precision_stated=True)) > 4.0
    assert bytes_per_parameter(replace(JOB, precision_stated=False)) == 12.0


def test_long_sequences_ask_for_recomputation_and_never_refuse_what_many_cards_hold() -> None:
    long = job_described(replace(LLAMA, tokens_per_sample=131072.0))
    fit = fit_of(long, cards(8), None)
    assert fit.fits is None
    assert "Recompute activations" in fit.sentence
    again = fit_of(job_described(replace(LLAMA, tokens_per_sample=131072.0, recompute=True)),
                   cards(16), None)  # fmt: skip
    assert "Recompute activations" not in again.sentence


@pytest.mark.parametrize(("px", "batch"), [(224.0, 1), (448.0, 1)])
def test_a_described_image_network_says_about_what_a_sample_takes(px: float, batch: int) -> None:
    one = network_named("ResNet-50")
    assert isinstance(one, Network)
    answer = operations_of(one, image_px=px)
    assert answer is not None
    job = job_described(
        Described(name="R", samples_per_epoch=1e6, params=one.params, flops_per_sample=answer.model,
                  family="cnn", precision="bfloat16", image_px=px)
    )  # fmt: skip
    fit = fit_of(job, cards(batch), None)
    assert fit.fits is None
    assert "a sample (estimated)" in fit.sentence
    sample, have = activations_on(job), usable_bytes(cards(1))
    assert sample is not None
    assert have is not None
    # milabench: batch 792 to 1,680 at 224 px fill an 80 GB card
    assert 500 * (224 / px) ** 2 < (have - whole_state(job).total) / sample.kept < 2500


def test_every_published_stage_of_zero_takes_less_than_the_one_before() -> None:
    state = state_of(1e9, 2, half=True)
    sizes = [state.on_each(8, stage) for stage in STAGES]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == 16e9
    assert sizes[1] == 4e9 + 12e9 / 8  # Rajbhandari et al. 2020, figure 1
    assert sizes[2] == 2e9 + 14e9 / 8
    assert sizes[3] == 16e9 / 8
