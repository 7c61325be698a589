"""A published whole job and our estimate of it, as in "Would we have known?"."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownJob:
    """A published whole job and our estimate, both in device-hours.

    `low` and `high` bound the 90 % interval; without an estimate `value` is None and `why` is the
    reason. `place` is the repository and file of the published figure.
    """

    name: str
    place: str
    accelerator: str
    devices: int
    published_device_hours: float
    value: float | None
    low: float | None
    high: float | None
    why: str = ""

    @property
    def inside(self) -> bool:
        """Whether the published figure lies inside the interval."""
        if self.low is None or self.high is None:
            return False
        return self.low <= self.published_device_hours <= self.high
