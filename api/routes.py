"""The addresses of the HTTP interface, mounted with the app.

Access is that of the pages: `api.guard` checks both. Answers are read-only, cached for one state of
the data, and carry an ETag.
"""

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
from types import MappingProxyType
from typing import Final

from msgspec import Struct
from msgspec.json import encode
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from api import openapi, push
from api.problems import HEADERS, of_parameters, problem
from api.push import Inbox
from planner.answers import (
    NO_RUN,
    capacity_answered,
    capacity_plan,
    compare_answered,
    curve_answered,
    curves,
    explore_answered,
    explored,
    hardware_comparison,
    how_long_answered,
    results_answered,
    scaling_out,
    scaling_out_answered,
    sql_answered,
    sql_result,
)
from planner.answers import projection as projected
from planner.answers.records import (
    Choice,
    Index,
    Options,
    Pattern,
    Results,
    RunRow,
    WorkloadRow,
    rows_of,
)
from planner.catalog import Catalog
from planner.core import (
    LONGEST_QUERY,
    MOST_QUERY_VALUES,
    ParameterProblem,
    QueryTexts,
    Text,
    message_of,
    paragraph,
    plain_text,
    texts_of_query,
)
from planner.core.slugs import UNOFFICIAL, slugs
from planner.store import LimitError, Store, queries
from planner.store.catalog import catalog_stamps, read_catalog


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """The store, the catalogue and the date of an answer."""

    store: Store
    catalog: Catalog
    today: date


Answer = tuple[Struct | None, Sequence[ParameterProblem]]
"""The record, None where the question has a problem; and the problems."""
AnswerFunction = Callable[[Sources, QueryTexts], Answer]


def index(sources: Sources, query: QueryTexts) -> Answer:
    """Return every workload with its patterns, by slug and name."""
    problems = [
        ParameterProblem(parameter=n, message="This address takes no parameters.") for n in query
    ]
    slugs_to_names = slugs(queries.workloads(sources.store))
    about = queries.about_workloads(sources.store)
    patterns = queries.every_pattern(sources.store)
    workloads = tuple(
        WorkloadRow(
            workload=short,
            name=name,
            standing=UNOFFICIAL if about[name].is_unofficial else None,
            patterns=tuple(
                Pattern(pattern=p, name=n) for p, n in slugs(patterns.get(name, ())).items()
            ),
        )
        for short, name in slugs_to_names.items()
    )
    return Index(openapi="/api/v1/openapi.json", workloads=workloads), problems


def results(sources: Sources, query: QueryTexts) -> Answer:
    """Return filtered runs."""
    answer = results_answered(sources.store, query)
    record = Results(
        query=answer.query,
        total=answer.total,
        next_cursor=answer.next_cursor or None,
        rows=rows_of(RunRow, answer.rows),
    )
    return record, answer.problems


def projection(sources: Sources, query: QueryTexts) -> Answer:
    """Return the times of N epochs on each system."""
    answer = how_long_answered(sources.store, query)
    if answer.problems or answer.result is None:
        return None, answer.problems or [NO_RUN]
    sets = sources.store.sets
    return projected(answer.result, answer.suspect, sets, answer.query, note=answer.note), ()


def curve(sources: Sources, query: QueryTexts) -> Answer:
    """Return throughput against batch size."""
    answer = curve_answered(sources.store, query)
    if answer.problems:
        return None, answer.problems
    sets = sources.store.sets
    return curves(answer.chosen, answer.batches, sets, answer.query, answer.notes), ()


def scaling(sources: Sources, query: QueryTexts) -> Answer:
    """Return whether more devices pay."""
    answer = scaling_out_answered(sources.store, query, sources.catalog)
    if answer.problems or answer.answer is None:
        return None, answer.problems or [NO_RUN]
    return scaling_out(answer, sources.store.sets), ()


def compare(sources: Sources, query: QueryTexts) -> Answer:
    """Return the comparison of hardware."""
    answer = compare_answered(sources.store, sources.catalog, query, sources.today)
    comparison = answer.answered.comparison
    if answer.problems or comparison is None:
        return None, answer.problems or [NO_RUN]
    return hardware_comparison(comparison, answer.display, answer.query, answer.by), ()


def options(sources: Sources, query: QueryTexts) -> Answer:
    """Return every option of a comparison."""
    answer = compare_answered(sources.store, sources.catalog, query, sources.today)
    rows = tuple(
        Choice(option_id=c.id, option=c.label, way=c.way, price=c.price, price_is_stale=c.stale,
               standing=c.standing, usual=c.id in answer.answered.chosen)
        for c in answer.answered.candidates
    )  # fmt: skip
    return Options(query=answer.query, rows=rows), answer.problems


