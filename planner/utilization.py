"""Model FLOPs utilisation (MFU): the share of a device's peak that a run's own operations use.

    MFU = train FLOPs per sample x samples per second / peak

Two peaks answer two questions and are never mixed: a matrix product measured on the same device
in the same format (what this machine can do today), and the vendor's data sheet (what was sold).
Operations are those of the network, not of its implementation (Chowdhery et al. 2022, PaLM,
appendix B); a fused multiply-add counts as two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

TERA: Final = 1e12

DATA_SHEETS: Final[Mapping[str, Mapping[str, float]]] = MappingProxyType(
    {
        "V100": {"float32": 15.7 * TERA, "float16": 125 * TERA},
        "T4": {"float32": 8.1 * TERA, "float16": 65 * TERA},
        "A100": {"float32": 156 * TERA, "bfloat16": 312 * TERA, "float16": 312 * TERA},
        "L4": {"float32": 60 * TERA, "bfloat16": 121 * TERA, "float16": 121 * TERA},
        "H100": {"float32": 494 * TERA, "bfloat16": 989 * TERA, "float16": 989 * TERA},
        "H200": {"float32": 494 * TERA, "bfloat16": 989 * TERA, "float16": 989 * TERA},
    }
)
"""Dense peaks [FLOP/s] of NVIDIA's data sheets (SXM cards), read November 2026: tensor cores
without sparsity; float32 of Ampere and later is TF32, which frameworks may use for it. A part of
the card's name finds its line. Processors and TPUs have none here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Utilization:
    """The share of one peak [0..1], that peak [FLOP/s], and how the peak is known."""

    share: float
    peak_flops_per_s: float
    basis: str


def utilizations(row: Mapping[str, Any]) -> tuple[Utilization, ...]:
    """MFU of a run's summary columns against each peak that is known; empty where none is."""
    flops, samples_per_s = row.get("train_flops_per_sample"), row.get("throughput")
    if not flops or not samples_per_s:
        return ()
    peaks = {
        "a matrix product measured beside it": row.get("gemm_flops_per_s"),
        "its data sheet": _sold(row),
    }
    return tuple(
        Utilization(share=flops * samples_per_s / peak, peak_flops_per_s=peak, basis=basis)
        for basis, peak in peaks.items()
        if peak
    )


def _sold(row: Mapping[str, Any]) -> float | None:
    name = str(row.get("accelerator_model_name") or "")
    number_format = str(row.get("precision") or "").removeprefix("mixed_")
    words = name.replace("-", " ").split()
    if "pcie" in name.lower():  # slower cards under the same name
        return None
    sheet = next((s for card, s in DATA_SHEETS.items() if card in words), {})
    return sheet.get(number_format)


def sentence(row: Mapping[str, Any]) -> str | None:
    """What a person reads: the operations a second, and their share of each peak."""
    found = utilizations(row)
    if not found:
        return None
    speed = found[0].share * found[0].peak_flops_per_s
    shares = " and ".join(
        f"{u.share:.1%} of {u.basis} ({_in_words(u.peak_flops_per_s)})" for u in found
    )
    return f"The network's operations run at {_in_words(speed)}: {shares}."


def _in_words(flops_per_s: float) -> str:
    for size, unit in ((1e15, "PFLOP/s"), (1e12, "TFLOP/s"), (1e9, "GFLOP/s")):
        if flops_per_s >= size:
            return f"{flops_per_s / size:.3g} {unit}"
    return f"{flops_per_s / 1e6:.3g} MFLOP/s"
