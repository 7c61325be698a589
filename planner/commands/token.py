"""`python -m planner token create|list|revoke`: tokens of programs that push runs."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Final

from planner.commands import words
from planner.commands.access import day, days_problem, recorded, state_of
from planner.core import Text
from planner.store.disk.access import group_problem
from planner.store.disk.secrets import ANY_SET, TOKENS, Token
from planner.store.disk.team import team_folder
from planner.store.pushed import SLUG

_HEAD: Final = ("Id", "Name", "Owner", "Adds to", "Reads groups", "Created", "State")


def add_arguments(parser: argparse.ArgumentParser) -> None:
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
            owner=options.owner.lower(),
        )  # fmt: skip
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
    words.print_table(_HEAD, [_cells(token) for token in TOKENS.all(folder)])
    return words.ANSWERED


def _cells(token: Token) -> list[str]:
    sets = ", ".join("any" if s == ANY_SET else s for s in token.sets)
    groups = ", ".join(token.groups)
    return [
        token.id, token.name, token.owner, sets, groups, day(token.created_at), state_of(token)
    ]  # fmt: skip
