"""A flood of pushes at a real server whose clock stands still: what is taken is exact."""

from __future__ import annotations

import http.client
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from api.push import BURST, PATH, PER_SECOND, WRONG_BURST, Inbox, Push
from planner.store import commit_runs
from planner.store.disk.secrets import TOKENS
from planner.store.pushed import body_of
from runners.sweep.push import Server, push
from tests.browser.server import free_port
from tests.store.build import ABOUT, row, rows

THREADS = 16


@dataclass
class Flooded:
    """A server of the endpoint alone, at the time `now_s`."""

    place: Path
    port: int = field(default_factory=free_port)
    now_s: float = 0.0

    @property
    def inbox(self) -> Inbox:
        """Where its runs go."""
        return Inbox(
            results=self.place / "results", tokens=self.place / "tokens", shipped=self.place / "no"
        )

    def token(self, name: str) -> str:
        """A new token for any set."""
        return TOKENS.create(self.inbox.tokens, name=name, sets=["*"])

    def post(self, token: str, body: bytes = b"x") -> tuple[int, int]:
        """The status of one request over a connection of its own, and its Retry-After."""
        asked = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            asked.request("POST", PATH, body, {"Authorization": f"Bearer {token}"})
            reply = asked.getresponse()
            reply.read()
            return reply.status, int(reply.headers.get("Retry-After", 0))
        finally:
            asked.close()

    def flood(self, token: str, requests: int) -> Counter[int]:
        """The statuses of many requests at once."""
        with ThreadPoolExecutor(THREADS) as threads:
            return Counter(s for s, _ in threads.map(lambda _: self.post(token), range(requests)))


@pytest.fixture
def flooded(tmp_path: Path) -> Iterator[Flooded]:
    of = Flooded(place=tmp_path)
    endpoint = Push(of.inbox, lambda: of.now_s)

    async def take(request: Request) -> Response:
        return await endpoint(request)

    app = Starlette(routes=[Route(PATH, take, methods=["POST"])])
    server = uvicorn.Server(uvicorn.Config(app, port=of.port, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield of
    finally:
        server.should_exit = True
        thread.join(60)


def test_a_flood_of_one_token_is_taken_up_to_its_burst_and_others_are_served(
    flooded: Flooded,
) -> None:
    loud, quiet = flooded.token("loud"), flooded.token("quiet")
    burst, each_s = int(BURST), int(PER_SECOND)
    assert flooded.flood(loud, burst + 100) == {400: burst, 429: 100}  # b"x" is no request
    assert flooded.post(loud) == (429, 1)
    body = body_of("mine", {}, [dict(row())])
    assert flooded.post(quiet, body) == (200, 0)
    assert flooded.post(quiet, body) == (200, 0)
    assert len(list((flooded.inbox.results / "mine").glob("*.parquet"))) == 1
    flooded.now_s += 1.0
    assert flooded.flood(loud, each_s + 50) == {400: each_s, 429: 50}
    flooded.now_s += 3_600.0
    assert flooded.flood(loud, burst + 10) == {400: burst, 429: 10}  # a burst is never larger


def test_a_flood_of_wrong_tokens_leaves_the_right_ones_alone(flooded: Flooded) -> None:
    right = flooded.token("right")
    wrong = right[:-1] + ("A" if right[-1] != "A" else "B")
    assert flooded.flood(wrong, int(WRONG_BURST) + 40) == {401: int(WRONG_BURST), 429: 40}
    assert flooded.post(right, body_of("mine", {}, [dict(row())])) == (200, 0)


def test_a_client_that_is_asked_to_wait_waits_and_stores_every_run_once(
    flooded: Flooded, tmp_path: Path
) -> None:
    token = flooded.token("both")
    assert flooded.flood(token, int(BURST))[429] == 0
    folder = tmp_path / "here" / "mine"
    commit_runs(folder, rows(3))
    (folder / "set.toml").write_text(ABOUT)
    said: list[str] = []

    def sleep(seconds: float) -> None:
        flooded.now_s += seconds
        time.sleep(seconds)

    to = Server(url=f"http://127.0.0.1:{flooded.port}", token=token)
    sent = push(folder, to, tmp_path / "state", stop=lambda: False, say=said.append, sleep=sleep)
    assert (sent.stored, sent.already) == (3, 0)
    assert [text for text in said if "Too many requests" in text]
    stored = {p.name for p in (flooded.inbox.results / "mine").glob("*.parquet")}
    assert stored == {p.name for p in folder.glob("*.parquet")}
