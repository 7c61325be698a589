"""Whether this page may start programs on this machine.

Measuring runs programs, so it is for whoever owns the machine: on where nobody else can reach the
app, or where EPOCHWISE_MEASURE=on says that everybody who can may. `server.address` alone does
not tell: `uvicorn app:app --host 0.0.0.0` never looks at it, and a proxy reaches loopback from
anywhere. So this asks what is true of this very process and this very request:

- every TCP socket this process listens on is bound to loopback, and there is at least one
  (behind a Unix socket there is none: then there is a proxy);
- the request names this machine as localhost (a public name, or a web site that has its own name
  lead to 127.0.0.1, does not);
- no proxy says that it forwards for somebody;
- the request comes from a page of this server: another port of this machine is another server.

Whatever cannot be known counts as no.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import psutil
import streamlit as st

from planner.answers import host_of, is_loopback, is_own

SETTING: Final = "EPOCHWISE_MEASURE"
_FORWARDED: Final = (
    "Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto",
    "X-Forwarded-Server", "X-Real-Ip",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """Whether measuring may be started and stopped from here, and if not, why."""

    allowed: bool
    why: str = ""


YES: Final = Permission(allowed=True)


def permission() -> Permission:
    """For the person whose page is being drawn, or whose click is being handled."""
    return decide(os.environ, _listening(), st.context.headers)


def decide(
    environment: Mapping[str, str], addresses: Sequence[str] | None, headers: Mapping[str, str]
) -> Permission:
    """The setting decides; without one, whether only this machine can reach the app.

    `addresses` are those the server listens on, None where that is not known.
    """
    if not is_own(headers.get("Origin"), headers.get("Host")) and not _is_listed(headers):
        return _no("Another web page asks. Open this server's own page.")
    told = environment.get(SETTING, "").strip().lower()
    if told == "on":
        return YES
    if told:
        known = "" if told == "off" else " (only `on` and `off` are known, and it is neither)"
        return _no(f"The setting `{SETTING}` switches it off{known}.")
    return _by_address(addresses) or _by_request(headers) or YES


def _by_address(addresses: Sequence[str] | None) -> Permission | None:
    if not addresses:
        return _no("It is unknown from where this app can be reached.")
    if not all(is_loopback(a) for a in addresses):
        return _no("Other machines can reach this app, and measuring runs programs on this one.")
    return None


def _by_request(headers: Mapping[str, str]) -> Permission | None:
    if any(headers.get(name) for name in _FORWARDED):
        return _no("This page comes through a proxy, so anybody might be asking.")
    if not is_loopback(host_of(headers.get("Host", ""))):
        return _no("This page was opened under a name other than localhost.")
    return None


def _no(why: str) -> Permission:
    return Permission(allowed=False, why=why)


def _is_listed(headers: Mapping[str, str]) -> bool:
    """Whether the operator names the asking page: behind a proxy its name is not the Host."""
    listed = st.get_option("server.corsAllowedOrigins") or []
    return headers.get("Origin", "").rstrip("/").lower() in {o.rstrip("/").lower() for o in listed}


def _listening() -> list[str] | None:
    """Addresses this process listens on; None where the system does not tell."""
    try:
        sockets = psutil.Process().net_connections(kind="tcp")
    except (psutil.Error, OSError):
        return None
    return [s.laddr.ip for s in sockets if s.status == psutil.CONN_LISTEN]
