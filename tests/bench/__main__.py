"""All benches, or those named, one after the other: `python -m tests.bench`, which is `make bench`.

Each prints its figures and replaces its own part of docs/figures.md; README's table follows.
"""

from __future__ import annotations

import sys

from tests import figures_page

PARTS = (
    "store",
    "small_files",
    "fits",
    "money",
    "capacity",
    "pages",
    "explore",
    "many_runs",
    "millions",
    "sweep",
    "engines",
)

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        if code := figures_page.run(f"make bench {part}", f"tests.bench.{part}"):
            raise SystemExit(code)
