"""A formula on the Method page: the law, its explanation, and a chart to change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from planner.core import Refusal
from planner.figures import ChartSpec
from planner.figures.palette import Theme

Values = Mapping[str, float]
"""What the sliders of the page say, by their names in the link."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slider:
    """One quantity of a picture: the values one may choose, as they stand in the link."""

    name: str
    label: str
    options: tuple[float, ...]
    default: float
    unit: str = ""

    @property
    def texts(self) -> dict[str, str]:
        """What stands in the link -> what the person reads."""
        return {f"{v:g}": f"{v:,.10g} {self.unit}".strip() for v in self.options}


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """What the planner answers to the sliders: a figure (None where refused) and sentences."""

    figure: ChartSpec | None
    sentences: tuple[str, ...]
    caption: str = ""


def withheld(refusal: Refusal) -> Picture:
    """No picture: why, and what to measure."""
    return Picture(figure=None, sentences=(refusal.reason, refusal.measure_next))


def in_per_cent(share: float) -> str:
    """A constant as people say it: 0.6 %, 5 %; the sign stays on the number's line."""
    return f"{100 * share:g}\u00a0%"


@dataclass(frozen=True, slots=True, kw_only=True)
class Formula:
    """One formula, told once.

    `laws` are LaTeX; `words`, `units`, `limits` and `source` are Markdown. `evidence` names the
    question, task and data set of the back-test that measured it, where one did.
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
