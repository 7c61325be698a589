"""`python -m planner docs NAME`: print a page of the documentation that is made from the code."""

from __future__ import annotations

import argparse
import sys

from planner.docs import PAGES


def main(arguments: list[str]) -> int:
    """Run one command; 0 where all is well, 2 for wrong words."""
    parser = argparse.ArgumentParser(prog="python -m planner", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    docs = commands.add_parser("docs", help="print docs/NAME.md")
    docs.add_argument("name", choices=sorted(PAGES))
    options = parser.parse_args(arguments)
    sys.stdout.write(PAGES[options.name]())
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
