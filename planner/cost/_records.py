"""Costs of renting and owning, as frozen records with checks.

Money is in one currency, called USD here; `planner.cost._display` shows it in another. A price
is for the whole instance or machine with all its devices. Every quantity is an `Amount`: a number,
a `Range` if uncertain, or an array of draws from `planner.cost._draws`. Formulas take all three; a
range at its likely value.

Every `Amount` is checked where a record is made, every argument of a formula here.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from planner.core import HOUR_S, Floats, Text, listed, speak_once

HOURS_PER_YEAR: Final = 8760.0
HOURS_PER_MONTH: Final = HOURS_PER_YEAR / 12.0


@dataclass(frozen=True, slots=True)
class Range:
    """An uncertain price or quantity: triangular between `low` and `high`, most often `likely`.

    All three are finite and low <= likely <= high; all equal is an exact number. Ranges of one
    `name` are one quantity (the tariff of one building with two machines) with the same draws. A
    range without a name is drawn independently.

    Raises:
        ValueError: names all problems.
    """

    low: float
    likely: float
    high: float
    name: str = ""

    def __post_init__(self) -> None:
        ends = (self.low, self.likely, self.high)
        if np.isfinite(ends).all() and self.low <= self.likely <= self.high:
            return
        values = ", ".join(f"{end:g}" for end in ends)
        raise ValueError(
            Text(
                "{name} goes {values}. A range is three finite numbers in rising order: "
                "the least, the likely and the largest value.",
                name=self.name or "A range",
                values=values,
            )
        )


Amount = float | Range | Floats
"""A number, a range, or an array of draws [unit of its field]."""


def likely(amount: Amount) -> Floats:
    """Return the value for formulas: a range at its likely value, others unchanged."""
    return np.asarray(amount.likely if isinstance(amount, Range) else amount, dtype=np.float64)


def checked(name: str, values: ArrayLike, *, most: float = np.inf) -> Floats:
    """Return an argument of a formula as an array; infinity is allowed where `most` is.

    Raises:
        ValueError: a value is below 0, above `most` or not a number; it names them.
    """
    array = np.asarray(values, dtype=np.float64)
    good = (array >= 0.0) & (array <= most)
    if good.all():
        return array
    to = "or more" if np.isinf(most) else f"to {most:g}"
    raise ValueError(
        Text(
            "{name}: {listed}. It is a number from 0 {to}. Correct these values.",
            name=name,
            listed=listed(array, good),
            to=to,
        )
    )


def product(first: Floats, second: Floats) -> Floats:
    """Return a product in which 0 times infinity is 0; both at least 0."""
    left, right = np.broadcast_arrays(first, second)
    both = (left > 0.0) & (right > 0.0)
    return np.asarray(np.multiply(left, right, out=np.zeros(left.shape), where=both))


def of_hours(work_s: ArrayLike, hourly: Floats) -> Floats:
    """Return the cost of `work_s` seconds at `hourly` per hour; infinite work is never free.

    Raises:
        ValueError: a time is negative or not a number.
    """
    hours = checked("work_s", work_s) / HOUR_S
    return np.where(np.isinf(hours), np.inf, product(hours, hourly))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rental:
    """The rent of one instance; each quantity an `Amount`, at least 0.

    price_per_hour: for the whole instance, without tax [USD/h].
    billing_increment_s: time is rounded up to whole increments [s]; 0 bills what was used.
    minimum_s: minimum billed time of a run [s].
    setup_usd: cost of a run before its start: images, data ingress [USD/run].
    startup_s: from the start of billing until work begins, once per run [s].
    egress_usd: cost of transferring the results of a run out [USD/run].
    interruptions_per_hour: rate of interruptions (spot) [1/h rented].
    lost_work_s: work lost by an interruption [s]: on average half of the time between
        checkpoints.
    restart_s: from an interruption until work continues, billed like the rest [s].
    committed_hours_per_month: paid whether used or not [h], at most 744.

    Raises:
        ValueError: names all impossible values.
    """

    price_per_hour: Amount
    billing_increment_s: Amount = 1.0
    minimum_s: Amount = 0.0
    setup_usd: Amount = 0.0
    startup_s: Amount = 0.0
    egress_usd: Amount = 0.0
    interruptions_per_hour: Amount = 0.0
    lost_work_s: Amount = 0.0
    restart_s: Amount = 0.0
    committed_hours_per_month: Amount = 0.0

    def __post_init__(self) -> None:
        speak_once(list(_problems(self, RENTAL_LIMITS)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Owned:
    """The costs of owning one machine; each quantity an `Amount`, at least 0.

    price_usd: paid for the machine [USD].
    life_years: time until it is replaced [years]; 0 is allowed and gives no answer.
    power_watts: power at work, before PUE [W].
    tariff_usd_per_kwh: electricity [USD/kWh]; 0 is free.
    overhead_share: host, rack, network, tax ... on top of the price [share of it].
    residual_share: of price and overhead, recovered at the end of its life [share, 0..1].
    rate_of_capital: interest, or the return of the money elsewhere [share/year, 0..1].
    idle_watts: idle power [W]; 0 is switched off, at most `power_watts`.
    pue: power of the building over that of the machine, at least 1.
    upkeep_usd_per_year: staff, space, repair, insurance [USD/year].
    kg_co2_per_kwh: of the electricity [kg/kWh]; None if unknown.

    Raises:
        ValueError: names all impossible values.
    """

    price_usd: Amount
    life_years: Amount
    power_watts: Amount
    tariff_usd_per_kwh: Amount
    overhead_share: Amount = 0.0
    residual_share: Amount = 0.0
    rate_of_capital: Amount = 0.0
    idle_watts: Amount = 0.0
    pue: Amount = 1.0
    upkeep_usd_per_year: Amount = 0.0
    kg_co2_per_kwh: Amount | None = None

    def __post_init__(self) -> None:
        problems = list(_problems(self, OWNED_LIMITS))
        watts = (self.idle_watts, self.power_watts)
        drawn = any(isinstance(amount, np.ndarray) for amount in watts)
        if not problems and not drawn:  # draws of two ranges may cross
            problems += _idle_above_busy(*(float(likely(amount)) for amount in watts))
        speak_once(problems)


@dataclass(frozen=True, slots=True)
class Limit:
    """Limits of a quantity, both included, and the advice for other values."""

    least: float
    most: float
    advice: str


def _up_to(most: float, unit: str) -> Limit:
    return Limit(0.0, most, Text("Give {unit}.", unit=unit))


_YEAR_S: Final = 31_622_400.0
_MOST_USD: Final = 1e13
"""More than 1,024 accelerators at a billion each: a higher price is a typing error."""
RENTAL_LIMITS: Final[Mapping[str, Limit]] = {
    "price_per_hour": _up_to(_MOST_USD, "USD per hour for the whole instance"),
    "billing_increment_s": _up_to(_YEAR_S, "seconds: 60 for whole minutes, 0 for what was used"),
    "minimum_s": _up_to(_YEAR_S, "seconds"),
    "setup_usd": _up_to(1e9, "USD per run"),
    "startup_s": _up_to(_YEAR_S, "seconds per run"),
    "egress_usd": _up_to(1e9, "USD per run"),
    "interruptions_per_hour": _up_to(3_600.0, "0.05 for one in 20 hours"),
    "lost_work_s": _up_to(_YEAR_S, "seconds: half of the time between checkpoints"),
    "restart_s": _up_to(_YEAR_S, "seconds"),
    "committed_hours_per_month": Limit(0.0, 744.0, "A month has at most 744 hours."),
}
OWNED_LIMITS: Final[Mapping[str, Limit]] = {
    "price_usd": _up_to(_MOST_USD, "USD"),
    "life_years": _up_to(100.0, "years until it is replaced"),
    "power_watts": _up_to(1e9, "watts while it works"),
    "tariff_usd_per_kwh": _up_to(100.0, "USD per kWh"),
    "overhead_share": Limit(0.0, 10.0, "Give 0.3 for 30 % of the price."),
    "residual_share": Limit(0.0, 1.0, "Give 0.1 for 10 % of the price."),
    "rate_of_capital": Limit(0.0, 1.0, "Give 0.08 for 8 % a year."),
    "idle_watts": _up_to(1e9, "watts while it does not work"),
    "pue": Limit(1.0, 10.0, "1.4 is a usual building, 1 a perfect one."),
    "upkeep_usd_per_year": _up_to(10.0 * _MOST_USD, "USD per year"),
    "kg_co2_per_kwh": Limit(0.0, 10.0, "Give 0.4 for 400 g; leave it out if unknown."),
}


def ranges_of(record: Rental | Owned) -> dict[str, Range]:
    """Return which quantities of a record are uncertain, by the names of their fields."""
    named = {f.name: getattr(record, f.name) for f in fields(record)}
    return {name: amount for name, amount in named.items() if isinstance(amount, Range)}


def _problems(record: Rental | Owned, limits: Mapping[str, Limit]) -> Iterator[str]:
    """Yield the problems of each quantity, as sentences."""
    for name, limit in limits.items():
        amount = getattr(record, name)
        if amount is None:
            continue
        low, high = _ends(amount)
        if not (limit.least <= low <= high <= limit.most and high < np.inf):
            bad = high if limit.least <= low < np.inf else low
            yield (
                Text(
                    "{record}: {field} is {bad:g}. It must be a finite number, at least "
                    "{least:g} and at most {most:,.15g}. {advice}",
                    record=type(record).__name__,
                    field=name,
                    bad=bad,
                    least=limit.least,
                    most=limit.most,
                    advice=limit.advice,
                )
            )


def _idle_above_busy(idle_watts: float, power_watts: float) -> list[str]:
    if idle_watts <= power_watts:
        return []
    return [
        Text(
            "Owned: idle_watts is {idle_watts:g}, power_watts {power_watts:g}. A "
            "machine draws no more idle than busy. Exchange them, or measure both at "
            "the plug.",
            idle_watts=idle_watts,
            power_watts=power_watts,
        )
    ]


def _ends(amount: Amount) -> tuple[float, float]:
    """Return the least and largest value an amount can take; NaN where one of several is NaN."""
    if isinstance(amount, Range):
        return amount.low, amount.high
    if isinstance(amount, np.ndarray):
        return float(amount.min()), float(amount.max())
    return float(amount), float(amount)
