"""What a search for the best batch needs to know of step times, wherever they come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from planner.answers import Limited
from planner.estimate import Basis, Estimate, Floats, Refusal

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class StepTimeCurve(Limited, Protocol):
    """Step times over the global batch on one number of devices, measured there or fitted.

    `batch` has the measured batches [samples] in rising order, empty for a published curve; `law`
    tells the straight line alone, from which the best batch follows in closed form.
    """

    @property
    def half_saturation_batch(self) -> Estimate: ...  # noqa: D102
    @property
    def batch(self) -> Floats: ...  # noqa: D102
    @property
    def trusted_up_to_batch(self) -> float: ...  # noqa: D102
    @property
    def law(self) -> StepTimeCurve: ...  # noqa: D102
    def step_time(self, batch: ArrayLike) -> Estimate | Refusal: ...  # noqa: D102
    def throughput(self, batch: ArrayLike) -> Estimate | Refusal: ...  # noqa: D102
    def basis(self, batch: ArrayLike) -> Basis: ...  # noqa: D102
