"""Measure sweeps from the command line: `python -m runners plan|run|resume|status ... SPEC`."""

import sys

from runners.commands.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
