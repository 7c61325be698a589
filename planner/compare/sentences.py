"""Why this file exists: the answer as sentences one can paste, and read aloud on the phone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from planner.compare.electricity import electricity_lines
from planner.compare.reckon import DECIDED, Comparison, Row, Wanted, better, standing
from planner.compare.rent_or_buy import RentOrBuy, pays_back
from planner.cost import BreakEven, Display, likely, money, money_with_interval, price
from planner.cost.display import DOLLARS
from planner.durations import in_words
from planner.estimate import Estimate, Refusal

_VERBS: Final = {"rent": "Renting", "buy": "Buying", "own": "Using the"}
HOUR_S: Final = 3600.0
IN_HOURS_S: Final = 10.0 * HOUR_S
YEAR_S: Final = 8760.0 * HOUR_S
IN_YEARS_S: Final = 2.0 * YEAR_S
ALMOST_SURE: Final = 0.995
"""Above it a probability is told as certainty: 4,096 draws say no more."""
_TINY: Final = 0.005
"""A share that would be told as 0 %."""
_COUNTED: Final = (
    "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
)  # fmt: skip


def sentence(told: Comparison, display: Display = DOLLARS) -> str:
    """The answer: which option, how long, for how much, how sure."""
    leader = told.leader
    if leader is None or isinstance(leader.time, Refusal):
        return _nothing(told)
    finishes = f"{subject(leader, display)} {_does(told)} in {time_with_interval(leader.time)}"
    cost = "" if isinstance(leader.cost, Refusal) else f" for {_money(leader.cost, display)}"
    return f"{finishes}{cost}{_against(told, leader)}{_in_time(told, leader)}."


def subject(row: Row, display: Display = DOLLARS) -> str:
    """What is done, with its price: 'Renting 1 x H100 SXM (Lambda) at 2.49 USD/h'."""
    one = row.candidate
    what, verb = one.label.split(" ", 1)[1], _VERBS[one.way]
    if row.machines > 1:
        verb, what = verb.removesuffix(" the"), f"{_machines(row.machines)} with {what}"
    if one.rental is not None:
        each = " each" if row.machines > 1 else ""
        hour = price(float(likely(one.rental.price_per_hour)), display)
        return f"{verb} {what} at {hour}/h{each}"
    return f"{verb} {what}"


def buying(found: RentOrBuy) -> str:
    """From which use on buying pays off, as a sentence."""
    names = (found.buy.candidate.label, found.rent.candidate.label)
    what = f"{names[0]} instead of {_lower(names[1])}"
    if isinstance(found.use, Refusal) or not isinstance(found.use, BreakEven):
        why = found.use.reason if isinstance(found.use, Refusal) else ""
        return f"{what}: {why}"
    return f"{what}: {_pays_off(found.use.utilisation, found.runs_per_month)}. {pays_back(found)}"


def time_with_interval(time: Estimate) -> str:
    """'14 h 2 min (90 %: 12 h to 17 h)'; minutes are left out where nobody counts them."""
    low, high = (_duration(float(end)) for end in (time.low, time.high))
    level, value = f"{time.level:.0%}".replace("%", " %"), _duration(float(time.value))
    return value if low == high == value else f"{value} ({level}: {low} to {high})"


def assumed_lines(told: Comparison) -> list[str]:
    """What was assumed and matters here, in words."""
    a = told.question.assumed
    ways = {r.candidate.way for r in told.rows}
    lines = [f"{a.runs_per_month:g} runs a month."]
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
        lines.append(f"A rented machine is paid for {a.startup_s:g} s before work begins.")
    lines = [line.replace("%", " %") for line in lines]
    return [*lines, *electricity_lines(a, told.question.electricity), *told.question.notes]


def limits_of(wanted: Wanted, rows: Sequence[Row]) -> str:
    """Where the limits decide: 'in time', 'within the budget', both; "" where they do not.

    They do not where none is asked, where not even the first is likely to keep them, and where all
    of these surely do.
    """
    surely = all((r.in_time or 0.0) > ALMOST_SURE for r in rows)
    return "" if surely or standing(rows[0], wanted) != "keeps" else kept_to(wanted)


def _against(told: Comparison, leader: Row) -> str:
    """How likely it is better than the next one that is something else."""
    wanted, place = told.question.wanted, standing(leader, told.question.wanted)
    rest = [r for r in told.answered if r is not leader and standing(r, wanted) == place]
    if not rest:
        return ""
    limits = limits_of(wanted, (leader, rest[0]))
    return _how(better(leader, rest[0], wanted), wanted, limits, _lower(rest[0].candidate.label))


def _how(chance: float, wanted: Wanted, limits: str, other: str) -> str:
    """', 82 % likely cheaper than X', ', surely a cheaper way to finish in time than X'."""
    what = "cheaper" if wanted.order == "cost" else "faster"
    way = f"{what} way to finish {limits}"
    if chance < DECIDED:
        return f", as good as tied with {other}{f' as the {way}' if limits else ''}"
    sure = "surely" if chance > ALMOST_SURE else f"{chance:.0%} likely".replace("%", " %")
    return f", {sure} {f'a {way}' if limits else what} than {other}"


def _in_time(told: Comparison, leader: Row) -> str:
    """'; in time with 92 % probability', '; surely in time'; "" where nothing is to be kept."""
    kept = kept_to(told.question.wanted)
    if leader.in_time is None:
        return ""
    if leader.in_time > ALMOST_SURE:
        return f"; surely {kept}"
    if leader.in_time < 1.0 - ALMOST_SURE:
        return f"; hardly ever {kept}"
    return f"; {kept} with {leader.in_time:.0%} probability".replace("%", " %")


def kept_to(wanted: Wanted) -> str:
    """'in time', 'within the budget', 'in time and within the budget'; "" where none is asked."""
    limits = []
    if wanted.deadline_s is not None:
        limits.append("in time")
    if wanted.budget_usd is not None:
        limits.append("within the budget")
    return " and ".join(limits)


def _does(told: Comparison) -> str:
    """'finishes 2000 epochs of ResNet-50', 'brings ResNet-50 to 24 % error with LARS'."""
    goal, name = told.question.goal, told.question.job.name
    if goal.epochs is not None:
        return f"finishes {goal.words} of {name}"
    return f"brings {name} to {goal.words} with {goal.optimizer}"


def _nothing(told: Comparison) -> str:
    first = told.rows[0]
    why = first.time if isinstance(first.time, Refusal) else first.cost
    reason = why.reason if isinstance(why, Refusal) else ""
    return f"No answer for {told.question.goal.words} of {told.question.job.name}: {reason}"


def _money(cost: Estimate, display: Display) -> str:
    return money_with_interval(cost, display) if float(cost.value) else money(0.0, display)


def _duration(seconds: float) -> str:
    if seconds >= IN_YEARS_S:
        return f"{_number(seconds / YEAR_S)} years"
    return f"{seconds / HOUR_S:,.0f} h" if seconds >= IN_HOURS_S else in_words(seconds)


def _pays_off(use: Estimate, runs: Estimate | Refusal) -> str:
    """From which use on, and from how many runs a month; what may never be is told once."""
    share = _share(use.value)
    above = f"even {share}" if float(use.value) < _TINY else f"above {share}"
    never = float(use.high) > 1.0 or (isinstance(runs, Estimate) and float(runs.high) == math.inf)
    if isinstance(runs, Estimate) and never:
        least = f"at least {_share(use.low)} or {_number(float(runs.low))} runs, perhaps never"
        count = _number(float(runs.value))
        return f"pays off {above} utilisation, or from {count} such runs a month on ({least})"
    if never:
        return f"pays off {above} utilisation (at least {_share(use.low)}, perhaps never)"
    narrow = _share(use.low) == _share(use.high)
    between = "" if narrow else f" ({_share(use.low)} to {_share(use.high)})"
    more = ""
    if isinstance(runs, Estimate):
        more = f", or from {_count(runs)} such runs a month on"
    return f"pays off {above} utilisation{between}{more}"


def _share(value: object) -> str:
    share = float(value)  # type: ignore[arg-type]
    if share < _TINY:
        return "below 1 %"
    return "more than all" if share > 1.0 else f"{share:.0%}".replace("%", " %")


def _count(runs: Estimate) -> str:
    value, low, high = (_number(float(end)) for end in (runs.value, runs.low, runs.high))
    return value if low == high else f"{value} ({low} to {high})"


def _machines(count: int) -> str:
    """'two machines', '12 machines'."""
    return f"{counted(count)} machines"


def counted(count: int) -> str:
    """A small number as a word: 'two', '12'."""
    return _COUNTED[count] if 0 <= count < len(_COUNTED) else f"{count:,}"


def _number(count: float) -> str:
    """Three digits at most: 6.2, 4,370."""
    return f"{count:.2g}" if count < 99.5 else f"{float(f'{count:.3g}'):,.0f}"


def _lower(label: str) -> str:
    """A label inside a sentence: 'renting 1 x H100'."""
    way, rest = label.split(" ", 1)
    return f"{ {'Rent': 'renting', 'Buy': 'buying', 'Own': 'the own'}.get(way, way) } {rest}"
