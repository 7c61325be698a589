"""`POST /api/v1/runs`: runs of other machines, kept once each however often they are sent.

The sender needs a token (`python -m planner token create`) whose sets include that of the request.
It is checked before the body is read, and again before anything is written. A restricted set needs
a token that names it, or one for any set with a group that sees it. An answer of 200 means that
every run is on disk; after any other answer, or none, the sender sends the same request again.
"""

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Final

from msgspec.json import encode
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from api.openapi import PUSH
from api.problems import HEADERS, PARAMETERS, problem
from planner.answers.records import Pushed
from planner.core import ParameterProblem, Text, plain_text, several
from planner.store.disk.access import strictest
from planner.store.disk.audit import AuditError, record
from planner.store.disk.secrets import TOKENS, AnotherSetError, Token, bind
from planner.store.pushed import MOST_BYTES, CheckedSetError, PushError, keep, read_body
from planner.store.pushed import PushRequest as PushedRuns
from planner.store.sealed.commit import Committed, ContradictionError
from planner.store.visibility import access_of, reference_of

PATH: Final = PUSH
PER_SECOND: Final = 50.0
"""Requests of one token that are taken in the long run [1/s]."""
BURST: Final = 200.0
"""Requests of one token that are taken at once."""
WRONG_PER_SECOND: Final = 1.0
WRONG_BURST: Final = 20.0
"""The same for requests of one address without a usable token."""
RETRY_S: Final = 5
"""Wait before the next try, where the disk refuses [s]."""
BODY_S: Final = 120.0
"""Longest wait for a body [s]."""
MOST_HELD_BYTES: Final = 200_000_000
"""Of all bodies that arrive or wait for the disk."""
_TOO_LARGE: Final = Text(
    "At most {most_bytes:,} bytes are taken at once. Send fewer runs.", most_bytes=MOST_BYTES
)
_MOST_BUCKETS: Final = 10_000
_SCHEME: Final = "bearer "


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbox:
    """Where pushed runs go: `results` is the folder of this server's own result sets."""

    results: Path
    tokens: Path
    shipped: Path
    """Folder of shipped sets: their names are taken."""
    further: tuple[Path, ...] = ()
    """Further folders of result sets: a set there counts as one with the set of its name here."""
    audit: Path | None = None
    """Folder of the audit log; None keeps none."""
    blocked: Callable[[str], bool] = lambda _: False
    """Whether the tokens of an owner are useless; asked at every request."""


@dataclass(slots=True)
class _Buckets:
    """Token buckets by name: each refills at `rate` per second up to `burst`."""

    rate: float
    burst: float
    _left: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def wait_s(self, name: str, now_s: float) -> float:
        """Take one request; return 0, or the seconds until one is free."""
        with self._lock:
            left, before = self._left.pop(name, (self.burst, now_s))
            left = min(self.burst, left + (now_s - before) * self.rate)
            free = left >= 1.0
            self._left[name] = (left - 1.0 if free else left, now_s)
            while len(self._left) > _MOST_BUCKETS:
                self._left.popitem(last=False)
            return 0.0 if free else (1.0 - left) / self.rate