def explore(sources: Sources, query: QueryTexts) -> Answer:
    """Return a chart's points, a pivot table, or runs side by side."""
    answer = explore_answered(sources.store, sources.catalog, query)
    if answer.problems:
        return None, answer.problems
    return explored(answer), ()


def select(sources: Sources, query: QueryTexts) -> Answer:
    """Return the rows of a SELECT statement."""
    answer = sql_answered(sources.store, sources.catalog, query)
    return (None if answer.problems else sql_result(answer)), answer.problems


def capacity(sources: Sources, query: QueryTexts) -> Answer:
    """Return the machines for a month of jobs."""
    answer = capacity_answered(sources.store, sources.catalog, query, sources.today)
    return (None if answer.problems else capacity_plan(answer)), answer.problems


ANSWERS: Final[Mapping[str, AnswerFunction]] = MappingProxyType(
    {
        "/api/v1": index,
        "/api/v1/results": results,
        "/api/v1/projection": projection,
        "/api/v1/curve": curve,
        "/api/v1/scaling-out": scaling,
        "/api/v1/compare": compare,
        "/api/v1/options": options,
        "/api/v1/capacity": capacity,
        "/api/v1/explore": explore,
        "/api/v1/sql": select,
    }
)
"""The function of each address."""


ALL_METHODS: Final = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]
AT_ONCE: Final = 2
"""Questions computed at the same time; more wait. Two keep two cores busy."""
MOST_WAITING: Final = 8
"""Most waiting questions; further ones get 503."""
LOOKS_AT_ONCE: Final = 2
"""Questions looked up in the cache at the same time; a look-up takes milliseconds."""
VARY: Final = "Authorization, Cookie"
"""Headers on which an answer depends: who asks decides which sets count."""
MOST_KEPT_BYTES: Final = 32 * 1024 * 1024
Endpoint = Callable[[Request], Awaitable[Response]]
_LOG: Final = logging.getLogger("epochwise.api")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The data sources of the interface.

    `store` returns the pages' store of what the request may see, refreshed. `catalogs` are the
    shipped catalogue folder and the user's own.
    """

    store: Callable[[Request], Store]
    catalogs: tuple[Path, ...]
    today: Callable[[], date] = lambda: datetime.now(UTC).date()
    inbox: Inbox | None = None
    """Where runs of other machines are kept; None: the interface takes none."""


def routes(rules: Rules) -> list[BaseRoute]:
    """Return the routes for `st.App` or another Starlette application."""
    desk = _Desk(rules)
    routes_of_answers: list[BaseRoute] = [
        Route(path, _answering(desk, path), methods=["GET"], name=path) for path in ANSWERS
    ]
    description = openapi.PATH
    routes_of_answers.append(Route(description, _describing(), methods=["GET"], name=description))
    paths = dict.fromkeys((*ANSWERS, description), "GET")
    if rules.inbox is not None:
        routes_of_answers.append(
            Route(push.PATH, _pushing(push.Push(rules.inbox)), methods=["POST"], name=push.PATH)
        )
        paths[push.PATH] = "POST"
    routes_of_answers.append(Route("/api", _missing(paths), methods=ALL_METHODS))
    routes_of_answers.append(Route("/api/{rest:path}", _missing(paths), methods=ALL_METHODS))
    return routes_of_answers


class _Desk:
    """Answers, each computed once per state of the data, a few at a time.

    Cache look-ups and computation have their own threads: waiting questions must not block the
    threads that serve pages and files.
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self._kept: OrderedDict[object, bytes] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()
        self._inside = 0
        self._look = ThreadPoolExecutor(LOOKS_AT_ONCE, thread_name_prefix="api-look")
        self._work = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="api-work")

    async def body(
        self, request: Request, path: str, query: str, values: dict[str, list[str]]
    ) -> bytes | Response:
        """Return the answer as JSON, or a problem."""
        loop = asyncio.get_running_loop()
        key, store, kept = await loop.run_in_executor(
            self._look, self._at_hand, request, path, query, values
        )
        if kept is not None:
            return kept
        if not self._come_in():
            detail = "Too many questions at once. Try again in a moment."
            return problem(HTTPStatus.SERVICE_UNAVAILABLE, detail, headers={"Retry-After": "5"})
        # if the client disconnects, the answer is still cached for the next one
        return await loop.run_in_executor(self._work, self._worked_out, key, path, store, values)

    def _at_hand(
        self, request: Request, path: str, query: str, values: dict[str, list[str]]
    ) -> tuple[object, Store, bytes | None]:
        """Return the key of the question, the store, and the cached answer or None."""
        store, stamp = self.rules.store(request), catalog_stamps(self.rules.catalogs)
        key = (
            path,
            query,
            store.serial,
            store.generation,
            stamp,
            self.rules.today(),
            _minute(values),
        )
        return key, store, self._cached(key)

    def _cached(self, key: object) -> bytes | None:
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
        self, key: object, path: str, store: Store, values: dict[str, list[str]]
    ) -> bytes | Response:
        try:
            made = self._cached(key) or self._made(ANSWERS[path], store, values)
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

    def _made(
        self, answer: AnswerFunction, store: Store, values: dict[str, list[str]]
    ) -> bytes | Response:
        sources = Sources(store=store, catalog=self._catalog(), today=self.rules.today())
        record, problems = answer(sources, values)
        return of_parameters(problems) if problems else encode(record, enc_hook=plain_text)

    def _catalog(self) -> Catalog:
        shipped, *own = self.rules.catalogs
        return read_catalog(shipped, own).catalog


