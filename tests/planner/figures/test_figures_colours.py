"""Shades of one hue stay visible on the background of either theme."""

from __future__ import annotations

import pytest

from planner.figures.frame import (
    DARK_THEME,
    HUES,
    LIGHT_THEME,
    SHADES,
    Theme,
    contrast,
    system_slot,
)


@pytest.mark.parametrize("theme", [LIGHT_THEME, DARK_THEME], ids=["light", "dark"])
def test_a_shade_is_as_visible_as_a_line_must_be(theme: Theme) -> None:
    for slot in range(HUES, SHADES * HUES):
        assert contrast(theme.colour(slot), theme.background) >= 3.0, slot


@pytest.mark.parametrize("theme", [LIGHT_THEME, DARK_THEME], ids=["light", "dark"])
def test_words_in_any_shade_are_readable(theme: Theme) -> None:
    for slot in range(SHADES * HUES):
        assert contrast(theme.words(slot), theme.background) >= 4.5, slot


@pytest.mark.parametrize("theme", [LIGHT_THEME, DARK_THEME], ids=["light", "dark"])
def test_shades_of_a_hue_differ(theme: Theme) -> None:
    for hue in range(HUES):
        shades = [theme.colour(hue + HUES * shade) for shade in range(SHADES)]
        assert len(set(shades)) == SHADES


@pytest.mark.parametrize(
    "system", ["A100", "8 × A100 on 2 nodes", "4 × T4 without P2P", "TPU v2-8"]
)
def test_an_unofficial_system_has_the_hue_of_the_checked_one(system: str) -> None:
    assert system_slot(f"{system} (unofficial)") == system_slot(system)
