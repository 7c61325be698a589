"""docs/constants.md: what ships, and what would be chosen without each data set."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Final

from backtest.choose.choice import Choice
from backtest.choose.constants_table import CONSTANTS, Constant
from backtest.questions.origin import Origin

INTRODUCTION: Final = (
    "Numbers that were chosen by looking at data, in one place; the values are those of the code. "
    'Made by `python -m planner backtest {folder}`. "Before the project" means: on fuller copies '
    "of the same public data, by hand. The last column is what the data say today, leaving each "
    "whole data set out in turn (below), and [accuracy.md](accuracy.md) what follows from it.",
)
AGAIN: Final = (
    "What `python -m planner backtest --constants` prints: the setting with the least "
    "interval score (width plus punished misses, Gneiting & Raftery 2007; for rules, forms "
    "and shares that move the answer itself the least mean error) over all data sets but the "
    "one named, beside what ships. A constant that changes with the data set left out is "
    "known no better than that.",
    "Where what ships is not what is chosen. *Step times*: the score prefers a lighter prior "
    "(dof 1), which would widen the intervals of two and three batches. *Corner of samples to"
    " target*: a corner sharper than the law's (a = 1.25) errs less on all questions (9.1 "
    "instead of 10.0 % from three batches, 13.6 instead of 16.4 % at twice the largest), but "
    "two of the three sets hardly care: without the language models the others choose the law"
    " itself, the interval score prefers it, and with it goes the closed form of the best "
    "batch. *Reach of a correction*: in full everywhere it would err less four times beyond "
    "the largest batch (18.9 instead of 20.3 % in the mean), but more on the one quiet sweep "
    "(7.9 instead of 6.9 %), and no clean curve should lose far outside. *Sizes of the "
    "correction*: the errors are the same (4.6 % inside, 8.3 % at twice), the intervals "
    "narrower, and they held 88 instead of 90 %. *Doubt per doubling of devices*: half of it "
    "would do on these four clusters; a fifth, not in the data here, was further off than "
    "anything else and is why it stays. *Epochs*: every group of runs wants another prior, so"
    " the one chosen on Colab stays; what the runs of 181 epochs want is a pace that wanders,"
    " and so do the others without them, for 50 epochs. *Scatter of other runs*: the runs of 181 "
    "epochs have the only neighbours on shared processors, so without them the others would let "
    "the drift be.",
    "Not chosen here: shares of links (GROWING), looked at on all device data; ridges and "
    "similarities between cards, chosen by leaving cards of one table out, because there is "
    "one table; limits of refusal, which are definitions with their evidence in "
    "[refusals.md](refusals.md).",
)


def constants_page(choices: Sequence[Choice], origin: Origin) -> str:
    """The whole page; what is told of the public data only where all of it was there."""
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
    """The range of what the others choose; nothing where it was not asked."""
    name = constant.name.removeprefix("planner.")
    found = sorted({choice.values[name] for choice in choices if name in choice.values})
    if not found:
        return ""
    low, high = f"{found[0]:.4g}", f"{found[-1]:.4g}"
    return low if low == high else f"{low} to {high}"


def _paragraphs(texts: Sequence[str]) -> list[str]:
    return [line for text in texts for line in (textwrap.fill(text, 100), "")]
