"""Ask a real server over HTTP, on connections that stay open; what exists to be asked for."""

from __future__ import annotations

import http.client
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType, TracebackType
from typing import Final, Self
from urllib.parse import urlsplit

from planner.answers import parameters
from planner.answers.comparison import COMPARE
from planner.core import Parameter
from planner.core.slugs import slugs
from planner.epochs import offered
from planner.store import Store, queries
from tests.faults.sane import body_of

PATIENCE_S: Final = 60.0
TABLES: Final[Mapping[str, tuple[Parameter, ...]]] = MappingProxyType(
    {
        "/api/v1": (),
        "/api/v1/results": parameters.RESULTS,
        "/api/v1/projection": parameters.HOW_LONG,
        "/api/v1/curve": parameters.CURVE,
        "/api/v1/compare": COMPARE,
        "/api/v1/options": COMPARE,
    }
)
"""What may be asked at each address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """A response, and how long it took [s]."""

    status: int
    body: bytes
    took_s: float


class Asking:
    """A connection of one's own to a server; opened again where the server closed it."""

    def __init__(self, url: str) -> None:
        self._place = urlsplit(url).netloc
        self._open = http.client.HTTPConnection(self._place, timeout=PATIENCE_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.close()

    def get(self, target: str) -> Response:
        """What an address answers.

        Raises:
            OSError: the server is gone, or silent for `PATIENCE_S`.
        """
        began = time.perf_counter()
        try:
            self._open.request("GET", target)
            answer = self._open.getresponse()
            body = answer.read()
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            self._open.close()
            self._open.request("GET", target)
            answer = self._open.getresponse()
            body = answer.read()
        except http.client.HTTPException:
            self._open.close()
            raise
        return Response(status=answer.status, body=body, took_s=time.perf_counter() - began)


Names = dict[str, list[str]]
"""Values that exist, by the name of their parameter."""


def known_names(store: Store, options: bytes) -> tuple[Names, ...]:
    """Names that exist: for each workload those that belong to it, beside those of all.

    Args:
        store: with the results that the server shows.
        options: what /api/v1/options answers to no question.
    """
    workloads = slugs(queries.workloads(store))
    facets = queries.facets(store, {})
    every = {
        "beside": list(workloads),
        "options": [row["option_id"] for row in body_of(options)["rows"]],
        "own": ["rent|h100-sxm|8|30", "buy|a100-sxm-80gb|4|15000", "own|rtx-4090|1|0"],
        "country": ["Germany", "JP", "us"],
        "currency": ["USD"],
        "by": ["2036-11-27T09:00+09:00"],
        "suspect": ["any", "none"],
        "name": ["A network"],
        **{name: [str(v) for v in values][:30] for name, values in facets.items()
           if name in {"global_batch_size", "mode", "software", "status", "basis", "result_set"}},
    }  # fmt: skip
    return tuple({**every, **_names_of(store, slug, name)} for slug, name in workloads.items())


def names_at(path: str, known: Sequence[Names]) -> list[Names]:
    """The names that one address takes."""
    if path == "/api/v1/projection":
        return [
            names | {"systems": names["ranked"], "baseline": names["ranked"]} for names in known
        ]
    if path in {"/api/v1/compare", "/api/v1/options"}:
        return [names for names in known if names["trained"]]
    return list(known)


def _names_of(store: Store, workload: str, name: str) -> dict[str, list[str]]:
    patterns = slugs(queries.patterns(store, name))
    first = next(iter(patterns.values()))
    runs = queries.runs_of(store, name, first)
    systems = list(slugs(dict.fromkeys(r.system for r in runs)))
    ranked = slugs([o.label for o in offered(runs, lambda _: {})])
    return {
        "workload": [workload], "pattern": list(patterns)[:1], "patterns": list(patterns),
        "systems": systems, "system": systems, "ranked": list(ranked), "goal": ["epochs"],
        "trained": [workload] if name in queries.trained(store) else [],
    }  # fmt: skip
