"""Money with its uncertainty: 4,096 draws of the times and prices of 20 options.

"First" makes every order anew, "again" is the next question about the same options.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from planner.core import Estimate, Floats
from planner.cost import (
    Range,
    Rental,
    draw_record,
    probability_least,
    quantiles,
    rent_per_run,
)
from planner.cost._draws import order
from tests.bench.figures import best_s, figure, heading
from tests.planner.cost.made import draw_times

MILLISECONDS: Final = 1e3
TIMES: Final = {
    f"option {i}": Estimate(value=1e4 + 500 * i, low=9e3 + 450 * i, high=1.3e4 + 650 * i)
    for i in range(20)
}
RENTAL: Final = Rental(price_per_hour=Range(1.9, 2.8, 4.0))


def drawn() -> tuple[list[Rental], Floats]:
    """Prices of every option, and times of shape (options, draws)."""
    return [draw_record(RENTAL, name) for name in TIMES], draw_times(TIMES)


def drawn_first() -> tuple[list[Rental], Floats]:
    """The same where no answer is kept."""
    order.cache_clear()
    return drawn()


def costs() -> Floats:
    """What each draw costs, shape (options, draws) [USD]."""
    rentals, times_s = drawn()
    rows = zip(rentals, times_s, strict=True)
    return np.array([rent_per_run(rental, row) for rental, row in rows])


def main() -> None:
    """Print the figures."""
    table = costs()
    heading("4,096 draws of times and prices of 20 options")
    figure("drawn first, best of 50", MILLISECONDS * best_s(drawn_first, 50), "ms", 5)
    figure("drawn again, best of 50", MILLISECONDS * best_s(drawn, 50), "ms", 5)
    figure("drawn again, and their costs", MILLISECONDS * best_s(costs, 50), "ms")
    cheapest_s = best_s(lambda: probability_least(table), 50)
    figure("probability to be the cheapest", MILLISECONDS * cheapest_s, "ms")
    figure(
        "median and interval of each cost",
        MILLISECONDS * best_s(lambda: quantiles(table), 50),
        "ms",
    )


if __name__ == "__main__":
    main()
