"""MFU: the share of a peak, and whose peak it is."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.catalog import Accelerator, Catalog
from planner.core import Refusal
from planner.job import utilization
from planner.job.utilization import Utilization
from planner.store.catalog import read_catalog
from tests.each import each

ROOT = Path(__file__).parents[3]
SHIPPED = read_catalog(ROOT / "data" / "catalog").catalog
BY_ID = {a.id: a for a in SHIPPED.accelerators}
ROW: dict[str, Any] = {
    "train_flops_per_sample": 90.7e9,
    "throughput": 1_000.0,
    "gemm_flops_per_s": 600e12,
    "accelerator_model_name": "NVIDIA H200",
    "precision": "mixed_bfloat16",
}


def utilizations(row: dict[str, Any], catalog: Catalog = SHIPPED) -> tuple[Utilization, ...]:
    return utilization.utilizations(row, catalog)


def sentence(row: dict[str, Any]) -> str | None:
    return utilization.sentence(row, SHIPPED)


def sold(**changes: object) -> Utilization | None:
    """What is told against the data sheet."""
    found = utilizations(ROW | {"gemm_flops_per_s": None} | changes)
    return found[0] if found else None


def test_mfu_is_operations_per_second_over_each_peak() -> None:
    measured, sheet = utilizations(ROW)
    assert measured.share == pytest.approx(90.7e12 / 600e12)
    assert sheet.share == pytest.approx(90.7e12 / 989.4e12)
    assert "data sheet" in sheet.source


@each(
    ("precision", "format_of_it"),
    [("float32", "tensorfloat32"), ("mixed_bfloat16", "bfloat16"), ("float16", "float16"),
     ("bfloat16", "bfloat16"), ("int8", "int8")],
)  # fmt: skip
@each(("name", "of"), [("NVIDIA H200", "h200-sxm"), ("NVIDIA H100 PCIe", "h100-pcie"),
     ("NVIDIA H100 80GB HBM3", "h100-sxm"), ("NVIDIA A100-SXM4-80GB", "a100-sxm-80gb"),
     ("NVIDIA A100 80GB PCIe", "a100-pcie-80gb"), ("NVIDIA L4", "l4")])  # fmt: skip
def test_each_form_and_format_has_the_peak_of_the_catalogue(
    precision: str, format_of_it: str, name: str, of: str
) -> None:
    found = sold(accelerator_model_name=name, precision=precision)
    assert found is not None
    assert found.peak_flops_per_s == BY_ID[of].peak_flops_per_s[format_of_it]
    assert format_of_it in found.details


def test_every_accelerator_of_the_catalogue_is_compared_with_its_own_peak() -> None:
    for one in SHIPPED.accelerators:
        found = sold(accelerator_model_name=one.name, accelerators_per_node=one.devices,
                     precision="bfloat16")  # fmt: skip
        halves = {one.peak_flops_per_s.get(p) for p in ("bfloat16", "float16")} - {None}
        if one.kind == "cpu" or not halves:
            assert found is None
        else:
            assert found is not None
            assert found.peak_flops_per_s in halves


def test_the_slower_card_of_a_name_is_not_taken_for_the_faster_one() -> None:
    pcie, sxm = (sold(accelerator_model_name=f"NVIDIA H100 {n}") for n in ("PCIe", "80GB HBM3"))
    assert pcie is not None
    assert sxm is not None
    assert pcie.peak_flops_per_s < sxm.peak_flops_per_s


@each("name", ["V100", "A100", "Tesla", "nothing like it", "", None])
def test_a_name_that_several_cards_share_has_no_data_sheet(name: str | None) -> None:
    assert sold(accelerator_model_name=name) is None


def test_eight_cards_have_eight_times_the_peak_and_half_a_board_has_half() -> None:
    one, eight = sold(), sold(accelerators_per_node=4, number_of_nodes=2)
    assert one is not None
    assert eight is not None
    assert eight.peak_flops_per_s == 8 * one.peak_flops_per_s
    assert "8 x H200" in eight.details[0]
    half = sold(accelerator_model_name="Tesla K80", precision="float32", throughput=1.0)
    assert half is not None
    assert half.peak_flops_per_s == BY_ID["k80"].peak_flops_per_s["float32"] / 2


def test_own_rows_of_the_catalogue_count_too() -> None:
    mine = Accelerator(id="mine", name="Mine 9", maker="Me", kind="gpu", source_url="x",
                       as_of=date(2026, 1, 1), peak_flops_per_s={"float32": 1e15})  # fmt: skip
    row = ROW | {"accelerator_model_name": "Mine 9", "precision": "float32"}
    found = utilizations(row, Catalog(accelerators=(mine,)))
    assert found[1].peak_flops_per_s == 1e15
    assert len(utilizations(row, Catalog())) == 1


@pytest.mark.parametrize("missing", ["train_flops_per_sample", "throughput"])
def test_what_was_not_measured_gives_no_share(missing: str) -> None:
    assert utilizations({k: v for k, v in ROW.items() if k != missing}) == ()


@pytest.mark.parametrize("name", [None, "AMD EPYC 7742"])
def test_a_processor_has_no_data_sheet_here(name: str | None) -> None:
    row = ROW | {"accelerator_model_name": name, "precision": "float32"}
    assert [u.source for u in utilizations(row)] == ["a matrix product measured beside it"]


def test_the_sentence_names_speed_and_both_peaks() -> None:
    text = sentence(ROW)
    assert text == (
        "The network's operations run at 90.7 TFLOP/s: 15.1 % of a matrix product measured beside "
        "it (600 TFLOP/s) and 9.2 % of its data sheet (H200 SXM5 141GB, bfloat16, 989 TFLOP/s)."
    )
    assert sentence({}) is None


def test_a_run_faster_than_the_product_beside_it_has_no_share_of_it() -> None:
    slow = ROW | {"gemm_flops_per_s": 90e12, "accelerator_model_name": None}
    [used] = utilizations(slow)
    assert isinstance(used.share, Refusal)
    assert used.peak_flops_per_s == 90e12
    assert sentence(slow) == (
        "The network's operations run at 90.7 TFLOP/s. The share of a matrix product measured "
        "beside it (90 TFLOP/s) cannot be computed from this run. The machine was slower "
        "during the matrix product than during the run. "
        "Use a run of the same machine with less load."
    )


def test_one_peak_that_cannot_be_leaves_the_other_one_reported() -> None:
    text = sentence(ROW | {"gemm_flops_per_s": 90e12}) or ""
    assert "90.7 TFLOP/s: 9.2 % of its data sheet (H200 SXM5 141GB, bfloat16, 989 TFLOP/s)." in text
    above = sentence(ROW | {"throughput": 2e4, "gemm_flops_per_s": None}) or ""
    assert "It exceeds the card's peak" in above
    assert "%" not in above


def test_a_run_of_no_stated_precision_has_no_share_of_a_data_sheet() -> None:
    """Rows of MLPerf state none; of the TF32 peak, BERT would use 95 %."""
    assert sold(precision=None) is None
    assert utilization.shares([ROW | {"precision": None}], SHIPPED) == [None]
    assert utilization.shares([ROW | {"precision": None, "stated_mfu": 0.4}], SHIPPED) == [0.4]


def test_a_run_as_fast_as_its_peak_uses_all_of_it() -> None:
    assert utilizations(ROW | {"gemm_flops_per_s": 90.7e12})[0].share == 1.0


@given(*[st.floats(1e-3, 1e18)] * 3)
def test_no_percentage_is_above_100(flops: float, samples_per_s: float, peak: float) -> None:
    row = {"train_flops_per_sample": flops, "throughput": samples_per_s, "gemm_flops_per_s": peak}
    text = sentence(row)
    assert text is not None
    shares = [float(number) for number in re.findall(r"([\d.]+) %", text)]
    assert shares == [] or shares[0] <= 100.0
