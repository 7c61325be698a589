"""The best device counts and batches in rows and one sentence."""

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
    """Return each optimiser's fastest way to the target and that of fewest device-hours.

    `scaled` are step times by device count, by the optimiser's name; an optimiser without any has
    no row. `more` is a further device count to try.
    """
    rows: list[Record] = []
    for optimizer in comparison.curves:
        times = scaled.get(optimizer.optimizer)
        if isinstance(times, Scaled) and isinstance(optimizer.curve, ConvergenceCurve):
            best = ways(times, optimizer.curve, more)
            rows += [] if isinstance(best, Refusal) else _rows(optimizer.optimizer, best)
    return rows


def efficiency_sentence(
    scaled: Scaled | Refusal | None,
    timing: Timing | None,
    devices: int,
    nodes: int | None = None,
) -> str:
    """Return strong and weak scaling efficiency at the best batch; empty for one device."""
    if not isinstance(scaled, Scaled) or timing is None or devices < 2:
        return ""
    if isinstance(timing.best, Refusal):
        return ""
    batch = float(timing.best.value)
    strong, weak = efficiencies(scaled, batch, devices, nodes)
    parts = [
        f"{kind} scaling efficiency ({what}) {_share(speed_up)}"
        for kind, what, speed_up in (
            ("strong", "the same global batch on one device", strong),
            ("weak", "the same batch per device", weak),
        )
    ]
    guess = ", a guess" if scaled.is_guess(devices, nodes) else ""
    return f"On {devices:,} devices at batch {batch:,.0f}{guess}: {'; '.join(parts)}."


def _rows(optimizer: str, best: Sequence[Way]) -> list[Record]:
    ends = best if len(best) < 2 else (best[0], best[-1])
    labels = ("time and device-hours",) if len(ends) == 1 else ("time", "device-hours")
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
        for best_by, way in zip(labels, ends, strict=True)
    ]


def _efficiency(speed_up: SpeedUp | Refusal) -> float | None:
    return None if isinstance(speed_up, Refusal) else cell(speed_up.efficiency.value)


def _share(speed_up: SpeedUp | Refusal) -> str:
    if isinstance(speed_up, Refusal):
        return f"not available: {speed_up.reason.rstrip('.')}"
    share: Estimate = speed_up.efficiency
    return f"{_per_cent(share.value)}{interval_text(share, _per_cent)}"


def _per_cent(share: object) -> str:
    return f"{100.0 * float(share):.0f} %"  # type: ignore[arg-type] # a float or an array of one
