"""Draws of times from an `Estimate`.

    time = value*exp(s*z),  s = ln(high/value)/q where z > 0, ln(value/low)/q where z < 0

z is standard normal, or Student t with the degrees of freedom of the interval; q is its quantile at
(1 + level)/2. So the median is the value and the central `level` of the draws is [low, high], even
if asymmetric. Options estimated from the same measured workload have a common error: with
w = min(1, shared_sd/s), s the mean of the two sides,

    z = w*common + sqrt(1 - w^2)*own        (times sqrt(dof/chi-squared) for Student t)

leaves each option's interval unchanged and makes the common part equal in all of them, so that it
cancels.

Limits: a low end at or below 0 has no logarithm; below the value such a time is drawn as the mirror
of its upper side. With an infinite high end half of the draws are infinite. An interval without
width is drawn as its value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from scipy.special import chdtri, ndtri, stdtrit

from planner.core import Estimate, Floats, speak_once
from planner.cost._draws import (
    ONCE,
    Drawing,
    middles,
    order,
)

NORMAL: Final = float("inf")
"""Degrees of freedom of a log-normal time."""
SHARED: Final = "the measured workload"


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncertainty:
    """Degrees of freedom of an interval, and its uncertainty in common with others.

    dof: its degrees of freedom, above 0; infinite for log-normal.
    shared_sd: relative standard deviation in common with all of the same `shared`.
    shared: name of the common source, such as the measured workload.

    Raises:
        ValueError: names the fields out of their bounds.
    """

    dof: float = NORMAL
    shared_sd: float = 0.0
    shared: str = SHARED

    def __post_init__(self) -> None:
        problems = []
        if not self.dof > 0.0:
            problems.append(f"dof is {self.dof:g}. Degrees of freedom are above 0: 5, or infinite.")
        if not 0.0 <= self.shared_sd < np.inf:
            problems.append(f"shared_sd is {self.shared_sd:g}. Give 0.02 for 2 %.")
        speak_once(problems)


NONE_SHARED: Final = Uncertainty()


def draw_time(
    time: Estimate, key: str, uncertainty: Uncertainty = NONE_SHARED, drawing: Drawing = ONCE
) -> Floats:
    """Return draws of one time, shape (draws,), in the unit of the estimate.

    Args:
        time: one value above 0 with its interval, as `planner.core._estimate.Estimate`.
        key: of the option, such as its name: the draws follow from seed and key alone.
        uncertainty: degrees of freedom of the interval, and its part in common with others.
        drawing: seed and number of draws.

    Raises:
        ValueError: names all problems of the estimate.
    """
    value, low, high = _checked(time, key)
    quantile = float(standard(uncertainty.dof, np.asarray(0.5 + 0.5 * time.level)))
    up, down = float(np.log(high / value)) / quantile, float(np.log(value / low)) / quantile
    mean_sd = 0.5 * (up + down)
    weight = min(1.0, uncertainty.shared_sd / mean_sd) if mean_sd > 0.0 else 0.0
    return _scaled(value, _standard_draws(f"{key}: time", weight, uncertainty, drawing), up, down)


def draw_times(
    times: Mapping[str, Estimate],
    uncertainty: Mapping[str, Uncertainty] | Uncertainty = NONE_SHARED,
    drawing: Drawing = ONCE,
) -> Floats:
    """Return draws of several options, shape (options, draws), in the order of `times`.

    Args as `draw_time`; `uncertainty` is one for all options, or one by the name of each. A
    permutation of the options permutes the rows only.
    """
    by_name = uncertainty if isinstance(uncertainty, Mapping) else dict.fromkeys(times, uncertainty)
    drawn = np.empty((len(times), drawing.draws))
    for row, (key, time) in zip(drawn, times.items(), strict=True):
        row[:] = draw_time(time, key, by_name[key], drawing)
    return drawn


def standard(dof: float, share: Floats) -> Floats:
    """Return quantiles of the standard normal (dof infinite) or Student t at `share`."""
    quantiles = ndtri(share) if np.isinf(dof) else stdtrit(dof, share)
    return np.asarray(quantiles, dtype=np.float64)


@lru_cache(maxsize=64)
def _strata(dof: float, draws: int) -> Floats:
    """Return sorted standard quantiles; cached since Student's are slow to compute."""
    strata = standard(dof, middles(draws))
    strata.setflags(write=False)
    return strata


@lru_cache(maxsize=64)
def _stretches(dof: float, draws: int) -> Floats:
    """Return sorted sqrt(dof/chi-squared), the factors from normal to Student draws."""
    stretches = np.asarray(np.sqrt(dof / chdtri(dof, middles(draws))), dtype=np.float64)
    stretches.setflags(write=False)
    return stretches


def _standard_draws(key: str, weight: float, uncertainty: Uncertainty, drawing: Drawing) -> Floats:
    """Return z, with the part `weight` in common with all of the same source."""
    if weight == 0.0:
        return np.asarray(_strata(uncertainty.dof, drawing.draws)[order(key, drawing)])
    normal = _strata(NORMAL, drawing.draws)
    common = normal[order(f"shared: {uncertainty.shared}", drawing)]
    z = weight * common + np.sqrt(1.0 - weight**2) * normal[order(key, drawing)]
    if np.isinf(uncertainty.dof):
        return np.asarray(z)
    stretch = _stretches(uncertainty.dof, drawing.draws)
    return np.asarray(z * stretch[order(f"{key}, stretch", drawing)])


def _scaled(value: float, z: Floats, up: float, down: float) -> Floats:
    """Return value*exp(s*z) with one s for each sign of z."""
    if np.isinf(up):
        return np.where(z > 0.0, np.inf, value * np.exp(np.minimum(z, 0.0) * down))
    power = np.where(z > 0.0, up, down)
    power *= z
    np.exp(power, out=power)
    power *= value
    return power


def _checked(time: Estimate, key: str) -> tuple[float, float, float]:
    """Return value and ends above 0, or all that is wrong with them."""
    if any(np.ndim(part) for part in (time.value, time.low, time.high)):
        raise ValueError(f"{key} has a time for every case of an array. Draw them one by one.")
    value, low, high = float(time.value), float(time.low), float(time.high)
    problems = []
    if not (0.0 < value < np.inf and low <= value <= high):
        problems.append(
            f"{key} takes {value:g} ({low:g} to {high:g}). A time to draw is finite, above 0 and "
            "within its interval. Leave the option out or give its time again."
        )
    if not 0.0 < time.level < 1.0:
        problems.append(f"{key} has level {time.level:g}. A level is above 0 and below 1: 0.9.")
    if low <= 0.0 and np.isinf(high):
        problems.append(f"{key} has an interval from 0 s to infinity. Leave it out.")
    speak_once(problems)
    return value, low if low > 0.0 else value * (value / high), high
