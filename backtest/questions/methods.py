"""Methods over the batch, ours and others.

Every method takes `Cases` and predicts all its hidden points. Methods that were published without
an interval have none here. `answered` holds the product's refusals.

Published forms have no refusals either. The product uses them only in comparisons.

    name                  over            free   published in
    Ernest                batch, devices  4      Venkataraman et al., NSDI 2016; amplab/ernest
    AdaptDL               batch, devices  7      Qiao et al. (Pollux), OSDI 2021; petuum/adaptdl
    perfect speed-up      batch, devices  2      folklore; what a spreadsheet does
    constant throughput   batch           1      folklore: samples/s of the nearest measured batch
    power law             batch           2      folklore: a straight line in log-log paper
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from backtest.data.cases import Cases
from backtest.questions.figure import Prediction
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

LEAST: Final = 1e-8
"""AdaptDL's smallest constant, and its network time without a network [s]."""
NORMS: Final = (1.0, 10.0)
"""From no overlap of computing and network (a sum) to almost full overlap (the larger)."""
ENDLESS_S: Final = 1e9
"""Bound where AdaptDL has none: the minimiser may otherwise overflow."""
_Rows = tuple[Floats, Floats, Floats]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ernest:
    """T = c0 + c1*scale/devices + c2*log(devices) + c3*devices, each at least 0 [s].

    The scale of a training step is its global batch, so scale/devices is the batch per device.
    """

    coefficients: Floats

    def step_s(self, per_device_batch_size: ArrayLike, devices: ArrayLike) -> Floats:
        """Return the seconds per step, in the broadcast shape."""
        rows = _ernest_rows(*_floats(per_device_batch_size, devices))
        return np.asarray(rows @ self.coefficients)


def fit_ernest(per_device_batch_size: ArrayLike, devices: ArrayLike, step_s: ArrayLike) -> Ernest:
    """Return Ernest's non-negative least squares: absolute errors, no weights (predictor.py).

    Its optimal design of training points is left out: it gets our points. Arrays have shape
    (runs,); batch in samples on one device, times in s.
    """
    from scipy.optimize import nnls

    batch, count, times = _floats(per_device_batch_size, devices, step_s)
    return Ernest(coefficients=nnls(_ernest_rows(batch, count), times)[0])


def _ernest_rows(batch: Floats, devices: Floats) -> Floats:
    return np.stack([np.ones(batch.shape), batch, np.log(devices), devices], axis=-1)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptDL:
    """T = (compute^gamma + network^gamma)^(1/gamma), a norm that overlaps the two [s].

        compute = alpha_c + beta_c*b
        network = alpha_n + beta_n*max(n - 2, 0)      several nodes
                = alpha_r + beta_r*max(n - 2, 0)      several devices of one node

    `parameters` are alpha_c, beta_c, alpha_n, beta_n, alpha_r, beta_r, gamma, shape (7,).
    """

    parameters: Floats

    def step_s(
        self, per_device_batch_size: ArrayLike, devices: ArrayLike, nodes: ArrayLike
    ) -> Floats:
        """Return the seconds per step, in the broadcast shape."""
        batch, count, boxes = _floats(per_device_batch_size, devices, nodes)
        log_step, _ = _adaptdl_step(self.parameters, _adaptdl_rows(batch, count, boxes))
        return np.exp(log_step)


def fit_adaptdl(
    per_device_batch_size: ArrayLike,
    devices: ArrayLike,
    nodes: ArrayLike,
    step_s: ArrayLike,
    compute_s: ArrayLike | None = None,
) -> AdaptDL:
    """Return AdaptDL's fit_perf_params: its start, bounds, penalties and minimiser (L-BFGS-B).

    It minimises the root mean square error of log compute plus that of log step, plus 0.001*(gamma
    - 1)^2 and 0.01*((beta_n/alpha_n)^2 + (beta_r/alpha_r)^2). The gradient is explicit, where the
    original differentiates automatically, so a fit takes milliseconds instead of seconds. In its
    favour, it is minimised over the logarithms of the six times. The published minimiser stops
    early, at a point that depends on the last digit of the data. Its error was 0.074 or 0.112 for
    times that differed by 1e-15, and 0.072 at the minimum.

    Args:
        per_device_batch_size: samples on one device, shape (runs,).
        devices: shape (runs,).
        nodes: shape (runs,).
        step_s: seconds per step, shape (runs,).
        compute_s: seconds without gradient synchronisation, shape (runs,); if unknown, the error of
            compute is left out.
    """
    batch, count, boxes, times = _floats(per_device_batch_size, devices, nodes, step_s)
    compute = None if compute_s is None else np.asarray(compute_s, dtype=np.float64)
    start, low, high = _adaptdl_start(batch, count, boxes, times if compute is None else compute)
    targets = np.log(times), None if compute is None else np.log(compute)
    parameters = _minimised(start, (low, high), (_adaptdl_rows(batch, count, boxes), *targets))
    if not (boxes > 1.0).any():  # its prior: a network is at least a tenth dearer than a bus
        parameters[2:4] = np.maximum(parameters[2:4], 1.1 * parameters[4:6])
    return AdaptDL(parameters=parameters)


