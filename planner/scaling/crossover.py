"""Batch from which more devices, or workers, take less time a step than a driver.

At a fixed device count a step is a straight line of the global batch B (`planner.scaling._runs`):

    T_d(B) = f_d + B s_d        driver: f_d overhead [s], s_d time of a sample [s]
    T_n(B) = f_n + B s_n        n devices: f_n has the link's cost, s_n = 1/(n v0)

    B_x = (f_n - f_d)/(s_d - s_n)          [samples]

Above B_x the n devices are faster. With one series, f_n - f_d is the cost of the link and B_x is
link x v0 x n/(n - 1): a slow link or a fast device moves it up. Source: the law of article 000
applied to article 003's question; checked against runs by `python -m planner backtest --what-if`.

The interval is computed in the logarithm by the delta method. Terms of one fit are correlated and
one question to it; two fits are independent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from planner.core import LEVEL, Basis, Estimate, Floats, Refusal, Text, t_quantile
from planner.fits import ROUNDING, parameters, scalar_estimate
from planner.scaling._runs import CountCurve
from planner.scaling._terms import DOF, StepPlaces
from planner.scaling.answers import TANGLED, places_of, refuse_link
from planner.throughput import FAR, ThroughputCurve, crossover_batch, difference_variance

Law = CountCurve | ThroughputCurve
"""Step times over the global batch at one device count."""
WIDE: Final = 1_000.0
"""Upper over lower end of an interval from which a crossover is refused."""
NEVER: Refusal = Refusal(
    reason="They are slower at every batch: a step has a higher overhead and no less time a "
    "sample.",
    measure_next="Measure both at the largest batch that fits.",
)
ALWAYS: Refusal = Refusal(
    reason="They are faster at every batch: a step has no higher overhead.",
    measure_next="Measure both at the smallest batch that you would use.",
)

TOO_WIDE: Refusal = Refusal(
    reason=Text(
        "The crossover is uncertain by more than a factor of {wide:,.0f}: the step "
        "times are too close together.",
        wide=WIDE,
    ),
    measure_next="Measure both at a small and at a large batch, several times.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepParts:
    """The parts of a step [s]: work on its samples, overhead without a link, the link."""

    compute_s: float
    overhead_s: float
    link_s: float

    @property
    def total_s(self) -> float:
        """The whole step [s]."""
        return self.compute_s + self.overhead_s + self.link_s

    @property
    def open_share(self) -> float:
        """Share of a step between the read of weights and the write of gradients."""
        return (self.compute_s + self.link_s / 2.0) / self.total_s if self.total_s > 0.0 else 1.0

    def of(self, step_s: float) -> StepParts:
        """Return the same shares of a step of `step_s` [s]."""
        factor = step_s / self.total_s if self.total_s > 0.0 else 0.0
        return StepParts(
            compute_s=factor * self.compute_s,
            overhead_s=factor * self.overhead_s,
            link_s=factor * self.link_s,
        )


def crossover(driver: Law, workers: Law) -> Estimate | Refusal:
    """Return the global batch [samples] from which `workers` take less time a step.

    Returns:
        The batch with its interval, or a `Refusal`: they are faster or slower at every batch, the
        interval is too wide, or the runs determine no straight line.
    """
    batch = _crossover(driver, workers)
    if isinstance(batch, Refusal) or not np.isfinite(float(batch.low)):
        return batch  # a published law has no interval
    return TOO_WIDE if float(batch.high) > WIDE * float(batch.low) else batch


def _crossover(driver: Law, workers: Law) -> Estimate | Refusal:
    for law in (driver, workers):
        if isinstance(law, CountCurve) and (link := _unmeasured(law)):
            return refuse_link(link)
    if isinstance(driver, ThroughputCurve) and isinstance(workers, ThroughputCurve):
        return _of_lines(driver, workers)
    lines = _line(driver), _line(workers)
    if lines[0] is None or lines[1] is None:
        return TANGLED
    (fixed_d, each_d), (fixed_n, each_n) = lines[0], lines[1]
    later, gain = _less(fixed_n, fixed_d), _less(each_d, each_n)
    if gain <= 0.0:
        return NEVER if later >= 0.0 else _reverse()
    if later <= 0.0:
        return ALWAYS
    variance = _variance(driver, workers, later, gain)
    q = float(t_quantile(LEVEL, DOF) * np.sqrt(variance))
    batch = later / gain
    with np.errstate(over="ignore"):
        interval = batch * np.exp(-q), batch * np.exp(q)
    inside = all(_inside(law, batch) for law in (driver, workers))
    reasons: tuple[str, ...] = () if inside else ("That batch is outside the measured range.",)
    if q > np.log(FAR):
        reasons += ("The step times are close together: the crossover has a wide interval.",)
    basis: Basis = "interpolated" if inside else "extrapolated"
    return scalar_estimate(batch, interval, LEVEL, basis, reasons)


def step_parts(law: Law, batch: float, alone_s: float = np.nan) -> StepParts | None:
    """Return the parts of a step at a global `batch`; None where the runs do not separate them.

    Args:
        law: step times at one device count.
        batch: samples per step over all devices.
        alone_s: overhead of one device [s], for a published law of several; NaN where unknown.
    """
    if isinstance(law, ThroughputCurve):
        overhead, each = parameters(law.lines)
        link = max(overhead - alone_s, 0.0) if np.isfinite(alone_s) else 0.0
        return StepParts(compute_s=batch * each, overhead_s=overhead - link, link_s=link)
    terms, at = law.scaling.terms, _places(law)
    if at is None or _unmeasured(law):
        return None
    row = terms.questions(at)[0]
    row[terms.modes] = batch / law.devices
    own = np.arange(row.size)
    parts = np.stack([row * (own == terms.modes), row * (own < terms.modes),
                      row * (own > terms.modes)])  # fmt: skip
    if not terms.determined(parts).all():
        return None
    compute, overhead, link = (float(s) for s in parts @ terms.value)
    return StepParts(compute_s=compute, overhead_s=overhead, link_s=link)


def _of_lines(driver: ThroughputCurve, workers: ThroughputCurve) -> Estimate | Refusal:
    """Return `planner.throughput.crossover_batch` where the workers win above it."""
    fixed_d, each_d = parameters(driver.lines)
    fixed_n, each_n = parameters(workers.lines)
    later, gain = _less(fixed_n, fixed_d), _less(each_d, each_n)
    if gain <= 0.0:
        return NEVER if later >= 0.0 else _reverse()
    return ALWAYS if later <= 0.0 else crossover_batch(driver, workers)


def _reverse() -> Refusal:
    return Refusal(
        reason="They are faster at small batches only: a step has less overhead and more time a "
        "sample.",
        measure_next="Measure both at the batch that you mean to use.",
    )


def _less(minuend: float, subtrahend: float) -> float:
    """Return the difference, 0 for rounding."""
    by = minuend - subtrahend
    return 0.0 if abs(by) <= ROUNDING * max(abs(minuend), abs(subtrahend)) else by


def _line(law: Law) -> tuple[float, float] | None:
    """Return overhead [s] and time of a sample [s]; None where they are not determined."""
    if isinstance(law, ThroughputCurve):
        overhead, each = parameters(law.lines)
        return float(overhead), float(each)
    questions = _questions(law)
    terms = law.scaling.terms
    if questions is None or not terms.determined(np.stack(questions)).all():
        return None
    fixed, slope = questions
    return float(fixed @ terms.value), float(slope @ terms.value)


def _unmeasured(law: CountCurve) -> int:
    """Return the number of a link class without runs, 0 where it has some."""
    link = 2 if law.nodes > 1 else int(law.devices > 1)
    return 0 if link in law.scaling.terms.links else link


def _places(law: CountCurve) -> StepPlaces | None:
    sizes = law.scaling.runs.batch[:1]
    at = places_of(law.scaling, sizes, law.devices, law.nodes, law.launch)
    return None if isinstance(at, Refusal) else at


def _questions(law: CountCurve) -> tuple[Floats, Floats] | None:
    """Return the weights of the terms in the overhead, and in the time of a sample."""
    at = _places(law)
    if at is None:
        return None
    terms = law.scaling.terms
    fixed = terms.questions(at)[0]
    slope = np.zeros(fixed.size)
    fixed[terms.modes], slope[terms.modes] = 0.0, 1.0 / law.devices
    return fixed, slope


def _variance(driver: Law, workers: Law, later: float, gain: float) -> float:
    """Return the variance of ln(later/gain)."""
    if (
        isinstance(driver, CountCurve)
        and isinstance(workers, CountCurve)
        and driver.scaling is workers.scaling
    ):
        first, second = _questions(driver), _questions(workers)
        if first is None or second is None:
            return np.inf
        gradient = (second[0] - first[0]) / later - (first[1] - second[1]) / gain
        return float(driver.scaling.terms.deviation(gradient) ** 2)
    return _part(driver, later, gain) + _part(workers, later, gain)


def _part(law: Law, later: float, gain: float) -> float:
    """Return what one of two fits adds to the variance; the sign of its part does not matter."""
    if isinstance(law, CountCurve):
        questions = _questions(law)
        if questions is None:
            return np.inf
        gradient = questions[0] / later + questions[1] / gain
        return float(law.scaling.terms.deviation(gradient) ** 2)
    return difference_variance(law.lines, later, gain)


def _inside(law: Law, batch: float) -> bool:
    return bool(law.batch.size) and float(law.batch.min()) <= batch <= float(law.batch.max())
