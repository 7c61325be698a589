"""Break-even of buying against the best rental, and the cost of a month.

The formulas are those of `planner.cost`, over the draws of the comparison. The rent is for the
work of one hour on the bought machine. U is the machine's work in a month, these runs and its other
work o [h]. n runs of w hours bear the share n*w/U of its fixed costs:

    buy(n)  = n*w/U * (A/12 + (730 - U)*idle) + n*w*busy       U = n*w + o        [USD/month]
    rent(n) = price*max(n*billed hours, committed hours) + n*(set-up + egress)    [USD/month]

Without a commitment both are equal at U = 730 u*, the break-even utilisation of
`planner.cost.break_even`, which is at n = (730 u* - o)/w runs. A commitment is paid whether it is
used or not, so up to the runs that fill it buying is cheaper earlier. There rent and purchase are
nearly straight lines (exactly, without other work), and their crossing follows from the two ends.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from planner.compare.comparison import (
    Comparison,
    Row,
    RowDraws,
    limits_phrase,
    machines,
    runs_a_month,
)
from planner.core import HOUR_S, Estimate, Floats, Refusal, Text, paragraph, percent, plural
from planner.cost import (
    DOLLARS,
    HOURS_PER_MONTH,
    HOURS_PER_YEAR,
    Display,
    NoSavings,
    Owned,
    Rental,
    billed_s,
    break_even,
    break_even_utilisation,
    busy_energy_per_hour,
    draw_record,
    fixed_per_year,
    idle_energy_per_hour,
    in_months,
    likely,
    machines_for,
    money_with_interval,
    payback,
    per_hour_of_work,
    quantiles,
    rent_per_month,
    rent_per_run,
    wall_s,
)

MONTHS: Final = 12.0
HARDLY: Final = 0.01
LEAST_WORK_S: Final = 1e-6
"""A shorter run fills no machine."""
LEAST_CHANCE: Final = 0.1
"""Least probability of meeting deadline and budget at which buying is computed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RentOrBuy:
    """A rented and a bought candidate, and the break-even between them.

    `use` is the utilisation from which buying is cheaper, `runs_per_month` the same in runs. Both
    are refusals where buying never pays off. `payback` [months] is at the runs a month of the
    question, `requested_per_month`.
    """

    rent: Row
    buy: Row
    use: Estimate | Refusal
    runs_per_month: Estimate | Refusal
    payback: Estimate | Refusal
    requested_per_month: float


def rent_or_buy(comparison: Comparison, display: Display = DOLLARS) -> RentOrBuy | None:
    """Return the best rented against the best bought candidate; None where one is missing.

    `display` is the currency and tax in refusals.
    """
    rent = _first(comparison, "rent")
    buy = _first(comparison, "buy")
    if rent is None or buy is None or rent.drawn is None or buy.drawn is None:
        return None
    owned, rental = buy.candidate.owned, rent.candidate.rental
    if owned is None or rental is None or rent.drawn.cost is None:
        return None
    often = comparison.question.assumed.runs_per_month
    if (late := _too_late(buy, comparison)) is not None:
        return RentOrBuy(
            rent=rent,
            buy=buy,
            use=late,
            runs_per_month=late,
            payback=late,
            requested_per_month=often,
        )
    use, runs = _break_even((rental, rent), (owned, buy), display)
    return RentOrBuy(
        rent=rent,
        buy=buy,
        use=use,
        runs_per_month=use if isinstance(use, Refusal) else quantiles(runs),
        payback=_payback(rent.drawn.cost, buy, often, display),
        requested_per_month=often,
    )


def misses_limits(buy: Row) -> bool:
    """Return whether a bought candidate is too unlikely to meet the limits to be advised."""
    return buy.in_time is not None and buy.in_time < LEAST_CHANCE


def _too_late(buy: Row, comparison: Comparison) -> Refusal | None:
    if buy.in_time is None or not misses_limits(buy):
        return None
    kept = limits_phrase(comparison.question.limits)
    chance = "" if buy.in_time < 0.01 else f" ({percent(buy.in_time)} chance)"
    return Refusal(
        reason=Text(
            "It is unlikely to finish {kept}{chance}, so savings are not shown.",
            kept=kept,
            chance=chance,
        ),
        measure_next="Compare a faster machine, several machines, or wider limits.",
    )


