"""Published rows name their accelerators in many ways; the catalogue has one row for each."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Final

import pytest

from planner.catalog import Catalog
from planner.published import (
    PublishedRow,
    accelerators_of,
    read_rows,
    unknown_accelerators,
)
from planner.store.catalog import read_catalog
from tests.each import each

ROOT: Final = Path(__file__).resolve().parents[3]
LIBRARY: Final = ROOT.parent / "shared" / "library"


@functools.cache
def catalog() -> Catalog:
    return read_catalog(ROOT / "data" / "catalog").catalog


def found(
    text: str | None, memory: float | None = None, *, note: str | None = None,
    path: str | None = None,
) -> str | None:  # fmt: skip
    row = PublishedRow(
        file="t", line=2, model="m", accelerator=text, accelerator_memory_gb=memory, note=note,
        path=path,
    )  # fmt: skip
    (known,) = accelerators_of([row], catalog())
    return known.id if known else None


def test_a_row_on_a_k80_counts_the_gpus_of_its_board() -> None:
    row = PublishedRow(file="t", line=2, model="m", accelerator="Tesla K80")
    (one,) = accelerators_of([row], catalog())
    board = next(a for a in catalog().accelerators if a.id == "k80")
    assert one is not None
    assert (one.devices, board.devices) == (1, 2)
    assert one.peak_flops_per_s["float32"] == board.peak_flops_per_s["float32"] / 2
    assert board.memory_bytes is not None
    assert one.memory_bytes == board.memory_bytes / 2


@each(
    ("text", "name"),
    [
        ("DGX-H100", "h100-sxm"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm"),
        ("8x H100 80G SXM", "h100-sxm"),
        ("H100二机16卡", "h100-sxm"),
        ("NVIDIA H100-PCIe-80GB", "h100-pcie"),
        ("H100 NVL Tensor Core GPU (PCIe)", "h100-nvl"),
        ("NVIDIA H200-NVL-141GB", "h200-nvl"),
        ("NVIDIA H200-SXM5-141GB", "h200-sxm"),
        ("NVIDIA Blackwell GPU (B200-SXM-180GB)", "b200"),
        ("NVIDIA Blackwell Ultra GPU (GB300)", "gb300"),
        ("NVIDIA A100-SXM4-80GB (400W)", "a100-sxm-80gb"),
        ("NVIDIA A100 - PCIe - 80 GB", "a100-pcie-80gb"),
        ("A100-40G", "a100-sxm-40gb"),
        ("A100 400W", "a100-sxm-40gb"),
        ("A10G", "a10g"),
        ("Nvidia Tesla V100S-PCIe-32GB", "v100s"),
        ("AMD Instinct MI325X 256GB HBM3E DLC", "mi325x"),
        ("AMD Radeon RX 7700S NO OPT", "rx-7700s"),
        ("GeForce RTX 4060 TI 16GB", "rtx-4060-ti-16gb"),
        ("GeForce RTX 2060 MaxQ", "rtx-2060-max-q"),
        ("Titan V (12GB)", "titan-v"),
        ("TITAN XP", "titan-xp"),
        ("TPU-trillium", "tpu-v6e"),
        ("TPU-v4", "tpu-v4"),
        ("Habana Gaudi HL-205", "gaudi1"),
        ("Habana Gaudi2", "gaudi2"),
        ("Trainium1 (trn1.32xlarge/trn1n)", "trainium1"),
        ("Graphcore Bow IPU", "ipu-bow"),
        ("Ascend910", "ascend-910"),
        ("Atlas 800T A2", "ascend-910b"),
        ("Bi-150", "bi-v150"),
        ("H800-SXM4-80GB", "h800-sxm"),
        ("Apple M1 Max 32c", "apple-m1-max"),
        ("Apple M3 Pro", "apple-m3-pro"),
        ("CPU only: Intel(R) Xeon(R) Platinum 8480+ @ 2.00GHz", "xeon-8480-plus"),
    ],
)
def test_a_name_means_its_accelerator(text: str, name: str) -> None:
    assert found(text) == name


@each("text", [
        None, "", "*", "GPU", "GPU (type not stated here)", "Gaudi 9", "A1000", "H10", "M1000",
        "Gaudi HPU (generation not in stored excerpt)", "RTX 409", "TPU", "TPU v99", "x" * 5_000,
    ])  # fmt: skip
def test_a_name_of_none_is_never_guessed(text: str | None) -> None:
    assert found(text) is None


def test_the_stated_memory_chooses_the_variant() -> None:
    assert found("A100", 80.0) == "a100-sxm-80gb"
    assert found("A100", 40.0) == "a100-sxm-40gb"
    assert found("V100", 32.0) == "v100-sxm-32gb"
    assert found("V100") == "v100-sxm-16gb"
    assert found("A100", 8.0) == "a100-sxm-40gb"
    assert found("A100", note="on NVIDIA DGX A100 (8x A100 80GB)") == "a100-sxm-80gb"


def test_a_bare_tpu_is_named_by_the_path_of_its_system() -> None:
    assert found("TPU", path="Google/results/tpu-v3-1024-TF/gnmt") == "tpu-v3"
    assert found("TPU", path="Google/results/tpu-v4-512-TF/bert") == "tpu-v4"


@pytest.mark.skipif(not LIBRARY.is_dir(), reason="the library is not beside this checkout")
def test_nearly_every_row_of_the_library_is_of_a_catalogue_entry() -> None:
    rows, _ = read_rows(LIBRARY)
    known = accelerators_of(rows, catalog())
    without = {row.accelerator for row, a in zip(rows, known, strict=True) if a is None}
    assert without <= {
        None, "*", "H100-5", "GPU (type not in stored text)", "GPU (type not stated here)",
        "Gaudi HPU (generation not in stored excerpt)",
        "CPU only: Intel(R) Xeon(R) code named Sapphire Rapids",
        "CPU only: Intel(R) Xeon(R) Platinum 8380H CPU @ 2.90GHz",
    }  # fmt: skip
    assert len({a.id for a in known if a}) >= 55


def test_names_that_the_catalogue_lacks_are_listed_once_a_file() -> None:
    names = ("A100", "Z9000", None, "Z9000", "x" * 500)
    rows = [PublishedRow(file="t.tsv", line=n, accelerator=a) for n, a in enumerate(names, 2)]
    first, none, long = unknown_accelerators(rows, catalog())
    assert first.startswith("t.tsv, lines 3, 5: 'Z9000' is not in the catalogue.")
    assert none.startswith("t.tsv, line 4: no accelerator is named.")
    assert len(long) < 200
