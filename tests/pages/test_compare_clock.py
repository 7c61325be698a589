"""Times in the table of Compare hardware: three digits, and no powers of ten."""

from __future__ import annotations

import pytest

from pages.parts.compare_clock import clocked, digits


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.01234, "0.0123"), (17.24, "17.2"), (999.4, "999"), (999.6, "1,000"), (1921.0, "1,920")],
)
def test_three_digits_are_told_and_never_a_power_of_ten(value: float, text: str) -> None:
    assert digits(value) == text


@pytest.mark.parametrize(
    ("time", "clock", "text"),
    [
        ((50531.0, 43200.0, 61920.0), "hms", "14:02:11 (12 to 17.2 h)"),
        ((24_305_441.0, 6_912_000.0, 8.64e7), "hms", "6751:30:41 (1,920 to 24,000 h)"),
        ((24_305_441.0, 6_912_000.0, 8.64e7), "hours", "6,750 h (1,920 to 24,000 h)"),
        ((120.0, 120.0, 120.0), "hms", "0:02:00"),
        ((2.5, 2.0, 3.0), "hms", "2.5 s (2 to 3 s)"),
    ],
)
def test_a_time_is_told_with_its_interval(
    time: tuple[float, float, float], clock: str, text: str
) -> None:
    assert clocked(time, clock) == text
