"""Ours and the others over the batch: what each says about the points of cases.

Every method takes `Cases` and answers all its points; those that were published without an
interval have none here. The product's refusals are `answered`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from backtest.data.cases import Cases
from backtest.questions.figure import Prediction
from backtest.questions.rivals import fit_constant_throughput, fit_power_law
from planner.core import LEVEL, Floats, t_quantile
from planner.fits import (
    PARAMETERS,
    Lines,
    Prior,
    fit_corrected,
    fit_lines,
    predict_corrected,
    predict_lines,
)
from planner.fits.lines import STEP_TIMES

OURS: Final = "ours: corrected line"
PLAIN: Final = "plain line"
Method = Callable[[Cases], Prediction]


def lines_of(cases: Cases, prior: Prior = STEP_TIMES) -> Lines:
    """The line of every case."""
    return fit_lines(cases.shown_case, cases.shown_batch, cases.shown_value, prior=prior)


def scatter(lines: Lines) -> Floats:
    """Relative scatter of the points about each line; NaN below three."""
    left = np.where(lines.n > PARAMETERS, lines.n - PARAMETERS, np.nan)
    return np.asarray(np.sqrt(lines.rss / left))


def answered(
    cases: Cases, *, max_scatter: float, narrow: float, near: float, too_far: float
) -> NDArray[np.bool_]:
    """Which points the product answers: its limits of scatter and range, shape (asked,).

    Two batches less than a factor `narrow` apart answer from 1/`near` to `near` times their range.
    """
    lines = lines_of(cases).of(cases.asked_case)
    batch = cases.asked_batch
    close = (lines.n == PARAMETERS) & (lines.x_max < narrow * lines.x_min)
    within = (batch >= lines.x_min / near) & (batch <= lines.x_max * near)
    inside = np.where(close, within, batch <= lines.x_max * too_far)
    return np.asarray(inside & ~(scatter(lines) > max_scatter))


def straight_line(prior: Prior = STEP_TIMES) -> Method:
    """The line behind v0 and t, and behind every curve of fewer than four batches."""

    def method(cases: Cases) -> Prediction:
        lines = lines_of(cases, prior).of(cases.asked_case)
        value, low, high = predict_lines(lines, cases.asked_batch)
        return Prediction(value=value, low=low, high=high)

    return method


def corrected_line(cases: Cases) -> Prediction:
    """What the product answers: from four batches on the line times a Gaussian process."""
    fit = fit_corrected(cases.shown_case, cases.shown_batch, cases.shown_value)
    value, low, high = predict_corrected(fit, cases.asked_case, cases.asked_batch)
    return Prediction(value=value, low=low, high=high)


def textbook(cases: Cases) -> Prediction:
    """The same line with the interval of weighted least squares; none without spare points."""
    lines = lines_of(cases).of(cases.asked_case)
    x, dof = cases.asked_batch, np.where(lines.n > PARAMETERS, lines.n - PARAMETERS, np.nan)
    value = lines.intercept + lines.slope * x
    unit = lines.var_intercept + x * (2.0 * lines.cov + x * lines.var_slope)
    half = t_quantile(LEVEL, dof) * np.sqrt(lines.rss / dof * (value**2 + np.maximum(unit, 0.0)))
    return Prediction(value=value, low=value - half, high=value + half)


def interpolation(cases: Cases) -> Prediction:
    """Straight pieces between measured points; the outer two pieces go on for ever."""
    return _each(cases, _pieces)


def constant_throughput(cases: Cases) -> Prediction:
    """Seconds per sample of the nearest measured batch."""
    return _each(cases, lambda b, t, x: fit_constant_throughput(b, t).step_s(x))


def constant_samples(cases: Cases) -> Prediction:
    """Samples to target of the nearest measured batch: the number of epochs stays the same."""
    return _each(cases, lambda b, e, x: fit_constant_throughput(b, e * b).step_s(x) / x)


def power_law(cases: Cases) -> Prediction:
    """A straight line in log-log paper."""
    return _each(cases, lambda b, y, x: fit_power_law(b, y).step_s(x))


OF_STEP_TIMES: Final[Mapping[str, Method]] = {
    OURS: corrected_line,
    PLAIN: straight_line(),
    "line, textbook interval": textbook,
    "linear interpolation": interpolation,
    "power law": power_law,
    "constant throughput": constant_throughput,
}


def without_bounds(told: Prediction) -> Prediction:
    """The values alone."""
    nothing = np.full(told.value.shape, np.nan)
    return replace(told, low=nothing, high=nothing)


def _pieces(batch: Floats, value: Floats, asked: Floats) -> Floats:
    right = np.clip(np.searchsorted(batch, asked), 1, batch.size - 1)
    slope = (value[right] - value[right - 1]) / (batch[right] - batch[right - 1])
    return np.asarray(value[right - 1] + slope * (asked - batch[right - 1]))


def _each(cases: Cases, answer: Callable[[Floats, Floats, Floats], Floats]) -> Prediction:
    """Ask case by case: shown batches, shown values and asked batches give values."""
    numbers = np.arange(int(cases.shown_case.max()) + 1)
    shown = np.searchsorted(cases.shown_case, [*numbers, numbers.size])
    asked = np.searchsorted(cases.asked_case, [*numbers, numbers.size])
    found = np.empty(cases.asked_batch.size)
    for i in numbers:
        mine, theirs = slice(*shown[i : i + 2]), slice(*asked[i : i + 2])
        found[theirs] = answer(
            cases.shown_batch[mine], cases.shown_value[mine], cases.asked_batch[theirs]
        )
    nothing = np.full(found.shape, np.nan)
    return Prediction(value=found, low=nothing, high=nothing)
