"""The commands `set` (who sees a result set), `token` (of programs that push runs) and `audit`.

For administrators: whoever may write in the results folder. Every change is written to the audit
log first.
"""

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
from planner.core.slugs import UNOFFICIAL
from planner.store import Folder, folders_from_environment
from planner.store.disk.access import group_problem, stamp_text
from planner.store.disk.audit import (
    OPENED,
    RESTRICTED,
    SHARED,
    UNSHARED,
    audit_folder,
    entries,
    record,
)
from planner.store.disk.secrets import (
    ANY_SET,
    PARAMETER,
    SHARES,
    TOKENS,
    Secret,
    Token,
    bind,
)
from planner.store.disk.team import team_folder
from planner.store.pushed import SLUG
from planner.store.visibility import (
    VisibilityError,
    about,
    access_from,
    change,
    reference_of,
    seen_by,
    visible_sets,
)

ROOT: Final = Path(__file__).resolve().parent.parent.parent
PUBLIC_URL: Final = "EPOCHWISE_PUBLIC_URL"
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
    for entry in entries(audit_folder(team_folder(os.environ))):
        if isinstance(entry, str):
            changed.append(entry)
        elif options.json:
            document = json.dumps(asdict(entry), ensure_ascii=False)
            sys.stdout.write(words.escaped(document) + "\n")
        else:
            cells.append([entry.at, entry.who, entry.role, entry.via, entry.what, entry.about,
                          "" if entry.allowed else "refused"])  # fmt: skip
    if not options.json:
        words.print_table(_LOG, cells)
    for name in changed:
        words.note(Text("{file} was changed after it was written.", file=name))
    return words.REFUSED if changed else words.ANSWERED


def recorded(what: str, about: str, *, allowed: bool = True) -> None:
    """Write an action of this command to the audit log; AuditError where the disk refuses."""
    record(
        audit_folder(team_folder(os.environ)), who=_user(), role="admin", via="command",
        what=what, about=about, allowed=allowed,
    )  # fmt: skip


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return f"user {os.getuid()}"


def _folders() -> tuple[Folder, ...]:
    return folders_from_environment(ROOT, os.environ)


def _list(_: argparse.Namespace) -> int:
    now_s = time.time()
    cells = [[s.slug, seen_by(s.access, now_s)] for s in visible_sets(_folders())]
    words.print_table(("Set", "Seen by"), cells)
    return words.ANSWERED


def _visibility(options: argparse.Namespace) -> int:
    try:
        access = access_from(
            options.slug, options.groups, options.until or "", is_open=options.open
        )
    except VisibilityError as error:
        words.note(str(error))
        return words.WRONG_WORDS
    recorded(OPENED if access is None else RESTRICTED, about(options.slug, access))
    change(_folders(), options.slug, access)
    seen = seen_by(access, time.time())
    sys.stdout.write(Text("{set}: seen by {who}.", set=options.slug, who=seen) + "\n")
    return words.ANSWERED


def _share(options: argparse.Namespace) -> int:
    if wrong := days_problem(options.days):
        words.note(wrong)
        return words.WRONG_WORDS
    restricted = {s.slug: s.references for s in visible_sets(_folders()) if s.access is not None}
    if options.slug not in restricted:
        words.note(
            Text("{name!r} is no restricted set. `set list` has all.", name=options.slug[:80])
        )
        return words.WRONG_WORDS
    recorded(SHARED, options.slug)
    secret = SHARES.create(
        _share_folder(), slug=options.slug, sets=restricted[options.slug], days=options.days
    )
    base = os.environ.get(PUBLIC_URL) or "http://localhost:8501"
    sys.stdout.write(f"{base.rstrip('/')}/results?{PARAMETER}={secret}\n")
    words.note("Whoever has the link sees the set. It is not shown again.")
    return words.ANSWERED


def _shares(_: argparse.Namespace) -> int:
    rows = [[s.id, s.slug, day(s.created_at), state_of(s)] for s in SHARES.all(_share_folder())]
    words.print_table(("Id", "Set", "Made", "State"), rows)
    return words.ANSWERED


def _share_folder() -> Path:
    return SHARES.folder(team_folder(os.environ))


def days_problem(days: float | None) -> Text | None:
    """Return what is wrong with `--days`; None where nothing is."""
    if days is None or (math.isfinite(days) and days > 0):
        return None
    return Text("--days {days}: must be above 0.", days=days)


def state_of(secret: Secret) -> str:
    """Return whether a secret is valid now, in words."""
    return secret.state(time.time())


