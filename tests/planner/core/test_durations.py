"""Promises of how a duration is written."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.core import about, between, clock, hms, in_words, interval, with_ends
from planner.core._numbers import digits_of
from tests.each import each

HOUR, YEAR = 3_600.0, 3_600.0 * 8_760.0


@each(
    ("seconds", "text"),
    [
        (0.0, "0:00:00"),
        (0.49, "0:00:00"),
        (0.5, "0:00:01"),
        (59.6, "0:01:00"),
        (3599.5, "1:00:00"),
        (1012.2, "0:16:52"),
        (91300.6, "25:21:41"),
        (2_279_132.0, "633:05:32"),
        (-300.0, "-0:05:00"),
        (-0.2, "0:00:00"),
    ],
)
def test_the_clock_form_rounds_half_up_and_carries(seconds: float, text: str) -> None:
    assert hms(seconds) == text


@each(
    ("seconds", "text"),
    [
        (0.0, "0 s"),
        (0.054, "54 ms"),
        (0.00081818, "0.82 ms"),
        (0.0091, "9.1 ms"),
        (0.00996, "10 ms"),
        (0.005, "5 ms"),
        (0.000075, "75 µs"),
        (-0.0008, "-0.8 ms"),
        (1e-9, "0 s"),
        (0.9996, "1 s"),
        (45.6, "45.6 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min 0 s"),
        (1012.2, "16 min 52 s"),
        (3599.6, "1 h 0 min"),
        (91300.6, "25 h 22 min"),
        (2_279_132.0, "633 h 6 min"),
        (45_600_120.0, "12,666 h 42 min"),
        (-90.0, "-1 min 30 s"),
    ],
)
def test_words_take_the_units_a_person_would_say(seconds: float, text: str) -> None:
    assert in_words(seconds) == text


YEAR_H = 8760.0


@each(
    ("hours", "result"),
    [
        ((2.7 * YEAR_H, 6400.0, 9.2 * YEAR_H), ("2.7 years", "0.7 years", "9.2 years")),
        ((2.7 * YEAR_H, 600.0, 9.2 * YEAR_H), ("2.7 years", "< 0.1 years", "9.2 years")),
        ((YEAR_H, 6400.0, 3.0 * YEAR_H), ("370 d", "270 d", "1,100 d")),
        ((14.0, 8.4, 17.0), ("14 h", "8 h", "17 h")),
        ((2.93, 0.89, 11.2), ("2.9 h", "0.9 h", "11 h")),
        ((47.95, 24.9, 91.7), ("48 h", "25 h", "92 h")),
        ((25.36, 24.83, 25.9), ("25.4 h", "24.8 h", "25.9 h")),
        ((9.99, 9.0, 11.0), ("10 h", "9 h", "11 h")),
        ((14.0, 0.05, 17.0), ("14 h", "< 0.1 h", "17 h")),
        ((47.0, 1 / 3600.0, 1e6 / 3600.0), ("47 h", "< 0.1 h", "280 h")),
        ((0.5 / 3600.0, 1e-7 / 3600.0, 2.0 / 3600.0), ("500 ms", "< 0.1 ms", "2,000 ms")),
        ((2.0, 7199 / 3600.0, 7201 / 3600.0), ("2.0000 h", "1.9997 h", "2.0003 h")),
        ((0.0, 0.0, 2.0 / 3600.0), ("0 s", "0 s", "2 s")),
        ((1e-6, 1e-7, 1e4), ("3.6 ms", "0.4 ms", "416.7 d")),
        ((4e8, 1e8, 1e11), ("46,000 years", "11,000 years", "more than a million years")),
        ((2e10, 1e10, 3e30), ("more than a million years",) * 3),
        ((14.0, 12.0, math.inf), ("14 h", "12 h", "no limit")),
        ((48.0, math.nan, math.nan), ("48 h", "not known", "not known")),
        ((48.1, 40.0, 60.0), ("2.0 d", "1.7 d", "2.5 d")),
        ((157_524.0,) * 3, ("17.98 years",) * 3),
    ],
)
def test_an_estimate_and_its_ends_have_one_unit(
    hours: tuple[float, float, float], result: tuple[str, str, str]
) -> None:
    value, low, high = (3600.0 * h for h in hours)
    assert with_ends(value, low, high) == result


@given(st.lists(st.floats(1e-6, 1e12), min_size=3, max_size=3, unique=True))
@settings(max_examples=200, deadline=None)
def test_an_estimate_and_its_ends_have_one_unit_and_stay_in_order(seconds: list[float]) -> None:
    low, value, high = sorted(seconds)
    result = with_ends(value, low, high)
    assert "0 " not in {text[:2] for text in result}
    if high < 900.0 * value:
        assert len({text.split()[-1] for text in result}) == 1
        numbers = [float(text.removeprefix("< ").split()[0].replace(",", "")) for text in result]
        assert numbers[1] <= numbers[0] <= numbers[2]
        assert numbers[0] > 0.0


@each(
    ("seconds", "text"),
    [
        (91_300.6, "25:21:41"),
        (45_600_120.0, "12666:42:00"),
        (101e12, "more than a million years"),
        (-101e12, "-more than a million years"),
        (3e8, "9.513 years"),
        (1e-7, "0.1 µs"),
        (2.4, "2.4 s"),
        (0.0, "0 s"),
        (math.nan, "not known"),
    ],
)
def test_a_total_of_any_size_has_a_unit_that_a_person_would_use(seconds: float, text: str) -> None:
    assert clock(seconds) == text


@each(
    ("ends", "said"),
    [
        (with_ends(2.9 * HOUR, 0.9 * HOUR, 11.0 * HOUR)[1:], "0.9 to 11 h"),
        (with_ends(30.0 * HOUR, 60.0, 280.0 * HOUR)[1:], "< 0.1 to 280 h"),
        ((in_words(45.6), in_words(47.1)), "45.6 to 47.1 s"),
        ((in_words(3_421.0), in_words(3_482.0)), "57 min 1 s to 58 min 2 s"),
        ((in_words(24.0 * HOUR), in_words(26.0 * HOUR)), "24 h 0 min to 26 h 0 min"),
        ((in_words(math.nan), in_words(math.nan)), "not known to not known"),
        ((in_words(11_000 * YEAR), in_words(1e7 * YEAR)), "11,000 to more than a million years"),
    ],
)
def test_two_ends_share_a_unit_where_each_has_one(ends: tuple[str, str], said: str) -> None:
    assert between(*ends) == said


@given(st.floats(1.0, 1e9), st.floats(0.0005, 0.9))
@settings(max_examples=200, deadline=None)
def test_no_more_digits_are_shown_than_the_interval_allows(value: float, share: float) -> None:
    """The last digit is worth at most the half-width, and one digit less would be worth more."""
    half = 0.5 * (value * (1.0 + share) - value * (1.0 - share))
    digits = digits_of(value, value * (1.0 - share), value * (1.0 + share))
    step = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    assert digits == 5 or step <= half * (1.0 + 1e-9) or digits == 2
    assert digits == 2 or 10.0 * step > half * (1.0 - 1e-9)


def test_the_unit_stands_once_in_a_bracket() -> None:
    assert interval(10_548.0, 3_204.0, 40_320.0) == "2.9 h (0.9 to 11 h)"
    assert interval(10_548.0, 3_204.0, math.inf) == "2.9 h (0.9 h to no limit)"
    assert about(180_000.0, 90_000.0, 300_000.0) == "about 2.1 d"
    assert about(3_600.0, 3_600.0, 3_600.0) == "1 h 0 min"


@pytest.mark.parametrize("write", [hms, in_words])
def test_what_is_not_finite_is_said_in_words(write: object) -> None:
    assert callable(write)
    assert write(math.nan) == "not known"
    assert write(math.inf) == "no limit"
    assert write(-math.inf) == "-no limit"


@given(seconds=st.integers(0, 10**8))
@settings(max_examples=100)
def test_whole_seconds_survive_writing(seconds: int) -> None:
    hours, minutes, rest = map(int, hms(seconds).split(":"))
    assert 3600 * hours + 60 * minutes + rest == seconds
