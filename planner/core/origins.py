"""Origin of a request, by its headers `Host` and `Origin`, which a browser sets.

A page of another web site can send requests to a server on this machine, and can resolve its own
name to the loopback address. These headers then show it.
"""

import ipaddress
from collections.abc import Mapping
from typing import Final
from urllib.parse import SplitResult, urlsplit

ANOTHER_ACCOUNT: Final = "x-epochwise-another-account"
"""Header of `api.guard` on requests of another account of this machine; it drops a client's own."""
_FORWARDED: Final = (
    "Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto",
    "X-Forwarded-Server", "X-Real-Ip",
)  # fmt: skip
_ENCRYPTED: Final = frozenset({"https", "wss"})
_PORTS: Final = {"http": 80, "https": 443, "ws": 80, "wss": 443}


def host_of(header: str) -> str:
    """Return the name in a Host header without its port; "" where invalid."""
    parts = _parts(f"//{header}")
    whole = parts is not None and not (parts.path or parts.query or parts.fragment)
    plain = parts is not None and parts.username is None and whole
    return (parts.hostname or "").rstrip(".") if parts is not None and plain else ""


def is_loopback(name: str) -> bool:
    """Return whether a name or address can only mean this machine."""
    if name == "localhost":
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def is_forwarded(headers: Mapping[str, str]) -> bool:
    """Return whether a header says that a proxy forwards the request."""
    return any(headers.get(name) is not None for name in _FORWARDED)


def is_own(origin: str | None, host: str | None, scheme: str | None = None) -> bool:
    """Return whether a request comes from a page of this server, or from no web page at all.

    Args:
        origin: header `Origin`; None where it is not sent, as by programs.
        host: header `Host`. Another port is another server.
        scheme: of the request (http, https, ws, wss); None where unknown. On this machine it must
            equal the page's; elsewhere a proxy may end the encryption.
    """
    if origin is None:
        return True
    sent, own = _parts(origin), _parts(f"//{host or ''}")
    if sent is None or own is None or sent.scheme not in _PORTS or not own.hostname:
        return False
    if scheme is not None and not _same_scheme(sent.scheme, scheme, own.hostname.rstrip(".")):
        return False
    usual = _PORTS[sent.scheme]
    here = (own.hostname.rstrip("."), own.port or usual)
    return ((sent.hostname or "").rstrip("."), sent.port or usual) == here


def _same_scheme(sent: str, own: str, name: str) -> bool:
    page, server = sent in _ENCRYPTED, own in _ENCRYPTED
    return page == server or (page and not is_loopback(name))


def _parts(address: str) -> SplitResult | None:
    """Return the parts of an address; None where its host or port is invalid."""
    try:
        parts = urlsplit(address)
        _ = parts.port  # raises if out of range
    except ValueError:
        return None
    return parts
