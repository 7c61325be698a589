"""Who is answered, and what browsers may do with it: the real server, started in both ways."""

from __future__ import annotations

import http.client
import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from starlette.datastructures import Headers

from api.guard import HEALTH, Doors, policy_of, refusal, scripts_of
from pages.visitor.permission import decide
from planner.answers import host_of, is_loopback, is_own
from tests.browser.server import ROOT, served, streamlit, uvicorn
from tests.each import each

WAYS = {"streamlit": streamlit(), "uvicorn": uvicorn()}
PATHS = [
    "/", "/compare", "/how-long", "/measure", "/nowhere", "/static/js/nothing.js", "/favicon.png",
    "/_stcore/health", "/_stcore/host-config", "/media/nothing", "/api/v1", "/api/v1/nothing",
    "/api/v1/curve?batch=x", "/..%2fapp.py",
]  # fmt: skip
HEADERS = {
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
OTHERS = ["http://localhost:3000", "http://127.0.0.1:1", "https://evil.example", "null", "x", ""]
EVIL = ["evil.example", "evil.example:{port}", "localhost.evil.example:{port}", "127.0.0.1.nip.io",
        "user@127.0.0.1:{port}", "10.0.0.1:{port}", "0x7f000001", "a b"]  # fmt: skip


@pytest.fixture(scope="module", params=WAYS)
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    place = tmp_path_factory.mktemp(f"guard-{request.param}") / "results"
    with served(place, WAYS[request.param]) as address:
        yield address


def _get(
    url: str, target: str, method: str = "GET", **headers: str
) -> tuple[int, dict[str, str], bytes]:
    asked = http.client.HTTPConnection(urlsplit(url).netloc, timeout=120)
    try:
        asked.request(method, target, headers=headers)
        reply = asked.getresponse()
        return reply.status, {k.lower(): v for k, v in reply.getheaders()}, reply.read()
    finally:
        asked.close()


def _handshake(url: str, **headers: str) -> int:
    """Status of opening the page's socket with these headers."""
    netloc = urlsplit(url).netloc
    sent = {"Host": netloc, "Upgrade": "websocket", "Connection": "Upgrade",
            "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Protocol": "streamlit"} | headers  # fmt: skip
    lines = ["GET /_stcore/stream HTTP/1.1", *(f"{k}: {v}" for k, v in sent.items()), "", ""]
    host, port = netloc.split(":")
    with socket.create_connection((host, int(port)), timeout=120) as line:
        line.sendall("\r\n".join(lines).encode())
        return int(line.recv(4096).split()[1])


@each("path", PATHS)
def test_every_answer_says_what_browsers_may_do_with_it(url: str, path: str) -> None:
    for method in ("GET", "HEAD", "DELETE"):
        _, headers, _ = _get(url, path, method)
        assert {name: headers.get(name) for name in HEADERS} == HEADERS
        policy = headers["content-security-policy"]
        assert "frame-ancestors 'none'" in policy
        assert "default-src 'self'" in policy or "default-src 'none'" in policy
        assert "unsafe-eval" not in policy.replace("wasm-unsafe-eval", "")
        assert not re.search(r"script-src[^;]*('unsafe-inline'|https?:|\*)", policy)


@pytest.mark.parametrize("host", EVIL)
@each("path", [p for p in PATHS if p != HEALTH])
def test_a_name_that_leads_here_but_is_none_of_ours_is_refused(
    url: str, path: str, host: str
) -> None:
    named = host.format(port=urlsplit(url).port)
    status, headers, body = _get(url, path, Host=named)
    assert status in (400, 403)
    assert status == 400 or b"server.allowedHosts" in body
    assert status == 400 or headers["x-frame-options"] == "DENY"
    assert str(ROOT).encode() not in body
    if status == 403 and path.startswith("/api"):
        assert json.loads(body)["status"] == 403


def test_this_machine_s_own_names_are_answered(url: str) -> None:
    port = urlsplit(url).port
    for host in (f"127.0.0.1:{port}", f"localhost:{port}", "LOCALHOST", "localhost.", "[::1]"):
        assert _get(url, "/", Host=host)[0] == 200
        assert _get(url, "/api/v1", Host=host)[0] == 200


@pytest.mark.parametrize("origin", OTHERS)
def test_a_socket_opens_only_for_pages_of_this_server_and_for_programs(
    url: str, origin: str
) -> None:
    assert _handshake(url) == 101
    assert _handshake(url, Origin=url) == 101
    assert _handshake(url, Origin=origin) == 403
    assert _handshake(url, Host="evil.example", Origin="http://evil.example") == 403


@pytest.mark.parametrize("origin", OTHERS)
def test_nothing_is_changed_for_another_page(url: str, origin: str) -> None:
    for method in ("POST", "PUT", "DELETE"):
        assert _get(url, "/_stcore/upload_file/a/b", method, Origin=origin)[0] == 403
    assert _get(url, "/api/v1", Origin=origin)[0] == 200  # reading: the browser keeps it from them


def test_hosts_and_pages_that_the_operator_names_are_let_in(tmp_path: Path) -> None:
    way = streamlit("--server.allowedHosts", "app.example",
                    "--server.corsAllowedOrigins", "https://portal.example")  # fmt: skip
    with served(tmp_path / "results", way) as url:
        assert _get(url, "/", Host="app.example")[0] == 200
        assert _get(url, "/", Host="127.0.0.1")[0] == 403
        assert _handshake(url, Host="app.example", Origin="https://portal.example") == 101
        assert _handshake(url, Host="app.example", Origin="https://other.example") == 403


@pytest.mark.parametrize(
    ("server", "host", "allowed"),
    [
        ("127.0.0.1", "evil.example", False), ("::1", "evil.example", False),
        ("::ffff:127.0.0.1", "evil.example", False), ("127.0.0.1", "[::1]:8501", True),
        ("10.0.0.7", "app.example", True), (None, "app.example", True), ("127.0.0.1", None, True),
    ],
)  # fmt: skip
def test_other_addresses_are_the_operator_s_to_name(
    server: str | None,
    host: str | None,
    allowed: bool,  # noqa: FBT001 - a column of the table
) -> None:
    headers = Headers({} if host is None else {"host": host})
    scope = {"type": "http", "method": "GET", "server": server and (server, 80)}
    assert (refusal(scope, headers, Doors()) == "") is allowed


def test_two_hosts_in_one_request_are_none() -> None:
    headers = Headers(raw=[(b"host", b"localhost"), (b"host", b"evil.example")])
    assert refusal({"type": "http", "method": "GET", "server": ("127.0.0.1", 1)}, headers, Doors())


@pytest.mark.parametrize(
    ("origin", "host", "own"),
    [
        (None, "localhost:8501", True), ("http://localhost:8501", "localhost:8501", True),
        ("http://LOCALHOST:8501", "localhost:8501", True),
        ("https://app.example", "app.example", True),
        ("http://app.example", "app.example:80", True),
        ("http://localhost:3000", "localhost:8501", False),
        ("http://localhost", "localhost:8501", False),
        ("http://127.0.0.1:8501", "localhost:8501", False),
        ("null", "localhost:8501", False), ("", "localhost:8501", False),
        ("file://", "", False), ("http://[bad", "localhost", False),
        ("http://h:99999", "h:99999", False), ("http://localhost:8501", None, False),
    ],
)  # fmt: skip
def test_another_port_is_another_server(
    origin: str | None,
    host: str | None,
    own: bool,  # noqa: FBT001 - a column of the table
) -> None:
    assert is_own(origin, host) is own


@pytest.mark.parametrize(
    ("origin", "host", "scheme", "own"),
    [
        ("http://127.0.0.1:8501", "127.0.0.1:8501", "http", True),
        ("http://127.0.0.1:8501", "127.0.0.1:8501", "ws", True),
        ("https://127.0.0.1:8501", "127.0.0.1:8501", "http", False),
        ("https://localhost:8501", "localhost.:8501", "ws", False),
        ("http://localhost:8501", "localhost:8501", "https", False),
        ("https://app.example", "app.example", "http", True),  # a proxy ended encryption
        ("http://app.example:80", "app.example:80", "https", False),
    ],
)
def test_another_scheme_is_another_server(
    origin: str,
    host: str,
    scheme: str,
    own: bool,  # noqa: FBT001 - a column of the table
) -> None:
    assert is_own(origin, host, scheme) is own
    headers = Headers({"host": host, "origin": origin})
    scope = {"type": "http", "method": "POST", "scheme": scheme, "server": ("127.0.0.1", 8501)}
    loopback = "example" not in host
    assert (refusal(scope, headers, Doors()) == "") is (own and loopback)


@pytest.mark.parametrize("setting", ["on", ""])
def test_nothing_is_started_for_another_page(setting: str) -> None:
    environment = {"EPOCHWISE_MEASURE": setting}
    for origin in OTHERS:
        headers = {"Host": "localhost:8501", "Origin": origin}
        assert not decide(environment, ["127.0.0.1"], headers).allowed
    headers = {"Host": "localhost:8501", "Origin": "http://localhost:8501"}
    assert decide(environment, ["127.0.0.1"], headers).allowed


def test_names_in_headers_are_read_as_browsers_write_them() -> None:
    assert host_of("localhost:8501") == "localhost"
    assert host_of("[::1]:80") == "::1"
    assert host_of("user@localhost") == host_of("localhost/x") == host_of("h:x") == ""
    assert is_loopback("127.9.9.9")
    assert not is_loopback("localhost.evil.example")


def test_scripts_inside_the_page_are_named_by_their_hash(tmp_path: Path) -> None:
    page = tmp_path / "index.html"
    page.write_bytes(b"<script>a = 1</script><script src='x.js'></script>")
    assert scripts_of(page) == (b"a = 1",)
    assert policy_of(scripts_of(page)).count("'sha256-") == 1
    assert scripts_of(tmp_path / "none.html") == ()
