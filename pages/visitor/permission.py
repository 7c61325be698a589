"""Permission to change something from a page, checked at every click and written to the audit log.

Without a login provider, changing is for the owner of the machine. It is on where only this machine
can reach the app, or where EPOCHWISE_MEASURE=on allows every visitor. The check reads the process
and the request:

- every TCP socket this process listens on is bound to loopback, and there is at least one (behind a
  Unix socket there is none, only a proxy);
- the request names this machine as localhost (not a public name, nor the name of a web site that
  resolves to 127.0.0.1);
- no header says that a proxy forwards the request;
- the request comes from a page of this server: another port of this machine is another server.

With a login provider, the role decides, also on loopback (docs/decisions/0061). Measuring runs
programs, so EPOCHWISE_MEASURE=off switches it off for administrators too.

Anything that cannot be checked counts as no.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Final

import streamlit as st

from pages.visitor import identity
from pages.visitor.address import by_address, by_request, is_own_page
from pages.visitor.address import listening as _listening
from planner.core import Text
from planner.people import ADMIN, CONTRIBUTOR, RANK, Person, Role
from planner.store.disk.audit import audit_folder, record
from planner.store.disk.team import team_folder

SETTING: Final = identity.MEASURE


class Action(Enum):
    """What a page can change, in the words of the audit log."""

    ADD = "add results"
    WITHDRAW = "withdraw or restore a set"
    SAVE = "save, rename or remove a view"
    CATALOG = "change the catalogue"
    MEASURE = "start, stop or remove a sweep"
    ACCESS = "change who sees a set"


NEEDED: Final[Mapping[Action, Role]] = MappingProxyType(
    {
        Action.ADD: CONTRIBUTOR,
        Action.SAVE: CONTRIBUTOR,
        Action.WITHDRAW: ADMIN,
        Action.CATALOG: ADMIN,
        Action.MEASURE: ADMIN,
        Action.ACCESS: ADMIN,
    }
)
"""The role that each action needs, where a login provider is set up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """Whether something may be changed from here, and the reason if not."""

    allowed: bool
    why: str = ""


YES: Final = Permission(allowed=True)


def permission(action: Action) -> Permission:
    """Return the permission of the visitor whose page is drawn; a click calls `allow`."""
    if identity.login_is_on():
        return by_role(action, identity.person(), os.environ, st.context.headers)
    decided = decide(os.environ, _listening(), st.context.headers)
    if action is Action.ACCESS and decided.allowed and not identity.viewer().sees_all:
        # EPOCHWISE_MEASURE=on lets every visitor write, and shows no restricted set.
        return _no("This is for the owner of the machine.")
    return decided


def allow(action: Action, about: str = "") -> Permission:
    """Return the permission of the visitor whose click is handled, and write it to the audit log.

    Every function that changes something calls it first. An action that cannot be logged is
    refused.
    """
    decided, who = permission(action), identity.person()
    name, role = who.name or "not signed in", who.role
    if not identity.login_is_on():
        name, role = ("this machine", ADMIN) if decided.allowed else (name, role)
    try:
        record(
            audit_folder(team_folder(os.environ)), who=name, role=role, via="page",
            what=action.value, about=about, allowed=decided.allowed,
        )  # fmt: skip
    except OSError as error:
        return _no(str(error))
    return decided


def refused(action: Action, about: str) -> None:
    """Write to the audit log that an allowed action was not done; `about` says why.

    Without a word where the disk refuses: nothing was changed, and the page says so.
    """
    who = identity.person()
    name, role = (who.name, who.role) if identity.login_is_on() else ("this machine", ADMIN)
    with suppress(OSError):
        record(
            audit_folder(team_folder(os.environ)), who=name, role=role, via="page",
            what=action.value, about=about, allowed=False,
        )  # fmt: skip


ANOTHER_PAGE: Final = "The request comes from another web page. Open this server's own page."
SWITCHED_OFF: Final = Text("The setting `{name}` switches it off.", name=SETTING)


def by_role(
    action: Action, who: Person, environment: Mapping[str, str], headers: Mapping[str, str]
) -> Permission:
    """Return the permission by the role of a login."""
    if not is_own_page(headers):
        return _no(ANOTHER_PAGE)
    if not who.signed_in:
        return _no(who.why or "Sign in first.")
    if who.why:
        return _no(who.why)
    if RANK[who.role] < RANK[NEEDED[action]]:
        return _no(
            Text(
                "This needs the role {needed}; yours is {role}.",
                needed=NEEDED[action],
                role=who.role,
            )
        )
    if action is Action.MEASURE and environment.get(SETTING, "").strip().lower() not in {"", "on"}:
        return _no(SWITCHED_OFF)
    return YES


def decide(
    environment: Mapping[str, str], addresses: Sequence[str] | None, headers: Mapping[str, str]
) -> Permission:
    """Return the permission by the setting; without one, by whether only this machine has access.

    `addresses` are those the server listens on; None where unknown.
    """
    if not is_own_page(headers):
        return _no(ANOTHER_PAGE)
    setting = environment.get(SETTING, "").strip().lower()
    if setting == "on":
        return YES
    if setting:
        if setting == "off":
            return _no(SWITCHED_OFF)
        return _no(
            Text(
                "The setting `{name}` switches it off (it is neither `on` nor `off`).", name=SETTING
            )
        )
    why = by_address(addresses) or by_request(headers)
    return _no(why) if why else YES


def _no(why: str) -> Permission:
    return Permission(allowed=False, why=why)