def _minimised(
    start: Floats, between: tuple[Floats, Floats], args: tuple[_Rows, Floats, Floats | None]
) -> Floats:
    """Return the minimum by L-BFGS-B, over the logarithms of the six times and gamma."""
    from scipy.optimize import Bounds, minimize

    def error(place: Floats) -> tuple[float, Floats]:
        parameters = np.append(np.exp(place[:6]), place[6])
        size, gradient = _adaptdl_error(parameters, *args)
        return size, gradient * np.append(parameters[:6], 1.0)

    logs = [np.append(np.log(v[:6]), v[6]) for v in (start, *between)]
    result = minimize(error, logs[0], jac=True, bounds=Bounds(logs[1], logs[2]))
    return np.append(np.exp(result.x[:6]), result.x[6])


def _adaptdl_start(
    batch: Floats, devices: Floats, nodes: Floats, compute_s: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return start and bounds; parameters that no run determines stay at the lower bound."""
    start = np.array([1e-1, 1e-2] * 3 + [1.0 + 1e-3])
    low = np.array([LEAST] * 6 + [NORMS[0]])
    high = np.array([ENDLESS_S] * 6 + [NORMS[1]])
    if np.unique(batch).size == 1:
        start[0] = low[0] = high[0] = compute_s.mean() / 2.0
    absent = np.zeros(7, dtype=np.bool_)
    absent[2:4] = not (nodes > 1.0).any()
    absent[4:6] = not ((nodes == 1.0) & (devices > 1.0)).any()
    absent[[3, 5]] |= not (devices > 2.0).any()
    start[absent] = high[absent] = low[absent]
    return start, low, high


def _adaptdl_rows(batch: Floats, devices: Floats, nodes: Floats) -> _Rows:
    """Return weights of the terms of compute and of network, and the network floor."""
    more = np.maximum(devices - 2.0, LEAST)
    several = (nodes > 1.0).astype(np.float64)
    single = ((nodes <= 1.0) & (devices > 1.0)).astype(np.float64)
    compute = np.stack([np.ones(batch.shape), batch], axis=-1)
    network = np.stack([several, several * more, single, single * more], axis=-1)
    return compute, network, (1.0 - several - single) * LEAST * (1.0 + more)


def _adaptdl_step(parameters: Floats, rows: _Rows) -> tuple[Floats, _Rows]:
    """Return the logarithm of the step, and (compute, network, share of compute in the norm)."""
    gamma = parameters[6]
    # Sums, not products of matrices: their last digits depend on how many threads share the work,
    # and this minimiser ends elsewhere for other last digits.
    compute = (rows[0] * parameters[:2]).sum(axis=-1)
    network = (rows[1] * parameters[2:6]).sum(axis=-1) + rows[2]
    log_step = np.logaddexp(gamma * np.log(compute), gamma * np.log(network)) / gamma
    return log_step, (compute, network, np.exp(gamma * (np.log(compute) - log_step)))


def _adaptdl_error(
    parameters: Floats, rows: _Rows, target: Floats, target_compute: Floats | None
) -> tuple[float, Floats]:
    """Return AdaptDL's objective and its gradient, shape (7,)."""
    gamma, alpha, beta = parameters[6], parameters[[2, 4]], parameters[[3, 5]]
    log_step, (compute, network, share) = _adaptdl_step(parameters, rows)
    of_compute = rows[0] / compute[:, None]
    of_network = (1.0 - share)[:, None] * rows[1] / network[:, None]
    mixed = share * np.log(compute) + (1.0 - share) * np.log(network)
    slope = [share[:, None] * of_compute, of_network, ((mixed - log_step) / gamma)[:, None]]
    error, gradient = _root_mean_square(log_step - target, np.concatenate(slope, axis=1))
    if target_compute is not None:
        more, slope_more = _root_mean_square(np.log(compute) - target_compute, of_compute)
        error, gradient[:2] = error + more, gradient[:2] + slope_more
    gradient[6] += 2e-3 * (gamma - 1.0)
    gradient[[2, 4]] -= 2e-2 * beta**2 / alpha**3
    gradient[[3, 5]] += 2e-2 * beta / alpha**2
    return error + float(1e-3 * (gamma - 1.0) ** 2 + 1e-2 * ((beta / alpha) ** 2).sum()), gradient


def _root_mean_square(errors: Floats, slope: Floats) -> tuple[float, Floats]:
    size = float(np.sqrt(np.mean(errors**2)))
    gradient = (errors[:, None] * slope).mean(axis=0) / max(size, np.finfo(np.float64).tiny)
    return size, gradient


@dataclass(frozen=True, slots=True, kw_only=True)
class PerfectSpeedUp:
    """n devices are n times as fast: T(b, n) = overhead_s + b*slope_s for all n [s]."""

    overhead_s: float
    slope_s: float

    def step_s(self, per_device_batch_size: ArrayLike, devices: ArrayLike) -> Floats:
        """Return the seconds per step, in the broadcast shape."""
        batch, _ = _floats(per_device_batch_size, devices)
        return self.overhead_s + batch * self.slope_s


def fit_perfect_speed_up(
    per_device_batch_size: ArrayLike, devices: ArrayLike, step_s: ArrayLike
) -> PerfectSpeedUp:
    """Return the line t + b/v0 of the fewest devices; through zero for one batch size."""
    batch, count, times = _floats(per_device_batch_size, devices, step_s)
    first = count == count.min()
    batch, times = batch[first], times[first]
    lines = fit_lines(np.zeros(batch.size, dtype=np.int64), batch, times)
    if lines.determined[0]:
        return PerfectSpeedUp(overhead_s=float(lines.intercept[0]), slope_s=float(lines.slope[0]))
    return PerfectSpeedUp(overhead_s=0.0, slope_s=float((times / batch).mean()))


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantThroughput:
    """A step at b takes b/v, v being the throughput of the nearest measured batch (as a factor).

    `batch` [samples] in rising order and `seconds_per_sample` have shape (batches,).
    """

    batch: Floats
    seconds_per_sample: Floats

    def step_s(self, batch: ArrayLike) -> Floats:
        """Return the seconds per step, in the shape of `batch`."""
        sizes = np.asarray(batch, dtype=np.float64)
        distance = np.abs(np.log(sizes)[..., None] - np.log(self.batch))
        return np.asarray(sizes * self.seconds_per_sample[distance.argmin(axis=-1)])


def fit_constant_throughput(batch: ArrayLike, step_s: ArrayLike) -> ConstantThroughput:
    """Return the mean seconds per sample at every measured batch; shape (runs,)."""
    sizes, times = _floats(batch, step_s)
    distinct, where, count = np.unique(sizes, return_inverse=True, return_counts=True)
    seconds = np.bincount(where, times / sizes) / count
    return ConstantThroughput(batch=distinct, seconds_per_sample=seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerLaw:
    """T(b) = factor_s * b^exponent [s]."""

    factor_s: float
    exponent: float

    def step_s(self, batch: ArrayLike) -> Floats:
        """Return the seconds per step, in the shape of `batch`."""
        return np.asarray(self.factor_s * np.asarray(batch, dtype=np.float64) ** self.exponent)


def fit_power_law(batch: ArrayLike, step_s: ArrayLike) -> PowerLaw:
    """Return least squares of log T on log b; exponent 1 for a single batch."""
    sizes, times = (np.log(v) for v in _floats(batch, step_s))
    off = sizes - sizes.mean()
    spread = float(off @ off)
    exponent = float(off @ times) / spread if spread > 0.0 else 1.0
    return PowerLaw(
        factor_s=float(np.exp(times.mean() - exponent * sizes.mean())), exponent=exponent
    )


def _floats(*values: ArrayLike) -> tuple[NDArray[np.float64], ...]:
    return tuple(np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in values)))


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


def _pieces(batch: Floats, value: Floats, hidden: Floats) -> Floats:
    right = np.clip(np.searchsorted(batch, hidden), 1, batch.size - 1)
    slope = (value[right] - value[right - 1]) / (batch[right] - batch[right - 1])
    return np.asarray(value[right - 1] + slope * (hidden - batch[right - 1]))


def _each(cases: Cases, answer: Callable[[Floats, Floats, Floats], Floats]) -> Prediction:
    numbers = np.arange(int(cases.shown_case.max()) + 1)
    shown = np.searchsorted(cases.shown_case, [*numbers, numbers.size])
    hidden = np.searchsorted(cases.hidden_case, [*numbers, numbers.size])
    values = np.empty(cases.hidden_batch.size)
    for i in numbers:
        mine, theirs = slice(*shown[i : i + 2]), slice(*hidden[i : i + 2])
        values[theirs] = answer(
            cases.shown_batch[mine], cases.shown_value[mine], cases.hidden_batch[theirs]
        )
    return Prediction.bare(values)
