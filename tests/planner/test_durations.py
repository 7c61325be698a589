"""Promises of how a duration is written."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.durations import hms, in_days, in_words, parse_hms


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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
        (-90.0, "-1 min 30 s"),
    ],
)
def test_words_take_the_units_a_person_would_say(seconds: float, text: str) -> None:
    assert in_words(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (2_223_000.0, "25.7 days"),
        (86_400.0, "1.0 day"),
        (0.0, "0.0 days"),
        (-43_200.0, "-0.5 days"),
    ],
)
def test_long_durations_can_be_counted_in_days(seconds: float, text: str) -> None:
    assert in_days(seconds) == text


@pytest.mark.parametrize("write", [hms, in_words, in_days])
def test_what_is_not_finite_is_said_in_words(write: object) -> None:
    assert callable(write)
    assert write(math.nan) == "not known"
    assert write(math.inf) == "no limit"
    assert write(-math.inf) == "-no limit"


@given(seconds=st.integers(0, 10**8))
@settings(max_examples=100)
def test_whole_seconds_survive_writing_and_reading(seconds: int) -> None:
    assert parse_hms(hms(seconds)) == seconds


def test_decimals_of_a_second_are_read() -> None:
    assert parse_hms(" 0:01:02.5 ") == 62.5


@pytest.mark.parametrize("text", ["16:52", "1:60:00", "1:00:60", "-1:00:00", "1:2:3", "", "nan"])
def test_another_form_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="Write 0:16:52"):
        parse_hms(text)
