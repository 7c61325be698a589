"""What every test starts from: no result folders, sweeps or settings of a user."""

from __future__ import annotations

import atexit
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
from tests import figures_page, tiers
from tests.faults import outcomes
from tests.fork_server import SHARED

ROOT = Path(__file__).resolve().parent.parent


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Read no file of tests that are left out: reading takes as long as many tests."""
    if collection_path.suffix != ".py":
        return None
    return tiers.is_left_out(collection_path, config.option.markexpr) or None


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what `make check` and `make test` leave out."""
    for mark in tiers.marks(item.path):
        item.add_marker(mark)


@pytest.hookimpl(trylast=True)  # after the shuffle: all else stays in its order
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the slowest files."""
    place = {tiers.TESTS / name: rank for rank, name in enumerate(tiers.SLOWEST)}
    items.sort(key=lambda item: place.get(item.path, len(place)))


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
