"""What a page begins with: its address, or what it was left with."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlsplit

import streamlit as st

Parameters = dict[str, list[str]]
MOST: Final = 60
"""Values of one parameter that are read from a link; more are an accident or an attack."""
LAST: Final = "link-last-page"
"""Under this name the session keeps which page was drawn last."""


def read(page: str) -> Parameters:
    """The parameters to begin with.

    Nothing changed by hand and a URL that is not the one we wrote: somebody followed a link
    or went back, so the URL wins. An empty URL on the way from another page: the page is as
    it was left. So it is under the parameters of a link that it drew to another page: Streamlit
    writes them into the address of the page that is left, where Back finds them.
    """
    memory, given = memory_of(page), parameters_now()
    written, values = memory.get("written"), memory.get("values", {})
    if given in memory.get("offered", ()) and given != written:
        given = written or {}
    if given and given != memory.get("address", given):  # a link was followed since
        for name in ("adopted", "reset", "address"):
            memory.pop(name, None)
        return _anew(page, given)
    adopted: Parameters | None = memory.get("adopted")
    if adopted is not None:
        return adopted
    if memory.get("reset", False):
        return {}
    if not given and st.session_state.get(LAST) != page:
        return written or {}
    live = {n: st.session_state.get(f"{page}.{n}") for n in values}
    touched = any(v is not None and v != values[n] for n, v in live.items())
    if given != (written or {}) and not touched:
        return _anew(page, given)
    return written or given


def offer(page: str, parameters: Parameters) -> None:
    """Remember the parameters of a link that `page` draws to another page."""
    offered: list[Parameters] = memory_of(page).setdefault("offered", [])
    if parameters not in offered:
        offered.append(parameters)
        del offered[:-MOST]


def _anew(page: str, given: Parameters) -> Parameters:
    """What was given, with nothing left of what the page held."""
    for name in memory_of(page).get("values", {}):
        st.session_state.pop(f"{page}.{name}", None)
    return given


def parameters_now() -> Parameters:
    """What stands in the address at this moment."""
    return {k: st.query_params.get_all(k)[:MOST] for k in st.query_params}


def memory_of(page: str) -> dict[str, Any]:
    """What the session remembers of a page between its runs."""
    memory: dict[str, Any] = st.session_state.setdefault(f"link:{page}", {})
    return memory


def base() -> str:
    """The page's address without its state; "" where nobody knows it."""
    url = st.context.url
    return urlsplit(url)._replace(query="", fragment="").geturl() if url else ""
