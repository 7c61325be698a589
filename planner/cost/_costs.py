"""Cost of a rented run, and draws of its time.

Cost of a rented run:

    wall   = startup_s + work / (1 - share)                       [s]
    share  = interruptions_per_hour*(lost_work_s + restart_s)/3600
    billed = max(minimum_s, wall rounded up to the increment)     [s]
    month  = price*max(runs*billed/3600, committed hours) + runs*(setup + egress)
    run    = month / runs

Interruptions are a Poisson process while the instance is rented; each costs the work since the last
checkpoint and the restart (renewal-reward). At a share of 1 a run never ends: infinity. Limits: the
wall time is over 3 % too long above a share of 0.2. Only the mean is computed, and rounding up
applies to it. Waiting for an instance is billed, though not
by all providers. Hours above a commitment cost the same as committed ones.

Draws of a time from an `Estimate` with the central interval [low, high]:

    time = value*exp(s*z),  s = ln(high/value)/q where z > 0, ln(value/low)/q where z < 0
    z    = w*common + sqrt(1 - w^2)*own,  w = min(1, shared_sd/mean s)

The normals `common` and `own` are multiplied by sqrt(dof/chi-squared) for Student t; q is the
quantile at (1 + level)/2. So the median is the value and the interval is kept, even if asymmetric.
The common part of options estimated from one workload cancels between them. Limits: below the value
a time with a low end of 0 or less is drawn as the mirror of its upper side. With an infinite high
end half of the draws are infinite. Exact inputs give one number.

Evidence: docs/evidence.md#cost-of-interruptions.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtri, ndtri, stdtrit

from planner.core import HOUR_S, Estimate, Floats, Text, speak_once
from planner.cost._draws import MIDDLES, order
from planner.cost._records import Rental, checked, likely

SAME: Final = 1e-9
"""An increment is not begun by less than this share of it: 3600.0000001 s is one hour."""


def lost_share(rental: Rental) -> Floats:
    """Return share of the rented time that interruptions cost, 1 or more where nothing is left."""
    each_s = likely(rental.lost_work_s) + likely(rental.restart_s)
    return np.asarray(likely(rental.interruptions_per_hour) * each_s / HOUR_S)


def wall_s(rental: Rental, work_s: ArrayLike) -> Floats:
    """Return the expected time from the start of billing to the end of a run [s].

    Args:
        rental: its quantities scalar, or arrays that broadcast with `work_s`.
        work_s: uninterrupted duration of the run [s], at least 0, any shape.

    Returns:
        Start-up, work, lost work and restarts, in the broadcast shape; infinite where a run never
        ends.

    Raises:
        ValueError: `work_s` is negative or not a number.
    """
    work, left = np.broadcast_arrays(checked("work_s", work_s), 1.0 - lost_share(rental))
    ends = np.divide(work, left, out=np.full(work.shape, np.inf), where=left > 0.0)
    return np.asarray(likely(rental.startup_s) + ends)


def billed_s(rental: Rental, rented_s: ArrayLike) -> Floats:
    """Return the billed time of `rented_s` seconds [s]: whole increments, at least the minimum.

    Raises:
        ValueError: `rented_s` is negative or not a number.
    """
    used = checked("rented_s", rented_s)
    increment = likely(rental.billing_increment_s)
    whole = np.where(increment > 0.0, increment, 1.0)
    rounded = np.where(increment > 0.0, np.ceil(used / whole - SAME) * whole, used)
    return np.asarray(np.maximum(likely(rental.minimum_s), rounded))


def rent_per_month(rental: Rental, work_s: ArrayLike, runs_per_month: ArrayLike) -> Floats:
    """Return the cost of a month of runs [USD/month]; a commitment is paid without runs too.

    Args:
        rental: the instance; a range is used at its likely value.
        work_s: uninterrupted duration of a run [s], at least 0.
        runs_per_month: at least 0. All three broadcast.

    Raises:
        ValueError: a number is negative or not a number.
    """
    runs = checked("runs_per_month", runs_per_month)
    rented = np.asarray(billed_s(rental, wall_s(rental, work_s)))
    finite = np.where(np.isfinite(rented), rented, 0.0)  # no 0 USD/h for ever, no 0 endless runs
    hours = np.maximum(runs * finite / HOUR_S, likely(rental.committed_hours_per_month))
    around = runs * (likely(rental.setup_usd) + likely(rental.egress_usd))
    endless = ~np.isfinite(rented) & (runs > 0.0)
    return np.where(endless, np.inf, likely(rental.price_per_hour) * hours + around)


def rent_per_run(rental: Rental, work_s: ArrayLike, runs_per_month: ArrayLike = 1.0) -> Floats:
    """Return the cost of one run [USD]; a commitment is shared by the runs of a month.

    If `work_s` is the time to a target, this is the cost of the target.

    Args:
        rental: as `rent_per_month`.
        work_s: uninterrupted duration of the run [s], at least 0.
        runs_per_month: above 0; it matters only with a commitment.

    Returns:
        Shape of the broadcast arguments; infinite where a run never ends.

    Raises:
        ValueError: `work_s` is negative, `runs_per_month` is not above 0, or one is not a number.
    """
    runs = checked("runs_per_month", runs_per_month)
    if not (runs > 0.0).all():
        raise ValueError(
            "runs_per_month is 0. Without a run there is no cost per run. Use rent_per_month, "
            "or at least a part of a run: 0.5 is one in two months."
        )
    return np.asarray(rent_per_month(rental, work_s, runs) / runs)


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
            problems.append(
                Text(
                    "dof is {dof:g}. Degrees of freedom are above 0: 5, or infinite.", dof=self.dof
                )
            )
        if not 0.0 <= self.shared_sd < np.inf:
            problems.append(
                Text("shared_sd is {shared_sd:g}. Give 0.02 for 2 %.", shared_sd=self.shared_sd)
            )
        speak_once(problems)


NONE_SHARED: Final = Uncertainty()


def draw_time(time: Estimate, key: str, uncertainty: Uncertainty = NONE_SHARED) -> Floats:
    """Return draws of one time, shape (draws,), in the unit of the estimate.

    Args:
        time: one value above 0 with its interval, as `planner.core._estimate.Estimate`.
        key: of the option, such as its name: the draws follow from seed and key alone.
        uncertainty: degrees of freedom of the interval, and its part in common with others.

    Raises:
        ValueError: names all problems of the estimate.
    """
    value, low, high = _checked(time, key)
    quantile = float(standard(uncertainty.dof, np.asarray(0.5 + 0.5 * time.level)))
    up, down = float(np.log(high / value)) / quantile, float(np.log(value / low)) / quantile
    mean_sd = 0.5 * (up + down)
    weight = min(1.0, uncertainty.shared_sd / mean_sd) if mean_sd > 0.0 else 0.0
    return _scaled(value, _standard_draws(f"{key}: time", weight, uncertainty), up, down)


def standard(dof: float, share: Floats) -> Floats:
    """Return quantiles of the standard normal (dof infinite) or Student t at `share`."""
    quantiles = ndtri(share) if np.isinf(dof) else stdtrit(dof, share)
    return np.asarray(quantiles, dtype=np.float64)


@lru_cache(maxsize=64)
def _strata(dof: float) -> Floats:
    """Return sorted standard quantiles; cached since Student's are slow to compute."""
    strata = standard(dof, MIDDLES)
    strata.setflags(write=False)
    return strata


