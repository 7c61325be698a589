"""A formula on the Method page: the law, its explanation, and a chart to change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from planner.core import Refusal
from planner.figures import ChartSpec
from planner.figures.palette import Theme

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
    """The planner's answer to the sliders: a figure (None where refused) and sentences."""

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
