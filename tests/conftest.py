"""What every test starts from: no result folders, sweeps or settings of a user."""

from __future__ import annotations

import atexit
import functools
import gc
import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

from planner.store.disk.folders import FURTHER, OWN, SHIPPED
from planner.store.disk.mirrors import CACHE
from planner.store.disk.sweeps import STATE
from tests import figures_page
from tests.faults import outcomes
from tests.fork_server import SHARED

ROOT = Path(__file__).resolve().parent.parent
SLOWEST = (
    "browser/test_walk.py", "runners/test_strategies.py", "store/test_runs_file.py",
    "browser/test_measure.py", "golden/test_golden.py", "browser/test_compare.py",
    "runners/test_converge_child.py", "browser/test_steps_to_target.py",
    "runners/cluster/test_ray.py", "browser/test_how_long.py", "runners/commands/test_cli.py",
    "browser/test_every_page.py", "runners/test_inference.py", "pages/test_stores.py",
    "test_command_line.py", "browser/test_explore.py", "test_readme.py",
    "browser/test_growing.py", "runners/test_workloads.py", "browser/test_hostile_names.py",
    "test_installed.py", "pages/measure/test_measure.py", "api/test_every_route.py",
    "browser/test_hostile_uploads.py", "runners/test_describe.py", "browser/test_downloads.py",
    "runners/process/test_supervise.py", "pages/test_echo.py", "store/test_queries.py",
    "browser/test_saved_views.py", "runners/test_flops.py", "browser/test_results.py",
    "runners/launch/test_command.py", "browser/test_epoch_size.py", "faults/test_questions.py",
    "browser/test_back.py", "runners/sweep/test_sweep.py",
    "pages/steps_to_target/test_steps_to_target.py", "store/test_reader.py",
    "pages/test_links_for_good.py", "store/test_costs.py", "browser/test_method.py",
    "runners/test_late_device.py", "browser/test_capacity.py", "runners/test_straggler.py",
    "pages/compare/test_compare.py", "store/test_hostile.py", "pages/test_epoch_size.py",
    "planner/store/sealed/test_compact.py", "pages/test_leaks.py",
    "backtest/test_backtest_public.py", "pages/test_writes.py", "store/test_bucket.py",
    "faults/test_answers_under_load.py", "backtest/questions/test_result_data.py",
)  # fmt: skip
"""Files of more than 7 s of processor time, the longest first.

They begin in this order, so that the workers end together.
"""
SLOW_FOLDERS = ("browser", "faults", "load", "pages")
SLOW_FILES = (
    "api/test_access.py", "api/test_busy.py", "api/test_every_route.py", "api/test_guard.py",
    "api/test_openapi.py", "api/test_same_numbers.py", "api/test_server.py",
    "api/test_start_left_out.py", "api/test_too_long.py",
    "backtest/questions/test_result_data.py", "backtest/test_backtest.py",
    "backtest/test_backtest_published.py", "backtest/test_what_if.py", "data/test_shipped.py",
    "golden/test_golden.py", "planner/answers/test_asking.py",
    "planner/answers/test_comparing.py", "planner/answers/test_ratio_tables.py",
    "planner/answers/test_stated_targets.py", "planner/capacity/test_plan.py",
    "planner/capacity/test_queue.py", "planner/importers/test_published_sources.py",
    "planner/importers/test_untrusted.py", "planner/job/test_stated_public.py",
    "planner/record/test_epoch_times.py", "planner/scaling_out/test_scaling_out.py",
    "planner/store/sealed/test_commit.py", "planner/store/sealed/test_compact.py",
    "planner/test_coverage.py", "runners/cluster/test_ray.py", "runners/commands/test_cli.py",
    "runners/launch/test_command.py", "runners/launch/test_local.py",
    "runners/launch/test_namespaces.py", "runners/launch/test_ray.py",
    "runners/launch/test_slurm.py", "runners/launch/test_spark.py",
    "runners/process/test_supervise.py", "runners/sweep/test_sweep.py",
    "runners/test_converge_child.py", "runners/test_converge_groups.py",
    "runners/test_datasets.py", "runners/test_describe.py", "runners/test_feeds.py",
    "runners/test_flops.py", "runners/test_inference.py", "runners/test_jax.py",
    "runners/test_late_device.py", "runners/test_lean.py", "runners/test_queue.py",
    "runners/test_real.py", "runners/test_shares.py", "runners/test_straggler.py",
    "runners/test_strategies.py", "runners/test_workloads.py", "store/test_access.py",
    "store/test_batches.py", "store/test_bucket.py", "store/test_cli.py", "store/test_costs.py",
    "store/test_exchange.py", "store/test_export.py", "store/test_extremes.py",
    "store/test_full_disk.py", "store/test_golden.py", "store/test_hostile.py",
    "store/test_library_answers.py", "store/test_moments.py", "store/test_no_start.py",
    "store/test_queries.py", "store/test_reader.py", "store/test_refused.py",
    "store/test_rotten.py", "store/test_runs_file.py", "store/test_select.py",
    "store/test_source.py",
    "store/test_team_in_a_bucket.py", "store/test_twelve_thousand.py", "store/test_verify.py",
    "store/test_walls.py", "test_command_line.py", "test_deploy.py", "test_fork_server.py",
    "test_installed.py", "test_readme.py",
)  # fmt: skip
"""What `make check` leaves to `make test`."""


