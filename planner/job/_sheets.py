"""Data sheets in the form that the estimates of speed need.

Frameworks do not use the number format they are asked for alone. What a float32 run multiplies in
unless it is told otherwise, and so the peak that it works against:

    NVIDIA since Ampere   TF32       TensorFlow ("enable_tensor_float_32_execution"), JAX ("Matmul
                                     precision"); PyTorch in convolutions, not in its matmuls
    TPU                   bfloat16   JAX ("Matmul precision")
    AWS Trainium          bfloat16   AWS Neuron ("Mixed precision and performance-accuracy tuning")
    all others            float32    TensorFlow (the same page); AMD's TF32 has to be switched on
                                     (HIPBLASLT_ALLOW_TF32=1)

What stands for float32 is told with every answer (`peak_told`). Who asks for TF32 by name gets its
peak from any maker. What has no float32 peak (Gaudi) gets no float32 answer.

A half-size format is never reckoned at the float32 peak: tensor units are four times as fast or
more, so that what looks like a slow card would only be an incomplete data sheet.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

from planner.catalog import Accelerator, Catalog
from planner.job._placing import placed
from planner.job.efficiency import per_accelerator
from planner.transfer import DataSheet, Library, fit_library

_HALF: Final = frozenset({"float16", "bfloat16", "mixed_float16", "mixed_bfloat16", "fp16", "bf16"})
_TF32: Final = frozenset({"tensorfloat32", "tf32"})
_SINGLE: Final = frozenset({"float32", "fp32", *_TF32})
EFFECTIVE: Final = ("float32", "float16")


def effective_precision(precision: str) -> str:
    """The number format whose peak counts: float32, float16 or as it is written."""
    if precision in _SINGLE or not precision:
        return "float32"
    return "float16" if precision in _HALF else precision


def format_of(accelerator: Accelerator, precision: str) -> str | None:
    """The number format whose peak a run in this precision works against; None where none is."""
    known = accelerator.peak_flops_per_s
    return next((one for one in _formats(accelerator, precision) if one in known), None)


def peak_of(accelerator: Accelerator, precision: str) -> float | None:
    """Dense peak [FLOP/s] a run in this precision works against; None where not published."""
    found = format_of(accelerator, precision)
    return None if found is None else accelerator.peak_flops_per_s[found]


def peak_told(accelerator: Accelerator, precision: str) -> str:
    """Which other format's peak stands for the one asked for, as a sentence; "" where none does."""
    asked, taken = _asked(precision), format_of(accelerator, precision)
    if asked == "float32":
        return _float32_told(accelerator, taken)
    if taken is None or taken == asked:
        return ""
    return (
        f"The {accelerator.name} data sheet lists no {asked} peak; its {taken} peak is used, so "
        f"it would have to run in {taken}."
    )


def no_peak(accelerator: Accelerator, precision: str) -> str:
    """Why `peak_of` has no answer, as a sentence."""
    why = f"The data sheet of the {accelerator.name} lists no peak for {precision}."
    known, effective = accelerator.peak_flops_per_s, effective_precision(precision)
    if effective == "float16" and "float32" in known:
        return f"{why} That of float32 says nothing about it."
    if effective == "float32" and "bfloat16" in known:
        return f"{why} That of bfloat16 says nothing about it: ask in bfloat16 where that will do."
    return why


def _asked(precision: str) -> str:
    """The format that was asked for, as the catalogue writes it."""
    if precision in _TF32:
        return "tensorfloat32"
    if precision in _SINGLE or not precision:
        return "float32"
    return precision.removeprefix("mixed_").replace("fp16", "float16").replace("bf16", "bfloat16")


def _formats(accelerator: Accelerator, precision: str) -> tuple[str, ...]:
    """Formats whose peak may count, the best first."""
    asked = _asked(precision)
    if effective_precision(precision) == "float16":
        return (asked, *({"float16", "bfloat16"} - {asked}))
    if effective_precision(precision) != "float32":
        return (precision,)
    if accelerator.kind == "tpu" or (asked == "float32" and _trainium(accelerator)):
        return ("bfloat16",)
    if asked == "tensorfloat32" or _nvidia(accelerator):
        return ("tensorfloat32", "float32")
    return ("float32",)


def _nvidia(accelerator: Accelerator) -> bool:
    return accelerator.maker.casefold().startswith("nvidia")


def _trainium(accelerator: Accelerator) -> bool:
    maker = accelerator.maker.casefold()
    return accelerator.kind == "other" and maker.startswith(("aws", "amazon"))


def _float32_told(accelerator: Accelerator, taken: str | None) -> str:
    """What stands for float32, why, and how much slower strict float32 is."""
    peaks, name = accelerator.peak_flops_per_s, accelerator.name
    if taken == "float32":
        faster = peaks.get("tensorfloat32", 0.0) / peaks["float32"]
        tf32 = f"TF32, {faster:.2g} times as fast by its data sheet, has to be switched on there."
        return f"Reckoned at the float32 peak of the {name}: {tf32}" if faster > 1.0 else ""
    slower = peaks[taken] / peaks["float32"] if taken and "float32" in peaks else math.nan
    if taken is None or slower == 1.0:
        return ""
    by = "several times" if math.isnan(slower) else f"up to {slower:.2g} times"
    why = _WHY_TF32 if taken == "tensorfloat32" else _WHY_BFLOAT16
    told = "TF32" if taken == "tensorfloat32" else taken
    strict = f"in strict float32 it takes {by} as long"
    return f"Reckoned at the {told} peak of the {name}, {why}; {strict}."


_WHY_TF32: Final = (
    "as TensorFlow and JAX multiply float32 (PyTorch in its convolutions, not in its matmuls)"
)
_WHY_BFLOAT16: Final = "in which it multiplies float32 unless it is told otherwise"


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
