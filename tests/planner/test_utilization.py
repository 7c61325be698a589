from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.estimate import Refusal
from planner.utilization import DATA_SHEETS, sentence, utilizations

ROW = {
    "train_flops_per_sample": 90.7e9,
    "throughput": 1_000.0,
    "gemm_flops_per_s": 600e12,
    "accelerator_model_name": "NVIDIA H200",
    "precision": "mixed_bfloat16",
}


def test_mfu_is_operations_per_second_over_each_peak() -> None:
    measured, sold = utilizations(ROW)
    assert measured.share == pytest.approx(90.7e12 / 600e12)
    assert sold.share == pytest.approx(90.7e12 / 989e12)
    assert "data sheet" in sold.basis


def test_float32_and_bfloat16_have_peaks_of_their_own() -> None:
    _, sold = utilizations(ROW | {"precision": "float32"})
    assert sold.peak_flops_per_s == DATA_SHEETS["H200"]["float32"]


@pytest.mark.parametrize("missing", ["train_flops_per_sample", "throughput"])
def test_what_was_not_measured_gives_no_share(missing: str) -> None:
    assert utilizations({k: v for k, v in ROW.items() if k != missing}) == ()


def test_a_processor_has_no_data_sheet_here() -> None:
    row = ROW | {"accelerator_model_name": None}
    assert [u.basis for u in utilizations(row)] == ["a matrix product measured beside it"]


def test_a_pcie_card_is_not_taken_for_the_faster_one_of_its_name() -> None:
    assert len(utilizations(ROW | {"accelerator_model_name": "NVIDIA H100 PCIe"})) == 1


def test_a_card_is_found_by_a_whole_word_of_its_name() -> None:
    assert len(utilizations(ROW | {"accelerator_model_name": "Tesla V100S"})) == 1
    found = utilizations(ROW | {"accelerator_model_name": "NVIDIA A100-SXM4-80GB"})
    assert found[1].peak_flops_per_s == 312e12


def test_the_sentence_names_speed_and_both_peaks() -> None:
    told = sentence(ROW)
    assert told == (
        "The network's operations run at 90.7 TFLOP/s: 15.1% of a matrix product measured beside "
        "it (600 TFLOP/s) and 9.2% of its data sheet (989 TFLOP/s)."
    )
    assert sentence({}) is None


def test_a_run_faster_than_the_product_beside_it_has_no_share_of_it() -> None:
    slow = ROW | {"gemm_flops_per_s": 90e12, "accelerator_model_name": None}
    [used] = utilizations(slow)
    assert isinstance(used.share, Refusal)
    assert used.peak_flops_per_s == 90e12
    assert sentence(slow) == (
        "The network's operations run at 90.7 TFLOP/s. Their share of a matrix product measured "
        "beside it (90 TFLOP/s) cannot be told from this run: the matrix product met a slower "
        "moment of the machine than the run did. See a quieter run of the same machine."
    )


def test_one_peak_that_cannot_be_leaves_the_other_one_told() -> None:
    told = sentence(ROW | {"gemm_flops_per_s": 90e12}) or ""
    assert "90.7 TFLOP/s: 9.2% of its data sheet (989 TFLOP/s). Their share of a matrix" in told
    above = sentence(ROW | {"throughput": 2e4, "gemm_flops_per_s": None}) or ""
    assert "that is more than the card can do" in above
    assert "%" not in above


def test_a_run_as_fast_as_its_peak_uses_all_of_it() -> None:
    assert utilizations(ROW | {"gemm_flops_per_s": 90.7e12})[0].share == 1.0


@given(*[st.floats(1e-3, 1e18)] * 3)
def test_no_percentage_is_above_100(flops: float, samples_per_s: float, peak: float) -> None:
    row = {"train_flops_per_sample": flops, "throughput": samples_per_s, "gemm_flops_per_s": peak}
    told = sentence(row)
    assert told is not None
    shares = [float(word[:-1]) for word in told.split() if word.endswith("%")]
    assert shares == [] or shares[0] <= 100.0
