"""Connections of another account of this machine: real servers, and processes of both accounts."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest
import uvicorn
from starlette.requests import HTTPConnection
from starlette.types import Receive, Scope, Send

from api import account, guard
from api.account import by_message, by_table, is_of_another_account
from api.guard import Doors, Guard
from pages.visitor.permission import decide
from planner.answers import ANOTHER_ACCOUNT
from tests.browser.server import free_port, served
from tests.store.restricted import build, leaks

OTHER_UID: Final = 65534
needs_root = pytest.mark.skipif(
    not sys.platform.startswith("linux") or os.geteuid() != 0,
    reason="only root of a Linux may start a process of another account",
)
ASK: Final = """
import socket, sys
line = socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET)
line.connect((sys.argv[1], int(sys.argv[2])))
line.sendall(sys.stdin.buffer.read())
while data := line.recv(65536):
    sys.stdout.buffer.write(data)
    if b"may write" in data:  # the server would wait for the end of a socket
        break
"""
SOCKET: Final = (
    "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
)  # fmt: skip
WAYS: Final = {"request": ("Connection: close",), "socket": SOCKET}


def _sent(port: int, user: int, *lines: str, at: str = "127.0.0.1", path: str = "/api") -> bytes:
    """What a process of an account gets for a request."""
    text = "\r\n".join([f"GET {path} HTTP/1.1", f"Host: localhost:{port}", *lines, "", ""])
    done = subprocess.run(
        ["/usr/bin/env", "PATH=/usr/bin:/bin", "python3", "-I", "-c", ASK, at, str(port)],
        input=text.encode(), user=user, extra_groups=[], cwd="/", capture_output=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


async def _echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with what a page may do whose request has these headers."""
    headers = HTTPConnection(scope).headers
    words = (decide({}, ["127.0.0.1"], headers).why or "The owner may write.").encode()
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        await send({"type": "websocket.send", "bytes": words})
        await send({"type": "websocket.close"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": words})


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    number = free_port()
    config = uvicorn.Config(Guard(_echo, Doors()), port=number, log_level="error", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield number
    server.should_exit = True
    thread.join()


@needs_root
@pytest.mark.parametrize("by", ["message", "table"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("at", ["127.0.0.1", "::ffff:127.0.0.1"])
def test_another_account_reads_and_the_server_s_own_writes(
    port: int, way: str, at: str, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if by == "table":  # as in a container that refuses it
        monkeypatch.setattr(account, "by_message", lambda *_: None)
    if ":" in at and not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    assert b"The owner may write." in _sent(port, os.geteuid(), *WAYS[way], at=at)
    assert b"Another account" in _sent(port, OTHER_UID, *WAYS[way], at=at)


@pytest.mark.parametrize("way", WAYS)
def test_a_mark_that_a_client_sends_is_dropped(port: int, way: str) -> None:
    forged = (f"{ANOTHER_ACCOUNT.title()}: yes", f"{ANOTHER_ACCOUNT}:")
    assert b"The owner may write." in _sent(port, os.geteuid(), *WAYS[way], *forged)
    if os.geteuid() == 0:
        assert b"Another account" in _sent(port, OTHER_UID, *WAYS[way], f"{ANOTHER_ACCOUNT}:")


LINES: Final = {
    "IPv4": ("127.0.0.1", "127.0.0.1"),
    "IPv6": ("::1", "::1"),
    "IPv4 to a server of both": ("::", "127.0.0.1"),
    "IPv4 in IPv6": ("127.0.0.1", "::ffff:127.0.0.1"),
    "IPv4 in IPv6 to a server of both": ("::", "::ffff:127.0.0.1"),
}
"""Where a server listens, and the address a client connects to."""
CONNECT: Final = """
import socket, sys
line = socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET)
line.connect((sys.argv[1], int(sys.argv[2])))
sys.stdin.read()
"""


@contextmanager
def _lines(listens: str, connects: str, users: Sequence[int]) -> Iterator[list[Scope]]:
    """The requests of an open connection of each account, as a server sees them."""
    if ":" in listens + connects and not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    family = socket.AF_INET6 if ":" in listens else socket.AF_INET
    with socket.create_server((listens, 0), family=family, dualstack_ipv6=listens == "::") as door:
        clients, lines = [], []
        for user in users:
            clients.append(subprocess.Popen(
                ["/usr/bin/env", "PATH=/usr/bin:/bin", "python3", "-I", "-c", CONNECT, connects,
                 str(door.getsockname()[1])],
                user=user, extra_groups=[], cwd="/", stdin=subprocess.PIPE,
            ))  # fmt: skip
            lines.append(door.accept())
        try:
            yield [{"client": peer, "server": line.getsockname()} for line, peer in lines]
        finally:
            for (line, _), client in zip(lines, clients, strict=True):
                client.communicate(timeout=60)
                line.close()


@needs_root
@pytest.mark.parametrize("way", LINES)
def test_message_and_table_name_the_account_of_a_connection(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    users = [os.geteuid(), OTHER_UID, 12_345]
    with _lines(*LINES[way], users) as scopes:
        ends = [(account._end(s["client"]), account._end(s["server"])) for s in scopes]
        assert [by_table(*both) for both in ends] == users
        assert [by_message(*both) for both in ends] == users
        assert [by_message(*both[::-1]) for both in ends] == [os.geteuid()] * len(users)
        monkeypatch.setattr(account, "by_table", lambda *_: pytest.fail("The table was read."))
        assert [is_of_another_account(s) for s in scopes] == [False, True, True]


@needs_root
def test_a_listening_socket_names_no_account() -> None:
    """The kernel answers with it where no connection has these ends."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        here, absent = account._end(door.getsockname()), account._end(("127.0.0.1", 1))
        assert by_message(here, absent) is by_table(here, absent) is None
        assert is_of_another_account({"client": door.getsockname(), "server": ("127.0.0.1", 1)})


@pytest.mark.parametrize(
    ("doors", "header"),
    [(Doors(owner=lambda: False), ()), (Doors(), ((b"x-forwarded-for", b"10.1.2.3"),))],
)
def test_no_look_where_roles_or_a_proxy_decide(
    doors: Doors, header: tuple[tuple[bytes, bytes], ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever is not looked at is no owner, also if the provider goes while a page is open."""
    monkeypatch.setattr(guard, "is_of_another_account", lambda _: pytest.fail("It looked."))
    sent = {"type": "websocket", "path": "/", "headers": list(header)}
    marked = Guard(_echo, doors)._marked(sent)["headers"]
    assert marked == [*header, (ANOTHER_ACCOUNT.encode(), b"yes")]
    page = {"type": "http", "path": "/", "headers": list(header)}
    assert Guard(_echo, doors)._marked(page)["headers"] == list(header)


@needs_root
def test_a_private_set_is_for_the_server_s_account(tmp_path: Path) -> None:
    build(tmp_path / "results")
    with served(tmp_path / "results") as url:
        for user, sees in ((os.geteuid(), True), (OTHER_UID, False), (os.geteuid(), True)):
            got = _sent(urlsplit(url).port or 0, user, *WAYS["request"], path="/api/v1")
            assert b"200 OK" in got
            assert bool(leaks(got.decode())) == sees


def test_a_closed_connection_counts_as_of_another_account() -> None:
    """The kernel lists it under root for a while, or no longer."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        client = socket.create_connection(door.getsockname())
        line, peer = door.accept()
        scope = {"client": peer, "server": line.getsockname()}
        assert not is_of_another_account(scope)
        client.close()
        with line:
            assert is_of_another_account(scope) == Path("/proc/self/net/tcp").exists()
    assert not is_of_another_account({"client": None, "server": None})
    assert not is_of_another_account({"client": ("10.0.0.2", 1), "server": ("10.0.0.1", 2)})
