"""Any number of the runs against any other: points, pivot tables, and runs side by side.

`with_derived` adds the columns that follow from others to a table of runs. `points_of` reads the
points of a chart, `fits_of` the product's law through them, `pivot_of` a pivot table, `facts_of`
what two to six runs differ in. `formula_of` checks formulas over columns.
"""

from planner.explore._columns import (
    CATEGORIES,
    NUMBERS,
    Category,
    category_of,
    lowest_offer,
    titled,
    with_derived,
)
from planner.explore._formulas import FUNCTIONS, FormulaError, formula_of
from planner.explore._laws import Fits, Law, fits_of, law_of
from planner.explore._pivot import COUNT, STATISTIC_WORDS, STATISTICS, Pivot, pivot_of
from planner.explore._points import (
    GROUPED,
    MARKS,
    NOT_STATED,
    ExploreQuestion,
    Measure,
    Points,
    check,
    chosen_runs,
    group_problem,
    inside,
    is_grouped,
    marked,
    measure_of,
    points_of,
    problem_of,
    stated_counts,
    usual_workload,
)
from planner.explore._presets import PRESETS, without_values
from planner.explore._side_by_side import (
    LEAST,
    MOST,
    RUN,
    Fact,
    facts_of,
    fastest_runs,
    pair_facts,
    provenance_of,
    text_of_cell,
)
