"""Questions that wait take nothing from the pages: a real server with every place taken."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import pytest
import uvicorn
from msgspec import Struct
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from api import routes as rooms
from api.routes import ANSWERS, Answer, Sources
from planner.core import QueryTexts
from tests.api.served import CATALOG
from tests.browser.server import free_port, served
from tests.shipped import store

MANY = 60
"""More than Starlette has threads for everything."""


class Echo(Struct):
    """What was asked."""

    given: dict[str, list[str]]


class Held:
    """Questions that are begun and not answered until the gate opens."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.begun = threading.Semaphore(0)
        self.most = 0
        self._now = 0
        self._lock = threading.Lock()

    def ask(self, _: Sources, given: QueryTexts) -> Answer:
        """What is asked, once the gate is open."""
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
        self.begun.release()
        self.gate.wait(60)
        with self._lock:
            self._now -= 1
        return Echo(given={name: list(texts) for name, texts in given.items()}), ()


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Held]]:
    """A server whose question `curve` takes as long as the test wants."""
    held = Held()
    monkeypatch.setattr(rooms, "ANSWERS", dict(ANSWERS) | {"/api/v1/curve": held.ask})

    def page(_: Request) -> Response:  # as the server hands out files: on a thread of its own
        return PlainTextResponse("page")

    answers = rooms.routes(rooms.Rules(store=lambda _: store(), catalogs=(CATALOG,)))
    of = Starlette(routes=[Route("/page", page), *answers])
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(of, port=port, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{port}", held
    finally:
        held.gate.set()
        server.should_exit = True
        thread.join(30)


def _get(url: str, target: str) -> tuple[int, Any]:
    asked = http.client.HTTPConnection(urlsplit(url).netloc, timeout=120)
    try:
        asked.request("GET", target)
        reply = asked.getresponse()
        return reply.status, (reply.headers.get("Retry-After"), reply.read())
    finally:
        asked.close()


def test_pages_are_answered_while_every_question_waits(held: tuple[str, Held]) -> None:
    url, questions = held
    places = rooms.AT_ONCE + rooms.MOST_WAITING
    with ThreadPoolExecutor(MANY) as threads:
        asked = [threads.submit(_get, url, f"/api/v1/curve?batch={n}") for n in range(MANY)]
        for _ in range(rooms.AT_ONCE):
            assert questions.begun.acquire(timeout=120)
        while sum(a.done() for a in asked) < MANY - places:
            time.sleep(0.01)
        assert _get(url, "/page") == (200, (None, b"page"))
        assert _get(url, "/api/v1/nothing")[0] == 404
        assert _get(url, "/api/v1")[0] in (200, 503)
        questions.gate.set()
        reply = [a.result(timeout=60) for a in asked]
    assert sorted(status for status, _ in reply) == [200] * places + [503] * (MANY - places)
    assert {after for status, (after, _) in reply if status == 503} == {"5"}
    assert questions.most <= rooms.AT_ONCE


def test_answers_that_are_kept_need_no_place(held: tuple[str, Held]) -> None:
    url, questions = held
    kept = _get(url, "/api/v1/projection?epochs=10")
    places = rooms.AT_ONCE + rooms.MOST_WAITING
    with ThreadPoolExecutor(places) as threads:
        asked = [threads.submit(_get, url, f"/api/v1/curve?batch={n}") for n in range(places)]
        for _ in range(rooms.AT_ONCE):
            assert questions.begun.acquire(timeout=120)
        assert _get(url, "/api/v1/projection?epochs=10") == kept
        questions.gate.set()
        assert {a.result(timeout=60)[0] for a in asked} == {200}


def test_the_app_answers_pages_beside_many_new_questions(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with served(tmp_path_factory.mktemp("busy") / "results") as url:
        _get(url, "/api/v1/compare")
        over = threading.Event()

        def go_on(k: int) -> set[int]:
            seen, n = set(), 0
            while not over.is_set():
                n += 1
                seen.add(_get(url, f"/api/v1/compare?epochs={1000 * k + n}")[0])
            return seen

        with ThreadPoolExecutor(MANY) as threads:
            asking = [threads.submit(go_on, k) for k in range(1, MANY + 1)]
            for _ in range(4):
                assert _get(url, "/_stcore/health")[0] == 200
                status, (_, body) = _get(url, "/compare")
                assert (status, b"<html" in body) == (200, True)
            over.set()
            assert set[int]().union(*(a.result() for a in asking)) <= {200, 503}
