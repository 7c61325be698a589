"""`epochwise app`, `epochwise run SPEC`, `epochwise how-long ...`: every command under one name.

Own results, catalogue rows and saved views are in `$XDG_DATA_HOME/epochwise`, else in
`~/.local/share/epochwise`, unless the variables of docs/settings.md say otherwise. Relative paths
start at the current folder.
"""

import argparse
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NoReturn

from epochwise import HOME

PROGRAM: Final = "epochwise"
_FOLDERS: Final = {
    "EPOCHWISE_RESULTS": "results", "EPOCHWISE_CATALOG": "catalog", "EPOCHWISE_SAVED": "saved",
}  # fmt: skip
_LISTS: Final = ("EPOCHWISE_FURTHER_RESULTS",)
_APP: Final = "app"
_BETWEEN: Final = rf"{re.escape(os.pathsep)}(?!//)"
"""Separates folders as PATH does; the colon of s3:// separates none."""


def main() -> int:
    """Run the command in `sys.argv`; return its exit code."""
    arguments = sys.argv[1:]
    sys.path.insert(0, str(HOME))
    os.environ.update(folders(os.environ, Path.cwd()), EPOCHWISE_PROGRAM=PROGRAM)
    if arguments[:1] == [_APP]:
        _serve(arguments[1:])
    from planner.__main__ import NAMES, run
    from runners.commands.cli import ABOUT
    from runners.commands.cli import main as measure

    if arguments[:1] and arguments[0] in ABOUT:
        return measure(absolute(arguments, Path.cwd()))
    if arguments[:1] and arguments[0] in NAMES:
        return run(absolute(arguments, Path.cwd()))
    parser = argparse.ArgumentParser(prog=PROGRAM, description="Training time and cost.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, text in {_APP: "open the app in a browser", **NAMES, **ABOUT}.items():
        commands.add_parser(name, help=text)
    parser.parse_args(arguments)
    return 0


def folders(environment: os._Environ[str] | dict[str, str], here: Path) -> dict[str, str]:
    """Return the folder variables as absolute paths; missing ones are in the user's data folder."""
    base = Path(environment.get("XDG_DATA_HOME") or "~/.local/share").expanduser() / PROGRAM
    made = {
        name: _placed(environment.get(name) or str(base / default), here)
        for name, default in _FOLDERS.items()
    }
    for name in _LISTS:
        if text := environment.get(name):
            parts = (_placed(p, here) for p in re.split(_BETWEEN, text) if p)
            made[name] = os.pathsep.join(parts)
    return made


def absolute(arguments: Sequence[str], here: Path) -> list[str]:
    """Return the arguments with the folder of --results as an absolute path."""
    made: list[str] = []
    for before, word in zip(["", *arguments], arguments, strict=False):
        if before == "--results":
            made.append(_placed(word, here))
        elif word.startswith("--results="):
            made.append(f"--results={_placed(word.split('=', 1)[1], here)}")
        else:
            made.append(word)
    return made


def _placed(named: str, here: Path) -> str:
    """Return a folder with its path from `here`; a place in a bucket as it is."""
    return named if named.startswith("s3://") else str(here / Path(named).expanduser())


def _serve(arguments: Sequence[str]) -> NoReturn:
    """Serve the app; the process becomes Streamlit, which reads its settings beside app.py."""
    parser = argparse.ArgumentParser(prog=f"{PROGRAM} {_APP}", description="Open the app.")
    parser.add_argument("--port", type=int, default=8501, help="(8501)")
    parser.add_argument("--address", default="127.0.0.1", help="(127.0.0.1: this machine only)")
    options = parser.parse_args(arguments)
    print(f"Epochwise: http://{options.address}:{options.port}", flush=True)  # noqa: T201
    os.chdir(HOME)
    os.environ["STREAMLIT_BROWSER_GATHER_USAGE_STATS"] = "false"
    words = [
        "run",
        "app.py",
        "--server.port",
        str(options.port),
        "--server.address",
        options.address,
    ]
    os.execv(sys.executable, [sys.executable, "-m", "streamlit", *words])  # noqa: S606


if __name__ == "__main__":
    raise SystemExit(main())
