"""What `make sweep` takes: the sweep `quick`, started as a person starts it.

The load average is the one at its end: of the machine with the sweep on it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from planner.store.summaries import summaries
from tests.bench.figures import figure, heading, timed
from tests.shipped import ROOT

TARGET_S = 180.0
"""What a person waits for a first look at a machine [s]."""


def main() -> None:
    """Print the figures.

    Raises:
        RuntimeError: a run of the sweep did not end well.
    """
    with tempfile.TemporaryDirectory() as place:
        took_s, code = timed(lambda: _swept(Path(place)))
        ends = [row["status"] for row in summaries(Path(place) / "results" / "quick")]
    if code or set(ends) != {"ok"}:
        raise RuntimeError(f"exit {code}, runs {ends}. Run `make sweep` and read what it prints.")
    heading("`make sweep`")
    figure("the whole sweep", took_s, "s", TARGET_S)
    figure("its runs", len(ends), "runs")


def _swept(place: Path) -> int:
    return subprocess.run(
        [sys.executable, "-m", "runners", "run", "quick", "--yes", "--results",
         str(place / "results"), "--name", "quick"],
        cwd=ROOT, env={**os.environ, "EPOCHWISE_STATE": str(place / "state")},
        stdout=subprocess.DEVNULL,
    ).returncode  # fmt: skip


if __name__ == "__main__":
    main()
