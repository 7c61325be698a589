"""Model FLOPs utilisation (MFU): the share of a device's peak that a run's own operations use.

    MFU = train FLOPs per sample x samples per second / peak

Two peaks answer two questions and are never mixed: a matrix product measured on the same device
in the same format (what this machine can do today), and the maker's data sheet (what was sold).
Data sheets are those of the catalogue, which the caller passes in: forms of one card (SXM, PCIe)
and number formats have peaks of their own, several cards have so many times the peak of one, and a
name that several cards share has none. Processors have none either: a machine may be part of a
socket.
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

from planner.catalog import Accelerator, Catalog, accelerator_named
from planner.core import Refusal
from planner.job._placing import placed
from planner.job._sheets import format_of

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


def utilizations(row: Mapping[str, Any], catalog: Catalog) -> tuple[Utilization, ...]:
    """Return the MFU of a run's summary columns against each known peak; empty where none is.

    Args:
        row: the columns of one run, None or missing where nothing is recorded.
        catalog: accelerators with the peaks of their data sheets.
    """
    speed, (sheet, sold) = _flops_per_s(row), _sold(row, catalog)
    peaks = ((_PRODUCT, _PRODUCT, row.get("gemm_flops_per_s")), (_SHEET, sheet, sold))
    return tuple(
        Utilization(share=_share(speed, peak, kind), peak_flops_per_s=peak, basis=basis)
        for kind, basis, peak in peaks
        if speed and peak
    )


def _flops_per_s(row: Mapping[str, Any]) -> float | None:
    """The operations a second of the network [FLOP/s]."""
    flops, samples_per_s = row.get("train_flops_per_sample"), row.get("throughput")
    return flops * samples_per_s if flops and samples_per_s else None


def _share(speed: float, peak: float, basis: str) -> float | Refusal:
    """The share of a peak [0..1], or why none can be told."""
    return speed / peak if speed <= peak else _NO_SHARE[basis]


def _sold(row: Mapping[str, Any], catalog: Catalog) -> tuple[str, float | None]:
    """The data sheet with its number format, and the peak of all accelerators of the run [FLOP/s].

    A framework may see two devices on one accelerator; a run on one of them has half the peak.
    """
    name = row.get("accelerator_model_name")
    found = accelerator_named(catalog, str(name)) if name else None
    if not isinstance(found, Accelerator) or found.kind == "cpu":
        return _SHEET, None
    precision = format_of(found, str(row.get("precision") or ""))
    if precision is None:
        return _SHEET, None
    there = placed(catalog, row)
    devices = (row.get("accelerators_per_node") or 1) * (row.get("number_of_nodes") or 1)
    count = there.count if devices >= found.devices else devices / found.devices
    cards = f"{count:g} x {found.name}" if count != 1 else found.name
    return f"{_SHEET} ({cards}, {precision})", count * found.peak_flops_per_s[precision]


def sentence(row: Mapping[str, Any], catalog: Catalog) -> str | None:
    """Return what a person reads: the operations a second, and their share of each peak."""
    found, speed = utilizations(row, catalog), _flops_per_s(row)
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
    return f"{used.basis.removesuffix(')')}{_more(used.basis)}{_in_words(used.peak_flops_per_s)})"


def _more(basis: str) -> str:
    """What stands before the peak: a comma inside brackets that are open already."""
    return ", " if basis.endswith(")") else " ("


def _in_words(flops_per_s: float) -> str:
    for size, unit in ((1e15, "PFLOP/s"), (1e12, "TFLOP/s"), (1e9, "GFLOP/s")):
        if flops_per_s >= size:
            return f"{flops_per_s / size:.3g} {unit}"
    return f"{flops_per_s / 1e6:.3g} MFLOP/s"
