"""Times in the table of Compare hardware: one unit in a cell, digits that the interval allows."""

from __future__ import annotations

import pytest

from pages.compare.table import clocked


@pytest.mark.parametrize(
    ("time", "clock", "texts"),
    [
        ((172_623.0, 89_640.0, 330_120.0), "unit", ("48 h", "25 to 92 h")),
        ((10_233.0, 3_204.0, 37_800.0), "unit", ("2.8 h", "0.9 to 11 h")),
        ((50_531.0, 43_200.0, 61_920.0), "unit", ("14 h", "12 to 17 h")),
        ((24_305_441.0, 6_912_000.0, 8.64e7), "unit", ("280 d", "80 to 1,000 d")),
        ((24_305_441.0, 6_912_000.0, 8.64e7), "hours", ("6,800 h", "1,900 to 24,000 h")),
        ((120.0, 120.0, 120.0), "unit", ("2 min 0 s", "")),
        ((2.5, 2.0, 3.0), "unit", ("2.5 s", "2.0 to 3.0 s")),
        ((1_800.0, 1_700.0, 1_900.0), "hours", ("0.50 h", "0.47 to 0.53 h")),
    ],
)
def test_a_time_is_reported_with_its_interval(
    time: tuple[float, float, float], clock: str, texts: tuple[str, str]
) -> None:
    assert clocked(time, clock) == texts
