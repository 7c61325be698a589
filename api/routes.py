"""The addresses of the HTTP interface, to be mounted beside the app.

Reading is as open as the pages are, and for the same people: `Rules.refuses` is asked before
anything is answered. Answers are read-only, kept for one state of the data, and carry an ETag.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
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
from api.answers import ANSWERS, Ask, Known, for_outsiders
from api.problems import HEADERS, encoded, of_parameters, problem
from planner.catalog import TABLE_NAMES, Catalog
from planner.parameters import LONGEST_QUERY, MOST_GIVEN, Problem
from planner.store import Store
from planner.store.catalog import read_catalog

ALL_METHODS: Final = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]
AT_ONCE: Final = 4
"""Questions that are worked on at the same time; more wait."""
PATIENCE_S: Final = 20.0
MOST_KEPT_BYTES: Final = 32 * 1024 * 1024
_LOG: Final = logging.getLogger("epochwise.api")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What the interface answers from, and for whom.

    `store` gives the store that the pages use, fresh. `catalogs` are the shipped folder of the
    catalogue and the user's own. `refuses` says by a request's headers why it may not be answered,
    "" where it may.
    """

    store: Callable[[], Store]
    catalogs: tuple[Path, ...]
    refuses: Callable[[Mapping[str, str]], str] = lambda _: ""
    today: Callable[[], date] = lambda: datetime.now(UTC).date()


def routes(rules: Rules) -> list[BaseRoute]:
    """Routes for `st.App` or any other Starlette application."""
    desk = _Desk(rules)
    found: list[BaseRoute] = [
        Route(path, _answering(desk, path), methods=["GET"], name=path) for path in ANSWERS
    ]
    description = openapi.PATH
    found.append(Route(description, _describing(desk), methods=["GET"], name=description))
    known = {*ANSWERS, description}
    found.append(Route("/api", _missing(known), methods=ALL_METHODS))
    found.append(Route("/api/{rest:path}", _missing(known), methods=ALL_METHODS))
    return found


class _Desk:
    """Answers, each worked out once for one state of the data, at most so many at once."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self._kept: OrderedDict[object, bytes] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()
        self._busy = threading.BoundedSemaphore(AT_ONCE)

    def body(self, path: str, query: str, given: dict[str, list[str]]) -> bytes | Response:
        """The answer as JSON, or a problem."""
        store, stamp = self.rules.store(), _stamp(self.rules.catalogs)
        key = (path, query, store.generation, stamp, self.rules.today(), _minute(given))
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        if not self._busy.acquire(timeout=PATIENCE_S):
            return _too_busy()
        try:
            made = self._made(ANSWERS[path], store, given)
        finally:
            self._busy.release()
        if isinstance(made, bytes):
            self._keep(key, made)
        return made

    def _keep(self, key: object, made: bytes) -> None:
        with self._lock:
            self._size += len(made) - len(self._kept.get(key, b""))
            self._kept[key] = made
            while self._size > MOST_KEPT_BYTES:
                self._size -= len(self._kept.popitem(last=False)[1])

    def _made(self, ask: Ask, store: Store, given: dict[str, list[str]]) -> bytes | Response:
        known = Known(store=store, catalog=self._catalog(), today=self.rules.today())
        body, problems = ask(known, given)
        return of_parameters(problems) if problems else encoded(for_outsiders(body, known))

    def _catalog(self) -> Catalog:
        shipped, *own = self.rules.catalogs
        return read_catalog(shipped, own).catalog


def _answering(desk: _Desk, path: str) -> Callable[[Request], Response]:
    def answer(request: Request) -> Response:
        return _safely(lambda: _refused(desk.rules, request) or _answer(desk, path, request))

    return answer


def _describing(desk: _Desk) -> Callable[[Request], Response]:
    body = encoded(openapi.description())

    def describe(request: Request) -> Response:
        return _safely(lambda: _refused(desk.rules, request) or _fresh(body, request))

    return describe


def _missing(known: set[str]) -> Callable[[Request], Response]:
    def missing(request: Request) -> Response:
        path = request.url.path.rstrip("/") or "/"
        if request.url.path in known:
            detail = f"{request.method[:20]} is not answered here. Ask with GET."
            allow = {"Allow": "GET, HEAD"}
            return problem(HTTPStatus.METHOD_NOT_ALLOWED, detail, headers=allow)
        near = f" Perhaps {path}?" if path in known else ""
        detail = f"There is no such address.{near} See {openapi.PATH} for all of them."
        return problem(HTTPStatus.NOT_FOUND, detail)

    return missing


def _answer(desk: _Desk, path: str, request: Request) -> Response:
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
    made = desk.body(path, text, given)
    return made if isinstance(made, Response) else _fresh(made, request)


def _fresh(body: bytes, request: Request) -> Response:
    """The answer, or that it is the one the asker has already."""
    tag = f'W/"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {**HEADERS, "ETag": tag, "Cache-Control": "no-cache"}
    asked = [t.strip() for t in request.headers.get("If-None-Match", "").split(",")]
    if tag in asked or "*" in asked or tag.removeprefix("W/") in asked:
        return Response(status_code=int(HTTPStatus.NOT_MODIFIED), headers=headers)
    return Response(body, headers=headers, media_type="application/json")


def _refused(rules: Rules, request: Request) -> Response | None:
    why = rules.refuses(request.headers)
    return problem(HTTPStatus.FORBIDDEN, why) if why else None


def _safely(answer: Callable[[], Response]) -> Response:
    """Whatever goes wrong inside stays inside: the asker gets a number, the log the rest."""
    try:
        return answer()
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
