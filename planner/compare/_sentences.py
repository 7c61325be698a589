"""The answer as sentences one can paste, and read aloud on the phone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from planner.compare._electricity import electricity_lines
from planner.compare._words import (
    budget_words,
    comparative,
    kept_to,
    lower,
    machines,
    number,
    runs_a_month,
)
from planner.compare.comparison import Comparison, Row, Wanted
from planner.compare.ranking import chance_to_keep
from planner.compare.reckon import (
    DECIDED,
    LIKELY_IN_TIME,
    better,
    standing,
)
from planner.compare.rent_or_buy import RentOrBuy, pays_back
from planner.core import Estimate, Refusal, about, between, plain, with_ends
from planner.cost import (
    DOLLARS,
    BreakEven,
    Display,
    likely,
    money,
    money_about,
    money_with_interval,
    price,
    quantiles,
)
from planner.job import Order

Key = tuple[float, float, float, float]


def closest(told: Comparison, least: float) -> Row | None:
    """The likeliest of those that keep the limits in a share `least` of the draws.

    Where none does, the one that least exceeds the limit it exceeds most, by its medians. None
    where no limit is given, or no option is known to meet it.
    """
    wanted = told.question.wanted
    known = [r for r in told.answered if r.in_time is not None]
    return min(known, key=lambda r: _distance(r, wanted, least), default=None)


def none_can(told: Comparison, least: float) -> bool:
    """Whether all are known to keep the limits in less than a share `least` of the draws."""
    shares = [r.in_time for r in told.answered]
    return bool(shares) and all(share is not None and share < least for share in shares)


def _distance(row: Row, wanted: Wanted, least: float) -> Key:
    share = row.in_time or 0.0
    limits = (
        (row.time, wanted.deadline_s),
        (row.to_pay, wanted.budget_usd),
        (row.cost, wanted.cost_limit_usd),
    )
    exceeds = [_ratio(_value(told), most) for told, most in limits if most is not None]
    paid = row.cost if wanted.budget_usd is None else row.to_pay
    cost = _value(paid) if wanted.limits_money else 0.0
    told = share if share >= least else 0.0
    return -told, max(exceeds, default=0.0), cost, _value(row.time)


def _ratio(value: float, most: float) -> float:
    if value <= 0.0:
        return 0.0
    return value / most if most > 0.0 else math.inf


def _value(told: Estimate | Refusal | None) -> float:
    return float(told.value) if isinstance(told, Estimate) else math.inf


def limits_words(wanted: Wanted, display: Display = DOLLARS, until: str = "") -> str:
    """'within 72 h for at most 500 USD'; "" where there is no limit.

    Args:
        wanted: the limits.
        display: currency of the budget.
        until: the deadline as a date, in words; with "" it is stated in hours.
    """
    parts = []
    if wanted.deadline_s is not None:
        parts.append(f"by {until}" if until else f"within {plain(wanted.deadline_s / 3600.0, 4)} h")
    if wanted.budget_usd is not None:
        parts.append(f"for at most {budget_words(wanted.budget_usd, display)}")
    if wanted.cost_limit_usd is not None:
        parts.append(f"at a cost of at most {budget_words(wanted.cost_limit_usd, display)} a run")
    return " ".join(parts)


_VERBS: Final = {"rent": "Renting", "buy": "Buying", "own": "Using the"}
TIED: Final = (0.4, 0.6)
"""Between these probabilities to be the better one two options are as good as tied."""
RISKY_AND_SURE: Final = (0.9, 0.99)
"""An answer that keeps the limits less often than the first is told with one that does as often as
the second."""
ALMOST_SURE: Final = 0.995
"""Above it a probability is shown as certainty: 4,096 draws resolve no more."""
_TINY: Final = 0.005
"""A share that would be shown as 0 %."""


def sentence(told: Comparison, display: Display = DOLLARS) -> str:
    """The answer: which option, how long, for how much, how sure."""
    leader = told.leader
    if leader is None or isinstance(leader.time, Refusal):
        return _nothing(told)
    if none_in_reach(told):
        return _none(told, display)
    does = f"{_does(told)}{_at_batch(leader, told)}"
    finishes = f"{subject(leader, display)} {does} in {time_with_interval(leader.time)}"
    cost = "" if isinstance(leader.cost, Refusal) else f" for {_money(leader.cost, display)}"
    cost += _up_front(leader, display)
    kept = _in_time(told.question.wanted, leader, display)
    first = f"{finishes}{cost}{_against(told, leader, display)}{kept}."
    return f"{first}{_surer(told, leader, display)}"


def none_in_reach(told: Comparison) -> bool:
    """Whether of several options none is likely to meet the limits, the first least of all.

    Then the closest is shown and not the first, whose place says nothing.
    """
    first = told.leader
    if len(told.rows) < 2 or first is None or first.in_time is None:
        return False
    return first.in_time < 1.0 - ALMOST_SURE and none_can(told, LIKELY_IN_TIME)


def subject(row: Row, display: Display = DOLLARS) -> str:
    """What is done, with its price: 'Renting 1 x H100 SXM (Lambda) at 2.49 USD/h'."""
    one = row.candidate
    what, verb = one.label.split(" ", 1)[1], _VERBS[one.way]
    if row.machines > 1:
        verb, what = verb.removesuffix(" the"), f"{machines(row.machines)} with {what}"
    if one.rental is not None:
        each = " each" if row.machines > 1 else ""
        hour = price(float(likely(one.rental.price_per_hour)), display)
        return f"{verb} {what} at {hour}/h{each}"
    return f"{verb} {what}"


def buying(found: RentOrBuy) -> str:
    """From which use on buying pays off, as a sentence."""
    names = (found.buy.candidate.label, found.rent.candidate.label)
    what = f"{names[0]} instead of {lower(names[1])}"
    if isinstance(found.use, Refusal) or not isinstance(found.use, BreakEven):
        why = found.use.reason if isinstance(found.use, Refusal) else ""
        return f"{what}: {why}"
    return f"{what}: {_pays_off(found.use.utilisation, found.runs_per_month)}. {_paid_back(found)}"


def time_with_interval(time: Estimate) -> str:
    """'14 h (90 %: 12 to 17 h)': one unit, and the digits that the interval allows."""
    value, low, high = with_ends(float(time.value), float(time.low), float(time.high))
    level = f"{time.level:.0%}".replace("%", " %")
    return value if low == high else f"{value} ({level}: {between(low, high)})"


def assumed_lines(told: Comparison) -> list[str]:
    """What was assumed and matters here, in words."""
    a = told.question.assumed
    ways = {r.candidate.way for r in told.rows}
    lines = [f"{runs_a_month(a.runs_per_month)}."]
    if "buy" in ways:
        lines.append(
            f"A bought machine lasts {a.life_years:g} years, is worth {a.residual_share:.0%} of "
            f"its price after that, costs {a.host_price_share:.0%} more for host, network and tax, "
            f"{a.upkeep_share:.0%} of its price a year for upkeep, and its capital "
            f"{a.rate_of_capital:.0%} a year."
        )
    lines.append(
        f"Electricity costs {a.tariff_usd_per_kwh:g} USD/kWh at a PUE of {a.pue:g}; hosts draw "
        f"{a.host_watts_share:.0%} on top of the accelerators' board power."
    )
    if "rent" in ways:
        lines.append(f"A rented machine is paid for {plain(a.startup_s)} s before work begins.")
    lines = [line.replace("%", " %") for line in lines]
    return [*lines, *electricity_lines(a, told.question.electricity), *told.question.notes]


def pays_up_front(row: Row) -> bool:
    """Whether more is paid for it than a run costs: it is bought, or reserved for years."""
    one = row.candidate
    committed = one.rental is not None and float(likely(one.rental.committed_hours_per_month)) > 0.0
    return one.way == "buy" or committed


def cost_bound(told: Comparison) -> float | None:
    """What a run may cost at most [USD], as a chart of costs draws it; None without such a limit.

    A budget is one where every option is billed what a run costs; a purchase is paid whole.
    """
    wanted = told.question.wanted
    most = [wanted.cost_limit_usd]
    if not any(pays_up_front(row) for row in told.rows):
        most.append(wanted.budget_usd)
    return min((limit for limit in most if limit is not None), default=None)


def limits_of(wanted: Wanted, rows: Sequence[Row]) -> str:
    """Where the limits decide: 'in time', 'within the budget', both; "" where they do not.

    They do not where none is asked, where not even the first is likely to keep them, and where all
    of these surely do.
    """
    surely = all((r.in_time or 0.0) > ALMOST_SURE for r in rows)
    return "" if surely or standing(rows[0], wanted) != "keeps" else kept_to(wanted)


def _none(told: Comparison, display: Display) -> str:
    """That no option keeps the limits, and what the one that comes closest takes and costs."""
    limits = limits_words(told.question.wanted, display)
    best = closest(told, 1.0 - ALMOST_SURE)
    first = f"None of these {_does(told)} {limits}"
    if best is None or isinstance(best.time, Refusal):
        return f"{first}."
    cost = "" if isinstance(best.cost, Refusal) else f" for {_money(best.cost, display)}"
    cost += _up_front(best, display)
    said = f"{best.candidate.label} comes closest, in {time_with_interval(best.time)}{cost}"
    chance = best.in_time or 0.0
    often = f", with {chance:.0%} probability".replace("%", " %")
    return f"{first}: {said}{often if chance >= 1.0 - ALMOST_SURE else ''}."


def _against(told: Comparison, leader: Row, display: Display) -> str:
    """How likely it is better than the next one that is something else."""
    wanted, place = told.question.wanted, standing(leader, told.question.wanted)
    rest = [r for r in told.answered if r is not leader and standing(r, wanted) == place]
    if not rest:
        return ""
    chance, other = better(leader, rest[0], wanted), lower(rest[0].candidate.label)
    limits = limits_of(wanted, (leader, rest[0]))
    if not _as_good_as_tied(chance):
        return _how(chance, wanted, limits, other)
    differs = _differs(leader, rest[0], wanted, display)
    said = f", as good as tied{differs and f' in {wanted.order}'} with {other}{differs}"
    alone = _as_good_as_tied(better(leader, rest[0], Wanted(order=wanted.order)))
    if not limits or (differs and alone):
        return said
    tied = f", as good as tied with {other}{differs}{differs and ','}"
    return f"{tied} as the {comparative(wanted)} way to finish {limits}"


def _as_good_as_tied(chance: float) -> bool:
    return TIED[0] <= chance < TIED[1]


def _how(chance: float, wanted: Wanted, limits: str, other: str) -> str:
    """', 82 % likely cheaper than X, not decided', ', > 99 % likely a cheaper way to ...'.

    Below one half, where the median is less and the chance is not: ', though X is 70 % likely ...'.
    """
    what = comparative(wanted)
    way = f"{what} way to finish {limits}"
    if chance < TIED[0]:
        return f", though {other} is {_sure(1.0 - chance)} {f'the {way}' if limits else what}"
    open_still = ", not decided" if chance < DECIDED else ""
    return f", {_sure(chance)} {f'a {way}' if limits else what} than {other}{open_still}"


def _sure(chance: float) -> str:
    """'> 99 % likely', '82 % likely'; what does not decide never shows the figure that would."""
    if chance < DECIDED <= round(chance, 2):
        chance = math.floor(100.0 * chance) / 100.0
    return "> 99 % likely" if chance > ALMOST_SURE else f"{chance:.0%} likely".replace("%", " %")


def _differs(first: Row, other: Row, wanted: Wanted, display: Display) -> str:
    """', which takes 7 h 28 min' of two tied in cost, ', which costs 15 USD' of two tied in time.

    Stated where the other is more than 1.5 times better by the other order; else "".
    """
    asked: Order = "time" if wanted.order == "cost" else "cost"
    ratio = times_better(other, first, asked)
    if ratio is None or float(ratio.value) <= 1.5:
        return ""
    return f", which {'takes' if asked == 'time' else 'costs'} {_answer(other, asked, display)}"


def _answer(row: Row, asked: Order, display: Display) -> str:
    """Its time or cost, 'about 15 USD'; "" where not known."""
    told = row.time if asked == "time" else row.cost
    if isinstance(told, Refusal):
        return ""
    if asked == "time":
        return about(float(told.value), float(told.low), float(told.high))
    return money_about(told, display)


def _surer(told: Comparison, leader: Row, display: Display) -> str:
    """' Rent 1 x MI300X: 15 USD, in time with > 99 % probability.' beside a risky first.

    Between 99 % and almost sure its chance: ' Rent 1 x MI300X: 15 USD, in time with 99 % ...'.
    """
    wanted = told.question.wanted
    if leader.in_time is None or leader.in_time >= RISKY_AND_SURE[0]:
        return ""
    sure = (
        r for r in told.answered
        if (r.in_time or 0.0) >= RISKY_AND_SURE[1] and better(leader, r, wanted) < DECIDED
    )  # fmt: skip
    found = next(sure, None)
    if found is None:
        return ""
    size = _answer(found, wanted.order, display)
    return f" {found.candidate.label}: {size}, {_kept(found.in_time, kept_to(wanted))}."


def _in_time(wanted: Wanted, leader: Row, display: Display) -> str:
    """'; in time with 92 % probability'; "" where nothing is to be kept.

    Of unknown cost '...; its cost is unknown, so 10 USD may not be enough'.
    """
    if leader.in_time is not None or not wanted.limits_money:
        return _kept_with(leader.in_time, kept_to(wanted))
    timely = replace(wanted, budget_usd=None, cost_limit_usd=None)
    kept = _kept_with(chance_to_keep(leader, timely), kept_to(timely))
    most = wanted.cost_limit_usd if wanted.budget_usd is None else wanted.budget_usd
    return f"{kept}; its cost is unknown, so {budget_words(most or 0.0, display)} may not be enough"


def _kept_with(share: float | None, kept: str) -> str:
    return "" if share is None else f"; {_kept(share, kept)}"


def _kept(share: float | None, kept: str) -> str:
    """'in time with > 99 % probability', '... 92 % ...', 'very unlikely to finish in time'."""
    if (share or 0.0) > ALMOST_SURE:
        return f"{kept} with > 99 % probability"
    if (share or 0.0) < 1.0 - ALMOST_SURE:
        return f"very unlikely to finish {kept}"
    return f"{kept} with {share:.0%} probability".replace("%", " %")


def _does(told: Comparison) -> str:
    """'finishes 2000 epochs of ResNet-50', 'brings ResNet-50 to 24 % error with LARS'."""
    goal, name = told.question.goal, told.question.job.name
    if goal.epochs is not None:
        return f"finishes {goal.words} of {name}"
    return f"brings {name} to {goal.words} with {goal.optimizer}"


def _at_batch(row: Row, told: Comparison) -> str:
    """' at batch 256' of epochs that were timed there; "" where no batch is known."""
    batch = row.timed.batch
    return "" if batch is None or told.question.goal.epochs is None else f" at batch {plain(batch)}"


def _nothing(told: Comparison) -> str:
    first = told.rows[0]
    why = first.time if isinstance(first.time, Refusal) else first.cost
    reason = why.reason if isinstance(why, Refusal) else ""
    return f"No answer for {told.question.goal.words} of {told.question.job.name}: {reason}"


def _money(cost: Estimate, display: Display) -> str:
    return money_with_interval(cost, display) if float(cost.value) else money(0.0, display)


def _up_front(row: Row, display: Display) -> str:
    """' a run, with 2,080 USD to be paid first'; "" where a run is billed what it costs."""
    if not pays_up_front(row) or row.to_pay is None:
        return ""
    return f" a run, with {money_about(row.to_pay, display)} to be paid first"


def _pays_off(use: Estimate, runs: Estimate | Refusal) -> str:
    """From which use on, and from how many runs a month; what may never happen is stated once."""
    share = _share(use.value)
    above = f"even {share}" if float(use.value) < _TINY else f"above {share}"
    never = float(use.high) > 1.0 or (isinstance(runs, Estimate) and float(runs.high) == math.inf)
    least = "" if float(use.low) < _TINY else f"at least {_share(use.low)}"
    if isinstance(runs, Estimate) and never:
        count, low = number(float(runs.value)), number(float(runs.low))
        least = f"{least} or {low} runs, " if least else f"at least {low} runs, "
        least = "" if float(runs.low) == 0.0 else least
        runs_from = f"from {count} such runs a month on"
        return f"pays off {above} utilisation, or {runs_from} ({least}perhaps never)"
    if never:
        return f"pays off {above} utilisation ({least}{least and ', '}perhaps never)"
    more = f", or from {_count(runs)} such runs a month on" if isinstance(runs, Estimate) else ""
    return f"pays off {above} utilisation{_between(use)}{more}"


def _between(use: Estimate) -> str:
    """' (40 % to 60 %)', ' (at most 2 %)' of what may be next to nothing; "" where it is narrow."""
    low, high = _share(use.low), _share(use.high)
    if low == high or (float(use.low) < _TINY and high == _share(use.value)):
        return ""
    return f" (at most {high})" if float(use.low) < _TINY else f" ({low} to {high})"


def _paid_back(found: RentOrBuy) -> str:
    """After how many months it has paid for itself; never 'after 0 months'."""
    months = found.payback
    if isinstance(months, Refusal) or float(months.value) > 0.5 or months.reasons:
        return pays_back(found)
    runs, high = found.asked_per_month, float(months.high)
    level = f"{months.level:.0%}".replace("%", " %")
    most = f" ({level}: at most {high:,.0f} months)" if 1.5 <= high < math.inf else ""
    most = " (or never)" if high == math.inf else most
    often = f"At {runs_a_month(runs)}"
    return f"{often} it has paid for itself in less than a month{most}."


def _share(value: object) -> str:
    share = float(value)  # type: ignore[arg-type]
    if share < _TINY:
        return "below 1 %"
    return "more than all" if share > 1.0 else f"{share:.0%}".replace("%", " %")


def _count(runs: Estimate) -> str:
    value, low, high = (number(float(end)) for end in (runs.value, runs.low, runs.high))
    return value if low == high else f"{value} ({low} to {high})"


def times_better(row: Row, baseline: Row, order: Order) -> Estimate | None:
    """Baseline over option: above 1 the option is cheaper (faster); None where one is not known."""
    if row.drawn is None or baseline.drawn is None:
        return None
    if order == "time":
        above, below = baseline.drawn.wall_s, row.drawn.wall_s
    else:
        if row.drawn.cost is None or baseline.drawn.cost is None:
            return None
        above, below = baseline.drawn.cost, row.drawn.cost
    above, below = np.broadcast_arrays(above, below)
    if not (below > 0.0).all():
        return None
    return quantiles(above / below)
