"""Months until owned machines have paid for themselves.

    used    = runs*work, busy = used + other work                             [h/month]
    fleet   = max(machines, busy/730); the part of these runs is used/busy
    running = used*energy busy + part*((730 fleet - busy)*energy idle + fleet*upkeep/12) [USD/month]
    saved   = runs*rent of a run - running                                    [USD/month]
    plain   = part*fleet*capex/saved,  sold = (1 - residual)*plain            [months]
    payback = min(plain, max(life, sold))                                     [months]

After this many months both have cost the same. The residual value is recovered at the end of the
life only; a payback beyond the life assumes that the machines last. Interest is not included, since
it is in the cost of a month (`planner.cost._own`). A machine that costs no more than renting over
its life pays back within it. At residual value and interest 0 the payback at the break-even is the
life.

Work beyond the machines' hours is charged as if further machines were bought for it, as in the cost
of a month (`planner.compare.rent_or_buy`): more runs never delay the payback of a fixed machine
count. A month has 730 hours. Limits: all months are alike; a further machine is paid whole, so the
payback jumps where one is bought.
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from planner.core import Estimate, Floats, Refusal, Text, percent, plural
from planner.cost._display import DOLLARS, Display, money
from planner.cost._draws import DRAWS, draw_record, quantiles
from planner.cost._own import (
    busy_energy_per_hour,
    capex,
    idle_energy_per_hour,
    refuse_owned,
    utilisation_of,
)
from planner.cost._records import HOURS_PER_MONTH, Owned, checked, likely, product

MONTHS_PER_YEAR: Final = 12.0
CERTAIN: Final = 0.995
"""Above this share of the draws there are no savings at all: the rest would be shown as 0 %."""


@dataclass(frozen=True, slots=True)
class _Fleet:
    """Machines in use by the runs and in all, machines charged for, the runs' part of them."""

    used: Floats
    busy: Floats
    charged: Floats
    part: Floats


def machines_for(busy: ArrayLike) -> Floats:
    """Return whole machines that the work of so many busy ones takes, at least one.

    Rounding takes none.

    Args:
        busy: hours of work over the hours of a month, of any shape [machines].
    """
    return np.asarray(np.maximum(np.ceil(np.asarray(busy) - 1e-9), 1.0))


def payback(
    owned: Owned,
    rent_per_run: ArrayLike,
    work_s: ArrayLike,
    runs_per_month: float,
    *,
    other_hours_per_month: float = 0.0,
    key: str = "own",
    display: Display = DOLLARS,
) -> Estimate | Refusal:
    """Return months until the machines have paid for themselves, with their interval [months].

    As many machines are bought as the middle draw keeps busy.

    Args:
        owned: one machine to buy.
        rent_per_run: rented cost of a run, at least 0 [USD]: a number, or draws of shape (draws,).
        work_s: duration of a run on the bought machine, at least 0 [s], likewise.
        runs_per_month: at least 0.
        other_hours_per_month: other work, with its part of costs [h].
        key: of the machine, see `planner.cost._draws`.
        display: currency of the sentences.

    Returns:
        An `Estimate`, with a reason where in most draws they are worn out sooner; a `Refusal`
        where most draws save nothing, or the life is 0.

    Raises:
        ValueError: a number is negative or not a number.
    """
    if refusal := refuse_owned(owned, 1.0):
        return refusal
    busy = _fleet(work_s, runs_per_month, 1.0, other_hours_per_month).busy
    bought = machines_for(np.median(busy))
    fleet = _fleet(work_s, runs_per_month, bought, other_hours_per_month)
    drawn, rent = draw_record(owned, key), _rent(rent_per_run, runs_per_month)
    months = np.broadcast_to(_months(drawn, rent, fleet), (DRAWS,))
    estimate = quantiles(months)
    if np.isfinite(estimate.value):
        lasts = MONTHS_PER_YEAR * likely(drawn.life_years)
        worn = float((months > lasts * (1.0 + 1e-9)).mean())  # rounding wears nothing out
        return replace(estimate, reasons=_worn_out(owned, float(estimate.value), worn))
    costs, never = (rent, _running(drawn, fleet)), float(np.isinf(months).mean())
    return _saves_nothing(costs, int(bought), never, display)


def in_months(months: float) -> str:
    """Return '1 month' or '23 months'."""
    number = f"{months:,.0f}"
    return f"{number} month" if number == "1" else f"{number} months"


