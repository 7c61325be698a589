"""Model FLOPs utilisation (MFU): the share of a device's peak that a run uses.

    MFU = train FLOPs per sample x samples per second / peak

Two peaks are kept apart: a matrix product measured on the same device in the same format, and the
maker's data sheet. Data sheets are those of the catalogue, which the caller passes in. Forms of one
card (SXM, PCIe) and number formats have peaks of their own; n cards have n times the peak. A name
of several cards has none, nor has a processor: a machine may be part of a socket. A run of no
stated format has none either: published ones rarely mean float32.
Operations are those of the network, not of its implementation (Chowdhery et al. 2022, PaLM,
appendix B); a fused multiply-add counts as two.

A share above 1 means that the peak is wrong, and is refused. It happens on shared machines.

Evidence: docs/evidence.md#model-flops-utilisation.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from planner.catalog import Catalog, sole_accelerator
from planner.core import Refusal, Text, percent
from planner.job._placing import format_of, placed

_CARD: Final = (
    "accelerator_model_name", "system", "system_name", "precision", "accelerators_per_node",
    "number_of_nodes",
)  # fmt: skip
_PRODUCT: Final = "a matrix product measured beside it"
_SHEET: Final = "its data sheet"
_NO_SHARE: Final[Mapping[str, Refusal]] = MappingProxyType(
    {
        _PRODUCT: Refusal(
            reason=Text("The machine was slower during the matrix product than during the run."),
            measure_next=Text("Use a run of the same machine with less load."),
        ),
        _SHEET: Refusal(
            reason=Text(
                "It exceeds the card's peak, so the card or number format differs from the record, "
                "or the method needs fewer operations."
            ),
            measure_next=Text("Check the recorded card and precision."),
        ),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Utilization:
    """The share of one peak [0..1], that peak [FLOP/s], its source and what it is a peak of.

    A share above 1 is a Refusal.
    """

    share: float | Refusal
    peak_flops_per_s: float
    source: str
    details: tuple[str, ...] = ()


def utilizations(row: Mapping[str, Any], catalog: Catalog) -> tuple[Utilization, ...]:
    """Return the MFU of a run against each available peak; empty where there is none.

    Args:
        row: the columns of one run, None or missing where nothing is recorded.
        catalog: accelerators with the peaks of their data sheets.
    """
    speed, (details, sold) = _flops_per_s(row), _sold(row, catalog)
    peaks = ((_PRODUCT, (), row.get("gemm_flops_per_s")), (_SHEET, details, sold))
    return tuple(
        Utilization(
            share=_share(speed, peak, source), peak_flops_per_s=peak, source=source, details=of
        )
        for source, of, peak in peaks
        if speed and peak
    )


def shares(rows: Iterable[Mapping[str, Any]], catalog: Catalog) -> list[float | None]:
    """Return the MFU of each run: as its source states it, else of its data sheet's peak [0..1].

    None where neither is known. Arguments as `utilizations`, with `stated_mfu`.
    """
    peaks: dict[tuple[Any, ...], float | None] = {}
    values: list[float | None] = []
    for row in rows:
        share, speed = row.get("stated_mfu"), _flops_per_s(row)
        if share is None and speed:
            card = tuple(row.get(name) for name in _CARD)
            if card not in peaks:
                peaks[card] = _sold(row, catalog)[1]
            peak = peaks[card]
            share = speed / peak if peak and speed <= peak else None
        values.append(share)
    return values


def _flops_per_s(row: Mapping[str, Any]) -> float | None:
    """Return the network's operations per second [FLOP/s]."""
    flops, samples_per_s = row.get("train_flops_per_sample"), row.get("throughput")
    return flops * samples_per_s if flops and samples_per_s else None


def _share(speed: float, peak: float, source: str) -> float | Refusal:
    """Return the share of a peak [0..1], refused above 1."""
    return speed / peak if speed <= peak else _NO_SHARE[source]


def _sold(row: Mapping[str, Any], catalog: Catalog) -> tuple[tuple[str, ...], float | None]:
    """Return accelerators and format as on the data sheet, and the peak of those [FLOP/s].

    A framework may see two devices on one accelerator: one of them has half the peak.
    """
    name = row.get("accelerator_model_name")
    accelerator = sole_accelerator(catalog, str(name)) if name else None
    if accelerator is None or accelerator.kind == "cpu":
        return (), None
    stated = row.get("precision")
    precision = format_of(accelerator, str(stated)) if stated else None
    if precision is None:
        return (), None
    there = placed(catalog, row)
    devices = (row.get("accelerators_per_node") or 1) * (row.get("number_of_nodes") or 1)
    count = there.count if devices >= accelerator.devices else devices / accelerator.devices
    cards = f"{count:g} x {accelerator.name}" if count != 1 else accelerator.name
    return (cards, precision), count * accelerator.peak_flops_per_s[precision]


def sentence(row: Mapping[str, Any], catalog: Catalog) -> str | None:
    """Return a sentence of the operations per second and their share of each peak."""
    peaks, speed = utilizations(row, catalog), _flops_per_s(row)
    if not peaks or not speed:
        return None
    parts = [
        f"{percent(u.share, 1)} of {_peak(u)}" for u in peaks if not isinstance(u.share, Refusal)
    ]
    shares = f": {' and '.join(parts)}" if parts else ""
    refused = [
        Text(
            "The share of {peak} cannot be computed from this run. {reason} {measure_next}",
            peak=_peak(u),
            reason=u.share.reason,
            measure_next=u.share.measure_next,
        )
        for u in peaks
        if isinstance(u.share, Refusal)
    ]
    return " ".join(
        [
            Text(
                "The network's operations run at {in_words}{shares}.",
                in_words=_in_words(speed),
                shares=shares,
            ),
            *refused,
        ]
    )


def _peak(used: Utilization) -> str:
    return f"{used.source} ({', '.join([*used.details, _in_words(used.peak_flops_per_s)])})"


def _in_words(flops_per_s: float) -> str:
    for size, unit in ((1e15, "PFLOP/s"), (1e12, "TFLOP/s"), (1e9, "GFLOP/s")):
        if flops_per_s >= size:
            return f"{flops_per_s / size:.3g} {unit}"
    return f"{flops_per_s / 1e6:.3g} MFLOP/s"