@lru_cache(maxsize=64)
def _stretches(dof: float) -> Floats:
    """Return sorted sqrt(dof/chi-squared), the factors from normal to Student draws."""
    stretches = np.asarray(np.sqrt(dof / chdtri(dof, MIDDLES)), dtype=np.float64)
    stretches.setflags(write=False)
    return stretches


def _standard_draws(key: str, weight: float, uncertainty: Uncertainty) -> Floats:
    """Return z, with the part `weight` in common with all of the same source."""
    if weight == 0.0:
        return np.asarray(_strata(uncertainty.dof)[order(key)])
    normal = _strata(NORMAL)
    common = normal[order(f"shared: {uncertainty.shared}")]
    z = weight * common + np.sqrt(1.0 - weight**2) * normal[order(key)]
    if np.isinf(uncertainty.dof):
        return np.asarray(z)
    stretch = _stretches(uncertainty.dof)
    return np.asarray(z * stretch[order(f"{key}, stretch")])


def _scaled(value: float, z: Floats, up: float, down: float) -> Floats:
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
        raise ValueError(
            Text("{key} has a time for every case of an array. Draw them one by one.", key=key)
        )
    value, low, high = time.ends
    problems = []
    if not (0.0 < value < np.inf and low <= value <= high):
        problems.append(
            Text(
                "{key} takes {value:g} ({low:g} to {high:g}). A time to draw is finite, "
                "above 0 and within its interval. Leave the option out or give its time "
                "again.",
                key=key,
                value=value,
                low=low,
                high=high,
            )
        )
    if not 0.0 < time.level < 1.0:
        problems.append(
            Text(
                "{key} has level {level:g}. A level is above 0 and below 1: 0.9.",
                key=key,
                level=time.level,
            )
        )
    if low <= 0.0 and np.isinf(high):
        problems.append(Text("{key} has an interval from 0 s to infinity. Leave it out.", key=key))
    speak_once(problems)
    return value, low if low > 0.0 else value * (value / high), high
