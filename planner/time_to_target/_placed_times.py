"""Step times in a place: whose they are, where they were measured, and the best batch there.

Every optimiser has step times of its own: Adam moves more memory than plain SGD. Where only those
of another optimiser or of another workload are at hand, sentences say so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from planner.core import Refusal
from planner.fits import StepTimeCurve
from planner.time_to_target._optimizer_curves import Comparison, Timing, time_on

StandIn = Literal["", "another optimiser", "another workload"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where time to target is told: a system, and the workload its step times are of.

    `stand_in` says whose these are where they are not the trials' own. `guess` is True where the
    number of devices is more than twice the measured one.
    """

    system: str
    workload: str
    stand_in: StandIn = ""
    guess: bool = False

    @property
    def told(self) -> str:
        """On which system, and with whose step times where they are another's."""
        whose = (
            f"with the step times of {self.stand_in} ({self.workload}) " if self.stand_in else ""
        )
        return f"{'as a guess, ' if self.guess else ''}{whose}on {self.system}"

    @property
    def again(self) -> str:
        """The same in a sentence that follows one with `told`."""
        return "with the same step times" if self.stand_in else self.told


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedTimes:
    """The step times of one optimiser in a place, or why there is no curve."""

    place: Place
    curve: StepTimeCurve | Refusal


Placed = Mapping[str, PlacedTimes]
"""Step times by the optimiser's name; those without any are missing."""
Timings = Mapping[str, Timing]
"""The best batch of every optimiser in its place, by the optimiser's name."""


def timings_of(comparison: Comparison, times: Placed) -> dict[str, Timing]:
    """The best batch of every optimiser whose step times have a curve."""
    curves = {name: t.curve for name, t in times.items() if not isinstance(t.curve, Refusal)}
    return {
        c.optimizer: time_on(c, curves[c.optimizer])
        for c in comparison.curves
        if c.optimizer in curves
    }
