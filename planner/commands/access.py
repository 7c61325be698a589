"""`python -m planner set list|visibility|share|shares|unshare` and `python -m planner audit`.

For administrators: whoever may write in the results folder. Every change is written to the audit
log first.
"""

from __future__ import annotations

import argparse
import getpass
import json
import math
import os
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Final

from planner.commands import words
from planner.core import Text
from planner.store import Folder, folders_from_environment
from planner.store.disk.access import (
    ACCESS,
    Access,
    group_problem,
    read_access,
    set_access,
    stamp_of_text,
    stamp_text,
)
from planner.store.disk.audit import AuditError, audit_folder, entries, record
from planner.store.disk.mirrors import mirror_of
from planner.store.disk.secrets import PARAMETER, SHARES, Secret
from planner.store.disk.sweeps import state_folder
from planner.store.pushed import SLUG

ROOT: Final = Path(__file__).resolve().parent.parent.parent
PUBLIC_URL: Final = "EPOCHWISE_PUBLIC_URL"
_IN_A_BUCKET: Final = (
    "Who sees a set in a bucket cannot be changed from here. Keep restricted sets in a folder of "
    "EPOCHWISE_FURTHER_RESULTS."
)
_LOG: Final = ("Time", "Who", "Role", "Via", "What", "About", "")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `set`."""
    actions = parser.add_subparsers(dest="action", required=True)
    actions.add_parser("list", help="list your sets, and who sees each")
    seen = actions.add_parser("visibility", help="who sees a set; it may not exist yet")
    seen.add_argument("slug", help="folder name of the set")
    seen.add_argument("--group", action="append", dest="groups", default=[],
                      help="group or verified address that sees it; repeat for more")  # fmt: skip
    seen.add_argument("--until", help="UTC day from which everyone sees it, as 2027-01-31")
    seen.add_argument("--open", action="store_true", help="everyone sees it, from now on")
    link = actions.add_parser("share", help="print a new link that shows one restricted set")
    link.add_argument("slug", help="folder name of the set")
    link.add_argument("--days", type=float, help="until it expires (default: never)")
    actions.add_parser("shares", help="list all share links, without their secrets")
    gone = actions.add_parser("unshare", help="make a share link useless at once")
    gone.add_argument("id", help="of `set shares`: eight characters")


def add_audit(parser: argparse.ArgumentParser) -> None:
    """Add the options of `audit`."""
    parser.add_argument("--json", action="store_true", help="print one JSON object a line")


def run_set(options: argparse.Namespace) -> int:
    """Run one action; return 0, 1 where the disk refuses, 2 for a wrong value."""
    run = {"list": _list, "visibility": _visibility, "share": _share, "shares": _shares,
           "unshare": _unshare}[options.action]  # fmt: skip
    try:
        return run(options)
    except OSError as error:
        words.note(str(error))
        return words.REFUSED


def run_audit(options: argparse.Namespace) -> int:
    """Print the log; return 1 if an entry was changed after it was written."""
    cells, changed = [], []
    for entry in entries(audit_folder(state_folder(os.environ))):
        if isinstance(entry, str):
            changed.append(entry)
        elif options.json:
            sys.stdout.write(json.dumps(asdict(entry), ensure_ascii=False) + "\n")
        else:
            cells.append([entry.at, entry.who, entry.role, entry.via, entry.what, entry.about,
                          "" if entry.allowed else "refused"])  # fmt: skip
    if not options.json:
        words.print_table(_LOG, cells)
    for name in changed:
        words.note(Text("{file} was changed after it was written.", file=name))
    return words.REFUSED if changed else words.ANSWERED


def recorded(what: str, about: str) -> None:
    """Write an action of this command to the audit log; AuditError where the disk refuses."""
    record(
        audit_folder(state_folder(os.environ)), who=_user(), role="admin", via="command",
        what=what, about=about,
    )  # fmt: skip


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return f"user {os.getuid()}"


def _own() -> Folder:
    return next(f for f in folders_from_environment(ROOT, os.environ) if f.kind == "own")


def _further() -> list[Folder]:
    return [f for f in folders_from_environment(ROOT, os.environ) if f.kind != "shipped"]


def _list(_: argparse.Namespace) -> int:
    places = sorted(
        p for f in _further() if f.path.is_dir() for p in f.path.iterdir()
        if p.is_dir() and not p.name.startswith(".")
    )  # fmt: skip
    words.print_table(("Set", "Seen by"), [[p.name, _seen_by(p)] for p in places])
    return words.ANSWERED


def _seen_by(place: Path) -> str:
    try:
        access = read_access(place)
    except FileNotFoundError:
        return "everyone"
    if access.is_open(time.time()):
        return "everyone"
    groups = ", ".join(sorted(access.groups)) or "administrators only"
    if access.until is None:
        return groups
    return Text("{groups}; everyone from {day}", groups=groups, day=_stamp(access.until))


def _stamp(stamp_s: float) -> str:
    return stamp_text(stamp_s).replace("T00:00:00Z", "")


def _visibility(options: argparse.Namespace) -> int:
    until: float | None = None
    wrong: list[str] = []
    if not SLUG.fullmatch(options.slug):
        wrong.append(Text("{name!r} is no set's name.", name=options.slug[:80]))
    if problem := group_problem(options.groups):
        wrong.append(f"--group: {problem}")
    if options.open and (options.groups or options.until):
        wrong.append("--open takes neither --group nor --until.")
    if options.until:
        try:
            until = stamp_of_text(options.until)
        except ValueError as error:
            wrong.append(f"--until {options.until[:40]!r}: {error}.")
    if wrong:
        words.note("\n".join(wrong))
        return words.WRONG_WORDS
    groups = frozenset(g.lower() if "@" in g else g for g in options.groups)
    place = next((f.path for f in _further() if (f.path / options.slug).is_dir()), _own().path)
    if mirror_of(place) is not None:
        words.note(_IN_A_BUCKET)
        return words.REFUSED
    access = None if options.open else Access(groups=groups, until=until)
    about = options.slug if access is None else f"{options.slug}: {', '.join(sorted(groups))}"
    recorded("open a set" if access is None else "restrict a set", about)
    set_access(place / options.slug, access)
    seen = _seen_by(place / options.slug)
    sys.stdout.write(Text("{set}: seen by {who}.", set=options.slug, who=seen) + "\n")
    return words.ANSWERED


def _share(options: argparse.Namespace) -> int:
    if wrong := days_problem(options.days):
        words.note(wrong)
        return words.WRONG_WORDS
    places = [f.path / options.slug for f in _further() if SLUG.fullmatch(options.slug)]
    if not any((place / ACCESS).exists() for place in places):
        words.note(
            Text("{name!r} is no restricted set. `set list` has all.", name=options.slug[:80])
        )
        return words.WRONG_WORDS
    recorded("make a share link", options.slug)
    secret = SHARES.create(_share_folder(), slug=options.slug, days=options.days)
    base = os.environ.get(PUBLIC_URL) or "http://localhost:8501"
    sys.stdout.write(f"{base.rstrip('/')}/results?{PARAMETER}={secret}\n")
    words.note("Whoever has the link sees the set. It is not shown again.")
    return words.ANSWERED


def _shares(_: argparse.Namespace) -> int:
    rows = [[s.id, s.slug, day(s.created_at), state_of(s)] for s in SHARES.all(_share_folder())]
    words.print_table(("Id", "Set", "Made", "State"), rows)
    return words.ANSWERED


def _share_folder() -> Path:
    return SHARES.folder(state_folder(os.environ))


def days_problem(days: float | None) -> Text | None:
    """Return what is wrong with `--days`; None where nothing is."""
    if days is None or (math.isfinite(days) and days > 0):
        return None
    return Text("--days {days}: must be above 0.", days=days)


def state_of(secret: Secret) -> str:
    """Return whether a secret is valid now, in words."""
    if secret.revoked_at is not None:
        return Text("revoked {day}", day=day(secret.revoked_at))
    if secret.expires_at is None:
        return "valid"
    until = day(secret.expires_at)
    if secret.usable(time.time()):
        return Text("valid until {day}", day=until)
    return Text("expired {day}", day=until)


def day(stamp_s: float) -> str:
    """Return the day of a stamp, in UTC."""
    return stamp_text(stamp_s)[:10]


def _unshare(options: argparse.Namespace) -> int:
    folder = _share_folder()
    if all(share.id != options.id for share in SHARES.all(folder)):
        words.note(Text("There is no share link {id}. `set shares` has all.", id=options.id[:40]))
        return words.WRONG_WORDS
    recorded("revoke a share link", options.id)
    SHARES.revoke(folder, options.id)
    sys.stdout.write(Text("{id} is revoked.", id=options.id) + "\n")
    return words.ANSWERED


__all__ = [
    "AuditError",
    "add_arguments",
    "add_audit",
    "day",
    "days_problem",
    "recorded",
    "run_audit",
    "run_set",
    "state_of",
]
