"""Checks before every page, file, socket and answer: allowed clients, and headers for browsers.

- A request on a loopback address must name this machine (`localhost`, 127.0.0.1, ::1). Otherwise
  a foreign name resolves here (DNS rebinding). If the operator lists hosts, those count instead, on
  every address.
- A socket or an API request of another account of this machine is marked: pages and answers take
  its sender for any visitor. A mark that a client sends is dropped.
- A socket, and every request that changes something, must come from a page of this server or from
  a program. Another port of the same machine is another server.
- Of Streamlit's own addresses, those are open that its pages use. A session may send files while
  its page has a field for them; messages that no page sends are dropped.
- Headers forbid browsers to load anything from elsewhere, to show a page inside another one, and
  to guess file types.
"""

import base64
import hashlib
import logging
import re
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.account import is_of_another_account
from api.problems import problem
from planner.answers import ANOTHER_ACCOUNT, host_of, is_forwarded, is_loopback, is_own
from planner.core import Text

_LOG: Final = logging.getLogger("epochwise.api")
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_API: Final = "/api"
_CORE: Final = "/_stcore/"
HEALTH: Final = f"{_CORE}health"
"""The health check: it only answers ok, under any name."""
_USED: Final = frozenset({"health", "host-config", "stream", "upload_file"})
"""Of Streamlit's addresses: what pages use. Others report on the server or run the script."""
CLOSED: Final = "This address is closed."
NO_FIELD: Final = (
    "No page of this session has a field for files, or too many were sent. Reload the page and try "
    "again."
)
WRONG_HOST: Final = (
    "This server does not accept that host name. Open it as localhost, or add the name to "
    "server.allowedHosts."
)
WRONG_ORIGIN: Final = (
    "The request comes from another web page. Open this server's own page, or add its address to "
    "server.corsAllowedOrigins."
)
_REFUSED_SOCKET: Final = 1008
"""Policy violation (RFC 6455, 7.4.1); before the handshake ends it is sent as HTTP 403."""
_HOST: Final = re.compile(r"[A-Za-z0-9.:\[\]-]{1,260}")
_INLINE: Final = re.compile(rb"<script>(.*?)</script>", re.DOTALL)
_ALWAYS: Final = {
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Doors:
    """The allowed clients.

    `hosts` are the names that the operator lists; `host_allowed` checks a Host header against
    them. `origins` are addresses of other pages that may use the server. `message` is true of
    messages that pages send, `files` of sessions that may send a file. `owner` is true where the
    account of a visitor may decide; elsewhere the kernel is not asked, and each is marked.
    """

    hosts: Callable[[], Sequence[str]] = tuple
    host_allowed: Callable[[str | None], bool] = lambda _: True
    origins: Callable[[], Sequence[str]] = tuple
    message: Callable[[bytes], bool] = lambda _: True
    files: Callable[[str], bool] = lambda _: True
    owner: Callable[[], bool] = lambda: True


class Guard:
    """ASGI middleware in front of the whole app."""

    def __init__(self, app: ASGIApp, doors: Doors, scripts: Iterable[bytes] = ()) -> None:
        self.app = app
        self.doors = doors
        self.policy = policy_of(scripts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it with the reason."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        scope = self._marked(scope)
        headers = Headers(scope=scope)
        why = refusal(scope, headers, self.doors)
        if scope["type"] == "websocket":
            await (_shut(receive, send) if why else self.app(scope, self._heard(receive), send))
            return
        added = headers_of(self.policy, headers.get("host", ""))

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                add(MutableHeaders(scope=message), added)
            await send(message)

        await (_refused(scope, why) if why else self.app)(scope, receive, with_headers)

    def _marked(self, scope: Scope) -> Scope:
        """Return a request with the mark of another account, and without one of the client."""
        mark = ANOTHER_ACCOUNT.encode()
        headers = [(name, text) for name, text in scope["headers"] if name.lower() != mark]
        decides = scope["type"] == "websocket" or _API in scope["path"]
        looks = self.doors.owner() and not is_forwarded(Headers(raw=headers))
        if decides and (not looks or is_of_another_account(scope)):
            headers.append((mark, b"yes"))
        return {**scope, "headers": headers}

    def _heard(self, receive: Receive) -> Receive:
        """Return what receives messages of a socket but those that no page sends."""

        async def heard() -> Message:
            while True:
                message = await receive()
                if message["type"] != "websocket.receive":
                    return message
                data = message.get("bytes")
                if data is not None and self.doors.message(data):
                    return message

        return heard


def failed(request: Request, error: Exception) -> Response:
    """Return the response to a server error; it bypasses the guard, so it adds the headers."""
    number = uuid.uuid4().hex[:12]
    _LOG.error("Error %s", number, exc_info=error)
    detail = Text(
        "Something went wrong here. The server's log has it under {number}.\n", number=number
    )
    response = PlainTextResponse(detail, 500)
    add(response.headers, headers_of(policy_of(()), request.headers.get("host", "")))
    return response


def headers_of(policy: str, host: str) -> dict[str, str]:
    """Return the headers of every response; some browsers need the socket's full address."""
    addresses = ("", f"ws://{host}", f"wss://{host}") if _HOST.fullmatch(host) else ()
    sockets = " ".join(addresses)
    return {**_ALWAYS, "Content-Security-Policy": policy.replace("{sockets}", sockets)}


def refusal(scope: Scope, headers: Headers, doors: Doors) -> str:
    """Return why a request is refused; "" where it is allowed."""
    hosts = headers.getlist("host")
    host = hosts[0] if hosts else None
    if scope.get("path", "").endswith(HEALTH):
        return ""
    if len(hosts) > 1 or not _is_allowed_host(scope, host, doors):
        return WRONG_HOST
    changes = scope["type"] == "websocket" or scope["method"] not in SAFE_METHODS
    origin = headers.get("origin")
    own = is_own(origin, host, scope.get("scheme"))
    if changes and not own and not _listed(origin, doors.origins()):
        return WRONG_ORIGIN
    return _core_refusal(scope, doors)


def _core_refusal(scope: Scope, doors: Doors) -> str:
    """Return why one of Streamlit's own addresses is closed; "" where it is open."""
    name, _, rest = scope.get("path", "").partition(_CORE)[2].partition("/")
    if name and name not in _USED:
        return CLOSED
    if name == "upload_file" and scope.get("method") == "PUT":
        return "" if doors.files(rest.partition("/")[0]) else NO_FIELD
    return ""


def policy_of(scripts: Iterable[bytes]) -> str:
    """Return the content security policy of pages with these inline scripts.

    Streamlit writes styles into the page, draws charts into blobs and pictures into data addresses,
    and reads arrow tables in WebAssembly; Plotly and Vega need nothing else.
    """
    digests = (base64.b64encode(hashlib.sha256(s).digest()).decode() for s in scripts)
    own = " ".join(f"'sha256-{digest}'" for digest in digests)
    return "; ".join(
        [
            "default-src 'self'",
            f"script-src 'self' 'wasm-unsafe-eval' {own}".rstrip(),
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "media-src 'self' data: blob:",
            "font-src 'self' data:",
            "connect-src 'self' data: blob:{sockets}",
            "worker-src 'self' blob:",
            "frame-src 'none'",
            "object-src 'none'",
            "base-uri 'self'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        ]
    )


def scripts_of(page: Path) -> tuple[bytes, ...]:
    """Return the inline scripts of a page on disk; () where it cannot be read."""
    try:
        return tuple(_INLINE.findall(page.read_bytes()))
    except OSError:
        return ()


def add(headers: MutableHeaders, added: Mapping[str, str]) -> None:
    """Add headers that the response does not have."""
    for name, value in added.items():
        headers.setdefault(name, value)


def _is_allowed_host(scope: Scope, host: str | None, doors: Doors) -> bool:
    if doors.hosts():
        return doors.host_allowed(host)
    here = (scope.get("server") or ("",))[0]
    return host is None or not is_loopback(str(here)) or is_loopback(host_of(host))


def _listed(origin: str | None, listed: Sequence[str]) -> bool:
    return origin is not None and origin.rstrip("/").lower() in {
        page.rstrip("/").lower() for page in listed
    }


def _refused(scope: Scope, why: str) -> ASGIApp:
    if scope["path"].startswith(_API):
        return problem(HTTPStatus.FORBIDDEN, why)
    return PlainTextResponse(f"{why}\n", int(HTTPStatus.FORBIDDEN))


async def _shut(receive: Receive, send: Send) -> None:
    await receive()
    await send({"type": "websocket.close", "code": _REFUSED_SOCKET})
