"""The answer as sentences to paste or to read aloud."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from planner.compare._assumptions import electricity_lines
from planner.compare.comparison import (
    Comparison,
    Limits,
    Row,
    budget_words,
    limits_phrase,
    machines,
    price_of_one,
    runs_a_month,
)
from planner.compare.evaluation import DECIDED, LIKELY_IN_TIME, better, chance_to_meet, standing
from planner.compare.rent_or_buy import RentOrBuy, pays_back
from planner.core import (
    LEAST_DIGITS,
    Estimate,
    Refusal,
    Text,
    about,
    between,
    joined,
    paragraph,
    percent,
    plain,
    rounded_ends,
    with_ends,
)
from planner.cost import (
    DIGITS,
    DOLLARS,
    Display,
    likely,
    money,
    money_about,
    money_with_interval,
    price,
    quantiles,
    shown,
)
from planner.job import Order

Key = tuple[float, float, float, float]
LONG_H: Final = 1000.0
"""Deadlines from here on are shown in whole hours [h]."""


def closest(comparison: Comparison, least: float) -> Row | None:
    """Return the option most likely to meet the limits, if above the share `least`.

    Otherwise return the option with the smallest excess over its worst limit, by medians. None
    without limits, or where no option can be checked.
    """
    limits = comparison.question.limits
    checked = [r for r in comparison.answered if r.in_time is not None]
    return min(checked, key=lambda r: _distance(r, limits, least), default=None)


def none_can(comparison: Comparison, least: float) -> bool:
    """Return whether every option meets the limits in less than a share `least` of the draws."""
    shares = [r.in_time for r in comparison.answered]
    return bool(shares) and all(share is not None and share < least for share in shares)


def _distance(row: Row, limits: Limits, least: float) -> Key:
    share = row.in_time or 0.0
    bounds = (
        (row.time, limits.deadline_s),
        (row.to_pay, limits.budget_usd),
        (row.cost, limits.cost_limit_usd),
    )
    exceeds = [_ratio(_value(amount), most) for amount, most in bounds if most is not None]
    paid = row.cost if limits.budget_usd is None else row.to_pay
    cost = _value(paid) if limits.limits_money else 0.0
    likelihood = share if share >= least else 0.0
    return -likelihood, max(exceeds, default=0.0), cost, _value(row.time)


def _ratio(value: float, most: float) -> float:
    if value <= 0.0:
        return 0.0
    return value / most if most > 0.0 else math.inf


def _value(answer: Estimate | Refusal | None) -> float:
    return float(answer.value) if isinstance(answer, Estimate) else math.inf


def hours_words(time_s: float) -> str:
    """Return a deadline in hours, whole ones from a thousand on: 0.5 h, 62.25 h, 12,345 h."""
    hours = time_s / 3600.0
    return f"{hours:,.0f} h" if hours >= LONG_H else f"{plain(hours, 4)} h"


def limits_words(limits: Limits, display: Display = DOLLARS, until: str = "") -> str:
    """Return the limits in words: 'within 72 h for at most 500 USD'; "" without limits.

    Args:
        limits: deadline, budget and cost limit.
        display: currency of the budget.
        until: the deadline as a date, in words; with "" it is stated in hours.
    """
    parts = []
    if limits.deadline_s is not None:
        hours = hours_words(limits.deadline_s)
        parts.append(f"by {until}" if until else Text("within {hours}", hours=hours))
    if limits.budget_usd is not None:
        parts.append(
            Text(
                "for at most {budget_words}", budget_words=budget_words(limits.budget_usd, display)
            )
        )
    if limits.cost_limit_usd is not None:
        parts.append(
            Text(
                "at a cost of at most {budget_words} a run",
                budget_words=budget_words(limits.cost_limit_usd, display),
            )
        )
    return " ".join(parts)


TIED: Final = (0.4, 0.6)
"""Two options are as good as tied between these probabilities of being better."""
RISKY_AND_SURE: Final = (0.9, 0.99)
"""Below the first probability of meeting the limits, a safer option above the second is named."""
ALMOST_SURE: Final = 0.995
"""Above it a probability is shown as certainty: 4,096 draws resolve no more."""
_TINY: Final = 0.005
"""A smaller share would be shown as 0 %."""


def sentence(comparison: Comparison, display: Display = DOLLARS) -> str:
    """Return the answer to paste: `sentences` as one line."""
    return " ".join(sentences(comparison, display))


def sentences(comparison: Comparison, display: Display = DOLLARS) -> tuple[str, ...]:
    """Return the answer: option, time and cost; then its probability, and a safer option."""
    leader = comparison.leader
    if leader is None or isinstance(leader.time, Refusal):
        return (_nothing(comparison),)
    if none_in_reach(comparison):
        return (_none(comparison, display),)
    result = _result(subject(leader, display), _work(leader, comparison), leader, display)
    kept = _in_time(comparison.question.limits, leader, display)
    condition = leader.timed.fit.condition
    first = paragraph(
        Text("{result}; {chance}.", result=result, chance=kept)
        if kept
        else Text("{result}.", result=result),
        Text("It fits only {condition}.", condition=condition) if condition else None,
    )
    others = (_against(comparison, leader, display), _surer(comparison, leader, display))
    return (first, *(text for text in others if text))


def _result(option: str, does: str, row: Row, display: Display) -> Text:
    """Return 'OPTION DOES in 25 h for 62 USD', and what is to be paid first."""
    time = "" if isinstance(row.time, Refusal) else time_with_interval(row.time)
    if isinstance(row.cost, Refusal):
        return Text("{option} {does} in {time}", option=option, does=does, time=time)
    cost = money_with_interval(row.cost, display) if float(row.cost.value) else money(0.0, display)
    if pays_up_front(row) and row.to_pay is not None:
        return Text(
            "{option} {does} in {time} for {cost} a run, with {amount} to be paid first",
            option=option,
            does=does,
            time=time,
            cost=cost,
            amount=money_about(row.to_pay, display),
        )
    return Text(
        "{option} {does} in {time} for {cost}", option=option, does=does, time=time, cost=cost
    )


def none_in_reach(comparison: Comparison) -> bool:
    """Return whether no option is likely to meet the limits and the first is very unlikely to.

    The closest option is then shown instead of the first.
    """
    first = comparison.leader
    if len(comparison.rows) < 2 or first is None or first.in_time is None:
        return False
    return first.in_time < 1.0 - ALMOST_SURE and none_can(comparison, LIKELY_IN_TIME)


def subject(row: Row, display: Display = DOLLARS) -> str:
    """Return the subject of the answer: 'Renting 1 x H100 SXM (Lambda) at 2.49 USD/h'.

    Electricity is the only price of an owned machine.
    """
    option, way = row.candidate.what, row.candidate.way
    if row.machines > 1:
        option = Text("{machines} with {option}", machines=machines(row.machines), option=option)
    if way == "own":
        is_one = row.machines == 1
        return (
            Text("Using the {option}", option=option)
            if is_one
            else Text("Using {option}", option=option)
        )
    paid = _price(row, display)
    if way == "rent":
        return Text("Renting {option} at {price}", option=option, price=paid)
    return Text("Buying {option} at {price}", option=option, price=paid)


def _price(row: Row, display: Display) -> str:
    """Return the price of a machine, and of one accelerator: '15.92 USD/h (1.99 each)'."""
    rental, owned, count = row.candidate.rental, row.candidate.owned, row.candidate.hardware.count
    paid = rental.price_per_hour if rental else owned.price_usd if owned else 0.0
    whole = f"{price(float(likely(paid)), display)}{'/h' if rental else ''}"
    amount = shown(float(likely(paid)), display)
    if row.machines > 1:
        return f"{whole} each{price_of_one(amount, count, 'per accelerator')}"
    return f"{whole}{price_of_one(amount, count, 'each')}"


def buying(pair: RentOrBuy) -> str:
    """Return from which utilisation buying pays off, as a sentence."""
    bought, rented = pair.buy.candidate.phrase_first, pair.rent.candidate.phrase
    what = Text("{bought} instead of {rented}", bought=bought, rented=rented)
    if isinstance(pair.use, Refusal):
        why = pair.use.reason if isinstance(pair.use, Refusal) else ""
        return Text("{what}: {why}", what=what, why=paragraph(why, _paid_back(pair)))
    return Text(
        "{what}: {pays_off}. {paid_back}",
        what=what,
        pays_off=_pays_off(pair.use, pair.runs_per_month),
        paid_back=_paid_back(pair),
    )


def time_with_interval(time: Estimate) -> str:
    """Return a time with its interval, '14 h (90 %: 12 to 17 h)', rounded to the interval."""
    value, low, high = with_ends(*time.ends)
    level = percent(time.level)
    return value if low == high else f"{value} ({level}: {between(low, high)})"


def estimated_prices(comparison: Comparison) -> tuple[str, ...]:
    """Return a sentence for each option whose price of a server no seller prints."""
    cards = {
        row.candidate.label: (row.candidate.hardware.accelerator, row.candidate.source)
        for row in comparison.rows
        if row.candidate.way == "buy" and "server" in row.candidate.qualifiers
    }
    return tuple(
        Text(
            "{option}: the price is an estimate of {between} USD ({source}).",
            option=option,
            between=card.server_price_range,
            source=source,
        )
        for option, (card, source) in cards.items()
        if card is not None and card.server_price_range
    )


def assumed_lines(comparison: Comparison) -> list[str]:
    """Return the assumptions that apply to these options, as sentences."""
    a = comparison.question.assumed
    ways = {r.candidate.way for r in comparison.rows}
    lines = [Text("{runs_a_month}.", runs_a_month=runs_a_month(a.runs_per_month))]
    if "buy" in ways:
        lines.append(
            Text(
                "A bought machine lasts {life_years:g} years and is then worth "
                "{residual_share} of its price. Host, network and tax add "
                "{host_price_share} to the price. A year of upkeep costs "
                "{upkeep_share} of the price, a year of capital {rate_of_capital}.",
                life_years=a.life_years,
                residual_share=percent(a.residual_share),
                host_price_share=percent(a.host_price_share),
                upkeep_share=percent(a.upkeep_share),
                rate_of_capital=percent(a.rate_of_capital),
            )
        )
    lines.append(
        Text(
            "Electricity costs {tariff_usd_per_kwh:g} USD/kWh at a PUE of {pue:g}; "
            "hosts draw {host_watts_share} on top of the accelerators' board power.",
            tariff_usd_per_kwh=a.tariff_usd_per_kwh,
            pue=a.pue,
            host_watts_share=percent(a.host_watts_share),
        )
    )
    if "rent" in ways:
        lines.append(
            Text(
                "A rented machine is paid for {startup_s} s before work begins.",
                startup_s=plain(a.startup_s),
            )
        )
    question = comparison.question
    return [*lines, *electricity_lines(a, question.electricity), *question.notes]


def pays_up_front(row: Row) -> bool:
    """Return whether an option is paid up front: it is bought, or reserved for years."""
    rental = row.candidate.rental
    committed = rental is not None and float(likely(rental.committed_hours_per_month)) > 0.0
    return row.candidate.way == "buy" or committed


def cost_bound(comparison: Comparison) -> float | None:
    """Return the largest cost of a run that a chart marks [USD]; None without one.

    The budget counts where every option is billed per run; a purchase is paid in full.
    """
    limits = comparison.question.limits
    most = [limits.cost_limit_usd]
    if not any(pays_up_front(row) for row in comparison.rows):
        most.append(limits.budget_usd)
    return min((limit for limit in most if limit is not None), default=None)


def limits_of(limits: Limits, rows: Sequence[Row]) -> str:
    """Return the limits that matter between these rows: 'in time', 'within the budget', both.

    "" without limits, where the first is unlikely to meet them, and where all almost certainly do.
    """
    certain = all((r.in_time or 0.0) > ALMOST_SURE for r in rows)
    return "" if certain or standing(rows[0], limits) != "keeps" else limits_phrase(limits)


def _none(comparison: Comparison, display: Display) -> str:
    """Return that no option meets the limits, and time and cost of the closest one."""
    within = limits_words(comparison.question.limits, display)
    best = closest(comparison, 1.0 - ALMOST_SURE)
    first = Text("None of these {does} {within}", does=_does(comparison), within=within)
    if best is None or isinstance(best.time, Refusal):
        return Text("{first}.", first=first)
    nearest = _result(best.candidate.label, Text("comes closest,"), best, display)
    chance = best.in_time or 0.0
    if chance < 1.0 - ALMOST_SURE:
        return Text("{none}: {nearest}.", none=first, nearest=nearest)
    return Text(
        "{none}: {nearest}, with {chance} probability.",
        none=first,
        nearest=nearest,
        chance=percent(chance),
    )


def _against(comparison: Comparison, leader: Row, display: Display) -> str:
    """Return a sentence: how likely the first is better than the next option."""
    limits, place = comparison.question.limits, standing(leader, comparison.question.limits)
    rest = [r for r in comparison.answered if r is not leader and standing(r, limits) == place]
    if not rest:
        return ""
    chance, other = better(leader, rest[0], limits), rest[0].candidate.phrase
    within = limits_of(limits, (leader, rest[0]))
    if not _as_good_as_tied(chance):
        return _how(chance, limits, within, other)
    differs = _differs(leader, rest[0], limits, display)
    alone = _as_good_as_tied(better(leader, rest[0], Limits(order=limits.order)))
    way = "" if differs and alone else within
    return _tied(limits, other, differs, way)


def _tied(limits: Limits, other: str, differs: str, within: str) -> Text:
    """Return 'It is as good as tied in cost with X, which takes 7 h.', or '... as the way ...'."""
    by_cost = limits.order == "cost"
    if not within:
        if not differs:
            return Text("It is as good as tied with {other}.", other=other)
        if by_cost:
            return Text(
                "It is as good as tied in cost with {other}, {differs}.",
                other=other,
                differs=differs,
            )
        return Text(
            "It is as good as tied in time with {other}, {differs}.", other=other, differs=differs
        )
    if differs:
        other = Text("{other}, {differs},", other=other, differs=differs)
    if by_cost:
        return Text(
            "It is as good as tied with {other} as the cheaper way to finish {within}.",
            other=other,
            within=within,
        )
    return Text(
        "It is as good as tied with {other} as the faster way to finish {within}.",
        other=other,
        within=within,
    )


def _as_good_as_tied(chance: float) -> bool:
    return TIED[0] <= chance < TIED[1]


def _how(chance: float, limits: Limits, within: str, other: str) -> str:
    """Return 'It is 82 % likely cheaper than X, not decided.' or '... a cheaper way to ...'.

    Below 50 % (median lower, probability not): 'But X is 70 % likely ...'.
    """
    if chance < TIED[0]:
        return _better_by(limits, within, other, likely_words(1.0 - chance))
    by_cost, likely = limits.order == "cost", likely_words(chance)
    if not within:
        text = (
            Text("It is {likely} cheaper than {other}", likely=likely, other=other)
            if by_cost
            else Text("It is {likely} faster than {other}", likely=likely, other=other)
        )
    else:
        text = (
            Text(
                "It is {likely} a cheaper way to finish {within} than {other}",
                likely=likely,
                within=within,
                other=other,
            )
            if by_cost
            else Text(
                "It is {likely} a faster way to finish {within} than {other}",
                likely=likely,
                within=within,
                other=other,
            )
        )
    if chance < DECIDED:
        return Text("{better}, not decided.", better=text)
    return Text("{better}.", better=text)


def _better_by(limits: Limits, within: str, other: str, likely: str) -> Text:
    """Return 'But X is 70 % likely cheaper.' or '... the cheaper way to finish ...'."""
    by_cost = limits.order == "cost"
    if not within:
        return (
            Text("But {other} is {likely} cheaper.", other=other, likely=likely)
            if by_cost
            else Text("But {other} is {likely} faster.", other=other, likely=likely)
        )
    return (
        Text(
            "But {other} is {likely} the cheaper way to finish {within}.",
            other=other,
            likely=likely,
            within=within,
        )
        if by_cost
        else Text(
            "But {other} is {likely} the faster way to finish {within}.",
            other=other,
            likely=likely,
            within=within,
        )
    )


def likely_words(chance: float) -> str:
    """Return '> 99 % likely', '82 % likely'; an undecided chance is rounded down below 95 %."""
    if chance < DECIDED <= round(chance, 2):
        chance = math.floor(100.0 * chance) / 100.0
    if chance > ALMOST_SURE:
        return Text("> 99 % likely")
    return Text("{share} likely", share=percent(chance))


def _differs(first: Row, other: Row, limits: Limits, display: Display) -> str:
    """Return 'which takes 7 h 28 min' for a tie in cost, 'which costs 15 USD' for one in time.

    "" where the other option is not more than 1.5 times better in that respect.
    """
    other_order: Order = "time" if limits.order == "cost" else "cost"
    ratio = times_better(other, first, other_order)
    if ratio is None or float(ratio.value) <= 1.5:
        return ""
    amount = _answer(other, other_order, display)
    if other_order == "time":
        return Text("which takes {time}", time=amount)
    return Text("which costs {cost}", cost=amount)


def _answer(row: Row, order: Order, display: Display) -> str:
    """Return time or cost of an option, 'about 15 USD'; "" where unknown."""
    amount = row.time if order == "time" else row.cost
    if isinstance(amount, Refusal):
        return ""
    if order == "time":
        return about(*amount.ends)
    return money_about(amount, display)


def _surer(comparison: Comparison, leader: Row, display: Display) -> str:
    """Return a safer option beside a risky first; "" without one.

    'Rent 1 x MI300X: 15 USD, in time with > 99 % probability.'
    """
    limits = comparison.question.limits
    if leader.in_time is None or leader.in_time >= RISKY_AND_SURE[0]:
        return ""
    sure = (
        r for r in comparison.answered
        if (r.in_time or 0.0) >= RISKY_AND_SURE[1] and better(leader, r, limits) < DECIDED
    )  # fmt: skip
    safest = next(sure, None)
    if safest is None:
        return ""
    size = _answer(safest, limits.order, display)
    return Text(
        "{candidate}: {size}, {kept}.",
        candidate=safest.candidate.label,
        size=size,
        kept=_kept(safest.in_time, limits_phrase(limits)),
    )


def _in_time(limits: Limits, leader: Row, display: Display) -> str:
    """Return 'in time with 92 % probability'; "" without limits.

    With unknown cost: '...; its cost is unknown, so 10 USD may not be enough'.
    """
    if leader.in_time is not None or not limits.limits_money:
        return _kept_with(leader.in_time, limits_phrase(limits))
    timely = replace(limits, budget_usd=None, cost_limit_usd=None)
    kept = _kept_with(chance_to_meet(leader, timely), limits_phrase(timely))
    most = limits.cost_limit_usd if limits.budget_usd is None else limits.budget_usd
    unknown = Text(
        "its cost is unknown, so {budget} may not be enough",
        budget=budget_words(most or 0.0, display),
    )
    return Text("{chance}; {cost}", chance=kept, cost=unknown) if kept else unknown


def _kept_with(share: float | None, kept: str) -> str:
    return "" if share is None else _kept(share, kept)


def _kept(share: float | None, kept: str) -> str:
    """Return 'in time with > 99 % probability', or 'very unlikely to finish in time'."""
    if (share or 0.0) > ALMOST_SURE:
        return Text("{kept} with > 99 % probability", kept=kept)
    if (share or 0.0) < 1.0 - ALMOST_SURE:
        return Text("very unlikely to finish {kept}", kept=kept)
    return Text("{kept} with {share} probability", kept=kept, share=percent(share or 0.0))


def _does(comparison: Comparison) -> str:
    """Return 'finishes 2000 epochs of ResNet-50', 'brings ResNet-50 to 24 % error with LARS'."""
    goal, name = comparison.question.goal, comparison.question.job.name
    if goal.epochs is not None:
        return Text("finishes {words} of {name}", words=goal.words, name=name)
    if not goal.optimizer:
        return Text("brings {name} to {words}", name=name, words=goal.words)
    return Text(
        "brings {name} to {words} with {optimizer}",
        name=name,
        words=goal.words,
        optimizer=goal.optimizer,
    )


def _work(row: Row, comparison: Comparison) -> str:
    """Return what an option does, for epochs with its batch where that is known."""
    batch, does = row.timed.batch, _does(comparison)
    if batch is None or comparison.question.goal.epochs is None:
        return does
    return Text("{does} at batch {batch}", does=does, batch=plain(batch))


def _nothing(comparison: Comparison) -> str:
    first = comparison.rows[0]
    why = first.time if isinstance(first.time, Refusal) else first.cost
    reason = why.reason if isinstance(why, Refusal) else ""
    question = comparison.question
    return Text(
        "No answer for {words} of {job}: {reason}",
        words=question.goal.words,
        job=question.job.name,
        reason=reason,
    )


def _pays_off(use: Estimate, runs: Estimate | Refusal) -> str:
    """Return above which utilisation, and how many runs a month, buying pays off."""
    share = _share(use.value)
    above = f"even {share}" if float(use.value) < _TINY else f"above {share}"
    never = float(use.high) > 1.0 or (isinstance(runs, Estimate) and float(runs.high) == math.inf)
    if not never:
        between = _between(use)
        pays = (
            Text("pays off {above} utilisation ({between})", above=above, between=between)
            if between
            else Text("pays off {above} utilisation", above=above)
        )
        return joined(", ", (pays, _a_month(_count(runs)) if isinstance(runs, Estimate) else ""))
    lows = [] if float(use.low) < _TINY else [_share(use.low)]
    often = ""
    if isinstance(runs, Estimate):
        often = _a_month(plain(float(runs.value), LEAST_DIGITS))
        low = plain(float(runs.low), LEAST_DIGITS)
        lows += [f"{low} runs"] if float(runs.low) > 0.0 else []
    span = Text("from {lows} to never", lows=" or ".join(lows)) if lows else "or never"
    pays = joined(", ", (Text("pays off {above} utilisation", above=above), often))
    return Text("{pays} ({span})", pays=pays, span=span)


def _a_month(runs: str) -> Text:
    return Text("{runs} runs a month", runs=runs)


def _between(use: Estimate) -> str:
    """Return '40 % to 60 %', 'at most 2 %' for a tiny low end; "" for a narrow interval."""
    low, high = _share(use.low), _share(use.high)
    if low == high or (float(use.low) < _TINY and high == _share(use.value)):
        return ""
    return Text("at most {high}", high=high) if float(use.low) < _TINY else f"{low} to {high}"


def _paid_back(pair: RentOrBuy) -> str:
    """Return after how many months it has paid for itself; never 'after 0 months'."""
    months = pair.payback
    if isinstance(months, Refusal) or float(months.value) > 0.5 or months.reasons:
        return pays_back(pair)
    runs, high = pair.requested_per_month, float(months.high)
    often = runs_a_month(runs)
    if high == math.inf:
        return Text(
            "At {often} it has paid for itself in less than a month (or never).", often=often
        )
    if high < 1.5:
        return Text("At {often} it has paid for itself in less than a month.", often=often)
    return Text(
        "At {often} it has paid for itself in less than a month ({level}: at most {high:,.0f} "
        "months).",
        often=often,
        level=percent(months.level),
        high=high,
    )


def _share(value: object) -> str:
    share = float(value)  # type: ignore[arg-type]
    if share < _TINY:
        return "below 1 %"
    return "more than all" if share > 1.0 else percent(share)


def _count(runs: Estimate) -> str:
    value, low, high = map(plain, rounded_ends(*runs.ends, DIGITS))
    return value if low == high else f"{value} ({low} to {high})"


def times_better(row: Row, baseline: Row, order: Order) -> Estimate | None:
    """Return baseline over option: above 1 the option is cheaper (faster); None if unknown."""
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
