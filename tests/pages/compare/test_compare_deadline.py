"""A deadline given as a date stays that date: in the link, saved, and whenever it is opened."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from pages.compare import inputs as compare_deadline
from planner.answers.comparison import after
from tests.pages.comparing import WORKLOAD, address_of, table
from tests.pages.conftest import show, sound, texts, unfold

BY = "2026-11-27T09:00+09:00"
MEASURED = {"workload": ["wideresnet-103m-cifar-100-adam-float32"], "options": ["buy-1x-rtx-5090"]}
LINK: dict[str, str | list[str]] = {**MEASURED, "by": BY}
BOX = "compare.by.box"
BEGINS = datetime(2026, 11, 22, 9, 0, tzinfo=ZoneInfo("Asia/Tokyo"))


@pytest.fixture(autouse=True)
def begins(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _clock(monkeypatch, 0)


def _clock(monkeypatch: pytest.MonkeyPatch, days: int) -> None:
    monkeypatch.setattr(compare_deadline, "now", lambda: BEGINS + timedelta(days=days))


def test_a_date_that_is_chosen_stands_in_the_link_with_its_zone() -> None:
    shown = show("compare", workload=WORKLOAD, options=["buy-1x-rtx-5090"], deadline="72")
    unfold(shown, BOX).date_input(key="compare.by.day").set_value(date(2026, 11, 27))
    shown.button(key="compare.by.set").click()
    sound(shown.run())
    assert address_of(shown)["by"] == [BY]
    assert "deadline" not in address_of(shown)
    assert shown.text_input(key="compare.deadline").placeholder == "120.0 h left"
    assert "by Fri 27 Nov 2026, 09:00" in texts(shown)


def test_the_same_link_promises_the_same_friday_tomorrow(monkeypatch: pytest.MonkeyPatch) -> None:
    today = show("compare", **LINK)
    _clock(monkeypatch, 1)
    tomorrow = show("compare", **LINK)
    for shown in (today, tomorrow):
        assert "by Fri 27 Nov 2026, 09:00" in texts(shown)
        assert address_of(shown) == {**MEASURED, "by": [BY]}
    assert tomorrow.text_input(key="compare.deadline").placeholder == "96.0 h left"


def test_a_date_from_another_zone_is_reported_on_ones_own_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(compare_deadline, "now", lambda: BEGINS.astimezone(UTC))
    assert "by Fri 27 Nov 2026, 00:00" in texts(show("compare", **LINK))


def test_a_date_that_has_passed_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    _clock(monkeypatch, 9)
    shown = show("compare", **LINK)
    assert "27 Nov 2026, 09:00 UTC+09:00 has passed" in texts(shown)
    assert all(r["in_time"] is None for r in table(shown))
    assert shown.text_input(key="compare.deadline").placeholder == "has passed"


def test_hours_that_are_typed_take_the_place_of_the_date_and_a_button_drops_it() -> None:
    shown = show("compare", **LINK)
    shown.text_input(key="compare.deadline").set_value("2 days")
    sound(shown.run())
    assert address_of(shown) == {**MEASURED, "deadline": ["48"]}
    dropped = show("compare", **LINK)
    unfold(dropped, BOX).button(key="compare.by.drop").click()
    assert "by" not in address_of(sound(dropped.run()))


@pytest.mark.parametrize("typed", ["0", "-2 days", "two weeks", "3 months"])
def test_a_deadline_that_is_none_is_named_and_the_last_one_no_longer_counts(typed: str) -> None:
    shown = show("compare", workload=WORKLOAD, options=["buy-1x-rtx-5090"], deadline="72")
    assert shown.text_input(key="compare.deadline").value == "72 h"
    shown.text_input(key="compare.deadline").set_value(typed)
    sound(shown.run())
    what = f"deadline: '{typed}' is not a time from 0.001 to 1,000,000 h"
    assert f"{what}. Write it as 36 h, 3 days or 2 weeks." in texts(shown)
    assert all(r["in_time"] is None for r in table(shown))
    shown.text_input(key="compare.deadline").set_value("2 weeks")
    sound(shown.run())
    assert address_of(shown)["deadline"] == ["336"]
    assert what not in texts(shown)


def test_a_date_that_is_none_is_reported() -> None:
    shown = show("compare", workload=WORKLOAD, options=["buy-1x-rtx-5090"], by="friday")
    assert "is not a time with its zone. Write 2026-11-27T09:00+09:00" in texts(shown)
    unfold(shown, BOX).button(key="compare.by.drop").click()
    assert "by" not in address_of(sound(shown.run()))


def test_what_is_saved_keeps_the_date(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = unfold(show("compare", **LINK), "compare.save")
    shown.text_input(key="compare.save.name").set_value("Tanaka")
    shown.button(key="compare.save.now").click()
    sound(shown.run())
    [kept] = (folders / "saved").glob("tanaka*.json")
    body = json.loads(kept.read_text())
    assert body["parameters"]["by"] == [BY]
    _clock(monkeypatch, 2)
    again = show("compare", saved=kept.stem)
    assert address_of(again)["by"] == [BY]
    assert "by Fri 27 Nov 2026, 09:00" in texts(again)
    assert "Nothing has changed since" in texts(again)


def test_the_first_is_called_decided_only_where_it_is_better_and_not_merely_in_time() -> None:
    options = ["own-tpu-v2-8", "rent-openrelay-any-1x-rtx-4090-24gb-on-demand"]
    alone = texts(sound(show("compare", workload=WORKLOAD, options=options, deadline="28")))
    assert "Only the first option is likely to meet your limits." in alone
    dear = ["own-tpu-v2-8", "rent-google-cloud-us-central1-tpu-v2-8-on-demand"]
    better = texts(sound(show("compare", workload=WORKLOAD, options=dear)))
    assert "The ranking is clear. No further run is needed." in better


def test_a_date_of_another_year_is_shown_with_its_year() -> None:
    def label(by: str) -> str:
        link: dict[str, str | list[str]] = {**LINK, "by": by}
        popovers = [b for b in show("compare", **link).get("popover") if b.proto.popover.label]
        return next(
            str(b.proto.popover.label)
            for b in popovers
            if str(b.proto.popover.label).startswith("By ")
        )

    assert label("2020-01-01T09:00+09:00") == "By Wed 1 Jan 2020, 09:00 (has passed)"
    assert label(BY) == "By Fri 27 Nov, 09:00"
    assert label("2026-12-31T23:30+00:00") == "By Fri 1 Jan 2027, 08:30"


def test_hours_end_on_the_clock_of_their_day_where_clocks_are_changed_meanwhile() -> None:
    begins = datetime(2026, 10, 24, 12, 0, tzinfo=ZoneInfo("Europe/Berlin"))
    by = after(24 * 3600.0, begins)
    assert by is not None
    assert compare_deadline.in_words(by, begins) == "Sun 25 Oct 2026, 11:00"
    assert compare_deadline._then(24.0, begins) == "Sun 25 Oct, 11:00"
    assert after(1e15, begins) is None
    assert compare_deadline._then(1e12, begins) == "then"


def test_the_sentence_names_that_hour_too(monkeypatch: pytest.MonkeyPatch) -> None:
    begins = datetime(2026, 10, 24, 12, 0, tzinfo=ZoneInfo("Europe/Berlin"))
    monkeypatch.setattr(compare_deadline, "now", lambda: begins)
    said = texts(show("compare", workload=WORKLOAD, options=["buy-1x-rtx-5090"], deadline="24"))
    assert "by Sun 25 Oct 2026, 11:00" in said
