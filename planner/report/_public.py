"""The public address of the app, for links that others open: a hand-out, a shared view."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from planner.core import Text

SETTING: Final = "EPOCHWISE_PUBLIC_URL"
_MOST: Final = 300
_NEXT: Final = "Give an address such as https://plan.example.org."


def public_url(environment: Mapping[str, str]) -> str:
    """Return the address of the setting without a slash at its end; "" where it is unset.

    Raises:
        ValueError: it is no web address, or has more than scheme, host, port and path.
    """
    text = environment.get(SETTING, "").strip()
    if not text:
        return ""
    fault = _fault(text)
    if fault:
        raise ValueError(
            Text("{setting} {fault}. {next}", setting=SETTING, fault=fault, next=_NEXT)
        )
    return text.rstrip("/")


def with_base(address: str, base: str) -> str:
    """Return the address of a page, with its question, below another base; unchanged without one.

    The page is the last part of its path: the app may lie below a path of its own.
    """
    if not base:
        return address
    parts = urlsplit(address)
    page = parts.path.rsplit("/", 1)[-1]
    query = f"?{parts.query}" if parts.query else ""
    return f"{base}/{page}{query}"


def _fault(text: str) -> str:
    """Return what is wrong with an address; "" where nothing is."""
    if len(text) > _MOST or not text.isascii() or not text.isprintable() or " " in text:
        return "has letters that no web address has, or is too long"
    try:
        parts = urlsplit(text)
        port_is_valid = parts.port is None or parts.port > 0
    except ValueError:
        return "is not a web address"
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_valid:
        return "is not a web address"
    if parts.query or parts.fragment or "?" in text or "#" in text:
        return "has a question or a fragment"
    return "has a user or a password" if parts.username is not None or "@" in parts.netloc else ""
