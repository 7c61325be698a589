"""`python -m planner export SET --out FILE.zip`: a result set as one file to send."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from planner.commands import words
from planner.core import Text
from planner.store import Store, folders_from_environment
from planner.store.disk.files import write_new
from planner.store.exchange import mllog_zip, set_zip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("set", help="folder name of the result set")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.zip")
    parser.add_argument(
        "--as",
        dest="form",
        choices=("set", "mllog"),
        default="set",
        help="parquet with set.toml and CSV (default), or MLPerf's log lines",
    )
    parser.add_argument(
        "--results", metavar="DIR", help="your folder of result sets, or s3://bucket/prefix"
    )


def run_export(options: argparse.Namespace) -> int:
    """Write the file; return 0 for success, 1 without such a set, 2 if the file cannot be made."""
    environment = dict(os.environ)
    if options.results:
        environment["EPOCHWISE_RESULTS"] = str(options.results)
    store = Store(folders_from_environment(words.ROOT, environment))
    store.refresh()
    found = [s for s in store.sets if s.slug == options.set and not s.withdrawn]
    if not found:
        names = ", ".join(sorted({s.slug for s in store.sets})[:40])
        words.note(
            Text("There is no result set {set}. Sets: {names}.", set=options.set, names=names)
        )
        return words.REFUSED
    data = (mllog_zip if options.form == "mllog" else set_zip)(store, found[-1])
    try:
        written = write_new(options.out, data)
    except OSError as error:
        words.note(
            Text("{out} cannot be written: {reason}.", out=options.out, reason=error.strerror)
        )
        return words.WRONG_WORDS
    if not written:
        words.note(Text("{out} exists. Name another file.", out=options.out))
        return words.WRONG_WORDS
    words.print_answer(
        [
            Text(
                "{title} is in {out} ({data:,} bytes).",
                title=found[-1].title,
                out=options.out,
                data=len(data),
            )
        ]
    )
    return words.ANSWERED
