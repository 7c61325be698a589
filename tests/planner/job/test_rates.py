"""Speed on hardware without a timed run."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from planner.catalog._records import Kind
from planner.core import Estimate, Refusal, t_quantile
from planner.epochs import options_of
from planner.job import (
    MFU,
    MFU_SD,
    Hardware,
    Job,
    job_measured,
    library_of,
    peak_of,
    per_accelerator,
)
from planner.job._job import nearest_measured
from planner.job._placing import (
    effective_precision,
    format_of,
    peak_sentence,
    sheet_of,
)
from planner.job.efficiency import (
    NODE_LOSS,
    NODE_SD,
    NODES_SD,
    SPREAD_DOF,
    efficiency,
    efficiency_on,
    scaling_from,
)
from planner.job.rates import from_operations, measure_on, rate_on
from planner.transfer import Library
from tests.each import each
from tests.planner.compare.made import CATALOG, HUGE, PLAIN, RUN, TWICE, job, other, row

DESCRIBED = Job(
    workload="Net", precision="float32", samples_per_epoch=1e6, train_flops_per_sample=1e10
)
BIG = replace(DESCRIBED, batch=1e9)  # so large a batch hides any overhead


def _value(answer: Estimate | Refusal) -> float:
    assert isinstance(answer, Estimate)
    return float(answer.value)


def test_operations_over_the_used_share_of_the_peak_are_samples_per_second() -> None:
    assert _value(from_operations(BIG, PLAIN)) == pytest.approx(MFU * 1e14 / 1e10, rel=1e-3)


def test_twice_the_peak_is_twice_as_fast_where_overhead_does_not_matter() -> None:
    slow, fast = (_value(from_operations(BIG, card)) for card in (PLAIN, TWICE))
    assert fast == pytest.approx(2.0 * slow, rel=1e-3)


def test_a_small_network_is_as_slow_as_its_host() -> None:
    tiny = replace(DESCRIBED, train_flops_per_sample=1e3, batch=64.0, overhead_s=0.5e-3)
    answer = from_operations(tiny, HUGE)
    assert isinstance(answer, Estimate)
    assert _value(answer) == pytest.approx(64.0 / 0.5e-3, rel=0.01)
    assert "mostly overhead" in answer.reasons[-1]


def test_without_operations_or_peak_nothing_is_reported() -> None:
    assert isinstance(
        from_operations(replace(DESCRIBED, train_flops_per_sample=None), PLAIN), Refusal
    )
    assert isinstance(from_operations(replace(DESCRIBED, precision="int4"), PLAIN), Refusal)


def test_the_interval_holds_the_value_and_is_as_wide_as_public_runs_scatter() -> None:
    answer = from_operations(BIG, PLAIN)
    far = math.exp(1.8125 * MFU_SD)  # Student's t with 10 degrees of freedom at 95 %
    assert isinstance(answer, Estimate)
    assert float(answer.high) / float(answer.value) == pytest.approx(far, rel=0.02)
    assert float(answer.value) / float(answer.low) == pytest.approx(far, rel=0.02)


def test_one_accelerator_scales_perfectly_and_more_lose_for_every_doubling() -> None:
    assert efficiency(1, 1).value == efficiency(1, 1).high == 1.0
    assert float(efficiency(8, 1).value) == pytest.approx(math.exp(-3 * NODE_LOSS))
    assert float(efficiency(8, 2).value) < float(efficiency(8, 1).value)


def test_what_many_did_together_is_more_for_each_alone() -> None:
    eight = Hardware(label="8", accelerator=PLAIN, count=8)
    assert per_accelerator(800.0, eight) == pytest.approx(100.0 / float(efficiency(8, 1).value))


def test_a_card_that_was_measured_answers_for_itself() -> None:
    library = library_of(CATALOG, [row(RUN)])
    rate = rate_on(job(), Hardware(label="1 x Plain", accelerator=PLAIN), library)
    assert _value(rate.samples_per_s) == pytest.approx(100.0)
    assert rate.next_run is None


def test_a_card_that_was_not_is_reported_by_the_data_sheets_of_both() -> None:
    library = library_of(CATALOG, [row(RUN)])
    rate = rate_on(job(), Hardware(label="1 x Twice", accelerator=TWICE), library)
    answer = rate.samples_per_s
    assert isinstance(answer, Estimate)
    assert answer.basis == "transferred from another GPU"
    assert 150.0 < _value(answer) < 210.0  # twice in every respect
    assert rate.next_run is not None
    assert rate.next_run.sentence() == "Measure Net · Data on one Twice."
    assert rate.next_run.stated
    assert "Next measurement: Net · Data float32 on Twice" in " ".join(answer.reasons)


@pytest.mark.parametrize(
    ("framework", "assumed"),
    [("MLPerf", "float16"), ("Megatron-DeepSpeed", "float16"), ("Keras", "float32")],
)
def test_runs_that_state_no_precision_have_that_of_their_software(
    framework: str, assumed: str
) -> None:
    rows = [row(RUN, precision=None, framework=framework)]
    of = job_measured("Net · Data", rows, options_of([RUN]), CATALOG)
    assert (of.precision, of.precision_stated) == (assumed, False)
    assert [speed.samples_per_s for speed in of.speeds] == [100.0]
    library = library_of(CATALOG, [{**rows[0], "precision": of.precision}])
    answer = rate_on(of, Hardware(label="1 x Twice", accelerator=TWICE), library).samples_per_s
    assert isinstance(answer, Estimate)
    assert f"accelerators are compared in {assumed}." in answer.reasons[-1]


def test_eight_have_a_wider_interval_than_one() -> None:
    library = library_of(CATALOG, [row(RUN)])
    one, eight = (
        rate_on(job(), Hardware(label="n", accelerator=PLAIN, count=n), library).samples_per_s
        for n in (1, 8)
    )
    assert isinstance(one, Estimate)
    assert isinstance(eight, Estimate)
    assert float(eight.high) / float(eight.low) > float(one.high) / float(one.low)
    assert 5.5 < _value(eight) / _value(one) < 8.0


def test_hardware_without_a_data_sheet_is_refused_by_name() -> None:
    answer = rate_on(job(), Hardware(label="GPU"), None).samples_per_s
    assert isinstance(answer, Refusal)
    assert "GPU" in answer.reason


ALL_PEAKS = replace(
    PLAIN, peak_flops_per_s={"float32": 1e12, "tensorfloat32": 8e12, "bfloat16": 16e12}
)


@each(
    ("maker", "kind", "taken"),
    [
        ("NVIDIA", "gpu", "tensorfloat32"),
        ("Nvidia Corporation", "gpu", "tensorfloat32"),
        ("Google", "tpu", "bfloat16"),
        ("AWS", "other", "bfloat16"),
        ("AMD", "gpu", "float32"),
        ("Intel", "other", "float32"),
        ("AWS", "cpu", "float32"),
    ],
)
def test_float32_works_against_the_peak_of_its_makers_default(
    maker: str, kind: Kind, taken: str
) -> None:
    card = replace(ALL_PEAKS, maker=maker, kind=kind)
    assert format_of(card, "float32") == format_of(card, "") == taken
    assert peak_of(card, "float32") == card.peak_flops_per_s[taken]
    assert peak_of(card, "mixed_bfloat16") == 16e12


def test_who_asks_for_tf32_by_name_gets_its_peak_from_any_maker() -> None:
    assert peak_of(replace(ALL_PEAKS, maker="AMD"), "tensorfloat32") == 8e12
    assert "its float32 peak is used" in peak_sentence(PLAIN, "tensorfloat32")


def test_of_two_half_size_peaks_that_of_the_format_that_was_asked_for_counts() -> None:
    card = replace(PLAIN, peak_flops_per_s={"float16": 2e12, "bfloat16": 1e12})
    assert [peak_of(card, p) for p in ("float16", "mixed_bfloat16")] == [2e12, 1e12]
    assert effective_precision("mixed_float16") == "float16"


def test_what_stands_for_float32_is_reported_with_how_much_longer_strict_float32_takes() -> None:
    nvidia, amd = (replace(ALL_PEAKS, maker=m) for m in ("NVIDIA", "AMD"))
    answer = from_operations(BIG, nvidia)
    assert isinstance(answer, Estimate)
    assert answer.reasons[1] == (
        "Based on the TF32 peak of the Plain, as TensorFlow and JAX multiply float32 (PyTorch "
        "in its convolutions, not in its matmuls); in strict float32 it takes up to 8 times as "
        "long."
    )
    assert peak_sentence(amd, "float32") == (
        "Based on the float32 peak of the Plain: TF32 is 8 times as fast by its data sheet but "
        "is off by default."
    )
    tpu = replace(PLAIN, kind="tpu", peak_flops_per_s={"bfloat16": 1e12})
    assert peak_sentence(tpu, "float32").endswith(
        "in strict float32 it takes several times as long."
    )
    same = replace(nvidia, peak_flops_per_s={"float32": 1e12, "tensorfloat32": 1e12})
    assert peak_sentence(same, "float32") == peak_sentence(PLAIN, "float32") == ""


def test_without_a_float32_peak_that_of_bfloat16_is_not_taken() -> None:
    gaudi = replace(PLAIN, name="Gaudi", maker="Intel", kind="other",
                    peak_flops_per_s={"bfloat16": 1e15})  # fmt: skip
    refused = from_operations(BIG, gaudi)
    assert isinstance(refused, Refusal)
    assert refused.reason == (
        "The data sheet of the Gaudi lists no peak for float32. The bfloat16 peak is no "
        "substitute: choose bfloat16 if your job allows it."
    )
    sheet = sheet_of(gaudi)
    assert sheet is not None
    assert set(sheet.peak_flops_per_s) == {"float16"}


def test_an_answer_by_the_data_sheets_of_both_says_which_peak_was_taken() -> None:
    library = library_of(CATALOG, [row(RUN)])
    twice = replace(TWICE, maker="AMD", peak_flops_per_s={"float32": 2e14, "tensorfloat32": 8e14})
    answer = rate_on(job(), Hardware(label="1 x Twice", accelerator=twice), library).samples_per_s
    assert isinstance(answer, Estimate)
    assert any("TF32 is 4 times as fast" in reason for reason in answer.reasons)


def test_what_was_timed_elsewhere_is_named_where_it_reports_nothing() -> None:
    of = replace(job(), train_flops_per_sample=None)
    answer = from_operations(of, replace(PLAIN, name="Chip", kind="cpu"))
    assert isinstance(answer, Refusal)
    assert "was timed on Plain, which gives no estimate for the Chip" in answer.reason
    none = from_operations(replace(DESCRIBED, train_flops_per_sample=None), PLAIN)
    assert isinstance(none, Refusal)
    assert "was timed on no accelerator of the catalogue" in none.reason


def test_where_not_one_sample_fits_a_larger_accelerator_is_to_be_measured() -> None:
    huge = replace(job(), memory=((10.0, 60e9), (20.0, 70e9)))
    assert measure_on(huge, PLAIN).sentence() == (
        "Not one sample fits on a device of the Plain. Measure Net · Data on an accelerator with "
        "more memory."
    )


def test_half_size_formats_are_never_reckoned_at_the_float32_peak() -> None:
    old = replace(PLAIN, peak_flops_per_s={"float32": 1e14})
    assert peak_of(old, "bfloat16") is None
    assert peak_of(old, "mixed_float16") is None
    refused = from_operations(replace(DESCRIBED, precision="bfloat16"), old)
    assert isinstance(refused, Refusal)
    assert refused.reason.endswith("The float32 peak is no substitute.")
    sheet = sheet_of(old)
    assert sheet is not None
    assert set(sheet.peak_flops_per_s) == {"float32"}


def test_a_card_without_bfloat16_says_that_float16_is_taken() -> None:
    answer = from_operations(replace(BIG, precision="bfloat16"), PLAIN)
    assert isinstance(answer, Estimate)
    assert any("lists no bfloat16 peak; its float16 peak is used" in r for r in answer.reasons)
    own = from_operations(replace(BIG, precision="float16"), PLAIN)
    assert isinstance(own, Estimate)
    assert not any("is taken" in r for r in own.reasons)


def test_a_module_of_two_devices_loses_what_two_cards_lose() -> None:
    module = Hardware(label="1 x Module", accelerator=replace(PLAIN, devices=2))
    one = _value(from_operations(BIG, PLAIN))
    rate = _value(rate_on(BIG, module, None).samples_per_s)
    assert rate == pytest.approx(one * math.exp(-NODE_LOSS), rel=1e-3)
    assert per_accelerator(rate, module) == pytest.approx(one, rel=1e-3)


def test_a_sheet_without_bandwidth_is_no_sheet() -> None:
    assert sheet_of(replace(PLAIN, memory_bandwidth_bytes_per_s=None)) is None
    assert library_of(CATALOG, []) is None


# -- from several that were measured -------------------------------------------------------------


def _on(count: int, nodes: int = 1) -> Hardware:
    return Hardware(label=f"{count} x Plain", accelerator=PLAIN, count=count, nodes=nodes)


def _measured(*answer: tuple[int, float]) -> tuple[Job, Library | None]:
    """So many of the plain card together did so many samples/s, each on a system of its own."""
    runs = [
        other(f"Plain x{n}", name, samples_per_s=speed)
        for (n, speed), name in zip(answer, "bcd", strict=False)
    ]
    rows = [row(r, accelerator_model_name="Plain", accelerators_per_node=n)
            for r, (n, _) in zip(runs, answer, strict=True)]  # fmt: skip
    return job_measured("Net · Data", rows, options_of(runs), CATALOG), library_of(CATALOG, rows)


@pytest.mark.parametrize("count", [1, 2, 4, 8])
def test_another_count_is_what_was_measured_over_both_efficiencies(count: int) -> None:
    of, library = _measured((4, 320.0))
    factor = count * float(efficiency(count, 1).value) / (4 * float(efficiency(4, 1).value))
    assert _value(rate_on(of, _on(count), library).samples_per_s) == pytest.approx(320.0 * factor)


def test_its_uncertainty_is_that_of_the_doublings_between_them() -> None:
    of, library = _measured((4, 320.0))
    half = float(t_quantile(0.9, SPREAD_DOF)) * NODE_SD
    for count, octaves in ((1, 2.0), (2, 1.0), (8, 1.0)):
        answer = rate_on(of, _on(count), library).scaling
        assert answer is not None
        assert answer.fewer is (count < 4)
        width = math.log(float(answer.factor.high) / float(answer.factor.low))
        assert width == pytest.approx(2.0 * octaves * half)
    assert rate_on(of, _on(4), library).scaling is None


def test_the_nearest_of_several_measured_numbers_counts() -> None:
    of, library = _measured((1, 100.0), (4, 250.0))  # four scale far worse than the rule
    answer = rate_on(of, _on(8), library)
    step = 2.0 * math.exp(-NODE_LOSS)
    assert _value(answer.samples_per_s) == pytest.approx(250.0 * step)
    found = nearest_measured(of, _on(8))
    assert found is not None
    assert found[0].count == 4
    assert nearest_measured(of, _on(1)) is not None
    assert nearest_measured(of, Hardware(label="1 x Twice", accelerator=TWICE)) is None


def test_where_four_were_measured_one_says_so_and_asks_for_its_run() -> None:
    of, library = _measured((4, 320.0))
    answer = rate_on(of, _on(1), library)
    assert isinstance(answer.samples_per_s, Estimate)
    assert answer.samples_per_s.basis == "similar workload"
    assert answer.samples_per_s.reasons[-1].startswith(
        "One accelerator was not measured, 4 were: in public runs each reaches 122 %"
    )
    assert answer.next_run is not None
    assert answer.next_run.sentence() == "Measure Net · Data on 1 x Plain."


def test_from_one_node_to_several_the_link_between_them_is_uncertain() -> None:
    of, library = _measured((8, 640.0))
    two, one = (rate_on(of, _on(16, nodes), library).scaling for nodes in (2, 1))
    assert two is not None
    assert one is not None
    half = float(t_quantile(0.9, SPREAD_DOF)) * NODES_SD
    assert math.log(float(two.factor.high) / float(two.factor.value)) == pytest.approx(half)
    assert two.across_nodes
    assert not two.fewer
    back = scaling_from(_on(8), _on(16, 2))
    assert back.fewer
    assert back.across_nodes


def test_a_module_that_was_measured_has_no_uncertainty_of_the_two_devices_in_it() -> None:
    module = replace(PLAIN, devices=2)
    there = Hardware(label="1 x Plain", accelerator=module)
    answer = scaling_from(there, there)
    assert answer.factor.low == answer.factor.value == answer.factor.high == 1.0


@pytest.mark.parametrize(
    ("params", "where"),
    [(1e6, "one Plain"), (5e9, "4 x Plain"), (1e10, "8 x Plain"), (2e10, "16 x Plain")],
)
def test_what_to_measure_is_a_run_that_fits(params: float, where: str) -> None:
    large = replace(DESCRIBED, params=params)
    answer = rate_on(
        large, Hardware(label="64 x Plain", accelerator=PLAIN, count=64, nodes=8), None
    )
    assert answer.next_run is not None
    assert answer.next_run.sentence() == f"Measure {large.workload} on {where}."


# -- links of their own ----------------------------------------------------------------------------


@each(
    ("link", "loss"),
    [("NVLink 4", 0.03), ("ICI", 0.03), ("Infinity Fabric", 0.03), ("100 Gb/s Ethernet x10", 0.03),
     ("NVLink 3 bridge", 0.10), ("PCIe 4.0 x16", 0.10), ("", 0.10)],
)  # fmt: skip
def test_accelerators_with_links_of_their_own_lose_less(link: str, loss: float) -> None:
    eight = Hardware(label="8", accelerator=replace(PLAIN, link_name=link), count=8)
    assert float(efficiency_on(eight).value) == pytest.approx(math.exp(-3.0 * loss))
    several = replace(eight, count=16, nodes=2)
    assert float(efficiency_on(several).value) == float(efficiency(16, 2).value)


def test_a_described_job_takes_no_run_of_another_network_with_its_name() -> None:
    measured, library = _measured((1, 1000.0))
    described = replace(DESCRIBED, workload=measured.workload, precision=measured.precision)
    answer = rate_on(described, _on(1), library).samples_per_s
    assert isinstance(answer, Estimate)
    assert answer.basis == "estimated from FLOPs"
    assert _value(answer) == _value(rate_on(described, _on(1), None).samples_per_s)
