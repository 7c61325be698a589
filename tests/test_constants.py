"""The page of constants tells the values of the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Final

import pytest

from planner.backtest.constants_table import CONSTANTS

ROOT: Final = Path(__file__).parent.parent
PAGE: Final = (ROOT / "docs" / "constants.md").read_text(encoding="utf-8")
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


# -- none is forgotten ---------------------------------------------------------------------------

ROOMS_WITHOUT: Final = {"store", "figures", "report", "commands", "backtest"}
"""Disks, drawings, words and the back-test's own questions: sizes and limits of time, no judgement
on data."""
NO_JUDGEMENT: Final[dict[str, str]] = {
    "a unit": """
        compare.times:DAY_S catalog.records:HOUR_S compare.begin_with:HOUR_S compare.memory:GIGA
        compare.parameters:HOUR_S
        compare.rent_or_buy:HOUR_S cost.energy:WATTS_PER_KILOWATT
        cost.payback:MONTHS_PER_YEAR cost.quantities:HOURS_PER_YEAR
        cost.quantities:HOURS_PER_MONTH cost.quantities:SECONDS_PER_HOUR durations:DAY_S
        durations:HOUR_S durations:YEAR_S
        frontier:SECONDS_PER_HOUR steadiness:NORMAL cost.times:NORMAL
        schema:SCHEMA_VERSION""",
    "how much is read, kept or offered": """
        asked:MOST_BESIDE asked:MOST_BATCHES asked:MOST_LISTED asked:LISTED catalog.names:MAX_TEXT
        compare.ask:EPOCHS compare.ask:MOST_EPOCHS compare.ask:MOST_OPTIONS
        compare.begin_with:BEGIN_WITH compare.begin_with:HOPELESS compare.begin_with:SERVER
        compare.clusters:CLUSTERS compare.entries:MOST_COUNT compare.memory:MOST_SHARDS
        compare.entries:MOST_PRICE compare.entries:MOST_PRICE_USD compare.entries:MOST_RATE
        cost.records:_YEAR_S cost.records:_MOST_USD parameters:NEXT_TO_NOTHING
        compare.influences:MOST_BARS compare.keeping:MOST compare.description:_LARGE
        compare.description:MOST_PX compare.description:_ROUNDED
        compare.parameters:MOST_HOURS how_long:MOST_NAMED how_long:EPOCHS how_long:MOST_EPOCHS
        contradictions:SLACK contradictions:OUTSIDE_STEPS
        parameters:LONGEST_VALUE parameters:MOST_VALUES parameters:MOST_GIVEN
        parameters:LONGEST_QUERY projection:MOST_EPOCHS scaling_terms:MOST
        usual:MOST_LINES usual:MOST_CHOSEN usual:PREFERRED checking:SMALLEST checking:LARGEST
        rivals:ENDLESS_S compare.description:LONGEST_NAME
        limits:MAX_TEXT limits:MAX_ENTRIES limits:MAX_FILE_BYTES limits:MAX_FOOTER_BYTES
        limits:MAX_FILE_RUNS limits:MAX_ROW_GROUPS limits:MAX_SET_BYTES limits:MAX_SET_LINE
        limits:MAX_SET_KEYS limits:MAX_SET_DEPTH limits:MAX_SET_TEXT limits:MAX_SET_UNKNOWN
        networks.table:MOST_LETTERS
        limits:MAX_REASON guarded:LONGEST_S epoch_size:MOST_SAMPLES epoch_size:SAME
        epoch_size:SAME_BY_SPEED epoch_size:FAR published.rows:MOST_BYTES
        published.rows:MOST_CELL published.rows:LARGEST published.rows:MOST_WHOLE
        published.rows:MOST_DEVICES published.rows:SMALLEST
        published.rows:_SHOWN published.accelerators:CLOSE slugs:_NAMES
        workload_kinds:_NAMES compare.priced:_KEPT""",
    "how it is told or drawn": """
        slugs:DIGITS slugs:LONGEST_FILE slugs:MOST_NAMED checking:SHOWN durations:IN_DAYS_S
        durations:DIGITS compare.made:DIGITS written:LEAST_DIGITS durations:IN_YEARS_S
        durations:ENDLESS_S durations:LEAST_CLOCK_S durations:MOST_OF_A_UNIT durations:MOST_DIGITS
        speed_words:MOST durations:LEAST_OF_A_UNIT how_long:IN_WHOLE_HOURS_S how_long:ROUGH
        written:GROUPED_FROM
        compare.undecided:LONG_MINUTES
        compare.undecided:NAMED compare.sentences:_TINY compare.memory:_COUNTABLE
        compare.snapshot:LIKELIER compare.rent_or_buy:LEAST_CHANCE
        cost.break_even:EVEN_PERCENT cost.display:DIGITS cost.exchange_rates:DIGITS curves:GRID
        how_long:CHART_POINTS optimizer_curves:GRID scaling_runs:BATCHES steadiness:SHOWN
        trials:_WIDE trials:_POINTS curve_answers:MOST_REFUSED transfer.ladder:NEAREST
        transfer.library:NAMED
        transfer.sentences:NAMED""",
    "numerics": """
        mfu.fit:ROUNDS mfu.fit:MANY mfu.model:TAIL_VARIANCE mfu.questions:LEAST_STEP_S
        mfu.questions:REFERENCE_OPERATIONS mfu.questions:USUAL_INTENSITY
        cost.draws:DRAWS cost.draws:SEED cost.own:STRAIGHT cost.rent:SAME
        line_intervals:PARAMETERS
        lines:ROUNDING curves:ROUNDING_OF_A_FIT lines:_BLOCK
        resolution:UNSEEN neighbours:SWEEPS neighbours:SETTLED
        nonnegative:ROUNDING nonnegative:VISIBLE nonnegative:DUST nonnegative:STEPS
        optimizer_curves:_NOT_STATED rivals:LEAST scaling_law:_LEAST_S scaling_law:_MOST_S
        scaling_terms:LINK_TERMS""",
    "printed by a source": """
        compare.description:RESNET_50_FLOPS reference_benchmarks:_COCO reference_benchmarks:_CRITEO
        effect_work:VALIDATED_AT_ONCE
        effect_work:TO_VALIDATE effect_work:FASTER_PER_EPOCH effect_work:FASTER_PER_IMAGE""",
    "how published rows are cleaned, described in docs/decisions/0033": """
        published.configurations:UPPER_FIFTH published.configurations:LAYOUTS
        published.configurations:MOST_SHARE published.configurations:MODEL_SHARE
        published.configurations:NODE published.configurations:HOUR_S
        published.named_workloads:TRAIN_OVER_FORWARD
        published.named_workloads:FULL_PER_PARAMETER
        published.named_workloads:LORA_PER_PARAMETER published.named_workloads:ATTENTION
        published.named_workloads:IMAGENET published.named_workloads:COCO
        published.named_workloads:OPEN_IMAGES published.runs:DIGITS published.runs:GB
        published.runs:ROUGHLY_COUNTED""",
    "another name of answers.TWICE": "throughput:FAR",
}
"""Why a number stands in no table of constants, and which do not."""


def numbers_of_the_code() -> Iterator[str]:
    """Every number that a module of the planner names `Final`, as `module:NAME`."""
    for path in sorted((ROOT / "planner").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts[1] in ROOMS_WITHOUT or parts[-1] == "__main__":
            continue
        module = import_module(".".join(parts).removesuffix(".__init__"))
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.AnnAssign) and "Final" in ast.unparse(node.annotation):
                name = ast.unparse(node.target)
                value = getattr(module, name)
                if isinstance(value, int | float) and not isinstance(value, bool):
                    yield f"{module.__name__.removeprefix('planner.')}:{name}"


def test_every_number_of_the_code_is_in_the_table_or_is_no_judgement() -> None:
    told = {c.name.removeprefix("planner.") for c in CONSTANTS}
    excused = {name for names in NO_JUDGEMENT.values() for name in names.split()}
    found = set(numbers_of_the_code())
    assert found - told - excused == set(), "put them into planner/backtest/constants_table.py"
    assert excused & told == set()
    assert excused - found == set(), "these are no numbers of the code any more"
