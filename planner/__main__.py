"""`python -m planner docs NAME`: print a page of the documentation that is made from the code.

`python -m planner backtest [DIR]`: measure how wrong the product is on public data.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

from planner.backtest.source import Read
from planner.docs import PAGES

ROOT: Final = Path(__file__).resolve().parent.parent
DATA_SETS: Final = ROOT.parent / "shared" / "datasets"


def main(arguments: list[str]) -> int:
    """Run one command; 0 where all is well, 1 where data are missing, 2 for wrong words."""
    options = _parser().parse_args(arguments)
    if options.command == "docs":
        sys.stdout.write(PAGES[options.name]())
        return 0
    from planner.store.public_data import public_tables

    try:
        read = public_tables(options.folder)
    except FileNotFoundError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    if options.constants:
        return _print_choices(read)
    return _backtest(read, options.into)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m planner", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    docs = commands.add_parser("docs", help="print docs/NAME.md")
    docs.add_argument("name", choices=sorted(PAGES))
    back = commands.add_parser(
        "backtest", help="write docs/accuracy.md, docs/constants.md and data/accuracy.parquet"
    )
    back.add_argument("folder", nargs="?", type=Path, default=DATA_SETS, metavar="DIR",
                      help="public data sets, one folder a set (default: %(default)s)")  # fmt: skip
    back.add_argument("--constants", action="store_true",
                      help="print what other data sets would choose, and stop")  # fmt: skip
    back.add_argument("--into", type=Path, default=ROOT, metavar="DIR",
                      help="where docs/ and data/ are written (default: %(default)s)")  # fmt: skip
    return parser


def _print_choices(read: Read) -> int:
    from planner.backtest.choice import choices

    for choice in choices(read):
        sys.stdout.write(
            f"{choice.use}; left out: {choice.left_out}\n"
            f"    the others choose {choice.chosen}\n    ships             {choice.ships}\n"
        )
    return 0


def _backtest(read: Read, into: Path) -> int:
    from planner.backtest import all_rows
    from planner.backtest.choice import choices
    from planner.backtest.constants import constants_page
    from planner.backtest.tables import accuracy_page
    from planner.store.files import write_whole
    from planner.store.public_data import write_accuracy

    rows = all_rows(read)
    write_accuracy(into / "data" / "accuracy.parquet", rows)
    write_whole(into / "docs" / "accuracy.md", accuracy_page(rows))
    write_whole(into / "docs" / "constants.md", constants_page(choices(read)))
    sys.stdout.write(f"{len(rows)} figures: docs/accuracy.md, docs/constants.md and "
                     f"data/accuracy.parquet in {into}\n")  # fmt: skip
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
