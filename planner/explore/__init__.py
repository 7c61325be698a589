"""Any number of the runs against any other: points, pivot tables, and runs side by side.

`with_derived` adds the columns that follow from others to a table of runs. `points_of` reads the
points of a chart, `fits_of` the product's law through them, `pivot_of` a pivot table, `facts_of`
what two to six runs differ in. `formula_of` checks formulas over columns.
"""

from planner.explore.columns import (
    CATEGORIES,
    NUMBERS,
    Category,
    Column,
    category_of,
    lowest_offer,
    numbers_of,
    with_derived,
)
from planner.explore.formulas import FUNCTIONS, Formula, FormulaError, formula_of
from planner.explore.laws import Fits, Fitted, fits_of, has_law
from planner.explore.pivot import COUNT, STATISTIC_WORDS, STATISTICS, Pivot, pivot_of
from planner.explore.points import (
    CASE,
    GROUPED,
    MARKS,
    OTHERS,
    Measure,
    Points,
    Question,
    check,
    chosen_runs,
    columns_of,
    inside,
    is_grouped,
    limited,
    measure_of,
    points_of,
    problem_of,
    stated_counts,
    usual_workload,
)
from planner.explore.presets import PRESETS, Preset, without_values
from planner.explore.side_by_side import (
    LEAST,
    MOST,
    SAME,
    Fact,
    facts_of,
    pair_facts,
    provenance_of,
    text_of_cell,
)

__all__ = [
    "CASE",
    "CATEGORIES",
    "COUNT",
    "FUNCTIONS",
    "GROUPED",
    "LEAST",
    "MARKS",
    "MOST",
    "NUMBERS",
    "OTHERS",
    "PRESETS",
    "SAME",
    "STATISTICS",
    "STATISTIC_WORDS",
    "Category",
    "Column",
    "Fact",
    "Fits",
    "Fitted",
    "Formula",
    "FormulaError",
    "Measure",
    "Pivot",
    "Points",
    "Preset",
    "Question",
    "category_of",
    "check",
    "chosen_runs",
    "columns_of",
    "facts_of",
    "fits_of",
    "formula_of",
    "has_law",
    "inside",
    "is_grouped",
    "limited",
    "lowest_offer",
    "measure_of",
    "numbers_of",
    "pair_facts",
    "pivot_of",
    "points_of",
    "problem_of",
    "provenance_of",
    "stated_counts",
    "text_of_cell",
    "usual_workload",
    "with_derived",
    "without_values",
]
