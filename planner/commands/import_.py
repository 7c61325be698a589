"""`python -m planner import SOURCE PATH --set NAME`: results of other programs as a result set."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from planner.commands import words
from planner.commands.access import recorded
from planner.core import Text, paragraph, plural
from planner.core.slugs import folder_slug
from planner.importers import (
    SOURCES,
    SourceError,
    Stated,
    commit,
    fact,
    files_from,
    header,
    read,
    with_terms,
)
from planner.runs import RecordError
from planner.store import CommitError, folders_from_environment
from planner.store.disk.mirrors import named, results_folder

MOST_SHOWN: Final = 10
_SHOWN: Final = ("model", "dataset", "system_name", "global_batch_size", "epochs_measured",
                 "later_epoch_mean_s", "throughput")  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("source", nargs="?", help="one of --list")
    parser.add_argument("path", nargs="?", type=Path, help="file or folder")
    parser.add_argument("--list", action="store_true", help="list the sources and exit")
    parser.add_argument("--header", action="store_true", help="print an empty template and exit")
    parser.add_argument("--set", metavar="NAME", help="result set to add the runs to")
    parser.add_argument("--fact", action="append", default=[], metavar="COLUMN=VALUE",
                        help="fact that the file does not state, as model=ResNet-50")  # fmt: skip
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE",
                        help="of the source, see --list")  # fmt: skip
    parser.add_argument("--title", help="of a new set")
    parser.add_argument("--licence", help="terms of the numbers, where the file states none")
    parser.add_argument("--citation", default="", help="how to cite them")
    parser.add_argument("--source-url", default="", help="where they can be read")
    parser.add_argument("--dry-run", action="store_true", help="read and check, write nothing")
    parser.add_argument("--results", metavar="DIR",
                        help="your folder of result sets, or s3://bucket/prefix (default: "
                        "EPOCHWISE_RESULTS, else results)")  # fmt: skip


def run_import(options: argparse.Namespace) -> int:
    """Import a file; return 0 for success, 2 for a file that is not taken."""
    if options.header:
        sys.stdout.write(header())
        return words.ANSWERED
    if options.list:
        for source in SOURCES.values():
            sys.stdout.write(_about(source.name) + "\n")
        return words.ANSWERED
    missing = [
        Text("{name} is missing.", name=name)
        for name, value in (
            ("SOURCE", options.source),
            ("PATH", options.path),
            ("--set NAME", options.set),
        )
        if not value
    ]
    facts, options_of, problems = _pairs(options)
    if missing or problems:
        words.note("\n".join(f"- {text}" for text in (*missing, *problems)))
        return words.WRONG_WORDS
    try:
        source = SOURCES.get(options.source, SOURCES["template"])
        files = files_from(options.path, source)
        rows = read(options.source, files, Stated(facts=facts, options=options_of), options.set)
        given = {"licence": options.licence, "source_url": options.source_url or source.url,
                 "citation": options.citation}  # fmt: skip
        rows = with_terms(rows, {n: text for n, text in given.items() if text}, files.name)
        if any(not row.get("licence") for row in rows):
            words.note("- --licence TEXT is missing: the file states none.")
            return words.WRONG_WORDS
        return _commit(options, rows)
    except (SourceError, RecordError, CommitError) as error:
        words.note(str(error))
        return words.WRONG_WORDS


def _pairs(options: argparse.Namespace) -> tuple[dict[str, Any], dict[str, str], list[str]]:
    """Return facts and options of the command line, and the problems of wrong ones."""
    facts: dict[str, Any] = {}
    stated: dict[str, str] = {}
    problems: list[str] = []
    for kind, pairs in (("fact", options.fact), ("option", options.option)):
        for pair in pairs:
            name, equals, value = pair.partition("=")
            if not equals:
                problems.append(Text("--{kind} {pair}: must be NAME=VALUE.", kind=kind, pair=pair))
            elif kind == "option":
                stated[name] = value
            else:
                facts[name], problem = fact(name, value)
                problems += [f"--fact {problem}"] if problem else []
    return facts, stated, problems


def _commit(options: argparse.Namespace, rows: Sequence[dict[str, Any]]) -> int:
    source = SOURCES[options.source]
    shown = [name for name in _SHOWN if any(row.get(name) is not None for row in rows)]
    cells = [[_cell(row.get(name)) for name in shown] for row in rows[:MOST_SHOWN]]
    words.print_table(shown, cells)
    if len(rows) > MOST_SHOWN:
        sys.stdout.write(Text("and {rows:,} more\n", rows=len(rows) - MOST_SHOWN))
    if options.dry_run:
        sys.stdout.write(
            Text("{rows:,} runs can be imported. Nothing was written.\n", rows=len(rows))
        )
        return words.ANSWERED
    results = next(
        f.path for f in folders_from_environment(words.ROOT, os.environ) if f.kind == "own"
    )
    if options.results:
        results = results_folder(options.results)
    about = {
        "title": options.title or f"{source.title}: {options.path.name}",
        "basis": source.basis,
        "source": Text(
            "Imported from {path} ({title})", path=options.path.name, title=source.title
        ),
        "source_url": options.source_url or source.url,
        "citation": options.citation or source.citation,
    }
    slug = folder_slug(options.set)
    recorded("import a set", slug)
    try:
        done = commit(results / slug, rows, {k: v for k, v in about.items() if v})
    except (SourceError, RecordError, CommitError) as error:
        why = Text("{set}, refused: {why}", set=slug, why=error)
        recorded("import a set", why, allowed=False)
        raise
    place = named(results / folder_slug(options.set))
    new = plural(
        done.new, "{count:,} run is new in {results}.", "{count:,} runs are new in {results}.",
        results=place,
    )  # fmt: skip
    sys.stdout.write(f"{paragraph(new, done.left_out)}\n")
    return words.ANSWERED


def _cell(value: object) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def _about(name: str) -> str:
    source = SOURCES[name]
    options = "".join(f"\n    --option {n}=...  {text}" for n, text in source.options.items())
    return Text(
        "{source}: {title}\n  files: {files}\n  reads: {reads}\n  derives: "
        "{derives}\n  refuses: {refuses}\n  state: {needs}{options}",
        source=source.name,
        title=source.title,
        files=source.files,
        reads=source.reads,
        derives=source.derives,
        refuses=source.refuses,
        needs=", ".join(source.needs),
        options=options,
    )