@functools.cache
def _is_slow(path: Path) -> bool:
    place = path.relative_to(ROOT / "tests")
    return place.parts[0] in SLOW_FOLDERS or place.as_posix() in SLOW_FILES


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Read no file that `make check` leaves out: reading takes as long as many tests."""
    if config.option.markexpr != "not slow" or collection_path.suffix != ".py":
        return None
    return True if _is_slow(collection_path) else None


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what `make check` leaves out."""
    if _is_slow(item.path):
        item.add_marker("slow")


@pytest.hookimpl(trylast=True)  # after the shuffle: all else stays in its order
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the slowest files."""
    place = {ROOT / "tests" / name: rank for rank, name in enumerate(SLOWEST)}
    items.sort(key=lambda item: place.get(item.path, len(SLOWEST)))


def pytest_configure() -> None:
    """What every process of the tests inherits; under nohup or `&` a shell ignores signals."""
    if SHIPPED not in os.environ:
        os.environ[SHIPPED] = str(_measured_sets())
    os.environ.setdefault(CACHE, str(_temporary("epochwise-cache-")))
    if SHARED not in os.environ:
        os.environ[SHARED] = str(_temporary("epochwise-fork-"))
    gc.disable()  # until all tests are collected
    # How long a drawn case takes is no promise: beside other workers it is any number.
    # Where a test names no number of cases, `make test` draws a quarter of those of `make faults`.
    settings.register_profile("epochwise", deadline=None, max_examples=100 if outcomes.FULL else 25)
    settings.load_profile("epochwise")
    # No test asks how fast JAX is; its compiler takes half of what they take of it.
    os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
    # Nor what a first compilation takes: later children read what earlier ones compiled.
    if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        os.environ["JAX_COMPILATION_CACHE_DIR"] = str(_temporary("epochwise-jax-"))
        os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
        os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_collection_finish() -> None:
    """Leave tests and modules out of later collections of garbage.

    Streamlit collects after each run of a page; among 450,000 objects that takes 0.2 s.
    """
    gc.collect()
    gc.freeze()
    gc.enable()


def _temporary(prefix: str) -> Path:
    """A folder that is gone after the tests."""
    place = Path(tempfile.mkdtemp(prefix=prefix))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return place


def _measured_sets() -> Path:
    """The shipped sets that were measured, in a folder of their own.

    Reading 8,000 published runs takes a second, and a thousand tests read the shipped results.
    Tests about published runs name `data/results`.
    """
    place = _temporary("epochwise-measured-")
    for one in sorted((ROOT / "data" / "results").iterdir()):
        if one.name.startswith("article-") or one.name.endswith("-2-core-epyc"):
            shutil.copytree(one, place / one.name)
    return place


@pytest.fixture(autouse=True)
def no_folders_of_ones_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A developer's own results and sweeps must change no test."""
    monkeypatch.delenv(OWN, raising=False)
    monkeypatch.delenv(FURTHER, raising=False)
    monkeypatch.delenv("EPOCHWISE_MEASURE", raising=False)
    monkeypatch.setenv(STATE, str(tmp_path_factory.getbasetemp() / "no-sweeps"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what the campaigns found; `make faults` writes it to docs/reliability.md and README."""
    if not outcomes.FINISHED:
        return
    terminalreporter.section("what the campaigns found")
    for line in outcomes.table(outcomes.FINISHED):
        terminalreporter.write_line(line)
    if outcomes.FULL:
        outcomes.write_figures(outcomes.FINISHED)
        figures_page.write_readme()
