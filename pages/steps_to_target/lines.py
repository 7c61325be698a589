"""The view of the page Steps to target, and its two charts."""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from pages.steps_to_target.step_times import StepTimeChoice
from planner import figures
from planner.convergence import ConvergenceCurve
from planner.core import Estimate, Floats, Record, Refusal, short_labels
from planner.figures.frame import Theme, slots
from planner.job import StatedTime
from planner.time_to_target import (
    BatchTiming,
    Families,
    OptimizerComparison,
    OptimizerCurve,
    TargetWords,
    fastest_two,
    stated_rows,
    steps_grid,
    time_line,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetView:
    """The question and the planner's answer: everything the page draws.

    `optimizers` are all optimisers; `remarks` and `sources` are those of the steps to target;
    `empty` is title and reason where no optimiser is left; `reached` are times to the target
    stated by the trials, `stated` the same by accelerator and count; `families` are networks on
    the same data, if any.
    """

    goal: TargetWords
    comparison: OptimizerComparison
    times: StepTimeChoice
    timings: dict[str, BatchTiming]
    optimizers: list[str]
    remarks: list[str]
    sources: list[Record]
    empty: tuple[str, str] = ("", "")
    is_reference: bool = False
    reached: tuple[Record, ...] = ()
    stated: tuple[StatedTime, ...] = ()
    families: Families | None = None

    @property
    def lead(self) -> OptimizerCurve | None:
        """The fastest optimiser, else the first with a curve.

        The charts mark its regimes and best batch.
        """
        curves = [c for c in self.comparison.curves if isinstance(c.curve, ConvergenceCurve)]
        two = fastest_two(self.timings)
        fastest = (c for c in curves if two and c.optimizer == two[0])
        return next(fastest, next(iter(curves), None))


MOST_ACCELERATORS: Final = 10
"""Accelerators in the chart of stated times: as many as there are colours."""


def stated_figure(view: TargetView, look: Theme) -> figures.ChartSpec:
    """Return the chart of stated times over the count, of the accelerators with most runs."""
    by_name: dict[str, list[Record]] = {}
    for row in stated_rows(view.stated):
        by_name.setdefault(str(row["accelerator"]), []).append(row)
    most = sorted(by_name, key=lambda n: -sum(_number(r, "runs") for r in by_name[n]))
    shown = most[:MOST_ACCELERATORS]
    colour = figures.option_slots([(name, name) for name in shown])
    return figures.stated_times([_stated_line(n, by_name[n], colour[n]) for n in shown], look)


def _stated_line(name: str, rows: list[Record], slot: int) -> figures.StatedLine:
    def column(key: str) -> Floats:
        return np.array([_number(row, key) for row in rows])

    return figures.StatedLine(
        label=name,
        short=_short(name),
        slot=slot,
        count=column("devices"),
        value=column("time_to_target_s"),
        low=column("fastest_s"),
        high=column("slowest_s"),
        runs=column("runs"),
    )


def _number(row: Record, key: str) -> float:
    return float(row[key] or 0.0)


def steps_figure(view: TargetView, look: Theme) -> figures.ChartSpec:
    """Return the chart of steps over batch size, with the lead's regimes and best batch."""
    colour = _colours(view)
    lines = [_steps_line(c, c.optimizer, colour[c.optimizer]) for c in view.comparison.curves]
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


def time_figure(view: TargetView, look: Theme) -> figures.ChartSpec | None:
    """Return the chart of time to target over batch size; None without a common batch."""
    colour = _colours(view)
    lines = [
        line
        for c in view.comparison.curves
        if (line := _time_line(view, c, colour[c.optimizer])) is not None
    ]
    return figures.time_to_target(lines, look) if lines else None


def _colours(view: TargetView) -> dict[str, int]:
    """Return the colour of each optimiser, fixed by its place among all."""
    return slots([c.optimizer for c in view.comparison.curves], view.optimizers)


def families_figure(of: Families, look: Theme) -> figures.ChartSpec | None:
    """Return the chart of steps over batch size, a line per network; None if none arrived."""
    lines = [_family_line(f.curve, f.name, slot) for slot, f in enumerate(of.families)]
    reached = [line for line in lines if np.isfinite(line.measured).any()]
    return figures.steps_to_target(reached, look) if reached else None


def _family_line(curve: OptimizerCurve, label: str, slot: int) -> figures.StepsLine:
    """Return medians and the law; seeds, bands and perfect scaling would hide other networks."""
    line, none = _steps_line(curve, label, slot), np.empty(0)
    return replace(
        line, seed_batch=none, seed_steps=none, low=line.value, high=line.value, min_samples=np.nan
    )


def _steps_line(curve: OptimizerCurve, label: str, slot: int) -> figures.StepsLine:
    grid = steps_grid(curve)
    value, low, high = _law(curve, grid)
    fitted = curve.curve if isinstance(curve.curve, ConvergenceCurve) else None
    return figures.StepsLine(
        label=label,
        short=_short(label),
        slot=slot,
        seed_batch=curve.seed_batch,
        seed_steps=curve.seed_steps,
        measured_batch=curve.batch,
        measured=curve.median_steps,
        batch=grid,
        value=value,
        low=low,
        high=high,
        smallest=float(fitted.batch[0]) if fitted else np.nan,
        largest=float(fitted.batch[-1]) if fitted else np.nan,
        min_samples=float(fitted.min_samples.value) if fitted else np.nan,
    )


def _law(curve: OptimizerCurve, grid: Floats) -> tuple[Floats, Floats, Floats]:
    steps = None if isinstance(curve.curve, Refusal) else curve.curve.steps(grid)
    if not isinstance(steps, Estimate):
        return grid, grid, grid
    return steps.arrays


def _borders(lead: OptimizerCurve | None) -> figures.Borders | None:
    if lead is None or isinstance(lead.curve, Refusal):
        return None
    regimes = lead.curve.regimes
    perfect, maximal = (e.ends for e in (regimes.perfect_up_to, regimes.maximal_from))
    critical = float(lead.curve.critical_batch_size.value)
    return figures.Borders(perfect_up_to=perfect, maximal_from=maximal, critical=critical)


def _time_line(view: TargetView, curve: OptimizerCurve, slot: int) -> figures.TargetTimeLine | None:
    placed = view.times.placed.get(curve.optimizer)
    drawn = time_line(curve, placed.curve) if placed else None
    if drawn is None:
        return None
    batch, value, low, high, (smallest, largest) = drawn
    timing = view.timings[curve.optimizer]
    best, least = (
        e.value if isinstance(e, Estimate) else np.nan for e in (timing.best, timing.least_s)
    )
    return figures.TargetTimeLine(
        label=curve.optimizer,
        short=_short(curve.optimizer),
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
    return short_labels([name])[0]
