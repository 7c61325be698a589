"""Why this file exists: data sheets as the reasoning about speed wants them.

Frameworks do not use the number format they are asked for alone: TPUs multiply float32 matrices
in bfloat16 passes unless told otherwise (JAX documentation, "default_matmul_precision"), and
NVIDIA cards since Ampere use TF32 for convolutions. So the peak that a float32 run works against is
that of TF32 where a card has it, of bfloat16 on a TPU, of float32 on all others.

A half-size format is never reckoned at the float32 peak: tensor units are four times as fast or
more, so that what looks like a slow card would only be an incomplete data sheet.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

from planner.catalog import Accelerator, Catalog
from planner.compare.efficiency import per_accelerator
from planner.compare.placing import placed
from planner.transfer import DataSheet, Library, fit_library

_HALF: Final = frozenset({"float16", "bfloat16", "mixed_float16", "mixed_bfloat16", "fp16", "bf16"})
_SINGLE: Final = frozenset({"float32", "tensorfloat32", "fp32", "tf32"})
EFFECTIVE: Final = ("float32", "float16")


def effective_precision(precision: str) -> str:
    """The number format whose peak counts: float32, float16 or as it is written."""
    if precision in _SINGLE or not precision:
        return "float32"
    return "float16" if precision in _HALF else precision


def peak_of(accelerator: Accelerator, precision: str) -> float | None:
    """Dense peak [FLOP/s] a run in this precision works against; None where not published."""
    peaks = accelerator.peak_flops_per_s
    if effective_precision(precision) == "float32":
        if accelerator.kind == "tpu":
            return peaks.get("bfloat16")
        return peaks.get("tensorfloat32") or peaks.get("float32") or peaks.get("bfloat16")
    if effective_precision(precision) == "float16":
        return peaks.get("float16") or peaks.get("bfloat16")
    return peaks.get(precision)


def peak_told(accelerator: Accelerator, precision: str) -> str:
    """Which other format's peak stands for the one asked for, as a sentence; "" where none does."""
    asked = precision.removeprefix("mixed_").replace("fp16", "float16").replace("bf16", "bfloat16")
    other = {"bfloat16": "float16", "float16": "bfloat16"}.get(asked)
    peaks = accelerator.peak_flops_per_s
    if other is None or asked in peaks or other not in peaks:
        return ""
    return (
        f"The data sheet of the {accelerator.name} tells no {asked}: its {other} peak is taken, so "
        f"it would have to run in {other}."
    )


def no_peak(accelerator: Accelerator, precision: str) -> str:
    """Why `peak_of` has no answer, as a sentence."""
    why = f"The data sheet of the {accelerator.name} tells no peak for {precision}."
    if effective_precision(precision) == "float16" and "float32" in accelerator.peak_flops_per_s:
        return f"{why} That of float32 says nothing about it."
    return why


def sheet_of(accelerator: Accelerator) -> DataSheet | None:
    """Its data sheet for `planner.transfer`; None where memory, bandwidth or peak is missing."""
    peaks = {p: x for p in EFFECTIVE if (x := peak_of(accelerator, p))}
    memory, bandwidth = accelerator.memory_bytes, accelerator.memory_bandwidth_bytes_per_s
    if not peaks or not memory or not bandwidth:
        return None
    return DataSheet(
        card=accelerator.id,
        peak_flops_per_s=peaks,
        memory_bandwidth_bytes_per_s=bandwidth,
        memory_bytes=memory,
    )


def library_of(catalog: Catalog, rows: Iterable[Mapping[str, Any]]) -> Library | None:
    """Everything that was timed on accelerators of the catalogue, as one table; None if nothing.

    Args:
        catalog: accelerators and their data sheets.
        rows: one per workload, precision and system: `workload`, `precision`, `samples_per_s` (the
            best over batches and input patterns), and what `placed` reads.
    """
    cells = []
    for row in rows:
        there, speed = placed(catalog, row), row["samples_per_s"]
        if there.accelerator is not None and speed and math.isfinite(speed):
            precision = effective_precision(str(row["precision"] or ""))
            one = per_accelerator(speed, there)
            cells.append((row["workload"], precision, there.accelerator.id, one))
    if not cells:
        return None
    best = _best(cells)
    workload, precisions, card = (list(part) for part in zip(*best, strict=True))
    sheets = [s for a in catalog.accelerators if (s := sheet_of(a))]
    return fit_library(workload, precisions, card, list(best.values()), sheets)


def _best(cells: Iterable[tuple[str, str, str, float]]) -> dict[tuple[str, str, str], float]:
    """The fastest of each cell: systems and software of one accelerator are not repetitions."""
    found: dict[tuple[str, str, str], float] = {}
    for workload, precision, card, speed in cells:
        key = (workload, precision, card)
        found[key] = max(speed, found.get(key, 0.0))
    return found
