"""Start Epochwise: `make app`, `streamlit run app.py` and `uvicorn app:app` all come here.

The script proper is pages/shell.py: with `st.navigation` in this file, beside the folder pages/,
a cold deep link would run a page without the shell (docs/decisions/0002). The HTTP interface
(docs/api.md) answers beside it, from the same store.
"""

import os
from collections.abc import Mapping
from pathlib import Path

import streamlit as st
from streamlit.web.server.starlette.starlette_websocket import is_host_allowed

from api.routes import Rules, routes
from pages.parts.state import store
from planner.store.catalog import own_folder

ROOT = Path(__file__).parent


def _refuses(headers: Mapping[str, str]) -> str:
    """As for the pages: open to all who reach the app under a name that it answers to."""
    if is_host_allowed(headers.get("host")):
        return ""
    return "This server does not answer to that name. See server.allowedHosts."


RULES = Rules(
    store=store,
    catalogs=(ROOT / "data" / "catalog", own_folder(ROOT, os.environ)),
    refuses=_refuses,
)
app = st.App(ROOT / "pages" / "shell.py", routes=routes(RULES))
