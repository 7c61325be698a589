"""Memory of published rows against our estimate, on the library where it is here."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Final

import pytest

from backtest.published.described import scored
from backtest.published.memory import (
    fit_answers,
    memory_answers,
    memory_cases,
)
from planner.published import configurations, read_rows, rows_of
from planner.store.catalog import read_catalog

ROOT: Final = Path(__file__).parent.parent.parent
LIBRARY: Final = ROOT.parent / "shared" / "library"
HEADER: Final = (
    "source_id\tmodel\tfamily\tparams\tseq_len\timage_px\tprecision\taccelerator\t"
    "n_accelerators\tmicro_batch\tparallelism\tactivation_recompute\tmemory_gb"
)


def cases(*lines: str) -> list[float]:
    rows, _ = rows_of("\n".join([HEADER, *lines]), "made.tsv")
    assert len(rows) == len(lines)
    return [c.estimated_bytes / 1e9 for c in memory_cases(rows)]


def test_a_sharded_model_takes_its_share_of_the_state_and_its_activations() -> None:
    (plain,) = cases("x\tLlama 3 8B\tdecoder\t8030000000\t8192\t\tbf16\tH100\t8\t1\tzero3\ty\t30")
    assert plain == pytest.approx(1.5 + 128.5 / 8 + 3 * 131072 * 8192 / 1e9 + 2.5, rel=0.05)
    (kept,) = cases("x\tLlama 3 8B\tdecoder\t8030000000\t8192\t\tbf16\tH100\t8\t1\tzero3\tn\t60")
    assert kept == pytest.approx(plain + 31 * 131072 * 8192 / 1e9, rel=0.08)


def test_an_image_network_grows_with_its_batch() -> None:
    small, large = cases(
        "x\tresnet50\tcnn\t\t\t224\tamp\tA100\t1\t64\t\t\t8",
        "x\tresnet50\tcnn\t\t\t224\tamp\tA100\t1\t128\t\t\t14",
    )
    assert large - small == pytest.approx(64 * 0.07, rel=0.1)


def test_rows_without_memory_or_batch_ask_nothing() -> None:
    assert cases("x\tresnet50\tcnn\t\t\t224\tamp\tA100\t1\t64\t\t\t") == []
    assert cases("x\tresnet50\tcnn\t\t\t224\tamp\tA100\t1\t\t\t\t8") == []


def test_memory_is_estimated_within_a_third_and_hardly_anything_that_ran_is_refused() -> None:
    if not LIBRARY.is_dir():
        pytest.skip("the shared library is not here")
    rows, _ = read_rows(LIBRARY)
    found = memory_cases(rows)
    assert len(found) > 250
    assert statistics.median(c.error for c in found) < 0.36
    assert {c.family for c in found} >= {"cnn", "dense", "detection"}
    assert statistics.median(c.error for c in found if c.family == "dense") < 0.25
    ran, _ = configurations(rows, read_catalog(ROOT / "data" / "catalog", []).catalog)
    score, fits = scored(memory_answers(rows)), fit_answers(ran)
    assert score.held is not None
    assert 85.0 <= score.held <= 95.0
    assert len(fits) == sum(c.stated_devices for c in ran) > 0.9 * len(ran)
    refused = [answer.name for answer in fits if not answer.answered]
    assert refused == [
        "llama2_7b_finetune-pytorch, 1 x A100 SXM4 40GB",  # more than 8-bit moments allow
        "Mixtral-like MoE 10.4T, 256 x TPU v6e (Trillium)",  # 0.8 bytes a parameter
    ]
