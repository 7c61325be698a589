"""Permission to start programs on this machine from a page.

Measuring runs programs, so it is for the owner of the machine. It is on where only this machine
can reach the app, or where EPOCHWISE_MEASURE=on allows every visitor. `server.address` alone does
not decide: `uvicorn app:app --host 0.0.0.0` ignores it, and a proxy reaches loopback from anywhere.
So this checks the process and the request:

- every TCP socket this process listens on is bound to loopback, and there is at least one (behind a
  Unix socket there is none, only a proxy);
- the request names this machine as localhost (not a public name, nor the name of a web site that
  resolves to 127.0.0.1);
- no header says that a proxy forwards the request;
- the request comes from a page of this server: another port of this machine is another server.

Anything that cannot be checked counts as no.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import psutil
import streamlit as st

from planner.answers import host_of, is_loopback, is_own
from planner.core import Text

SETTING: Final = "EPOCHWISE_MEASURE"
_FORWARDED: Final = (
    "Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto",
    "X-Forwarded-Server", "X-Real-Ip",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """Whether measuring may be started and stopped from here, and the reason if not."""

    allowed: bool
    why: str = ""


YES: Final = Permission(allowed=True)


def permission() -> Permission:
    """Return the permission of the visitor whose page is drawn or whose click is handled."""
    return decide(os.environ, _listening(), st.context.headers)


def decide(
    environment: Mapping[str, str], addresses: Sequence[str] | None, headers: Mapping[str, str]
) -> Permission:
    """Return the permission by the setting; without one, by whether only this machine has access.

    `addresses` are those the server listens on; None where unknown.
    """
    if not is_own(headers.get("Origin"), headers.get("Host")) and not _is_listed(headers):
        return _no("The request comes from another web page. Open this server's own page.")
    setting = environment.get(SETTING, "").strip().lower()
    if setting == "on":
        return YES
    if setting:
        hint = "" if setting == "off" else " (it is neither `on` nor `off`)"
        return _no(
            Text("The setting `{setting}` switches it off{hint}.", setting=SETTING, hint=hint)
        )
    return _by_address(addresses) or _by_request(headers) or YES


def _by_address(addresses: Sequence[str] | None) -> Permission | None:
    if not addresses:
        return _no("It is unknown who can reach this app.")
    if not all(is_loopback(a) for a in addresses):
        return _no("Other machines can reach this app, and measuring runs programs on this one.")
    return None


def _by_request(headers: Mapping[str, str]) -> Permission | None:
    if any(headers.get(name) for name in _FORWARDED):
        return _no("This page comes through a proxy, so the visitor is unknown.")
    if not is_loopback(host_of(headers.get("Host", ""))):
        return _no("This page was opened under a name other than localhost.")
    return None


def _no(why: str) -> Permission:
    return Permission(allowed=False, why=why)


def _is_listed(headers: Mapping[str, str]) -> bool:
    """Return whether the operator lists the requesting page: behind a proxy it is not the Host."""
    listed = st.get_option("server.corsAllowedOrigins") or []
    return headers.get("Origin", "").rstrip("/").lower() in {o.rstrip("/").lower() for o in listed}


def _listening() -> list[str] | None:
    """Return the addresses this process listens on; None where the system does not show them."""
    try:
        sockets = psutil.Process().net_connections(kind="tcp")
    except (psutil.Error, OSError):
        return None
    return [s.laddr.ip for s in sockets if s.status == psutil.CONN_LISTEN]
