"""Cost of a rented run.

    wall   = startup_s + work / (1 - share)                       [s]
    share  = interruptions_per_hour*(lost_work_s + restart_s)/3600
    billed = max(minimum_s, wall rounded up to the increment)     [s]
    month  = price*max(runs*billed/3600, committed hours) + runs*(setup + egress)
    run    = month / runs

Interruptions are a Poisson process while the instance is rented; each costs the work since the last
checkpoint and the restart. 1 - share of a rented hour is work (renewal-reward). At a share of 1 a
run never ends: infinity here, a sentence by `refuse_rental`. Against the exact law for checkpoints
tau apart, exp(R/M)*M*(exp(tau/M) - 1)/tau (M = hours between interruptions; Daly 2006, Future
Gener. Comput. Syst. 22:303), with lost_work_s = tau/2:

    share                     0.01    0.05    0.1     0.2     0.5
    wall here / exact, R=0    1.000   1.001   1.004   1.017   1.164
    wall here / exact, R=tau  1.000   1.001   1.005   1.023   1.207

so the wall time is correct to 3 % up to a share of a fifth, and too long beyond.

Limits: only the mean is computed, not its scatter, and rounding up applies to the mean. Waiting for
an instance is billed here, though not by all providers. Hours above a commitment cost the same as
committed ones.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from planner.core import Floats, Refusal
from planner.cost._quantities import SECONDS_PER_HOUR, checked, likely
from planner.cost._records import Rental

SAME: Final = 1e-9
"""An increment is not begun by less than this share of it: 3600.0000001 s is one hour."""


def lost_share(rental: Rental) -> Floats:
    """Return share of the rented time that interruptions cost, 1 or more where nothing is left."""
    each_s = likely(rental.lost_work_s) + likely(rental.restart_s)
    return np.asarray(likely(rental.interruptions_per_hour) * each_s / SECONDS_PER_HOUR)


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
    hours = np.maximum(runs * finite / SECONDS_PER_HOUR, likely(rental.committed_hours_per_month))
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


def refuse_rental(rental: Rental) -> Refusal | None:
    """Return why a run never ends on this rental, at its likely values, or None where it does."""
    share = float(np.min(lost_share(rental)))
    if share < 1.0:
        return None
    often = float(np.min(likely(rental.interruptions_per_hour)))
    return Refusal(
        reason=f"With {often:g} interruptions an hour, each costing {3600 * share / often:g} s of "
        "lost work and restart, nothing is left of an hour: a run never ends.",
        measure_next="Save a checkpoint more often, or rent an instance without interruptions.",
    )
