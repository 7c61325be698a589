"""docs/constants.md: what ships, and what would be chosen without each data set."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Final

from planner.backtest.choice import Choice
from planner.backtest.constants_table import CONSTANTS

INTRODUCTION: Final = (
    "Numbers that were chosen by looking at data, in one place; the values are those of the code. "
    'Made by `python -m planner backtest`. "Before the project" means: on fuller copies of the '
    "same public data, by hand; what the data say today stands in the second table and in "
    "[accuracy.md](accuracy.md)."
)
AGAIN: Final = (
    "What `python -m planner backtest --constants` prints: the setting with the least interval "
    "score (width plus punished misses, Gneiting & Raftery 2007; for the rule: the least mean "
    "error) over all data sets but the one named, beside what ships. A constant that changes with "
    "the data set left out is known no better than that. For step times the score prefers a "
    "lighter prior (dof 1): it would widen the intervals of two and three batches."
)


def constants_page(choices: Sequence[Choice]) -> str:
    """The whole page."""
    parts = ["# Constants", "", textwrap.fill(INTRODUCTION, 100), ""]
    parts += [
        "| constant | value | unit | meaning | data | chosen or checked by |",
        "|---" * 6 + "|",
    ]
    parts += [
        f"| `{c.name.replace(':', '.')}` | {c.value:.4g} | {c.unit} | {c.meaning} | {c.data} "
        f"| {c.command} |"
        for c in CONSTANTS
    ]
    parts += ["", "## Chosen again", "", textwrap.fill(AGAIN, 100), ""]
    parts += ["| use | data set left out | the others choose | ships |", "|---" * 4 + "|"]
    parts += [f"| {c.use} | {c.left_out} | {c.chosen} | {c.ships} |" for c in choices]
    return "\n".join(parts) + "\n"
