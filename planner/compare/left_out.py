"""Why this file exists: offers that cannot be compared, since no rate turns them into dollars."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from planner.catalog import Catalog


def left_out(catalog: Catalog, usd_per: Mapping[str, float]) -> tuple[str, ...]:
    """How many offers are left out in each currency, and what to do; none where all count."""
    lacking = Counter(
        o.currency for o in catalog.offers if o.currency != "USD" and o.currency not in usd_per
    )
    return tuple(
        f"{f'{n} offers' if n > 1 else 'One offer'} priced in {currency} "
        f"{'are' if n > 1 else 'is'} hidden. Set an exchange rate."
        for currency, n in sorted(lacking.items())
    )
