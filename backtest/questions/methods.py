"""Methods over the batch, ours and others.

Every method takes `Cases` and predicts all its hidden points. Methods that were published without
an interval have none here. `answered` holds the product's refusals.
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
    """Return the line of every case."""
    return fit_lines(cases.shown_case, cases.shown_batch, cases.shown_value, prior=prior)


def scatter(lines: Lines) -> Floats:
    """Return the relative scatter of the points about each line; NaN below three."""
    left = np.where(lines.n > PARAMETERS, lines.n - PARAMETERS, np.nan)
    return np.asarray(np.sqrt(lines.rss / left))


def answered(
    cases: Cases, *, max_scatter: float, narrow: float, near: float, too_far: float
) -> NDArray[np.bool_]:
    """Return which points the product answers by its limits of scatter and range, (hidden,).

    Two batches closer than a factor `narrow` answer from 1/`near` to `near` times their range.
    """
    lines = lines_of(cases).of(cases.hidden_case)
    batch = cases.hidden_batch
    close = (lines.n == PARAMETERS) & (lines.x_max < narrow * lines.x_min)
    within = (batch >= lines.x_min / near) & (batch <= lines.x_max * near)
    inside = np.where(close, within, batch <= lines.x_max * too_far)
    return np.asarray(inside & ~(scatter(lines) > max_scatter))


def straight_line(prior: Prior = STEP_TIMES) -> Method:
    """Return the plain line with v0 and t, as used below four batches."""

    def method(cases: Cases) -> Prediction:
        lines = lines_of(cases, prior).of(cases.hidden_case)
        value, low, high = predict_lines(lines, cases.hidden_batch)
        return Prediction(value=value, low=low, high=high)

    return method


def corrected_line(cases: Cases) -> Prediction:
    """Return the product's predictions: from four batches on, line times Gaussian process."""
    fit = fit_corrected(cases.shown_case, cases.shown_batch, cases.shown_value)
    value, low, high = predict_corrected(fit, cases.hidden_case, cases.hidden_batch)
    return Prediction(value=value, low=low, high=high)


def textbook(cases: Cases) -> Prediction:
    """Return the same line with the least-squares interval; none without spare points."""
    lines = lines_of(cases).of(cases.hidden_case)
    x, dof = cases.hidden_batch, np.where(lines.n > PARAMETERS, lines.n - PARAMETERS, np.nan)
    value = lines.intercept + lines.slope * x
    unit = lines.var_intercept + x * (2.0 * lines.cov + x * lines.var_slope)
    half = t_quantile(LEVEL, dof) * np.sqrt(lines.rss / dof * (value**2 + np.maximum(unit, 0.0)))
    return Prediction(value=value, low=value - half, high=value + half)


def interpolation(cases: Cases) -> Prediction:
    """Return straight pieces between measured points; the outer two are extended."""
    return _each(cases, _pieces)


def constant_throughput(cases: Cases) -> Prediction:
    """Return predictions with the seconds per sample of the nearest measured batch."""
    return _each(cases, lambda b, t, x: fit_constant_throughput(b, t).step_s(x))


def constant_samples(cases: Cases) -> Prediction:
    """Return the samples to target of the nearest batch: the same number of epochs."""
    return _each(cases, lambda b, e, x: fit_constant_throughput(b, e * b).step_s(x) / x)


def power_law(cases: Cases) -> Prediction:
    """Return a straight line in the log-log plot."""
    return _each(cases, lambda b, y, x: fit_power_law(b, y).step_s(x))


OF_STEP_TIMES: Final[Mapping[str, Method]] = {
    OURS: corrected_line,
    PLAIN: straight_line(),
    "line, textbook interval": textbook,
    "linear interpolation": interpolation,
    "power law": power_law,
    "constant throughput": constant_throughput,
}


def without_bounds(prediction: Prediction) -> Prediction:
    """Return the predictions without intervals."""
    nothing = np.full(prediction.value.shape, np.nan)
    return replace(prediction, low=nothing, high=nothing)


def _pieces(batch: Floats, value: Floats, hidden: Floats) -> Floats:
    right = np.clip(np.searchsorted(batch, hidden), 1, batch.size - 1)
    slope = (value[right] - value[right - 1]) / (batch[right] - batch[right - 1])
    return np.asarray(value[right - 1] + slope * (hidden - batch[right - 1]))


def _each(cases: Cases, answer: Callable[[Floats, Floats, Floats], Floats]) -> Prediction:
    """Return predictions case by case, from shown batches, shown values and hidden batches."""
    numbers = np.arange(int(cases.shown_case.max()) + 1)
    shown = np.searchsorted(cases.shown_case, [*numbers, numbers.size])
    hidden = np.searchsorted(cases.hidden_case, [*numbers, numbers.size])
    values = np.empty(cases.hidden_batch.size)
    for i in numbers:
        mine, theirs = slice(*shown[i : i + 2]), slice(*hidden[i : i + 2])
        values[theirs] = answer(
            cases.shown_batch[mine], cases.shown_value[mine], cases.hidden_batch[theirs]
        )
    nothing = np.full(values.shape, np.nan)
    return Prediction(value=values, low=nothing, high=nothing)
