"""Answer tiles: what a reader sees in five seconds, and what a screen reader says."""

from __future__ import annotations

import math
import re
from itertools import product
from typing import Final

import pytest

from planner.core import Estimate, Refusal
from planner.cost import amount_texts
from planner.figures import Tile, card, number_tile, share_text, share_tile, time_tile
from planner.figures.frame import DARK_THEME, LIGHT_THEME, Theme
from tests.each import each

THEMES = (LIGHT_THEME, DARK_THEME)


def _estimate(value: float, low: float, high: float) -> Estimate:
    return Estimate(value=value, low=low, high=high, level=0.9, basis="measured", reasons=())


def _words(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html)).replace("\u00a0", " ")


def test_a_time_has_one_unit_and_the_digits_of_its_interval() -> None:
    tile = time_tile("Time of a run", _estimate(9_234.0, 3_204.0, 39_600.0))
    assert (tile.value, tile.unit) == ("2.6", "h")
    assert tile.range is not None
    assert (tile.range.low_text, tile.range.high_text) == ("0.9", "11")


def test_a_value_without_an_interval_has_no_more_digits_than_it_may() -> None:
    speed, time = (_estimate(v, math.nan, math.nan) for v in (258.1, 12.34))
    assert [number_tile("Speed", speed, most=n).value for n in (2, 3)] == ["260", "258"]
    assert [time_tile("Time", time, most=n).value for n in (2, 4)] == ["12", "12.34"]


def test_an_end_of_a_tile_keeps_its_last_zero() -> None:
    tile = number_tile("Speed", _estimate(25.4, 24.7, 26.0), "times")
    assert tile.range is not None
    assert (tile.value, tile.range.low_text, tile.range.high_text) == ("25.4", "24.7", "26.0")


def test_a_time_above_48_hours_is_in_days() -> None:
    tile = time_tile("Time", _estimate(50.0 * 3600, 40.0 * 3600, 60.0 * 3600))
    assert (tile.value, tile.unit) == ("2.1", "d")


def test_the_interval_and_the_limit_are_there_in_words() -> None:
    tile = time_tile("Time of a run", _estimate(1_620.0, 900.0, 2_820.0), limit_s=3_600.0)
    said = _words(card("Rent 8 x MI300X", [tile], LIGHT_THEME))
    assert "90 % interval: 15 to 47 min" in said
    assert "limit 1 h" in said


def test_a_refusal_is_a_dash_with_its_reason() -> None:
    tile = time_tile("Time", Refusal(reason="One epoch is missing.", measure_next="Two epochs."))
    assert (tile.value, tile.note) == ("–", "One epoch is missing.")


def test_no_probability_looks_certain() -> None:
    assert [share_text(p) for p in (0.0, 0.004, 0.57, 0.994, 1.0)] == [
        "0", "< 1", "57", "> 99", "100",
    ]  # fmt: skip


def test_money_in_a_tile_is_written_as_in_sentences() -> None:
    tile = number_tile("Cost", _estimate(5.6, 3.2, 10.1), "USD", write=amount_texts)
    assert tile.value == "5.60"
    html = card("", [tile], LIGHT_THEME)
    assert ">3.20<" in html
    assert ">10<" in html


def test_an_exact_number_has_no_bar() -> None:
    assert number_tile("Machines", _estimate(3.0, 3.0, 3.0)).range is None


@each("value", [1e-9, 0.5, 1.0, 1e12])
@each("limit", [None, 0.0, 1e-3, 1e9])
def test_every_mark_lies_on_its_bar(value: float, limit: float | None) -> None:
    for low, high in product((0.0, value / 3, value), (value, 50.0 * value)):
        html = card("", [number_tile("x", _estimate(value, low, high), limit=limit)], LIGHT_THEME)
        for at in re.findall(r"left:(?:calc\()?(-?[\d.]+)%", html):
            assert 0.0 <= float(at) <= 100.0


_ENDS: Final = re.compile(
    r"width:calc\(2 \* min\(50%,max\(([\d.]+)px,([\d.]+)% \+ ([\d.]+)px\)\)\).*?"
    r"left:clamp\(min\(.*?\)\), ([\d.]+)%, 100%.*?<span>(.*?)</span><span>(.*?)</span>"
)
"""Least half width, half the interval, half a text, its middle, and both ends of a bar."""


@each("bar_px", [130.0, 160.0, 340.0])
@each(
    ("value", "low", "high"),
    [(340_000, 170_000, 700_000), (2.0, 1.0, 9.0), (5e6, 1e6, 2e7), (5.5, 3.3, 9.3)],
)
@each("limit", [None, 50.0, 1e9])
def test_the_ends_of_an_interval_are_below_its_ends_and_never_overlap(
    value: float, low: float, high: float, bar_px: float, limit: float | None
) -> None:
    """As the browser places them; on a wide bar, whatever the limit, below the interval itself."""
    tile = number_tile("Cost", _estimate(value, low, high), "USD", limit=limit)
    found = _ENDS.search(card("GPU", [tile], LIGHT_THEME))
    assert found is not None
    least, span, text, middle = map(float, found.groups()[:4])
    first, last = (6.0 * len(words) for words in found.groups()[4:])
    half = min(bar_px / 2.0, max(least, bar_px * span / 100.0 + text))
    at = max(half, min(bar_px * middle / 100.0, bar_px - half))
    assert at - half >= 0.0
    assert at - half + first < at + half - last
    assert at + half <= bar_px
    if bar_px > 300.0 and limit is None:
        ends = (at - half + first / 2.0, at + half - last / 2.0)
        interval = (bar_px * (middle - span) / 100.0, bar_px * (middle + span) / 100.0)
        assert ends == pytest.approx(interval, abs=16.0)


def test_names_from_data_are_text() -> None:
    html = card("<b>", [Tile(label="<i>", value="<u>", note='"<s>')], LIGHT_THEME, badge="<em>")
    assert not re.search(r"<(b|i|u|s|em)>", html)


def test_tiles_load_nothing_and_run_nothing() -> None:
    html = card("a", [share_tile("b", 0.3), Tile(label="c", value="d")], DARK_THEME)
    assert not re.search(r"(?i)<script|<img|<link|url\(|https?:|\son\w+=", html)


@each("theme", THEMES)
def test_text_of_tiles_has_a_contrast_of_four_and_a_half(theme: Theme) -> None:
    on = [(c, theme.background) for c in (theme.text, theme.quiet, theme.accent, theme.warning)]
    for text, background in [*on, (theme.accent, theme.accent_soft)]:
        assert _contrast(text, background) >= 4.5, (text, background)


def _contrast(one: str, other: str) -> float:
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