def _fleet(
    work_s: ArrayLike, runs_per_month: ArrayLike, machines: ArrayLike, other_hours: ArrayLike
) -> _Fleet:
    used = utilisation_of(work_s, runs_per_month)
    busy = np.asarray(used + checked("other_hours_per_month", other_hours) / HOURS_PER_MONTH)
    used = np.broadcast_to(used, busy.shape)
    shared = (busy > 0.0) & np.isfinite(busy)
    part = np.divide(used, busy, out=np.ones(busy.shape), where=shared)
    charged = np.maximum(checked("machines", machines), busy)
    return _Fleet(used, busy, charged, part)


def _rent(rent_per_run: ArrayLike, runs_per_month: ArrayLike) -> Floats:
    """Return the rented cost of a month of the runs [USD]."""
    runs = checked("runs_per_month", runs_per_month)
    return product(runs, checked("rent_per_run", rent_per_run))


def _months(owned: Owned, rent: Floats, fleet: _Fleet) -> Floats:
    """Return the payback of the module's text; `rent` of a month [USD]."""
    running = _running(owned, fleet)
    paid = product(fleet.part, product(fleet.charged, capex(owned)))
    rent, running, paid = np.broadcast_arrays(rent, running, paid)
    saved = np.subtract(rent, running, out=np.zeros(paid.shape), where=np.isfinite(running))
    never = np.full(paid.shape, np.inf)
    with np.errstate(over="ignore"):  # next to nothing saved is as good as nothing
        plain = np.divide(paid, saved, out=never, where=saved > 0.0)
    return _with_what_is_left(owned, plain)


def _running(owned: Owned, fleet: _Fleet) -> Floats:
    """Return the electricity and upkeep of the runs' part of a month [USD]."""
    energy = product(HOURS_PER_MONTH * fleet.used, busy_energy_per_hour(owned))
    spare = np.subtract(
        fleet.charged, fleet.busy, out=np.zeros(fleet.charged.shape),
        where=np.isfinite(fleet.charged),
    )  # fmt: skip
    waiting = product(HOURS_PER_MONTH * spare, idle_energy_per_hour(owned))
    upkeep = product(fleet.charged, likely(owned.upkeep_usd_per_year) / MONTHS_PER_YEAR)
    return np.asarray(energy + product(fleet.part, waiting + upkeep))


def _with_what_is_left(owned: Owned, plain: Floats) -> Floats:
    """Return the payback with the residual value at the end of the life [months]."""
    life = MONTHS_PER_YEAR * likely(owned.life_years)
    sold = product(1.0 - likely(owned.residual_share), plain)
    sold = np.where(np.isinf(plain), np.inf, sold)
    return np.asarray(np.minimum(plain, np.maximum(life, sold)))


def _worn_out(owned: Owned, months: float, worn: float) -> tuple[str, ...]:
    """Return a warning if the payback is beyond the life in most draws; () otherwise."""
    life = MONTHS_PER_YEAR * float(likely(owned.life_years))
    if months > life * (1.0 + 1e-9) and (worn <= 0.5 or f"{months:.0f}" == f"{life:.0f}"):
        return (Text("It lasts about that long: {in_months}.", in_months=in_months(life)),)
    if worn <= 0.5:
        return ()
    if months > life:
        return (
            plural(
                life,
                "It is worn out sooner: after {count:g} month.",
                "It is worn out sooner: after {count:g} months.",
            ),
        )
    return (Text("It is worn out sooner with {share} probability.", share=percent(worn)),)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoSavings(Refusal):
    """There is no payback: in (almost) all draws if `certain`, else in most."""

    certain: bool


def _saves_nothing(
    costs: tuple[Floats, Floats], machines: int, never: float, display: Display
) -> NoSavings:
    """Return why there is no payback; `costs` of a month, rented and bought."""
    rented, running = (money(float(np.median(cost)), display) for cost in costs)
    own = plural(machines, "an own machine", "{count:,} own machines")
    certain = never > CERTAIN
    costs_text = Text(
        "A month of these runs costs {rented} rented, and {running} for electricity and upkeep of "
        "{machines}. There are no savings to pay it back.",
        rented=rented,
        running=running,
        machines=own,
    )
    reason = (
        costs_text
        if certain
        else Text(
            "A month of these runs costs {rented} rented, and {running} for electricity and upkeep "
            "of {machines}. With {share} probability there are no savings to pay it back.",
            rented=rented,
            running=running,
            machines=own,
            share=percent(never),
        )
    )
    next_step = Text("Plan more runs per month, or compare it with another rental.")
    return NoSavings(reason=reason, measure_next=next_step, certain=certain)
