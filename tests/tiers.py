"""Which tests run when, by their files: at each change, before a commit, or in CI.

`make check` reads neither slow nor long files, `make test` no long ones, `make test-long` only
those. CI runs both. A single test of another file is marked `slow` or `long` itself.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Final

TESTS: Final = Path(__file__).parent
LONG_FOLDERS: Final = ("faults", "load")
LONG_FILES: Final = (
    "api/test_access.py", "api/test_busy.py", "api/test_every_route.py",
    "api/test_open_sessions.py", "api/test_push.py", "api/test_push_flood.py",
    "api/test_same_numbers.py", "api/test_server.py", "api/test_too_long.py",
    "backtest/questions/test_result_data.py", "backtest/test_backtest.py",
    "backtest/test_backtest_described.py", "backtest/test_backtest_public.py",
    "backtest/test_backtest_published.py", "backtest/test_what_if.py", "browser/test_accounts.py",
    "browser/test_back.py", "browser/test_capacity.py", "browser/test_chromium.py",
    "browser/test_compare.py", "browser/test_downloads.py", "browser/test_epoch_size.py",
    "browser/test_every_page.py", "browser/test_explore.py", "browser/test_first_page.py",
    "browser/test_foreign_pages.py", "browser/test_growing.py", "browser/test_hostile_names.py",
    "browser/test_hostile_uploads.py", "browser/test_how_long.py", "browser/test_login.py",
    "browser/test_measure.py",
    "browser/test_method.py", "browser/test_results.py", "browser/test_saved_views.py",
    "browser/test_standing.py", "browser/test_steps_to_target.py", "browser/test_suspects.py",
    "browser/test_walk.py", "pages/add_results/test_access.py", "pages/common/test_narrow.py",
    "pages/common/test_shared_links.py", "pages/common/test_workload_choice.py",
    "pages/compare/test_compare_catalog.py", "pages/compare/test_compare_deadline.py",
    "pages/compare/test_compare_described.py", "pages/compare/test_compare_picker.py",
    "pages/compare/test_compare_report.py", "pages/compare/test_compare_saved.py",
    "pages/compare/test_compare_states.py", "pages/explore/test_views.py",
    "pages/measure/test_measure.py", "pages/results/test_many_results.py",
    "pages/steps_to_target/test_device_count.py", "pages/steps_to_target/test_steps_to_target.py",
    "pages/test_access.py", "pages/test_any_columns.py", "pages/test_echo.py",
    "pages/test_epoch_size.py", "pages/test_headlines.py", "pages/test_leaks.py",
    "pages/test_library.py", "pages/test_links_for_good.py", "pages/test_many_runs.py",
    "pages/test_new_runs.py", "pages/test_standing.py", "pages/test_stores.py",
    "pages/test_suspects.py", "pages/test_text_alternatives.py", "pages/test_whole_query.py",
    "pages/test_writes.py", "planner/answers/test_library_answers.py",
    "planner/answers/test_no_start.py",
    "planner/answers/test_ratio_tables.py", "planner/capacity/test_queue.py",
    "planner/fits/test_coverage.py", "planner/importers/test_published_sources.py",
    "planner/importers/test_untrusted.py", "planner/job/test_stated_public.py",
    "planner/scaling/test_own_public.py", "planner/scaling/test_scaling_public.py",
    "planner/store/disk/test_access.py", "planner/store/disk/test_bucket.py",
    "planner/store/disk/test_team_in_a_bucket.py", "planner/store/sealed/test_compact.py",
    "planner/store/sealed/test_costs.py", "planner/store/sealed/test_full_disk.py",
    "planner/store/sealed/test_hostile.py", "planner/store/sealed/test_rotten.py",
    "planner/store/select/test_select.py", "planner/store/test_cli.py",
    "planner/store/test_exchange.py", "planner/store/test_moments.py",
    "planner/store/test_reader.py", "planner/store/test_refused.py",
    "planner/store/test_runs_file.py", "planner/store/test_twelve_thousand.py",
    "planner/store/test_verify.py", "planner/store/test_walls.py",
    "planner/suspects/test_extremes.py", "planner/transfer/test_transfer_public.py",
    "runners/child/engines/test_inference.py", "runners/child/engines/test_jax.py",
    "runners/child/engines/test_shares.py", "runners/child/engines/test_strategies.py",
    "runners/child/forms/test_flops.py", "runners/child/samples/test_datasets.py",
    "runners/child/samples/test_feeds.py", "runners/child/test_describe.py",
    "runners/child/test_late_device.py", "runners/child/test_lean.py",
    "runners/child/test_straggler.py", "runners/cluster/test_ray.py",
    "runners/commands/test_cli.py", "runners/converge/test_converge_child.py",
    "runners/converge/test_converge_groups.py", "runners/launch/test_command.py",
    "runners/launch/test_namespaces.py", "runners/launch/test_ray.py",
    "runners/launch/test_slurm.py", "runners/launch/test_spark.py",
    "runners/process/test_supervise.py", "runners/sweep/test_queue.py",
    "runners/workloads/test_workloads.py", "test_command_line.py", "test_deploy.py",
    "test_fork_server.py", "test_installed.py", "test_readme.py",
)  # fmt: skip
"""Campaigns, walks through the app, trainings of every kind, public data, clusters and buckets."""
SLOW_FOLDERS: Final = ("browser", "pages")
SLOW_FILES: Final = (
    "api/test_guard.py", "api/test_openapi.py", "api/test_routes.py", "api/test_start_left_out.py",
    "api/test_streamlit.py", "backtest/test_backtest_memory.py", "backtest/test_check_cluster.py",
    "data/test_measured.py", "data/test_shipped.py", "golden/test_golden.py",
    "planner/answers/runs/test_scatter.py", "planner/answers/test_asking.py",
    "planner/answers/test_batches.py", "planner/answers/test_comparing.py",
    "planner/answers/test_stated_targets.py", "planner/apart/test_walls.py",
    "planner/capacity/test_plan.py", "planner/capacity/test_properties.py",
    "planner/compare/test_timed_step.py", "planner/networks/test_table.py",
    "planner/published/test_configurations.py", "planner/record/test_epoch_times.py",
    "planner/report/test_compare_report.py", "planner/scaling/test_own.py",
    "planner/scaling/test_scaling_count.py", "planner/scaling/test_scaling_law.py",
    "planner/scaling_out/test_scaling_out.py", "planner/store/disk/test_sweeps.py",
    "planner/store/disk/test_views.py", "planner/store/sealed/test_commit.py",
    "planner/store/sealed/test_golden.py", "planner/store/test_export.py",
    "planner/store/test_queries.py", "planner/store/test_source.py",
    "planner/suspects/test_suspects_public.py", "planner/time_to_target/test_goodput.py",
    "runners/commands/test_push.py", "runners/launch/test_local.py",
    "runners/machine/test_identity.py", "runners/plan/test_spec.py",
    "runners/sweep/test_max_batch.py", "runners/sweep/test_real.py", "runners/sweep/test_sweep.py",
    "test_example.py",
)  # fmt: skip
"""What a loop of 90 s has no time for."""
SLOWEST: Final = (
    "browser/test_walk.py", "runners/child/engines/test_strategies.py",
    "planner/store/test_runs_file.py", "browser/test_measure.py", "golden/test_golden.py",
    "browser/test_compare.py", "runners/converge/test_converge_child.py",
    "browser/test_steps_to_target.py", "runners/cluster/test_ray.py", "browser/test_how_long.py",
    "runners/commands/test_cli.py", "browser/test_every_page.py",
    "runners/child/engines/test_inference.py", "pages/test_stores.py", "test_command_line.py",
    "browser/test_explore.py", "test_readme.py", "browser/test_growing.py",
    "runners/workloads/test_workloads.py", "browser/test_hostile_names.py", "test_installed.py",
    "pages/measure/test_measure.py", "api/test_every_route.py", "browser/test_hostile_uploads.py",
    "runners/child/test_describe.py", "browser/test_downloads.py",
    "runners/process/test_supervise.py", "pages/test_echo.py", "pages/test_standing.py",
    "planner/store/test_queries.py",
    "browser/test_saved_views.py", "runners/child/forms/test_flops.py", "browser/test_results.py",
    "runners/launch/test_command.py", "browser/test_epoch_size.py", "faults/test_questions.py",
    "browser/test_back.py", "runners/sweep/test_sweep.py",
    "pages/steps_to_target/test_steps_to_target.py", "planner/store/test_reader.py",
    "pages/test_links_for_good.py", "planner/store/sealed/test_costs.py", "browser/test_method.py",
    "runners/child/test_late_device.py", "browser/test_capacity.py",
    "runners/child/test_straggler.py", "pages/compare/test_compare.py",
    "planner/store/sealed/test_hostile.py", "pages/test_epoch_size.py",
    "planner/store/sealed/test_compact.py", "pages/test_leaks.py",
    "backtest/test_backtest_public.py", "pages/test_writes.py", "planner/store/disk/test_bucket.py",
    "faults/test_answers_under_load.py", "backtest/questions/test_result_data.py",
)  # fmt: skip
"""Files of more than 7 s of processor time, the longest first.

They begin in this order, so that the workers end together.
"""


def marks(path: Path) -> tuple[str, ...]:
    """Return the marks of all tests of a file."""
    place = path.relative_to(TESTS)
    name, folder = place.as_posix(), place.parts[0]
    if folder in LONG_FOLDERS or name in LONG_FILES:
        return ("slow", "long")
    return ("slow",) if folder in SLOW_FOLDERS or name in SLOW_FILES else ()


@functools.cache
def is_left_out(path: Path, expression: str) -> bool:
    """Return whether no test of a file is among those of `pytest -m EXPRESSION`."""
    if expression in ("not slow", "not long"):
        return expression.removeprefix("not ") in marks(path)
    return (
        expression == "long" and "long" not in marks(path) and b"mark.long" not in path.read_bytes()
    )
