"""Errors as RFC 9457 has them: application/problem+json, with everything that is wrong at once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from starlette.responses import Response

from planner.answers import NO_RUN
from planner.core import Problem

MEDIA_TYPE: Final = "application/problem+json"
HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}
"""Of every answer of this interface."""
PARAMETERS: Final = "urn:epochwise:problem:parameters"
NO_DATA: Final = "urn:epochwise:problem:no-data"


def encoded(content: Any) -> bytes:  # noqa: ANN401 - whatever JSON holds
    """Plain data as JSON."""
    return json.dumps(content, ensure_ascii=False, allow_nan=False).encode()


def problem(
    status: HTTPStatus,
    detail: str,
    *,
    kind: str = "about:blank",
    errors: Sequence[Problem] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    """An answer that says what went wrong and what to do.

    Args:
        status: of HTTP.
        detail: for a person.
        kind: URI of the kind of problem; "about:blank" where the status says it all.
        errors: each parameter that is wrong.
        headers: further ones.
    """
    title = "The question cannot be answered as it stands" if errors else status.phrase
    body: dict[str, Any] = {"type": kind, "title": title, "status": int(status), "detail": detail}
    if errors:
        body["errors"] = [_error(e) for e in errors]
    told = {**HEADERS, "Cache-Control": "no-store", **(headers or {})}
    return Response(encoded(body), status_code=int(status), headers=told, media_type=MEDIA_TYPE)


def of_parameters(errors: Sequence[Problem]) -> Response:
    """Everything that is wrong with a question."""
    if NO_RUN in errors:
        return problem(HTTPStatus.NOT_FOUND, NO_RUN.message, kind=NO_DATA)
    return problem(
        HTTPStatus.BAD_REQUEST,
        " ".join(str(e) for e in errors),
        kind=PARAMETERS,
        errors=errors,
    )


def _error(told: Problem) -> dict[str, str]:
    return {"parameter": told.parameter, "detail": told.message} if told.parameter else {
        "detail": told.message
    }  # fmt: skip
