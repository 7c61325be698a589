"""What Streamlit itself offers to every visitor: only what the pages use is open."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Final
from urllib.parse import urlsplit

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec
from streamlit.web.server.starlette.starlette_app_utils import generate_xsrf_token_string
from websockets.sync.client import ClientConnection

from api.guard import CLOSED, NO_FIELD
from pages.visitor import sending
from pages.visitor.sending import accepts_files, is_sent_by_pages
from tests.browser.server import ROOT, served
from tests.faults.visitor import connected, run

SHUT: Final = ("metrics", "metrics?families=session_events", "script-health-check", "nothing",
               "bidi-components/x", "allowed-message-origins", "agent", "message?hash=a",
               )  # fmt: skip


def _rerun(message: Any) -> None:  # noqa: ANN401 - protobuf ships no types
    message.rerun_script.query_string = "a" * (sending.MOST_LINK + 1)


def _widget(message: Any) -> None:  # noqa: ANN401
    message.rerun_script.widget_states.widgets.add(id="results.export", json_value="{")


def _names(message: Any) -> None:  # noqa: ANN401
    message.file_urls_request.file_names.extend(["a"] * (sending.MOST_NAMES + 1))


DROPPED: Final[dict[str, Callable[[Any], None]]] = {
    "clear_cache": lambda m: setattr(m, "clear_cache", True),
    "load_git_info": lambda m: setattr(m, "load_git_info", True),
    "set_run_on_save": lambda m: setattr(m, "set_run_on_save", True),
    "debug_disconnect_websocket": lambda m: setattr(m, "debug_disconnect_websocket", True),
    "debug_shutdown_runtime": lambda m: setattr(m, "debug_shutdown_runtime", True),
    "install_skills": lambda m: m.backend_operation_request.install_skills.SetInParent(),
    "dismiss_skills_nudge": (
        lambda m: m.backend_operation_request.dismiss_skills_nudge.SetInParent()
    ),
    "an operation without content": lambda m: m.backend_operation_request.SetInParent(),
    "a link of 64,001 letters": _rerun,
    "5,001 names of files": _names,
    "a widget that no page has": _widget,
    "nothing": lambda _: None,
}
"""Messages that no page sends."""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(tmp_path_factory.mktemp("streamlit") / "results") as address:
        yield address


def _ask(url: str, method: str, target: str, body: bytes = b"", **headers: str) -> tuple[int, str]:
    asked = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    try:
        asked.request(method, target, body, headers)
        reply = asked.getresponse()
        return reply.status, reply.read().decode()
    finally:
        asked.close()


@pytest.mark.parametrize("name", SHUT)
def test_an_address_that_no_page_uses_is_closed(url: str, name: str) -> None:
    for method in ("GET", "HEAD", "OPTIONS"):
        status, text = _ask(url, method, f"/_stcore/{name}")
        assert (status, text.strip()) == (403, "" if method == "HEAD" else CLOSED)


def test_what_pages_use_is_open(url: str) -> None:
    assert _ask(url, "GET", "/_stcore/health") == (200, "ok")
    status, text = _ask(url, "GET", "/_stcore/host-config")
    assert (status, json.loads(text)["allowedOrigins"]) == (200, [])


def _heard(session: ClientConnection) -> list[str]:
    """The kinds of messages until the answer to a heartbeat."""
    session.send(BackMsg(app_heartbeat=True).SerializeToString())
    kinds: list[str] = []
    while "heartbeat_ack" not in kinds:
        answer = ForwardMsg()
        content = session.recv(timeout=60)
        answer.ParseFromString(content if isinstance(content, bytes) else content.encode())
        kinds.append(str(answer.WhichOneof("type")))
    return kinds


def test_messages_that_no_page_sends_do_nothing(url: str) -> None:
    with connected(url) as session:
        assert run(session, "results").ended == "FINISHED_SUCCESSFULLY"
        while _heard(session) != ["heartbeat_ack"]:  # the end of the run
            pass
        for make in DROPPED.values():
            message = BackMsg()
            make(message)
            session.send(message.SerializeToString())
        session.send("a text")
        assert _heard(session) == ["heartbeat_ack"]


def test_every_kind_of_message_is_open_or_dropped() -> None:
    """Streamlit's next version may have more."""
    kinds = {field.name for field in BackMsg.DESCRIPTOR.oneofs_by_name["type"].fields}
    operation = BackMsg.DESCRIPTOR.fields_by_name["backend_operation_request"].message_type
    kinds |= {field.name for field in operation.oneofs_by_name["payload"].fields}
    sent = sending.MESSAGES | sending.OPERATIONS | {"file_urls_request"}
    assert kinds - sent - DROPPED.keys() == {"backend_operation_request"}
    for name, make in DROPPED.items():
        message = BackMsg()
        make(message)
        assert not is_sent_by_pages(message.SerializeToString()), name
    assert is_sent_by_pages(b"\xff\xff")  # Streamlit ends the session


def _sent(url: str, session_id: str, method: str = "PUT") -> tuple[int, str]:
    token = generate_xsrf_token_string()
    body = (b'--b\r\nContent-Disposition: form-data; name="f"; filename="f.csv"\r\n\r\na,b\r\n'
            b"--b--\r\n")  # fmt: skip
    headers = {"Content-Type": "multipart/form-data; boundary=b", "X-Xsrftoken": token,
               "Cookie": f"_streamlit_xsrf={token}"}  # fmt: skip
    return _ask(url, method, f"/_stcore/upload_file/{session_id}/f", body, **headers)


def test_a_session_sends_files_while_its_page_has_a_field_for_them(url: str) -> None:
    with connected(url) as session, connected(url) as other:
        shut, stranger = run(session, "results"), run(other, "results")
        refused = (403, f"{NO_FIELD}\n")
        assert _sent(url, shut.session_id) == refused
        assert _sent(url, "no-session") == refused
        page = run(session, "add-results")
        assert _sent(url, page.session_id)[0] == 204
        assert _sent(url, stranger.session_id) == refused
        assert _sent(url, page.session_id, "DELETE")[0] == 204
        run(session, "how-long")
        assert _sent(url, page.session_id) == refused


def test_every_field_for_files_opens_the_way_for_them() -> None:
    for page in (ROOT / "pages").rglob("*.py"):
        fields = re.findall(r"(.*)\n.*st\.file_uploader\(", page.read_text())
        assert [line.strip() for line in fields] == ["accept_files()"] * len(fields), page


def test_a_session_that_has_sent_too_much_sends_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    files = MemoryUploadedFileManager("/upload")

    class _Runtime:
        uploaded_file_mgr = files

    monkeypatch.setattr(sending, "exists", lambda: True)
    monkeypatch.setattr(sending, "get_instance", _Runtime)
    monkeypatch.setitem(sending._OPEN, "me", None)
    monkeypatch.setattr(sending, "MOST_BYTES", 10)
    assert not accepts_files("other")
    for n, accepted in ((1, True), (2, True), (3, False)):
        assert accepts_files("me") is accepted
        files.add_file("me", UploadedFileRec(file_id=str(n), name="a", type="", data=b"12345"))
    monkeypatch.setitem(sending._OPEN, "other", None)
    assert accepts_files("other")
    monkeypatch.setattr(sending, "MOST_HELD_BYTES", 15)
    assert not accepts_files("other")  # what all sessions hold is as much as the server keeps
    files.remove_session_files("me")
    assert accepts_files("other")
