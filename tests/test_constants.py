"""The page of constants tells the values of the code."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Final

import pytest

from planner.backtest.constants_table import CONSTANTS

PAGE: Final = (Path(__file__).parent.parent / "docs" / "constants.md").read_text(encoding="utf-8")
TOLD: Final = dict(re.findall(r"^\| `planner\.([\w.]+)` \| ([^ ]+) \|", PAGE, re.MULTILINE))


def value_of(name: str) -> float:
    """A dotted name after `planner.`: the longest part that is a module, then attributes."""
    parts = name.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        try:
            found: object = import_module(".".join(["planner", *parts[:cut]]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            found = getattr(found, part)
        return float(str(found))
    raise AssertionError(name)


@pytest.mark.parametrize("name", sorted(TOLD))
def test_every_value_on_the_page_is_that_of_the_code(name: str) -> None:
    assert float(TOLD[name]) == pytest.approx(value_of(name), rel=1e-3)


def test_every_constant_of_the_table_is_on_the_page() -> None:
    names = {c.name.replace(":", ".").removeprefix("planner.") for c in CONSTANTS}
    assert set(TOLD) == names
    assert len(names) == len(CONSTANTS)


@pytest.mark.parametrize("constant", CONSTANTS, ids=lambda c: c.name)
def test_every_constant_says_unit_meaning_data_and_what_chose_it(constant: object) -> None:
    for field in ("unit", "meaning", "data", "command"):
        assert str(getattr(constant, field)).strip()


def test_what_ships_is_told_beside_what_would_be_chosen() -> None:
    assert PAGE.count("| samples to target |") == 4
    assert PAGE.count("| step times |") >= 6
