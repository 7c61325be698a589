"""Ask the routes without a server: an ASGI call, as any server makes it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final

from starlette.applications import Starlette

from api.routes import Rules, routes
from planner.store import Store
from tests.shipped import ROOT, store

TODAY: Final = date(2026, 11, 21)
CATALOG: Final = ROOT / "data" / "catalog"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A response."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:  # noqa: ANN401 - whatever JSON holds
        """The body as plain data."""
        return json.loads(self.body, parse_constant=lambda name: 1 / 0 if name else None)


def app(of: Store | None = None) -> Starlette:
    """The routes on the shipped results, or on a store of the test's own."""
    rules = Rules(store=lambda _: of or store(), catalogs=(CATALOG, Path("/nowhere")),
                  today=lambda: TODAY)  # fmt: skip
    return Starlette(routes=routes(rules))


def ask(
    of: Starlette,
    target: str,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    content: bytes = b"",
) -> Answered:
    """What an address answers to a request with a body of `content`."""
    path, _, query = target.partition("?")
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method,
        "scheme": "http", "path": path, "raw_path": path.encode(), "root_path": "",
        "query_string": query.encode("latin-1"), "server": ("127.0.0.1", 80), "client": None,
        "headers": [(k.lower().encode(), v.encode()) for k, v in (headers or {}).items()],
    }  # fmt: skip
    with ThreadPoolExecutor(1) as away:  # this thread may have a loop already: a browser's
        return away.submit(lambda: asyncio.run(_call(of, scope, content))).result()


async def _call(of: Starlette, scope: dict[str, Any], content: bytes) -> Answered:
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": content, "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    await of(scope, receive, send)
    body = b"".join(m.get("body", b"") for m in sent if m["type"] == "http.response.body")
    headers = {k.decode(): v.decode() for k, v in sent[0]["headers"]}
    return Answered(status=sent[0]["status"], headers=headers, body=body)
