"""Currency and exchange rate of the amounts shown, and their problems.

Without a rate, that of the European Central Bank counts, with its date. A rate is stale after 12
months, like any price; it is still used, and marked.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any, Final

from planner.catalog import is_stale
from planner.core import Problem
from planner.cost import SOURCE, Display, currency_problem, reference_rates

_DAY_OF_ZONES: Final = timedelta(days=1)
"""The rate's time zone may be a day ahead."""


def display_of(values: Mapping[str, Any], today: date) -> tuple[Display, tuple[Problem, ...]]:
    """Return the display of money; US dollars where another currency has a problem.

    Args:
        values: currency, rate [units per USD; None: the bank's], rate_as_of and tax [%].
        today: for rates dated in the future, or older than 12 months.
    """
    currency, read_on, rate = values["currency"].upper(), values["rate_as_of"], values["rate"]
    tax_share = values["tax"] / 100.0
    wrong = tuple(_problems(currency, rate, read_on, today))
    if wrong:
        return Display(tax_share=tax_share), wrong
    source = ""
    if rate is None and currency != "USD":
        reference = reference_rates()
        rate, read_on, source = reference.per_usd[currency], reference.as_of, SOURCE
    try:
        return Display(
            currency=currency,
            per_usd=1.0 if rate is None else rate,
            as_of=read_on,
            source=source,
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
        reference = reference_rates()
        if currency not in reference.per_usd:
            message = f"No rate is known for {currency}. Give the units per USD, and the date."
            wrong.append(Problem(parameter="currency", message=message))
        elif read_on is not None and read_on != reference.as_of:
            message = (
                f"{read_on} has no rate. Give the rate of that day, or leave both empty for the "
                f"rate of {reference.as_of} ({SOURCE})."
            )
            wrong.append(Problem(parameter="rate_as_of", message=message))
    return wrong
