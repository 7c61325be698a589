"""`python -m runners` as it is, except that its shipped sweeps are the short ones in `sweeps/`."""

import os
import sys
from pathlib import Path
from typing import Final

from runners.commands import cli
from runners.plan import spec

SWEEPS: Final = Path(__file__).parent / "sweeps"

if __name__ == "__main__":
    spec.SWEEPS = SWEEPS  # type: ignore[misc]  # planning, running and resuming look here
    words, warm = sys.argv[1:], os.environ.get("SHORT_TENSORFLOW")
    if warm and words[0] in {"plan", "run", "resume"}:
        words += ["--python", f"tensorflow={warm}"]
    sys.exit(cli.main(words))
