"""Targets of the project on published rows, and which figures reach them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from planner.core import Text

Figure = Literal[
    "median error", "mean error", "coverage", "width", "answered", "decided", "decided correctly"
]
Figures = Mapping[str, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskTarget:
    """A figure of one task and its target range [per cent]."""

    what: str
    task: str
    figure: Figure
    low: float = 0.0
    high: float = math.inf

    @property
    def range_text(self) -> str:
        """Target range in words."""
        if math.isinf(self.high):
            return Text("at least {low:g} %", low=self.low)
        if self.low <= 0.0:
            return Text("at most {high:g} %", high=self.high)
        return Text("{low:g} to {high:g} %", low=self.low, high=self.high)


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetResult:
    """A target with the measured figure, in words."""

    what: str
    target: str
    measured: str
    reached: bool


UNSEEN: Final = {"row_out": "row out", "source_out": "source out"}
"""Fits that have not seen the rows, as tasks and as words."""
AT_LEAST: Final = (85.0, math.inf)
COVERAGE: Final = (85.0, 95.0)
_Range = tuple[float, float]


def _of(what: str, task: str, ranges: Mapping[Figure, _Range]) -> list[TaskTarget]:
    return [
        TaskTarget(what=f"{what}: {figure}", task=task, figure=figure, low=low, high=high)
        for figure, (low, high) in ranges.items()
    ]


def _described(kind: str, what: str, ranges: Mapping[Figure, _Range]) -> list[TaskTarget]:
    return [
        target
        for start, words in UNSEEN.items()
        for target in _of(f"{what}, {words}", f"{start}_{kind}", ranges)
    ]


TARGETS: Final[Sequence[TaskTarget]] = (
    *_described("dense", "language models",
                {"median error": (0.0, 14.0), "coverage": COVERAGE, "width": (0.0, 120.0)}),
    *_described("dense_over_8_nodes", "language models on more than 8 nodes",
                {"median error": (0.0, 20.0), "coverage": AT_LEAST}),
    *_described("moe", "mixtures of experts",
                {"median error": (0.0, 21.0), "coverage": AT_LEAST}),
    *_described("encoder", "encoders", {"median error": (0.0, 28.0), "coverage": AT_LEAST}),
    *_described("cnn", "convolutional networks",
                {"median error": (0.0, 32.0), "coverage": AT_LEAST}),
    *_described("vit", "vision transformers",
                {"median error": (0.0, 32.0), "coverage": AT_LEAST}),
    *_described("pairs", "pairs of accelerators",
                {"decided": (50.0, math.inf), "decided correctly": (95.0, math.inf)}),
    *_of("whole language-model jobs", "whole_jobs",
         {"median error": (0.0, 35.0), "coverage": AT_LEAST}),
    *_of("step at a larger device count", "device_scaling",
         {"answered": (90.0, math.inf), "mean error": (0.0, 14.0), "coverage": COVERAGE}),
    *_of("throughput at twice the largest batch", "batch_twice", {"coverage": AT_LEAST}),
)  # fmt: skip


def results(tasks: Mapping[str, Figures]) -> list[TargetResult]:
    """Return the result of every target whose figure is there.

    Args:
        tasks: figures by task, as `python -m planner backtest DIR --json` prints them.
    """
    measured = ((target, _figure(tasks.get(target.task, {}), target.figure)) for target in TARGETS)
    return [
        TargetResult(
            what=target.what,
            target=target.range_text,
            measured=f"{value:.3g} %",
            reached=target.low <= value <= target.high,
        )
        for target, value in measured
        if value is not None
    ]


def _figure(of: Figures, figure: Figure) -> float | None:
    """Return a figure [per cent]; None where nothing was answered."""
    if figure == "answered":
        return _share(of.get("answered"), of.get("asked"))
    if figure == "decided":
        return _share(of.get("decided"), of.get("answered"))
    if figure == "decided correctly":
        return _share(of.get("right"), of.get("decided"))
    names = {"median error": "median", "mean error": "mean", "coverage": "held", "width": "width"}
    return of.get(names[figure])


def _share(part: float | None, whole: float | None) -> float | None:
    return 100.0 * part / whole if part is not None and whole else None
