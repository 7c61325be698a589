"""The page of constants tells the values of the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Final

import pytest

from backtest.choose.constants import CONSTANTS
from tests.each import each
from tests.trees import tree

ROOT: Final = Path(__file__).parent.parent
PAGE: Final = (ROOT / "docs" / "constants.md").read_text(encoding="utf-8")
VALUES: Final = dict(re.findall(r"^\| `planner\.([\w.]+)` \| ([^ ]+) \|", PAGE, re.MULTILINE))


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


@each("name", sorted(VALUES))
def test_every_value_on_the_page_is_that_of_the_code(name: str) -> None:
    assert float(VALUES[name]) == pytest.approx(value_of(name), rel=1e-3)


def test_every_constant_of_the_table_is_on_the_page() -> None:
    names = {c.name.replace(":", ".").removeprefix("planner.") for c in CONSTANTS}
    assert set(VALUES) == names
    assert len(names) == len(CONSTANTS)


@each("constant", CONSTANTS)
def test_every_constant_says_unit_meaning_data_and_what_chose_it(constant: object) -> None:
    for field in ("unit", "meaning", "data", "command"):
        assert str(getattr(constant, field)).strip()


def test_what_ships_is_reported_beside_what_would_be_chosen() -> None:
    assert PAGE.count("| samples to target |") == 4
    assert PAGE.count("| step times |") >= 6


# -- none is forgotten ---------------------------------------------------------------------------

ROOMS_WITHOUT: Final = {"store", "figures", "report", "commands", "backtest"}
"""Disks, drawings, words and the back-test's own questions: sizes and limits of time, no judgement
on data."""
NO_JUDGEMENT: Final[dict[str, str]] = {
    "a unit": """
        explore._columns:MILLION
        answers._scaling_out:GIGABIT scaling_out._answer:BYTES splits._splits:HALF_BYTES
        splits._splits:FULL_BYTES
        compare.rent_or_buy:MONTHS cost._own:WATTS_PER_KILOWATT
        cost.payback:MONTHS_PER_YEAR cost._records:HOURS_PER_YEAR
        cost._records:HOURS_PER_MONTH core._durations:DAY_S
        core._durations:HOUR_S core._numbers:GIGA core._durations:YEAR_S
        epochs.steadiness:NORMAL cost._costs:NORMAL
        capacity._spend:MONTHS_PER_YEAR
        runs._schema:SCHEMA_VERSION""",
    "how much is read, kept or offered": """
        answers._asking:MOST_NAMED answers.comparison.saved:MOST_BYTES
        answers.comparison.question:ENOUGH job._times:MOST_NAMED
        answers.comparison.saved:MOST_FILES answers.comparison.saved:MOST_NAME
        answers.comparison.saved:MOST_ROWS answers.comparison.saved:MOST_RUNS
        answers.comparison.saved:MOST_VALUES answers.comparison.saved:_LONGEST
        catalog.live_offers:MAX_PRICE_USD_PER_HOUR core.parameters:LEAST_BEGUN
        published.configurations:MOST_ALIKE time_to_target._reference:_MOST_BYTES
        answers.parameters:MOST_BESIDE answers.parameters:MOST_BATCHES
        answers.parameters:MOST_BATCHES_SHOWN answers.parameters:MOST_COUNTS
        scaling_out._answer:MOST_BATCHES scaling_out._answer:USUAL_BATCH
        splits._splits:USUAL_BATCH
        time_to_target._families:MOST_FAMILIES time_to_target._families:_MOST_NAMED
        answers.parameters:MOST_CORNERS answers.parameters:MOST_RUNS_SHOWN
        explore._formulas:LONGEST explore._formulas:MOST_BRACKETS explore._formulas:MOST_PARTS
        explore._formulas:LARGEST_EXPONENT explore._formulas:LARGEST explore._pivot:MOST_ROWS
        explore._pivot:MOST_COLUMNS explore._laws:MOST_CURVES explore._laws:LEAST_PLACES
        explore._points:MOST_POINTS explore._points:MOST_DRAWN
        explore._points:MOST_ON_LINES explore._points:CELLS
        explore._points:MOST_COLOURS explore._points:MOST_SYMBOLS
        explore._points:MOST_PANELS explore._points:MOST_GROUPS explore._side_by_side:LEAST
        explore._side_by_side:MOST
        answers._scaling_tables:_HOURS_FROM
        answers.parameters:MOST_LISTED answers.parameters:LISTED answers.parameters:SHARE_DAYS
        catalog._combine:MAX_TEXT transfer._library:MOST_WORKLOADS
        answers.comparison.question:MOST_OPTIONS
        compare._shortlist:BEGIN_WITH compare._shortlist:HOPELESS compare._shortlist:SERVER
        compare._shortlist:PURCHASES compare._shortlist:MAKERS
        compare._candidates:CLUSTERS compare._candidates:MOST_COUNT job._memory:MOST_SHARDS
        compare._candidates:MOST_PRICE compare._candidates:MOST_PRICE_USD
        compare._candidates:MOST_RATE
        cost._records:_YEAR_S cost._records:_MOST_USD core.parameters:NEXT_TO_NOTHING
        compare._influences:MOST_BARS compare._summary:MOST answers.comparison._parameters:_LARGE
        networks._table:_FEW core._numbers:LABEL_LETTERS core._numbers:MOST_DIGITS
        answers.comparison._parameters:MOST_LAYERS
        answers.comparison._parameters:MOST_PX
        answers.comparison._parameters:MOST_WIDTH answers.comparison._parameters:_ROUNDED
        answers.comparison._parameters:MOST_HOURS epochs.how_long:MOST_NAMED
        epochs.how_long:EPOCHS epochs.how_long:MOST_EPOCHS
        runs._records:SLACK runs._records:OUTSIDE_STEPS
        core.parameters:LONGEST_VALUE core.parameters:MOST_VALUES
        core.parameters:MOST_QUERY_VALUES
        core.parameters:LONGEST_QUERY epochs.projection:COUNTABLE_EPOCHS scaling._terms:MOST
        epochs.how_long:MOST_LINES epochs.how_long:MOST_CHOSEN epochs.how_long:PREFERRED
        core.points:SMALLEST core.points:LARGEST
        answers.comparison._parameters:LONGEST_NAME
        core.limits:MAX_TEXT core.limits:MAX_ENTRIES core.limits:MAX_FILE_BYTES
        core.limits:MAX_FOOTER_BYTES
        core.limits:MAX_FILE_RUNS core.limits:MAX_ROW_GROUPS core.limits:MAX_SET_BYTES
        core.limits:MAX_SET_LINE
        core.limits:MAX_SET_KEYS core.limits:MAX_SET_DEPTH core.limits:MAX_SET_TEXT
        core.limits:MAX_SET_UNKNOWN networks._table:MOST_LETTERS
        core.limits:MAX_REASON core._guarded:LONGEST_S epochs.epoch_size:MOST_SAMPLES
        epochs.epoch_size:SAME
        epochs.epoch_size:SAME_BY_SPEED epochs.epoch_size:FAR published._rows:MOST_BYTES
        published._rows:MOST_CELL published._rows:LARGEST published._rows:MOST_WHOLE
        answers._listing:_MOST_KEPT_BYTES answers._listing:MOST_RUNS
        importers._preview:_MOST_LICENCES
        importers.formats.benchmarks.milabench:_MIB
        importers.formats.benchmarks.mlperf_logs:_MOST_EPOCHS
        importers.formats.benchmarks.koshian2:_FLOW_BATCH
        importers.formats.logs.tensorboard_events:_MOST_FIELDS
        importers.formats.logs.tensorboard_events:_MOST_RECORDS
        importers.formats.logs.step_log:MOST_LINE
        importers.formats.logs.step_log:MOST_PATTERN
        apart._process:_PAGE importers._apart:MOST_ANSWER importers._apart:START_S
        importers._apart:WAIT_S importers._apart:WALL_S importers._child:MEMORY_BYTES
        importers._child:SECONDS importers._child:_IDLE_S importers._sources:MOST_FILES
        importers._sources:MOST_FOLDER_BYTES importers.formats.source_files:MOST_BYTES
        importers.formats.source:_EXACT
        importers.formats.source_files:MOST_CHARACTERS importers.formats.source_files:MOST_COLUMNS
        importers.formats.source_files:MOST_DEPTH importers.formats.source_files:MOST_PROBLEMS
        importers.formats.source_files:MOST_ROWS importers.formats.source_files:MOST_SENTENCE
        suspects._curves:MOST scaling_out._series:MOST_COUNTS
        importers.formats.logs.template:_BATCH importers.formats.logs.template:_MOST_UNPACKED
        importers.formats.logs.tensorboard_events:MOST_BYTES
        published._rows:MOST_DEVICES published._rows:SMALLEST
        published._rows:_SHOWN published._rows:CLOSE core.slugs:_NAMES
        published._runs:LONGEST_STEP_S published.configurations:LEAST_BERT_SAMPLES
        job._job:_SAME
        capacity._records:MOST_JOBS capacity._records:MOST_STOCKS capacity._records:MOST_MACHINES
        capacity._records:MOST_ACCELERATORS answers._capacity:MOST_HARDWARE
        answers._capacity:SERVER answers._capacity:MOST_SERVERS
        answers.capacity_jobs:MOST_BYTES answers.capacity_jobs:USUAL_RUNS
        capacity._search:MOST_ROUNDS capacity._search:ROUNDS_BESIDE capacity._search:MOST_ENLARGED
        capacity._search:MOST_RENTALS capacity._search:MOST_OF_KIND capacity._search:SECONDS
        capacity._search:SETS capacity._search:FIRST_SETS capacity._search:SPARE
        capacity._search:AT_ONCE capacity._search:LEAST_RENTED capacity._search:TOGETHER
        capacity._what_if:MOST_FACTOR capacity._what_if:MOST_INPUTS
        capacity._what_if:AT_ONCE capacity._what_if:MOST_FIXES
        networks._table:_NAMES compare._assumptions:_KEPT core.slugs:_LISTS""",
    "how it is told or drawn": """
        answers.runs._suspect_runs:APART
        explore._laws:_GRID explore._laws:_BEYOND explore._points:SPREAD
        explore._side_by_side:DIGITS
        core.slugs:DIGITS core.slugs:LONGEST_FILE core.slugs:MOST_NAMED core.points:SHOWN
        core._numbers:_SIGNS
        core._durations:IN_DAYS_S
        core._durations:DIGITS answers.comparison._snapshot:DIGITS core._numbers:LEAST_DIGITS
        core._durations:IN_YEARS_S
        core._durations:ENDLESS_S core._durations:LEAST_CLOCK_S core._durations:MOST_OF_A_UNIT

        core._numbers:MOST core._durations:LEAST_OF_A_UNIT epochs.how_long:IN_WHOLE_HOURS_S
        epochs.how_long:ROUGH core._numbers:GROUPED_FROM
        compare.undecided:LONG_MINUTES
        compare.undecided:NAMED compare._sentences:_TINY
        compare._sentences:LONG_H cost.payback:CERTAIN job._memory:_COUNTABLE
        answers.comparison._snapshot:LIKELIER compare.rent_or_buy:LEAST_CHANCE
        compare.rent_or_buy:HARDLY compare.rent_or_buy:LEAST_WORK_S
        cost.break_even:EVEN_PERCENT cost._display:DIGITS cost._display:RATE_DIGITS
        throughput.curves:GRID scaling_out._courses:GRID scaling_out._courses:MOST_SLOW
        epochs.how_long:CHART_POINTS time_to_target.goodput:GRID
        time_to_target.frontier:BATCHES
        epochs.steadiness:SHOWN
        convergence._targets:_WIDE convergence._targets:_POINTS
        capacity._answer:ALIKE capacity._answer:SELDOM capacity._answer:TIMES
        capacity._search:COMPARING
        capacity._lines:STEP capacity._what_if:FACTOR_STEP
        capacity._what_if:LEAST_SWING
        answers._tables:MOST_REFUSED
        transfer._ladder:NEAREST transfer._library:NAMED
        transfer._ladder:NAMED""",
    "numerics": """
        mfu._fit:ROUNDS mfu._fit:MANY mfu._model:TAIL_VARIANCE mfu._questions:LEAST_STEP_S
        mfu._questions:USUAL_INTENSITY
        capacity._months:COLUMNS capacity._months:SCENARIOS capacity._months:SEED
        capacity._months:ENDLESS_USD capacity._months:MOST_RUNS capacity._months:WARM_UPS
        capacity._months:MOST_OF_BLOCK capacity._months:LEAST_WARM_UP_H
        capacity._months:MOST_WARM_UP_H capacity._queue:NONE
        capacity._queue:_LATE capacity._queue:_RANK capacity._queue:_CHUNK capacity._queue:_FEW
        capacity._queue:_ROUNDING capacity._search:FEW_SCENARIOS capacity._search:FEW_RUNS
        capacity._search:ROUNDS_BESIDE capacity._answer:CLOSE
        capacity._search:GAP capacity._search:CHEAPER capacity._search:_DIGITS
        capacity._months:FILLED capacity._queue:NO_RUNS
        cost._draws:DRAWS cost._draws:SEED cost._own:STRAIGHT cost._costs:SAME
        fits.lines:PARAMETERS
        fits.lines:ROUNDING throughput.curves:ROUNDING_OF_A_FIT fits.lines:_BLOCK
        convergence._targets:UNSEEN suspects.neighbours:SWEEPS suspects.neighbours:SETTLED
        fits._nonnegative:ROUNDING fits._nonnegative:VISIBLE fits._nonnegative:DUST
        fits._nonnegative:STEPS scaling.fit:_EXACT
        time_to_target.goodput:_NOT_STATED
        scaling._uneven:POINTS scaling._uneven:TAIL
        scaling_out._answer:_GRID scaling_out._answer:_AROUND
        scaling._terms:_LEAST_S scaling._terms:_MOST_S scaling._terms:LINK_TERMS""",
    "printed by a source": """
        splits._splits:ALL_REDUCES splits._splits:ENDS splits._splits:RECOMPUTED_WORK
        splits._splits:PCIE
        answers.comparison._parameters:RESNET_50_FLOPS
        effects._effect:VALIDATED_AT_ONCE
        effects._effect:TO_VALIDATE effects._effect:FASTER_PER_EPOCH
        effects._effect:FASTER_PER_IMAGE""",
    "how published rows are cleaned, described in docs/decisions/0033": """
        published.configurations:UPPER_FIFTH published.configurations:LAYOUTS
        published.configurations:MOST_SHARE published.configurations:MODEL_SHARE
        published.configurations:NODE
        published._named_workloads:TRAIN_OVER_FORWARD mfu._images:TRAIN_OVER_MULTIPLY_ADDS
        published._named_workloads:FULL_PER_PARAMETER
        published._named_workloads:LORA_PER_PARAMETER published._named_workloads:ATTENTION
        published._runs:DIGITS published._runs:GB""",
    "limits of a login, described in docs/decisions/0061": """
        people._roles:LOGIN_HOURS people._roles:_MOST_HOURS people._roles:_HOUR_S
        people._roles:_SKEW_S people._roles:_MOST_GROUPS people._roles:_MOST_LETTERS""",
    "another name of answers.TWICE": "throughput.fit:FAR",
}
"""Why a number stands in no table of constants, and which do not."""


def numbers_of_the_code() -> Iterator[str]:
    """Every number that a module of the planner names `Final`, as `module:NAME`."""
    for path in sorted((ROOT / "planner").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts[1] in ROOMS_WITHOUT or parts[-1] == "__main__":
            continue
        module = import_module(".".join(parts).removesuffix(".__init__"))
        for node in tree(path).body:
            if isinstance(node, ast.AnnAssign) and "Final" in ast.unparse(node.annotation):
                name = ast.unparse(node.target)
                value = getattr(module, name)
                if isinstance(value, int | float) and not isinstance(value, bool):
                    yield f"{module.__name__.removeprefix('planner.')}:{name}"


def test_every_number_of_the_code_is_in_the_table_or_is_no_judgement() -> None:
    result = {c.name.removeprefix("planner.") for c in CONSTANTS}
    excused = {name for names in NO_JUDGEMENT.values() for name in names.split()}
    found = set(numbers_of_the_code())
    assert found - result - excused == set(), "put them into backtest/choose/constants.csv"
    assert excused & result == set()
    assert excused - found == set(), "these are no numbers of the code any more"
