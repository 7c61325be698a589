"""Visit pages as a browser does, over Streamlit's websocket: one fresh session a visit."""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

PATIENCE_S: Final = 60.0
_STREAM: Final = "/_stcore/stream"
_MOST_BYTES: Final = 64 * 1024 * 1024


@dataclass(slots=True, kw_only=True)
class Visit:
    """What one run of a page's script sent: texts in their order, and how it ended."""

    texts: list[str] = field(default_factory=list)
    exceptions: list[str] = field(default_factory=list)
    downloads: dict[str, str] = field(default_factory=dict)
    """Ids of the files that are made at a click, by the words on their buttons."""
    session_id: str = ""
    ended: str = ""
    took_s: float = 0.0

    @property
    def words(self) -> str:
        """Everything a person or a machine can read in it, without signs that hide markup."""
        said = "\n".join(self.texts)
        return said.replace("\\", "").replace("\u2060", "").replace("\u00a0", " ")


def visit(url: str, page: str = "", query: str = "", cookie: str = "", xsrf: str = "") -> Visit:
    """Open a page by a link in a fresh session and wait for the end of its script.

    `cookie` is the header of a browser that has signed in, `xsrf` the token that goes with it.

    Raises:
        OSError: there is no server, or it closed the connection.
        TimeoutError: the script did not end within `PATIENCE_S`.
    """
    with connected(url, cookie, xsrf) as session:
        return run(session, page, query)


def connected(url: str, cookie: str = "", xsrf: str = "") -> ClientConnection:
    """A session of its own."""
    parts = urlsplit(url)
    protocols = [Subprotocol("streamlit"), *([Subprotocol(xsrf)] if xsrf else [])]
    session: ClientConnection = connect(
        f"ws://{parts.netloc}{_STREAM}",
        origin=Origin(f"{parts.scheme}://{parts.netloc}"),
        subprotocols=protocols,
        additional_headers={"Cookie": cookie} if cookie else {},
        max_size=_MOST_BYTES,
        compression=None,
    )
    return session


def run(session: ClientConnection, page: str = "", query: str = "") -> Visit:
    """Run a page's script in a session as if its link was followed."""
    asked = BackMsg()
    asked.rerun_script.query_string = query
    asked.rerun_script.page_name = page
    began, seen = time.monotonic(), Visit()
    session.send(asked.SerializeToString())
    while not seen.ended:
        left = PATIENCE_S - (time.monotonic() - began)
        content = session.recv(timeout=max(0.0, left))
        result = ForwardMsg()
        result.ParseFromString(content if isinstance(content, bytes) else content.encode())
        _take(result, seen)
    seen.took_s = time.monotonic() - began
    return seen


def download(url: str, session: ClientConnection, seen: Visit, words: str) -> bytes | None:
    """Click a download of the open page; return the file, None where the server makes none."""
    asked, file_id = BackMsg(), seen.downloads[words]
    asked.backend_operation_request.request_id = file_id
    asked.backend_operation_request.session_id = seen.session_id
    asked.backend_operation_request.deferred_file.file_id = file_id
    session.send(asked.SerializeToString())
    while True:
        result = ForwardMsg()
        content = session.recv(timeout=PATIENCE_S)
        result.ParseFromString(content if isinstance(content, bytes) else content.encode())
        if result.WhichOneof("type") == "backend_operation_response":
            break
    answer = result.backend_operation_response
    if answer.error_msg:
        return None
    with urllib.request.urlopen(f"{url}{answer.deferred_file.url}", timeout=PATIENCE_S) as file:  # noqa: S310 - a server of this test
        return bytes(file.read())


def _take(result: ForwardMsg, seen: Visit) -> None:
    kind = result.WhichOneof("type")
    if kind == "script_finished":
        finished = result.ScriptFinishedStatus.Name(result.script_finished)
        # A page that moves the reader on, or writes its address, is run again at once.
        seen.ended = "" if finished == "FINISHED_EARLY_FOR_RERUN" else finished
    elif kind == "delta":
        if result.delta.new_element.WhichOneof("type") == "exception":
            seen.exceptions.append(result.delta.new_element.exception.message)
        if result.delta.new_element.WhichOneof("type") == "download_button":
            button = result.delta.new_element.download_button
            seen.downloads[button.label] = button.deferred_file_id
        seen.texts.extend(_texts(result.delta))
    elif kind == "new_session":
        seen.session_id = result.new_session.initialize.session_id
    elif kind == "page_not_found":
        seen.texts.append("page not found")
    elif kind == "session_event" and result.session_event.WhichOneof("type") == (
        "script_compilation_exception"
    ):
        seen.exceptions.append(result.session_event.script_compilation_exception.message)
        seen.ended = "not compiled"


def _texts(result: Any) -> Iterator[str]:  # noqa: ANN401 - protobuf ships no types
    """All texts of a message and of what is in it; charts and tables carry theirs as JSON."""
    for of, value in result.ListFields():
        values = value if of.is_repeated else [value]
        if of.type == of.TYPE_STRING:
            yield from values
        elif of.type == of.TYPE_MESSAGE and not of.message_type.GetOptions().map_entry:
            for one in values:
                yield from _texts(one)
        elif of.type == of.TYPE_BYTES:  # tables: Arrow keeps texts as they are
            yield from (v.decode("utf-8", "ignore") for v in values)
