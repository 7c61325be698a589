"""What the page Steps to target asks, and its two charts made of the planner's answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pages.steps_to_target.step_times import StepTimes
from planner import figures
from planner.convergence import ConvergenceCurve
from planner.core import Estimate, Floats, Record, Refusal
from planner.figures.palette import Theme, slots
from planner.time_to_target import Comparison, Goal, OptimizerCurve, Timing, steps_grid, time_line


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What is asked and what the planner says to it: all that is drawn below.

    `optimizers` are all there are, `remarks` and `sources` those of the steps to target; `empty`
    says what is missing, and why, where no optimiser is left. `reached` are times to the target
    that the trials state.
    """

    goal: Goal
    comparison: Comparison
    times: StepTimes
    timings: dict[str, Timing]
    optimizers: list[str]
    remarks: list[str]
    sources: list[Record]
    empty: tuple[str, str] = ("", "")
    is_reference: bool = False
    reached: tuple[Record, ...] = ()

    @property
    def lead(self) -> OptimizerCurve | None:
        """The first optimiser that has a curve: its regimes and its best batch are marked."""
        curves = self.comparison.curves
        return next((c for c in curves if isinstance(c.curve, ConvergenceCurve)), None)


def steps_figure(view: View, look: Theme) -> figures.ChartSpec:
    """Steps over batch size of every optimiser, the lead's regimes and best batch marked."""
    colour = _colours(view)
    lines = [_steps_line(c, colour[c.optimizer]) for c in view.comparison.curves]
    lead = view.lead
    timing = view.timings.get(lead.optimizer) if lead else None
    best = timing.best if timing else None
    return figures.steps_to_target(
        [line for line in lines if np.isfinite(line.measured).any()],
        look,
        borders=_borders(lead),
        best_batch=float(best.value) if isinstance(best, Estimate) else None,
        noise_scale=lead.usual_noise_scale if lead else None,
    )


def time_figure(view: View, look: Theme) -> figures.ChartSpec | None:
    """Time to target over batch size; None where no optimiser has a batch in common with it."""
    colour = _colours(view)
    lines = [
        line
        for c in view.comparison.curves
        if (line := _time_line(view, c, colour[c.optimizer])) is not None
    ]
    return figures.time_to_target(lines, look) if lines else None


def _colours(view: View) -> dict[str, int]:
    """Colour of each optimiser, by its place among all: choosing fewer recolours none."""
    return slots([c.optimizer for c in view.comparison.curves], view.optimizers)


def _steps_line(one: OptimizerCurve, slot: int) -> figures.StepsLine:
    grid = steps_grid(one)
    value, low, high = _law(one, grid)
    fitted = one.curve if isinstance(one.curve, ConvergenceCurve) else None
    return figures.StepsLine(
        label=one.optimizer,
        short=_short(one.optimizer),
        slot=slot,
        seed_batch=one.seed_batch,
        seed_steps=one.seed_steps,
        measured_batch=one.batch,
        measured=one.median_steps,
        batch=grid,
        value=value,
        low=low,
        high=high,
        smallest=float(fitted.batch[0]) if fitted else np.nan,
        largest=float(fitted.batch[-1]) if fitted else np.nan,
        min_samples=float(fitted.min_samples.value) if fitted else np.nan,
    )


def _law(one: OptimizerCurve, grid: Floats) -> tuple[Floats, Floats, Floats]:
    told = None if isinstance(one.curve, Refusal) else one.curve.steps(grid)
    if not isinstance(told, Estimate):
        return grid, grid, grid
    return np.asarray(told.value), np.asarray(told.low), np.asarray(told.high)


def _borders(lead: OptimizerCurve | None) -> figures.Borders | None:
    if lead is None or isinstance(lead.curve, Refusal):
        return None
    regimes = lead.curve.regimes
    perfect, maximal = (
        (float(e.value), float(e.low), float(e.high))
        for e in (regimes.perfect_up_to, regimes.maximal_from)
    )
    critical = float(lead.curve.critical_batch_size.value)
    return figures.Borders(perfect_up_to=perfect, maximal_from=maximal, critical=critical)


def _time_line(view: View, one: OptimizerCurve, slot: int) -> figures.TargetTimeLine | None:
    placed = view.times.placed.get(one.optimizer)
    drawn = time_line(one, placed.curve) if placed else None
    if drawn is None:
        return None
    batch, value, low, high, (smallest, largest) = drawn
    told = view.timings[one.optimizer]
    best, least = (
        e.value if isinstance(e, Estimate) else np.nan for e in (told.best, told.least_s)
    )
    return figures.TargetTimeLine(
        label=one.optimizer,
        short=_short(one.optimizer),
        slot=slot,
        batch=batch,
        value=value,
        low=low,
        high=high,
        smallest=smallest,
        largest=largest,
        best_batch=float(best),
        least_s=float(least),
    )


def _short(name: str) -> str:
    return name if len(name) < 28 else f"{name[:26]}…"
