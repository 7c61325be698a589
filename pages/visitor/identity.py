"""Who a page's session or a request is: the claims of a login, a token, a share link, or the owner.

Without a login provider (`[auth]` of .streamlit/secrets.toml) the browser on a person's own machine
is the owner, who sees every set; every other visitor sees the open ones. With a provider there is
no owner: a visitor sees what their groups see.
"""

import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import streamlit as st
from starlette.datastructures import Headers
from starlette.requests import Request
from streamlit.auth_util import get_cookie_with_chunks, get_secrets_auth_section
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.web.server.server_util import get_cookie_secret
from streamlit.web.server.starlette.starlette_app_utils import decode_signed_value

from pages.visitor.address import is_local
from planner.people import ADMIN, ANONYMOUS, SETTING, Person, RoleTable, person_of, read_rules
from planner.store.disk.access import EVERYONE, OWNER, Viewer
from planner.store.disk.secrets import LONGEST, PARAMETER, SHARES, TOKENS
from planner.store.disk.team import team_folder

MEASURE: Final = "EPOCHWISE_MEASURE"
_SHARES: Final = "visitor.shares"
"""Session key of the share links that were opened: checked again at every use."""
_MOST_SHARES: Final = 20
_COOKIE: Final = "_streamlit_user"
_BEARER: Final = "bearer "


def login_is_on() -> bool:
    """Return whether the operator has set up a login provider, or roles for one.

    A provider that is lost with a damaged secrets.toml does not make every visitor an owner.
    """
    return bool(get_secrets_auth_section()) or bool(os.environ.get(SETTING))


def signed_in() -> bool:
    """Return whether the session has a login, of whatever age; False where no provider is read."""
    return st.user.get("is_logged_in", False) is True


def claims() -> Mapping[str, Any] | None:
    """Return the claims of the session's login; None without one."""
    if not login_is_on() or get_script_run_ctx() is None or not signed_in():
        return None
    return st.user.to_dict()


def person() -> Person:
    """Return who the session of the page is, by its claims and the roles as they are now."""
    return _person(claims())


def viewer() -> Viewer:
    """Return what the session of the page may see."""
    return session()()


def session() -> Callable[[], Viewer]:
    """Return a function with what this session may see when it is called.

    Roles and share links are read at the call, which may be after the page was drawn and in another
    thread: a download is made at its click.
    """
    if get_script_run_ctx() is None:
        return lambda: EVERYONE
    given, opened = claims(), tuple(st.session_state.get(_SHARES, ()))
    headers = Headers(dict(st.context.headers))  # a copy; names in any case

    def now() -> Viewer:
        folder = SHARES.folder(team_folder(os.environ))
        sets = frozenset[str]().union(*(_opened(folder, text) for text in opened))
        if login_is_on():
            return _viewer(_person(given), sets)
        return OWNER if _is_owner(headers) else Viewer(sets=sets)

    return now


def is_blocked(owner: str) -> bool:
    """Return whether the operator blocks the owner of a token, or may: roles.toml is damaged."""
    rules = _rules()
    return bool(owner) and (bool(rules.problem) or owner in rules.blocked)


def take_share() -> None:
    """Move the secret of a share link from the address into the session, before anything is drawn.

    So no further link, and no other site, gets it.
    """
    secret = st.query_params.get(PARAMETER)
    if secret is None:
        return
    del st.query_params[PARAMETER]
    kept = [s for s in st.session_state.get(_SHARES, ()) if s != secret]
    if len(secret) <= LONGEST:
        st.session_state[_SHARES] = [*kept, secret][-_MOST_SHARES:]


def viewer_of(request: Request) -> Viewer:
    """Return what a program or browser that asks the HTTP interface may see."""
    team = team_folder(os.environ)
    header = request.headers.get("authorization", "")
    if header.lower().startswith(_BEARER):
        secret = header[len(_BEARER) :].strip()
        if (token := TOKENS.checked(TOKENS.folder(team), secret)) is not None:
            groups = frozenset(token.groups)
            return EVERYONE if is_blocked(token.owner) else Viewer(groups=groups)
        share = SHARES.checked(SHARES.folder(team), secret)
        return Viewer(sets=share.references) if share else EVERYONE
    if login_is_on():
        return _viewer(_person(_claims_of(request)), frozenset())
    return OWNER if _is_owner(request.headers) else EVERYONE


def has_owner() -> bool:
    """Return whether somebody may be the owner of this machine: no provider, not switched off."""
    return not login_is_on() and os.environ.get(MEASURE, "").strip().lower() in {"", "on"}


def _is_owner(headers: Headers) -> bool:
    return has_owner() and is_local(headers)


def _viewer(who: Person, sets: frozenset[str]) -> Viewer:
    return Viewer(sees_all=who.role == ADMIN, groups=who.groups, sets=sets)


def _person(given: Mapping[str, Any] | None) -> Person:
    return ANONYMOUS if given is None else person_of(given, _rules(), time.time())


def _rules() -> RoleTable:
    path = os.environ.get(SETTING)
    return read_rules(Path(path) if path else None)


def _opened(folder: Path, text: str) -> frozenset[str]:
    """Return the sets that a share link shows; none where that cannot be read."""
    try:
        share = SHARES.checked(folder, text)
    except OSError:
        return frozenset()
    return share.references if share else frozenset()


def _claims_of(request: Request) -> Mapping[str, Any] | None:
    """Return the claims in Streamlit's signed cookie; None without a sound one."""
    secret = get_cookie_secret()

    def signed(name: str) -> bytes | None:
        value = request.cookies.get(name)
        return None if value is None else decode_signed_value(secret, name, value.encode("latin-1"))

    try:
        given = json.loads(get_cookie_with_chunks(signed, _COOKIE) or b"null")
    except (ValueError, RecursionError):
        return None
    logged_in = isinstance(given, dict) and given.get("is_logged_in") is True
    return given if logged_in else None


def draw_account() -> None:
    """Draw the button to sign in or out, with name and role; nothing without a login provider."""
    if not login_is_on():
        return
    who = person()
    with st.sidebar.container(key="account"):
        if who.why:
            st.caption(who.why)
        if not signed_in():
            st.button("Sign in", key="account.in", icon=":material/login:", on_click=st.login)
            return
        if who.signed_in:
            st.text(f"{who.name} · {who.role}")
        st.button("Sign out", key="account.out", icon=":material/logout:", on_click=st.logout)
