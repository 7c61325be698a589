"""Why this file exists: in which currency a question wants money shown, and what is wrong there.

A rate is stale as every other price is: 12 months after its day. It is used all the same, and told.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any, Final

from planner.catalog import is_stale
from planner.cost import Display
from planner.cost.display import currency_problem
from planner.parameters import Problem

_DAY_OF_ZONES: Final = timedelta(days=1)
"""It may be tomorrow where the rate was read."""


def display_asked(told: Mapping[str, Any], today: date) -> tuple[Display, tuple[Problem, ...]]:
    """How money is shown, US dollars where something is wrong with another currency.

    Args:
        told: values of currency, rate [units for one USD], rate_as_of and tax [%].
        today: to tell a rate of a day that has not come, and one older than 12 months.
    """
    currency, read_on = told["currency"].upper(), told["rate_as_of"]
    tax_share = told["tax"] / 100.0
    wrong = tuple(_problems(currency, told["rate"], read_on, today))
    if wrong:
        return Display(tax_share=tax_share), wrong
    try:
        return Display(
            currency=currency,
            per_usd=1.0 if told["rate"] is None else told["rate"],
            as_of=read_on,
            tax_share=tax_share,
            stale=currency != "USD" and read_on is not None and is_stale(read_on, today),
        ), ()
    except ValueError as error:
        return Display(tax_share=tax_share), (Problem(parameter="currency", message=str(error)),)


def _problems(
    currency: str, rate: float | None, read_on: date | None, today: date
) -> list[Problem]:
    wrong = []
    if read_on is not None and read_on > today + _DAY_OF_ZONES:
        message = f"{read_on} is after today, {today}. Give the day on which the rate was read."
        wrong.append(Problem(parameter="rate_as_of", message=message))
    if letters := currency_problem(currency):
        wrong.append(Problem(parameter="currency", message=letters))
    elif rate is None and currency != "USD":
        message = f"How much {currency} is one USD? Give the rate, and the day it was read."
        wrong.append(Problem(parameter="currency", message=message))
    return wrong
