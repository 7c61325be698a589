"""Two million runs: first load, memory, next start, a new run, and every page.

`python -m tests.bench.millions` makes the runs (`tests.bench.made_up`) in a temporary folder;
`python -m tests.bench.millions 10000000` makes so many. Each part is a process of its own, so that
its peak memory is its own. Processor time counts, for the machine may be busy with other things.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from planner.store import Store, folders_from_environment, queries
from planner.store.disk.folders import OWN
from planner.store.disk.mirrors import CACHE
from tests.bench import made_up
from tests.bench.figures import figure, heading, peak_gb
from tests.shipped import ROOT
from tests.store.build import a_set, row

RUNS: Final = 2_000_000
MOST_GB: Final = 4.5
"""The usual memory for runs and queries, 4 GB, and the program [GB]."""
RERUN_MS: Final = 20.0


def _opened() -> Store:
    store = Store(folders_from_environment(ROOT, dict(os.environ)))
    store.refresh()
    return store


def _busy_s(work: Callable[[], object]) -> float:
    """Return the processor time of some work, on all cores [s]."""
    began = time.process_time()
    work()
    return time.process_time() - began


def load(root: Path) -> None:
    """The first start: every file is verified, and the summary file is made."""
    began = time.perf_counter()
    figure("first load, processor time", _busy_s(_opened), "s")
    figure("  wall time, beside the load above", time.perf_counter() - began, "s")
    figure("  peak memory", peak_gb(), "GB", MOST_GB)
    files = sum(p.stat().st_size for p in root.rglob("compact-*.parquet"))
    held = sum(p.stat().st_size for p in Path(os.environ[CACHE]).rglob("*.duckdb"))
    figure("  result files", files / 1e9, "GB")
    figure("  summary file", held / 1e9, "GB")


def again(root: Path) -> None:
    """The next start, then a new run, and the questions that no total answers."""
    kept: list[Store] = []
    figure("next start, processor time", _busy_s(lambda: kept.append(_opened())), "s", 20)
    store = kept[0]
    assert store.in_file
    figure("  peak memory", peak_gb(), "GB", MOST_GB)
    figure("  runs", queries.totals(store).runs, "runs")
    a_set(root, [row(model="New", repeat=os.getpid(), step_s=0.5, result_set="new")], slug="new")
    figure("a new run is taken in", _busy_s(store.refresh), "s")
    name = next(iter(queries.workloads(store)))
    wide, narrow = {"status": ["ok"]}, {"workload": [name], "status": ["ok"]}
    for words, filters in (("a filter that most runs pass", wide), ("a workload", narrow)):
        figure(f"options of all filters, {words}", _busy_s(
            lambda f=filters: queries.facets(store, f)), "s")  # type: ignore[misc]  # fmt: skip
        figure(f"first rows of the table, {words}", _busy_s(
            lambda f=filters: queries.listed(store, f)), "s")  # type: ignore[misc]  # fmt: skip
        figure(f"runs of Explore, {words}", _busy_s(
            lambda f=filters: queries.sampled_runs(store, f)), "s")  # type: ignore[misc]  # fmt: skip
    figure("  peak memory", peak_gb(), "GB", MOST_GB)


def pages(_: Path) -> None:
    """Every page: its first view after the start of a server, and a rerun."""
    from streamlit.testing.v1 import AppTest

    from tests.bench.pages import PAGES, SHELL, script_ms

    for page in PAGES:

        def first(name: str = page) -> None:
            app = AppTest.from_file(str(SHELL), default_timeout=900).run()
            if name != "start":
                app = app.switch_page(str(SHELL.parent / f"{name}/page.py")).run()
            assert not app.exception, app.exception

        figure(f"{page}: first view, processor time", _busy_s(first), "s")
        rerun_ms = script_ms(page, time.process_time)
        figure(f"{page}: rerun, processor time (median)", rerun_ms, "ms", RERUN_MS)
    figure("  peak memory", peak_gb(), "GB", MOST_GB)


PARTS: Final = {"load": load, "again": again, "pages": pages}


def main(runs: int) -> None:
    """All parts, each in a process of its own."""
    with tempfile.TemporaryDirectory() as box:
        root = Path(box) / "results"
        heading(f"{runs:,} runs in {-(-runs // made_up.A_SET):,} sets, beside what ships")
        figure("making the runs, processor time", _busy_s(lambda: made_up.make(root, runs)), "s")
        own = {OWN: str(root), CACHE: str(Path(box) / "cache")}
        for part in PARTS:
            command = [sys.executable, "-m", "tests.bench.millions", part, str(root)]
            subprocess.run(command, check=True, cwd=ROOT, env=os.environ | own)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        PARTS[sys.argv[1]](Path(sys.argv[2]))
    else:
        main(int(sys.argv[1]) if sys.argv[1:] else RUNS)
