"""`python -m planner how-long|compare|curve|scaling-out|capacity|explore`: answers of the pages.

`python -m planner report --out FILE.pdf`: a comparison of hardware to hand out.
`python -m planner sql "SELECT ..."`: a read-only query of the runs.
`python -m planner import SOURCE PATH --set NAME`: bring in what other programs measured.
`python -m planner token create NAME --set SLUG`: a token for `python -m runners push`.
`python -m planner set visibility SLUG --group TEAM`: who sees a set; share links; `audit`: the log.
`python -m planner export SET --out FILE.zip`: a result set as one file to send.
`python -m planner docs NAME`: print a page of the documentation that is made from the code.
`python -m planner mfu [DIR]`: fit the efficiency of described workloads on published tables.
`python -m planner backtest [DIR]`: measure how wrong the product is on what was hidden from it.
"""

import argparse
import os
import sys
from typing import Final

from planner.answers import PAGES
from planner.core import printable, program
from planner.store import LimitError
from planner.store.disk.bucket import BucketError

PIPE_CLOSED: Final = 141
"""What a shell says of a program whose reader went away: 128 + SIGPIPE."""
QUESTIONS: Final = {
    "how-long": "what N epochs take on each system",
    "compare": "which hardware, rented or bought: time, money and how sure",
    "curve": "throughput against batch size",
    "scaling-out": "whether more devices pay: step, efficiency, crossover batch, uneven workers",
    "capacity": "the machines for a month of jobs: cheapest fleet, waiting times, cost",
    "explore": "any number of the runs against any other: points, pivot table, side by side",
    "sql": "a SELECT statement over the runs, read-only",
    "report": "a comparison as an HTML or PDF file to hand out",
}
NAMES: Final = {
    **QUESTIONS,
    "docs": "print docs/NAME.md",
    "import": "results of other programs as a result set",
    "backtest": "how wrong on what was hidden: docs/accuracy.md",
    "export": "a result set as one file to send",
    "token": "tokens of programs that push runs to this server",
    "set": "who sees a result set, and links that share one",
    "audit": "who changed what, when",
    "mfu": "fit the efficiency of described workloads",
}
"""All commands, with what each is for."""


def main(arguments: list[str]) -> int:
    """Run one command; return 0 for success, 1 for missing data, 2 for invalid arguments."""
    command = next(iter(arguments), "")
    parser = _parser(command)
    if command in QUESTIONS:
        return _answer(*parser.parse_known_args(arguments))
    options = parser.parse_args(arguments)
    if options.command == "docs":
        sys.stdout.write(PAGES[options.name]())
        return 0
    if options.command in _DATA:
        return _move(options)
    if options.command == "mfu":
        from backtest.commands.published import run_mfu

        return run_mfu(options)
    from backtest.commands.backtest import run_backtest

    return run_backtest(options)


_DATA: Final = ("import", "export", "token", "set", "audit")
"""Commands that bring in or hand out runs, or decide who may."""


def _move(options: argparse.Namespace) -> int:
    from planner.commands.access import run_audit, run_set, run_token
    from planner.commands.import_ import run_import
    from planner.commands.runs import run_export

    run = {
        "import": run_import,
        "export": run_export,
        "token": run_token,
        "set": run_set,
        "audit": run_audit,
    }[options.command]
    return run(options)


def _parser(command: str) -> argparse.ArgumentParser:
    """Return the parser of all commands; only `command` gets its options."""
    parser = argparse.ArgumentParser(prog=program("planner"), description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in QUESTIONS.items():
        question = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
        if name == command:
            _add_question(question, name)
    docs = commands.add_parser("docs", help=NAMES["docs"])
    docs.add_argument("name", choices=sorted(PAGES))
    bring = commands.add_parser("import", help=NAMES["import"])
    if command == "import":
        from planner.commands import import_

        import_.add_arguments(bring)
    token = commands.add_parser("token", help=NAMES["token"])
    if command == "token":
        from planner.commands import access

        access.add_token(token)
    sets = commands.add_parser("set", help=NAMES["set"])
    log = commands.add_parser("audit", help=NAMES["audit"])
    if command in ("set", "audit"):
        from planner.commands import access

        access.add_arguments(sets)
        access.add_audit(log)
    send = commands.add_parser("export", help=NAMES["export"])
    if command == "export":
        from planner.commands import runs

        runs.add_export(send)
    back = commands.add_parser("backtest", help=NAMES["backtest"])
    if command == "backtest":
        from backtest.commands import backtest

        backtest.add_arguments(back)
    fit = commands.add_parser("mfu", help=NAMES["mfu"])
    if command == "mfu":
        from backtest.commands import published

        published.add_arguments(fit)
    return parser


def _add_question(parser: argparse.ArgumentParser, name: str) -> None:
    from planner.answers import parameters
    from planner.answers.comparison import COMPARE
    from planner.commands import capacity, report, runs, words

    words.add_common(parser)
    if name == "report":
        report.add_arguments(parser)
    elif name == "sql":
        runs.add_sql(parser)
    else:
        parser.add_argument("--json", action="store_true", help="print the whole answer as JSON")
        further = {"compare": ("options", "accelerators", "networks"), "explore": ("columns",),
                   "capacity": ("presets",)}  # fmt: skip
        alone = name in ("explore", "capacity")
        lists = further[name] if alone else ("workloads", *further.get(name, ()))
        parser.add_argument("--list", choices=lists, help="list available values and exit")
    if name == "capacity":
        capacity.add_arguments(parser)
    if name == "explore":
        parser.add_argument("--csv", action="store_true", help="print the rows as CSV")
    if name in ("report", "compare"):
        parser.add_argument(
            "--anyway",
            action="store_true",
            help="answer what is left of a question that no longer fits the data",
        )
    tables = {
        "how-long": parameters.HOW_LONG,
        "curve": parameters.CURVE,
        "scaling-out": parameters.SCALING_OUT,
        "capacity": parameters.CAPACITY,
        "explore": parameters.EXPLORE,
        "sql": parameters.SQL,
    }
    words.add_parameters(parser, tables.get(name, COMPARE))


def _answer(options: argparse.Namespace, left: list[str]) -> int:
    """Answer a question; unknown arguments (`left`) are reported with all other problems."""
    from planner.commands import ask, capacity, report, runs, scaling_out, words

    run = {
        "how-long": ask.run_how_long,
        "curve": ask.run_curve,
        "scaling-out": scaling_out.run_scaling_out,
        "compare": ask.run_compare,
        "capacity": capacity.run_capacity,
        "explore": runs.run_explore,
        "sql": runs.run_sql,
        "report": report.run_report,
    }[options.command]
    options.strange = words.strange_options(left, options)
    try:
        if wrong := words.missing_folders(options):
            words.refuse((*options.strange, *wrong))
        return run(options)
    except words.WrongWordsError as error:
        more = (f"- {p}" for p in options.strange if str(p) not in str(error))
        words.note("\n".join([str(error), *more]))
        return words.WRONG_WORDS
    except (words.NoAnswerError, LimitError) as error:
        words.note(str(error))
        return words.REFUSED


def run(arguments: list[str]) -> int:
    """Run `main`; a reader that stops early (`| head`) is no error."""
    try:
        code = main(arguments)
        sys.stdout.flush()
    except BucketError as error:
        sys.stderr.write(f"{printable(str(error))}\n")
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing left to flush
        return PIPE_CLOSED
    return code


if __name__ == "__main__":
    raise SystemExit(run(sys.argv[1:]))
