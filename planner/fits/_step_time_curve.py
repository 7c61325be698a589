"""Protocol of step times for a search of the best batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from planner.core import Basis, Estimate, Floats, Refusal
from planner.fits._curve import Limited

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class StepTimeCurve(Limited, Protocol):
    """Step times over the global batch at one device count, measured or fitted.

    `batch` has the measured batches [samples] in rising order, empty for a published curve; `law`
    is the straight line alone, which gives the best batch in closed form.
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
