"""What every test starts from: nobody's own result folders, sweeps or settings."""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest

from planner.store.disk.folders import FURTHER, OWN, SHIPPED
from planner.store.disk.sweeps import STATE
from tests.fork_server import SHARED

ROOT = Path(__file__).resolve().parent.parent
SLOWEST = (
    "browser/test_measure.py", "runners/test_strategies.py", "runners/cluster/test_ray.py",
    "runners/test_converge_child.py", "runners/launch/test_ray.py", "runners/test_inference.py",
    "pages/measure/test_measure.py", "faults/test_kills_in_a_run.py",
    "runners/test_workloads.py", "runners/test_flops.py", "runners/launch/test_namespaces.py",
    "runners/test_real.py", "faults/test_odd_files.py", "runners/commands/test_cli.py",
    "runners/launch/test_command.py", "runners/launch/test_slurm.py",
    "faults/test_answers_under_load.py", "runners/test_jax.py", "faults/test_runner_kills.py",
    "runners/test_describe.py", "runners/test_late_device.py",
    "runners/process/test_supervise.py", "runners/launch/test_spark.py",
    "store/test_extremes.py", "store/test_hostile.py", "backtest/questions/test_result_data.py",
    "planner/answers/test_ratio_tables.py", "data/test_shipped.py",
    "planner/store/sealed/test_commit.py", "planner/store/sealed/test_compact.py",
    "store/test_full_disk.py", "store/test_costs.py",
)  # fmt: skip
"""Files of minutes. They come first, so that no worker is left alone with one at the end."""


SLOW_FOLDERS = ("browser", "faults", "load", "pages")
SLOW_FILES = (
    *SLOWEST, "runners/test_feeds.py", "runners/test_lean.py", "runners/test_datasets.py",
    "runners/test_queue.py", "runners/sweep/test_sweep.py", "store/test_twelve_thousand.py",
    "store/test_library_answers.py", "store/test_reader.py", "store/test_cli.py",
    "planner/answers/test_asking.py", "api/test_server.py", "api/test_same_numbers.py",
    "test_command_line.py", "test_readme.py",
)  # fmt: skip
"""What `make check` leaves to `make test`."""


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what `make check` leaves out."""
    place = item.path.relative_to(ROOT / "tests")
    if place.parts[0] in SLOW_FOLDERS or place.as_posix() in SLOW_FILES:
        item.add_marker("slow")


@pytest.hookimpl(trylast=True)  # after the shuffle: all else stays in its order
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the slowest files."""

    def rank(item: pytest.Item) -> int:
        places = (i for i, name in enumerate(SLOWEST) if str(item.path).endswith(name))
        return next(places, len(SLOWEST))

    items.sort(key=rank)


def pytest_configure() -> None:
    """What every process of the tests inherits; under nohup or `&` a shell ignores signals."""
    if SHIPPED not in os.environ:
        os.environ[SHIPPED] = str(_measured_sets())
    if SHARED not in os.environ:
        os.environ[SHARED] = str(_temporary("epochwise-fork-"))
    gc.disable()  # until all tests are collected
    # No test asks how fast JAX is; its compiler takes half of what they take of it.
    os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
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
