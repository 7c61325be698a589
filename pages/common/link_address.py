"""A page's first parameters: from its address, or from the last visit."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlsplit

import streamlit as st

Parameters = dict[str, list[str]]
MOST: Final = 60
"""Most values of one parameter that are read from a link."""
LAST: Final = "link-last-page"
"""Session key of the page that was drawn last."""


def read(page: str) -> Parameters:
    """Return the page's first parameters.

    A URL that differs from the one we wrote, without a change by hand, comes from a link or from
    Back, so the URL wins. With an empty URL on the way from another page, the page is as it was
    left. The same holds for the parameters of a link to another page: Streamlit writes them into
    the address of the page that is left, where Back finds them.
    """
    memory, address = memory_of(page), parameters_now()
    written, values = memory.get("written"), memory.get("values", {})
    if address in memory.get("offered", ()) and address != written:
        address = written or {}
    if address and address != memory.get("address", address):  # a link was followed since
        for name in ("adopted", "reset", "address"):
            memory.pop(name, None)
        return _anew(page, address)
    adopted: Parameters | None = memory.get("adopted")
    if adopted is not None:
        return adopted
    if memory.get("reset", False):
        return {}
    if not address and st.session_state.get(LAST) != page:
        return written or {}
    live = {n: st.session_state.get(f"{page}.{n}") for n in values}
    touched = any(v is not None and v != values[n] for n, v in live.items())
    if address != (written or {}) and not touched:
        return _anew(page, address)
    return written or address


def offer(page: str, parameters: Parameters) -> None:
    """Remember the parameters of a link that `page` draws to another page."""
    offered: list[Parameters] = memory_of(page).setdefault("offered", [])
    if parameters not in offered:
        offered.append(parameters)
        del offered[:-MOST]


def _anew(page: str, parameters: Parameters) -> Parameters:
    """Return the address's parameters after clearing what the page held."""
    for name in memory_of(page).get("values", {}):
        st.session_state.pop(f"{page}.{name}", None)
    return parameters


def parameters_now() -> Parameters:
    """Return the parameters in the current address."""
    return {k: st.query_params.get_all(k)[:MOST] for k in st.query_params}


def memory_of(page: str) -> dict[str, Any]:
    """Return the session's memory of a page between its runs."""
    memory: dict[str, Any] = st.session_state.setdefault(f"link:{page}", {})
    return memory


def base() -> str:
    """Return the page's address without its state; "" where unknown."""
    url = st.context.url
    return urlsplit(url)._replace(query="", fragment="").geturl() if url else ""
