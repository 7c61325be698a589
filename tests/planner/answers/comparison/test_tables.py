"""When work ends: on the clock of whoever asks, with its zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from planner.answers.comparison import end_of, option_rows
from planner.core import Estimate, Refusal
from tests.planner.compare.answers import compared

BEGINS = datetime(2026, 11, 22, 7, 0, tzinfo=UTC)


def _time(seconds: float) -> Estimate:
    return Estimate(value=seconds, low=seconds, high=seconds)


def test_the_end_is_reported_in_iso_8601_with_its_zone() -> None:
    result = compared()
    zones = {UTC: "Z", timezone(timedelta(hours=9)): "+09:00"}
    for zone, ending in zones.items():
        begins = BEGINS.astimezone(zone)
        for row, record in zip(result.rows, option_rows(result, begins=begins), strict=True):
            end = end_of(row.time, BEGINS)
            if end is None:
                assert record["finishes"] is None
                continue
            text = str(record["finishes"])
            assert text.endswith(ending)
            assert datetime.fromisoformat(text) == end.replace(second=0, microsecond=0)
    assert {r["finishes"] for r in option_rows(result)} == {None}


def test_where_clocks_are_changed_meanwhile_the_end_is_on_the_new_time() -> None:
    begins = datetime(2026, 10, 24, 12, 0, tzinfo=ZoneInfo("Europe/Berlin"))
    end = end_of(_time(24 * 3600.0), begins)
    assert end is not None
    assert end.isoformat() == "2026-10-25T11:00:00+01:00"


@pytest.mark.parametrize("seconds", [float("inf"), float("nan"), 1e15])
def test_what_never_ends_or_beyond_the_calendar_has_no_date(seconds: float) -> None:
    assert end_of(_time(seconds), BEGINS) is None


def test_without_a_time_or_a_beginning_there_is_no_end() -> None:
    assert end_of(Refusal(reason="No.", measure_next="Measure."), BEGINS) is None
    assert end_of(_time(1.0), None) is None
