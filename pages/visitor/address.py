"""Whether a request comes from a browser on this machine, which no other machine can reach.

`server.address` alone does not decide: `uvicorn app:app --host 0.0.0.0` ignores it, and a proxy
reaches loopback from anywhere. Anything that cannot be checked counts as no.
"""

import errno
import os
import socket
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import psutil
import streamlit as st

from planner.core.origins import ANOTHER_ACCOUNT, host_of, is_forwarded, is_loopback, is_own

Headers = Mapping[str, str]
_HANDLES: Final = Path("/proc/self/fd")
"""The open files of this process, on Linux."""
_INTERNET: Final = (socket.AF_INET, socket.AF_INET6)


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
    if is_forwarded(headers):
        return "This page comes through a proxy, so the visitor is unknown."
    if headers.get(ANOTHER_ACCOUNT):
        return "Another account of this machine opened this page, and only its own may write."
    if not is_loopback(host_of(headers.get("Host", ""))):
        return "This page was opened under a name other than localhost."
    return ""


def listening() -> list[str] | None:
    """Return the addresses this process listens on; None where the system does not show them."""
    try:
        if _HANDLES.is_dir():  # psutil reads the connections of the whole machine, for 5 ms
            every = [_listens(int(handle.name)) for handle in _HANDLES.iterdir()]
            return [address for address in every if address]
        sockets = psutil.Process().net_connections(kind="tcp")
    except (psutil.Error, OSError):
        return None
    return [s.laddr.ip for s in sockets if s.status == psutil.CONN_LISTEN]


def _listens(handle: int) -> str:
    """Return the address that an open file of this process listens on; "" if on none."""
    try:
        if not stat.S_ISSOCK(os.fstat(handle).st_mode):
            return ""
        own = socket.socket(fileno=os.dup(handle))
    except OSError as error:
        if error.errno == errno.EBADF:  # closed meanwhile
            return ""
        raise
    with own:
        is_tcp = own.family in _INTERNET and own.type == socket.SOCK_STREAM
        if is_tcp and own.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            return str(own.getsockname()[0])
    return ""


def _is_listed(headers: Headers) -> bool:
    """Return whether the operator lists the requesting page: behind a proxy it is not the Host."""
    listed = st.get_option("server.corsAllowedOrigins") or []
    return headers.get("Origin", "").rstrip("/").lower() in {o.rstrip("/").lower() for o in listed}
