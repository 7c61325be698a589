"""Errors by RFC 9457 (application/problem+json), with all problems at once."""

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
"""Headers of every response of this interface."""
PARAMETERS: Final = "urn:epochwise:problem:parameters"
NO_DATA: Final = "urn:epochwise:problem:no-data"


def encoded(content: Any) -> bytes:  # noqa: ANN401 - whatever JSON holds
    """Return plain data as JSON bytes."""
    return json.dumps(content, ensure_ascii=False, allow_nan=False).encode()


def problem(
    status: HTTPStatus,
    detail: str,
    *,
    kind: str = "about:blank",
    errors: Sequence[Problem] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return a response with the problem and what to do.

    Args:
        status: HTTP status.
        detail: sentence for the user.
        kind: URI of the kind of problem; "about:blank" for a plain HTTP status.
        errors: problems of the parameters.
        headers: further headers.
    """
    title = "The question is invalid" if errors else status.phrase
    body: dict[str, Any] = {"type": kind, "title": title, "status": int(status), "detail": detail}
    if errors:
        body["errors"] = [_error(e) for e in errors]
    sent = {**HEADERS, "Cache-Control": "no-store", **(headers or {})}
    return Response(encoded(body), status_code=int(status), headers=sent, media_type=MEDIA_TYPE)


def of_parameters(errors: Sequence[Problem]) -> Response:
    """Return the response to a question with problems."""
    if NO_RUN in errors:
        return problem(HTTPStatus.NOT_FOUND, NO_RUN.message, kind=NO_DATA)
    return problem(
        HTTPStatus.BAD_REQUEST,
        " ".join(str(e) for e in errors),
        kind=PARAMETERS,
        errors=errors,
    )


def _error(error: Problem) -> dict[str, str]:
    return {"parameter": error.parameter, "detail": error.message} if error.parameter else {
        "detail": error.message
    }  # fmt: skip