def monthly_cost(row: Row, runs_per_month: Sequence[float]) -> Estimate | None:
    """Return the cost of a month [USD] at run counts, shape (counts,); None where unknown.

    For a bought candidate this counts the machines that runs and other work need, and the runs'
    share of their cost. At the runs of the question it equals the table's cost of a month.
    """
    if row.drawn is None or row.drawn.cost is None:
        return None
    runs = np.asarray(runs_per_month, dtype=np.float64)[:, None]
    candidate = row.candidate
    if candidate.rental is not None:
        drawn = draw_record(candidate.rental, candidate.id)
        return quantiles(rent_per_month(drawn, row.drawn.work_s, runs))
    if candidate.owned is None:
        return None
    owned = draw_record(candidate.owned, candidate.id)
    if candidate.way == "own":
        return quantiles(runs * row.drawn.work_s / HOUR_S * busy_energy_per_hour(owned))
    return quantiles(_month(owned, row.drawn, runs, _machines(row.drawn, runs)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ownership:
    """Total costs of renting and of owning over some years [USD], at one use of the machine.

    `years` is the life of the bought machine, after which it keeps its residual value.
    `utilisation` is the share of the time that it works. `buying_cheaper` is the probability.
    """

    rent: Estimate
    buy: Estimate
    years: float
    utilisation: float
    buying_cheaper: float


def ownership(pair: RentOrBuy) -> Ownership | None:
    """Return the totals over the life of the bought machine, at the runs a month of the question.

    None where a cost is unknown.
    """
    rental, owned = pair.rent.candidate.rental, pair.buy.candidate.owned
    rented, bought = pair.rent.drawn, pair.buy.drawn
    if rental is None or owned is None or rented is None or bought is None:
        return None
    runs = np.full((1, 1), pair.requested_per_month)
    years = float(likely(owned.life_years))
    months = MONTHS * years
    hired = draw_record(rental, pair.rent.candidate.id)
    machine = replace(draw_record(owned, pair.buy.candidate.id), life_years=years)
    rent = months * rent_per_month(hired, rented.work_s, runs)[0]
    buy = months * _month(machine, bought, runs, _machines(bought, runs))[0]
    if not np.isfinite(rent).all() or not np.isfinite(buy).all():
        return None
    return Ownership(
        rent=quantiles(rent),
        buy=quantiles(buy),
        years=years,
        utilisation=utilisation_at(pair.buy, pair.requested_per_month),
        buying_cheaper=float((buy < rent).mean()),
    )


def utilisation_at(row: Row, runs_per_month: float) -> float:
    """Return the share of the time that one machine works, its other work included."""
    work_s = float(np.median(row.drawn.work_s)) if row.drawn is not None else 0.0
    other = row.drawn.other_hours_per_month if row.drawn is not None else 0.0
    return (runs_per_month * work_s / HOUR_S + other) / HOURS_PER_MONTH


def runs_at(row: Row, utilisation: float) -> float:
    """Return the runs a month at which one machine works that share of the time; 0 at least."""
    if row.drawn is None:
        return 0.0
    hours = utilisation * HOURS_PER_MONTH - row.drawn.other_hours_per_month
    return max(hours, 0.0) * HOUR_S / max(float(np.median(row.drawn.work_s)), LEAST_WORK_S)


def ownership_sentences(pair: RentOrBuy, totals: Ownership, display: Display) -> tuple[str, ...]:
    """Return the totals in words: renting, buying, and how likely buying is cheaper."""
    span = plural(totals.years, "{count:g} year", "{count:g} years")
    rent, buy = (money_with_interval(e, display) for e in (totals.rent, totals.buy))
    use = f"{float(f'{100.0 * totals.utilisation:.2g}'):g} %"
    return (
        Text(
            "{span} at {use} utilisation: {phrase} costs {rent}.",
            span=span,
            use=use,
            phrase=pair.rent.candidate.phrase,
            rent=rent,
        ),
        Text(
            "{phrase_first} costs {buy}, electricity included.",
            phrase_first=pair.buy.candidate.phrase_first,
            buy=buy,
        ),
        Text("Buying is cheaper with {chance} probability.", chance=_chance(totals.buying_cheaper)),
    )


def _chance(share: float) -> str:
    """Return a probability in words: '< 1 %', '40 %', '> 99 %'."""
    if share < HARDLY:
        return "< 1 %"
    return "> 99 %" if share > 1.0 - HARDLY else percent(share)


def pays_back(pair: RentOrBuy) -> str:
    """Return after how many months the machine has paid for itself, or why it never does."""
    runs = pair.requested_per_month
    often = Text("At {runs}", runs=runs_a_month(runs))
    answer = pair.payback
    if pair.buy.machines > 1:  # the break-even is that of one machine
        often = Text(
            "At {runs}, which take {machines},",
            runs=runs_a_month(runs),
            machines=machines(pair.buy.machines),
        )
    if isinstance(answer, Refusal):
        never = (
            Text("{often} it most likely never pays for itself.", often=often)
            if isinstance(answer, NoSavings) and not answer.certain
            else Text("{often} it never pays for itself.", often=often)
        )
        return paragraph(never, answer.reason)
    low, months, high = (float(end) for end in (answer.low, answer.value, answer.high))
    soonest = in_months(low) if low >= 0.5 else "less than a month"
    span = (
        f"{low:,.0f} to {high:,.0f}"
        if np.isfinite(high)
        else Text("{soonest}, or never", soonest=soonest)
    )
    after = Text("{months} ({level}: {span})",
                 months=in_months(months), level=percent(answer.level), span=span)  # fmt: skip
    if not answer.reasons:
        return Text("{often} it has paid for itself after {after}.", often=often, after=after)
    would = Text("{often} it would pay for itself after {after}.", often=often, after=after)
    return paragraph(would, answer.reasons[0])  # it is worn out sooner


def _break_even(
    rent: tuple[Rental, Row], buy: tuple[Owned, Row], display: Display
) -> tuple[Estimate | Refusal, Floats]:
    """Return break-even utilisation, and draws of break-even runs a month."""
    (rental, rented), (owned, bought) = rent, buy
    if rented.drawn is None or bought.drawn is None:
        raise ValueError("Only rows with draws have a break-even. Choose answered rows.")
    hired = draw_record(rental, rented.candidate.id)
    drawn = draw_record(owned, bought.candidate.id)
    plain = rent_per_run(replace(hired, committed_hours_per_month=0.0), rented.drawn.work_s)
    per_hour = np.asarray(per_hour_of_work(plain, bought.drawn.work_s))
    use = break_even(owned, per_hour, key=bought.candidate.id, display=display)
    share = break_even_utilisation(drawn, per_hour)
    hours = np.maximum(share * HOURS_PER_MONTH - bought.drawn.other_hours_per_month, 0.0)
    runs = np.where(share <= 1.0, hours * HOUR_S / bought.drawn.work_s, np.inf)
    if likely(rental.committed_hours_per_month).max() == 0.0:
        return use, runs
    runs = _runs_committed(runs, (drawn, bought.drawn), (hired, rented.drawn))
    return _use_of(runs, bought.drawn, use), runs


def _month(owned: Owned, drawn: RowDraws, runs: Floats, machines: Floats) -> Floats:
    """Return buy(n) of the module's text for a machine count [USD]; all broadcast with draws."""
    used = runs * drawn.work_s / HOUR_S
    busy = used + drawn.other_hours_per_month
    hours = HOURS_PER_MONTH * machines
    part = np.divide(used, busy, out=np.ones(busy.shape), where=busy > 0.0)
    fixed = np.asarray(fixed_per_year(owned)) / HOURS_PER_YEAR
    waiting = np.maximum(1.0 - busy / hours, 0.0) * idle_energy_per_hour(owned)
    standing = np.maximum(hours, busy) * (fixed + waiting)
    return np.asarray(part * standing + used * busy_energy_per_hour(owned))


def _machines(drawn: RowDraws, runs: Floats) -> Floats:
    """Return the machines that the median draw keeps busy, at least 1; `runs` (counts, 1)."""
    busy = runs * np.median(drawn.work_s) / HOUR_S + drawn.other_hours_per_month
    return machines_for(busy / HOURS_PER_MONTH)


def _runs_committed(
    runs: Floats, buy: tuple[Owned, RowDraws], rent: tuple[Rental, RowDraws]
) -> Floats:
    (owned, there), (hired, other) = buy, rent
    each_s = np.asarray(billed_s(hired, wall_s(hired, other.work_s)))
    filled = likely(hired.committed_hours_per_month) * HOUR_S / each_s
    left_s = max(HOURS_PER_MONTH - there.other_hours_per_month, 0.0) * HOUR_S
    most = left_s / there.work_s
    end = np.minimum(filled, most)
    first, last = (
        _month(owned, there, n, np.ones(1)) - rent_per_month(hired, other.work_s, n)
        for n in (np.zeros(end.shape), end)
    )
    slope = np.where(first > last, first - last, 1.0)
    within = np.where(first > 0.0, end * first / slope, 0.0)
    beyond = np.where(filled < most, runs, np.inf)
    return np.where(last > 0.0, beyond, within)


def _use_of(runs: Floats, drawn: RowDraws, plain: Estimate | Refusal) -> Estimate | Refusal:
    """Return runs as a share of the machine's hours; `plain` is the refusal where it never pays."""
    hours = runs * drawn.work_s / HOUR_S + drawn.other_hours_per_month
    share = hours / HOURS_PER_MONTH
    return quantiles(share) if np.isfinite(np.median(share)) else plain


def _payback(rent: Floats, buy: Row, runs_per_month: float, display: Display) -> Estimate | Refusal:
    """Return the payback time [months]; other work bears its share, as in the cost of a month."""
    drawn, owned = buy.drawn, buy.candidate.owned
    if drawn is None or owned is None:
        return Refusal(reason="Its time is unknown.", measure_next=buy.timed.measure_next)
    return payback(
        owned,
        rent,
        drawn.work_s,
        runs_per_month,
        other_hours_per_month=drawn.other_hours_per_month,
        key=buy.candidate.id,
        display=display,
    )


def _first(comparison: Comparison, way: str) -> Row | None:
    rows = (
        r for r in comparison.answered if r.candidate.way == way and isinstance(r.cost, Estimate)
    )
    return next(rows, None)
