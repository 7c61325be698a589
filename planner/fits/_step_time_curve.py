"""What a search for the best batch needs to know of step times, wherever they come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from planner.core import Basis, Estimate, Floats, Refusal
from planner.fits._curve import Limited

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class StepTimeCurve(Limited, Protocol):
    """Step times over the global batch on one number of devices, measured there or fitted.

    `batch` has the measured batches [samples] in rising order, empty for a published curve; `law`
    tells the straight line alone, from which the best batch follows in closed form.
    """

    @property
    def half_saturation_batch(self) -> Estimate: ...
    @property
    def batch(self) -> Floats: ...
    @property
    def trusted_up_to_batch(self) -> float: ...
    @property
    def law(self) -> StepTimeCurve: ...
    def step_time(self, batch: ArrayLike) -> Estimate | Refusal: ...
    def throughput(self, batch: ArrayLike) -> Estimate | Refusal: ...
    def basis(self, batch: ArrayLike) -> Basis: ...
