"""`python -m planner how-long|compare|curve`: what the pages answer, in a terminal or as JSON.

`python -m planner report --out FILE.pdf`: a comparison of hardware to hand out.
`python -m planner docs NAME`: print a page of the documentation that is made from the code.
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
QUESTIONS: Final = {
    "how-long": "what N epochs take on each system",
    "compare": "which hardware, rented or bought: time, money and how sure",
    "curve": "throughput against batch size",
    "report": "a comparison as an HTML or PDF file to hand out",
}


def main(arguments: list[str]) -> int:
    """Run one command; 0 where all is well, 1 where data are missing, 2 for wrong words."""
    options = _parser(next(iter(arguments), "")).parse_args(arguments)
    if options.command in QUESTIONS:
        return _asked(options)
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


def _parser(wanted: str) -> argparse.ArgumentParser:
    """All commands; of those that ask, only `wanted` needs what it asks with."""
    parser = argparse.ArgumentParser(prog="python -m planner", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, told in QUESTIONS.items():
        about = f"{told[0].upper()}{told[1:]}."
        asks = commands.add_parser(name, help=told, description=about, allow_abbrev=False)
        if name == wanted:
            _add_question(asks, name)
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


def _add_question(parser: argparse.ArgumentParser, name: str) -> None:
    """The options of a command that asks."""
    from planner import asked
    from planner.commands import report, words
    from planner.compare.parameters import COMPARE

    words.add_common(parser)
    if name == "report":
        report.add_arguments(parser)
    else:
        parser.add_argument("--json", action="store_true", help="print the whole answer as JSON")
        lists = ("workloads", "options", "accelerators") if name == "compare" else ("workloads",)
        parser.add_argument("--list", choices=lists, help="print what can be asked of, and stop")
    if name in ("report", "compare"):
        parser.add_argument(
            "--anyway",
            action="store_true",
            help="answer what is left of a question that no longer fits the data",
        )
    tables = {"how-long": asked.HOW_LONG, "curve": asked.CURVE}
    words.add_parameters(parser, tables.get(name, COMPARE))


def _asked(options: argparse.Namespace) -> int:
    from planner.commands import ask, report, words

    run = {
        "how-long": ask.run_how_long,
        "curve": ask.run_curve,
        "compare": ask.run_compare,
        "report": report.run_report,
    }[options.command]
    try:
        return run(options)
    except words.WrongWordsError as error:
        words.tell(str(error))
        return words.WRONG_WORDS
    except words.NoDataError as error:
        words.tell(str(error))
        return words.REFUSED


def _print_choices(read: Read) -> int:
    from planner.backtest.chosen import choices

    for choice in choices(read):
        sys.stdout.write(
            f"{choice.use}; left out: {choice.left_out}\n"
            f"    the others choose {choice.chosen}\n    ships             {choice.ships}\n"
        )
    return 0


def _backtest(read: Read, into: Path) -> int:
    from planner.backtest import all_rows
    from planner.backtest.chosen import choices
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
