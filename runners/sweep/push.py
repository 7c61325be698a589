"""Send finished runs to a server until it acknowledges them.

The queue is the result set itself: its run files on disk. A ledger in this machine's state has the
acknowledged run ids of each server and set. A run that is acknowledged while the ledger cannot be
written is sent again, which changes nothing: a server keeps each run once.
"""

import json
import os
import random
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pyarrow.parquet as pq

from planner.core import Text
from planner.runs import Row, as_current
from planner.store.disk.ledger import acknowledge, acknowledged, ledger
from planner.store.pushed import MOST_BYTES, MOST_RUNS, body_of
from planner.store.sealed.result_set import FIELDS, read_set
from planner.store.sealed.seal import SealError, check_seal

PATH: Final = "/api/v1/runs"
TOKEN: Final = "EPOCHWISE_TOKEN"  # noqa: S105 - the name of the variable
FIRST_WAIT_S: Final = 0.5
LONGEST_WAIT_S: Final = 60.0
TIMEOUT_S: Final = 30.0
_ROOM: Final = 0.8
"""Share of the largest request that is filled."""
_MOST_ANSWER: Final = 1_000_000
_AGAIN: Final = frozenset(
    {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.TOO_EARLY}
)


class PushRefusedError(Exception):
    """The server refuses for good: a token, a contradiction, or rows that break its rules."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Where runs are pushed to."""

    url: str
    token: str = field(repr=False)

    @property
    def address(self) -> str:
        """Address of the endpoint."""
        return self.url.rstrip("/") + PATH


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What a push did: runs that the server stored now, and those it had already."""

    stored: int = 0
    already: int = 0


def url_problem(url: str) -> str | None:
    """Return why a server's address cannot be used."""
    try:
        parts = urlsplit(url)
        sound = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
    if not sound or parts.query or parts.fragment or parts.username:
        return f"{url!r} is no server's address. Give one such as http://planner.example:8501."
    return None


def server_problems(url: str, token_file: Path | None) -> list[str]:
    """Return what is wrong with a server's address or the token."""
    problems = [text] if (text := url_problem(url)) else []
    try:
        token = _token(token_file)
    except (OSError, ValueError) as error:
        return [
            *problems,
            Text(
                "--token-file cannot be read: {reason}.", reason=getattr(error, "strerror", error)
            ),
        ]
    if not re.fullmatch(r"[!-~]+", token):
        problems.append(Text("there is no token. Set {token}, or give --token-file.", token=TOKEN))
    return problems


def server(url: str, token_file: Path | None) -> Server:
    """Return the server at an address, with the token of a file or of the environment."""
    return Server(url=url, token=_token(token_file))


def _token(token_file: Path | None) -> str:
    if token_file is not None:
        return token_file.expanduser().read_text(encoding="utf-8").strip()
    return os.environ.get(TOKEN, "").strip()


def push(
    folder: Path,
    to: Server,
    state: Path,
    *,
    stop: Callable[[], bool],
    say: Callable[[str], None],
    sleep: Callable[[float], None] = time.sleep,
) -> Sent:
    """Send all runs of a result set that the server has not acknowledged.

    A server that does not answer is tried again, with a wait that doubles up to 60 s, until `stop`.

    Raises:
        PushRefusedError: the server refuses for good.
    """
    slug = folder.name
    path = ledger(state, to.address, slug)
    about, _ = read_set(folder, "")
    fields = {name: str(getattr(about, name)) for name in FIELDS if getattr(about, name)}
    sent = Sent()
    for rows in _requests(folder, acknowledged(path), say):
        answer = _until_taken(to, body_of(slug, fields, rows), stop, say, sleep)
        if answer is None:
            return sent
        acknowledge(path, [str(row["run_id"]) for row in rows])
        sent = Sent(
            stored=sent.stored + int(answer.get("stored", 0)),
            already=sent.already + int(answer.get("already", 0)),
        )
    return sent