def day(stamp_s: float) -> str:
    """Return the day of a stamp, in UTC."""
    return stamp_text(stamp_s)[:10]


def _unshare(options: argparse.Namespace) -> int:
    folder = _share_folder()
    if all(share.id != options.id for share in SHARES.all(folder)):
        words.note(Text("There is no share link {id}. `set shares` has all.", id=options.id[:40]))
        return words.WRONG_WORDS
    recorded(UNSHARED, options.id)
    SHARES.revoke(folder, options.id)
    sys.stdout.write(Text("{id} is revoked.", id=options.id) + "\n")
    return words.ANSWERED


_HEAD: Final = ("Id", "Name", "Owner", "Adds to", "New sets", "Reads groups", "Created", "State")


def add_token(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    actions = parser.add_subparsers(dest="action", required=True)
    made = actions.add_parser("create", help="print a new token; it is shown once")
    made.add_argument("name", help="who uses it, as lab-machine-1")
    made.add_argument("--set", action="append", dest="sets", metavar="SLUG", default=[],
                      help="result set that it may add runs to; 'any' for every set")  # fmt: skip
    made.add_argument("--group", action="append", dest="groups", default=[],
                      help="group whose sets it may read; with --set any, add to")  # fmt: skip
    made.add_argument("--owner", default="", metavar="ADDRESS",
                      help="who answers for it; useless once blocked in roles.toml")  # fmt: skip
    made.add_argument("--official", action="store_true",
                      help="adds to checked sets, and makes sets without the mark")  # fmt: skip
    made.add_argument("--days", type=float, help="until it expires (default: never)")
    actions.add_parser("list", help="list all tokens, without their secrets")
    gone = actions.add_parser("revoke", help="make a token useless at once")
    gone.add_argument("id", help="of --list: eight characters")


def run_token(options: argparse.Namespace) -> int:
    """Create, list or revoke; return 0, or 2 for a wrong value."""
    folder = TOKENS.folder(team_folder(os.environ))
    if options.action == "create":
        sets = [ANY_SET if name == "any" else name for name in options.sets]
        wrong = [
            Text("--set {seconds}: must be a set's slug, or any.", seconds=s)
            for s in sets
            if s != ANY_SET and not SLUG.fullmatch(s)
        ]
        if days_wrong := days_problem(options.days):
            wrong.append(days_wrong)
        if problem := group_problem(options.groups):
            wrong.append(Text("--group: {problem}", problem=problem))
        if not sets and not options.groups:
            wrong.append(Text("Give --set to add runs, --group to read restricted sets, or both."))
        if options.owner and ("@" not in options.owner or group_problem([options.owner])):
            wrong.append(Text("--owner {owner!r}: must be an address.", owner=options.owner[:40]))
        if wrong:
            words.note("\n".join(wrong))
            return words.WRONG_WORDS
        recorded("make a token", options.name)
        token = TOKENS.create(
            folder, days=options.days, name=options.name, sets=sets, groups=options.groups,
            owner=options.owner.lower(), official=options.official,
        )  # fmt: skip
        _bind(folder, token)
        sys.stdout.write(f"{token}\n")
        words.note("Keep it secret: it is not shown again. Give it as EPOCHWISE_TOKEN.")
        return words.ANSWERED
    if options.action == "revoke":
        recorded("revoke a token", options.id)
        if TOKENS.revoke(folder, options.id):
            sys.stdout.write(Text("{id} is revoked.\n", id=options.id))
            return words.ANSWERED
        words.note(Text("There is no token {id}. `token list` has all.", id=options.id))
        return words.WRONG_WORDS
    words.print_table(_HEAD, [_token_cells(token) for token in TOKENS.all(folder)])
    return words.ANSWERED


def _bind(folder: Path, secret: str) -> None:
    """Tie a new token to the sets that are there."""
    own = next(f.path for f in _folders() if f.kind == "own")
    if (token := TOKENS.checked(folder, secret)) is not None:
        for slug in token.sets:
            bind(folder, token, slug, reference_of(own / slug))


def _token_cells(token: Token) -> list[str]:
    sets = ", ".join("any" if s == ANY_SET else s for s in token.sets)
    groups = ", ".join(token.groups)
    made = ("official" if token.official else UNOFFICIAL) if token.sets else ""
    return [
        token.id, token.name, token.owner, sets, made, groups, day(token.created_at),
        state_of(token),
    ]  # fmt: skip
