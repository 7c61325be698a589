"""A formula on the Method page: the law, its explanation, and a chart to change."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from planner import figures
from planner.core import Estimate, Floats, Refusal
from planner.figures import ChartSpec
from planner.figures.frame import Theme
from planner.throughput import ThroughputCurve, fit_throughput

Values = Mapping[str, float]
"""Slider values by their names in the link."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slider:
    """A quantity of a chart, with its choices as in the link."""

    name: str
    label: str
    options: tuple[float, ...]
    default: float
    unit: str = ""

    @property
    def texts(self) -> dict[str, str]:
        """Displayed text by text of the link."""
        return {f"{v:g}": f"{v:,.10g} {self.unit}".strip() for v in self.options}


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """The planner's answer to the sliders: a figure (None where refused) and sentences.

    `caption` says what the numbers are; the legend of the figure says what the marks are.
    """

    figure: ChartSpec | None
    sentences: tuple[str, ...]
    caption: str = ""


def withheld(refusal: Refusal) -> Picture:
    """Return a picture without a figure: the reason, and what to measure."""
    return Picture(figure=None, sentences=(refusal.reason, refusal.measure_next))


def in_per_cent(share: float) -> str:
    """Return a share in per cent: 0.6 %, 5 %; number and sign stay on one line."""
    return f"{100 * share:g}\u00a0%"


@dataclass(frozen=True, slots=True, kw_only=True)
class Formula:
    """A formula with its explanation and chart.

    `laws` are LaTeX; `words`, `units`, `limits` and `source` are Markdown. `evidence` names the
    question, task and data set of its back-test, if any.
    """

    slug: str
    title: str
    laws: tuple[str, ...]
    words: str
    units: str
    limits: str
    source: str
    sliders: tuple[Slider, ...]
    picture: Callable[[Values, Theme], Picture]
    evidence: tuple[str, str, str] | None = None


SMALLEST: Final = 8
"""Smallest batch of the made-up measurements [samples]."""
GRID: Final = 61
V0: Final = Slider(
    name="v0", label="Asymptotic throughput v0", unit="samples/s", default=4096,
    options=(64, 256, 1024, 4096, 16384, 65536),
)  # fmt: skip
OVERHEAD: Final = Slider(
    name="t", label="Overhead per step t", unit="s", default=0.1,
    options=(0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1),
)  # fmt: skip
LARGEST: Final = Slider(
    name="largest", label="Largest batch measured", unit="samples", default=1024,
    options=(16, 64, 256, 1024, 4096, 16384),
)  # fmt: skip


def batches(largest: float) -> Floats:
    """Return made-up batch sizes [samples]: powers of two up to the largest."""
    return np.asarray(2.0 ** np.arange(np.log2(SMALLEST), np.log2(largest) + 0.5))


def made_curve(values: Values) -> ThroughputCurve | Refusal:
    """Return the curve through made-up step times; a bend lifts the larger half of them."""
    sizes = batches(values["largest"])
    lifted = 1 + values.get("bend", 0.0) / 100 * (np.arange(sizes.size) >= sizes.size / 2)
    return fit_throughput(sizes, lifted * (values["t"] + sizes / values["v0"]))


def parts_of(answer: Estimate | Refusal, grid: Floats) -> tuple[Floats, Floats, Floats]:
    """Return value, low and high over the grid, NaN where refused."""
    if isinstance(answer, Refusal):
        nothing = np.full(grid.shape, np.nan)
        return nothing, nothing, nothing
    return answer.arrays


def made_line(
    curve: ThroughputCurve, grid: Floats, *, label: str, short: str, slot: int, kind: str
) -> figures.ThroughputLine:
    """Return a made-up curve over the grid of batches [samples] with its points, for a chart."""
    value, low, high = parts_of(curve.throughput(grid), grid)
    points = figures.MeasuredPoints(
        batch=curve.batch,
        throughput=curve.batch / curve.step_s,
        residuals=curve.residuals,
        flags=("",) * curve.n,
    )
    none = figures.MeasuredPoints(batch=grid[:0], throughput=grid[:0], residuals=grid[:0], flags=())
    return figures.ThroughputLine(
        label=label, short=short, device_kind=kind, slot=slot, measured=points, left_out=none,
        batch=grid, value=value, low=low, high=high, smallest=float(curve.batch[0]),
        largest=curve.largest_measured,
    )  # fmt: skip
