"""Whether a request comes from a browser on this machine, which no other machine can reach.

`server.address` alone does not decide: `uvicorn app:app --host 0.0.0.0` ignores it, and a proxy
reaches loopback from anywhere. Anything that cannot be checked counts as no.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import psutil
import streamlit as st

from planner.core.origins import host_of, is_loopback, is_own

_FORWARDED: Final = (
    "Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto",
    "X-Forwarded-Server", "X-Real-Ip",
)  # fmt: skip
Headers = Mapping[str, str]


def is_local(headers: Headers) -> bool:
    """Return whether the request is of a browser on this machine, on a page of this server."""
    return is_own_page(headers) and not (by_address(listening()) or by_request(headers))


def is_own_page(headers: Headers) -> bool:
    """Return whether the request comes from a page of this server, or one the operator lists."""
    return is_own(headers.get("Origin"), headers.get("Host")) or _is_listed(headers)


def by_address(addresses: Sequence[str] | None) -> str:
    """Return why other machines may reach this server; "" if they cannot."""
    if not addresses:
        return "It is unknown who can reach this app."
    if not all(is_loopback(a) for a in addresses):
        return "Other machines can reach this app, and measuring runs programs on this one."
    return ""


def by_request(headers: Headers) -> str:
    """Return why the request may come from another machine; "" if it cannot."""
    if any(headers.get(name) for name in _FORWARDED):
        return "This page comes through a proxy, so the visitor is unknown."
    if not is_loopback(host_of(headers.get("Host", ""))):
        return "This page was opened under a name other than localhost."
    return ""


def listening() -> list[str] | None:
    """Return the addresses this process listens on; None where the system does not show them."""
    try:
        sockets = psutil.Process().net_connections(kind="tcp")
    except (psutil.Error, OSError):
        return None
    return [s.laddr.ip for s in sockets if s.status == psutil.CONN_LISTEN]


def _is_listed(headers: Headers) -> bool:
    """Return whether the operator lists the requesting page: behind a proxy it is not the Host."""
    listed = st.get_option("server.corsAllowedOrigins") or []
    return headers.get("Origin", "").rstrip("/").lower() in {o.rstrip("/").lower() for o in listed}
