"""Step times on a system, their source, and the best batch there.

Every optimiser has its own step times: Adam moves more memory than plain SGD. Sentences say where
those of another optimiser or workload are used.
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
    """The system of a time to target, and the workload of its step times.

    `stand_in` names the source of step times that are not the trials' own. `guess` is True where
    the device count is more than twice the measured one.
    """

    system: str
    workload: str
    stand_in: StandIn = ""
    guess: bool = False

    @property
    def phrase(self) -> str:
        """The system in words, with the source of the step times if it is another workload."""
        whose = (
            f"with the step times of {self.stand_in} ({self.workload}) " if self.stand_in else ""
        )
        return f"{'as a guess, ' if self.guess else ''}{whose}on {self.system}"

    @property
    def again(self) -> str:
        """The same in a sentence that follows one with `phrase`."""
        return "with the same step times" if self.stand_in else self.phrase


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedTimes:
    """The step times of one optimiser on a system, or a refusal."""

    place: Place
    curve: StepTimeCurve | Refusal


Placed = Mapping[str, PlacedTimes]
"""Step times by the optimiser's name; optimisers without any are missing."""
Timings = Mapping[str, Timing]
"""The best batch of every optimiser on its system, by the optimiser's name."""


def timings_of(comparison: Comparison, times: Placed) -> dict[str, Timing]:
    """Return the best batch of every optimiser whose step times have a curve."""
    curves = {name: t.curve for name, t in times.items() if not isinstance(t.curve, Refusal)}
    return {
        c.optimizer: time_on(c, curves[c.optimizer])
        for c in comparison.curves
        if c.optimizer in curves
    }
