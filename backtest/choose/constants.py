"""docs/constants.md: shipped constants, and the choice without each data set."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Final

from backtest.choose.choice import Choice
from backtest.choose.constants_table import CONSTANTS, Constant
from backtest.questions.origin import Origin

INTRODUCTION: Final = (
    "All numbers that were chosen from data; the values are those of the code. "
    'Made by `python -m planner backtest {folder}`. "Before the project" means: by hand, on fuller '
    "copies of the same public data. The last column is the choice of the data today, with each "
    "whole data set left out in turn (below). [accuracy.md](accuracy.md) has the resulting errors.",
)
AGAIN: Final = (
    "Output of `python -m planner backtest --constants`: the setting with the smallest "
    "interval score over all data sets but the one named, next to the shipped setting. The "
    "score is the width plus penalised misses (Gneiting & Raftery 2007). Rules, forms and "
    "shares that move the estimate itself have the smallest mean error instead. A constant "
    "that changes with the data set left out is uncertain by that much.",
    "Where the shipped setting differs from the choice. *Step times*: the score prefers a "
    "lighter prior (dof 1), which would widen the intervals of two and three batches. *Corner "
    "of samples to target*: a corner sharper than the law's (a = 1.25) has smaller errors on "
    "all questions (9.1 instead of 10.0 % from three batches, 13.6 instead of 16.4 % at twice "
    "the largest). But two of the three sets barely change: without the language models the "
    "others choose the law itself. The interval score prefers the law too, and only the law "
    "has a closed form of the best batch. *Reach of a correction*: in full everywhere, the "
    "error four times beyond the largest batch would be smaller (18.9 instead of 20.3 % in the "
    "mean), but larger on the one quiet sweep (7.9 instead of 6.9 %). A clean curve should not "
    "lose accuracy far outside. *Sizes of the correction*: the errors are the same (4.6 % "
    "inside, 8.3 % at twice), the intervals narrower, with a coverage of 88 instead of 90 %. "
    "*Uncertainty per doubling of devices*: half of it would be enough on these four clusters. "
    "A fifth, not in the data here, had the largest errors, so the value stays. *Epochs*: every "
    "group of runs prefers another prior, so the one chosen on Colab stays. The runs of 181 "
    "epochs prefer a wandering pace, and so do the others without them, for 50 epochs. *Scatter "
    "of other runs*: only the runs of 181 epochs have neighbours on shared processors, so "
    "without them the others choose no drift.",
    "Not chosen here: shares of links (GROWING), checked on all device data; ridges and "
    "similarities between cards, chosen with cards of the single table left out; limits of "
    "refusal, which are definitions with their evidence in [refusals.md](refusals.md).",
)


def constants_page(choices: Sequence[Choice], origin: Origin) -> str:
    """Return the page; texts about the public data appear only if all of it was read."""
    introduction = [text.format(folder=origin.folder) for text in INTRODUCTION]
    parts = ["# Constants", "", *_paragraphs(introduction)]
    parts += [
        "| constant | value | unit | meaning | data | chosen or checked by | without one set |",
        "|---" * 7 + "|",
    ]
    parts += [
        f"| `{c.name.replace(':', '.')}` | {c.value:.4g} | {c.unit} | {c.meaning} | {c.data} "
        f"| {c.command} | {_without(c, choices)} |"
        for c in CONSTANTS
    ]
    if not choices:
        return "\n".join(parts) + "\n"
    parts += ["", "## Chosen again", "", *_paragraphs(AGAIN if origin.whole else AGAIN[:1])]
    parts += ["| use | data set left out | the others choose | ships |", "|---" * 4 + "|"]
    parts += [f"| {c.use} | {c.left_out} | {c.chosen} | {c.ships} |" for c in choices]
    return "\n".join(parts) + "\n"


def _without(constant: Constant, choices: Sequence[Choice]) -> str:
    """Return the range of values that the others choose; "" if not chosen here."""
    name = constant.name.removeprefix("planner.")
    values = sorted({choice.values[name] for choice in choices if name in choice.values})
    if not values:
        return ""
    low, high = f"{values[0]:.4g}", f"{values[-1]:.4g}"
    return low if low == high else f"{low} to {high}"


def _paragraphs(texts: Sequence[str]) -> list[str]:
    return [line for text in texts for line in (textwrap.fill(text, 100), "")]
