"""What a browser may send: messages of the socket, and files while a page has a field for them.

Streamlit accepts further messages from every visitor: one empties the caches of all sessions, one
returns the names of changed source files, one installs files. It stores files of every session.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.runtime import exists, get_instance
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.state.common import GENERATED_ELEMENT_ID_PREFIX

MESSAGES: Final = frozenset({"rerun_script", "stop_script", "app_heartbeat"})
OPERATIONS: Final = frozenset({"deferred_file", "dataframe_chunk"})
"""Downloads that are made at a click, and further rows of a table."""
MOST_NAMES: Final = 5_000
"""Of files in one request, and files of a session."""
MOST_LINK: Final = 64_000
"""Letters of a link."""
MOST_BYTES: Final = 100_000_000
"""Of the files that a session has sent and not removed."""
MOST_HELD_BYTES: Final = 1_000_000_000
"""The same of all sessions: anybody may open many."""
_MOST_SESSIONS: Final = 10_000
_LOCK: Final = threading.Lock()
_OPEN: Final[dict[str, None]] = {}
"""Sessions whose page has a field for files, oldest first."""
_RUN: Final = threading.local()
"""Whether the page that this thread draws has a field for files."""


def is_sent_by_pages(data: bytes) -> bool:
    """Return whether a browser sends this message; Streamlit ends a session over a broken one."""
    message = BackMsg()
    try:
        message.ParseFromString(data)
    except Exception:  # noqa: BLE001 - protobuf ships no types to import
        return True
    kind = message.WhichOneof("type")
    if kind == "rerun_script":
        ids = (state.id for state in message.rerun_script.widget_states.widgets)
        all_ours = all(name.startswith(GENERATED_ELEMENT_ID_PREFIX) for name in ids)
        return all_ours and len(message.rerun_script.query_string) <= MOST_LINK
    if kind == "file_urls_request":
        return len(message.file_urls_request.file_names) <= MOST_NAMES
    if kind == "backend_operation_request":
        return message.backend_operation_request.WhichOneof("payload") in OPERATIONS
    return kind in MESSAGES


def accept_files() -> None:
    """Accept files of this session: its page draws a field for them."""
    _RUN.has_field = True
    if ctx := get_script_run_ctx():
        with _LOCK:
            _OPEN[ctx.session_id] = None
            while len(_OPEN) > _MOST_SESSIONS:
                del _OPEN[next(iter(_OPEN))]


@contextmanager
def drawing() -> Iterator[None]:
    """Accept no files of this session if the page drawn in this block has no field for them."""
    _RUN.has_field = False
    yield
    if (ctx := get_script_run_ctx()) and not _RUN.has_field:
        with _LOCK:
            _OPEN.pop(ctx.session_id, None)


def accepts_files(session_id: str) -> bool:
    """Return whether a session may send another file."""
    if session_id not in _OPEN or not exists():
        return False
    files = get_instance().uploaded_file_mgr
    if not isinstance(files, MemoryUploadedFileManager):
        return True
    sizes = {of: [len(f.data) for f in list(sent.values())]
             for of, sent in list(files.file_storage.items())}  # fmt: skip
    own, held = sizes.get(session_id, []), sum(map(sum, sizes.values()))
    return len(own) < MOST_NAMES and sum(own) < MOST_BYTES and held < MOST_HELD_BYTES
