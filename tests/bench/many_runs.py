"""Do pages stay as fast with 12,000 published runs? Reruns with them and without, taking turns.

The runs are made up (`tests.store.published`): 1,000 workloads on 70 accelerators, beside what
ships. Each side has a process of its own, which reads its results once.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from planner.store import Store, folders_from_environment
from planner.store.disk.folders import OWN
from tests.bench.figures import figure, heading
from tests.bench.pages import PAGES, script_ms
from tests.shipped import ROOT
from tests.store.published import RUNS, make

ROUNDS: Final = 3
READ: Final = "first reading [s]"


def measured() -> dict[str, float]:
    """Return this process's first reading [s] and the median rerun of each page [ms]."""
    began = time.perf_counter()
    Store(folders_from_environment(ROOT, dict(os.environ))).refresh()
    read = time.perf_counter() - began
    return {READ: read, **{page: script_ms(page) for page in PAGES}}


def _in_a_process(results: Path) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.many_runs", "--once"],
        cwd=ROOT, env={**os.environ, OWN: str(results)}, check=True, capture_output=True,
        text=True,
    )  # fmt: skip
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Print all figures."""
    with tempfile.TemporaryDirectory() as box:
        make(Path(box) / "many")
        sides: dict[str, list[dict[str, float]]] = {"none": [], "many": []}
        for _ in range(ROUNDS):
            for side, found in sides.items():
                found.append(_in_a_process(Path(box) / side))
    heading(f"Pages, {RUNS:,} published runs beside what ships")
    middle = {
        side: {name: statistics.median(one[name] for one in found) for name in found[0]}
        for side, found in sides.items()
    }
    figure("first reading", middle["many"][READ], "s")
    for page in PAGES:
        figure(f"{page}: script of a rerun (median)", middle["many"][page], "ms")
        figure("  times what ships alone takes", middle["many"][page] / middle["none"][page], "x")


if __name__ == "__main__":
    if sys.argv[1:] == ["--once"]:
        sys.stdout.write(json.dumps(measured()) + "\n")
    else:
        main()
