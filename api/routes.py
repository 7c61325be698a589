"""The addresses of the HTTP interface, to be mounted beside the app.

Reading is as open as the pages are, and for the same people: `api.guard` stands before both.
Answers are read-only, kept for one state of the data, and carry an ETag.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import threading
import uuid
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, date, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from api import openapi
from api.answers import ANSWERS, Ask, Known
from api.problems import HEADERS, encoded, of_parameters, problem
from planner.catalog import TABLE_NAMES, Catalog
from planner.core import LONGEST_QUERY, MOST_GIVEN, Problem
from planner.store import Store
from planner.store.catalog import read_catalog

ALL_METHODS: Final = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]
AT_ONCE: Final = 2
"""Questions that are worked on at the same time; more wait. Two keep two cores busy."""
MOST_WAITING: Final = 8
"""Questions that wait; further ones are asked to come again."""
LOOKS_AT_ONCE: Final = 2
"""Questions whose answer is looked for at the same time; that takes milliseconds."""
MOST_KEPT_BYTES: Final = 32 * 1024 * 1024
Endpoint = Callable[[Request], Awaitable[Response]]
_LOG: Final = logging.getLogger("epochwise.api")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What the interface answers from.

    `store` gives the store that the pages use, fresh. `catalogs` are the shipped folder of the
    catalogue and the user's own.
    """

    store: Callable[[], Store]
    catalogs: tuple[Path, ...]
    today: Callable[[], date] = lambda: datetime.now(UTC).date()


def routes(rules: Rules) -> list[BaseRoute]:
    """Routes for `st.App` or any other Starlette application."""
    desk = _Desk(rules)
    found: list[BaseRoute] = [
        Route(path, _answering(desk, path), methods=["GET"], name=path) for path in ANSWERS
    ]
    description = openapi.PATH
    found.append(Route(description, _describing(), methods=["GET"], name=description))
    known = {*ANSWERS, description}
    found.append(Route("/api", _missing(known), methods=ALL_METHODS))
    found.append(Route("/api/{rest:path}", _missing(known), methods=ALL_METHODS))
    return found


