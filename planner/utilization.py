"""Model FLOPs utilisation (MFU): the share of a device's peak that a run's own operations use.

    MFU = train FLOPs per sample x samples per second / peak

Two peaks answer two questions and are never mixed: a matrix product measured on the same device
in the same format (what this machine can do today), and the vendor's data sheet (what was sold).
Operations are those of the network, not of its implementation (Chowdhery et al. 2022, PaLM,
appendix B); a fused multiply-add counts as two.

A share of more than all says that the peak is wrong. On a machine that others use too it is: of
224 shares on two shared cores five were above 1 (1.02 to 1.69), beside matrix products of 175 to
322 GFLOP/s, where the median of such products was 412. Such a share is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from planner.estimate import Refusal

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


_PRODUCT: Final = "a matrix product measured beside it"
_SHEET: Final = "its data sheet"
_NO_SHARE: Final[Mapping[str, Refusal]] = MappingProxyType(
    {
        _PRODUCT: Refusal(
            reason="the matrix product met a slower moment of the machine than the run did",
            measure_next="See a quieter run of the same machine.",
        ),
        _SHEET: Refusal(
            reason="that is more than the card can do, so it was another card or number format "
            "than recorded, or a method that needs fewer operations",
            measure_next="Compare the card's name and the precision with what was used.",
        ),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Utilization:
    """The share of one peak [0..1], that peak [FLOP/s], and how the peak is known.

    A share above 1 is a Refusal: the run itself was faster than what it is compared with.
    """

    share: float | Refusal
    peak_flops_per_s: float
    basis: str


def utilizations(row: Mapping[str, Any]) -> tuple[Utilization, ...]:
    """MFU of a run's summary columns against each peak that is known; empty where none is."""
    speed = _flops_per_s(row)
    peaks = {_PRODUCT: row.get("gemm_flops_per_s"), _SHEET: _sold(row)}
    return tuple(
        Utilization(share=_share(speed, peak, basis), peak_flops_per_s=peak, basis=basis)
        for basis, peak in peaks.items()
        if speed and peak
    )


def _flops_per_s(row: Mapping[str, Any]) -> float | None:
    """The operations a second of the network [FLOP/s]."""
    flops, samples_per_s = row.get("train_flops_per_sample"), row.get("throughput")
    return flops * samples_per_s if flops and samples_per_s else None


def _share(speed: float, peak: float, basis: str) -> float | Refusal:
    """The share of a peak [0..1], or why none can be told."""
    return speed / peak if speed <= peak else _NO_SHARE[basis]


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
    found, speed = utilizations(row), _flops_per_s(row)
    if not found or not speed:
        return None
    known = [f"{u.share:.1%} of {_peak(u)}" for u in found if not isinstance(u.share, Refusal)]
    shares = f": {' and '.join(known)}" if known else ""
    refused = [
        f"Their share of {_peak(u)} cannot be told from this run: {u.share.reason}. "
        f"{u.share.measure_next}"
        for u in found
        if isinstance(u.share, Refusal)
    ]
    return " ".join([f"The network's operations run at {_in_words(speed)}{shares}.", *refused])


def _peak(used: Utilization) -> str:
    return f"{used.basis} ({_in_words(used.peak_flops_per_s)})"


def _in_words(flops_per_s: float) -> str:
    for size, unit in ((1e15, "PFLOP/s"), (1e12, "TFLOP/s"), (1e9, "GFLOP/s")):
        if flops_per_s >= size:
            return f"{flops_per_s / size:.3g} {unit}"
    return f"{flops_per_s / 1e6:.3g} MFLOP/s"
