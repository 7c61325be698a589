"""Connections of another account of this machine: real servers, and processes of both accounts."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest
import uvicorn
from starlette.requests import HTTPConnection
from starlette.types import Receive, Scope, Send

from api.account import is_of_another_account
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
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("at", ["127.0.0.1", "::ffff:127.0.0.1"])
def test_another_account_reads_and_the_server_s_own_writes(port: int, way: str, at: str) -> None:
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