def _answering(desk: _Desk, path: str) -> Endpoint:
    async def answer(request: Request) -> Response:
        return await _safely(_answer(desk, path, request))

    return answer


def _describing() -> Endpoint:
    body = encode(openapi.description(), enc_hook=plain_text)

    async def describe(request: Request) -> Response:
        return _fresh(body, request)

    return describe


def _pushing(endpoint: push.Push) -> Endpoint:
    async def take(request: Request) -> Response:
        return await _safely(endpoint(request))

    return take


def _missing(paths: Mapping[str, str]) -> Endpoint:
    """Return the endpoint of all other addresses and methods; `paths` have their method."""

    async def missing(request: Request) -> Response:
        path = request.url.path.rstrip("/") or "/"
        if request.url.path in paths:
            method = paths[request.url.path]
            detail = Text(
                "{method} is not supported here. Use {allowed}.",
                method=request.method[:20],
                allowed=method,
            )
            allow = {"Allow": "GET, HEAD" if method == "GET" else method}
            return problem(HTTPStatus.METHOD_NOT_ALLOWED, detail, headers=allow)
        detail = paragraph(
            "There is no such address.",
            Text("Perhaps {path}?", path=path) if path in paths else "",
            Text("See {path} for all of them.", path=openapi.PATH),
        )
        return problem(HTTPStatus.NOT_FOUND, detail)

    return missing


async def _answer(desk: _Desk, path: str, request: Request) -> Response:
    query = request.scope["query_string"]
    if len(query) > LONGEST_QUERY:
        detail = Text(
            "The query has {query:,} bytes; {longest_query:,} are read at most.",
            query=len(query),
            longest_query=LONGEST_QUERY,
        )
        return problem(HTTPStatus.REQUEST_URI_TOO_LONG, detail)
    try:
        text = query.decode("ascii")
        values = texts_of_query(text)
    except ValueError:
        limit = Text(
            "It must be UTF-8, percent-encoded, with {most} values at most.", most=MOST_QUERY_VALUES
        )
        return of_parameters(
            [
                ParameterProblem(
                    parameter="", message=Text("The query cannot be read. {limit}", limit=limit)
                )
            ]
        )
    made = await desk.body(request, path, text, values)
    return made if isinstance(made, Response) else _fresh(made, request)


def _fresh(body: bytes, request: Request) -> Response:
    """Return the answer, or 304 where the client already has it."""
    tag = f'W/"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {**HEADERS, "ETag": tag, "Cache-Control": "private, no-cache", "Vary": VARY}
    tags = [t.strip() for t in request.headers.get("If-None-Match", "").split(",")]
    if tag in tags or "*" in tags or tag.removeprefix("W/") in tags:
        return Response(status_code=int(HTTPStatus.NOT_MODIFIED), headers=headers)
    return Response(body, headers=headers, media_type="application/json")


async def _safely(answer: Awaitable[Response]) -> Response:
    """Return the response; after an error a number, with the details in the log only."""
    try:
        return await answer
    except LimitError as error:
        return problem(HTTPStatus.INSUFFICIENT_STORAGE, message_of(error))
    except Exception:  # noqa: BLE001 - an error page would expose internals
        number = uuid.uuid4().hex[:12]
        _LOG.exception("Error %s", number)
        detail = Text(
            "Something went wrong here. The server's log has it under {number}.", number=number
        )
        return problem(HTTPStatus.INTERNAL_SERVER_ERROR, detail)


def _minute(values: Mapping[str, Sequence[str]]) -> str:
    """Return the current minute for a question with a date as deadline, else ""."""
    return f"{datetime.now(UTC):%H:%M}" if "by" in values else ""
