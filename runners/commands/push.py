"""`python -m runners push SET --to URL`, and `run --push URL`: runs sent to a server."""

from __future__ import annotations

import argparse
import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from planner.store.disk.sweeps import state_folder
from planner.store.pushed import SLUG
from runners.commands.console import FAILED, OK, STOPPED, Stop, refuse, say
from runners.process.supervise import ROOT
from runners.sweep.push import PushRefusedError, push, server, server_problems, waiting

LOOK_S: Final = 2.0
"""Time between two looks for new runs during a sweep [s]."""


def push_command(args: argparse.Namespace, stop: Stop) -> int:
    """Send a result set; return when the server has acknowledged every run."""
    folder = _folder(args)
    problems = [*server_problems(args.to, args.token_file)]
    if not folder.is_dir():
        problems.append(f"there is no result set {args.spec!r} in {folder.parent}.")
    elif not SLUG.fullmatch(folder.name):
        problems.append(f"{folder.name}: a set's name has small letters, digits and hyphens.")
    if problems:
        return refuse(args, problems, "\n".join(problems))
    try:
        sent = push(folder, server(args.to, args.token_file), state_folder(os.environ),
                    stop=stop, say=say)  # fmt: skip
    except PushRefusedError as error:
        say(str(error))
        return FAILED
    say(f"{sent.stored:,} runs are stored there; {sent.already:,} were there already.")
    if stop():
        return STOPPED
    return OK


@contextlib.contextmanager
def pushing(args: argparse.Namespace, folder: Path, stop: Stop) -> Iterator[None]:
    """Send runs while they are measured, and the rest at the end; nothing without --push."""
    if getattr(args, "push", None) is None:
        yield
        return
    to, state = server(args.push, args.token_file), state_folder(os.environ)
    over = threading.Event()
    refused: list[str] = []

    def send(until: Stop) -> None:
        try:
            if folder.is_dir() and waiting(folder, to, state):
                push(folder, to, state, stop=until, say=say)
        except PushRefusedError as error:
            refused.append(str(error))

    def follow() -> None:
        while not over.wait(LOOK_S) and not refused:
            send(over.is_set)

    thread = threading.Thread(target=follow, name="push", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        if not refused:
            send(stop)
        for text in refused:
            say(text)
        left = waiting(folder, to, state) if folder.is_dir() else 0
        if left:
            say(f"{left:,} runs are not sent yet: python -m runners push {folder.name} "
                f"--to {args.push}")  # fmt: skip


def _folder(args: argparse.Namespace) -> Path:
    given = Path(args.spec).expanduser()
    results = (ROOT / Path(args.results).expanduser()).resolve()
    return given.resolve() if given.is_dir() and "/" in args.spec else results / args.spec
