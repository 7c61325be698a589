"""The best numbers of devices and batches in rows and one sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planner.convergence import ConvergenceCurve
from planner.core import Estimate, Record, Refusal
from planner.scaling import Scaled, SpeedUp
from planner.throughput import cell, interval_text
from planner.time_to_target._optimizer_curves import Comparison, Timing
from planner.time_to_target._ways import Way, efficiencies, ways
from planner.time_to_target.tables import estimate_cells


def way_rows(
    comparison: Comparison, scaled: Mapping[str, Scaled | Refusal], more: int | None = None
) -> list[Record]:
    """For every optimiser the fastest way to the target and the one with the fewest device-hours.

    `scaled` are step times over several numbers of devices by the optimiser's name; an optimiser
    without any has no row. `more` devices are looked at too.
    """
    rows: list[Record] = []
    for one in comparison.curves:
        known = scaled.get(one.optimizer)
        if isinstance(known, Scaled) and isinstance(one.curve, ConvergenceCurve):
            found = ways(known, one.curve, more)
            rows += [] if isinstance(found, Refusal) else _rows(one.optimizer, found)
    return rows


def efficiency_sentence(
    scaled: Scaled | Refusal | None,
    timing: Timing | None,
    devices: int,
    nodes: int | None = None,
) -> str:
    """Strong and weak scaling efficiency at the best batch; empty for one device or no answer."""
    if not isinstance(scaled, Scaled) or timing is None or devices < 2:
        return ""
    if isinstance(timing.best, Refusal):
        return ""
    batch = float(timing.best.value)
    strong, weak = efficiencies(scaled, batch, devices, nodes)
    told = [
        f"{kind} scaling efficiency ({what}) {_share(one)}"
        for kind, what, one in (
            ("strong", "the same global batch on one device", strong),
            ("weak", "the same batch per device", weak),
        )
    ]
    guess = ", a guess" if scaled.is_guess(devices, nodes) else ""
    return f"On {devices:,} devices at batch {batch:,.0f}{guess}: {'; '.join(told)}."


def _rows(optimizer: str, found: Sequence[Way]) -> list[Record]:
    ends = found if len(found) < 2 else (found[0], found[-1])
    told = ("time and device-hours",) if len(ends) == 1 else ("time", "device-hours")
    return [
        {
            "optimizer": optimizer,
            "devices": way.devices,
            "batch": cell(way.batch),
            **estimate_cells("least_s", way.time_s),
            "device_hours": cell(way.device_hours),
            "best_by": best_by,
            "guess": way.guess,
            "strong_efficiency": _efficiency(way.strong),
            "weak_efficiency": _efficiency(way.weak),
        }
        for best_by, way in zip(told, ends, strict=True)
    ]


def _efficiency(told: SpeedUp | Refusal) -> float | None:
    return None if isinstance(told, Refusal) else cell(told.efficiency.value)


def _share(told: SpeedUp | Refusal) -> str:
    if isinstance(told, Refusal):
        return f"not told: {told.reason.rstrip('.')}"
    share: Estimate = told.efficiency
    return f"{_per_cent(share.value)}{interval_text(share, _per_cent)}"


def _per_cent(share: object) -> str:
    return f"{100.0 * float(share):.0f} %"  # type: ignore[arg-type] # a float or an array of one
