"""Entry point of `make app`, `streamlit run app.py` and `uvicorn app:app`.

The script is pages/shell.py: with `st.navigation` in this file, next to the folder pages/, a cold
deep link would run a page without the shell (docs/decisions/0002). The HTTP interface (docs/api.md)
uses the same store; `api.guard` checks both.
"""

import ctypes
import gc
import os
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware
from streamlit import config
from streamlit.web.server.starlette.starlette_websocket import is_host_allowed

from api.guard import Doors, Guard, failed, scripts_of
from api.push import Inbox
from api.routes import Rules, routes
from pages.common.kept import store
from pages.visitor.identity import has_owner, is_blocked, viewer_of
from pages.visitor.sending import accepts_files, is_sent_by_pages
from planner.store import folders_from_environment
from planner.store.catalog import own_folder
from planner.store.disk.audit import audit_folder
from planner.store.disk.secrets import TOKENS
from planner.store.disk.team import team_folder

ROOT = Path(__file__).parent
DOORS = Doors(
    hosts=lambda: config.get_option("server.allowedHosts"),
    host_allowed=is_host_allowed,
    origins=lambda: config.get_option("server.corsAllowedOrigins"),
    message=is_sent_by_pages,
    files=accepts_files,
    owner=has_owner,
)
SCRIPTS = scripts_of(Path(st.__file__).parent / "static" / "index.html")
FOLDERS = folders_from_environment(ROOT, os.environ)
RULES = Rules(
    store=lambda request: store(lambda: viewer_of(request)),
    catalogs=(ROOT / "data" / "catalog", own_folder(ROOT, os.environ)),
    inbox=Inbox(
        results=next(f.path for f in FOLDERS if f.kind == "own"),
        further=tuple(f.path for f in FOLDERS if f.kind == "further"),
        tokens=TOKENS.folder(team_folder(os.environ)),
        shipped=ROOT / "data" / "results",
        audit=audit_folder(team_folder(os.environ)),
        blocked=is_blocked,
    ),
)
app = st.App(
    ROOT / "pages" / "shell.py",
    routes=routes(RULES),
    middleware=[Middleware(Guard, DOORS, SCRIPTS)],
    exception_handlers={Exception: failed},
)
gc.freeze()  # what was imported stays: no collection looks through it again

ARENAS = 2
"""Parts of the memory that threads allocate from. Each session has threads of its own: with as many
parts as glibc gives them, the memory of a server grows for hours (docs/reliability.md)."""

M_ARENA_MAX = -8  # of glibc's malloc.h; another C library has no arenas
if "MALLOC_ARENA_MAX" not in os.environ and hasattr(ctypes.CDLL(None), "mallopt"):
    ctypes.CDLL(None).mallopt(M_ARENA_MAX, ARENAS)