class Push:
    """The endpoint; commits wait for the disk in a thread of their own."""

    def __init__(self, inbox: Inbox, now_s: Callable[[], float] = time.monotonic) -> None:
        self.inbox = inbox
        self.now_s = now_s
        self._of_tokens = _Buckets(PER_SECOND, BURST)
        self._of_strangers = _Buckets(WRONG_PER_SECOND, WRONG_BURST)
        self._held = 0
        self._work = ThreadPoolExecutor(1, thread_name_prefix="api-push")

    async def __call__(self, request: Request) -> Response:
        """Return 200 with the run ids, or the problem."""
        header = request.headers.get("authorization", "")
        secret = header[len(_SCHEME) :].strip() if header.lower().startswith(_SCHEME) else ""
        if refused := self._refused(request, secret):
            return refused
        parts: list[bytes] = []
        try:
            if refused := await self._received(request, parts):
                return refused
            body = b"".join(parts) if sum(map(len, parts)) <= MOST_BYTES else None
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._work, self._kept, secret, body)
        finally:
            self._held -= sum(map(len, parts))

    async def _received(self, request: Request, parts: list[bytes]) -> Response | None:
        """Add the parts of the body until it is whole or too long; return the problem if any."""
        size = 0
        try:
            async with asyncio.timeout(BODY_S):
                async for part in request.stream():
                    parts.append(part)
                    size += len(part)
                    self._held += len(part)
                    if self._held > MOST_HELD_BYTES:
                        return _response(_RefusedError(
                            HTTPStatus.SERVICE_UNAVAILABLE, "Too many runs arrive at once.",
                            again=True,
                        ))  # fmt: skip
                    if size > MOST_BYTES:
                        break
        except ClientDisconnect:
            return problem(HTTPStatus.BAD_REQUEST, "The request ended before its body did.")
        except TimeoutError:
            text = Text("The body took more than {most_s:g} s. Send fewer runs.", most_s=BODY_S)
            return problem(HTTPStatus.REQUEST_TIMEOUT, text)
        return None

    def _usable(self, secret: str) -> Token | None:
        """Return the token as it is now; None if it is wrong, revoked, expired or blocked."""
        token = TOKENS.checked(self.inbox.tokens, secret)
        return None if token is None or self.inbox.blocked(token.owner) else token

    def _refused(self, request: Request, secret: str) -> Response | None:
        token = self._usable(secret)
        if token is None:
            client = request.client.host if request.client else ""
            wait = self._of_strangers.wait_s(client, self.now_s())
            return _too_many(wait) if wait else _no_token()
        wait = self._of_tokens.wait_s(token.id, self.now_s())
        return _too_many(wait) if wait else None

    def _kept(self, secret: str, body: bytes | None) -> Response:
        pushed: PushedRuns | None = None
        try:
            # The body may have taken minutes: a token that was revoked meanwhile writes nothing.
            if (token := self._usable(secret)) is None:
                return _no_token()
        except OSError as error:  # of a bucket
            return _response(self._refusal(error))
        try:
            if body is None:
                raise _RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, _TOO_LARGE)
            pushed = read_body(body)
            return _taken(pushed.slug, self._committed(token, pushed))
        except (ValueError, OSError) as error:
            refusal = self._refusal(error)
            if not isinstance(error, AuditError):
                why = Text("refused: {why}", why=refusal.detail)
                with suppress(AuditError):
                    self._record(token, pushed, why, allowed=False)
            return _response(refusal)

    def _committed(self, token: Token, pushed: PushedRuns) -> list[Committed]:
        """Return the runs, all on disk; the log says before it what begins, after it what was done.

        Whatever is raised refuses the request: see `_refusal`.
        """

        def begin(reference: str) -> None:
            self._bind(token, pushed.slug, reference)
            self._record(token, pushed, "begins")

        self._check_allowed(token, pushed)
        done = keep(self.inbox.results, pushed, begin, official=token.official)
        new = sum(c.new for c in done)
        said = Text("{new:,} stored, {old:,} there already", new=new, old=len(done) - new)
        self._record(token, pushed, said)
        return done

    def _refusal(self, error: ValueError | OSError) -> "_RefusedError":
        """Return the answer to a request that ended with this error."""
        if isinstance(error, _RefusedError):
            return error
        if isinstance(error, PushError):
            detail = " ".join(map(str, error.problems))
            return _RefusedError(HTTPStatus.BAD_REQUEST, detail, errors=error.problems)
        if isinstance(error, AnotherSetError | CheckedSetError):
            return _RefusedError(HTTPStatus.FORBIDDEN, str(error))
        if isinstance(error, ContradictionError):
            return _RefusedError(HTTPStatus.CONFLICT, self._without_path(error))
        if isinstance(error, OSError):  # of the audit log, a set's id, a run or a bucket
            detail = self._without_path(error)
            return _RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, detail, again=True)
        raise error

    def _record(
        self, token: Token, pushed: PushedRuns | None, said: str, *, allowed: bool = True
    ) -> None:
        """Write what is done with a request; None is one whose body cannot be read."""
        runs = (
            Text("{set}: {runs}", set=pushed.slug, runs=several(len(pushed.rows), "run"))
            if (pushed)
            else Text("a request")
        )
        if self.inbox.audit is not None:
            record(
                self.inbox.audit, who=f"token {token.id} {token.name}", role="token", via="api",
                what="push runs", about=Text("{runs}, {said}", runs=runs, said=said),
                allowed=allowed,
            )  # fmt: skip

    def _check_allowed(self, token: Token, pushed: PushedRuns) -> None:
        """Raise where the token may not add runs to the set."""
        now_s = time.time()
        places = (self.inbox.results, *self.inbox.further)
        access = strictest((access_of(place / pushed.slug) for place in places), now_s)
        if not token.may_push(pushed.slug, access, now_s):
            raise _RefusedError(
                HTTPStatus.FORBIDDEN,
                Text("This token may not add runs to {slug}. Its sets: {sets}.",
                     slug=pushed.slug, sets=", ".join(token.sets)),
            )  # fmt: skip
        if (self.inbox.shipped / pushed.slug).exists():
            detail = Text("{slug} is a shipped set. Choose another name.", slug=pushed.slug)
            raise _RefusedError(HTTPStatus.CONFLICT, detail)
        # A token whose set is gone learns nothing of the runs of a later set of the name.
        self._bind(token, pushed.slug, reference_of(self.inbox.results / pushed.slug))

    def _bind(self, token: Token, slug: str, reference: str | None) -> None:
        bind(self.inbox.tokens, token, slug, reference)

    def _without_path(self, error: OSError) -> str:
        return str(error.strerror or error).replace(str(self.inbox.results), "the results folder")


def _no_token() -> Response:
    detail = "A valid token is needed: Authorization: Bearer ew_..."
    headers = {"WWW-Authenticate": 'Bearer realm="epochwise"'}
    return problem(HTTPStatus.UNAUTHORIZED, detail, headers=headers)


class _RefusedError(ValueError):
    """A request that is not taken; `again` where the sender should try later."""

    def __init__(
        self,
        status: HTTPStatus,
        detail: str,
        *,
        errors: Sequence[ParameterProblem] = (),
        again: bool = False,
    ) -> None:
        self.status = status
        self.detail = detail
        self.errors = errors
        self.again = again
        super().__init__(detail)


def _response(refusal: _RefusedError) -> Response:
    kind = PARAMETERS if refusal.errors else "about:blank"
    headers = {"Retry-After": str(RETRY_S)} if refusal.again else {}
    return problem(
        refusal.status, refusal.detail, kind=kind, errors=refusal.errors, headers=headers
    )


def _taken(slug: str, done: Sequence[Committed]) -> Response:
    new = sum(c.new for c in done)
    answer = Pushed(
        set=slug, stored=new, already=len(done) - new, run_ids=tuple(c.run_id for c in done)
    )
    sent = {**HEADERS, "Cache-Control": "no-store"}
    return Response(
        encode(answer, enc_hook=plain_text), headers=sent, media_type="application/json"
    )


def _too_many(wait_s: float) -> Response:
    headers = {"Retry-After": str(max(1, round(wait_s + 0.5)))}
    detail = "Too many requests. Wait as Retry-After says, then send it again."
    return problem(HTTPStatus.TOO_MANY_REQUESTS, detail, headers=headers)