class _Desk:
    """Answers, each worked out once for one state of the data, at most so many at once.

    Both the look at what is kept and the work run on threads of their own: questions that wait
    must not hold the threads on which the server hands out pages and files.
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self._kept: OrderedDict[object, bytes] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()
        self._inside = 0
        self._look = ThreadPoolExecutor(LOOKS_AT_ONCE, thread_name_prefix="api-look")
        self._work = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="api-work")

    async def body(self, path: str, query: str, given: dict[str, list[str]]) -> bytes | Response:
        """The answer as JSON, or a problem."""
        loop = asyncio.get_running_loop()
        key, store, kept = await loop.run_in_executor(self._look, self._at_hand, path, query, given)
        if kept is not None:
            return kept
        if not self._come_in():
            return _too_busy()
        # Whoever goes away while the work is under way leaves its answer to the next one.
        return await loop.run_in_executor(self._work, self._worked_out, key, path, store, given)

    def _at_hand(
        self, path: str, query: str, given: dict[str, list[str]]
    ) -> tuple[object, Store, bytes | None]:
        """What the question is now, the store to ask, and its answer where that is kept."""
        store, stamp = self.rules.store(), _stamp(self.rules.catalogs)
        key = (path, query, store.generation, stamp, self.rules.today(), _minute(given))
        return key, store, self._known(key)

    def _known(self, key: object) -> bytes | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def _come_in(self) -> bool:
        with self._lock:
            if self._inside >= AT_ONCE + MOST_WAITING:
                return False
            self._inside += 1
            return True

    def _worked_out(
        self, key: object, path: str, store: Store, given: dict[str, list[str]]
    ) -> bytes | Response:
        try:
            made = self._known(key) or self._made(ANSWERS[path], store, given)
            if isinstance(made, bytes):
                self._keep(key, made)
            return made
        finally:
            with self._lock:
                self._inside -= 1

    def _keep(self, key: object, made: bytes) -> None:
        with self._lock:
            self._size += len(made) - len(self._kept.get(key, b""))
            self._kept[key] = made
            while self._size > MOST_KEPT_BYTES:
                self._size -= len(self._kept.popitem(last=False)[1])

    def _made(self, ask: Ask, store: Store, given: dict[str, list[str]]) -> bytes | Response:
        known = Known(store=store, catalog=self._catalog(), today=self.rules.today())
        body, problems = ask(known, given)
        return of_parameters(problems) if problems else encoded(body)

    def _catalog(self) -> Catalog:
        shipped, *own = self.rules.catalogs
        return read_catalog(shipped, own).catalog


def _answering(desk: _Desk, path: str) -> Endpoint:
    async def answer(request: Request) -> Response:
        return await _safely(_answer(desk, path, request))

    return answer


def _describing() -> Endpoint:
    body = encoded(openapi.description())

    async def describe(request: Request) -> Response:
        return _fresh(body, request)

    return describe


def _missing(known: set[str]) -> Endpoint:
    async def missing(request: Request) -> Response:
        path = request.url.path.rstrip("/") or "/"
        if request.url.path in known:
            detail = f"{request.method[:20]} is not answered here. Ask with GET."
            allow = {"Allow": "GET, HEAD"}
            return problem(HTTPStatus.METHOD_NOT_ALLOWED, detail, headers=allow)
        near = f" Perhaps {path}?" if path in known else ""
        detail = f"There is no such address.{near} See {openapi.PATH} for all of them."
        return problem(HTTPStatus.NOT_FOUND, detail)

    return missing


async def _answer(desk: _Desk, path: str, request: Request) -> Response:
    query = request.scope["query_string"]
    if len(query) > LONGEST_QUERY:
        detail = f"The query has {len(query):,} bytes; {LONGEST_QUERY:,} are read at most."
        return problem(HTTPStatus.REQUEST_URI_TOO_LONG, detail)
    try:
        text = query.decode("ascii")
        given = parse_qs(text, keep_blank_values=True, max_num_fields=MOST_GIVEN, errors="strict")
    except ValueError:
        told = f"It must be UTF-8, percent-encoded, with {MOST_GIVEN} values at most."
        return of_parameters([Problem(parameter="", message=f"The query cannot be read. {told}")])
    made = await desk.body(path, text, given)
    return made if isinstance(made, Response) else _fresh(made, request)


def _fresh(body: bytes, request: Request) -> Response:
    """The answer, or that it is the one the asker has already."""
    tag = f'W/"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {**HEADERS, "ETag": tag, "Cache-Control": "no-cache"}
    asked = [t.strip() for t in request.headers.get("If-None-Match", "").split(",")]
    if tag in asked or "*" in asked or tag.removeprefix("W/") in asked:
        return Response(status_code=int(HTTPStatus.NOT_MODIFIED), headers=headers)
    return Response(body, headers=headers, media_type="application/json")


async def _safely(answer: Awaitable[Response]) -> Response:
    """Whatever goes wrong inside stays inside: the asker gets a number, the log the rest."""
    try:
        return await answer
    except Exception:  # noqa: BLE001 - an error page would tell strangers too much
        number = uuid.uuid4().hex[:12]
        _LOG.exception("Error %s", number)
        detail = f"Something went wrong here. The server's log has it under {number}."
        return problem(HTTPStatus.INTERNAL_SERVER_ERROR, detail)


def _too_busy() -> Response:
    detail = "Too many questions at once. Ask again in a moment."
    return problem(HTTPStatus.SERVICE_UNAVAILABLE, detail, headers={"Retry-After": "5"})


def _minute(given: Mapping[str, Sequence[str]]) -> str:
    """A deadline that is a date comes nearer: its answer is kept for a minute, others for a day."""
    return f"{datetime.now(UTC):%H:%M}" if "by" in given else ""


def _stamp(folders: tuple[Path, ...]) -> tuple[tuple[int, int] | None, ...]:
    """Which state the catalogue's files are in."""
    found: list[tuple[int, int] | None] = []
    for folder in folders:
        for table in TABLE_NAMES:
            try:
                told = (folder / f"{table}.csv").stat()
                found.append((told.st_mtime_ns, told.st_size))
            except OSError:
                found.append(None)
    return tuple(found)