def waiting(folder: Path, to: Server, state: Path) -> int:
    """Return how many run files of a set the server has not acknowledged."""
    done = acknowledged(ledger(state, to.address, folder.name))
    return sum(path.stem not in done for path in folder.glob("*.parquet"))


def _requests(folder: Path, done: set[str], say: Callable[[str], None]) -> Iterator[Sequence[Row]]:
    """Yield unacknowledged rows, as many as fit a request."""
    rows: list[Row] = []
    size = 0
    for path in sorted(folder.glob("*.parquet")):
        if path.stem in done:
            continue
        for row in _rows_of(path, say):
            if row["run_id"] in done:
                continue
            length = len(body_of(folder.name, {}, [row]))
            if rows and (len(rows) >= MOST_RUNS or size + length > _ROOM * MOST_BYTES):
                yield rows
                rows, size = [], 0
            rows.append(row)
            size += length
    if rows:
        yield rows


def _rows_of(path: Path, say: Callable[[str], None]) -> list[Row]:
    try:
        seal = check_seal(path)
        table = as_current(pq.read_table(path, partitioning=None), seal.schema_version)
    except FileNotFoundError:  # merged into another file meanwhile
        return []
    except (SealError, OSError, ValueError) as error:
        say(Text("{name} is left out: it {error}", name=path.name, error=error))
        return []
    return [] if table is None else table.to_pylist()


def _until_taken(
    to: Server,
    body: bytes,
    stop: Callable[[], bool],
    say: Callable[[str], None],
    sleep: Callable[[float], None],
) -> Mapping[str, Any] | None:
    """Return the server's answer; None if `stop` came first."""
    wait_s = FIRST_WAIT_S
    said = ""
    while not stop():
        answer, why, least_s = _try(to, body)
        if answer is not None:
            return answer
        if why != said:
            say(Text("{url}: {why} Trying again until it takes the runs.", url=to.url, why=why))
            said = why
        pause = max(least_s, wait_s * random.uniform(0.5, 1.0))  # noqa: S311 - spreads clients
        until = time.monotonic() + min(pause, LONGEST_WAIT_S)
        while not stop() and (left := until - time.monotonic()) > 0:
            sleep(min(left, 0.2))
        wait_s = min(2.0 * wait_s, LONGEST_WAIT_S)
    return None


def _try(to: Server, body: bytes) -> tuple[Mapping[str, Any] | None, str, float]:
    """Send once; return the answer, or None with why and the least wait [s].

    Raises:
        PushRefusedError: the server refuses for good.
    """
    request = urllib.request.Request(  # noqa: S310 - `url_problem` allows http and https only
        to.address,
        data=body,
        headers={"Authorization": f"Bearer {to.token}", "Content-Type": "application/json"},
        method="POST",
    )
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as reply:  # noqa: S310
            answer = json.loads(reply.read(_MOST_ANSWER))
    except urllib.error.HTTPError as error:
        with error:
            text = _detail(error)
            if error.code < HTTPStatus.INTERNAL_SERVER_ERROR and error.code not in _AGAIN:
                raise PushRefusedError(
                    Text("{url} refuses the runs: {text}", url=to.url, text=text)
                ) from error
            return None, text, _retry_after_s(error)
    except (OSError, ValueError) as error:  # no connection, or an answer that was cut off
        reason = getattr(error, "reason", error)
        return None, Text("no answer ({reason}).", reason=reason), 0.0
    if not isinstance(answer, dict) or "run_ids" not in answer:
        raise PushRefusedError(
            Text("{url} is no Epochwise server: its answer has no run_ids.", url=to.url)
        )
    return answer, "", 0.0


def _detail(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.loads(error.read(_MOST_ANSWER))["detail"])[:2_000]
    except (OSError, ValueError, KeyError, TypeError):
        return f"HTTP {error.code}."


def _retry_after_s(error: urllib.error.HTTPError) -> float:
    try:
        return float(error.headers.get("Retry-After", 0))
    except ValueError:
        return 0.0
