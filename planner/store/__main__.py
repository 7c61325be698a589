"""`python -m planner.store compact|verify|export`: maintain the result folders."""

import argparse
import os
import sys
from pathlib import Path

import duckdb

from planner.core import Text, printable
from planner.store._verify import contradictions_between, verify_folder
from planner.store.disk.folders import Folder, folders_from_environment
from planner.store.disk.mirrors import named, results_folder
from planner.store.export import export_duckdb
from planner.store.reader import Refused, Store
from planner.store.sealed.accept import fetch
from planner.store.sealed.commit import CommitError, sweep_temporaries
from planner.store.sealed.compact import compact_set

ROOT = Path(__file__).resolve().parent.parent.parent
SHIPPED = ROOT / "data" / "results"


def main(arguments: list[str]) -> int:
    """Run one command; return 0 for success, 1 for problems, 2 for wrong arguments."""
    options = _parser().parse_args(arguments)
    folders = folders_from_environment(ROOT, os.environ)
    if options.folder:
        if wrong := _folder_problem(options):
            _say(wrong)
            return 1
        folders = tuple(
            Folder(path=results_folder(p).resolve(), label=p, kind="further")
            for p in options.folder
        )
    if options.command == "compact":
        return _compact(tuple(f for f in folders if f.kind != "shipped"))
    if options.command == "verify":
        return _verify(folders, folders_from_environment(ROOT, os.environ))
    return _export(folders, options.out)


def _folder_problem(options: argparse.Namespace) -> str | None:
    for path in options.folder:
        folder = results_folder(path)
        if not folder.is_dir():
            return Text("{path} is not a folder. Name a folder with result sets.", path=path)
        if options.command == "compact" and folder.resolve() == SHIPPED:
            return Text("{path} is shipped with the product and is not changed.", path=path)
    return None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m planner.store", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (
        ("compact", "merge each result set's files into one (never the shipped folder)"),
        ("verify", "check every file: seal, columns, rules; list what is wrong"),
        ("export", "write all runs to one .duckdb file"),
    ):
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument(
            "--folder",
            action="append",
            help="folder with result sets, or s3://bucket/prefix (repeatable); default: those of "
            "the app",
        )
        if name == "export":
            command.add_argument("out", type=Path, help="file to write, for example runs.duckdb")
    return parser


def _compact(folders: tuple[Folder, ...]) -> int:
    wrong = 0
    for place in (p for f in folders for p in _set_folders(f)):
        try:
            done = compact_set(place)
        except (CommitError, OSError) as error:
            _say(f"{named(place)}: {error}")
            wrong += 1
            continue
        for text in done.left:
            _say(Text("{place}: left alone: {text}", place=named(place), text=text))
        wrong += len(done.left)
        if done.merged:
            _say(
                Text(
                    "{place}: {files} files -> 1 ({runs} runs, {merged})",
                    place=named(place),
                    files=done.files,
                    runs=done.runs,
                    merged=done.merged.name,
                )
            )
        else:
            _say(
                Text(
                    "{place}: nothing to merge ({files} good files)",
                    place=named(place),
                    files=done.files,
                )
            )
    return 1 if wrong else 0


def _verify(folders: tuple[Folder, ...], app: tuple[Folder, ...]) -> int:
    """Return 1 if the folders have problems, or contradict runs that the app shows."""
    files = runs = 0
    problems: dict[str, Refused] = {}
    for folder in folders:
        for place in _set_folders(folder):
            if os.access(place, os.W_OK) and folder.kind != "shipped":
                sweep_temporaries(place)
        report = verify_folder(folder)
        files, runs = files + report.files, runs + report.runs
        problems |= {p.path: p for p in report.problems}
    others = tuple(f for f in app if f.path not in {g.path for g in folders})
    for contradiction in contradictions_between(folders, others):
        problems.setdefault(contradiction.path, contradiction)
    for problem in problems.values():
        _say(f"{named(Path(problem.path))}: {problem.reason}")
    _say(
        Text(
            "{files} files, {runs} runs, {problems} problems",
            files=files,
            runs=runs,
            problems=len(problems),
        )
    )
    return 1 if problems else 0


def _export(folders: tuple[Folder, ...], out: Path) -> int:
    try:
        runs = export_duckdb(Store(folders), out)
    except (OSError, duckdb.Error) as error:
        _say(str(error))
        return 1
    _say(f"{runs} runs -> {out}")
    return 0


def _set_folders(folder: Folder) -> list[Path]:
    fetch(folder.path)
    try:
        return sorted(p for p in folder.path.iterdir() if p.is_dir() and p.name[0] != ".")
    except OSError:  # `accept.listing` says why
        return []


def _say(text: str) -> None:
    sys.stdout.write(printable(text) + "\n")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
