"""Shares of a step that a profiler measured. A part of Scaling out.

Runs state them in `extra`: compute first, then communication beside no compute, then input beside
neither. The rest of a step is the host's.
"""

from __future__ import annotations

import json
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from statistics import median
from typing import Final

from planner.scaling_out import Series
from planner.store import queries
from planner.store.reader import Store

NAMES: Final = ("compute_share", "communication_share", "input_share")
"""Entries of `extra`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfiledShares:
    """Medians of measured shares of a step [1] over `runs` at a device count and global `batch`."""

    devices: int
    batch: int
    compute: float
    communication: float
    given: float
    runs: int

    @property
    def host(self) -> float:
        """Rest of the step."""
        return max(1.0 - self.compute - self.communication - self.given, 0.0)


def profiled_shares(store: Store, series: Series) -> tuple[ProfiledShares, ...]:
    """Return the shares at every count of several devices that states them, fewest first.

    At each count they are those of its largest batch.
    """
    largest: dict[int, int] = defaultdict(int)
    for point in series.points:
        largest[point.devices] = max(largest[point.devices], point.batch)
    found = []
    for devices, batch in sorted(largest.items()):
        if devices < 2:
            continue
        stated = [
            shares
            for p in series.points
            if (p.devices, p.batch) == (devices, batch) and p.run.basis == "measured"
            for shares in [_stated(queries.all_columns(store, p.run.run_id).get("extra"))]
            if shares is not None
        ]
        if stated:
            compute, communication, given = (median(part) for part in zip(*stated, strict=True))
            found.append(
                ProfiledShares(
                    devices=devices,
                    batch=batch,
                    compute=compute,
                    communication=communication,
                    given=given,
                    runs=len(stated),
                )
            )
    return tuple(found)


def _stated(extra: object) -> tuple[float, float, float] | None:
    """Return the three shares of a run; None where one is missing or is no share."""
    with suppress(ValueError, TypeError, KeyError):
        entries = json.loads(str(extra or "{}"))
        compute, communication, given = (float(entries[name]) for name in NAMES)
        if all(0.0 <= s <= 1.0 for s in (compute, communication, given)):
            return compute, communication, given
    return None
