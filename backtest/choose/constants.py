"""docs/constants.md: shipped constants, and the choice without each data set.

Table of constants that were chosen, not derived, and how each was chosen.

The values are read from the code, so the page always matches it.
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Final

from backtest.choose.choice import ConstantChoice
from backtest.choose.correction import correction_choices
from backtest.choose.devices import device_choices
from backtest.choose.epochs import epoch_choices
from backtest.choose.lines import form_choices, prior_choices
from backtest.data.cases import Read
from backtest.questions.source_table import Origin
from planner.core import shipped_rows, shipped_text

AGAIN: Final = "`python -m planner backtest --constants`"
BEFORE: Final = "before the project"
DATA: Final = {
    "published": "published tables (MLPerf, language models, vendor tables)",
    "five": "Colab TPU, Pollux T4, Sia, Gavel",
    "three": "Shallue, C4, MLPerf",
    "colab": "Colab TPU and GPU",
    "clusters": "Pollux, Sia",
    "devices": "Lambda v1, TensorFlow 2017, DLPerf, Pollux, Sia, ElasticFlow",
    "pairs": "Colab TPU, five pairs of sessions",
    "lambda": "Lambda v1",
    "sweeps": "Colab, article 002",
    "slips": "none: made-up slips on the published sweeps",
    "definition": "none: a definition",
    "round": "none: a round number",
}
COMMANDS: Final = {
    "again": AGAIN,
    "before": BEFORE,
    "both": f"{BEFORE}; {AGAIN}",
    "convergence": "`pytest -s tests/planner/convergence/test_convergence_public.py`",
    "law": "`python -m planner backtest DIR --json`",
    "mfu": "`python -m planner mfu DIR` (docs/efficiency.md)",
    "own": "`pytest -s tests/planner/scaling/test_own_public.py`",
    "scaling": "`pytest -s tests/planner/scaling/test_scaling_public.py`",
    "projection": "`pytest tests/planner/epochs/test_projection_public.py`",
    "described": "`pytest tests/backtest/test_backtest_described.py`",
    "shared": "`pytest tests/backtest/test_backtest_shared_scaling.py`",
    "transfer": "`pytest -s tests/planner/transfer/test_transfer_public.py`",
    "suspects": "`pytest tests/planner/suspects/test_suspects_public.py`",
    "effects": "`pytest tests/planner/effects/test_effect_pairs.py`",
    "whatif": "`python -m planner backtest --what-if`",
    "references": "`pytest tests/planner/time_to_target/test_reference_points.py`",
}


def choices(read: Read) -> list[ConstantChoice]:
    """Return all constants chosen again with whole data sets left out, in the order of the page.

    Missing data sets have none.
    """
    parts = (prior_choices, form_choices, correction_choices, device_choices, epoch_choices)
    return [choice for part in parts for choice in part(read)]


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant: its place in the code, unit, meaning, data and command."""

    name: str
    unit: str
    meaning: str
    data: str
    command: str

    @property
    def value(self) -> float:
        """Value in the code."""
        module, path = self.name.split(":")
        member: object = import_module(module)
        for part in path.split("."):
            member = getattr(member, part)
        return float(str(member))


CONSTANTS: Final = tuple(
    Constant(
        f"planner.{row['name']}",
        row["unit"],
        row["meaning"],
        DATA.get(row["data"], row["data"]),
        COMMANDS.get(row["command"], row["command"]),
    )
    for row in shipped_rows(__package__, "constants.csv")
)
"""The constants of `constants.csv`, which is beside this module."""


INTRODUCTION: Final = (
    "All numbers that were chosen from data; the values are those of the code. "
    'Made by `python -m planner backtest {folder}`. "Before the project" means: by hand, on fuller '
    "copies of the same public data. The last column is the choice of the data today, with each "
    "data set left out in turn (below). The resulting errors are in "
    "[accuracy.md](accuracy.md).",
)
CHOSEN_AGAIN: Final = tuple(
    " ".join(paragraph.split())
    for paragraph in shipped_text(__package__, "again.txt").split("\n\n")
)


def constants_page(choices: Sequence[ConstantChoice], origin: Origin) -> str:
    """Return the page; texts about the public data appear only if all of it was read."""
    introduction = [text.format(folder=origin.folder) for text in INTRODUCTION]
    parts = ["# Constants", "", *_paragraphs(introduction)]
    parts += [
        "| constant | value | unit | meaning | data | chosen or checked by | without one set |",
        "|---" * 7 + "|",
    ]
    parts += [
        f"| `{c.name.replace(':', '.')}` | {c.value:.5g} | {c.unit} | {c.meaning} | {c.data} "
        f"| {c.command} | {_without(c, choices)} |"
        for c in CONSTANTS
    ]
    if not choices:
        return "\n".join(parts) + "\n"
    parts += [
        "",
        "## Chosen again",
        "",
        *_paragraphs(CHOSEN_AGAIN if origin.whole else CHOSEN_AGAIN[:1]),
    ]
    parts += ["| use | data set left out | the others choose | ships |", "|---" * 4 + "|"]
    parts += [f"| {c.use} | {c.left_out} | {c.chosen} | {c.ships} |" for c in choices]
    return "\n".join(parts) + "\n"


def _without(constant: Constant, choices: Sequence[ConstantChoice]) -> str:
    """Return the range of values that the others choose; "" if not chosen here."""
    name = constant.name.removeprefix("planner.")
    values = sorted({choice.values[name] for choice in choices if name in choice.values})
    if not values:
        return ""
    low, high = f"{values[0]:.4g}", f"{values[-1]:.4g}"
    return low if low == high else f"{low} to {high}"


def _paragraphs(texts: Sequence[str]) -> list[str]:
    return [line for text in texts for line in (textwrap.fill(text, 100), "")]
