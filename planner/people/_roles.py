"""Role and groups of a login, from its claims and the operator's roles.toml.

    groups_claim = "groups"
    admins = ["ml-platform"]
    contributors = ["vision-team", "ana@example.org"]
    blocked = ["eve@example.org"]
    login_hours = 12

The file is read again at every check, so a change counts at once. A name is a group of the claim,
or an address that the provider has verified. Everyone else who signs in is a viewer. A damaged file
makes everyone a viewer without groups.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal

from planner.core import Text
from planner.store.disk.files import bounded_toml

SETTING: Final = "EPOCHWISE_ROLES"
Role = Literal["viewer", "contributor", "admin"]
VIEWER: Final[Role] = "viewer"
CONTRIBUTOR: Final[Role] = "contributor"
ADMIN: Final[Role] = "admin"
RANK: Final[Mapping[Role, int]] = MappingProxyType({VIEWER: 0, CONTRIBUTOR: 1, ADMIN: 2})
"""Roles in order: each may do what those before it may."""
LOGIN_HOURS: Final = 12.0
_MOST_HOURS: Final = 720
_HOUR_S: Final = 3600.0
_SKEW_S: Final = 300.0
"""A provider's clock may be this far ahead [s]."""
_LISTS: Final = ("admins", "contributors", "blocked")
_MOST_GROUPS: Final = 1_000
_MOST_LETTERS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleTable:
    """The operator's table; `problem` says why it cannot be used."""

    groups_claim: str = "groups"
    admins: frozenset[str] = frozenset()
    contributors: frozenset[str] = frozenset()
    blocked: frozenset[str] = frozenset()
    login_hours: float = LOGIN_HOURS
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A visitor. `name` is for the log and the page; `why` says what is wrong with the login."""

    name: str = ""
    role: Role = VIEWER
    groups: frozenset[str] = frozenset()
    signed_in: bool = False
    why: str = ""


ANONYMOUS: Final = Person()
"""A visitor who has not signed in."""


def read_rules(path: Path | None) -> RoleTable:
    """Return the table of a roles.toml; the default without a file, a problem if it is damaged."""
    if path is None:
        return RoleTable()
    try:
        return _rules(bounded_toml(path.read_bytes()))
    except (OSError, ValueError, RecursionError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        return RoleTable(problem=Text("{file} cannot be used ({why}).", file=path.name, why=why))


def person_of(claims: Mapping[str, Any], rules: RoleTable, now_s: float) -> Person:
    """Return who the claims of a login are.

    Args:
        claims: of the identity token, checked by the provider's signature.
        rules: from `read_rules`.
        now_s: the time, in UTC s since 1970.
    """
    name = _name(claims)
    if not name:
        return Person(why="The login has no subject. Sign in again.")
    age_s = now_s - _number(claims.get("iat"))
    if not -_SKEW_S <= age_s < rules.login_hours * _HOUR_S:
        return Person(name=name, why="The login has expired. Sign in again.")
    if rules.problem:
        return Person(name=name, signed_in=True, why=rules.problem)
    groups = _groups(claims, rules.groups_claim)
    if groups & rules.blocked or f"sub:{claims['sub']}" in rules.blocked:
        return Person(name=name, why="This login is blocked here.")
    role = VIEWER
    if groups & rules.admins:
        role = ADMIN
    elif groups & rules.contributors:
        role = CONTRIBUTOR
    return Person(name=name, role=role, groups=groups, signed_in=True)


def _name(claims: Mapping[str, Any]) -> str:
    subject = claims.get("sub")
    if not isinstance(subject, str) or not subject.strip():
        return ""
    named = claims.get("email") or claims.get("preferred_username")
    name = named if isinstance(named, str) and named.strip() else subject
    return "".join(c if c.isprintable() else " " for c in name)[:_MOST_LETTERS]


def _groups(claims: Mapping[str, Any], claim: str) -> frozenset[str]:
    listed = claims.get(claim)
    names = [listed] if isinstance(listed, str) else listed if isinstance(listed, list) else []
    groups = {n for n in names[:_MOST_GROUPS] if isinstance(n, str) and n and "@" not in n}
    email = claims.get("email")
    if isinstance(email, str) and "@" in email and claims.get("email_verified") is True:
        groups.add(email.lower())
    return frozenset(groups)


def _number(value: object) -> float:
    """Return a number of claims or settings; NaN, which fails every comparison, otherwise."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(str(value)) if is_number else math.nan


def _rules(body: Mapping[str, Any]) -> RoleTable:
    unknown = body.keys() - {"groups_claim", "login_hours", *_LISTS}
    if unknown:
        raise ValueError(f"unknown: {', '.join(sorted(unknown))}")
    admins, contributors, blocked = (_names(name, body.get(name, [])) for name in _LISTS)
    claim, hours = body.get("groups_claim", "groups"), body.get("login_hours", LOGIN_HOURS)
    if not isinstance(claim, str) or not claim:
        raise ValueError(Text("groups_claim is the name of a claim"))
    if not 0 < _number(hours) <= _MOST_HOURS:
        raise ValueError(Text("login_hours is a number from 0 to {most}", most=_MOST_HOURS))
    return RoleTable(
        groups_claim=claim, login_hours=_number(hours),
        admins=admins, contributors=contributors, blocked=blocked,
    )  # fmt: skip


def _names(name: str, listed: object) -> frozenset[str]:
    if not isinstance(listed, list) or not all(isinstance(n, str) and n for n in listed):
        raise ValueError(Text("{name} is a list of groups and addresses", name=name))
    return frozenset(n.lower() if "@" in n else n for n in listed)
