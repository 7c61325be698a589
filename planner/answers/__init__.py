"""Answers to questions from pages, HTTP interface and command line.

`parameters` and `comparison._parameters` are the tables of parameters. `_asking` answers from the
store, as records too; `_door` is `planner.compare(...)`; `_tables` has the rows of How long? and
Throughput, `_scaling_tables` those of Scaling out. Also here: documented refusals, and the origin
of requests.
"""

from planner.answers._asking import (
    NO_RUN,
    CompareAnswer,
    compare_answered,
    compare_facts,
    curve_answered,
    curves,
    hardware_comparison,
    how_long_answered,
    projection,
    target_note,
)
from planner.answers._capacity import (
    CapacityQuestion,
    capacity_answered,
    capacity_plan,
    capacity_prepared,
    capacity_question,
)
from planner.answers._documented import PAGES, RULES_BY_SUBJECT
from planner.answers._door import compare
from planner.answers._explore import (
    ExploreAnswer,
    PivotAnswer,
    explore_answered,
    explore_runs,
    explored,
)
from planner.answers._listing import (
    RUN_COLUMNS,
    SqlAnswer,
    facet_names,
    mfu_shares,
    results_answered,
    sql_answered,
    sql_records,
    sql_result,
)
from planner.answers._presets import PRESETS, Preset, PresetAnswer, preset_answer
from planner.answers._scaling_out import (
    NO_DRIVER,
    ScalingOutAnswer,
    scaling_out,
    scaling_out_answered,
    scaling_out_workloads,
    series_by_slug,
    usual_driver,
)
from planner.answers._scaling_tables import (
    count_rows,
    crossover_rows,
    cut_rows,
    profiled_rows,
    total_rows,
    worker_rows,
)
from planner.answers._tables import (
    answer_rows,
    answer_sentences,
    batch_rows,
    curve_sources,
    epochs_rows,
    half_width,
    ratio_rows,
    run_sources,
    source_cells,
    total_in_words,
)
from planner.answers.comparison import facts, question, saved
from planner.answers.records import plain
from planner.core.origins import ANOTHER_ACCOUNT, host_of, is_forwarded, is_loopback, is_own
