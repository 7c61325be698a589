"""All benches, one after the other: `python -m tests.bench`, which is `make bench`."""

from __future__ import annotations

import subprocess
import sys

for bench in ("store", "small_files", "fits", "money", "pages", "engines"):
    subprocess.run([sys.executable, "-m", f"tests.bench.{bench}"], check=True)
